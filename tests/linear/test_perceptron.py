"""The perceptron: its passes, its mistakes, and its reductions of several classes."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from panlearn import Batches
from panlearn.linear import Perceptron


def separable(rng, n=60, d=3, k=2):
    centres = 8 * np.array([[np.cos(a), np.sin(a)] for a in 2 * np.pi * np.arange(k) / k])
    y = rng.integers(k, size=n)
    X = rng.uniform(-1, 1, (n, d))
    X[:, :2] += centres[y]
    return X, y


def reference(X, y, passes):
    """The algorithm as it is written, for labels -1 and 1."""
    w, b, mistakes = np.zeros(X.shape[1]), 0.0, []
    for _ in range(passes):
        mistakes.append(0)
        for row, label in zip(X, y, strict=True):
            if label * (w @ row + b) <= 0:
                w, b = w + label * row, b + label
                mistakes[-1] += 1
        if not mistakes[-1]:
            break
    return w, b, mistakes


@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_the_walk_is_that_of_the_reference(rng, layout):
    X, y = rng.integers(-3, 4, (40, 3)).astype(float), rng.choice([-1, 1], 40)
    w, b, mistakes = reference(X, y, 5)
    with pytest.warns(ConvergenceWarning):
        model = Perceptron(max_iter=5).fit(layout(X), y)
    np.testing.assert_array_equal(model.coef_[0], w)
    assert model.intercept_[0] == b
    assert model.history_["mistakes"] == mistakes
    assert model.n_updates_[0] == sum(mistakes)


def test_it_stops_on_a_clean_pass(rng):
    X, y = separable(rng)
    model = Perceptron().fit(X, y)
    assert model.converged_
    assert model.history_["mistakes"][-1] == 0
    assert model.n_iter_ == len(model.history_["mistakes"])
    assert model.score(X, y) == 1
    assert model.n_updates_.sum() == sum(model.history_["mistakes"])


def test_it_says_when_it_does_not_converge():
    X, y = np.array([[0, 0], [1, 0], [0, 1], [1, 1]]), [-1, 1, 1, -1]
    with pytest.warns(ConvergenceWarning, match="no hyperplane"):
        model = Perceptron(max_iter=10).fit(X, y)
    assert not model.converged_
    assert model.n_iter_ == 10


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_several_classes_are_binary_problems(rng, multi_class):
    X, y = separable(rng, k=4)
    names = np.array(["d", "a", "c", "b"])[y]
    model = Perceptron(multi_class=multi_class).fit(X, names)
    assert model.score(X, names) == 1
    assert len(model.coef_) == len(model.n_updates_) == {"ovr": 4, "ovo": 6}[multi_class]
    assert model.decision_function(X).shape == (60, 4)
    first, second = ("a", "b")
    use = np.isin(names, [first, second]) if multi_class == "ovo" else np.full(60, True)
    alone = Perceptron().fit(X[use], np.where(names[use] == first, 1, -1))
    np.testing.assert_array_equal(model.coef_[0], alone.coef_[0])
    assert model.n_updates_[0] == alone.n_updates_[0]


def test_ties_of_the_vote_are_settled_by_the_scores():
    model = Perceptron(multi_class="ovo").fit([[1.0, 0], [-1, 1], [-1, -1]], [0, 1, 2])
    # each class wins one of its two pairs: (0, 1) -> 0, (0, 2) -> 2, (1, 2) -> 1
    model.coef_, model.intercept_ = np.zeros((3, 2)), np.array([1.0, -3.0, 2.0])
    scores = model.decision_function([[0.0, 0.0]])
    assert np.floor(scores + 0.5).tolist() == [[1, 1, 1]]
    assert model.predict([[0.0, 0.0]]) == [1 if scores[0, 1] == scores.max() else 2]
    assert (np.abs(scores - 1) < 0.5).all()


def test_streams_walk_in_their_order(rng):
    X, y = separable(rng, k=3)
    whole = Perceptron().fit(X, y)
    stream = Batches([(X[i : i + 13], y[i : i + 13]) for i in range(0, 60, 13)])
    streamed = Perceptron().fit(stream)
    np.testing.assert_array_equal(streamed.coef_, whole.coef_)
    np.testing.assert_array_equal(streamed.n_updates_, whole.n_updates_)


def test_partial_fit_goes_on(rng):
    X, y = separable(rng)
    whole, parts = Perceptron().fit(X, y), Perceptron()
    for _ in range(whole.n_iter_):
        for i in range(0, 60, 7):
            parts.partial_fit(X[i : i + 7], y[i : i + 7], classes=[0, 1])
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    np.testing.assert_array_equal(parts.n_updates_, whole.n_updates_)
    assert parts.converged_


def test_partial_fit_needs_the_classes_first(rng):
    X, y = separable(rng)
    with pytest.raises(ValueError, match="needs classes"):
        Perceptron().partial_fit(X, y)
    model = Perceptron().partial_fit(X, y, classes=[0, 1])
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="not among"):
        model.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match="since the first"):
        model.partial_fit(X, y, classes=[0, 2])
    np.testing.assert_array_equal(model.coef_, before)


def test_shuffling_is_seeded(rng):
    X, y = separable(rng)
    one, two = (Perceptron(shuffle=True, random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    with pytest.raises(ValueError, match="in memory"):
        Perceptron(shuffle=True).fit(Batches([(X, y)]))


def test_without_an_intercept_there_is_none(rng):
    X, y = separable(rng)
    model = Perceptron(fit_intercept=False).fit(X, y)
    np.testing.assert_array_equal(model.intercept_, 0)


def test_float32_in_float32_out(rng):
    X, y = separable(rng)
    model = Perceptron().fit(X.astype("f4"), y)
    assert model.coef_.dtype == model.intercept_.dtype == np.float32


def test_nan_is_refused_by_name(rng):
    X, y = separable(rng)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        Perceptron().fit(X, y)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_class_weights_are_the_lengths_of_steps(rng, layout):
    X, y = rng.integers(-3, 4, (40, 3)).astype(float), rng.choice([-1, 1], 40)
    w, b = np.zeros(3), 0.0
    for _ in range(4):
        for row, label in zip(X, y, strict=True):
            if label * (w @ row + b) <= 0:
                step = 2.5 if label > 0 else 0.5
                w, b = w + step * label * row, b + step * label
    with pytest.warns(ConvergenceWarning):
        model = Perceptron(max_iter=4, class_weight={1: 2.5, -1: 0.5}).fit(layout(X), y)
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-12)
    assert model.intercept_[0] == pytest.approx(b)
    assert model.n_updates_.dtype == np.int64
    shares = {c: 40 / (2 * (y == c).sum()) for c in (-1, 1)}
    with pytest.warns(ConvergenceWarning):
        balanced = Perceptron(max_iter=4, class_weight="balanced").fit(layout(X), y)
    with pytest.warns(ConvergenceWarning):
        given = Perceptron(max_iter=4, class_weight=shares).fit(layout(X), y)
    np.testing.assert_allclose(balanced.coef_, given.coef_)
    stream = Perceptron(max_iter=4, class_weight="balanced")
    with pytest.warns(ConvergenceWarning):
        stream.fit(Batches([(X[:9], y[:9]), (X[9:], y[9:])]))
    np.testing.assert_allclose(stream.coef_, balanced.coef_)


def test_weights_of_classes_do_not_count_as_votes(rng):
    X, y = separable(rng, k=4)
    model = Perceptron(multi_class="ovo", class_weight={0: 50.0}).fit(X, y)
    assert model.score(X, y) == 1
    new = rng.normal(size=(50, 3)) * 8
    scores = new @ model.coef_.T + model.intercept_
    votes = np.zeros((50, 4))
    for column, (i, j) in enumerate(itertools.combinations(range(4), 2)):
        votes[np.arange(50), np.where(scores[:, column] > 0, i, j)] += 1
    found = model.decision_function(new)
    np.testing.assert_array_equal(np.round(found), votes)
    assert np.abs(found - votes).max() < 0.5


def test_a_warm_start_goes_on_where_the_last_fit_ended(rng):
    X, y = rng.integers(-3, 4, (40, 3)).astype(float), rng.choice([-1, 1], 40)
    model = Perceptron(max_iter=3, warm_start=True)
    for _ in range(2):
        with pytest.warns(ConvergenceWarning):
            model.fit(X, y)
    with pytest.warns(ConvergenceWarning):
        whole = Perceptron(max_iter=6).fit(X, y)
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    np.testing.assert_array_equal(model.intercept_, whole.intercept_)
    assert model.history_["mistakes"] == whole.history_["mistakes"][3:]
    with pytest.warns(ConvergenceWarning):
        model.set_params(warm_start=False).fit(X, y)
    assert model.history_["mistakes"] == whole.history_["mistakes"][:3]
    for other in ((X[:, :2], y), (X, y + 5)):
        with pytest.raises(ValueError, match="warm_start goes on with classes"):
            model.set_params(warm_start=True).fit(*other)
    with pytest.raises(ValueError, match=r"balanced.*partial_fit"):
        Perceptron(class_weight="balanced").partial_fit(X, y, classes=[-1, 1])
