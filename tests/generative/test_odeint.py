"""Differential equations: closed forms, orders, SciPy; gradients by finite differences; events."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from panlearn.generative import odeint
from panlearn.generative._runge_kutta import SolverError

A = np.array([[-0.1, 2.0], [-2.0, -0.3]])
START = torch.tensor([[2.0, 0.0], [0.5, -1.0]], dtype=torch.float64)
TIGHT = {"rtol": 1e-9, "atol": 1e-11}


def linear(t, y):
    return y @ torch.tensor(A.T)


def exact(t):
    return START.numpy() @ expm(A * t).T


@pytest.mark.parametrize("times", [[0.0, 0.4, 1.0, 3.0], [0.0, -0.7, -2.0]])
@pytest.mark.parametrize("gradient", ["plain", "adjoint"])
def test_linear_system(times, gradient):
    found = odeint(linear, START, times, gradient=gradient, parameters=(), **TIGHT)
    assert found.status == 0
    np.testing.assert_allclose(found.t, times)
    for t, y in zip(times, found.y.numpy(), strict=True):
        np.testing.assert_allclose(y, exact(t), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(("method", "order"), [("euler", 1), ("rk4", 4)])
def test_order_of_fixed_steps(method, order):
    """Half the step, an error that is smaller by two to the order."""
    errors = [
        np.abs(
            odeint(linear, START, [0, 1], method=method, step_size=h).y[-1].numpy() - exact(1.0)
        ).max()
        for h in (0.02, 0.01)
    ]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.1)


def test_one_euler_step_is_a_residual_layer():
    found = odeint(linear, START, [0.0, 1.0], method="euler")
    torch.testing.assert_close(found.y[-1], START + linear(0, START))
    assert (found.nfev, found.n_steps) == (1, 1)


def test_classical_fourth_order_step():
    h, f = 0.3, lambda t, y: t * y
    y = torch.tensor([1.5], dtype=torch.float64)
    k1 = f(1.0, y)
    k2 = f(1.0 + h / 2, y + h / 2 * k1)
    k3 = f(1.0 + h / 2, y + h / 2 * k2)
    k4 = f(1.0 + h, y + h * k3)
    found = odeint(f, y, [1.0, 1.0 + h], method="rk4").y[-1]
    torch.testing.assert_close(found, y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))


@pytest.mark.parametrize("tolerance", [1e-4, 1e-8])
def test_nonlinear_system_with_time_against_scipy(tolerance):
    def lotka(t, y):
        a, b = y[..., 0], y[..., 1]
        return torch.stack([a * (1.5 - b) + 0.1 * t, b * (a - 3.0)], dim=-1)

    times = np.linspace(0, 6, 13)
    start = torch.tensor([2.0, 1.0], dtype=torch.float64)
    found = odeint(lotka, start, times, rtol=tolerance, atol=tolerance)
    there = solve_ivp(
        lambda t, y: lotka(t, torch.tensor(y)).numpy(),
        (0, 6),
        start,
        "DOP853",
        times,
        rtol=1e-11,
        atol=1e-11,
    )
    error = np.abs(found.y.numpy() - there.y.T).max()
    assert error < 1000 * tolerance
    mine = solve_ivp(
        lambda t, y: lotka(t, torch.tensor(y)).numpy(),
        (0, 6),
        start,
        "RK45",
        times,
        rtol=tolerance,
        atol=tolerance,
    )
    assert found.nfev < 1.3 * mine.nfev


@pytest.mark.parametrize(("method", "tolerance"), [("dopri5", 1e-7), ("rk4", 1e-5), ("euler", 0.1)])
def test_dense_output(method, tolerance):
    found = odeint(
        linear, START, [0.0, 2.0], method=method, step_size=0.02, dense_output=True, **TIGHT
    )
    times = np.linspace(0, 2, 41)
    between = found(times)
    assert between.shape == (41, 2, 2)
    np.testing.assert_allclose(between, np.stack([exact(t) for t in times]), atol=tolerance)
    assert found(0.5).shape == (2, 2)
    with pytest.raises(ValueError, match="between 0 and 2"):
        found(2.1)


class Curved(torch.nn.Module):
    """A field with weights, time and a parameter that it does not use."""

    def __init__(self):
        super().__init__()
        made = torch.Generator().manual_seed(0)
        self.w = torch.nn.Parameter(torch.randn(2, 2, generator=made, dtype=torch.float64))
        self.b = torch.nn.Parameter(torch.randn(2, generator=made, dtype=torch.float64))
        self.idle = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))

    def forward(self, t, y):
        return torch.tanh(y @ self.w + self.b * torch.cos(t))


def loss_of(field, start, **options):
    states = odeint(field, start, [0.0, 0.5, 1.5, 2.0], **options).y
    return (states * torch.arange(1.0, 5.0, dtype=torch.float64)[:, None, None]).square().sum()


@pytest.mark.parametrize(
    "options",
    [
        {"gradient": "plain", **TIGHT},
        {"gradient": "adjoint", **TIGHT},
        {"method": "rk4", "step_size": 0.05, "gradient": "plain"},
        {"method": "rk4", "step_size": 0.05, "gradient": "adjoint"},
    ],
)
def test_gradients_by_finite_differences(options):
    field, start = Curved(), START.clone().requires_grad_()
    loss_of(field, start, **options).backward()
    assert field.idle.grad is None or (field.idle.grad == 0).all()
    for tensor in (start, field.w, field.b):
        expected = torch.zeros_like(tensor)
        flat, step = tensor.data.view(-1), 1e-5
        for i in range(tensor.numel()):
            values = []
            for change in (step, -2 * step):
                flat[i] += change
                with torch.no_grad():
                    values.append(float(loss_of(field, start, **options)))
            flat[i] += step
            expected.view(-1)[i] = (values[0] - values[1]) / (2 * step)
        torch.testing.assert_close(tensor.grad, expected, rtol=1e-5, atol=1e-5)


def test_plain_gradient_is_that_of_the_steps_taken():
    """With fixed steps it is exact to rounding, even where the solution is not."""
    start = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
    odeint(lambda t, y: -3 * y, start, [0.0, 1.0], method="euler", step_size=0.5).y[-1].backward()
    assert float(start.grad) == pytest.approx((1 - 1.5) ** 2, rel=1e-14)


@pytest.mark.parametrize("method", ["dopri5", "rk4"])
def test_event_of_a_falling_ball(method):
    """It falls for sqrt(2 h / g); height and gravity have gradients through the time."""
    height = torch.tensor(10.0, dtype=torch.float64, requires_grad=True)
    gravity = torch.tensor(9.81, dtype=torch.float64, requires_grad=True)

    def fall(t, y):
        return torch.stack([y[1], -gravity])

    start = torch.stack([height, torch.zeros((), dtype=torch.float64)])
    found = odeint(
        fall, start, [0.0, 0.5, 1.0, 5.0], method=method, step_size=0.1, event=lambda t, y: y[0]
    )
    expected = math.sqrt(2 * 10 / 9.81)
    assert found.status == 1
    assert float(found.t_event.detach()) == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(found.t, [0.0, 0.5, 1.0])
    assert len(found.y) == 3
    assert float(found.y_event[0].detach()) == pytest.approx(0.0, abs=1e-9)
    found.t_event.backward(retain_graph=True)
    assert float(height.grad) == pytest.approx(0.5 * expected / 10, rel=1e-8)
    assert float(gravity.grad) == pytest.approx(-0.5 * expected / 9.81, rel=1e-8)
    height.grad = None
    found.y_event[1].backward()  # minus sqrt(2 g h)
    assert float(height.grad) == pytest.approx(-math.sqrt(9.81 / (2 * 10)), rel=1e-8)


def test_no_event_is_the_whole_way():
    found = odeint(linear, START, [0.0, 1.0], event=lambda t, y: y.sum() + 100)
    assert found.status == 0
    assert found.t_event is None


def test_a_solution_that_explodes_says_where_and_what_to_do():
    with pytest.raises(SolverError, match=r"t=1 has become.*raise"):
        odeint(lambda t, y: y**2, torch.ones(1, dtype=torch.float64), [0.0, 2.0])
    found = odeint(
        lambda t, y: y**2, torch.ones(1, dtype=torch.float64), [0.0, 0.5, 2.0], on_failure="return"
    )
    assert found.status == -1
    assert "float64" in found.message
    np.testing.assert_allclose(found.y[:, 0], [1.0, 2.0], rtol=1e-4)


@pytest.mark.parametrize("gradient", ["plain", "adjoint"])
def test_too_few_steps(gradient):
    options = {"max_steps": 3, "gradient": gradient, "parameters": (), **TIGHT}
    with pytest.raises(SolverError, match="max_steps=3"):
        odeint(linear, START, [0.0, 50.0], **options)
    found = odeint(linear, START, [0.0, 50.0], on_failure="return", **options)
    assert (found.status, len(found.y)) == (-1, 1)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"t": [0.0]}, "two or more"),
        ({"t": [0.0, 1.0, 0.5]}, "rise"),
        ({"t": [0.0, math.nan]}, "finite"),
        ({"method": "rk45"}, "dopri5"),
        ({"rtol": 0.0}, "rtol"),
        ({"step_size": -1.0}, "step_size"),
        ({"gradient": "none"}, "adjoint"),
        ({"gradient": "adjoint"}, "parameters"),
        ({"func": lambda t, y: y[:1]}, "shape"),
        ({"t": torch.tensor([0.0, 1.0], requires_grad=True)}, "detach"),
    ],
)
def test_refused(changed, told):
    given = {"func": linear, "y0": START, "t": [0.0, 1.0], **changed}
    with pytest.raises(ValueError, match=told):
        odeint(**given)


def test_whole_numbers_are_no_state():
    with pytest.raises(TypeError, match="floats"):
        odeint(linear, torch.ones(2, dtype=torch.int64), [0, 1])


def test_float32_and_no_gradient():
    with torch.no_grad():
        found = odeint(lambda t, y: -y, torch.ones(3, 2), [0.0, 1.0], gradient="adjoint")
    assert found.y.dtype == found.t.dtype == torch.float32
    assert not found.y.requires_grad
    torch.testing.assert_close(found.y[-1], torch.full((3, 2), math.exp(-1)), rtol=1e-5, atol=1e-5)
