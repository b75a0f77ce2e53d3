"""Histograms: against NumPy's, in streams, and as densities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import panlearn
from panlearn.neighbors import HistogramDensity


@pytest.mark.parametrize("bins", [7, "scott", "sturges", "fd"])
def test_one_dimension_is_numpys_histogram(rng, bins):
    x = rng.normal(size=1000)
    model = HistogramDensity(bins).fit(x[:, None])
    # the quartiles of NumPy's rule are interpolated, ours are rows: the last bin may differ
    number = bins if bins != "fd" else len(model.bin_edges_[0]) - 1
    density, edges = np.histogram(x, bins=number, density=True)
    assert_allclose(model.bin_edges_[0], edges, rtol=1e-12, atol=1e-12)
    with np.errstate(divide="ignore"):
        expected = np.log(density)
    assert_allclose(model.score_samples((edges[1:] + edges[:-1])[:, None] / 2), expected)
    if bins == "fd":
        assert abs(number - len(np.histogram_bin_edges(x, "fd")) + 1) <= 1


def test_several_dimensions_are_numpys_histogram(rng):
    X, weight = rng.normal(size=(500, 3)), rng.random(500)
    edges = [np.linspace(-6, 6, 7), np.array([-6.0, 0.0, 1.0, 6.0]), np.array([-9.0, 9.0])]
    model = HistogramDensity(edges).fit(X, sample_weight=weight)
    density, _ = np.histogramdd(X, edges, density=True, weights=weight)
    centres = np.meshgrid(*[(e[1:] + e[:-1]) / 2 for e in edges], indexing="ij")
    scores = model.score_samples(np.stack(centres, axis=-1).reshape(-1, 3))
    assert_allclose(np.exp(scores), density.ravel(), rtol=1e-12)
    assert_array_equal(model.score_samples([[7.0, 0.0, 0.0], [0.0, 0.0, -9.5]]), -np.inf)


def test_given_edges_merge(rng):
    da = pytest.importorskip("dask.array")
    X, weight = rng.uniform(size=(300, 2)), rng.random(300)
    model = HistogramDensity(np.linspace(0, 1, 6))
    whole = model.fit(X, sample_weight=weight).score_samples(X)
    batches = [(X[i::4], None, weight[i::4]) for i in range(4)]
    assert_allclose(model.fit(panlearn.Batches(batches)).score_samples(X), whole, rtol=1e-12)
    model.fit(da.from_array(X, chunks=(70, 2)), sample_weight=da.from_array(weight, chunks=70))
    assert_allclose(model.score_samples(X), whole, rtol=1e-12)
    with pytest.raises(ValueError, match="give the edges"):
        HistogramDensity(4).fit(panlearn.Batches(batches))


def test_samples_fill_the_cells_evenly(rng):
    X = rng.normal(size=(400, 2))
    model = HistogramDensity(5).fit(X)
    draws = model.sample(20_000, random_state=0)
    assert np.isfinite(model.score_samples(draws)).all()
    ours, _ = np.histogramdd(X, model.bin_edges_)
    theirs, _ = np.histogramdd(draws, model.bin_edges_)
    # four standard errors of a share
    assert np.abs(ours / 400 - theirs / 20_000).max() < 4 * 0.5 / np.sqrt(20_000)
    assert_array_equal(model.sample(3, random_state=1), model.sample(3, random_state=1))
    assert model.score(X) == pytest.approx(model.score_samples(X).mean())


@pytest.mark.parametrize(
    ("bins", "says"),
    [
        ([0.0], "at least two"),
        ([1.0, 0.0], "increasing"),
        ([0.0, np.nan], "finite"),
        ([[0, 1]], "1 features and X has 2"),
        ([0.0, 0.5], "outside the edges"),
        (["a", "b"], "numbers"),
        (10**10, "cells"),
    ],
)
def test_bins_that_do_not_fit(rng, bins, says):
    if bins == 10**10:
        bins = np.linspace(0, 1, 3)
        with pytest.raises(ValueError, match=says):
            HistogramDensity(bins).fit(rng.uniform(size=(9, 70)))
        return
    with pytest.raises(ValueError, match=says):
        HistogramDensity(bins).fit(rng.uniform(size=(9, 2)))


def test_weights_that_ask_for_more_bins_than_can_be_are_refused(rng):
    X = rng.normal(size=(30, 2))
    with pytest.raises(ValueError, match=r"divide\s+sample_weight"):
        HistogramDensity().fit(X, sample_weight=np.full(30, 1e90))
    assert np.isfinite(HistogramDensity(5).fit(X, sample_weight=np.full(30, 1e90)).score(X))
