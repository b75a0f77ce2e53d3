"""Least squares and ridge: normal equations, conditioning, weights, outliers, error estimates."""

from __future__ import annotations

import tracemalloc
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import linalg, optimize, stats

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.linear import HuberRegressor, LeastAbsoluteDeviations, LinearRegression, Ridge


def _data(n: int = 60, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + 0.3 * rng.normal(size=n)


def _ols(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return LinearRegression(fit_intercept=False).fit(X, y).coef_


def _ridge(X: np.ndarray, y: np.ndarray, alpha: float) -> np.ndarray:
    return Ridge(alpha=alpha, fit_intercept=False).fit(X, y).coef_


@claim("A34")
def least_squares_solves_the_normal_equations() -> Iterator[Evidence]:
    """Least squares makes the residual orthogonal to X and maximises the Gaussian likelihood."""
    X, y = _data()
    w = _ols(X, y)
    yield at_most("|X'(y - Xw)|", np.abs(X.T @ (y - X @ w)).max(), 1e-10)
    fit = optimize.minimize(
        lambda v: -stats.norm.logpdf(y, X @ v, 0.3).sum(), np.zeros(4), tol=1e-9
    )
    yield equal("weights of greatest likelihood", fit.x, w, 1e-6)


@claim("A35")
def ridge_minimises_its_objective() -> Iterator[Evidence]:
    """(X'X + lam I)^-1 X'y minimises |y - Xw|^2 + lam |w|^2 for lam >= 0.

    The text lets lam be any real number; a negative one can make the problem unbounded.
    """
    X, y = _data()
    w = _ridge(X, y, 2.0)
    yield equal("closed form", np.linalg.solve(X.T @ X + 2 * np.eye(4), X.T @ y), w, 1e-12)
    yield at_most("gradient", np.abs(X.T @ (X @ w - y) + 2 * w).max(), 1e-10)
    fit = optimize.minimize(lambda v: np.sum((y - X @ v) ** 2) + 2 * v @ v, np.zeros(4), tol=1e-9)
    yield equal("generic optimiser", fit.x, w, 1e-6)
    v = np.linalg.eigh(X.T @ X)[1][:, 0]
    negative = -2 * np.linalg.eigvalsh(X.T @ X)[0]
    far, near = (np.sum((y - X @ (t * v)) ** 2) + negative * t**2 for t in (1e4, 1e2))
    yield at_most("objective for lam < 0, far minus near", far - near, 0.0)


@claim("A36")
def the_scale_of_the_loss_scales_the_penalty() -> Iterator[Evidence]:
    """|y - Xw|^2 / (2n) + lam |w|^2 is minimised by (X'X + 2 n lam I)^-1 X'y.

    The text pairs this loss with (X'X + lam I)^-1 X'y, which is another point.
    """
    X, y = _data()
    n, lam = len(y), 0.1
    w = _ridge(X, y, 2 * n * lam)
    yield at_most("gradient", np.abs(X.T @ (X @ w - y) / n + 2 * lam * w).max(), 1e-10)
    yield at_least("distance of the printed form", np.abs(w - _ridge(X, y, lam)).max(), 1e-2)


@claim("A37")
def ridge_trades_bias_for_variance() -> Iterator[Evidence]:
    """On a fixed X the squared bias of ridge rises with lam and its variance falls, strictly."""
    X, _ = _data()
    truth = np.array([1.0, -2.0, 0.5, 3.0])
    bias, variance = [], []
    for alpha in np.logspace(-3, 4, 50):
        hat = Ridge(alpha=alpha, fit_intercept=False).fit(X, np.eye(len(X))).coef_.T  # w = hat y
        bias.append(np.sum((hat @ X @ truth - truth) ** 2))
        variance.append(np.sum(hat**2))
    yield at_least("least rise of the squared bias", np.diff(bias).min(), 1e-300)
    yield at_most("greatest change of the variance", np.diff(variance).max(), -1e-300)


@claim("A46")
def covariance_gives_the_trend() -> Iterator[Evidence]:
    """The slope of simple regression is Cov(x, y) / Var(x), so its sign is that of Cov(x, y)."""
    rng = np.random.default_rng(3)
    for slope in (-2.0, 0.5):
        x = rng.normal(size=40)
        y = slope * x + rng.normal(size=40)
        covariance = np.cov(x, y)
        fitted = LinearRegression().fit(x[:, None], y).coef_[0]
        yield equal("slope", fitted, covariance[0, 1] / covariance[0, 0], 1e-12)
        yield true("same sign", np.sign(fitted) == np.sign(covariance[0, 1]))


@claim("B16")
def gradient_of_the_matrix_loss() -> Iterator[Evidence]:
    """The gradient of |W X - Y|^2 / n is 2 (W X - Y) X' / n, zero at W = Y X' (X X')^-1.

    Here the columns of X are samples.
    """
    rng = np.random.default_rng(4)
    X, Y, W = rng.normal(size=(3, 20)), rng.normal(size=(2, 20)), rng.normal(size=(2, 3))
    gradient = 2 / 20 * (W @ X - Y) @ X.T
    numeric = optimize.approx_fprime(
        W.ravel(), lambda v: np.sum((v.reshape(2, 3) @ X - Y) ** 2) / 20, 1e-7
    )
    yield equal("finite differences", numeric, gradient.ravel(), 1e-6)
    W = _ols(X.T, Y.T)
    yield at_most("gradient at the fit", np.abs(2 / 20 * (W @ X - Y) @ X.T).max(), 1e-10)


@claim("B17")
def many_functions_interpolate() -> Iterator[Evidence]:
    """Infinitely many functions pass through n distinct points: two bases agree there only."""
    x = np.linspace(-1, 1, 7)
    y, new = np.cos(3 * x), np.linspace(-0.95, 0.95, 50)
    bases = [
        lambda t: t[:, None] ** np.arange(7),
        lambda t: np.exp(-4 * (t[:, None] - x) ** 2),
    ]
    weights = [_ols(basis(x), y) for basis in bases]
    for basis, w in zip(bases, weights, strict=True):
        yield equal("values at the points", basis(x) @ w, y, 1e-8)
    apart = np.abs(bases[0](new) @ weights[0] - bases[1](new) @ weights[1]).max()
    yield at_least("distance elsewhere", apart, 1e-3)


def _nearly_collinear(e: float) -> tuple[np.ndarray, np.ndarray]:
    return np.array([[0.0, 1.0], [e, 1.0]]), np.array([1.0, -1.0])


@claim("B18")
def a_nearly_singular_fit_explodes() -> Iterator[Evidence]:
    """Samples (0, 1) and (e, 1) with targets 1, -1 give w = (-2/e, 1), and cond(X'X) ~ 4/e^2."""
    for e in (1e-1, 1e-3):
        X, y = _nearly_collinear(e)
        yield equal("relative w", _ols(X, y) / [-2 / e, 1.0], [1.0, 1.0], 1e-6)
    yield at_most("relative error of 4/e^2", abs(np.linalg.cond(X.T @ X) / 4e6 - 1), 1e-3)


@claim("B19")
def ridge_tames_it() -> Iterator[Evidence]:
    """The same data with a penalty of 0.2 keep w bounded, and w -> 0 as e -> 0."""
    X, y = _nearly_collinear(1e-3)
    yield equal("w at e = 1e-3", _ridge(X, y, 0.2), [-4.99999e-3, 2.2727e-6], 1e-8)
    sizes = [np.abs(_ridge(*_nearly_collinear(e), 0.2)).max() for e in (1e-1, 1e-3, 1e-6)]
    yield at_most("greatest |w| at e = 1e-6", sizes[2], 1e-5)
    yield true("|w| falls with e", sizes[0] > sizes[1] > sizes[2])


@claim("B20")
def mean_loss_multiplies_the_penalty_by_n() -> Iterator[Evidence]:
    """|W X - Y|^2 / n + lam |W|^2 has the minimiser Y X' (X X' + n lam I)^-1: mind the n."""
    X, y = _data()
    n, lam = len(y), 0.05
    w = _ridge(X, y, n * lam)
    yield equal("closed form", np.linalg.solve(X.T @ X + n * lam * np.eye(4), X.T @ y), w, 1e-10)
    yield at_most("gradient", np.abs(2 / n * X.T @ (X @ w - y) + 2 * lam * w).max(), 1e-12)


@claim("B21")
def any_penalty_makes_it_invertible() -> Iterator[Evidence]:
    """X'X + lam I has eigenvalues s_i^2 + lam > 0 for every lam > 0.

    The text asks for a large lam and speaks of no singular values: any lam > 0 does, and there
    is no zero one. Ridge regression divides by them, along each right singular vector of X.
    """
    X, y = _data(n=3, d=5)
    U, s, Vt = linalg.svd(X)
    squares = np.r_[s**2, 0.0, 0.0]
    for lam in (1e-6, 1.0, 1e3):
        values = np.linalg.eigvalsh(X.T @ X + lam * np.eye(5))[::-1]
        yield equal(f"eigenvalues at {lam}", values, squares + lam, 1e-10)
        yield at_least("the least", values[-1], lam * (1 - 1e-6))
        along = Vt @ _ridge(X, y, lam)
        divisor = s * (U.T @ y) / along[:3]
        yield equal(
            f"divisors of ridge over them at {lam}", divisor / values[:3], np.ones(3), 1e-10
        )
        yield equal("ridge where X has nothing", along[3:], np.zeros(2), 1e-12)


@claim("B22")
def ridge_is_least_squares_on_more_rows() -> Iterator[Evidence]:
    """Ridge is least squares with the rows sqrt(lam) e_j and targets 0 appended."""
    X, y = _data()
    augmented = np.vstack([X, np.sqrt(2.0) * np.eye(4)])
    w = _ols(augmented, np.append(y, np.zeros(4)))
    yield equal("weights", w, _ridge(X, y, 2.0), 1e-12)


@claim("B23")
def least_squares_recovers_a_line() -> Iterator[Evidence]:
    """The fit equals NumPy's, its residual is orthogonal to X, and it finds y = 3.4 x + 0.9."""
    X, y = _data()
    w = _ols(X, y)
    yield equal("weights", w, np.linalg.lstsq(X, y)[0], 1e-10)
    yield at_most("|X' residual|", np.abs(X.T @ (y - X @ w)).max(), 1e-10)
    rng = np.random.default_rng(5)
    x = rng.normal(size=50)
    line = LinearRegression().fit(x[:, None], 3.4 * x + 0.9 + 0.3 * rng.normal(size=50))
    yield equal("slope", line.coef_[0], 3.4, 4 * 0.3 / np.sqrt(50))
    yield equal("intercept", line.intercept_, 0.9, 4 * 0.3 / np.sqrt(50))


@claim("B24")
def gaussian_likelihood_is_least_squares() -> Iterator[Evidence]:
    """The Gaussian log-likelihood is a constant less RSS / (2 sigma^2): one maximiser."""
    X, y = _data()
    loglik = lambda v: stats.norm.logpdf(y, X @ v, 0.5).sum()  # noqa: E731
    rss = lambda v: np.sum((y - X @ v) ** 2)  # noqa: E731
    v = np.ones(4)
    rise = loglik(v) - loglik(np.zeros(4))
    yield equal("difference", rise, (rss(np.zeros(4)) - rss(v)) / (2 * 0.5**2), 1e-9)
    best = optimize.minimize(lambda v: -loglik(v), v, tol=1e-9).x
    yield equal("maximiser", best, _ols(X, y), 1e-6)


@claim("B25")
def the_least_norm_solution() -> Iterator[Evidence]:
    """With fewer rows than columns X' (X X')^-1 y = pinv(X) y solves, with the least norm.

    Full row rank makes X X' invertible, not X'X as the text has it.
    """
    X, y = _data(n=5, d=9)
    w = _ols(X, y)
    yield equal("X' (X X')^-1 y", w, X.T @ np.linalg.solve(X @ X.T, y), 1e-12)
    yield equal("pinv(X) y", w, np.linalg.pinv(X) @ y, 1e-12)
    other = w + linalg.null_space(X) @ np.ones(4)
    yield equal("another solution", X @ other, y, 1e-12)
    yield at_least("its norm less ours", np.linalg.norm(other) - np.linalg.norm(w), 1e-3)


@claim("B26")
def uniqueness_needs_full_rank() -> Iterator[Evidence]:
    """With n >= d the solution is unique iff X has full column rank.

    Otherwise the library's is that of least norm, and a warning says so.
    """
    X, y = _data()
    yield equal("rank", LinearRegression(fit_intercept=False).fit(X, y).rank_, 4)
    twice = np.column_stack([X, X[:, 0]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LinearRegression(fit_intercept=False).fit(twice, y)
    yield equal("rank with a column twice", model.rank_, 4)
    yield equal("least-norm weights", model.coef_, np.linalg.pinv(twice) @ y, 1e-10)
    yield true("a warning", any(issubclass(w.category, linalg.LinAlgWarning) for w in caught))


@claim("B27")
def primal_and_dual_ridge_agree() -> Iterator[Evidence]:
    """(X'X + lam I)^-1 X'y = X' (X X' + lam I)^-1 y, and a = (y - Xw) / lam gives w = X'a.

    The text writes X X' + lam for X X' + lam I.
    """
    for n, d in [(40, 4), (4, 40)]:
        X, y = _data(n, d)
        w = _ridge(X, y, 0.5)
        dual = np.linalg.solve(X @ X.T + 0.5 * np.eye(n), y)
        yield equal(f"weights, {n} x {d}", w, X.T @ dual, 1e-12)
        yield equal("dual variables", (y - X @ w) / 0.5, dual, 1e-11)


@claim("B28")
def the_ends_of_the_ridge_path() -> Iterator[Evidence]:
    """Ridge tends to the least-norm least-squares solution as lam -> 0, to 0 as lam -> inf."""
    for n, d in [(40, 4), (4, 40)]:
        X, y = _data(n, d)
        yield equal("weights at 1e-10", _ridge(X, y, 1e-10), np.linalg.pinv(X) @ y, 1e-8)
        yield at_most("|w| at 1e12", np.linalg.norm(_ridge(X, y, 1e12)), 1e-9)


@claim("B29")
def weights_are_inverse_variances() -> Iterator[Evidence]:
    """(X'R^-1 X)^-1 X'R^-1 y is least squares on rows divided by sigma_i; the example gives 1.4."""
    X, y = _data()
    variance = np.random.default_rng(6).uniform(0.5, 3, len(y))
    model = LinearRegression(fit_intercept=False)
    scaled = _ols(X / np.sqrt(variance)[:, None], y / np.sqrt(variance))
    yield equal("sample weights", model.fit(X, y, sample_weight=1 / variance).coef_, scaled, 1e-12)
    general = model.fit(X, y, noise_covariance=np.diag(variance)).coef_
    yield equal("noise covariance", general, scaled, 1e-12)
    pair = model.fit([[1.0], [1.0]], [1.0, 3.0], sample_weight=[1.0, 0.25]).coef_[0]
    yield equal("the example", pair, 1.4, 1e-15)


@claim("B30")
def outliers_pull_squares_without_bound() -> Iterator[Evidence]:
    """Moving one target by D moves the least-squares fit in proportion to D.

    The fits of Huber's and of the absolute loss stay where they are.
    """
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 2))
    y = X @ [2.0, -1.0] + rng.normal(size=60)

    def moved(model: Any, by: float) -> np.ndarray:
        return model.fit(X, np.where(np.arange(60) == 3, y + by, y)).coef_

    square = [moved(LinearRegression(), by) - moved(LinearRegression(), 0.0) for by in (1e3, 1e6)]
    yield equal("ratio of the changes of least squares", square[1] / square[0], [1e3, 1e3], 1e-5)
    for robust in (HuberRegressor(), LeastAbsoluteDeviations()):
        near, far = moved(robust, 1e3), moved(robust, 1e6)
        name = type(robust).__name__
        yield at_most(f"relative change of {name}", np.abs(far / near - 1).max(), 1e-6)


@claim("B31")
def the_smaller_side_sets_the_cost() -> Iterator[Evidence]:
    """Ridge costs O(m d^2 + d^3) from X'X and O(m^2 d + m^3) from XX', and takes the smaller.

    The text mixes the two. Of a wide X nothing of size d x d is formed, of a tall one nothing of
    size m x m: the memory, which measures the same wherever it runs, is a few times that of X.
    """
    for m, d in [(5000, 20), (20, 5000)]:
        X, y = _data(m, d)
        tracemalloc.start()
        w = _ridge(X, y, 1.0)
        peak = tracemalloc.get_traced_memory()[1] / X.nbytes
        tracemalloc.stop()
        yield at_most(f"peak memory over that of X, {m} x {d}", peak, 20.0)
        small = X @ X.T if m < d else X.T @ X
        solve = np.linalg.solve(small + np.eye(20), y if m < d else X.T @ y)
        yield equal("weights from the smaller system", w, X.T @ solve if m < d else solve, 1e-12)
