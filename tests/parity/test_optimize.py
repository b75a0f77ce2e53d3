"""The update rules take the steps of torch.optim, and the optimisers find SciPy's minima."""

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from panlearn.optimize import adagrad, adam, gradient_descent, newton, rmsprop, schedules

torch = pytest.importorskip("torch")

CASES = {
    "sgd": (gradient_descent, {}, "SGD", {}),
    "heavy ball": (gradient_descent, {"momentum": 0.9}, "SGD", {"momentum": 0.9}),
    "nesterov": (
        gradient_descent,
        {"momentum": 0.9, "nesterov": True},
        "SGD",
        {"momentum": 0.9, "nesterov": True},
    ),
    "adagrad": (adagrad, {}, "Adagrad", {}),
    "rmsprop": (rmsprop, {}, "RMSprop", {}),
    "rmsprop, short memory": (
        rmsprop,
        {"beta": 0.9, "epsilon": 1e-3},
        "RMSprop",
        {"alpha": 0.9, "eps": 1e-3},
    ),
    "adam": (adam, {}, "Adam", {}),
    "adam, other constants": (
        adam,
        {"beta1": 0.7, "beta2": 0.95, "epsilon": 1e-4},
        "Adam",
        {"betas": (0.7, 0.95), "eps": 1e-4},
    ),
}
START = np.array([-1.2, 1.0, 0.4])


def torch_path(name, step, steps, options, factor=None):
    x = torch.tensor(START, dtype=torch.float64, requires_grad=True)
    optimiser = getattr(torch.optim, name)([x], lr=step, **options)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, factor) if factor else None
    path = [START]
    for _ in range(steps):
        optimiser.zero_grad()
        loss = (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
        loss.backward()
        optimiser.step()
        if schedule:
            schedule.step()
        path.append(x.detach().numpy().copy())
    return np.array(path)


@pytest.mark.parametrize(("ours", "options", "theirs", "names"), CASES.values(), ids=CASES)
def test_same_path_as_torch(ours, options, theirs, names):
    step = 1e-4 if ours is gradient_descent else 1e-2
    result = ours(rosen, START, jac=rosen_der, step=step, maxiter=100, tol=0, **options)
    np.testing.assert_allclose(result.path, torch_path(theirs, step, 100, names), atol=1e-10)


def test_same_defaults_as_torch():
    for ours, theirs in [(adagrad, "Adagrad"), (rmsprop, "RMSprop"), (adam, "Adam")]:
        x = torch.zeros(1, requires_grad=True)
        defaults = getattr(torch.optim, theirs)([x]).defaults
        constants = {"step": defaults["lr"], "epsilon": defaults["eps"]}
        assert {name: ours.__kwdefaults__[name] for name in constants} == constants


def test_same_path_under_a_schedule():
    factor = schedules.warmup_cosine(5, 40)
    result = adam(rosen, START, jac=rosen_der, step=0.05, schedule=factor, maxiter=40, tol=0)
    theirs = torch_path("Adam", 0.05, 40, {}, factor=lambda k: float(factor(k)))
    np.testing.assert_allclose(result.path, theirs, atol=1e-10)


def test_newton_finds_scipys_minimum():
    ours = minimize(rosen, START, jac=rosen_der, method=newton)
    theirs = minimize(rosen, START, jac=rosen_der, method="BFGS", tol=1e-10)
    np.testing.assert_allclose(ours.x, theirs.x, atol=1e-7)
    assert ours.nit < theirs.nit
