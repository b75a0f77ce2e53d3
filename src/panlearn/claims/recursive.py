"""Recursive least squares: gain, covariance forms, limits, equivalence with the batch answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal
from panlearn.linear import RecursiveLeastSquares, Ridge


def _positive(rng: np.random.Generator, d: int) -> np.ndarray:
    A = rng.normal(size=(d, d))
    return A @ A.T + 0.1 * np.eye(d)


def _joseph(P: np.ndarray, X: np.ndarray, R: np.ndarray, K: np.ndarray) -> np.ndarray:
    """(I - K X) P (I - K X)' + K R K'."""
    rest = np.eye(len(P)) - K @ X
    return rest @ P @ rest.T + K @ R @ K.T


def _gain(P: np.ndarray, X: np.ndarray, R: np.ndarray) -> np.ndarray:
    """P X' (X P X' + R)^-1."""
    return P @ X.T @ np.linalg.inv(X @ P @ X.T + R)


def _step() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.random.Generator]:
    """A prior covariance, one row and its noise, and a generator."""
    rng = np.random.default_rng(0)
    return _positive(rng, 3), rng.normal(size=(1, 3)), np.array([[0.5]]), rng


def _model(prior: Any = 1e6, noise: float = 1.0, **rest: Any) -> RecursiveLeastSquares:
    return RecursiveLeastSquares(
        prior_covariance=prior, noise_variance=noise, fit_intercept=False, **rest
    )


@claim("B32")
def any_gain_is_unbiased() -> Iterator[Evidence]:
    """The error obeys e_k = (I - K X) e_{k-1} + K eta for any gain.

    So a start that is right on average stays so, E[theta_k] = theta (the text prints
    theta_k = theta_k): also with the gains of a filter whose prior and noise are wrong.
    """
    rng, runs = np.random.default_rng(0), 20_000
    truth = rng.normal(size=(3, runs))  # of mean zero, as the start of every run is zero
    model, error = _model(_positive(rng, 3), noise=7.0), -truth
    for _ in range(5):
        x, noise = rng.normal(size=(1, 3)), 0.4 * rng.normal(size=(1, runs))
        model.partial_fit(x, x @ truth + noise)
        K = model.covariance_ @ x.T / 7.0
        error = error - K @ x @ error + K @ noise
        yield equal("error and its recursion", model.coef_.T - truth, error, 1e-12)
    deviation = np.abs(error.mean(axis=1)) / (error.std(axis=1) / np.sqrt(runs))
    yield at_most("standard errors of the mean from the truth", deviation.max(), 4.0)


@claim("B34")
def the_gain_is_optimal() -> Iterator[Evidence]:
    """K = P X' (X P X' + R)^-1 minimises tr(P_k): no change of the gain gives less."""
    P, X, R, rng = _step()
    K = _gain(P, X, R)
    best = np.trace(_joseph(P, X, R, K))
    others = [np.trace(_joseph(P, X, R, K + 0.1 * rng.normal(size=(3, 1)))) for _ in range(200)]
    yield at_least("least trace at other gains, less ours", min(others) - best, 0.0)
    model = _model(prior=P, noise=0.5).partial_fit(X, [1.0])
    yield equal("trace in the library", np.trace(model.covariance_), best, 1e-12)


@claim("B35")
def noise_never_helps() -> Iterator[Evidence]:
    """After an update P_k <= P_{k-1}, and P_k does not fall when R grows (in Loewner's order)."""
    rng = np.random.default_rng(2)
    for _ in range(5):
        P, x = _positive(rng, 4), rng.normal(size=(1, 4))
        clear, noisy = (_model(P, R).partial_fit(x, [1.0]).covariance_ for R in (1.0, 2.0))
        yield at_least("eigenvalues of P(2R) - P(R)", np.linalg.eigvalsh(noisy - clear)[0], -1e-12)
        yield at_least("eigenvalues of P - P(2R)", np.linalg.eigvalsh(P - noisy)[0], -1e-12)


@claim("B36")
def josephs_form() -> Iterator[Evidence]:
    """Joseph's form equals (I - K X) P = P - P X' S^-1 X P at the optimal gain and no other.

    The text prints X' for the second X of the short form.
    """
    P, X, R, rng = _step()
    K = _gain(P, X, R)
    short = P - P @ X.T @ np.linalg.inv(X @ P @ X.T + R) @ X @ P
    yield equal("short form", (np.eye(3) - K @ X) @ P, short, 1e-12)
    yield equal("Joseph's form", _joseph(P, X, R, K), short, 1e-12)
    yield equal("the library", _model(P, 0.5).partial_fit(X, [1.0]).covariance_, short, 1e-12)
    other = K + 0.1 * rng.normal(size=(3, 1))
    apart = np.abs(_joseph(P, X, R, other) - (np.eye(3) - other @ X) @ P).max()
    yield at_least("difference at another gain", apart, 1e-3)


@claim("B37")
def information_adds_up() -> Iterator[Evidence]:
    """P_k^-1 = P_{k-1}^-1 + X' R^-1 X and K = P_k X' R^-1.

    The text prints P_{k-1}^-1 on both sides.
    """
    P, X, R, _ = _step()
    new = _model(P, 0.5).partial_fit(X, [1.0]).covariance_
    yield equal("P^-1", np.linalg.inv(new), np.linalg.inv(P) + X.T @ X / 0.5, 1e-10)
    yield equal("gain", new @ X.T / 0.5, _gain(P, X, R), 1e-10)


@claim("B38")
def woodbury() -> Iterator[Evidence]:
    """(A - B D^-1 C)^-1 = A^-1 + A^-1 B (D - C A^-1 B)^-1 C A^-1, and the form for A + B C D.

    By the latter a filter that has seen two rows, of precision P^-1 + X' R^-1 X, has never
    inverted more than the noise.
    """
    rng, inv = np.random.default_rng(3), np.linalg.inv
    A, D = 5 * np.eye(4) + rng.normal(size=(4, 4)) / 4, 5 * np.eye(2) + rng.normal(size=(2, 2)) / 4
    B, C = rng.normal(size=(4, 2)), rng.normal(size=(2, 4))
    right = inv(A) + inv(A) @ B @ inv(D - C @ inv(A) @ B) @ C @ inv(A)
    yield equal("A - B D^-1 C", inv(A - B @ inv(D) @ C), right, 1e-10)
    right = inv(A) - inv(A) @ B @ inv(inv(D) + C @ inv(A) @ B) @ C @ inv(A)
    yield equal("A + B D C", inv(A + B @ D @ C), right, 1e-10)
    P, X = _positive(rng, 4), rng.normal(size=(2, 4))
    seen = _model(P, noise=0.5).fit(X, rng.normal(size=2)).covariance_
    left = inv(inv(P) + X.T @ X / 0.5)
    yield equal("covariance of the filter", seen, left, 1e-10)
    right = P - P @ X.T @ inv(0.5 * np.eye(2) + X @ P @ X.T) @ X @ P
    yield equal("by Woodbury", seen, right, 1e-10)


@claim("B39")
def the_scalar_recursion() -> Iterator[Evidence]:
    """With x = 1, P_k = P0 R / (k P0 + R) and theta_k = (R theta_0 + P0 sum y) / (k P0 + R)."""
    P0, R, start = 2.0, 0.5, 0.3
    y = np.array([1.0, -1.0, 2.0, 0.5, 3.0, -2.0])
    model = _model(P0, R, prior_mean=start)
    last = start
    for k in range(1, 7):
        theta = model.partial_fit([[1.0]], y[k - 1 : k]).coef_[0]
        scale = k * P0 + R
        yield equal(f"P_{k}", model.covariance_[0, 0], P0 * R / scale, 1e-15)
        yield equal(f"theta_{k}", theta, (R * start + P0 * y[:k].sum()) / scale, 1e-14)
        step = ((k - 1) * P0 + R) / scale * last + P0 / scale * y[k - 1]
        yield equal(f"its recursion at {k}", theta, step, 1e-14)
        last = theta


@claim("B40")
def the_limits_of_the_prior() -> Iterator[Evidence]:
    """P0 = 0 freezes the estimate; P0 -> inf makes it the running mean."""
    y = np.array([1.0, 4.0, -2.0, 3.0])
    frozen = _model(0.0, prior_mean=0.7).fit(np.ones((4, 1)), y)
    yield equal("frozen estimate", frozen.coef_[0], 0.7)
    model, mean = _model(1e12), 0.0
    for k, value in enumerate(y, start=1):
        mean = ((k - 1) * mean + value) / k
        estimate = model.partial_fit([[1.0]], [value]).coef_[0]
        yield equal(f"running mean of {k}", estimate, mean, 1e-9)


@claim("B41")
def a_line_row_by_row() -> Iterator[Evidence]:
    """Rows (1, t) taken in one by one give the batch answer with the prior.

    That is (P0^-1 + X'X/R)^-1 (P0^-1 theta_0 + X'y/R). The noise has mean 0 and variance R; the
    text prints that its mean is R.
    """
    rng = np.random.default_rng(4)
    X = np.column_stack([np.ones(30), np.linspace(0, 3, 30)])
    y = X @ [0.9, 3.4] + 0.5 * rng.normal(size=30)
    P0, start = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([0.5, 1.0])
    model = _model(P0, 0.25, prior_mean=start)
    for i in range(30):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    precision = np.linalg.inv(P0) + X.T @ X / 0.25
    batch = np.linalg.solve(precision, np.linalg.solve(P0, start) + X.T @ y / 0.25)
    yield equal("estimate", model.coef_, batch, 1e-12)
    yield equal("covariance", model.covariance_, np.linalg.inv(precision), 1e-12)


@claim("B42")
def accumulators_give_ridge() -> Iterator[Evidence]:
    """R <- R + p p', Q <- Q + p y from R_0 = b I gives R^-1 Q, the ridge solution with b."""
    rng = np.random.default_rng(5)
    X, y, b = rng.normal(size=(40, 3)), rng.normal(size=40), 0.7
    R, Q = b * np.eye(3), np.zeros(3)
    for p, value in zip(X, y, strict=True):
        R, Q = R + np.outer(p, p), Q + p * value
    ridge = Ridge(alpha=b, fit_intercept=False).fit(X, y).coef_
    yield equal("accumulators", np.linalg.solve(R, Q), ridge, 1e-10)
    yield equal("recursive", _model(1 / b).fit(X, y).coef_, ridge, 1e-10)


def _printed_step(
    P: np.ndarray, w: np.ndarray, p: np.ndarray, y: float, new: float
) -> tuple[np.ndarray, np.ndarray]:
    """One step of the forgetting form, P = R^-1."""
    scale = new * p @ P @ p + 1 - new
    w = w + new * P @ p * (y - p @ w) / scale
    return (P - new * np.outer(P @ p, P @ p) / scale) / (1 - new), w


@claim("B43")
def forgetting() -> Iterator[Evidence]:
    """R <- (1-l) R + l p p', Q <- (1-l) Q + l p y has w += l R^-1 p (y - p'w) / (l p'R^-1 p + 1-l).

    The text's sign before the rank-one term of R^-1 must be minus, and its l weighs the new row:
    the forgetting factor as usually meant, the weight of the past, is 1 - l. The start b I decays
    as (1-l)^m.
    """
    rng, new = np.random.default_rng(6), 0.2
    R, Q, P, w = np.eye(3), np.zeros(3), np.eye(3), np.zeros(3)
    model = _model(1.0, 1 / new, forgetting=1 - new)
    for _ in range(30):
        p, y = rng.normal(size=3), rng.normal()
        R, Q = (1 - new) * R + new * np.outer(p, p), (1 - new) * Q + new * p * y
        P, w = _printed_step(P, w, p, y, new)
        model.partial_fit(p[None], [y])
    yield equal("recursion and direct inverse", w, np.linalg.solve(R, Q), 1e-9)
    yield equal("R^-1", P, np.linalg.inv(R), 1e-9)
    yield equal("the library's estimate", model.coef_, w, 1e-9)
    yield equal("the library's covariance", model.covariance_, P, 1e-9)


@claim("B44")
def forgetting_by_half() -> Iterator[Evidence]:
    """At l = 1/2 one forgetting step is the plain one: the factors of 1/2 cancel in w.

    For one step only: R is then half of the plain one, and the next step differs.
    """
    rng = np.random.default_rng(7)
    P, w = _positive(rng, 3), rng.normal(size=3)
    p, y = rng.normal(size=3), 1.3
    plain = _model(P, 1.0, prior_mean=w).partial_fit(p[None], [y])
    halved = _model(P, 2.0, prior_mean=w, forgetting=0.5).partial_fit(p[None], [y])
    yield equal("one step", _printed_step(P, w, p, y, 0.5)[1], plain.coef_, 1e-14)
    yield equal("one step of the library", halved.coef_, plain.coef_, 1e-14)
    p, y = rng.normal(size=3), -0.4
    plain, halved = plain.partial_fit(p[None], [y]), halved.partial_fit(p[None], [y])
    yield at_least("difference after two", np.abs(plain.coef_ - halved.coef_).max(), 1e-3)
