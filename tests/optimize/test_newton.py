"""newton: one step on a quadratic, saddles, missing derivatives, stalls."""

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der, rosen_hess, rosen_hess_prod
from scipy.sparse import csr_array

from panlearn.optimize import newton
from panlearn.optimize._newton import _descent_direction


def test_one_step_on_a_positive_definite_quadratic(rng):
    root = rng.normal(size=(6, 6))
    hessian, linear = root @ root.T + np.eye(6), rng.normal(size=6)
    result = newton(
        lambda x: 0.5 * x @ hessian @ x - linear @ x,
        np.ones(6),
        jac=lambda x: hessian @ x - linear,
        hess=lambda x: hessian,
    )
    assert (result.nit, result.nhev, result.success) == (1, 1, True)
    np.testing.assert_allclose(result.x, np.linalg.solve(hessian, linear), rtol=1e-9)


@pytest.mark.parametrize(
    "given",
    [
        {"hess": rosen_hess},
        {"hess": lambda x: csr_array(rosen_hess(x))},
        {"hessp": rosen_hess_prod},
        {"hess": "2-point"},
        {},
    ],
    ids=["hess", "sparse", "hessp", "2-point", "none"],
)
def test_rosenbrock_with_every_kind_of_hessian(given):
    ours = minimize(rosen, [-1.2, 1.0, 0.7], jac=rosen_der, method=newton, **given)
    assert ours.success
    np.testing.assert_allclose(ours.x, 1, atol=1e-7)
    assert np.all(np.diff(ours.fun_values) <= 1e-14)  # damped: the objective never rises
    assert ours.path.shape == (ours.nit + 1, 3)


def test_no_derivatives_at_all():
    result = newton(rosen, [-1.2, 1.0], tol=1e-6)
    assert result.success
    np.testing.assert_allclose(result.x, 1, atol=1e-6)


def test_leaves_a_saddle_and_a_maximum_for_a_minimum():
    def double_well(x):
        return (x[0] ** 2 - 1) ** 2 + x[1] ** 2

    result = newton(double_well, [1e-3, 0.5])
    assert result.success
    # The slope -4e-3 over the magnitude of the curvature -4: the first step doubles the distance.
    np.testing.assert_allclose(result.path[1], [2e-3, 0], atol=1e-5)
    np.testing.assert_allclose(np.abs(result.x), [1, 0], atol=1e-6)


def test_a_singular_hessian_is_no_obstacle():
    result = newton(
        lambda x: (x[0] + x[1] - 1) ** 2,
        [3.0, 3.0],
        jac=lambda x: 2 * (x.sum() - 1) * np.ones(2),
        hess=lambda x: 2 * np.ones((2, 2)),
    )
    assert result.success
    assert result.fun < 1e-15


@pytest.mark.parametrize("jac", [None, lambda x: 2 * (x.sum() - 1) * np.ones(4)])
def test_noise_in_a_singular_hessian_is_not_taken_for_curvature(jac, rng):
    for start in rng.normal(size=(8, 4)) * 3:
        result = newton(lambda x: (x.sum() - 1) ** 2, start, jac=jac)
        assert result.success
        # Near the closest minimiser: the gradient's noise over its floor drifts by less than 1,
        # where a step along the Hessian's noise goes up to a million.
        np.testing.assert_allclose(result.x, start - (start.sum() - 1) / 4, atol=1)


def test_curvature_below_the_noise_is_raised_to_a_floor():
    hessian, gradient = np.diag([1.0, 1e-14]), np.array([1.0, 1e-9])
    np.testing.assert_allclose(_descent_direction(hessian, gradient, 1e-8), [-1, -0.1])
    np.testing.assert_allclose(_descent_direction(hessian, gradient, 1e-16), [-1, -1e5])


def test_damping_saves_the_step_that_plain_newton_would_take_too_far():
    # log cosh: undamped Newton diverges from any start beyond 1.09.
    result = newton(
        lambda x: float(np.logaddexp(x[0], -x[0])),
        [3.0],
        jac=np.tanh,
        hess=lambda x: [[1 / np.cosh(x[0]) ** 2]],
    )
    assert result.success
    assert result.x == pytest.approx(0, abs=1e-8)


def test_a_wrong_gradient_stalls_with_a_remedy():
    result = newton(lambda x: float(x @ x), [1.0], jac=lambda x: -2 * x, hess=lambda x: [[2.0]])
    assert (result.success, result.status) == (False, 3)
    assert "check the derivatives" in result.message
    np.testing.assert_array_equal(result.x, [1.0])


def test_a_hessian_that_is_not_finite_stalls():
    result = newton(lambda x: float(x @ x), [1.0], jac=lambda x: 2 * x, hess=lambda x: [[np.nan]])
    assert result.status == 3


def test_refusals():
    with pytest.raises(ValueError, match="takes no bounds"):
        newton(rosen, [0.0, 0.0], bounds=[(0, 1)] * 2)
    with pytest.raises(ValueError, match="takes no constraints"):
        newton(rosen, [0.0, 0.0], constraints={"type": "eq", "fun": sum})
    with pytest.raises(ValueError, match="Hessian has shape"):
        newton(rosen, [0.0, 0.0], jac=rosen_der, hess=lambda x: np.eye(3))
