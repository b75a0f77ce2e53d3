"""Continuous flows: exact and estimated traces, densities, flow matching, conditions."""

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.linalg import expm
from sklearn.base import clone
from sklearn.datasets import make_moons

import panlearn
from panlearn.generative import ContinuousNormalizingFlow
from panlearn.generative._velocity import ContinuousFlow, _Traced
from panlearn.neural._random import seeded

QUICK = {"max_epochs": 80, "batch_size": 100, "random_state": 0}


def flow(context=0, **solver):
    with seeded(0):
        made = ContinuousFlow(
            3, context, 2, (8, 8), "tanh", {"method": "rk4", "step_size": 0.05, **solver}
        )
        for p in made.parameters():
            p.data.mul_(2)
        return made.double()


def rows(n=5, d=3):
    return torch.randn(n, d, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("context", [0, 2])
def test_exact_trace_is_that_of_the_jacobian(context):
    made, x = flow(context), rows()
    c = rows(5, context) if context else None
    t = torch.tensor(0.3, dtype=torch.float64)
    state = torch.cat([x, torch.zeros(5, 1).double()], dim=1)
    change = _Traced(made, c, None)(t, state)
    for i in range(5):
        seen = None if c is None else c[i : i + 1]
        jacobian = torch.autograd.functional.jacobian(
            lambda r, seen=seen: made.velocity(t, r[None], seen)[0], x[i]
        )
        torch.testing.assert_close(change[i, -1], jacobian.trace())


def test_mean_of_estimated_traces_is_the_exact_one():
    """All eight vectors of signs of three columns, each once."""
    made, x = flow(), rows()
    t, state = torch.tensor(0.3).double(), torch.cat([x, torch.zeros(5, 1).double()], dim=1)
    signs = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0], dtype=torch.float64)] * 3)
    found = [_Traced(made, None, s.expand(5, 3))(t, state)[:, -1] for s in signs]
    torch.testing.assert_close(
        torch.stack(found).mean(0), _Traced(made, None, None)(t, state)[:, -1]
    )
    assert torch.stack(found).std(0).min() > 1e-3


def test_log_determinant_is_that_of_the_whole_way():
    made, x = flow(step_size=0.05), rows(2)
    _, log_determinant = made(x)
    for i in range(len(x)):
        jacobian = torch.autograd.functional.jacobian(lambda r: made(r[None])[0][0], x[i])
        expected = torch.linalg.slogdet(jacobian).logabsdet
        torch.testing.assert_close(log_determinant[i], expected, rtol=1e-4, atol=1e-5)


def test_linear_field_has_a_closed_form():
    """With v = A x the way is a matrix exponential, and the log determinant the trace of A."""
    made = ContinuousFlow(
        2, 0, 1, (), "tanh", {"method": "dopri5", "rtol": 1e-10, "atol": 1e-12}
    ).double()
    A = np.array([[0.3, -1.0], [0.7, -0.9]])
    with torch.no_grad():
        made.network[0].weight.copy_(torch.tensor(np.hstack([np.zeros((2, 2)), A])))
        made.network[0].bias.zero_()
    x = rows(4, 2)
    z, log_determinant = made(x)
    np.testing.assert_allclose(z.detach(), x.numpy() @ expm(A).T, rtol=1e-8)
    np.testing.assert_allclose(log_determinant.detach(), np.trace(A), rtol=1e-8)
    covariance = expm(-A) @ expm(-A).T
    expected = stats.multivariate_normal([0, 0], covariance).logpdf(x)
    np.testing.assert_allclose(made.log_density(x).detach(), expected, rtol=1e-8)


@pytest.mark.parametrize("gradient", ["plain", "adjoint"])
def test_gradients_of_the_likelihood(gradient):
    """By the steps and by the adjoint equation, against finite differences in one weight."""
    made, x = flow(gradient=gradient, step_size=0.1), rows(2)
    made.log_density(x).sum().backward()
    weight = made.network[0].weight
    for place in ((0, 5), (3, 0)):
        values = []
        for change in (1e-5, -2e-5):
            weight.data[place] += change
            with torch.no_grad():
                values.append(float(made.log_density(x).sum()))
        weight.data[place] += 1e-5
        expected = (values[0] - values[1]) / 2e-5
        assert float(weight.grad[place]) == pytest.approx(expected, rel=1e-3, abs=1e-4)


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(400, noise=0.1, random_state=0)
    return X * [3.0, 0.1] + [10.0, -5.0], y


@pytest.fixture(scope="module")
def fitted(moons):
    return ContinuousNormalizingFlow((64, 64, 64), **QUICK).fit(moons[0])


def test_flow_matching_learns_the_density(fitted, moons):
    """More than half of the way from a Gaussian to the density that new rows are drawn from."""
    X, new = moons[0], make_moons(400, noise=0.1, random_state=1)[0]
    angle = np.linspace(0, np.pi, 500)
    upper = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    arcs = np.concatenate([upper, [1.0, 0.5] - upper])
    density = stats.norm(0, 0.1).pdf(new[:, None] - arcs).prod(-1).mean(1)
    truth = np.log(density).mean() - np.log(3.0 * 0.1)
    new = new * [3.0, 0.1] + [10.0, -5.0]
    gaussian = stats.multivariate_normal(X.mean(0), np.cov(X.T)).logpdf(new).mean()
    assert fitted.score(new) - gaussian > (truth - gaussian) / 2


def test_density_integrates_to_one(fitted):
    a, b = np.linspace(0, 22, 60), np.linspace(-5.4, -4.6, 60)
    grid = np.stack(np.meshgrid(a, b, indexing="ij"), axis=-1).reshape(-1, 2)
    density = np.exp(fitted.score_samples(grid)).reshape(60, 60)
    assert np.trapezoid(np.trapezoid(density, b), a) == pytest.approx(1.0, abs=1e-2)


def test_stated_error_is_about_the_true_one(fitted, moons):
    """Against steps that are ten times as short."""
    X = moons[0][:20]
    fine = clone(fitted).set_params(step_size=0.005)
    for name in ("weights_", "mean_", "scale_", "sample_shape_", "conditions_", "n_features_in_"):
        setattr(fine, name, getattr(fitted, name))
    error = np.abs(fitted.score_samples(X) - fine.score_samples(X)).max()
    stated = np.abs(fitted.density_error(X)).max()
    assert stated / 2 < error < 2 * stated
    assert stated < 5e-3


def test_noise_and_rows(fitted, moons):
    X = moons[0]
    np.testing.assert_allclose(fitted.from_noise(fitted.to_noise(X)), X, atol=1e-3)
    made = fitted.sample(300, random_state=0)
    np.testing.assert_array_equal(made, fitted.sample(300, random_state=0))
    assert (np.abs(made.mean(0) - X.mean(0)) < 0.2 * X.std(0)).all()
    np.testing.assert_allclose(made.std(0), X.std(0), rtol=0.2)


def test_rows_do_not_depend_on_each_other(fitted, moons):
    X = moons[0]
    np.testing.assert_allclose(fitted.score_samples(X)[:3], fitted.score_samples(X[:3]), rtol=1e-10)


def test_saved_and_loaded(fitted, moons, tmp_path):
    panlearn.save(fitted, tmp_path / "flow")
    again = panlearn.load(tmp_path / "flow")
    np.testing.assert_array_equal(again.score_samples(moons[0]), fitted.score_samples(moons[0]))


@pytest.mark.parametrize(
    "options", [{"trace": "exact"}, {"trace": "hutchinson", "gradient": "adjoint"}]
)
def test_training_by_likelihood(options, rng):
    X = rng.normal(size=(200, 2)) @ [[2.0, 0.0], [1.0, 0.3]]
    model = ContinuousNormalizingFlow(
        8,
        objective="likelihood",
        step_size=0.25,
        max_epochs=6,
        batch_size=100,
        learning_rate=0.03,
        random_state=0,
        **options,
    ).fit(X)
    standard = stats.norm(X.mean(0), X.std(0)).logpdf(X).sum(1).mean()
    assert model.history_["loss"][-1] < model.history_["loss"][0] - 0.08
    assert model.score(X) > standard + 0.05


def test_conditional_flow(moons):
    X, y = moons
    model = ContinuousNormalizingFlow((32, 32), **QUICK).fit(X, y)
    assert model.score(X, y) > model.score(X, 1 - y) + 1
    lower = model.sample(200, random_state=0, y=1)[:, 1].mean()
    assert lower == pytest.approx(X[y == 1, 1].mean(), abs=0.03)
