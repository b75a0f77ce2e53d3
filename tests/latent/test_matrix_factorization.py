"""MatrixFactorization: its objectives, its solvers against plain NumPy, folding in, labels."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from panlearn.core.threads import threads
from panlearn.latent import MatrixFactorization, Ratings, _alternating
from panlearn.latent._alternating import Entries, solve_side
from panlearn.latent._stochastic_factors import Diagonals, _steps
from panlearn.latent._top import best_items

EXPLICIT = {"regularization": 0.1}
IMPLICIT = {"regularization": 0.3, "feedback": "implicit", "alpha": 2.0}
each_loss = pytest.mark.parametrize("loss", [EXPLICIT, IMPLICIT], ids=["explicit", "implicit"])


@pytest.fixture(name="X")
def ratings(rng):
    """Forty users by fifteen items, a third observed, of rank two and noise."""
    full = 3 + rng.normal(size=(40, 2)) @ rng.normal(size=(2, 15)) + 0.1 * rng.normal(size=(40, 15))
    seen = rng.random((40, 15)) < 0.35
    seen[:, 0], seen[0] = True, True
    return sparse.csr_array((full[seen], np.nonzero(seen)), shape=full.shape)


def fitted(X, iterations=None, **settings):
    model = MatrixFactorization(3, random_state=0, **settings)
    if iterations is None:
        return model.set_params(tol=1e-14, max_iter=20_000).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.set_params(tol=0, max_iter=iterations).fit(X)


def objective(model, X):
    """The formulas of the docstring, over dense matrices."""
    P, Q = model.user_factors_, model.item_factors_
    R, seen = X.toarray(), np.zeros(X.shape, dtype=bool)
    seen[X.nonzero()] = True
    penalty = model.regularization
    if model.feedback == "implicit":
        loss = ((1 + model.alpha * np.abs(R)) * ((R > 0) - P @ Q.T) ** 2).sum()
        return loss + penalty * ((P**2).sum() + (Q**2).sum())
    estimate = model.global_mean_ + model.user_bias_[:, None] + model.item_bias_ + P @ Q.T
    size = (P**2).sum(axis=1) + model.user_bias_**2
    size = size[:, None] + (Q**2).sum(axis=1) + model.item_bias_**2
    return (((R - estimate) ** 2 + penalty * size) * seen).sum()


@each_loss
@pytest.mark.parametrize("solver", ["als", "als-cg"])
@pytest.mark.parametrize("iterations", [1, 7])
def test_history_is_the_objective_and_never_rises(X, loss, solver, iterations):
    model = fitted(X, iterations, solver=solver, **loss)
    history = model.history_["objective"]
    assert history[-1] == pytest.approx(objective(model, X), rel=1e-10)
    assert np.diff([*history]).max(initial=-1) <= 1e-10


@pytest.mark.usefixtures("_either")
@each_loss
def test_both_ways_end_at_a_stationary_point(X, loss):
    for solver in ("als", "als-cg"):
        model = fitted(X, solver=solver, **loss)
        at = objective(model, X)
        for name in ("user_factors_", "item_factors_", "user_bias_", "item_bias_"):
            if model.feedback == "implicit" and "bias" in name:
                continue
            factor, step = getattr(model, name), 1e-5
            for index in list(np.ndindex(factor.shape))[:6]:
                factor[index] += step
                up = objective(model, X)
                factor[index] -= 2 * step
                slope = (up - objective(model, X)) / (2 * step)
                factor[index] += step
                assert abs(slope) < 1e-4 * at, (name, index)  # of a loop that ends at 1e-14


@pytest.fixture(params=[0, _alternating.FEW], ids=["compiled", "few"])
def _either(request, monkeypatch):
    monkeypatch.setattr(_alternating, "FEW", request.param)


@pytest.mark.usefixtures("_either")
@pytest.mark.parametrize("exact", [True, False])
def test_a_side_against_its_normal_equations(rng, exact):
    counts = np.array([4, 0, 2, 6])
    indptr, indices = np.r_[0, counts.cumsum()], rng.integers(0, 5, counts.sum())
    Y, offset, out = rng.normal(size=(5, 3)), rng.normal(size=5), np.zeros((4, 3))
    gram = Y.T @ Y
    target, weight = rng.normal(size=len(indices)), rng.random(len(indices))
    entries = Entries(indptr, indices, target, weight, np.array([0.2, 0.1]))
    with threads() as share:
        # three steps of conjugate gradients solve three equations
        value, squares = solve_side(entries, Y, offset, gram, out, share, exact=exact)
    total, rest = 0.0, target - offset[indices]
    for row in range(4):
        part = slice(indptr[row], indptr[row + 1])
        y, t, w = Y[indices[part]], rest[part], weight[part]
        A = gram + (y.T * w) @ y + (0.2 + 0.1 * counts[row]) * np.eye(3)
        x = np.linalg.solve(A, y.T @ t)
        np.testing.assert_allclose(out[row], x, atol=1e-10)
        total += x @ A @ x - 2 * (y.T @ t) @ x
    assert value == pytest.approx(total)
    assert squares == pytest.approx(rest @ rest)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_few_entries_take_the_steps_of_many(rng, monkeypatch, dtype):
    """Three steps for ten equations end before the solution, in the same place either way."""
    X = sparse.random_array((40, 15), density=0.4, rng=rng, format="csr").astype(dtype)
    entries = Entries(X.indptr, X.indices, X.data, 2 * X.data, np.array([0.2, 0.1], dtype))
    Y, start = rng.normal(size=(15, 10)).astype(dtype), rng.normal(size=(40, 10)).astype(dtype)
    found = []
    for few in (0, _alternating.FEW):
        monkeypatch.setattr(_alternating, "FEW", few)
        out = start.copy()
        with threads() as share:
            sums = solve_side(entries, Y, Y[:, 0].copy(), Y.T @ Y, out, share, exact=False)
        found.append((out, *sums))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(
            other, one, rtol=100 * np.finfo(dtype).eps, atol=1e-5 if dtype is np.float32 else 1e-12
        )


def test_a_first_fit_to_few_entries_reads_no_kernel(rng, monkeypatch):
    def refuse(*arguments):
        raise AssertionError("a kernel was called")

    monkeypatch.setattr(_alternating, "_conjugate_gradients", refuse)
    MatrixFactorization(random_state=0).fit(rng.normal(size=(300, 5)))


def test_directions_that_nothing_holds_get_no_part(rng):
    X = sparse.csr_array(np.ones((3, 2)))
    model = MatrixFactorization(2, solver="als", regularization=0, biased=False, random_state=0)
    model.fit(X)
    np.testing.assert_allclose(model.predict_ratings([0, 1], [0, 1]), 1)


@pytest.mark.parametrize("biased", [True, False])
def test_stochastic_steps_against_a_plain_loop(rng, biased):
    user, item, target = rng.integers(0, 4, 20), rng.integers(0, 3, 20), rng.normal(size=20)
    U, V = rng.normal(size=(4, 3)), rng.normal(size=(3, 3))
    if not biased:
        U[:, 2], V[:, 2] = 0, 0
    expected, other, rate, ridge, met = U.copy(), V.copy(), 0.1, 0.05, 0.0
    for u, i, t in zip(user, item, target, strict=True):
        p, q = expected[u].copy(), other[i].copy()
        error = t - p[2] - q[2] - p[:2] @ q[:2]
        met += error**2
        expected[u, :2] += rate * (error * q[:2] - ridge * p[:2])
        other[i, :2] += rate * (error * p[:2] - ridge * q[:2])
        if biased:
            expected[u, 2] += rate * (error - ridge * p[2])
            other[i, 2] += rate * (error - ridge * q[2])
    assert _steps(user, item, target, U, V, biased, np.array([rate, 1 - rate * ridge])) == (
        pytest.approx(met)
    )
    np.testing.assert_allclose(U, expected, atol=1e-14)
    np.testing.assert_allclose(V, other, atol=1e-14)


def test_a_diagonal_shares_no_factor_and_all_hold_every_entry(X):
    cut = Diagonals(X, X.data)
    assert cut.edges[-1] == X.nnz
    again = sparse.csr_array((cut.target, (cut.users, cut.items)), shape=X.shape)
    np.testing.assert_array_equal(again.toarray(), X.toarray())
    for shift in range(cut.count):
        users, items = [], []
        for g in range(cut.count):
            pair = g * cut.count + (g + shift) % cut.count
            part = slice(cut.edges[pair], cut.edges[pair + 1])
            users += np.unique(cut.users[part]).tolist()
            items += np.unique(cut.items[part]).tolist()
        assert len(users) == len(set(users))
        assert len(items) == len(set(items))


def test_stochastic_gradients_come_near_least_squares(X):
    best = objective(fitted(X, **EXPLICIT), X)
    model = fitted(X, 500, solver="sgd", learning_rate=0.02, **EXPLICIT)
    assert best * 0.99 < objective(model, X) < 1.1 * best
    with pytest.raises(ValueError, match="lower learning_rate"):
        fitted(1e5 * X, 50, solver="sgd", learning_rate=1.0)
    with pytest.raises(ValueError, match="use 'als-cg'"):
        MatrixFactorization(solver="sgd", feedback="implicit").fit(X)


@pytest.mark.parametrize("way", [EXPLICIT, IMPLICIT, {"solver": "als"}, {"solver": "sgd"}], ids=str)
def test_the_same_bits_for_any_number_of_threads(rng, use_threads, way):
    X = sparse.random(1500, 40, 0.4, "csr", rng=rng)
    models = []
    for count in (1, 3):
        use_threads(count)
        models.append(fitted(X, 2, **way))
    np.testing.assert_array_equal(models[0].user_factors_, models[1].user_factors_)
    np.testing.assert_array_equal(models[0].item_factors_, models[1].item_factors_)


@each_loss
def test_folding_in_gives_a_user_the_factors_of_the_fit(X, loss):
    model = fitted(X, solver="als", **loss)
    scale = np.abs(model.user_factors_).max()
    np.testing.assert_allclose(model.transform(X), model.user_factors_, atol=1e-4 * scale)
    np.testing.assert_allclose(model.transform(X[:1]), model.transform(X)[:1], atol=1e-12)
    again = model.recommend(X[:5], 4)
    known = model.recommend(range(5), 4)
    np.testing.assert_array_equal(again.items, known.items)
    np.testing.assert_allclose(again.scores, known.scores, atol=1e-4)


def test_factors_stand_on_principal_axes(X):
    Q = fitted(X, **EXPLICIT).item_factors_
    gram = Q.T @ Q
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-9 * gram.max())
    assert (np.diff(np.diag(gram)) <= 0).all()
    assert (Q[np.abs(Q).argmax(axis=0), range(3)] > 0).all()


def test_a_dense_matrix_with_holes_is_a_sparse_one(X):
    dense = np.full(X.shape, np.nan)
    dense[X.nonzero()] = X.data
    np.testing.assert_array_equal(fitted(dense, 5).item_factors_, fitted(X, 5).item_factors_)
    with pytest.raises(ValueError, match="stores NaN"):
        fitted(sparse.csr_array(dense), 5)
    with pytest.raises(ValueError, match="no rating"):
        fitted(sparse.csr_array((3, 3)), 5)


def test_recommended_are_the_best_that_were_not_seen(X):
    model = fitted(X, 20, **EXPLICIT)
    scores = np.array([model.predict_ratings([u] * 15, range(15)) for u in range(40)])
    for exclude in (True, False):
        items, values = model.recommend(range(40), 5, exclude_seen=exclude)
        for u in range(1, 40):
            left = scores[u].copy()
            if exclude:
                left[X[[u]].indices] = -np.inf
            count = min(5, int(np.isfinite(left).sum()))
            best = np.argsort(-left, kind="stable")[:count]
            np.testing.assert_array_equal(items[u, :count], best)
            np.testing.assert_allclose(values[u, :count], left[best], rtol=1e-12)
    items, values = model.recommend([0], 3)  # has rated everything
    assert np.isnan(values).all()


def test_best_items_against_a_sort(rng):
    users, items, offset = rng.normal(size=(70, 2)), rng.normal(size=(30, 2)), rng.normal(size=30)
    items[7] = items[3]  # a tie goes to the first
    offset[7] = offset[3]
    hidden = sparse.csr_array(rng.random((70, 30)) < 0.2)
    with threads() as share:
        top, best = best_items(users, items, offset, hidden, 6, share)
    scores = np.where(hidden.toarray(), -np.inf, users @ items.T + offset)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :6]
    np.testing.assert_array_equal(top, expected)
    np.testing.assert_allclose(best, np.take_along_axis(scores, expected, axis=1))


def test_labels_go_in_and_out(X):
    users, items = np.array([f"user {i}" for i in range(40)]), np.array(list("abcdefghijklmno"))
    model, plain = fitted(Ratings(X, users, items), 5), fitted(X, 5)
    found = model.recommend(["user 3", "user 8"], 4)
    expected = plain.recommend([3, 8], 4)
    np.testing.assert_array_equal(found.items, items[expected.items])
    np.testing.assert_array_equal(found.scores, expected.scores)
    few = Ratings.from_table(["new", "new"], ["c", "b"], [5.0, 1.0])
    wide = sparse.csr_array(([1.0, 5.0], ([0, 0], [1, 2])), shape=(1, 15))
    np.testing.assert_array_equal(model.transform(few), plain.transform(wide))
    with pytest.warns(UserWarning, match="1 items were not fitted"):
        model.transform(Ratings.from_table(["new", "new"], ["c", "z"], [5.0, 1.0]))


def test_unknown_labels_are_flagged(X):
    X = sparse.csr_array(sparse.block_diag([X, sparse.csr_array((1, 1))]))
    model = fitted(X, 5)
    with pytest.warns(UserWarning, match="4 of 5 pairs"):
        estimate = model.predict_ratings([0, 99, 0, 40, 0], [0, 0, 99, 0, 15])
    assert np.isfinite(estimate[0])
    assert np.isnan(estimate[1:]).all()
    with pytest.raises(ValueError, match=r"such as \[99\]"):
        model.recommend([0, 99])
    with pytest.raises(ValueError, match=r"1 users were not fitted or had no entry"):
        model.recommend([40])
    with pytest.raises(ValueError, match="1 items were not fitted"):
        model.similar_items([15])
    assert 15 not in model.recommend([1], 14, exclude_seen=False).items
    with pytest.warns(UserWarning, match="1 users have no entry"):
        model.recommend(X[40:41], 3)
    with pytest.raises(ValueError, match="expecting 16"):
        model.recommend(X.T)
    with pytest.raises(ValueError, match="from 1 to the 16 items"):
        model.recommend([0], 17)
    with pytest.raises(ValueError, match="go in pairs"):
        model.predict_ratings([0, 1], [0])


def test_similar_items_by_the_angle(X):
    model = fitted(X, 20, **IMPLICIT)
    Q = model.item_factors_
    cosines = Q @ Q.T / np.outer(*[np.linalg.norm(Q, axis=1)] * 2)
    np.fill_diagonal(cosines, -2)
    found = model.similar_items(range(15), 3)
    np.testing.assert_array_equal(found.items, np.argsort(-cosines, axis=1)[:, :3])
    np.testing.assert_allclose(found.scores, -np.sort(-cosines, axis=1)[:, :3], rtol=1e-9)


@pytest.mark.parametrize("labels", [[40, 10, 30, 20, 60, 50], list("dacbfe")])
def test_columns_of_a_frame_are_found_by_label(rng, labels):
    pd = pytest.importorskip("pandas")
    table = np.where(rng.random((20, 6)) < 0.4, np.nan, rng.integers(1, 6, size=(20, 6)))
    frame = pd.DataFrame(table, columns=labels)
    who, what = np.nonzero(~np.isnan(table))
    rows = Ratings.from_table(who, np.array(labels)[what], table[who, what])
    for known in (rows, frame) if isinstance(labels[0], int) else (rows,):
        model = MatrixFactorization(2, random_state=0).fit(known)
        turned = model.transform(frame[sorted(labels)])
        np.testing.assert_allclose(turned, model.transform(frame), atol=1e-12)
        np.testing.assert_allclose(turned, model.transform(rows), atol=1e-12)
    with pytest.warns(UserWarning, match="1 items were not fitted"):
        fewer = model.transform(frame[labels[:4]].assign(other=1.0))
    short = table.copy()
    short[:, 4:] = np.nan
    expected = model.transform(pd.DataFrame(short, columns=labels))
    np.testing.assert_allclose(fewer, expected, atol=1e-12)
