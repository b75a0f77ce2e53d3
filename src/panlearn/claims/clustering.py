"""Claims on k-means."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.stats import multivariate_normal

from panlearn.claims.claim import Evidence, at_most, claim, equal, true
from panlearn.latent import KMeans
from panlearn.latent._lloyd import Memory, assign
from panlearn.latent._starts import k_means_plus_plus


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


@claim("A130")
def two_forms_of_the_objective() -> Iterator[Evidence]:
    """Σ_i min_j |x_i − μ_j|² is the least Σ_ij z_ij |x_i − μ_j|² over one-hot z."""
    X = _rows()
    model = KMeans(4, random_state=0).fit(X)
    distances = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    one_hot = np.eye(4)[model.labels_]
    yield equal("the two forms", (one_hot * distances).sum(), model.inertia_, 1e-10)
    others = np.random.default_rng(0).integers(4, size=(200, len(X)))
    least = min((np.eye(4)[z] * distances).sum() for z in others)
    yield true("other assignments cost more", least > model.inertia_)


@claim("A133")
def an_iteration_measures_n_times_k_distances() -> Iterator[Evidence]:
    """An iteration costs O(nkd): the first looks at all n k distances.

    Later ones look at no more: a row whose bound settles its centre is passed over.
    """
    for n in (200, 400):
        X = _rows(n)
        centres, memory, drift = X[:4].copy(), np.zeros(n, Memory), np.zeros(4)
        looked = []
        for _ in range(8):
            labels = memory["label"]
            near = ((X - centres[labels]) ** 2).sum(axis=1)
            bound = memory["bound"] - drift[labels]
            looked.append(4 * int(np.sum((bound <= 0) | (near >= bound**2))))
            labels, _ = assign(X, None, centres, np.zeros(3), memory=memory, drift=drift)
            means = np.stack([X[labels == j].mean(axis=0) for j in range(4)])
            moves = np.linalg.norm(means - centres, axis=1)
            drift = np.array([np.delete(moves, j).max() for j in range(4)])
            centres = means
        yield equal(f"distances of {n} rows and n k", looked[0], 4 * n)
        yield at_most(f"most later distances of {n} rows", max(looked[1:]), 4 * n)


@claim("A134")
def careful_seeding_is_near_the_optimum() -> Iterator[Evidence]:
    """k-means++ draws a row in proportion to its squared distance, and its mean cost is small.

    The expected cost is at most 8(ln k + 2) times the optimum; a chosen row is never drawn again.
    """
    rng = np.random.default_rng(134)
    X = np.repeat(4 * rng.normal(size=(8, 2)), 12, axis=0) + rng.normal(size=(96, 2))
    best = KMeans(8, n_init=5, random_state=0).fit(X).inertia_
    weight, costs, repeats = np.ones(96), [], 0
    for seed in range(60):
        chosen = k_means_plus_plus(X, weight, 8, np.random.default_rng(seed), trials=1)
        costs.append(((X[:, None] - X[chosen]) ** 2).sum(axis=2).min(axis=1).sum())
        repeats += 8 - len(set(chosen.tolist()))
    yield at_most("mean cost over the best", np.mean(costs) / best, 8 * (np.log(8) + 2))
    yield equal("rows drawn twice", repeats, 0)
    line, mass = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 1e-12, 1e-12])
    draws = (np.random.default_rng(seed) for seed in range(500))
    second = np.mean([k_means_plus_plus(line, mass, 2, g, trials=1)[1] == 2 for g in draws])
    yield equal("share of the far row and 4/5", second, 0.8, 4 * (0.16 / 500) ** 0.5)


@claim("A135")
def more_centres_never_cost_more() -> Iterator[Evidence]:
    """The optimal cost does not rise with k and is 0 at k = n, so k needs another criterion."""
    X = _rows(6)
    costs = []
    for k in range(1, 7):
        best = np.inf
        for labels in _partitions(6, k):
            z = np.array(labels)
            groups = [X[z == j] for j in range(k) if (z == j).any()]
            best = min(best, sum(((g - g.mean(axis=0)) ** 2).sum() for g in groups))
        costs.append(best)
    yield at_most("largest rise of the optimum", np.diff(costs).max(), 1e-12)
    yield equal("optimum at k = n", costs[-1], 0.0, 1e-12)
    found = [KMeans(k, n_init=10, random_state=0).fit(X).inertia_ for k in (1, 2, 3)]
    yield equal("what ten starts find and the optimum", found, costs[:3], 1e-10)


def _partitions(n: int, k: int) -> Iterator[list[int]]:
    """All ways to put n rows into at most k groups, each once."""

    def grow(labels: list[int], used: int) -> Iterator[list[int]]:
        if len(labels) == n:
            yield labels
            return
        for j in range(min(used + 1, k)):
            yield from grow([*labels, j], max(used, j + 1))

    yield from grow([], 0)


@claim("A136")
def k_means_is_a_likelihood() -> Iterator[Evidence]:
    """−log Π N(x_n | μ_k, I)^{z_nk} is half the cost of k-means and (ND/2) log 2π.

    The text's own formula is not the one that it means.
    """
    X = _rows()
    model = KMeans(4, random_state=0).fit(X)
    density = [
        multivariate_normal(model.cluster_centers_[j]).logpdf(x)
        for x, j in zip(X, model.labels_, strict=True)
    ]
    constant = X.size / 2 * np.log(2 * np.pi)
    yield equal("the two sides", -np.sum(density), model.inertia_ / 2 + constant, 1e-8)


@claim("B238")
def k_means_descends_to_a_fixed_point() -> Iterator[Evidence]:
    """Neither step of k-means raises Σ r |x − μ|²; it stops at means of their own rows."""
    X = _rows()
    model = KMeans(6, init="random", n_init=1, tol=0, random_state=1).fit(X)
    yield at_most("largest rise", np.diff(model.history_["inertia"]).max(), 1e-9)
    means = [X[model.labels_ == j].mean(axis=0) for j in range(6)]
    yield equal("centres and means of their rows", model.cluster_centers_, means, 1e-12)
    again = KMeans(6, init=model.cluster_centers_, tol=0).fit(X)
    yield at_most("iterations from there", again.n_iter_, 2)
