"""Inner products, positive matrices, traces, and derivatives of matrix expressions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg import ldl

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.theory.probability import MultivariateNormal


def _slope(f: Callable[[np.ndarray], float], A: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """Central differences in every entry."""
    out = np.zeros_like(A)
    for i in np.ndindex(A.shape):
        step = np.zeros_like(A)
        step[i] = h
        out[i] = (f(A + step) - f(A - step)) / (2 * h)
    return out


@claim("A230", mathematics=True)
def cauchy_schwarz() -> Iterator[Evidence]:
    """|<u, v>| <= ||u|| ||v||; the text loses the absolute value."""
    u, v = np.random.default_rng(0).normal(size=(2, 1000, 4))
    inner = (u * v).sum(axis=1)
    bound = np.linalg.norm(u, axis=1) * np.linalg.norm(v, axis=1)
    yield at_most("largest ratio", (np.abs(inner) / bound).max(), 1 + 1e-12)
    yield at_most("and negative products occur", inner.min(), -1)


@claim("A231")
def positive_semidefinite() -> Iterator[Evidence]:
    """X'Ax >= 0 just if eigenvalues are; then trace and determinant are, and A = LL'.

    Of a singular matrix plain Cholesky may fail, where eigenvectors give a factor: a law of
    singular covariance is drawn from by them.
    """
    rng = np.random.default_rng(1)
    B = rng.normal(size=(4, 2))
    A = B @ B.T
    x = rng.normal(size=(500, 4))
    yield at_least("least x'Ax", np.einsum("ni,ij,nj->n", x, A, x).min(), -1e-12)
    values = np.linalg.eigvalsh(A)
    yield at_least("least eigenvalue", values.min(), -1e-12)
    yield at_least("trace and determinant", min(np.trace(A), np.linalg.det(A)), -1e-12)
    draws = MultivariateNormal(np.zeros(4), A).sample(100_000, random_state=1)
    error = np.abs(np.cov(draws.T) - A).max() / np.abs(A).max()
    yield at_most("covariance of draws", error, 0.03)
    lower, diagonal, _ = ldl(A)
    yield equal("LDL' of a singular matrix", lower @ diagonal @ lower.T, A, 1e-12)


@claim("A232", mathematics=True)
def sylvester() -> Iterator[Evidence]:
    """PD just if all leading minors > 0, PSD if all principal minors >= 0, ND if they alternate.

    diag(0, -1) has leading minors 0, 0 and is not PSD: the text takes leading minors for all.
    """
    rng = np.random.default_rng(2)

    def leading(A: np.ndarray) -> np.ndarray:
        return np.array([np.linalg.det(A[:k, :k]) for k in range(1, len(A) + 1)])

    def principal(A: np.ndarray) -> float:
        parts = (c for k in range(1, len(A) + 1) for c in itertools.combinations(range(len(A)), k))
        return min(np.linalg.det(A[np.ix_(c, c)]) for c in parts)

    for _ in range(100):
        S = rng.normal(size=(3, 3))
        A = S + S.T + rng.normal() * 3 * np.eye(3)
        values = np.linalg.eigvalsh(A)
        yield true("PD", (leading(A) > 0).all() == (values > 0).all())
        yield true("PSD", (principal(A) >= 0) == (values >= 0).all())
        yield true("ND", (leading(A) * [-1, 1, -1] > 0).all() == (values < 0).all())
    bad = np.diag([0.0, -1.0])
    yield equal("leading minors of diag(0, -1)", leading(bad), [0, 0])
    yield at_most("one of its principal minors", principal(bad), -1)


@claim("A233", mathematics=True)
def traces() -> Iterator[Evidence]:
    """The trace is linear, cyclic, that of A', the sum of eigenvalues; Tr(ACB) is not Tr(ABC)."""
    A, B, C = np.random.default_rng(3).normal(size=(3, 4, 4))
    yield equal("linear", np.trace(2 * A + B), 2 * np.trace(A) + np.trace(B), 1e-12)
    yield equal("cyclic", np.trace(A @ B @ C), np.trace(C @ A @ B), 1e-12)
    yield equal("transpose", np.trace(A.T), np.trace(A), 1e-12)
    yield equal("eigenvalues", np.linalg.eigvals(A).sum().real, np.trace(A), 1e-12)
    yield at_least("a swap", abs(np.trace(A @ C @ B) - np.trace(A @ B @ C)), 0.1)


@claim("A234", mathematics=True)
def frobenius() -> Iterator[Evidence]:
    """||A||_F^2 = sum a_ij^2 = Tr(A'A) = sum s_i^2, and orthogonal Q leaves it."""
    rng = np.random.default_rng(4)
    A = rng.normal(size=(4, 3))
    Q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    total = (A**2).sum()
    yield equal("trace", np.trace(A.T @ A), total, 1e-12)
    yield equal("singular values", (np.linalg.svd(A)[1] ** 2).sum(), total, 1e-12)
    yield equal("QA", np.linalg.norm(Q @ A) ** 2, total, 1e-12)


@claim("A235", mathematics=True)
def denominator_layout() -> Iterator[Evidence]:
    """(df/dx)_ij = df_j / dx_i, of shape n x m: d(Ax)/dx = A', and dz/dx = (dy/dx)(dz/dy)."""
    rng = np.random.default_rng(5)
    A, B, x = rng.normal(size=(2, 3)), rng.normal(size=(4, 2)), rng.normal(size=3)

    def layout(f: Callable[[np.ndarray], np.ndarray], at: np.ndarray) -> np.ndarray:
        def entry(j: int) -> Callable[[np.ndarray], float]:
            return lambda v: float(f(v)[j])

        return np.stack([_slope(entry(j), at) for j in range(len(f(at)))], axis=1)

    yield equal("d(Ax)/dx", layout(lambda v: A @ v, x), A.T, 1e-8)
    inner, outer = lambda v: np.tanh(A @ v), lambda u: np.sin(B @ u)
    chained = layout(inner, x) @ layout(outer, inner(x))
    yield equal("chain", layout(lambda v: outer(inner(v)), x), chained, 1e-8)


@claim("A236", mathematics=True)
def vector_derivatives() -> Iterator[Evidence]:
    """d(a'x) = a, d(b'Ax) = A'b, d(x'Ax) = (A + A')x, d(x'x) = 2x, d||y - Xx||^2 = 2X'(Xx - y)."""
    rng = np.random.default_rng(6)
    a, x, A = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(3, 3))
    b, X, y = rng.normal(size=3), rng.normal(size=(5, 3)), rng.normal(size=5)
    for name, f, expected in (
        ("a'x", lambda v: a @ v, a),
        ("b'Ax", lambda v: b @ A @ v, A.T @ b),
        ("x'Ax", lambda v: v @ A @ v, (A + A.T) @ x),
        ("x'x", lambda v: v @ v, 2 * x),
        ("||y - Xx||^2", lambda v: ((y - X @ v) ** 2).sum(), 2 * X.T @ (X @ x - y)),
        ("a constant", lambda v: 3.0, np.zeros(3)),
    ):
        yield equal(name, _slope(f, x), expected, 1e-7)


@claim("A237", mathematics=True)
def product_rule() -> Iterator[Evidence]:
    """d(uv) = (du) v + u (dv) for numbers u, v; d||f||^2 = 2 J'f with J the usual Jacobian."""
    rng = np.random.default_rng(7)
    A, x = rng.normal(size=(2, 3)), rng.normal(size=3)

    def u(v: np.ndarray) -> float:
        return float(np.sin(v).sum())

    def w(v: np.ndarray) -> float:
        return float(v @ v)

    product = _slope(u, x) * w(x) + u(x) * _slope(w, x)
    yield equal("product", _slope(lambda v: u(v) * w(v), x), product, 1e-7)
    f = np.tanh(A @ x)
    J = (1 - f**2)[:, None] * A
    yield equal("||f||^2", _slope(lambda v: (np.tanh(A @ v) ** 2).sum(), x), 2 * J.T @ f, 1e-7)


@claim("A238", mathematics=True)
def bilinear_forms() -> Iterator[Evidence]:
    """d(a'Xb) = ab', d(a'X'b) = ba', d(a'X'Xb) = X(ab' + ba')."""
    rng = np.random.default_rng(8)
    a, b, X = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(3, 3))
    ab = np.outer(a, b)
    yield equal("a'Xb", _slope(lambda M: a @ M @ b, X), ab, 1e-8)
    yield equal("a'X'b", _slope(lambda M: a @ M.T @ b, X), ab.T, 1e-8)
    yield equal("a'X'Xb", _slope(lambda M: a @ M.T @ M @ b, X), X @ (ab + ab.T), 1e-8)


@claim("A239", mathematics=True)
def higher_forms() -> Iterator[Evidence]:
    """d(a'XX'b) = (ab' + ba')X, d(a'X'X'b) = ba'X' + X'ba', and of a'X'X'Xb three terms.

    These are Xb(Xa)' + X'Xba' + XXab'. The text has the last two wrong.
    """
    rng = np.random.default_rng(9)
    a, b, X = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(3, 3))
    ab = np.outer(a, b)
    yield equal("a'XX'b", _slope(lambda M: a @ M @ M.T @ b, X), (ab + ab.T) @ X, 1e-7)
    found = _slope(lambda M: a @ M.T @ M.T @ b, X)
    yield equal("a'X'X'b", found, ab.T @ X.T + X.T @ ab.T, 1e-7)
    cubic = np.outer(X @ b, X @ a) + X.T @ X @ ab.T + X @ X @ ab
    yield equal("a'X'X'Xb", _slope(lambda M: a @ M.T @ M.T @ M @ b, X), cubic, 1e-7)


@claim("A240", mathematics=True)
def slopes_of_traces() -> Iterator[Evidence]:
    """Grad Tr(AA') = 2A and grad Tr(AB) = B'."""
    A, B = np.random.default_rng(10).normal(size=(2, 3, 3))
    yield equal("Tr(AA')", _slope(lambda M: np.trace(M @ M.T), A), 2 * A, 1e-8)
    yield equal("Tr(AB)", _slope(lambda M: np.trace(M @ B), A), B.T, 1e-8)


@claim("A241", mathematics=True)
def inverse_and_determinant() -> Iterator[Evidence]:
    """Grad Tr(S A^-1) = -(A^-1 S A^-1)' and grad log det A = A^-T; the text drops an A^-1."""
    rng = np.random.default_rng(11)
    S = rng.normal(size=(3, 3))
    A = S @ S.T + np.eye(3)
    inverse = np.linalg.inv(A)
    found = _slope(lambda M: np.trace(S @ np.linalg.inv(M)), A)
    yield equal("Tr(S A^-1)", found, -(inverse @ S @ inverse).T, 1e-7)
    found = _slope(lambda M: np.linalg.slogdet(M)[1], A)
    yield equal("log det A", found, inverse.T, 1e-8)
