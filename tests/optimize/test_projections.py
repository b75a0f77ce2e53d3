"""Every projection: lands in its set, idempotent, nonexpansive, closest, as SLSQP finds it."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from panlearn.optimize import projections

SETS = {
    "l1": (projections.l1_ball(1.5), lambda x: np.abs(x).sum() - 1.5),
    "l2": (projections.l2_ball(1.5), lambda x: np.linalg.norm(x) - 1.5),
    "linf": (projections.linf_ball(1.5), lambda x: np.abs(x).max() - 1.5),
    "box": (
        projections.box(np.array([-1.0, 0, 2, -np.inf]), np.array([1.0, 0, 3, 0.5])),
        lambda x: np.max(np.maximum([-1.0, 0, 2, -np.inf] - x, x - [1.0, 0, 3, 0.5])),
    ),
    "simplex": (
        projections.simplex(1.5),
        lambda x: max(-x.min(), abs(x.sum() - 1.5)),
    ),
}
every_set = pytest.mark.parametrize(("project", "excess"), SETS.values(), ids=SETS)
vectors = arrays(float, 4, elements=st.floats(-1e6, 1e6))


@every_set
@given(y=vectors)
def test_lands_in_the_set_and_stays(project, excess, y):
    x = project(y)
    assert excess(x) <= 1e-14 * max(1, np.abs(y).max())  # rounding of y is all that is lost
    np.testing.assert_allclose(project(x), x, atol=1e-14)


@every_set
@given(y=vectors, z=vectors)
def test_nonexpansive(project, excess, y, z):
    rounding = 1e-15 * max(np.abs(y).max(), np.abs(z).max())
    shrunk = np.linalg.norm(project(y) - project(z))
    assert shrunk <= np.linalg.norm(y - z) * (1 + 1e-12) + 4 * rounding


@every_set
@given(y=vectors, z=vectors)
def test_the_angle_to_every_feasible_point_is_obtuse(project, excess, y, z):
    """<y - P(y), q - P(y)> <= 0 for every q in Q: the condition of optimality."""
    x, feasible = project(y), project(z)
    scale = max(1, np.linalg.norm(y)) * max(1, np.linalg.norm(feasible), np.linalg.norm(x))
    assert (y - x) @ (feasible - x) <= 1e-13 * scale


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["l1", "l2", "simplex"])
def test_agrees_with_slsqp(name, seed):
    y = np.random.default_rng(seed).normal(size=4) * 2
    smooth = {
        # |x| split into two positive halves, so that SLSQP sees a smooth problem.
        "l1": {"type": "ineq", "fun": lambda z: 1.5 - z.sum()},
        "l2": {"type": "ineq", "fun": lambda z: 1.5**2 - z @ z},
        "simplex": {"type": "eq", "fun": lambda z: z.sum() - 1.5},
    }[name]
    split = np.hstack([np.eye(4), -np.eye(4)]) if name == "l1" else np.eye(4)
    found = minimize(
        lambda z: ((split @ z - y) ** 2).sum(),
        np.full(split.shape[1], 0.1),
        method="SLSQP",
        tol=1e-14,
        bounds=None if name == "l2" else [(0, None)] * split.shape[1],
        constraints=smooth,
        options={"maxiter": 500},
    )
    np.testing.assert_allclose(SETS[name][0](y), split @ found.x, atol=1e-6)


def test_known_values():
    far = 1e10 + np.array([0, 0.1, 0.3])
    near = far - far[0]  # exact: the two differ by a common shift, and their images not at all
    np.testing.assert_allclose(projections.simplex()(far), projections.simplex()(near), atol=1e-15)
    np.testing.assert_array_equal(projections.simplex()([7.0]), [1.0])
    np.testing.assert_array_equal(projections.l1_ball(0.0)([1.0, -2.0]), [0, 0])
    np.testing.assert_array_equal(projections.linf_ball(1.0)([3, -0.5]), [1, -0.5])
    np.testing.assert_allclose(projections.l2_ball(1.0)([3e200, 4e200]), [0.6, 0.8])


@every_set
def test_inside_points_stay_and_types_survive(project, excess):
    inside = project(np.full(4, 0.3))
    np.testing.assert_allclose(project(inside), inside, atol=1e-15)
    assert project(np.full(4, 9, dtype=np.float32)).dtype == np.float32
    assert project([9, 9, 9, 9]).dtype == np.float64
    copy = pickle.loads(pickle.dumps(project))
    np.testing.assert_array_equal(copy(inside * 9), project(inside * 9))


def test_the_input_is_not_written():
    y = np.array([3.0, 4.0, 5.0, 6.0])
    for project, _ in SETS.values():
        project(y)
    np.testing.assert_array_equal(y, [3, 4, 5, 6])


@pytest.mark.parametrize("make", [projections.l1_ball, projections.l2_ball, projections.linf_ball])
@pytest.mark.parametrize("radius", [-1.0, np.nan, np.inf, "1", [1.0]])
def test_bad_radii_are_named(make, radius):
    with pytest.raises(ValueError, match="radius="):
        make(radius)


def test_other_bad_input_is_named():
    with pytest.raises(ValueError, match="total=-1"):
        projections.simplex(-1)
    with pytest.raises(ValueError, match="box is empty"):
        projections.box([0, 1], [1, 0])
    with pytest.raises(ValueError, match="box of shape"):
        projections.box([0, 1], [1, 2])([1.0])
    for project, _ in SETS.values():
        with pytest.raises(ValueError, match="non-empty vector"):
            project(np.zeros((2, 2)))
        with pytest.raises(ValueError, match="non-empty vector"):
            project([])
