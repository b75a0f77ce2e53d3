"""Support vector classification: optimality, the solver's parts, and what the class promises."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as peer_kernels

from panlearn.kernel import SVC, _smo
from panlearn.kernel._platt import couple, fit_sigmoid
from panlearn.kernel._rows import GivenRows, rows_of
from panlearn.kernel.kernels import RBF, Laplacian, Linear, Matern, White


def blobs(rng, n=80, d=3, gap=1.0, k=2):
    y = np.arange(n) % k
    centres = gap * np.eye(d)[:k] * 2
    return rng.normal(size=(n, d)) + centres[y], y


def dual_problem(rng, n=60, C=2.0):
    X, y = blobs(rng, n)
    sign = 2.0 * y - 1
    return RBF(1.0)(X), sign, np.minimum(C * sign, 0), np.maximum(C * sign, 0)


def run(K, y, low, high, **options):
    rest = dict(tol=1e-10, max_iter=10**6, cache_bytes=1e8, dtype=np.float64, shrinking=True)
    return _smo.solve(GivenRows(K, np.arange(len(y))), y, low, high, **{**rest, **options})


def reference_steps(K, y, low, high, steps):
    """SMO with second-order selection, as the formulas say."""
    beta, g = np.zeros(len(y)), y.copy()
    for _ in range(steps):
        up, down = beta < high, beta > low
        i = np.where(up, g, -np.inf).argmax()
        curvature = np.maximum(K[i, i] + K.diagonal() - 2 * K[i], 1e-12)
        gain = np.where(down & (g < g[i]), (g[i] - g) ** 2 / curvature, -np.inf)
        j = gain.argmax()
        delta = min((g[i] - g[j]) / curvature[j], high[i] - beta[i], beta[j] - low[j])
        beta[i] += delta
        beta[j] -= delta
        g = y - K @ beta
    return beta


def test_steps_are_those_of_the_reference(rng):
    K, y, low, high = dual_problem(rng)
    for steps in (1, 2, 7, 30):
        ours = run(K, y, low, high, max_iter=steps).beta
        np.testing.assert_allclose(ours, reference_steps(K, y, low, high, steps), atol=1e-12)


def test_the_dual_is_that_of_a_general_solver(rng):
    K, y, low, high = dual_problem(rng, 24)
    peer = minimize(
        lambda b: 0.5 * b @ K @ b - y @ b,
        np.zeros(len(y)),
        jac=lambda b: K @ b - y,
        bounds=list(zip(low, high, strict=True)),
        constraints={"type": "eq", "fun": lambda b: b.sum(), "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    solution = run(K, y, low, high)
    assert solution.objective == pytest.approx(-peer.fun, abs=1e-9)
    np.testing.assert_allclose(solution.beta, peer.x, atol=1e-5)  # SLSQP's own accuracy


@pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
def test_the_conditions_of_optimality(rng, C):
    X, y = blobs(rng)
    model = SVC(C, gamma=0.5, tol=1e-9).fit(X, y)
    alpha = np.zeros(len(y))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    margin = (2 * y - 1) * model.decision_function(X)
    assert alpha.max() <= C
    assert model.dual_coef_.sum() == pytest.approx(0, abs=1e-9 * C)
    free = (alpha > 0) & (alpha < C)
    np.testing.assert_allclose(margin[free], 1, atol=1e-7)
    assert margin[alpha == 0].min() >= 1 - 1e-7
    assert margin[alpha == C].max(initial=-np.inf) <= 1 + 1e-7
    coef, K = model.dual_coef_[0], RBF(1.0)(model.support_vectors_)
    primal = 0.5 * coef @ K @ coef + C * np.maximum(1 - margin, 0).sum()
    assert model.dual_objective_[0] == pytest.approx(primal, rel=1e-7)  # no duality gap


def test_what_is_left_out_comes_back(rng, monkeypatch):
    """Few steps between shrinkings leave too much out: the reconstruction has to find it."""
    X, y = blobs(rng, 200, gap=0.7)
    sign, K = 2.0 * y - 1, RBF(1.0)(X)
    low, high = np.minimum(5 * sign, 0), np.maximum(5 * sign, 0)
    whole = run(K, sign, low, high, shrinking=False)
    calls = []
    original = _smo._reconstruct
    monkeypatch.setattr(_smo, "_reconstruct", lambda *a: (calls.append(1), original(*a)))
    monkeypatch.setattr(_smo, "PERIOD", 10)
    monkeypatch.setattr(_smo, "BLOCK", 1000)  # rows a few at a time
    for cache_bytes in (1e8, 20 * 8 * len(y), 0):  # all rows, twenty, two
        part = run(K, sign, low, high, cache_bytes=cache_bytes)
        np.testing.assert_allclose(part.beta, whole.beta, atol=1e-8)
        assert part.intercept == pytest.approx(whole.intercept, abs=1e-9)
        assert part.objective == pytest.approx(whole.objective, rel=1e-12)
        np.testing.assert_allclose(part.violation, 0, atol=1e-9)
    assert len(calls) >= 3


@pytest.mark.parametrize(
    "kernel", [RBF(0.8), RBF([1.0, 2.0, 3.0]), Matern(1.3, nu=2.5), Laplacian()]
)
def test_rows_are_those_of_the_matrix(rng, kernel):
    X = rng.normal(size=(30, 3))
    K, order = kernel(X), rng.permutation(30)
    for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 1e-6)):
        rows = rows_of(kernel, X).rounded(dtype)
        np.testing.assert_allclose(rows(np.array([4, 9]), 5, 20), K[[4, 9], 5:20], atol=tolerance)
        moved = rows.taken(order)(np.array([4, 9]), 0, 30)
        np.testing.assert_allclose(moved, K[order][:, order][[4, 9]], atol=tolerance)
        np.testing.assert_allclose(rows.diagonal, K.diagonal())


OR = np.array([[0, 0], [1, 0], [0, 1], [1, 1]]), np.array([-1, 1, 1, 1])


def test_hard_margin():
    model = SVC(np.inf, kernel="linear", tol=1e-10).fit(*OR)
    np.testing.assert_allclose(model.coef_, [[2, 2]], atol=1e-9)
    np.testing.assert_allclose(model.intercept_, [-1], atol=1e-9)
    np.testing.assert_allclose(model.dual_coef_, [[-4, 2, 2]], atol=1e-9)
    assert model.support_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("case", ["xor", "noise", "a row with both labels"])
def test_no_hard_margin_where_there_is_none(rng, case):
    X, y = {
        "xor": (OR[0], [0, 1, 1, 0]),
        "noise": (rng.normal(size=(60, 2)), np.arange(60) % 2),
        "a row with both labels": ([[0.0], [1.0], [1.0]], [0, 0, 1]),
    }[case]
    with pytest.raises(ValueError, match=r"C=inf .* not separable: .* finite C"):
        SVC(np.inf, kernel="linear").fit(X, y)
    assert SVC(np.inf, kernel="linear").fit(*OR).converged_


def test_a_large_penalty_is_the_hard_margin_on_a_thin_gap(rng):
    X = rng.normal(size=(40, 2))
    side = X @ [1, 1]
    X = X[np.abs(side) > 0.05]
    y = X @ [1, 1] > 0
    hard = SVC(np.inf, kernel="linear", tol=1e-8).fit(X, y)
    soft = SVC(1e9, kernel="linear", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(hard.coef_, soft.coef_, rtol=1e-6)
    assert hard.score(X, y) == 1


def test_weights_beyond_all_digits_are_a_hard_margin(rng):
    """A score that is summed from multipliers of 1e300 would have none of its digits."""
    hard = SVC(np.inf, kernel="linear", tol=1e-10).fit(*OR)
    heavy = SVC(kernel="linear", tol=1e-10).fit(*OR, sample_weight=np.full(4, 1e300))
    np.testing.assert_allclose(heavy.dual_coef_, hard.dual_coef_, atol=1e-9)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    # the rows of one class alone: no side may be forgotten
    for weight in (np.full(60, 1e300), np.where(y, 1.0, 1e300), np.where(y, 1e300, 1.0)):
        if weight.min() == 1:
            model = SVC(kernel="linear").fit(X, y, sample_weight=weight)
            assert (model.predict(X) == y)[weight > 1].all()
            continue
        with pytest.raises(ValueError, match=r"weights of the rows.*not separable"):
            SVC(kernel="linear").fit(X, y, sample_weight=weight)


def test_one_kernel_in_many_dresses(rng):
    X, y = blobs(rng, k=3)
    new = rng.normal(size=(7, 3))
    expected = SVC(kernel=RBF(1.5), tol=1e-9).fit(X, y)
    K = RBF(1.5)
    for kernel in (
        peer_kernels.RBF(1.5),
        lambda A, B: RBF(1.5)(A, B),
        lambda a, b: np.exp(-np.sum((a - b) ** 2) / 4.5),
    ):
        model = SVC(kernel=kernel, tol=1e-9).fit(X, y)
        np.testing.assert_allclose(
            model.decision_function(new), expected.decision_function(new), atol=1e-7
        )
    named = SVC(gamma=1 / 4.5, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(named.dual_coef_, expected.dual_coef_, atol=1e-7)
    given = SVC(kernel="precomputed", tol=1e-9).fit(K(X), y)
    np.testing.assert_allclose(
        given.decision_function(K(new, X)), expected.decision_function(new), atol=1e-7
    )
    assert given.__sklearn_tags__().input_tags.pairwise
    with pytest.raises(ValueError, match="square"):
        SVC(kernel="precomputed").fit(X, y)
    with pytest.raises(AttributeError, match="linear"):
        named.coef_  # noqa: B018


def test_noise_on_the_diagonal_softens_the_margin(rng):
    """K + I/C' is the machine with squared slacks: margins are 1 − α/C'."""
    X, y = blobs(rng, gap=0.5)
    model = SVC(np.inf, kernel=Linear() + White(0.5), tol=1e-9).fit(X, y)
    alpha = np.abs(model.dual_coef_[0])
    margin = ((2 * y - 1) * model.decision_function(X))[model.support_]
    np.testing.assert_allclose(margin, 1 - 0.5 * alpha, atol=1e-7)


def test_float32_rows_find_the_same_machine(rng):
    X, y = blobs(rng, 150)
    rough, fine = SVC(gamma=0.5, tol=1e-4).fit(X, y), SVC(gamma=0.5, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(rough.decision_function(X), fine.decision_function(X), atol=2e-4)
    assert rough.dual_objective_[0] == pytest.approx(fine.dual_objective_[0], rel=1e-5)


def test_weights_of_rows_and_classes(rng):
    X, y = blobs(rng, k=3)
    weight = rng.integers(0, 3, len(y)).astype(float)
    weight[:3] = 0
    model = SVC(gamma=0.5, tol=1e-9).fit(X, y, weight)
    kept = SVC(gamma=0.5, tol=1e-9).fit(X[weight > 0], y[weight > 0], weight[weight > 0])
    np.testing.assert_array_equal(model.support_, np.flatnonzero(weight)[kept.support_])
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    factors = {0: 1.0, 1: 2.0, 2: 0.5}
    by_class = SVC(gamma=0.5, tol=1e-9, class_weight=factors).fit(X, y)
    by_row = SVC(gamma=0.5, tol=1e-9).fit(X, y, [factors[c] for c in y])
    np.testing.assert_allclose(by_class.dual_coef_, by_row.dual_coef_, atol=1e-7)
    few = np.r_[np.flatnonzero(y == 0)[:5], np.flatnonzero(y == 1)]
    even = SVC(class_weight="balanced", gamma=0.5).fit(X[few], y[few])
    assert np.abs(even.dual_coef_[0][: even.n_support_[0]]).max() > 1  # the rare class weighs more
    with pytest.raises(ValueError, match="class_weight names"):
        SVC(class_weight={7: 1.0}).fit(X, y)


def test_shapes_and_votes_of_several_classes(rng):
    X, y = blobs(rng, 90, k=3)
    names = np.array(["a", "b", "c"])[y]
    votes = SVC(tol=1e-9).fit(X, names)
    pairs = SVC(tol=1e-9, decision_function_shape="ovo").fit(X, names)
    assert votes.decision_function(X).shape == pairs.decision_function(X).shape == (90, 3)
    assert votes.dual_coef_.shape == (2, len(votes.support_))
    assert votes.n_support_.sum() == len(votes.support_)
    np.testing.assert_array_equal(votes.predict(X), pairs.predict(X))
    np.testing.assert_array_equal(
        votes.predict(X), votes.classes_[votes.decision_function(X).argmax(axis=1)]
    )
    two = y != 2  # the first pair is a machine of its own, with the other sign
    alone = SVC(gamma=pairs.kernel_.length_scale**-2 / 2, tol=1e-9).fit(X[two], y[two])
    np.testing.assert_allclose(
        pairs.decision_function(X)[:, 0], -alone.decision_function(X), atol=1e-7
    )


def test_threads_do_not_change_a_bit(rng, use_threads):
    X, y = blobs(rng, 120, d=5, k=4)
    models = []
    for threads in (1, 3):
        use_threads(threads)
        models.append(SVC(probability=True, random_state=0).fit(X, y))
    for name in ("dual_coef_", "intercept_", "probA_", "probB_"):
        np.testing.assert_array_equal(getattr(models[0], name), getattr(models[1], name))


def test_too_few_steps_warn(rng):
    X, y = blobs(rng)
    with pytest.warns(ConvergenceWarning, match=r"SVC did not converge: after 3 steps.*max_iter"):
        model = SVC(max_iter=3).fit(X, y)
    assert not model.converged_
    assert model.n_iter_.tolist() == [3]


def test_ctrl_c_is_heard_before_more_rows_are_made(rng, monkeypatch):
    K, y, low, high = dual_problem(rng)
    monkeypatch.setattr(_smo, "interrupted", lambda: True)
    found = run(K, y, low, high, cache_bytes=1)  # two rows, so that every step needs another
    assert found.n_iter == 1  # and not none: a machine needs support vectors
    np.testing.assert_allclose(found.beta, reference_steps(K, y, low, high, 1), atol=1e-12)


def test_the_sigmoid_is_the_most_likely_one(rng):
    scores = rng.normal(size=400)
    positive = rng.random(400) < 1 / (1 + np.exp(-2 * scores + 0.5))
    weight = rng.uniform(0.5, 2, 400)
    A, B = fit_sigmoid(scores, positive, weight)
    assert -2.8 < A < -1.4
    above, below = weight[positive].sum(), weight[~positive].sum()
    target = np.where(positive, (above + 1) / (above + 2), 1 / (below + 2))
    error = weight * (target - 1 / (1 + np.exp(A * scores + B)))
    np.testing.assert_allclose([error.sum(), error @ scores], 0, atol=1e-6)
    A, B = fit_sigmoid(np.r_[-1.0, 1.0], np.r_[False, True], np.ones(2))  # separated: still finite
    assert A < 0
    assert abs(B) < 1e-8


def test_coupling_returns_what_the_pairs_agree_on(rng):
    p = rng.dirichlet(np.ones(4), size=10)
    pairwise = p[:, :, None] / (p[:, :, None] + p[:, None, :])
    np.testing.assert_allclose(couple(pairwise), p, atol=1e-9)


@pytest.mark.parametrize("k", [2, 3])
def test_probabilities(rng, k):
    X, y = blobs(rng, 300, gap=1.0, k=k)
    assert not hasattr(SVC().fit(X, y), "predict_proba")
    model = SVC(probability=True, random_state=1).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert p.min() >= 0
    assert -np.log(p[np.arange(len(y)), y]).mean() < 0.75 * np.log(k)
    assert abs(p[:, 1].mean() - (y == 1).mean()) < 0.05  # calibrated in the large
    again = SVC(probability=True, random_state=1).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), p)


def test_probabilities_of_a_class_with_one_row(rng):
    X, y = blobs(rng, 20)
    y = np.where(np.arange(20) == 0, 2, y)
    p = SVC(probability=True, random_state=0).fit(X, y).predict_proba(X)
    assert np.isfinite(p).all()
