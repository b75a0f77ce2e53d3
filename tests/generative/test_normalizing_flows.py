"""Flows as estimators: densities that integrate to one, conditions, samples, closed forms."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import make_moons

import panlearn
from panlearn.generative import (
    AffineTransform,
    MaskedAutoregressiveFlow,
    NeuralAutoregressiveFlow,
    RealNVP,
    SplineTransform,
    SumOfSquaresFlow,
)

QUICK = {
    "hidden_layer_sizes": 16,
    "max_epochs": 8,
    "batch_size": 100,
    "learning_rate": 5e-3,
    "random_state": 0,
}
LONGER = {**QUICK, "max_epochs": 15, "learning_rate": 0.02}
MODELS = {
    "RealNVP": RealNVP(transforms=4, **QUICK),
    "RealNVP, shuffled, normalised": RealNVP(transforms=3, randperm=True, actnorm=True, **QUICK),
    "RealNVP of splines": RealNVP(SplineTransform(bins=4), transforms=2, **QUICK),
    "MAF": MaskedAutoregressiveFlow(actnorm=True, **QUICK),
    "MAF of splines": MaskedAutoregressiveFlow(SplineTransform(bins=4), transforms=2, **QUICK),
    "NAF": NeuralAutoregressiveFlow(
        4, network_layer_sizes=16, transforms=1, **{**LONGER, "max_epochs": 40}
    ),
    "SOS": SumOfSquaresFlow(2, polynomials=2, transforms=2, **LONGER),
}


@pytest.fixture(scope="module")
def moons():
    """Rows with units of their own, and labels."""
    X, y = make_moons(400, noise=0.1, random_state=0)
    return X * [3.0, 0.1] + [10.0, -5.0], y


@pytest.fixture(scope="module")
def fitted(moons):
    return {name: model.fit(moons[0]) for name, model in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
def test_density_integrates_to_one(fitted, name):
    """On a grid that reaches six deviations out."""
    a, b = np.linspace(-16, 36, 321), np.linspace(-5.9, -4.0, 301)
    grid = np.stack(np.meshgrid(a, b, indexing="ij"), axis=-1).reshape(-1, 2)
    density = np.exp(fitted[name].score_samples(grid)).reshape(len(a), len(b))
    total = np.trapezoid(np.trapezoid(density, b), a)
    assert total == pytest.approx(1.0, abs=5e-3)


@pytest.mark.parametrize("name", MODELS)
def test_better_than_a_gaussian(fitted, moons, name):
    X = moons[0]
    gaussian = stats.multivariate_normal(X.mean(0), np.cov(X.T)).logpdf(X).mean()
    assert fitted[name].score(X) > gaussian + 0.1


@pytest.mark.parametrize("name", MODELS)
def test_noise_and_rows_are_each_others(fitted, moons, name):
    model, X = fitted[name], moons[0]
    noise = model.to_noise(X)
    np.testing.assert_allclose(model.from_noise(noise), X, rtol=1e-8, atol=1e-8)
    log_density = stats.norm.logpdf(noise).sum(axis=1)
    step, places = 1e-6, X[:3]
    slopes = [
        (model.to_noise(places + step * e) - model.to_noise(places - step * e)) / (2 * step)
        for e in np.eye(2)
    ]
    expected = log_density[:3] + np.linalg.slogdet(np.stack(slopes, axis=1)).logabsdet
    np.testing.assert_allclose(model.score_samples(places), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_samples_are_inverted_noise_and_can_be_repeated(fitted, name):
    model = fitted[name]
    made = model.sample(700, random_state=1)
    np.testing.assert_array_equal(made, model.sample(700, random_state=1))
    noise = model.to_noise(made)
    assert stats.kstest(noise.ravel(), "norm").pvalue > 1e-3
    assert abs(np.corrcoef(noise.T)[0, 1]) < 0.15


@pytest.mark.parametrize("name", MODELS)
def test_saved_and_loaded_flows_are_the_same(fitted, moons, name, tmp_path):
    model = fitted[name]
    panlearn.save(model, tmp_path / "flow")
    again = panlearn.load(tmp_path / "flow")
    np.testing.assert_array_equal(again.score_samples(moons[0]), model.score_samples(moons[0]))
    np.testing.assert_array_equal(again.sample(5, random_state=0), model.sample(5, random_state=0))


def test_units_move_the_density_by_their_logarithms(moons):
    X, factor = moons[0], np.array([1000.0, 1e-3])
    one, other = (MaskedAutoregressiveFlow(**QUICK).fit(rows) for rows in (X, X * factor))
    shift = one.score_samples(X) - other.score_samples(X * factor)
    np.testing.assert_allclose(shift, np.log(factor).sum(), atol=1e-6)


def test_one_affine_layer_finds_the_cholesky_factor():
    """The increasing triangular map from N(0, I) to N(m, S) is unique, m + L z."""
    L = np.array([[2.0, 0.0], [-1.0, 0.5]])
    spread = stats.qmc.MultivariateNormalQMC([0, 0], seed=0).random(2048)
    X = spread @ L.T + [3.0, -1.0]
    model = MaskedAutoregressiveFlow(
        transforms=1,
        hidden_layer_sizes=(),
        max_epochs=200,
        batch_size=2048,
        learning_rate=0.1,
        schedule="cosine",
        random_state=0,
    ).fit(X)
    origin, *ends = model.from_noise([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(origin, [3.0, -1.0], atol=0.01)
    np.testing.assert_allclose((ends - origin).T, L, atol=0.01)


@pytest.mark.parametrize("name", ["RealNVP", "MAF", "NAF"])
def test_conditional_density_is_that_of_each_class(moons, name):
    X, y = moons
    labels = np.where(y == 1, "under", "over")
    model = clone(MODELS[name]).set_params(max_epochs=20).fit(X, labels)
    right = model.score(X, labels)
    wrong = model.score(X, np.where(y == 1, "over", "under"))
    assert right > wrong + 1
    over, under = (model.score_samples(X, [label] * len(X)) for label in ("over", "under"))
    np.testing.assert_allclose(
        model.score_samples(X), np.logaddexp(over, under) - np.log(2), rtol=1e-9
    )
    made = model.sample(300, random_state=0, y="under")
    under, over = (model.score(made, [label] * 300) for label in ("under", "over"))
    assert under > over + 1


def test_numbers_as_conditions(rng):
    """Rows around a number that is given."""
    y = rng.uniform(-3, 3, size=500)
    X = np.column_stack([2 * y + 0.1 * rng.normal(size=500), rng.normal(size=500)])
    model = RealNVP(**LONGER, transforms=3).fit(X, y)
    made = model.sample(200, random_state=0, y=1.5)
    assert made[:, 0].mean() == pytest.approx(3.0, abs=0.3)
    with pytest.raises(ValueError, match="give y"):
        model.sample(3)
    with pytest.raises(ValueError, match="y"):
        model.score_samples(X)


@pytest.mark.parametrize("kind", [RealNVP, MaskedAutoregressiveFlow, SumOfSquaresFlow])
def test_one_column(kind, rng):
    X = rng.normal(5.0, 2.0, size=(300, 1))
    model = kind(
        transforms=1, hidden_layer_sizes=4, max_epochs=40, learning_rate=0.02, random_state=0
    ).fit(X)
    expected = stats.norm(X.mean(), X.std()).logpdf(X[:, 0]).mean()
    assert model.score(X) == pytest.approx(expected, abs=0.05)


def test_conditional_flow_of_one_column(rng):
    y = np.repeat([0, 1], 200)
    X = rng.normal(10.0 * y, 1.0)[:, None]
    model = RealNVP(**LONGER, transforms=2).fit(X, y)
    assert model.sample(100, random_state=0, y=1).mean() == pytest.approx(10.0, abs=1.0)


def test_columns_with_names_and_one_that_does_not_vary(rng):
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": 7.0, "c": 1e9 * rng.normal(size=60)})
    model = MaskedAutoregressiveFlow(**QUICK).fit(frame)
    made = model.sample(5, random_state=0)
    assert list(made.columns) == ["a", "b", "c"]
    np.testing.assert_allclose(made["b"], 7.0, rtol=1e-14)
    assert np.isfinite(model.score_samples(frame)).all()
    assert model.to_noise(frame).shape == (60, 2)


def test_far_rows_have_a_small_finite_density(fitted):
    for name, model in fitted.items():
        logs = model.score_samples([[1e4, 50.0], [-1e4, -50.0]])
        assert np.isfinite(logs).all(), name
        assert (logs < -100).all(), name


def test_float32_stays_float32(moons):
    X = moons[0].astype(np.float32)
    model = RealNVP(**QUICK).fit(X)
    for found in (model.score_samples(X), model.to_noise(X), model.sample(2, random_state=0)):
        assert found.dtype == np.float32
    np.testing.assert_allclose(model.from_noise(model.to_noise(X)), X, atol=1e-4)


def test_images(rng):
    images = rng.normal(size=(30, 4, 3))
    model = RealNVP(**QUICK).fit(images)
    assert model.sample(2, random_state=0).shape == (2, 4, 3)
    noise = model.to_noise(images)
    assert noise.shape == (30, 12)
    np.testing.assert_allclose(model.from_noise(noise), images, atol=1e-4)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (RealNVP(hidden_layer_sizes=(8, 0)), "hidden_layer_sizes"),
        (NeuralAutoregressiveFlow(network_layer_sizes=7), "even"),
        (MaskedAutoregressiveFlow(transforms=0), "transforms"),
        (MaskedAutoregressiveFlow(univariate="affine"), "univariate"),
    ],
)
def test_refused(model, told, moons):
    with pytest.raises((ValueError, TypeError), match=told):
        model.fit(moons[0])


def test_noise_of_a_wrong_width(fitted):
    with pytest.raises(ValueError, match="2 columns"):
        fitted["MAF"].from_noise(np.zeros((3, 5)))


def test_resumed_training_ends_with_the_same_bits(moons, tmp_path):
    X, more = moons[0], {"checkpoint": tmp_path / "run", "checkpoint_every": 3}
    options = {**QUICK, "actnorm": True}
    whole = MaskedAutoregressiveFlow(**options).fit(X)
    MaskedAutoregressiveFlow(**{**options, "max_epochs": None, "max_steps": 13}, **more).fit(X)
    resumed = MaskedAutoregressiveFlow(**options, **more, resume=True).fit(X)
    for name, value in whole.weights_.items():
        np.testing.assert_array_equal(resumed.weights_[name], value)


def test_affine_scales_are_bounded():
    z, log_slope = AffineTransform(slope=0.1).forward(
        torch.ones(2), torch.tensor([[0.0, 1e9], [0.0, -1e9]])
    )
    torch.testing.assert_close(log_slope.exp(), torch.tensor([10.0, 0.1]))
    torch.testing.assert_close(z, torch.tensor([10.0, 0.1]))
