"""Clique trees against the joint table of all variables."""

from itertools import product

import numpy as np
import pytest

from panlearn.graphical import CliqueTree, _kernels
from panlearn.graphical._counts import Families
from panlearn.graphical._triangulation import cliques, moral_graph


def random_factors(rng, names, sizes, n_factors, most=3):
    factors = []
    for _ in range(n_factors):
        scope = list(rng.choice(names, size=rng.integers(1, most + 1), replace=False))
        factors.append((scope, rng.random([sizes[v] for v in scope])))
    return factors


def joint_table(sizes, factors):
    """The product of all tables over all states, one by one."""
    names = list(sizes)
    joint = np.ones(tuple(sizes.values()))
    for states in product(*(range(s) for s in sizes.values())):
        at = dict(zip(names, states, strict=True))
        for scope, table in factors:
            joint[states] *= np.asarray(table)[tuple(at[v] for v in scope)]
    return joint


@pytest.mark.parametrize("seed", range(6))
def test_marginals_are_those_of_the_joint_table(seed):
    rng = np.random.default_rng(seed)
    names = list("abcdefg")
    sizes = {v: int(rng.integers(1, 4)) for v in names}
    factors = random_factors(rng, names, sizes, 8)
    joint = joint_table(sizes, factors)
    evidence = {v: int(rng.integers(sizes[v])) for v in rng.choice(names, 2, replace=False)}
    for name, state in evidence.items():
        axis = names.index(name)
        keep = np.arange(sizes[name]).reshape([-1 if a == axis else 1 for a in range(7)]) == state
        joint = joint * keep
    tree = CliqueTree(sizes, factors)
    found = tree.calibrate(evidence)
    np.testing.assert_allclose(found.log_evidence, np.log(joint.sum()), rtol=1e-12)
    law = joint / joint.sum()
    for c, clique in enumerate(tree.cliques):
        axes = tuple(a for a, v in enumerate(names) if v not in clique)
        np.testing.assert_allclose(found.clique(c), law.sum(axis=axes), atol=1e-14)
    for e, scope in enumerate(tree.separators):
        axes = tuple(a for a, v in enumerate(names) if v not in scope)
        np.testing.assert_allclose(found.separator(e), law.sum(axis=axes), atol=1e-14)
    for v, one in found.marginals().items():
        axes = tuple(a for a, u in enumerate(names) if u != v)
        np.testing.assert_allclose(one, law.sum(axis=axes), atol=1e-14)


def test_the_tree_has_the_running_intersection():
    rng = np.random.default_rng(3)
    graph = moral_graph(30, [rng.choice(30, 3, replace=False).tolist() for _ in range(25)])
    found = [set(c) for c in cliques(graph, [2] * 30)]
    for v in range(30):
        assert any(graph[v] & c for c in found) or not graph[v]
        assert all(any({v, u} <= c for c in found) for u in graph[v])
    assert not any(a < b for a in found for b in found)
    tree = CliqueTree(
        dict.fromkeys(range(30), 2),
        [((v, u), np.ones((2, 2))) for v in range(30) for u in graph[v] if u > v],
    )
    for v in range(30):
        inside = {c for c, clique in enumerate(tree.cliques) if v in clique}
        joined = sum(1 for a, b in tree.edges if {a, b} <= inside)
        assert joined == len(inside) - 1  # the cliques of a variable form one subtree


def test_a_grid_has_the_width_of_its_side():
    side = 5
    cells = [(r, c) for r in range(side) for c in range(side)]
    pairs = [
        (p, q) for p in cells for q in cells if p < q and abs(p[0] - q[0]) + abs(p[1] - q[1]) == 1
    ]
    tree = CliqueTree(dict.fromkeys(cells, 2), [(pair, np.ones((2, 2))) for pair in pairs])
    assert side <= tree.width <= side + 1


def test_hundreds_of_variables_and_long_chains_do_not_underflow():
    """A chain of 2000 variables: more than any array has axes, and a tiny probability."""
    rng, n = np.random.default_rng(0), 2000
    step = rng.dirichlet(np.ones(3), 3)
    factors = [([0], [0.2, 0.3, 0.5]), *(([t, t + 1], step) for t in range(n - 1))]
    factors += [([t], [1e-3, 2e-3, 1e-3]) for t in range(n)]
    found = CliqueTree(dict.fromkeys(range(n), 3), factors).calibrate({n - 1: 1})
    forward, log = np.array([0.2, 0.3, 0.5]) * [1e-3, 2e-3, 1e-3], 0.0
    for _ in range(n - 1):
        forward = forward @ step * [1e-3, 2e-3, 1e-3]
        log, forward = log + np.log(forward.sum()), forward / forward.sum()
    # the sums are of 2000 terms of size 7: rounding of 1e-12 relative
    np.testing.assert_allclose(found.log_evidence, log + np.log(forward[1]), rtol=1e-12)


def test_soft_evidence_and_joint_laws(rng):
    factors = [(["a", "b"], rng.random((2, 3))), (["b", "c"], rng.random((3, 2)))]
    sizes = {"a": 2, "b": 3, "c": 2}
    joint = joint_table(sizes, [*factors, (["b"], [0.1, 0.7, 0.2])])
    tree = CliqueTree(sizes, factors, together=["c", "a"])
    law = tree.calibrate({"b": [0.1, 0.7, 0.2]}).marginal(["c", "a"])
    np.testing.assert_allclose(law, (joint / joint.sum()).sum(axis=1).T, atol=1e-15)
    apart = CliqueTree(sizes, factors).calibrate()
    with pytest.raises(ValueError, match="together"):
        apart.marginal(["c", "a"])


def test_what_is_too_large_is_refused_with_its_cost():
    dense = [((a, b), np.ones((4, 4))) for a in range(40) for b in range(a)]
    with pytest.raises(MemoryError, match=r"40 variables with 1.21e\+24 cells"):
        CliqueTree(dict.fromkeys(range(40), 4), dense)
    with pytest.raises(MemoryError, match="likelihood weighting"):
        CliqueTree({"a": 9, "b": 9}, [(["a", "b"], np.ones((9, 9)))], max_size=80)


def test_kernels_are_their_references(rng):
    """The compiled functions against the same functions in Python."""
    sizes = dict.fromkeys("abcd", 2)
    tree = CliqueTree(sizes, random_factors(rng, list("abcd"), sizes, 5))
    rows = np.array([[0, -1, 1, -1], [-1, -1, -1, -1], [1, 0, 1, 1]])
    laws = np.empty((3, 8))
    logs = _kernels.row_marginals(*tree._compiled, rows, laws)
    for r, row in enumerate(rows):
        found = tree.calibrate({"abcd"[j]: s for j, s in enumerate(row) if s >= 0})
        np.testing.assert_allclose(laws[r], np.concatenate(list(found.marginals().values())))
        np.testing.assert_allclose(logs[r], found.log_evidence)
    psi, likelihood = tree._potentials.copy(), np.ones(8)
    sep = np.ones(tree._plan.separator[-1])
    value = tree._log_scale + _kernels.propagate.py_func(tree._plan, psi, likelihood, sep)
    np.testing.assert_allclose(value, tree.calibrate().log_evidence)
    np.testing.assert_allclose(psi, tree.calibrate().tables)


def test_counts_and_sums_of_families_are_their_references(rng):
    """Plain loops over rows and tables against the compiled ones."""
    families = Families.of([[], [0], [1, 0]], [2, 3, 2])
    codes = np.column_stack([rng.integers(-1, n, size=40) for n in (2, 3, 2)])
    weight, count = rng.random(40), np.zeros(2 + 6 + 12)
    _kernels.count_families(codes, weight, *families._layout, count)
    expected = [np.zeros(2), np.zeros((2, 3)), np.zeros((3, 2, 2))]
    for row, w in zip(codes, weight, strict=True):
        for table, scope in zip(expected, ([0], [0, 1], [1, 0, 2]), strict=True):
            if (row[scope] >= 0).all():
                table[tuple(row[scope])] += w
    np.testing.assert_allclose(count, families.join(expected))
    whole = codes[(codes >= 0).all(axis=1)]
    values = rng.random(20)
    a, b, c = families.split(values)
    plain = [a[i] + b[i, j] + c[j, i, k] for i, j, k in whole]
    np.testing.assert_allclose(_kernels.sum_families(whole, values, *families._layout), plain)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CliqueTree({"a": 2}, [(["b"], [1, 1])]), "no variable 'b'"),
        (lambda: CliqueTree({"a": 2}, [(["a"], [1, 1, 1])]), "has shape"),
        (lambda: CliqueTree({"a": 2}, [(["a"], [1, -1])]), "below zero"),
        (lambda: CliqueTree({"a": 0}, []), "a state or more"),
        (lambda: CliqueTree({"a": 2}, []).calibrate({"a": 2}), "states 0 to 1"),
        (lambda: CliqueTree({"a": 2}, [(["a"], [1, 0])]).calibrate({"a": 1}), "probability zero"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_any_number_of_tables_may_meet_in_one_clique(rng):
    n = 1200  # 2 ** -1075 is no float any more
    star = {"root": 2} | {f"leaf{i}": 2 for i in range(n)}
    table = np.array([[0.7, 0.3], [0.4, 0.6]])
    tree = CliqueTree(star, [(["root"], [0.5, 0.5]), *((["root", c], table) for c in [*star][1:])])
    np.testing.assert_allclose(tree.calibrate().marginal(["root"]), 0.5, rtol=1e-12)
    seen = rng.integers(2, size=n)
    calibrated = tree.calibrate({f"leaf{i}": int(s) for i, s in enumerate(seen)})
    logs = np.log(0.5) + np.log(table[:, seen]).sum(axis=1)
    assert calibrated.log_evidence == pytest.approx(np.logaddexp(*logs), rel=1e-12)
    odds = calibrated.marginal(["root"])
    assert odds[0] == pytest.approx(np.exp(logs[0] - np.logaddexp(*logs)), rel=1e-9)


@pytest.mark.parametrize("size", [1e-3, 1e200])
def test_the_scale_of_tables_does_not_matter(size):
    tree = CliqueTree({"a": 2}, [(["a"], [size, 2 * size]), (["a"], [2 * size, size])] * 200)
    calibrated = tree.calibrate({"a": [1e-300, 2e-300]})
    np.testing.assert_allclose(calibrated.marginal(["a"]), [1 / 3, 2 / 3], rtol=1e-12)
    expected = 400 * np.log(size) + 200 * np.log(2) + np.log(3e-300)
    assert calibrated.log_evidence == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("value", [[0.5], [-1.0, 2.0], [np.nan, 1.0], "yes", 2, 0.5])
def test_evidence_that_is_none_is_refused(value):
    tree = CliqueTree({"a": 2}, [(["a"], [0.5, 0.5])])
    with pytest.raises(ValueError, match="'a'"):
        tree.calibrate({"a": value})


def test_a_variable_is_asked_for_once():
    with pytest.raises(ValueError, match="once"):
        CliqueTree({"a": 2}, [(["a"], [0.5, 0.5])]).calibrate().marginal(["a", "a"])
