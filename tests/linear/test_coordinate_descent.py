"""The kernel and the steps of the solver against plain NumPy."""

import numpy as np
import pytest
from scipy import sparse

from panlearn.core.sources import ArrayRows
from panlearn.core.threads import threads
from panlearn.linear._coordinate_descent import (
    Penalty,
    _line_minimum,
    improve,
    newton_direction,
)
from panlearn.linear._design import DenseDesign, SparseDesign, WorkingSet, centre, product
from panlearn.linear._quadratic import GramQuadratic, SparseQuadratic


def descend_reference(gram, xy, l1, l2, positive, coef):
    """One epoch: each coordinate at its minimum, the others held."""
    coef = coef.copy()
    for j in range(len(coef)):
        pull = xy[j] - gram[j] @ coef + gram[j, j] * coef[j]
        shrunk = max(abs(pull) - l1, 0) * np.sign(pull)
        if positive:
            shrunk = max(shrunk, 0)
        coef[j] = shrunk / (gram[j, j] + l2) if gram[j, j] + l2 > 0 else 0
    return coef


def sparse_columns(rng, dtype):
    X = (rng.standard_normal((50, 20)) * (rng.random((50, 20)) < 0.4)).astype(dtype)
    X[:, 3] = 0
    return X


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("l2", [0.0, 2.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["gram", "sparse"])
def test_an_epoch(rng, kind, positive, l2, dtype):
    """Both kernels, on columns less their weighted means."""
    X = sparse_columns(rng, dtype)
    root = np.sqrt(rng.uniform(0.5, 2, 50)).astype(dtype)
    mean = np.average(X, axis=0, weights=root**2).astype(dtype)
    Z = root[:, None] * (X - mean)
    quadratic = GramQuadratic(Z.T @ Z)
    if kind == "sparse":
        scaled = sparse.csc_array(root[:, None] * X)
        quadratic = SparseQuadratic(scaled, mean, float(root @ root))
    xy, start = Z.T @ rng.standard_normal(50).astype(dtype), rng.standard_normal(20).astype(dtype)
    rounding = 1e3 * np.finfo(dtype).eps
    np.testing.assert_allclose(quadratic.product(start), Z.T @ Z @ start, atol=100 * rounding)
    np.testing.assert_allclose(quadratic.diagonal, np.diag(Z.T @ Z), atol=100 * rounding)
    active = np.array([1, 4, 17])
    np.testing.assert_allclose(
        quadratic.face(active), Z[:, active].T @ Z[:, active], atol=100 * rounding
    )
    coef, gradient = start.copy(), xy - Z.T @ Z @ start - dtype(l2) * start
    quadratic.descend(dtype(3), dtype(l2), positive, coef, gradient)
    expected = descend_reference(Z.T @ Z, xy, 3, l2, positive, start)
    np.testing.assert_allclose(coef, expected, atol=10 * rounding)
    np.testing.assert_allclose(gradient, xy - Z.T @ Z @ coef - l2 * coef, atol=100 * rounding)
    assert coef.dtype == dtype


@pytest.mark.parametrize("size", [30, 600])
def test_newton_direction(rng, size):
    """Small systems are solved by factorisation, large ones to a fraction of the gradient."""
    Z = rng.standard_normal((2 * size, size))
    gram, gradient = Z.T @ Z, rng.standard_normal(size)
    support = rng.random(size) < 0.9
    direction = newton_direction(GramQuadratic(gram), 0.5, support, gradient)
    residual = np.where(support, gradient - gram @ direction - 0.5 * direction, 0)
    assert not direction[~support].any()
    assert np.linalg.norm(residual) < (1e-9 if size == 30 else 0.6) * np.linalg.norm(gradient)


def test_newton_direction_of_dependent_columns(rng):
    z = rng.standard_normal((40, 1))
    gram = (z * np.ones(3)).T @ (z * np.ones(3))
    direction = newton_direction(GramQuadratic(gram), 0.0, np.ones(3, dtype=bool), np.ones(3))
    assert np.isfinite(direction).all()
    np.testing.assert_allclose(gram @ direction, np.ones(3))


def test_line_minimum(rng):
    """Against a fine grid of steps, beyond and before changes of sign."""
    Z, y = rng.standard_normal((30, 12)), rng.standard_normal(30)
    steps = np.linspace(0, 3, 3001)
    for l1 in (0.01, 1.0, 30.0):
        for _ in range(10):
            coef = rng.standard_normal(12)
            slope = Z.T @ (y - Z @ coef) - l1 * np.sign(coef)
            direction = np.linalg.solve(Z.T @ Z, slope)
            if not (coef * (coef + direction) < 0).any():
                continue
            curvature = np.sum((Z @ direction) ** 2)
            step = _line_minimum(coef, direction, slope @ direction, curvature, Penalty(l1))
            along = coef + steps[:, None] * direction
            values = np.sum((y - along @ Z.T) ** 2, axis=1) / 2 + l1 * np.abs(along).sum(axis=1)
            assert step == pytest.approx(steps[values.argmin()], abs=1e-3)  # the grid's spacing


def test_each_iteration_lowers_the_objective(rng):
    Z, y = rng.standard_normal((60, 40)), rng.standard_normal(60)
    gram, xy, penalty = Z.T @ Z, Z.T @ y, Penalty(4.0, 1.0)
    coef = np.zeros(40)
    gradient = xy.copy()
    values = []
    for _ in range(20):
        residual = y - Z @ coef
        values.append(residual @ residual / 2 + 4 * np.abs(coef).sum() + coef @ coef / 2)
        improve(GramQuadratic(gram), xy, penalty, coef, gradient)
    assert (np.diff(values) <= 1e-12).all()
    assert penalty.gap(coef, Z.T @ residual, residual @ y, residual @ residual) < 1e-10


@pytest.mark.parametrize("l2", [0.0, 3.0])
@pytest.mark.parametrize("positive", [False, True])
def test_the_gap_is_a_bound(rng, l2, positive):
    """Weak duality at any point, and no gap at the optimum."""
    Z, y = rng.standard_normal((30, 8)), rng.standard_normal(30)
    penalty = Penalty(2.0, l2, positive)

    def gap(b):
        r = y - Z @ b
        return penalty.gap(b, Z.T @ r, r @ y, r @ r)

    def objective(b):
        return np.sum((y - Z @ b) ** 2) / 2 + 2 * np.abs(b).sum() + l2 / 2 * b @ b

    best, gradient = np.zeros(8), Z.T @ y
    for _ in range(100):
        improve(GramQuadratic(Z.T @ Z), Z.T @ y, penalty, best, gradient)
    assert gap(best) < 1e-12
    for _ in range(20):
        b = rng.standard_normal(8)
        b = np.abs(b) if positive else b
        assert gap(b) >= objective(b) - objective(best) - 1e-12


@pytest.mark.parametrize("kind", ["c", "fortran", "sparse"])
def test_designs(rng, kind):
    X = rng.standard_normal((30, 700)) * (rng.random((30, 700)) < 0.3)
    weight = rng.uniform(0.5, 2, 30)
    mean = np.average(X, axis=0, weights=weight)
    Z = np.sqrt(weight)[:, None] * (X - mean)
    with threads() as run:
        if kind == "sparse":
            design = SparseDesign(sparse.csc_array(X), np.sqrt(weight), mean)
        else:
            X = np.asfortranarray(X) if kind == "fortran" else X
            design = DenseDesign(X, np.sqrt(weight), mean, run)
        v, chosen = rng.standard_normal(30), WorkingSet(design)
        np.testing.assert_allclose(design.correlations(v), Z.T @ v, atol=1e-10)
        for features in ([5, 3], [5, 60], list(range(90, 130)), []):
            chosen.add(features)
            T, b = Z[:, chosen.features], rng.standard_normal(len(chosen))
            np.testing.assert_allclose(chosen.quadratic.product(b), T.T @ T @ b, atol=1e-10)
            np.testing.assert_allclose(design.fitted(b), T @ b, atol=1e-10)
        assert sorted(chosen.features) == [3, 5, 60, *range(90, 130)]
        chosen.add(range(400))  # more than half: all are taken
        assert chosen.complete == (kind != "sparse")
        T, b = Z[:, chosen.features], rng.standard_normal(len(chosen))
        np.testing.assert_allclose(chosen.quadratic.product(b), T.T @ T @ b, atol=1e-9)


@pytest.mark.parametrize("p", [5, 300])
def test_centre(rng, p):
    X, y = rng.standard_normal((20, p)) + 3, rng.standard_normal((20, 2)) - 1
    weight = rng.uniform(0.5, 2, 20)
    with threads() as run:
        problem = centre(ArrayRows(X, y, weight), run, fit_intercept=True)
        raw = centre(ArrayRows(X, y, weight), run, fit_intercept=False)
    mean, y_mean = np.average(X, axis=0, weights=weight), np.average(y, axis=0, weights=weight)
    np.testing.assert_allclose(problem.x_mean, mean)
    np.testing.assert_allclose(problem.y_mean, y_mean)
    np.testing.assert_allclose(
        problem.xy, (y - y_mean).T @ (weight[:, None] * (X - mean)), atol=1e-10
    )
    np.testing.assert_allclose(problem.yy, weight @ (y - y_mean) ** 2)
    np.testing.assert_allclose(raw.xy, y.T @ (weight[:, None] * X), atol=1e-10)
    assert problem.weight == pytest.approx(weight.sum())
    assert not raw.x_mean.any()


def test_product_divides_rows(rng):
    A, B = rng.standard_normal((1501, 900)), rng.standard_normal((900, 3))
    with threads() as run:
        np.testing.assert_allclose(product(run, A, B), A @ B, atol=1e-10)
        np.testing.assert_allclose(product(run, A, B[:, 0]), A @ B[:, 0], atol=1e-10)


def test_along_dependent_columns_the_line_ends_at_a_change_of_sign():
    """No curvature: the objective is piecewise linear, and its derivative here -3, -1, then 3."""
    coef, direction = np.array([1.0, 2.0]), np.array([-1.0, -2.0 / 3])
    penalty = Penalty(1.0)
    assert _line_minimum(coef, direction, 3.0, 0.0, penalty) == pytest.approx(3.0)
    assert _line_minimum(coef, direction, 1.0, 0.0, penalty) == pytest.approx(1.0)
