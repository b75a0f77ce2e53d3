"""Scores: closed forms on Gaussian data for losses, ways back, and densities."""

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal, norm

from panlearn.generative import ScoreModel
from panlearn.generative._score import (
    PROCESSES,
    annealed_langevin,
    flow,
    flow_log_density,
    reverse_sde,
    score_losses,
    trace_of_slope,
)
from panlearn.neural._draws import Draws, Share

COVARIANCE = np.array([[1.3, 0.6], [0.6, 0.7]])


def draws(n, seed=0):
    return Draws(Share(0, n, n), seed, 0, torch.device("cpu"))


def exact(process, covariance=COVARIANCE):
    """The score of Gaussian data under noise."""
    variances, axes = (torch.as_tensor(part) for part in np.linalg.eigh(covariance))

    def score(x, t):
        a, sigma = (scale[:, None] for scale in process.scales(t))
        return -(x @ axes / (a**2 * variances + sigma**2)) @ axes.T

    return score


@pytest.mark.parametrize("name", PROCESSES)
def test_scales_solve_the_equation_of_the_process(name):
    """a' = f a and (sigma^2)' = 2 f sigma^2 + g^2, by differences."""
    process, t, h = PROCESSES[name](), torch.linspace(0.05, 0.95, 9, dtype=torch.float64), 1e-6
    (a, sigma), (f, g2) = process.scales(t), process.rates(t)
    (a1, s1), (a0, s0) = process.scales(t + h), process.scales(t - h)
    np.testing.assert_allclose((a1 - a0) / (2 * h), f * a, rtol=1e-6, atol=1e-9)
    slope = (s1.square() - s0.square()) / (2 * h)
    np.testing.assert_allclose(slope, 2 * f * sigma.square() + g2, rtol=1e-6)
    zero = process.scales(torch.zeros(1, dtype=torch.float64))
    assert (zero[0].item(), zero[1].item()) == (1.0, 0.0)


@pytest.mark.parametrize("name", PROCESSES)
def test_times_are_found_by_the_ratio_of_noise_to_data(name):
    """Whose logarithm grows by g^2 / sigma^2: uniform in it, a time comes as likelihood asks."""
    process, t, h = PROCESSES[name](), torch.linspace(0.001, 1, 9, dtype=torch.float64), 1e-7
    np.testing.assert_allclose(process.when(process.log_ratio(t)), t, rtol=1e-9)
    single = process.when(process.log_ratio(t.float()))
    np.testing.assert_allclose(single, t, rtol=1e-3)
    slope = (process.log_ratio(t + h) - process.log_ratio(t - h)) / (2 * h)
    (_, sigma), (_, g2) = process.scales(t), process.rates(t)
    np.testing.assert_allclose(slope, g2 / sigma.square(), rtol=1e-6)


def test_the_trace_is_that_of_the_jacobian(rng):
    matrix = torch.as_tensor(rng.normal(size=(3, 3)))
    x = torch.as_tensor(rng.normal(size=(4, 3)))

    def score(x, t):
        return torch.sin(x @ matrix.T) * t[:, None]

    t = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
    said, trace = trace_of_slope(score, x, t)
    for i in range(4):
        jacobian = torch.autograd.functional.jacobian(
            lambda row, i=i: score(row[None], t[i : i + 1])[0], x[i]
        )
        assert trace[i].item() == pytest.approx(jacobian.trace().item(), abs=1e-12)
    torch.testing.assert_close(said, score(x, t))


@pytest.mark.parametrize("name", PROCESSES)
@pytest.mark.parametrize("method", ["denoising", "sliced", "explicit"])
def test_each_loss_is_lowest_at_the_true_score(name, method):
    process, n = PROCESSES[name](), 20_000
    root = torch.as_tensor(np.linalg.cholesky(COVARIANCE))
    x = draws(n, 7).normal(2, dtype=torch.float64) @ root.T
    score, objective = exact(process), score_losses(process, method)
    losses = {}
    for factor in (0.8, 1.0, 1.25):
        scaled = lambda x, t, factor=factor: factor * score(x, t)  # noqa: E731
        losses[factor] = objective(scaled, (x,), draws(n)).mean().item()
    assert losses[1.0] < losses[0.8]
    assert losses[1.0] < losses[1.25]


def test_the_three_losses_differ_by_constants():
    """Their slopes in a parameter of the score are equal, up to the noise of draws."""
    process, n = PROCESSES["vp"](), 200_000
    root = torch.as_tensor(np.linalg.cholesky(COVARIANCE))
    x = draws(n, 7).normal(2, dtype=torch.float64) @ root.T
    score, slopes = exact(process), {}
    for method in ("denoising", "sliced", "explicit"):
        factor = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
        objective = score_losses(process, method)
        loss = objective(lambda x, t, c=factor: c * score(x, t), (x,), draws(n)).mean()
        (slopes[method],) = torch.autograd.grad(loss, factor)
    half = {"denoising": 0.5, "sliced": 1.0, "explicit": 1.0}  # it is twice the others
    found = [half[m] * s.item() for m, s in slopes.items()]
    np.testing.assert_allclose(found, found[2], rtol=0.03)


@pytest.mark.parametrize("name", PROCESSES)
def test_the_flow_has_the_density_of_the_data(name, rng):
    process = PROCESSES[name]()
    x = rng.normal(size=(30, 2)) @ np.linalg.cholesky(COVARIANCE).T
    found = flow_log_density(process, exact(process), torch.as_tensor(x), 40)
    # the first time has a little noise, and the end is not quite the normal that stands for it
    expected = multivariate_normal(np.zeros(2), COVARIANCE).logpdf(x)
    np.testing.assert_allclose(found, expected, atol=1e-2)


@pytest.mark.parametrize("name", PROCESSES)
@pytest.mark.parametrize("way", ["sde", "ode", "langevin"])
def test_ways_back_give_the_data(name, way):
    process, n = PROCESSES[name](), 10_000
    score, noise = exact(process), draws(n).normal(2, dtype=torch.float64)
    if way == "sde":
        x = reverse_sde(process, score, noise, draws(n, 1), 150)
    elif way == "ode":
        x, _ = flow(process, score, process.end * noise, 60, forward=False, density=False)
    else:
        x = annealed_langevin(process, score, noise, draws(n, 1), 100, 10)
    # four deviations of a variance of so many draws are 0.057 of it
    roots = np.linalg.eigvals(np.linalg.solve(COVARIANCE, np.cov(x.numpy().T)))
    np.testing.assert_allclose(roots, 1, atol=0.08 if way == "langevin" else 0.06)
    np.testing.assert_allclose(x.mean(0), 0, atol=4 * 1.2 / n**0.5)


def test_the_flow_goes_there_and_back():
    process = PROCESSES["vp"]()
    x = draws(5).normal(2, dtype=torch.float64)
    there, one = flow(process, exact(process), x, 80, forward=True, density=True)
    back, other = flow(process, exact(process), there, 80, forward=False, density=True)
    np.testing.assert_allclose(back, x, atol=1e-6)
    np.testing.assert_allclose(one, -other, atol=1e-6)


@pytest.mark.parametrize("matching", ["denoising", "sliced", "explicit"])
def test_a_table_is_learned(matching, rng):
    """Enough rows that the truth, by which new ones are judged, is what they say."""
    scale, mean = np.array([1000.0, 1.0]), np.array([5.0, 7.0])
    drawn = rng.normal(size=(2200, 2)) @ np.linalg.cholesky(COVARIANCE).T * scale + mean
    rows = np.hstack([drawn, np.full((2200, 1), 4.0)])
    model = ScoreModel(
        (32, 32),
        matching=matching,
        max_epochs=30,
        learning_rate=5e-3,
        n_sampling_steps=50,
        random_state=0,
    ).fit(rows[:2000])
    made = model.sample(1000, random_state=0)
    assert (made[:, 2] == 4).all()
    np.testing.assert_allclose(np.cov((made[:, :2] / scale).T), COVARIANCE, atol=0.2)
    truth, new = multivariate_normal(mean, COVARIANCE * np.outer(scale, scale)), rows[2000:]
    error = model.score_samples(new) - truth.logpdf(new[:, :2])
    assert np.median(np.abs(error)) < 0.1
    assert abs(error.mean()) < 0.02
    slopes = -np.linalg.solve(truth.cov, (new[:, :2] - mean).T).T * scale
    off = model.gradient(new)[:, :2] * scale - slopes
    assert np.linalg.norm(off) < 0.25 * np.linalg.norm(slopes)
    assert (model.gradient(new)[:, 2] == 0).all()


def test_slopes_of_a_mixture_are_those_of_the_closed_form(rng):
    """Smoothed by the noise of time 0.001, whose variance of standardised rows is 0.00011."""
    centres, spreads = np.array([-2.0, 3.0]), np.array([0.5, 1.0])
    learned, new = (
        centres[k] + spreads[k] * rng.normal(size=len(k))
        for k in (rng.integers(2, size=2000), rng.integers(2, size=200))
    )
    options = dict(max_epochs=25, learning_rate=5e-3, random_state=0)
    model = ScoreModel((32, 32), **options).fit(learned[:, None])
    smoothed = np.sqrt(spreads**2 + 0.00011 * model.scale_**2)
    shares = norm(centres, smoothed).pdf(new[:, None])
    shares /= shares.sum(axis=1, keepdims=True)
    slopes = (shares * (centres - new[:, None]) / smoothed**2).sum(axis=1)
    off = model.gradient(new[:, None])[:, 0] - slopes
    assert np.linalg.norm(off) < 0.45 * np.linalg.norm(slopes)  # 0.6 without mirrored noise
    truth = np.log(norm(centres, spreads).pdf(new[:, None]).mean(axis=1))
    assert truth.mean() - model.score(new[:, None]) < 0.05


@pytest.mark.parametrize("process", ["vp", "ve"])
@pytest.mark.parametrize("shape", [(3,), (4, 5), (2, 4, 4)])
def test_gradients_are_per_unit_of_each_column(process, shape, rng):
    """A network that adds nothing leaves a normal with the moments of the data, and a little noise.

    At time 0.001 that noise has the variance 1 - a^2 of the process "vp", which keeps the sum at
    one, or adds 0.01^2 (2000^0.002 - 1) to it.
    """
    X = 7 + rng.normal(size=(40, *shape)) * (np.array([100.0, 1.0, 0.0]) if len(shape) == 1 else 3)
    model = ScoreModel(4, process=process, max_epochs=1, random_state=0).fit(X)
    for name, weight in model.weights_.items():
        if ".leave." in name:
            weight[:] = 0
    variance = 1.0 if process == "vp" else 1 + 0.01**2 * (2000**0.002 - 1)
    axes = (0,) if len(shape) == 1 else (0, -2, -1)
    moments = X.var(axis=axes, keepdims=True)
    flat = moments == 0
    slopes = -(X - X.mean(axis=axes, keepdims=True)) / np.where(flat, np.inf, moments * variance)
    tolerance = 1e-9 if len(shape) == 1 else 1e-5  # images are computed with in float32
    np.testing.assert_allclose(model.gradient(X), slopes, rtol=tolerance, atol=tolerance)


def test_the_density_of_a_model_integrates_to_one(rng):
    X = np.concatenate([rng.normal(-2, 0.5, size=150), rng.normal(3, 1.0, size=150)])[:, None]
    model = ScoreModel((32, 32), max_epochs=40, learning_rate=5e-3, random_state=0).fit(X)
    grid = np.linspace(-12, 14, 401)[:, None]
    density = np.exp(model.score_samples(grid))
    assert np.trapezoid(density, grid[:, 0]) == pytest.approx(1.0, abs=0.02)
    assert density.max() < 2  # and is no spike


def test_images_and_bad_settings(rng):
    X = rng.normal(size=(12, 4, 4)).astype(np.float32)
    model = ScoreModel((4, 8), max_epochs=1, n_sampling_steps=3, process="ve").fit(X)
    assert model.sample(2).shape == (2, 4, 4)
    assert model.gradient(X).shape == X.shape
    with pytest.raises(ValueError, match=r"hidden_layer_sizes=\(\)"):
        ScoreModel(()).fit(X)
