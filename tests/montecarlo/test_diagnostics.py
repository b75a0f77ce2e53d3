"""Diagnostics against closed forms and plain loops."""

import numpy as np
import pytest

from panlearn.montecarlo import diagnostics


def autoregression(rng, phi, chains=4, n=2000):
    noise = rng.normal(size=(chains, n))
    x = np.empty((chains, n))
    x[:, 0] = noise[:, 0] / np.sqrt(1 - phi**2)
    for t in range(1, n):
        x[:, t] = phi * x[:, t - 1] + noise[:, t]
    return x


def test_autocorrelation_is_the_plain_sum(rng):
    x = rng.normal(size=(2, 9))
    centred = x - x.mean(axis=1, keepdims=True)
    plain = [[(c[: 9 - t] * c[t:]).sum() / (c @ c) for t in range(9)] for c in centred]
    np.testing.assert_allclose(diagnostics.autocorrelation(x), plain, atol=1e-14)


@pytest.mark.parametrize("phi", [-0.5, 0.0, 0.8])
def test_effective_size_of_an_autoregression(rng, phi):
    x = autoregression(rng, phi, chains=8, n=5000)
    expected = x.size * (1 - phi) / (1 + phi)
    # an estimate of tau from 40,000 draws has an error of a few per cent
    np.testing.assert_allclose(diagnostics.ess_mean(x), expected, rtol=0.15)
    np.testing.assert_allclose(diagnostics.ess_bulk(x), expected, rtol=0.15)


def test_rhat_is_the_ratio_of_variances(rng):
    x = rng.normal(size=(3, 20)) + np.arange(3)[:, None]
    halves = np.concatenate([x[:, :10], x[:, 10:]])
    within = np.mean([h.var(ddof=1) for h in halves])
    total = 0.9 * within + halves.mean(axis=1).var(ddof=1)
    np.testing.assert_allclose(diagnostics.split_rhat(x), np.sqrt(total / within), rtol=1e-13)


def test_rhat_sees_location_spread_and_drift(rng):
    x = rng.normal(size=(4, 1000))
    assert diagnostics.rhat(x) < 1.01
    assert diagnostics.rhat(x + np.array([0, 0, 0, 2.0])[:, None]) > 1.1
    assert diagnostics.rhat(x * np.array([1, 1, 1, 5.0])[:, None]) > 1.1
    assert diagnostics.rhat(x + np.linspace(0, 3, 1000)) > 1.1


def test_ranks_make_heavy_tails_harmless(rng):
    x = rng.standard_cauchy((4, 1000))
    assert diagnostics.rhat(x) < 1.02
    assert diagnostics.ess_bulk(x) > 2000


def test_dimensions_are_looked_at_one_by_one(rng):
    x = np.stack([autoregression(rng, phi, n=300) for phi in (0.0, 0.9)], axis=2)
    for name in ("rhat", "ess_bulk", "ess_tail", "ess_mean", "mcse_mean", "split_rhat"):
        function = getattr(diagnostics, name)
        np.testing.assert_allclose(function(x), [function(x[:, :, j]) for j in range(2)])


def test_what_cannot_be_said_is_nan(rng):
    x = rng.normal(size=(2, 50, 2))
    x[0, 3, 1] = np.nan
    for name in ("rhat", "ess_bulk", "ess_tail"):
        value = getattr(diagnostics, name)(x)
        assert np.isfinite(value[0])
        assert np.isnan(value[1])
    still = np.ones((2, 50))
    assert diagnostics.ess_bulk(still) == 100
    assert np.isnan(diagnostics.rhat(still))


@pytest.mark.parametrize("shape", [(10,), (2, 3), (2, 2, 2, 2)])
def test_shapes_that_are_no_chains_are_refused(shape):
    with pytest.raises(ValueError, match="must have shape"):
        diagnostics.rhat(np.zeros(shape))


def test_signs_have_an_r_hat():
    spins = np.tile([1.0, -1.0], (4, 50))
    # all are as far from their median: only their places count, which agree
    assert diagnostics.rhat(spins) == pytest.approx(np.sqrt(49 / 50))
