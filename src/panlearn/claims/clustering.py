"""Claims on k-means."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from panlearn.claims.claim import Evidence, at_most, claim, equal, true
from panlearn.latent import KMeans


def _rows(n: int = 200) -> np.ndarray:
    return np.random.default_rng(130).normal(size=(n, 3))


@claim("A131")
def every_step_lowers_the_objective() -> Iterator[Evidence]:
    """Neither the assignment nor the means of k-means raise its objective, and it stops.

    It ends after finitely many steps at a fixed point, which is a local optimum only: starts
    disagree on the final value.
    """
    X = _rows()
    models = [KMeans(5, init="random", n_init=1, tol=0, random_state=s).fit(X) for s in range(20)]
    rises = [np.diff(m.history_["inertia"]).max(initial=0.0) for m in models]
    yield at_most("largest rise of the objective", max(rises), 1e-9)
    yield true("every start ends at a fixed point", all(m.converged_ for m in models))
    yield true("starts disagree", np.ptp([m.inertia_ for m in models]) > 1e-3)


@claim("A132")
def the_mean_minimises_given_the_assignment() -> Iterator[Evidence]:
    """Given the assignment the centre of a cluster is its mean: the gradient there is zero."""
    X = _rows()
    model = KMeans(4, tol=0, random_state=0).fit(X)
    gradient = [
        2 * (model.cluster_centers_[j] - X[model.labels_ == j]).sum(axis=0) for j in range(4)
    ]
    yield at_most("largest entry of the gradient", np.abs(gradient).max(), 1e-10)


@claim("B239")
def one_row_at_a_time_is_the_running_mean() -> Iterator[Evidence]:
    """With the rate 1/n_k the update μ_k ← μ_k + η(x − μ_k) of the winner is a running mean.

    The text leaves out which centre moves: only the one nearest to the row.
    """
    X = _rows(30)
    model = KMeans(1).partial_fit(X[:1])
    for row in X[1:]:
        model.partial_fit(row[None])
    yield equal("centre and mean", model.cluster_centers_[0], X.mean(axis=0), 1e-12)
