"""Independent draws and what results offer."""

import numpy as np
import pytest
from scipy import stats

from panlearn.montecarlo import (
    Draws,
    WeightedDraws,
    importance,
    inverse_transform,
    metropolis_hastings,
    rejection,
)

WIDE = (lambda rng, n: rng.normal(0, 2, size=(n, 1)), lambda x: stats.norm.logpdf(x[:, 0], 0, 2))


def kernel(x):
    return -(x[:, 0] ** 2) / 2


@pytest.mark.parametrize(
    "law", [stats.expon(scale=0.5), stats.norm(1e6, 1e-3), stats.cauchy(), stats.beta(0.1, 0.1)]
)
def test_a_cdf_is_inverted_to_the_last_digits(law):
    u = inverse_transform(lambda u: u, n_draws=2000, random_state=0).flat()[:, 0]
    x = inverse_transform(cdf=law.cdf, n_draws=2000, random_state=0).flat()[:, 0]
    assert (law.cdf(x) >= u).all()
    assert (law.cdf(np.nextafter(x, -np.inf)) < u).all()
    assert stats.kstest(x, law.cdf).pvalue > 0.01


def test_a_cdf_may_jump_and_be_flat():
    law = stats.poisson(3)
    draws = inverse_transform(cdf=law.cdf, n_draws=5000, random_state=1).flat()[:, 0]
    counts = np.bincount(draws.astype(int), minlength=9)
    assert (draws == np.round(draws)).all()
    expected = 5000 * np.append(law.pmf(np.arange(8)), law.sf(7))
    assert stats.chisquare([*counts[:8], counts[8:].sum()], expected).pvalue > 1e-3


def test_rejection_reports_its_rate_and_the_normaliser():
    bound = np.log(2 * np.sqrt(2 * np.pi))
    draws = rejection(kernel, *WIDE, log_bound=bound, n_draws=20_000, random_state=0)
    assert stats.kstest(draws.flat()[:, 0], "norm").pvalue > 0.01
    # four binomial standard errors of 40,000 proposals
    assert abs(draws.acceptance[0] - 0.5) < 4 * 0.5 / np.sqrt(40_000)
    assert abs(draws.info["log_normaliser"] - np.log(2 * np.pi) / 2) < 0.02
    assert round(20_000 / draws.acceptance[0]) == draws.info["n_proposals"]
    np.testing.assert_array_equal(draws.log_density[0], kernel(draws.flat()))


def test_a_broken_envelope_and_a_hopeless_one_are_errors():
    with pytest.raises(ValueError, match=r"must be at least 1\.6"):
        rejection(kernel, *WIDE, log_bound=1.0, random_state=0)
    with pytest.raises(RuntimeError, match="raise max_proposals"):
        rejection(kernel, *WIDE, log_bound=30.0, max_proposals=5000, random_state=0)


def test_importance_is_unbiased_and_knows_its_error():
    draws = importance(lambda x: stats.norm.logpdf(x[:, 0]), *WIDE, n_draws=50_000, random_state=0)
    for normalise in (True, False):
        square = draws.expectation(lambda x: x[:, 0] ** 2, normalise=normalise)
        error = draws.standard_error(lambda x: x[:, 0] ** 2, normalise=normalise)
        assert abs(square - 1) < 4 * error
        assert error < 0.02
    assert abs(draws.log_normaliser) < 0.02
    # E_q w^2 = 2 / sqrt(7) * 2, so the share of effective draws is its inverse
    np.testing.assert_allclose(draws.ess / 50_000, np.sqrt(7) / 4, rtol=0.02)
    assert draws.pareto_k < 0.5
    assert abs(draws.resample(20_000, random_state=1).std() - 1) < 0.03


def test_thin_tails_show_in_the_shape_of_the_weights():
    narrow = (lambda rng, n: rng.normal(0, 0.3, (n, 1)), lambda x: -(x[:, 0] ** 2) / 0.18)
    draws = importance(lambda x: stats.norm.logpdf(x[:, 0], scale=3), *narrow, random_state=0)
    assert draws.pareto_k > 0.7
    assert "pareto_k" in repr(draws)


def test_bad_functions_are_named():
    with pytest.raises(ValueError, match="either quantile or cdf"):
        inverse_transform()
    with pytest.raises(ValueError, match="quantile function must map"):
        inverse_transform(lambda u: u[:2])
    with pytest.raises(ValueError, match="rise from 0 to 1"):
        inverse_transform(cdf=lambda x: 0 * x)
    with pytest.raises(ValueError, match="log_density must map"):
        importance(lambda x: x, *WIDE)
    with pytest.raises(ValueError, match="sample"):
        importance(kernel, lambda rng, n: np.zeros((1, 1)), WIDE[1])
    with pytest.raises(ValueError, match="every weight is zero"):
        importance(lambda x: np.full(len(x), -np.inf), *WIDE)
    with pytest.raises(ValueError, match="n_draws"):
        importance(kernel, *WIDE, n_draws=0)


def test_results_become_frames_and_dicts(rng):
    pandas = pytest.importorskip("pandas")
    draws = metropolis_hastings(kernel, rng.normal(size=(3, 1)), n_draws=20, random_state=0)
    frame = draws.to_frame(["height"])
    assert list(frame.columns) == ["chain", "draw", "height"]
    row = frame[(frame.chain == 2) & (frame.draw == 5)]
    assert row.height.item() == draws.draws[2, 5, 0]
    assert pandas.DataFrame(draws.summary()).shape == (1, 7)
    assert draws.to_dict()["posterior"]["x"].shape == (3, 20, 1)
    assert draws.to_dict(["height"])["posterior"]["height"].shape == (3, 20)
    assert draws.quantile([0.1, 0.9]).shape == (2, 1)
    with pytest.raises(ValueError, match="different names"):
        draws.to_frame(["a", "b"])


def test_fields_that_do_not_go_together_are_refused():
    with pytest.raises(ValueError, match="three axes"):
        Draws(np.zeros((2, 2)), np.ones(2))
    with pytest.raises(ValueError, match="acceptance must have shape"):
        Draws(np.zeros((2, 5, 1)), np.ones(3))
    with pytest.raises(ValueError, match="log_weights"):
        WeightedDraws(np.zeros((2, 1)), np.zeros(3))
