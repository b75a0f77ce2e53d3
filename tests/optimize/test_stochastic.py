"""stochastic_gradient_descent: batches, seeds, schedules, averaging, SciPy's protocol."""

import numpy as np
import pytest
from scipy.optimize import minimize

from panlearn.optimize import (
    gradient_descent,
    projections,
    rules,
    schedules,
    stochastic_gradient_descent,
)


@pytest.fixture
def regression(rng):
    X = rng.normal(size=(60, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=60)

    def loss(w, rows):
        return float(((X[rows] @ w - y[rows]) ** 2).mean() / 2)

    def slope(w, rows):
        return X[rows].T @ (X[rows] @ w - y[rows]) / len(y[rows])

    return loss, slope, np.linalg.lstsq(X, y)[0]


def test_full_batches_are_gradient_descent(regression):
    loss, slope, _ = regression
    batches = stochastic_gradient_descent(
        loss, np.zeros(3), jac=slope, n_samples=60, batch_size=60, step=0.1, random_state=0
    )
    full = gradient_descent(
        lambda w: loss(w, slice(None)), np.zeros(3), jac=lambda w: slope(w, slice(None)),
        step=0.1, maxiter=10,
    )  # fmt: skip
    np.testing.assert_allclose(batches.path, full.path, rtol=1e-12)
    assert "epochs=10 reached" in batches.message


@pytest.mark.parametrize("batch_size", [1, 7, 60, 1000])
def test_an_epoch_sees_each_row_once(batch_size):
    seen = []

    def slope(x, rows):
        if not isinstance(rows, slice):
            seen.extend(rows)
        return x

    stochastic_gradient_descent(
        lambda x, rows: float(x @ x), [1.0], jac=slope, n_samples=60, batch_size=batch_size,
        epochs=2, random_state=0,
    )  # fmt: skip
    assert sorted(seen[:60]) == sorted(seen[60:]) == list(range(60))
    assert seen[:60] != seen[60:]


def test_with_replacement_rows_repeat():
    seen = []
    stochastic_gradient_descent(
        lambda x, rows: float(x @ x),
        [1.0],
        jac=lambda x, rows: seen.append(rows) or x,
        n_samples=50,
        epochs=1,
        replace=True,
        random_state=0,
    )
    drawn = [rows[0] for rows in seen if not isinstance(rows, slice)]
    assert len(drawn) == 50
    assert len(set(drawn)) < 50


@pytest.mark.parametrize(
    "seed",
    [lambda: 3, lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)],
    ids=["int", "Generator", "RandomState"],
)
def test_a_seed_gives_the_same_bits(regression, seed):
    loss, slope, _ = regression
    a, b = (
        stochastic_gradient_descent(
            loss, np.zeros(3), jac=slope, n_samples=60, random_state=seed()
        ).path
        for _ in range(2)
    )
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("extra", "error"),
    [
        ({"step": 0.5, "schedule": schedules.inverse_time(0.2)}, 0.05),
        ({"step": 0.3, "schedule": schedules.inverse_sqrt(0.5)}, 0.1),
        ({"step": 0.05, "average": True}, 0.05),
        ({"step": 0.05, "rule": rules.Adam(), "schedule": schedules.inverse_sqrt(0.1)}, 0.1),
    ],
    ids=["1/k", "1/sqrt k", "averaged", "adam"],
)
def test_settles_near_the_minimum(regression, extra, error):
    loss, slope, solution = regression
    result = stochastic_gradient_descent(
        loss, np.zeros(3), jac=slope, n_samples=60, epochs=60, random_state=0, **extra
    )
    assert np.linalg.norm(result.x - solution) < error
    assert result.fun_values.shape == result.gradient_norms.shape == (61,)
    np.testing.assert_allclose(result.fun_values[-1], loss(result.x, slice(None)))


def test_averaging_is_the_mean_of_the_iterates():
    raw = []

    def slope(x, rows):
        if not isinstance(rows, slice):
            raw.append(x[0])
        return x - float(rows[0] if not isinstance(rows, slice) else 0)

    result = stochastic_gradient_descent(
        lambda x, rows: 0.0, [5.0], jac=slope, n_samples=4, epochs=2, average=True, step=0.3,
        random_state=1, tol=0,
    )  # fmt: skip
    # raw holds the points before each step: all but the last iterate, with the start in front.
    np.testing.assert_allclose(result.path[1], np.mean(raw[1:5]))


def test_jac_true_through_scipy_sees_every_batch(regression):
    """SciPy caches a pair by x alone; a batch at the same x must not get the full gradient."""
    loss, slope, _ = regression
    options = {"n_samples": 60, "batch_size": 6, "random_state": 0, "epochs": 3}
    pair = minimize(
        lambda w, rows: (loss(w, rows), slope(w, rows)),
        np.zeros(3),
        jac=True,
        method=stochastic_gradient_descent,
        options=options,
    )
    apart = minimize(
        loss, np.zeros(3), jac=slope, method=stochastic_gradient_descent, options=options
    )
    differences = stochastic_gradient_descent(loss, np.zeros(3), **options)
    np.testing.assert_array_equal(pair.path, apart.path)
    np.testing.assert_allclose(differences.path, apart.path, atol=1e-8)


def test_projection_bounds_and_args(regression):
    loss, slope, _ = regression
    result = stochastic_gradient_descent(
        lambda w, rows, c: c * loss(w, rows),
        np.ones(3),
        args=(2.0,),
        jac=lambda w, rows, c: c * slope(w, rows),
        n_samples=60,
        projection=projections.l2_ball(0.5),
        random_state=0,
    )
    assert np.all(np.linalg.norm(result.path, axis=1) <= 0.5 + 1e-12)
    boxed = stochastic_gradient_descent(
        loss, np.ones(3), jac=slope, n_samples=60, bounds=[(0, 1)] * 3, random_state=0
    )
    assert np.all((boxed.path >= 0) & (boxed.path <= 1))


def test_divergence_keeps_the_best_epoch(regression):
    loss, slope, _ = regression
    result = stochastic_gradient_descent(
        loss, np.zeros(3), jac=slope, n_samples=60, step=10.0, epochs=50, random_state=0
    )
    assert result.status == 2
    assert np.isfinite(result.fun)
    assert np.isfinite(result.x).all()


@pytest.mark.parametrize("name", ["n_samples", "batch_size"])
@pytest.mark.parametrize("count", [0, -3, 1.5])
def test_bad_counts_are_named(name, count):
    with pytest.raises(ValueError, match=f"{name}={count}"):
        stochastic_gradient_descent(lambda x, rows: 0.0, [0.0], **{"n_samples": 3, name: count})


def test_constraints_are_refused():
    with pytest.raises(ValueError, match="takes no constraints"):
        stochastic_gradient_descent(
            lambda x, rows: 0.0, [0.0], n_samples=1, constraints={"type": "eq", "fun": sum}
        )
