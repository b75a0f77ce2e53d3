"""continuation: warm starts, any inner method, the record, what stops it."""

import numpy as np
import pytest
from scipy.optimize import minimize

from panlearn.optimize import adam, continuation, gradient_descent, newton


def rugged(x, t):
    return float((x @ x) / 20 + t * (1 - np.cos(3 * x)).sum())


def slope(x, t):
    return x / 10 + 3 * t * np.sin(3 * x)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        (gradient_descent, {"step": 0.1}),
        (adam, {"step": 0.1}),
        (newton, {}),
        ("L-BFGS-B", {}),
        ("Nelder-Mead", {"xatol": 1e-6}),
    ],
    ids=["gradient_descent", "adam", "newton", "L-BFGS-B", "Nelder-Mead"],
)
def test_escapes_the_minimum_that_traps_a_direct_start(method, options):
    jac = None if method == "Nelder-Mead" else slope
    direct = minimize(rugged, [4.5], args=(1.0,), jac=slope, method="BFGS")
    result = minimize(
        rugged,
        [4.5],
        jac=jac,
        method=continuation,
        options={"parameters": np.linspace(0, 1, 6), "method": method, "options": options},
    )
    assert direct.fun > 0.5
    assert result.success
    assert result.fun == pytest.approx(0, abs=1e-6)
    assert len(result.stages) == 6
    assert result.path.shape == (7, 1)
    assert result.nfev == sum(stage.nfev for stage in result.stages)
    np.testing.assert_allclose(result.fun_values, [stage.fun for stage in result.stages])


def test_each_problem_starts_at_the_solution_of_the_one_before():
    result = continuation(rugged, [2.0], parameters=[0.0, 0.3, 0.6], jac=slope, tol=1e-3)
    for before, stage in zip(result.path[:-1], result.stages, strict=True):
        np.testing.assert_array_equal(stage.path[0], before)


def test_jac_true_is_not_confused_by_a_change_of_t():
    options = {"parameters": [0.0, 0.5, 1.0], "method": newton}
    pair = minimize(
        lambda x, t: (rugged(x, t), slope(x, t)), [1.0], jac=True, method=continuation,
        options=options,
    )  # fmt: skip
    apart = minimize(rugged, [1.0], jac=slope, method=continuation, options=options)
    np.testing.assert_array_equal(pair.path, apart.path)


def test_callback_stops_and_divergence_stops():
    seen = []

    def stop(intermediate_result):
        seen.append(intermediate_result.fun)
        if len(seen) == 2:
            raise StopIteration

    stopped = continuation(rugged, [1.0], parameters=[0, 0.5, 1], jac=slope, callback=stop)
    assert (stopped.status, len(stopped.stages)) == (99, 2)
    broken = continuation(
        lambda x, t: float(x @ x) if t < 1 else np.nan, [1.0], parameters=[0, 1, 2]
    )
    assert not broken.success
    assert len(broken.stages) == 2
    assert "problem 2 of 3" in broken.message


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="parameters is empty"):
        continuation(rugged, [1.0], parameters=[])
    with pytest.raises(ValueError, match="x0 has shape"):
        continuation(rugged, [], parameters=[1.0])
