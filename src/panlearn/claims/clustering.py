"""Claims on k-means."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.stats import chi2, multivariate_normal

from panlearn.claims.claim import Evidence, at_most, claim, equal, true
from panlearn.core.starts import k_means_plus_plus
from panlearn.latent import KMeans
from panlearn.latent._lloyd import Memory, assign


def _rows(n: int = 200) -> np.ndarray:
    return np.random.default_rng(130).normal(size=(n, 3))


@claim("A131")
def every_step_lowers_the_objective() -> Iterator[Evidence]:
    """Neither the assignment nor the means of k-means raise its objective, and it stops.

    It ends after finitely many steps at a fixed point, which is a local optimum only: starts
    disagree on the final value.
    """
    X = _rows()
    models = [KMeans(5, init="random", n_init=1, tol=0, random_state=s).fit(X) for s in range(100)]
    rises = [np.diff(m.history_["inertia"]).max(initial=0.0) for m in models]
    yield at_most("largest rise of the objective in 100 starts", max(rises), 1e-9)
    yield true("every start ends", all(m.converged_ for m in models))
    for model in models:
        distances = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
        means = [X[distances.argmin(axis=1) == j].mean(axis=0) for j in range(5)]
        yield equal("centres at the end and means", model.cluster_centers_, means, 1e-12)
    yield true("starts disagree", np.ptp([m.inertia_ for m in models]) > 1e-3)
    for seed in range(100):
        centres = X[np.random.default_rng(seed).choice(200, 5, replace=False)]
        values = []
        for _ in range(6):
            count, total = np.zeros(5), np.zeros((5, 3))
            labels, _ = assign(X, None, centres, np.zeros(3), count, total)
            values.append(((X - centres[labels]) ** 2).sum())
            centres = total / count[:, None]
            values.append(((X - centres[labels]) ** 2).sum())
        yield at_most("largest rise in a half step", np.diff(values).max(), 1e-9)


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
    """An iteration costs O(nkd): the first looks at all n k distances, twice as many for twice n.

    Later ones look at fewer: a row remembers how much nearer its centre is than any other, and
    while the moves of the centres leave some of that, it is passed over. Which rows were looked at
    shows in what they remember; the labels are those of the nearest centres all the same.
    """
    k, first = 4, {}
    for n in (2400, 4800):  # fewer would go through one product, and nothing be remembered
        X = _rows(n)
        centres, memory = X[:k].copy(), np.zeros(n, Memory)
        memory["gap"] = np.nan  # of rows that have not been looked at
        moves, closed = None, np.zeros(k)
        looked, wrong = [], 0
        for _ in range(20):
            kept = memory["gap"] - closed[memory["label"]]
            labels, _ = assign(X, None, centres, np.zeros(3), memory=memory, moves=moves)
            looked.append(k * int((~(np.abs(memory["gap"] - kept) < 1e-9)).sum()))
            nearest = ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
            wrong += int((labels != nearest).sum())
            means = np.stack([X[labels == j].mean(axis=0) for j in range(k)])
            moves = np.linalg.norm(means - centres, axis=1)
            closed = moves + np.array([np.delete(moves, j).max() for j in range(k)])
            centres = means
        first[n] = looked[0]
        yield equal(f"distances of {n} rows and n k", looked[0], k * n)
        yield at_most(f"most later distances of {n} rows", max(looked[1:]), k * n)
        yield at_most("in the last iteration, over n k", looked[-1] / (k * n), 0.5)
        yield equal("labels that are not of the nearest centre", wrong, 0)
    yield equal("twice the rows", first[4800] / first[2400], 2)


@claim("A134")
def careful_seeding_is_near_the_optimum() -> Iterator[Evidence]:
    """k-means++ draws a row in proportion to its squared distance, and its mean cost is small.

    The expected cost is at most 8(ln k + 2) times the optimum; a chosen row is never drawn again.
    """
    rng = np.random.default_rng(134)
    X = np.repeat(4 * rng.normal(size=(8, 2)), 12, axis=0) + rng.normal(size=(96, 2))
    best = KMeans(8, n_init=20, random_state=0).fit(X).inertia_
    weight, costs, repeats = np.ones(96), [], 0
    for seed in range(200):
        chosen = k_means_plus_plus(X, weight, 8, np.random.default_rng(seed), trials=1)
        costs.append(((X[:, None] - X[chosen]) ** 2).sum(axis=2).min(axis=1).sum())
        repeats += 8 - len(set(chosen.tolist()))
    yield at_most("mean cost over the best", np.mean(costs) / best, 8 * (np.log(8) + 2))
    yield equal("rows drawn twice", repeats, 0)
    rows, draws = rng.normal(size=(5, 2)), 5000
    squares = ((rows[:, None] - rows) ** 2).sum(axis=2)
    law = squares / squares.sum(axis=1, keepdims=True) / 5
    pairs = np.zeros((5, 5))
    for seed in range(draws):
        pair = k_means_plus_plus(rows, np.ones(5), 2, np.random.default_rng(seed), trials=1)
        pairs[tuple(pair)] += 1
    off = ~np.eye(5, dtype=bool)
    statistic = ((pairs - draws * law)[off] ** 2 / (draws * law)[off]).sum()
    yield at_most("chi-squared of 5000 pairs", statistic, chi2.ppf(0.999, 19))


@claim("A135")
def more_centres_never_cost_more() -> Iterator[Evidence]:
    """The optimal cost does not rise with k and is 0 at k = n, so k needs another criterion."""
    X = _rows(8)
    optima = np.full(8, np.inf)
    for labels in _partitions(8):
        inside = np.eye(8)[labels]
        count = inside.sum(axis=0)
        total = inside.T @ X
        cost = (X**2).sum() - (total**2).sum(axis=1) @ (1 / np.maximum(count, 1))
        k = int(max(labels))
        optima[k] = min(optima[k], cost)
    yield at_most("largest rise of the optimum", np.diff(optima).max(), 1e-12)
    yield equal("optimum at k = n", optima[-1], 0.0, 1e-12)
    found = [KMeans(k, n_init=20, random_state=0).fit(X).inertia_ for k in range(1, 9)]
    yield equal("what twenty starts find and the optimum", found, optima, 1e-10)


def _partitions(n: int) -> Iterator[list[int]]:
    """All ways to put n rows into groups, each once."""

    def grow(labels: list[int], used: int) -> Iterator[list[int]]:
        if len(labels) == n:
            yield labels
            return
        for j in range(used + 1):
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
