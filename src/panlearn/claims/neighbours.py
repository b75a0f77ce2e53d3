"""Nearest neighbours, and densities from kernels and histograms."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from panlearn.claims.claim import Evidence, at_least, claim, equal, true
from panlearn.neighbors import HistogramDensity, KernelDensity, KNeighborsClassifier


@claim("A59")
def nearest_neighbours_vote() -> Iterator[Evidence]:
    """The k nearest rows vote: with k = 1 distinct training rows are all labelled right, with k = n
    every row gets the label of the majority.
    """
    rng = np.random.default_rng(59)
    X = rng.normal(size=(90, 3))
    y = np.r_[np.repeat("a", 30), np.repeat("b", 60)][rng.permutation(90)]
    one, all_rows = KNeighborsClassifier(1).fit(X, y), KNeighborsClassifier(90).fit(X, y)
    yield equal("training errors with k = 1", np.sum(one.predict(X) != y), 0)
    yield true(
        "k = n predicts the majority", (all_rows.predict(rng.normal(size=(50, 3))) == "b").all()
    )
    for k in (3, 8):
        model, query = KNeighborsClassifier(k).fit(X, y), rng.normal(size=(40, 3))
        nearest = np.argsort(((query[:, None] - X) ** 2).sum(axis=2), axis=1)[:, :k]
        share = (y[nearest] == "b").mean(axis=1)
        yield equal(
            f"share of the vote for k = {k}", model.predict_proba(query)[:, 1], share, 1e-12
        )
        yield true("the majority wins", ((model.predict(query) == "b") == (share > 0.5)).all())


@claim("A197")
def densities_integrate_to_one() -> Iterator[Evidence]:
    """Kernel densities and histograms are densities: nowhere negative, with integral one."""
    X = np.random.default_rng(197).normal(size=(50, 1))
    line = np.linspace(-12, 12, 48_001)
    for kernel in ("gaussian", "epanechnikov", "linear", "cosine"):
        density = np.exp(KernelDensity(0.5, kernel=kernel).fit(X).score_samples(line[:, None]))
        yield at_least(f"least density, {kernel}", density.min(), 0)
        yield equal(f"integral, {kernel}", np.trapezoid(density, line), 1, 1e-6)
    model = HistogramDensity(20).fit(X)
    edges = model.bin_edges_[0]
    density = np.exp(model.score_samples((edges[1:] + edges[:-1])[:, None] / 2))
    yield at_least("least density, histogram", density.min(), 0)
    yield equal("integral, histogram", density @ np.diff(edges), 1, 1e-12)
