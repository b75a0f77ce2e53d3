"""gradient_descent, adagrad, rmsprop, adam: convergence, record, SciPy's protocol, bad input."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, minimize

from panlearn.optimize import adagrad, adam, gradient_descent, projections, rmsprop, schedules
from panlearn.optimize._problem import Problem

HESSIAN = np.diag([1.0, 4.0, 10.0])
TARGET = np.array([1.0, -2.0, 0.5])
METHODS = {
    gradient_descent: {"step": 0.1},
    adagrad: {"step": 1.0},
    rmsprop: {"step": 0.1, "schedule": schedules.inverse_time(0.1)},
    adam: {"step": 0.1},
}
every_method = pytest.mark.parametrize(
    ("method", "options"), METHODS.items(), ids=lambda v: getattr(v, "__name__", "")
)


def quadratic(x):
    return 0.5 * (x - TARGET) @ HESSIAN @ (x - TARGET)


def slope(x):
    return HESSIAN @ (x - TARGET)


@every_method
def test_finds_the_minimum_that_scipy_finds(method, options):
    ours = minimize(quadratic, np.zeros(3), jac=slope, method=method, options=options)
    theirs = minimize(quadratic, np.zeros(3), jac=slope, method="BFGS", tol=1e-9)
    assert ours.success
    assert ours.status == 0
    # The tolerance 1e-6 on the gradient is 1e-6 on x at the least curvature, 1.
    np.testing.assert_allclose(ours.x, theirs.x, atol=2e-6)
    assert ours.message.startswith(f"Converged at iteration {ours.nit}")


@every_method
def test_records_every_iterate_with_its_value_and_gradient_norm(method, options):
    result = method(quadratic, np.zeros(3), jac=slope, maxiter=7, **options)
    assert isinstance(result, OptimizeResult)
    assert result.path.shape == (8, 3)
    np.testing.assert_array_equal(result.path[0], np.zeros(3))
    np.testing.assert_array_equal(result.path[-1], result.x)
    np.testing.assert_array_equal(result.fun_values, [quadratic(x) for x in result.path])
    np.testing.assert_allclose(
        result.gradient_norms, [np.linalg.norm(slope(x)) for x in result.path], rtol=1e-15
    )
    np.testing.assert_array_equal(result.jac, slope(result.x))
    assert (result.nit, result.nfev, result.njev, result.fun) == (7, 8, 8, result.fun_values[-1])
    assert not result.success
    assert result.status == 1
    assert "maxiter=7 reached" in result.message


@every_method
def test_the_three_ways_to_give_a_gradient_agree(method, options):
    analytic = method(quadratic, np.zeros(3), jac=slope, maxiter=20, **options)
    pair = method(lambda x: (quadratic(x), slope(x)), np.zeros(3), jac=True, maxiter=20, **options)
    through_scipy = minimize(
        lambda x: (quadratic(x), slope(x)),
        np.zeros(3),
        jac=True,
        method=method,
        options={"maxiter": 20, **options},
    )
    differences = method(quadratic, np.zeros(3), maxiter=20, **options)
    np.testing.assert_array_equal(pair.path, analytic.path)
    np.testing.assert_array_equal(through_scipy.path, analytic.path)
    assert pair.nfev == through_scipy.nfev == 21  # value and gradient share one call
    # Central differences of a quadratic are exact up to rounding over the interval, about 1e-10.
    np.testing.assert_allclose(differences.path, analytic.path, atol=1e-8)
    assert differences.nfev == 21 * 7


def test_args_tol_and_an_unwrapped_argument_pass_through():
    def shifted(x, shift):
        return float((x - shift) @ (x - shift))

    result = minimize(shifted, [0.0], args=3.0, tol=1e-3, method=gradient_descent)
    direct = gradient_descent(shifted, 0.0, args=3.0, tol=1e-3)
    assert result.x == pytest.approx(3, abs=1e-3)
    np.testing.assert_array_equal(direct.x, result.x)


def test_momentum_is_the_heavy_ball():
    result = gradient_descent(quadratic, np.ones(3), jac=slope, step=0.05, momentum=0.8, maxiter=30)
    previous = x = np.ones(3)
    for recorded in result.path[1:]:
        previous, x = x, x - 0.05 * slope(x) + 0.8 * (x - previous)
        np.testing.assert_allclose(recorded, x, atol=1e-13)


def test_nesterov_with_a_schedule_is_the_accelerated_gradient_in_the_look_ahead_variable():
    result = gradient_descent(
        quadratic,
        np.ones(3),
        jac=slope,
        step=0.05,
        momentum=lambda k: k / (k + 3),
        nesterov=True,
        maxiter=30,
    )
    x = ahead = np.ones(3)
    for k, recorded in enumerate(result.path):
        np.testing.assert_allclose(recorded, ahead, atol=1e-13)
        following = ahead - 0.05 * slope(ahead)
        ahead = following + (k + 1) / (k + 4) * (following - x)
        x = following


def test_normalised_steps_have_the_scheduled_length():
    result = gradient_descent(
        quadratic,
        np.full(3, 9.0),
        jac=slope,
        step=0.3,
        normalize=True,
        maxiter=20,
        schedule=schedules.inverse_sqrt(1.0),
    )
    lengths = np.linalg.norm(np.diff(result.path, axis=0), axis=1)
    np.testing.assert_allclose(lengths, 0.3 / np.sqrt(1 + np.arange(20)), rtol=1e-12)


def test_the_step_may_be_a_function_of_k():
    by_function = gradient_descent(
        quadratic, np.zeros(3), jac=slope, step=lambda k: 0.1 / (1 + k), maxiter=9
    )
    by_schedule = gradient_descent(
        quadratic, np.zeros(3), jac=slope, step=0.1, schedule=schedules.inverse_time(), maxiter=9
    )
    np.testing.assert_allclose(by_function.path, by_schedule.path, rtol=1e-14)


@every_method
@pytest.mark.parametrize("bounds", [Bounds(-0.5, 0.8), [(-0.5, 0.8), (-0.5, None), (None, 0.8)]])
def test_bounds_are_a_box(method, options, bounds):
    ours = minimize(
        quadratic, np.zeros(3), jac=slope, bounds=bounds, method=method, options=options
    )
    theirs = minimize(quadratic, np.zeros(3), jac=slope, bounds=bounds, method="L-BFGS-B")
    assert ours.success
    np.testing.assert_allclose(ours.x, theirs.x, atol=1e-5)
    assert np.all(ours.path >= -0.5 - 1.5 * np.isinf(np.array([0, 0, 1])))


def test_a_projection_keeps_every_iterate_feasible_and_reaches_the_constrained_minimum():
    ours = gradient_descent(
        quadratic, np.full(3, 5.0), jac=slope, step=0.1, projection=projections.l1_ball(1.5)
    )
    theirs = minimize(
        quadratic,
        np.zeros(3),
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda x: 1.5 - np.abs(x).sum()},
    )
    assert ours.success
    assert np.all(np.abs(ours.path).sum(axis=1) <= 1.5 + 1e-12)
    assert ours.fun <= theirs.fun + 1e-6
    assert np.linalg.norm(ours.jac) > 0.1  # the plain gradient does not vanish there


def test_callbacks_follow_scipys_protocol():
    seen = []
    result = gradient_descent(quadratic, np.zeros(3), jac=slope, callback=seen.append, maxiter=3)
    np.testing.assert_array_equal(seen, result.path[1:])

    def stop(intermediate_result):
        if intermediate_result.fun < 1:
            raise StopIteration

    stopped = minimize(
        quadratic,
        np.zeros(3),
        jac=slope,
        callback=stop,
        method=gradient_descent,
        options={"step": 0.1},
    )
    assert stopped.status == 99
    assert not stopped.success
    assert stopped.fun_values[-1] < 1 <= stopped.fun_values[-2]


@every_method
def test_divergence_is_named_and_keeps_the_best_iterate(method, options):
    def cliff(x):
        return float(x @ x) if abs(x[0]) < 2 else np.nan

    kicks = {**options, "step": 0.3, "schedule": lambda k: 1.0 if k < 3 else 1e6}
    result = method(cliff, [1.5], jac=lambda x: 2 * x + 0.1, **kicks)
    assert not result.success
    assert result.status == 2
    assert f"Diverged at iteration {result.nit}" in result.message
    assert "smaller step" in result.message
    assert np.isnan(result.fun_values[-1])
    assert result.fun == np.nanmin(result.fun_values)
    np.testing.assert_array_equal(result.x, result.path[np.nanargmin(result.fun_values)])


def test_overflow_is_divergence_without_a_warning():
    result = gradient_descent(lambda x: float(x[0] ** 4), [2.0], jac=lambda x: 4 * x**3, step=1.0)
    assert result.status == 2
    assert result.fun == 16
    np.testing.assert_array_equal(result.x, [2.0])


def test_a_start_that_is_not_finite_in_value_is_said_to_be():
    result = gradient_descent(lambda x: np.nan, [1.0], jac=lambda x: x)
    assert (result.success, result.status, result.nit) == (False, 2, 0)
    assert "at x0" in result.message


def test_zero_iterations_and_a_stationary_start():
    assert gradient_descent(quadratic, TARGET, jac=slope).nit == 0
    assert gradient_descent(quadratic, TARGET, jac=slope).success
    assert gradient_descent(quadratic, np.zeros(3), jac=slope, maxiter=0).status == 1


def test_float32_stays_float32():
    result = adam(quadratic, np.zeros(3, dtype=np.float32), jac=slope, maxiter=5)
    assert result.x.dtype == result.path.dtype == result.jac.dtype == np.float32


def test_the_start_is_not_written_and_the_path_can_be_left_out():
    start = np.zeros(3)
    result = gradient_descent(quadratic, start, jac=slope, maxiter=4, keep_path=False)
    np.testing.assert_array_equal(start, 0)
    assert result.path.shape == (0, 3)
    assert result.fun_values.shape == (5,)


def test_a_gradient_that_reuses_its_buffer_is_copied():
    buffer = np.empty(3)

    def reused(x):
        buffer[:] = slope(x)
        return buffer

    result = gradient_descent(quadratic, np.ones(3), jac=reused, step=0.05, momentum=0.5, maxiter=9)
    fresh = gradient_descent(quadratic, np.ones(3), jac=slope, step=0.05, momentum=0.5, maxiter=9)
    np.testing.assert_array_equal(result.path, fresh.path)
    buffer[:] = 99
    np.testing.assert_array_equal(result.jac, fresh.jac)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"step": -0.1}, "step=-0.1"),
        ({"step": 0.0}, "step=0.0"),
        ({"step": np.nan}, "step=nan"),
        ({"step": "big"}, "step='big'"),
        ({"schedule": lambda k: -1.0}, "step at iteration 0"),
        ({"momentum": 1.5}, "momentum=1.5"),
        ({"nesterov": True}, "momentum above zero"),
        ({"tol": -1.0}, "tol=-1.0"),
        ({"maxiter": -1}, "maxiter=-1"),
        ({"maxiter": 2.5}, "maxiter=2.5"),
        ({"constraints": LinearConstraint(np.eye(3), 0, 1)}, "takes no constraints"),
        ({"constraints": {"type": "eq", "fun": sum}}, "takes no constraints"),
        ({"bounds": [(0, 1)] * 3, "projection": abs}, "both bounds and a projection"),
        ({"bounds": [(0, 1)] * 2}, "box of shape"),
        ({"bounds": [(1, 0)] * 3}, "box is empty"),
        ({"projection": lambda x: x[:1]}, "projection maps shape"),
        ({"jac": lambda x: x[:2]}, "gradient has shape"),
        ({"jac": lambda x: 0.0}, "gradient has shape"),
    ],
)
def test_bad_options_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        gradient_descent(quadratic, np.zeros(3), **{"jac": slope, **options})


@pytest.mark.parametrize(
    ("x0", "words"),
    [
        ([], "x0 has shape"),
        (np.zeros((2, 2)), "x0 has shape"),
        ([np.nan, 0.0], "NaN or infinity"),
        (["a"], "dtype"),
        ([1j], "dtype"),
    ],
)
def test_bad_starts_are_named(x0, words):
    with pytest.raises(ValueError, match=words):
        gradient_descent(quadratic, x0, jac=slope)


def test_an_objective_that_is_not_a_number_is_named():
    with pytest.raises(ValueError, match="one number"):
        gradient_descent(lambda x: x, np.zeros(3), jac=slope)


def test_an_unknown_option_is_an_error():
    with pytest.raises(TypeError, match="stpe"):
        gradient_descent(quadratic, np.zeros(3), jac=slope, stpe=1)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        (adagrad, {"epsilon": 0.0}),
        (rmsprop, {"beta": 1.0}),
        (adam, {"beta1": -0.1}),
        (adam, {"beta2": 1.0}),
        (adam, {"epsilon": -1.0}),
    ],
)
def test_bad_constants_of_a_rule_are_named(method, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        method(quadratic, np.zeros(3), jac=slope, **options)


def test_the_problem_evaluates_the_same_array_once():
    problem = Problem(quadratic, np.zeros(3))
    problem.value(problem.x0)
    problem.value(problem.x0)
    assert problem.nfev == 1
