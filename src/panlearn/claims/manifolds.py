"""Claims on manifolds, energy models and nonparametric latent variables."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from scipy.linalg import orthogonal_procrustes, subspace_angles
from scipy.special import expit, logsumexp

from panlearn.claims.claim import Evidence, at_most, claim, equal, true
from panlearn.latent import GPLVM, PCA, BernoulliRBM, HopfieldNetwork, Isomap
from panlearn.latent._restaurants import draw_dishes, draw_partition, log_partition_law
from panlearn.latent.locally_linear import reconstruction_weights


@claim("A169")
def flat_data_have_their_principal_components() -> Iterator[Evidence]:
    """On rows in a flat subspace Isomap with a complete graph is classical scaling, which is PCA up
    to a rotation; the weights of locally linear embedding sum to one and do not change when a
    neighbourhood is rotated, moved or scaled; a Gaussian-process latent-variable model with a
    linear kernel has the subspace of probabilistic PCA.
    """
    rng = np.random.default_rng(169)
    X = rng.normal(size=(60, 2)) * [3, 1] @ np.linalg.qr(rng.normal(size=(5, 5)))[0][:2] + 7
    scores = PCA(2).fit_transform(X)
    Z = Isomap(59).fit_transform(X)
    turn, _ = orthogonal_procrustes(Z, scores)
    yield equal("Isomap turned, and the principal components", Z @ turn, scores, 1e-6)
    index = np.arange(1, 7)[None]
    weight = reconstruction_weights(X[:1], X, index, 1e-3)
    moved = 2.5 * X @ np.linalg.qr(rng.normal(size=(5, 5)))[0] - 3
    yield equal("sum of the weights", weight.sum(), 1.0, 1e-12)
    yield equal(
        "weights after rotation, translation and scaling",
        reconstruction_weights(moved[:1], moved, index, 1e-3),
        weight,
        1e-8,
    )
    noisy = X + 0.3 * rng.normal(size=X.shape)
    latent = GPLVM(2, kernel="linear").fit(noisy).embedding_
    angle = subspace_angles(latent - latent.mean(axis=0), PCA(2).fit_transform(noisy)).max()
    yield at_most("angle between GPLVM and PCA", angle, 1e-3)


@claim("A210")
def hidden_units_are_independent_given_the_visible_ones() -> Iterator[Evidence]:
    """In a restricted Boltzmann machine p(h | v) is the product of σ(c + W v), and p(v) goes as
    exp(-F(v)) with F(v) = -b'v - Σ softplus(c + W v); a Gibbs sampler has these marginals.
    """
    rng = np.random.default_rng(210)
    model = BernoulliRBM(3, n_iter=1, random_state=0).fit(np.eye(4))
    W = model.components_ = rng.normal(size=(3, 4))
    b = model.intercept_visible_ = rng.normal(size=4)
    c = model.intercept_hidden_ = rng.normal(size=3)
    V, H = (np.array(list(itertools.product([0.0, 1.0], repeat=k))) for k in (4, 3))
    joint = np.array([[b @ v + c @ h + h @ W @ v for h in H] for v in V])
    law = np.exp(joint - logsumexp(joint))
    given = law / law.sum(axis=1, keepdims=True)
    p = expit(V @ W.T + c)
    product = np.prod(np.where(H == 1, p[:, None], 1 - p[:, None]), axis=2)
    yield equal("p(h | v) and the product of its factors", given, product, 1e-12)
    free = np.exp(-model.free_energy(V) - logsumexp(-model.free_energy(V)))
    yield equal("p(v) and exp(-F) normalised", free, law.sum(axis=1), 1e-12)
    yield equal("log partition function", model.log_partition(), logsumexp(joint), 1e-12)
    drawn = model.sample(20_000, random_state=1, n_steps=30).mean(axis=0)
    # four standard errors of a mean of 20000 coins
    yield equal("means of a Gibbs sampler", drawn, law.sum(axis=1) @ V, 4 * np.sqrt(0.25 / 20_000))


@claim("A211")
def tables_of_the_chinese_restaurant() -> Iterator[Evidence]:
    """In the Chinese restaurant guest n + 1 takes a new table with probability α / (α + n), N
    guests have Σ_{i<N} α / (α + i) tables on average, and the law of the partition does not depend
    on the order of the guests.
    """
    rng, alpha, n = np.random.default_rng(211), 2.0, 200
    expected = (alpha / (alpha + np.arange(n))).sum()
    tables = [draw_partition(n, alpha, rng).max() + 1 for _ in range(300)]
    error = np.std(tables) / np.sqrt(len(tables))
    yield equal("mean number of tables", np.mean(tables), expected, 3 * error)
    yield equal("expected number of tables", expected, 9.77, 0.005)
    before, after = np.array([3, 4, 2]), np.array([3, 4, 2, 1])
    ratio = np.exp(log_partition_law(after, alpha) - log_partition_law(before, alpha))
    yield equal("probability of a new table after 9 guests", ratio, alpha / (alpha + 9), 1e-12)
    labels = draw_partition(12, alpha, rng)
    laws = [_seated(rng.permutation(labels), alpha) for _ in range(20)]
    yield at_most("spread of the law over orders of the guests", np.ptp(laws), 1e-12)
    yield equal("and the formula", laws[0], log_partition_law(np.bincount(labels), alpha), 1e-12)


def _seated(labels: np.ndarray, alpha: float) -> float:
    """The log-probability of a partition, guest by guest."""
    total, counts = 0.0, dict.fromkeys(labels.tolist(), 0)
    for i, table in enumerate(labels.tolist()):
        total += np.log((counts[table] or alpha) / (alpha + i))
        counts[table] += 1
    return total


@claim("A212")
def dishes_of_the_indian_buffet() -> Iterator[Evidence]:
    """In the Indian buffet guest i takes a dish that m others took with probability m / i and
    Poisson(α / i) new dishes; N guests take α (1 + 1/2 + … + 1/N) dishes on average.
    """
    rng, alpha, n = np.random.default_rng(212), 3.0, 50
    drawn = [draw_dishes(n, alpha, rng) for _ in range(300)]
    dishes = np.array([Z.shape[1] for Z in drawn])
    expected = alpha * (1 / np.arange(1, n + 1)).sum()
    error = np.sqrt(expected / len(dishes))
    yield equal("mean number of dishes", dishes.mean(), expected, 3 * error)
    yield equal("expected number of dishes", expected, 13.5, 0.01)
    a_guest = np.array([Z.sum() / n for Z in drawn])
    error = a_guest.std() / np.sqrt(len(drawn))
    yield equal("mean number of dishes a guest", a_guest.mean(), alpha, 3 * error)
    before = [Z[:-1].sum(axis=0) for Z in drawn]
    gap = np.array([(Z[-1] * (m > 0) - m / n).sum() for Z, m in zip(drawn, before, strict=True)])
    error = gap.std() / np.sqrt(len(drawn))
    yield equal("old dishes of the last guest less Σ m / N", gap.mean(), 0.0, 3 * error)


@claim("A213")
def recall_descends_the_energy() -> Iterator[Evidence]:
    """A Hopfield network stores patterns in W ∝ Σ_p x_p x_p' with zero diagonal; asynchronous sign
    updates never raise E = -x'W x / 2, and at a low load the patterns are fixed points.

    The text sums Hebb's rule over units; the sum is over the stored patterns.
    """
    rng = np.random.default_rng(213)
    patterns = rng.choice([-1.0, 1.0], size=(5, 100))
    memory = HopfieldNetwork().fit(patterns)
    outer = np.einsum("pi,pj->ij", patterns, patterns) / 100
    np.fill_diagonal(outer, 0)
    yield equal("W and the sum over patterns", memory.weights_, outer, 1e-12)
    paths = [memory.trajectory(x) for x in rng.choice([-1.0, 1.0], size=(50, 100))]
    rises = [np.diff(memory.energy(path)).max(initial=0.0) for path in paths]
    yield at_most("largest rise of the energy", max(rises), 0.0)
    yield true("all patterns are fixed points", memory.stable_.all())
    yield equal("patterns recalled", memory.transform(patterns), patterns)
