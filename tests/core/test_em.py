"""The EM driver on two models written here: two coins, and two Gaussians on a line."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from scipy.special import logsumexp, xlogy
from scipy.stats import norm

from panlearn import Batches
from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.em import expectation_maximisation
from panlearn.core.estimator import Estimator, fitting
from panlearn.core.progress import Iterative
from panlearn.core.statistics import Sums
from panlearn.core.validation import read_rows


@dataclass(frozen=True)
class Expected(Sums):
    weight: float
    log_likelihood: float
    share: np.ndarray
    first: np.ndarray
    second: np.ndarray


class Mixture(NamedTuple):
    share: np.ndarray
    centre: np.ndarray
    spread: np.ndarray


def _expect(parameters, X, weight, log_density):
    joint = np.log(parameters.share) + log_density
    evidence = logsumexp(joint, axis=1)
    weight = np.ones(len(X)) if weight is None else weight
    responsibilities = weight[:, None] * np.exp(joint - evidence[:, None])
    return Expected(
        weight.sum(),
        float(weight @ evidence),
        responsibilities.sum(axis=0),
        responsibilities.T @ X[:, 0],
        responsibilities.T @ X[:, 0] ** 2,
    )


def expect_coins(parameters, X, y, weight):
    """Each row is the share of heads in ten throws of one of two coins."""
    heads, p = X[:, :1], parameters.centre
    return _expect(parameters, X, weight, 10 * (xlogy(heads, p) + xlogy(1 - heads, 1 - p)))


def expect_gaussians(parameters, X, y, weight):
    return _expect(
        parameters, X, weight, norm.logpdf(X[:, :1], parameters.centre, parameters.spread)
    )


def maximise(at, total):
    mean = total.first / total.share
    variance = total.second / total.share - mean**2
    return Mixture(total.share / total.weight, mean, np.sqrt(np.maximum(variance, 1e-12)))


EXPECT = {"coins": expect_coins, "gaussians": expect_gaussians}
START = {
    "coins": Mixture(np.array([0.5, 0.5]), np.array([0.3, 0.6]), np.ones(2)),
    "gaussians": Mixture(np.array([0.5, 0.5]), np.array([-0.5, 0.5]), np.ones(2)),
}


@dataclass(eq=False, repr=False)
class TwoParts(Iterative, Estimator):
    capabilities = Capabilities(sources=ANYWHERE)
    kind: str = "coins"
    max_iter: int = 500
    tol: float = 1e-12

    @fitting
    def fit(self, X, y=None, sample_weight=None):
        rows = read_rows(self, X, None, sample_weight, repeatable=True)
        found = expectation_maximisation(
            self,
            rows,
            START[self.kind],
            expect=EXPECT[self.kind],
            maximise=maximise,
            max_iter=self.max_iter,
            tol=self.tol,
            attributes=lambda p: {"share_": p.share, "centre_": p.centre},
        )
        self.share_, self.centre_, self.spread_ = found
        return self


@pytest.fixture(params=["coins", "gaussians"])
def kind(request):
    return request.param


@pytest.fixture
def data(kind, rng):
    if kind == "coins":
        p = np.where(rng.random(300) < 0.4, 0.2, 0.75)
        return rng.binomial(10, p)[:, None] / 10
    return np.where(rng.random(300) < 0.3, rng.normal(-2, 0.5, 300), rng.normal(2, 1, 300))[:, None]


def test_the_truth_is_found_and_no_step_lowers_the_likelihood(kind, data):
    model = TwoParts(kind).fit(data)
    truth = {"coins": [0.2, 0.75], "gaussians": [-2, 2]}[kind]
    np.testing.assert_allclose(model.centre_, truth, atol=0.15)
    values = np.array(model.history_["log_likelihood"])
    # every step rises; a last one may fall by the rounding of a sum of 300 terms
    assert (np.diff(values) >= -1e-13 * np.abs(values[1:])).all()
    assert model.converged_
    assert len(values) == model.n_iter_ > 3
    assert values[-1] - values[-2] <= model.tol


def test_the_fixed_point_has_no_slope(kind, data):
    """At a maximum of the likelihood its derivative by every parameter vanishes."""
    model = TwoParts(kind, tol=1e-15, max_iter=2000).fit(data)
    best = Mixture(model.share_, model.centre_, model.spread_)
    value = EXPECT[kind](best, data, None, None).log_likelihood
    for shift in ([1e-4, 0], [0, 1e-4], [-1e-4, 0], [0, -1e-4]):
        moved = best._replace(centre=best.centre + shift)
        assert EXPECT[kind](moved, data, None, None).log_likelihood < value


def test_every_source_gives_the_same(kind, data):
    da = pytest.importorskip("dask.array")
    whole = TwoParts(kind).fit(data)
    for source in (
        [data[:100], data[100:130], data[130:]],
        Batches(lambda: iter([data[200:], data[:200]])),
        da.from_array(data, chunks=(70, 1)),
    ):
        model = TwoParts(kind).fit(source)
        np.testing.assert_allclose(model.centre_, whole.centre_, rtol=1e-8)
        np.testing.assert_allclose(model.share_, whole.share_, rtol=1e-8)
        np.testing.assert_allclose(model.spread_, whole.spread_, rtol=1e-8)


def test_weights_are_repetitions(kind, data, rng):
    times = rng.integers(0, 3, len(data))
    weighted = TwoParts(kind).fit(data, sample_weight=times)
    repeated = TwoParts(kind).fit(np.repeat(data, times, axis=0))
    np.testing.assert_allclose(weighted.centre_, repeated.centre_, rtol=1e-8)


def test_a_one_shot_iterator_is_refused_with_a_remedy(kind, data):
    with pytest.raises(ValueError, match=r"several times.*panlearn.Batches"):
        TwoParts(kind).fit(iter([data]))
