"""Kernel densities: they are densities, and samples follow them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kstest

from panlearn.neighbors import KernelDensity
from panlearn.neighbors.kernel_density import KERNELS


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_density_integrates_to_one_in_one_and_two_dimensions(rng, kernel):
    line = np.linspace(-30, 30, 60_001)
    model = KernelDensity(0.8, kernel=kernel).fit(
        rng.normal(size=(9, 1)), sample_weight=rng.random(9)
    )
    density = np.exp(model.score_samples(line[:, None]))
    # jumps and kinks cost the trapezoid rule a step of 1e-3 each
    assert_allclose(np.trapezoid(density, line), 1, atol=2e-3 if kernel == "tophat" else 1e-5)
    side = np.linspace(-12, 12, 301)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    model.fit(rng.normal(size=(9, 2)))
    total = np.exp(model.score_samples(grid)).sum() * (side[1] - side[0]) ** 2
    assert_allclose(total, 1, atol=2e-2 if kernel == "tophat" else 3e-3)


@pytest.mark.parametrize("kernel", KERNELS)
def test_samples_follow_the_density(rng, kernel):
    X = np.array([[0.0], [3.0], [3.5]])
    model = KernelDensity(0.7, kernel=kernel).fit(X, sample_weight=[2.0, 1.0, 1.0])
    line = np.linspace(-25, 30, 20_001)
    distribution = np.cumsum(np.exp(model.score_samples(line[:, None]))) * (line[1] - line[0])
    draws = model.sample(4000, random_state=0)
    assert draws.shape == (4000, 1)
    result = kstest(draws[:, 0], lambda x: np.interp(x, line, distribution / distribution[-1]))
    assert result.pvalue > 1e-3


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_radius_of_samples_has_the_law_of_the_kernel(kernel, d):
    """The density of the radius is r^(d-1) K(r), normalised."""
    radius = np.linspace(
        1e-9, 1 - 1e-12 if kernel not in ("gaussian", "exponential") else 60, 40_001
    )
    weight = radius ** (d - 1) * np.exp(KERNELS[kernel].log(radius**2))
    law = np.cumsum(weight) / weight.sum()
    model = KernelDensity(1.0, kernel=kernel).fit(np.zeros((1, d)))
    draws = np.linalg.norm(model.sample(4000, random_state=1), axis=1)
    assert kstest(draws, lambda r: np.interp(r, radius, law)).pvalue > 1e-3


def test_far_tails_keep_their_digits():
    model = KernelDensity(1.0).fit([[0.0], [1.0]])
    expected = -(999.0**2) / 2 - np.log(2 * np.sqrt(2 * np.pi))
    assert_allclose(model.score_samples([[1000.0]]), expected, rtol=1e-14)


def test_rows_at_an_offset(rng):
    X = rng.integers(-9, 9, (20, 2)).astype(float)
    here, there = KernelDensity(0.5).fit(X), KernelDensity(0.5).fit(X + 1e9)
    assert_allclose(here.score_samples(X), there.score_samples(X + 1e9), rtol=1e-12)


def test_score_is_the_mean_and_a_seed_repeats(rng):
    X = rng.normal(size=(30, 2))
    model = KernelDensity("scott").fit(X)
    assert model.score(X) == pytest.approx(model.score_samples(X).mean())
    np.testing.assert_array_equal(model.sample(5, random_state=3), model.sample(5, random_state=3))
    assert model.bandwidth_ == pytest.approx(30 ** (-1 / 6))


def test_a_stream_is_refused(rng):
    with pytest.raises(ValueError, match="X is a stream"):
        KernelDensity().fit([rng.normal(size=(5, 2)), rng.normal(size=(5, 2))])


def test_the_rows_are_a_copy(rng):
    X, weight = rng.normal(size=(30, 2)), np.ones(30)
    for options in ({}, {"sample_weight": weight}):
        model = KernelDensity(0.5).fit(X, **options)
        Q = rng.normal(size=(5, 2))
        before = model.score_samples(Q)
        X += 1
        weight *= np.linspace(1, 2, 30)
        assert_allclose(model.score_samples(Q), before, rtol=0)
