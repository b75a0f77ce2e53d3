"""Linear networks under gradient flow, followed by gradient descent with a small step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.integrate import solve_ivp

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
    """Gradient flow on a two-layer linear net conserves Q'Q - WW' while QW goes to G.

    Descent with a step follows the flow and breaks the law in proportion to the step.
    """
    risk, gradient = _two_layers(np.eye(3))
    start = np.concatenate([np.eye(3).ravel()] * 2)
    start = start + 0.3 * np.random.default_rng(3).normal(size=18)

    def balance(x: np.ndarray) -> np.ndarray:
        Q, W = x.reshape(2, 3, 3)
        return Q.T @ Q - W @ W.T

    flow = solve_ivp(lambda _, x: -gradient(x), (0, 6), start, "DOP853", rtol=1e-11, atol=1e-12)
    end = flow.y[:, -1]
    yield equal("balance at start and end of the flow", balance(end), balance(start), 1e-8)
    Q, W = end.reshape(2, 3, 3)
    yield at_most("||QW - I|| at the end", float(np.linalg.norm(Q @ W - np.eye(3))), 1e-3)
    drift, halved = (
        np.abs(
            balance(
                gradient_descent(
                    risk, start, jac=gradient, step=step, maxiter=6000, keep_path=False, tol=1e-4
                ).x
            )
            - balance(start)
        ).max()
        for step in (2e-3, 1e-3)
    )
    yield equal("drift of descent at half the step / drift", halved / drift, 0.5, 0.02)
