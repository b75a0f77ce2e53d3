"""Linear networks under gradient flow, followed by gradient descent with a small step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from panlearn.claims.claim import Evidence, at_most, claim, equal
from panlearn.optimize import gradient_descent


@claim("A23")
def one_linear_layer() -> Iterator[Evidence]:
    """One linear layer with white inputs and the identity as target learns at one rate.

    R(A) = c + Tr(AA') - 2 Tr(A) has gradient 2 (A - I), and the flow A(t) = I + (A_0 - I) e^(-2t)
    leads to I. The text's relation between A and its velocity has a wrong factor.
    """
    start = np.eye(3) + np.random.default_rng(0).uniform(-0.5, 0.5, (3, 3))

    def risk(a: np.ndarray) -> float:
        return float(a @ a - 2 * np.trace(a.reshape(3, 3)))

    numeric = gradient_descent(risk, start.ravel(), maxiter=0).jac
    yield equal("gradient", 2 * (start - np.eye(3)).ravel(), numeric, 1e-8)
    flow = gradient_descent(
        risk,
        start.ravel(),
        jac=lambda a: 2 * (a - np.eye(3).ravel()),
        step=2e-4,
        maxiter=10_000,
        keep_path=False,
    )
    exact = np.eye(3) + (start - np.eye(3)) * np.exp(-4)
    yield equal("Euler and the solution at t = 2", flow.x.reshape(3, 3), exact, 1e-5)


def _two_layers(target: np.ndarray) -> tuple:
    """The risk ||QW - G||^2 of a two-layer linear net and its gradient, on stacked Q and W."""

    def risk(x: np.ndarray) -> float:
        Q, W = x.reshape(2, 3, 3)
        return float(((Q @ W - target) ** 2).sum())

    def gradient(x: np.ndarray) -> np.ndarray:
        Q, W = x.reshape(2, 3, 3)
        error = Q @ W - target
        return 2 * np.stack([error @ W.T, Q.T @ error]).ravel()

    return risk, gradient


@claim("A24")
def two_linear_layers() -> Iterator[Evidence]:
    """Two linear layers, A = QW with target G, have gradients 2(QW - G)W' and 2Q'(QW - G).

    The text's products are transposed wrongly.
    """
    x = np.random.default_rng(1).normal(size=18)
    for name, target in (
        ("I", np.eye(3)),
        ("random", np.random.default_rng(2).normal(size=(3, 3))),
    ):
        risk, gradient = _two_layers(target)
        numeric = gradient_descent(risk, x, maxiter=0).jac
        error = np.abs(gradient(x) - numeric).max() / np.abs(numeric).max()
        yield at_most(f"relative error of the gradient, G = {name}", error, 1e-6)


@claim("A25")
def balance_is_conserved() -> Iterator[Evidence]:
    """Gradient flow on a two-layer linear net conserves Q'Q - WW' while QW goes to G."""
    risk, gradient = _two_layers(np.eye(3))
    start = np.concatenate([np.eye(3).ravel()] * 2)
    start = start + 0.3 * np.random.default_rng(3).normal(size=18)
    run = gradient_descent(
        risk, start, jac=gradient, step=2e-3, maxiter=3000, keep_path=False, tol=1e-4
    )

    def balance(x: np.ndarray) -> np.ndarray:
        Q, W = x.reshape(2, 3, 3)
        return Q.T @ Q - W @ W.T

    # Euler's steps break the law by a multiple of the step, 2e-3.
    yield equal("balance at start and end", balance(run.x), balance(start), 5e-3)
    half = gradient_descent(
        risk, start, jac=gradient, step=1e-3, maxiter=6000, keep_path=False, tol=1e-4
    )
    drift, halved = (np.abs(balance(r.x) - balance(start)).max() for r in (run, half))
    yield equal("drift at half the step / drift", halved / drift, 0.5, 0.02)
    Q, W = run.x.reshape(2, 3, 3)
    yield at_most("||QW - I|| at the end", float(np.linalg.norm(Q @ W - np.eye(3))), 1e-3)
