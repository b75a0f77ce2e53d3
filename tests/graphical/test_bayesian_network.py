"""Bayesian networks against enumeration of all states."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone

import panlearn
from panlearn.graphical import BayesianNetwork

DIAMOND = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "e")]
SIZES = {"a": 2, "b": 3, "c": 2, "d": 2, "e": 3}


def network(rng, edges=DIAMOND, sizes=SIZES):
    parents = {v: [p for p, c in edges if c == v] for v in sizes}
    return BayesianNetwork.from_cpts(
        {
            v: (above, rng.dirichlet(np.ones(sizes[v]), size=[sizes[p] for p in above]))
            for v, above in parents.items()
        },
        states={v: [f"{v}{k}" for k in range(s)] for v, s in sizes.items()},
    )


def joint(model):
    """The probability of each combination of states, by the product of the tables."""
    law = np.ones([len(s) for s in model.states_])
    for states in product(*(range(n) for n in law.shape)):
        for j, table in enumerate(model.cpts_):
            law[states] *= table[(*(states[p] for p in model.parents_[j]), states[j])]
    return law


def test_queries_are_those_of_the_joint_table(rng):
    model = network(rng)
    law = joint(model)
    np.testing.assert_allclose(law.sum(), 1)
    given = law[:, :, 1, :, 2] / law[:, :, 1, :, 2].sum()
    evidence = {"c": "c1", "e": "e2"}
    np.testing.assert_allclose(model.query(["d", "a"], evidence), given.sum(axis=1).T, atol=1e-15)
    np.testing.assert_allclose(model.query(["b"], evidence), given.sum(axis=(0, 2)), atol=1e-15)
    np.testing.assert_allclose(model.query(["a", "e"]), law.sum(axis=(1, 2, 3)), atol=1e-15)
    np.testing.assert_array_equal(model.query([3, 0], evidence), model.query(["d", "a"], evidence))
    marginals = model.marginals(evidence)
    np.testing.assert_allclose(marginals["d"], given.sum(axis=(0, 1)), atol=1e-15)
    np.testing.assert_allclose(marginals["c"], [0, 1], atol=1e-15)


def test_scores_marginalise_what_is_missing(rng):
    model, law = network(rng), None
    law = joint(model)
    rows = np.array([["a0", "b2", "c1", "d0", "e1"], ["a1", None, "c0", None, "e2"]], dtype=object)
    expected = [law[0, 2, 1, 0, 1], law[1, :, 0, :, 2].sum()]
    np.testing.assert_allclose(model.score_samples(rows), np.log(expected), rtol=1e-12)
    filled = model.predict(rows)
    best = [law[1, :, 0, :, 2].sum(axis=axis).argmax() for axis in (1, 0)]
    assert filled[1].tolist() == ["a1", f"b{best[0]}", "c0", f"d{best[1]}", "e2"]
    assert filled[0].tolist() == rows[0].tolist()


@pytest.mark.parametrize("seed", range(3))
def test_d_separation_is_independence_in_the_joint_table(seed):
    """For random tables the graph's independences are those of the law, and no others."""
    rng = np.random.default_rng(seed)
    names = list("abcde")
    edges = [(p, c) for p, c in combinations(names, 2) if rng.random() < 0.45]
    model = network(rng, edges, dict.fromkeys(names, 2))
    law = joint(model)
    for a, b in combinations(range(5), 2):
        rest = [v for v in range(5) if v not in (a, b)]
        for size in range(4):
            for given in combinations(rest, size):
                hidden = tuple(v for v in rest if v not in given)
                table = law.sum(axis=hidden, keepdims=True)
                apart = table.sum(axis=a, keepdims=True) * table.sum(axis=b, keepdims=True)
                apart = apart / table.sum(axis=(a, b), keepdims=True)
                independent = np.abs(table - apart).max() < 1e-12
                separated = model.d_separated(names[a], names[b], [names[v] for v in given])
                assert separated == independent
                assert separated == model.d_separated(names[b], names[a], [names[v] for v in given])


def test_tables_are_smoothed_counts(rng):
    X = rng.integers(0, 3, size=(50, 3))
    model = BayesianNetwork([("x0", "x2"), (1, 2)], alpha=0.5).fit(X)
    count = np.zeros((3, 3, 3))
    np.add.at(count, tuple(X.T), 1)
    count += 0.5
    np.testing.assert_allclose(model.cpts_[2], count / count.sum(axis=2, keepdims=True))
    plain = np.bincount(X[:, 0], minlength=3) + 0.5
    np.testing.assert_allclose(model.cpts_[0], plain / plain.sum())
    unseen = BayesianNetwork([(0, 1)], alpha=0, states={"x0": [0, 1, 9]}).fit([[0, 0], [1, 1]])
    np.testing.assert_allclose(unseen.cpts_[1], [[1, 0], [0, 1], [0.5, 0.5]])


def test_em_climbs_to_the_truth_with_entries_missing(rng):
    truth = network(rng)
    X = truth.sample(4000, random_state=1).astype(object)
    whole = BayesianNetwork([(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]).fit(X)
    X[rng.random(X.shape) < 0.15] = None
    model = BayesianNetwork([(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)], alpha=0, tol=1e-7).fit(X)
    values = np.array(model.history_["log_likelihood"])
    assert (np.diff(values) > -1e-12).all()
    assert model.converged_
    for ours, complete in zip(model.cpts_, whole.cpts_, strict=True):
        assert np.abs(ours - complete).max() < 0.12  # a seventh of 4000 rows fewer in each cell


def test_em_maximises_the_likelihood_of_what_was_seen():
    """One pair, one entry missing: the closed form from the counts of the complete rows."""
    X = np.array([[0, 0], [0, 0], [0, 1], [1, 1], [1, 0], [1, 1], [0, np.nan], [1, np.nan]])
    model = BayesianNetwork([(0, 1)], alpha=0, tol=0, max_iter=60)
    model.set_params(tol=1e-14).fit(X)
    np.testing.assert_allclose(model.cpts_[0], [0.5, 0.5], atol=1e-9)
    np.testing.assert_allclose(model.cpts_[1], [[2 / 3, 1 / 3], [1 / 3, 2 / 3]], atol=1e-6)


def test_a_hidden_cause_is_found_from_its_effects(rng):
    """A column that is never seen: three effects identify a hidden cause of two states."""
    hidden = rng.random(3000) < 0.4
    effects = (rng.random((3000, 3)) < np.where(hidden[:, None], 0.9, 0.15)).astype(float)
    X = np.column_stack([np.full(3000, np.nan), effects])
    model = BayesianNetwork(
        [(0, 1), (0, 2), (0, 3)], states={"x0": [0, 1]}, random_state=0, max_iter=500
    ).fit(X)
    order = np.argsort(model.cpts_[1][:, 1])
    np.testing.assert_allclose(model.cpts_[0][order], [0.6, 0.4], atol=0.05)
    np.testing.assert_allclose(model.cpts_[2][order, 1], [0.15, 0.9], atol=0.05)


def test_weights_are_repetitions(rng):
    X = rng.integers(0, 2, size=(30, 3)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    weight = rng.integers(0, 4, size=30)
    edges, loop = (
        [(0, 1), (1, 2)],
        dict(max_iter=500, tol=1e-12, states={f"x{j}": [0, 1] for j in range(3)}),
    )
    one = BayesianNetwork(edges, **loop).fit(X, sample_weight=weight)
    other = BayesianNetwork(edges, **loop).fit(np.repeat(X, weight, axis=0))
    for a, b in zip(one.cpts_, other.cpts_, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)


def test_samples_have_the_law(rng):
    model = network(rng)
    rows = model.sample(20_000, random_state=3)
    codes = np.array([[int(label[1:]) for label in row] for row in rows])
    law = joint(model)
    counts = np.bincount(np.ravel_multi_index(codes.T, law.shape), minlength=law.size)
    common = law.ravel() > 5 / 20_000
    expected = 20_000 * law.ravel()
    found = [*counts[common], counts[~common].sum()]
    wanted = [*expected[common], expected[~common].sum()]
    assert stats.chisquare(found, wanted).pvalue > 1e-3
    np.testing.assert_array_equal(rows, model.sample(20_000, random_state=3))


def test_likelihood_weighting_tends_to_the_query(rng):
    model = network(rng)
    evidence = {"d": "d1", "e": "e0"}
    rows, weights = model.likelihood_weighting(evidence, 40_000, random_state=4)
    assert (rows[:, 3] == "d1").all()
    ours = [weights[rows[:, 1] == f"b{k}"].sum() for k in range(3)]
    error = 4 / np.sqrt(1 / (weights**2).sum())  # four standard errors at the effective size
    np.testing.assert_allclose(ours, model.query(["b"], evidence), atol=error)


def test_chow_liu_finds_a_tree_and_is_the_best_of_all(rng):
    truth = network(rng, [("a", "b"), ("a", "c"), ("c", "d"), ("c", "e")])
    X = truth.sample(5000, random_state=5)
    model = BayesianNetwork("chow-liu", alpha=0).fit(X)
    pairs = {frozenset(edge) for edge in model.edges_}
    assert pairs == {frozenset(e) for e in (("x0", "x1"), ("x0", "x2"), ("x2", "x3"), ("x2", "x4"))}
    for other in ([(0, 1), (1, 2), (2, 3), (3, 4)], [(0, 4), (0, 3), (0, 2), (0, 1)]):
        assert model.score(X) >= BayesianNetwork(other, alpha=0).fit(X).score(X)
    rooted = BayesianNetwork("chow-liu", root="x3", alpha=0).fit(X)
    assert rooted.parents_[3] == []
    np.testing.assert_allclose(rooted.score(X), model.score(X), rtol=1e-12)


@pytest.mark.parametrize("gaps", [False, True])
def test_weights_decide_the_tree(rng, gaps):
    """Half the rows say x0 - x1 and half x0 - x2 or x1 - x2: their weights choose among the trees.

    Sums over repeated rows give the information of each pair; the best of all trees is known.
    """
    X = rng.integers(0, 2, size=(60, 3)).astype(float)
    X[:30, 1], X[30:, 2] = X[:30, 0], X[30:, 0]
    if gaps:
        X[rng.random(X.shape) < 0.15] = np.nan
    trees = set()
    for heavy in (slice(30), slice(30, 60)):
        weight = np.ones(60, dtype=int)
        weight[heavy] = 5

        def information(a, b, weight=weight):
            both = np.repeat(X[:, [a, b]], weight, axis=0)
            both = both[~np.isnan(both).any(axis=1)].astype(int)
            law = np.histogram2d(*both.T, bins=2)[0] / len(both)
            apart = np.outer(law.sum(axis=1), law.sum(axis=0))
            return np.sum(law[law > 0] * np.log(law[law > 0] / apart[law > 0]))

        pairs = sorted(combinations(range(3), 2), key=lambda pair: information(*pair))
        model = BayesianNetwork("chow-liu", alpha=0).fit(X, sample_weight=weight)
        found = {frozenset(edge) for edge in model.edges_}
        assert found == {frozenset(f"x{v}" for v in pair) for pair in pairs[1:]}
        trees.add(frozenset(found))
        repeated = BayesianNetwork("chow-liu", alpha=0).fit(np.repeat(X, weight, axis=0))
        assert repeated.edges_ == model.edges_
    assert len(trees) == 2


def test_what_only_partial_rows_show_is_possible_from_the_start():
    """Without a prior, no whole row has x1 = 1: EM must not begin where that cannot be.

    The likelihood q00 q10 (q01 + q11) of the three rows is largest where each factor is a third.
    """
    X = np.array([[0, 0], [1, 0], [np.nan, 1]])
    model = BayesianNetwork([(0, 1)], alpha=0, tol=1e-12).fit(X)
    np.testing.assert_allclose(model.score_samples(X), np.log(np.full(3, 1 / 3)), atol=1e-5)


def test_names_states_and_frames(rng):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "sky": pandas.Categorical(["grey", "blue", "grey", "blue", None, "grey"]),
            "rain": [True, False, True, False, False, True],
            "mood": ["low", "high", "low", "high", "high", None],
        }
    )
    model = BayesianNetwork([("sky", "rain"), ("rain", "mood")]).fit(frame)
    assert model.variables_ == ["sky", "rain", "mood"]
    assert [s.tolist() for s in model.states_] == [
        ["blue", "grey"],
        [False, True],
        ["high", "low"],
    ]
    assert model.query(["rain"], {"sky": "grey"})[1] > 0.7
    assert model.predict(frame)[4].tolist() == ["blue", False, "high"]


def test_a_network_of_given_tables_is_saved_and_cloned(rng, tmp_path):
    model = network(rng)
    panlearn.save(model, tmp_path / "network")
    loaded = panlearn.load(tmp_path / "network")
    assert [s.tolist() for s in loaded.states_] == [s.tolist() for s in model.states_]
    evidence = {"e": "e1"}
    np.testing.assert_array_equal(loaded.query(["a"], evidence), model.query(["a"], evidence))
    assert clone(model).edges == model.edges_


def test_tables_beyond_memory_are_refused():
    X = np.arange(100)[:, None] * np.ones(12)
    with pytest.raises(MemoryError, match="remove edges"):
        BayesianNetwork([(p, 11) for p in range(11)]).fit(X)


def test_an_unknown_label_is_a_missing_entry(rng):
    model = network(rng)
    known = np.array([["a0", None, "c1", "d0", "e1"]], dtype=object)
    unknown = np.array([["a0", "b9", "c1", "d0", "e1"]], dtype=object)
    np.testing.assert_array_equal(model.score_samples(unknown), model.score_samples(known))
    np.testing.assert_array_equal(model.predict(unknown), model.predict(known))


def test_a_network_too_dense_for_one_tree_still_answers_about_ancestors(rng):
    """Causes and effects at random, which no tree fits; what is above a cause is little."""
    table = np.full((4, 4, 4, 4), 0.25)
    cpts = {f"c{k}": ([], [0.1, 0.2, 0.3, 0.4]) for k in range(40)}
    for k in range(90):
        above = [f"c{c}" for c in rng.choice(40, 3, replace=False)]
        cpts[f"e{k}"] = (above, table)
    model = BayesianNetwork.from_cpts(cpts)
    with pytest.raises(MemoryError, match="likelihood weighting"):
        model.marginals()
    np.testing.assert_allclose(model.query(["c0"], {"e2": 1}), [0.1, 0.2, 0.3, 0.4])
    assert len(model.likelihood_weighting({"e2": 1}, 10, random_state=0)[0]) == 10


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: BayesianNetwork([(0, 1), (1, 0)]).fit(X), "cycle"),
        (lambda X: BayesianNetwork([(0, 1), (0, 1)]).fit(X), "given twice"),
        (lambda X: BayesianNetwork([(0, 7)]).fit(X), "no variable 7"),
        (lambda X: BayesianNetwork("forest").fit(X), "chow-liu"),
        (lambda X: BayesianNetwork([0, 1]).fit(X), "pairs"),
        (lambda X: BayesianNetwork(states={"x0": [0]}).fit(X), "no state of 'x0'"),
        (lambda X: BayesianNetwork(states={"x0": [0, 0]}).fit(X), "different labels"),
        (lambda X: BayesianNetwork().fit([[np.nan, 1.0]]), "every entry of 'x0' is missing"),
        (lambda X: BayesianNetwork().fit(X).query("x0"), "list of variables"),
        (lambda X: BayesianNetwork().fit(X).query(["x0"], {"x1": 5}), "no state of 'x1'"),
        (
            lambda X: BayesianNetwork(handle_unknown="error").fit(X).predict([[0, 9]]),
            "no state of 'x1'",
        ),
        (lambda X: BayesianNetwork.from_cpts({"a": ([], [0.5, 0.4])}), "sum to one"),
        (lambda X: BayesianNetwork.from_cpts({"a": (["a"], [[1.0]])}), "cycle"),
        (lambda X: BayesianNetwork.from_cpts({"a": ([], [[1.0]])}), "has shape"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.array([[0, 1], [1, 0], [1, 1]]))


def test_a_variable_depends_on_itself():
    network = BayesianNetwork.from_cpts({"a": ([], [0.5, 0.5]), "b": (["a"], np.eye(2))})
    assert not network.d_separated("a", "a")
    with pytest.raises(ValueError, match=r"\['b'\]"):
        network.d_separated("a", "a", "b")


@pytest.mark.parametrize(
    ("states", "message"),
    [({"A": ["n", "y"]}, "no variable 'A'"), ({"a": ["n", "n"]}, "different")],
)
def test_states_are_of_variables_and_differ(states, message):
    with pytest.raises(ValueError, match=message):
        BayesianNetwork.from_cpts({"a": ([], [0.5, 0.5])}, states=states)
    with pytest.raises(ValueError, match=message):
        BayesianNetwork(states=states).fit(pd.DataFrame({"a": ["n", "y"]}))


def test_a_parent_is_named_once():
    with pytest.raises(ValueError, match="named twice"):
        BayesianNetwork.from_cpts(
            {"a": ([], [0.5, 0.5]), "b": (["a", "a"], np.full((2, 2, 2), 0.5))}
        )


def test_columns_of_categories_may_have_gaps():
    frame = pd.DataFrame({"sky": ["sun", "rain", None, "sun"], "wet": [0, 1, 1, 0]})
    plain = BayesianNetwork([("sky", "wet")]).fit(frame)
    found = BayesianNetwork([("sky", "wet")]).fit(frame.astype({"sky": "category"}))
    np.testing.assert_array_equal(found.cpts_[1], plain.cpts_[1])


def test_a_network_that_is_too_dense_is_found_out_once(monkeypatch):
    made = []

    def refuse(*_):
        made.append(1)
        raise MemoryError("too dense")

    network = BayesianNetwork.from_cpts({"a": ([], [0.5, 0.5])})
    monkeypatch.setattr("panlearn.graphical._answers.CliqueTree", refuse)
    for _ in range(2):
        with pytest.raises(MemoryError, match="too dense"):
            network.clique_tree()
    assert len(made) == 1


def test_a_quantity_is_no_list_of_states(rng):
    X = rng.normal(size=(200, 2))
    with pytest.raises(ValueError, match=r"'x0' has 200 states in 200 rows.*KBinsDiscretizer"):
        BayesianNetwork("chow-liu").fit(X)
    BayesianNetwork("chow-liu").fit(X.round())
    BayesianNetwork().fit(np.arange(200)[:, None] % 150)  # whole numbers may be names
