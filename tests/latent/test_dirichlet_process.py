"""Dirichlet-process mixtures against the enumeration of all partitions."""

from collections import Counter

import numpy as np
import pytest
from scipy import linalg
from scipy.special import gammaln, logsumexp, multigammaln
from scipy.stats import multivariate_t

from panlearn.latent import DirichletProcessMixture
from panlearn.latent._niw import Clusters, Prior, agreements, move
from panlearn.latent._restaurants import draw_partition, log_partition_law
from panlearn.latent.dirichlet_process import Chain, least_squares_partition

PRIOR = Prior(0.5, 4.5, np.array([[1.0, 0.3], [0.3, 0.7]]))


def partitions(n):
    """Every partition of n things, as labels in the order of first appearance."""
    if n == 1:
        return [(0,)]
    return [(*p, k) for p in partitions(n - 1) for k in range(max(p) + 2)]


def canonical(labels):
    """The same partition, labels in the order of first appearance."""
    names = {}
    return tuple(names.setdefault(int(k), len(names)) for k in labels)


def log_marginal(prior, X):
    """log p(X) of one cluster by its closed form (Murphy 2007, equation 266)."""
    n, d = X.shape
    kappa, nu = prior.precision + n, prior.freedom + n
    mean = X.sum(axis=0) / kappa
    after = prior.scale + X.T @ X - kappa * np.outer(mean, mean)
    return (
        -n * d / 2 * np.log(np.pi)
        + multigammaln(nu / 2, d)
        - multigammaln(prior.freedom / 2, d)
        + prior.freedom / 2 * np.log(linalg.det(prior.scale))
        - nu / 2 * np.log(linalg.det(after))
        + d / 2 * np.log(prior.precision / kappa)
    )


def log_joint(prior, X, labels, concentration):
    labels = np.asarray(labels)
    groups = [X[labels == k] for k in np.unique(labels)]
    law = log_partition_law(np.array([len(g) for g in groups]), concentration)
    return law + sum(log_marginal(prior, g) for g in groups)


def test_a_row_that_moves_changes_the_statistics_as_if_they_were_made_anew(rng):
    X, labels, constant = rng.normal(size=(9, 2)), np.array([0] * 5 + [1] * 4), PRIOR.constants(9)
    now = Clusters.of(PRIOR, X, labels, 2)
    base, gap = now.log_weights(constant), np.empty(2)
    for k, sign in ((0, -1), (1, 1)):
        move(X, 3, k, sign, *now, base, constant, PRIOR.precision, gap)
    labels[3] = 1
    expected = Clusters.of(PRIOR, X, labels, 2)
    np.testing.assert_array_equal(now.size, expected.size)
    np.testing.assert_allclose(now.mean, expected.mean, rtol=1e-10)
    np.testing.assert_allclose(now.factor, expected.factor, rtol=1e-10)
    np.testing.assert_allclose(base, expected.log_weights(constant), rtol=1e-10)
    densities = expected.log_predictive(PRIOR, now.mean[:1])  # of a row at the mean, the base
    np.testing.assert_allclose(densities[0, 0], base[0] - np.log(4), rtol=1e-10)


def test_predictive_densities_are_students_and_ratios_of_evidence(rng):
    X, new = rng.normal(size=(6, 2)), rng.normal(size=(4, 2))
    clusters = Clusters.of(PRIOR, X, np.zeros(6, dtype=int), 2)
    found = clusters.log_predictive(PRIOR, new)
    for k, rows in enumerate((X, X[:0])):
        ratio = [log_marginal(PRIOR, np.vstack([rows, x])) - log_marginal(PRIOR, rows) for x in new]
        np.testing.assert_allclose(found[:, k], ratio, rtol=1e-10)
    df = PRIOR.freedom - 1
    shape = PRIOR.scale * (PRIOR.precision + 1) / (PRIOR.precision * df)
    np.testing.assert_allclose(
        found[:, 1], multivariate_t(np.zeros(2), shape, df).logpdf(new), rtol=1e-10
    )
    np.testing.assert_allclose(
        PRIOR.log_evidence(clusters.size, clusters.factor), [log_marginal(PRIOR, X), 0], atol=1e-10
    )


@pytest.mark.parametrize("spread", [0.3, 3.0])
def test_the_sampler_visits_partitions_by_their_posterior(rng, spread):
    X = np.array([[0, 0], [0.2, 0.1], [1, 1], [1.1, 0.8], [-1, 1.0]]) * spread
    every = partitions(5)
    assert len(every) == 52
    log_p = np.array([log_joint(PRIOR, X, p, 0.8) for p in every])
    p = np.exp(log_p - logsumexp(log_p))
    chain, seen, n = Chain(PRIOR, X, 0.8, rng), Counter(), 6000
    for _ in range(n):
        chain.sweep()
        seen[canonical(chain.labels)] += 1
    found = np.array([seen[q] for q in every]) / n
    # successive sweeps are correlated: allow as if one in four were independent
    assert (np.abs(found - p) < 5 * np.sqrt(p * (1 - p) / (n / 4)) + 1e-3).all()
    assert chain.log_joint() == pytest.approx(log_joint(PRIOR, X, chain.labels, 0.8))


def test_prior_and_sampler_agree_when_the_rows_are_drawn_too(rng):
    """Draw rows given labels, labels given rows, and so on: the labels keep their prior law."""
    n, concentration, rounds = 6, 1.5, 1500
    prior = Prior(0.5, 4.0, np.eye(1))
    X, tables = np.zeros((n, 1)), []
    labels = draw_partition(n, concentration, rng)
    for _ in range(rounds):
        deviation = 1 / np.sqrt(rng.chisquare(prior.freedom, size=n))
        mean = deviation * rng.normal(size=n) / np.sqrt(prior.precision)
        X[:, 0] = mean[labels] + deviation[labels] * rng.normal(size=n)
        chain = Chain(prior, X, concentration, rng)
        chain.labels[:] = labels
        chain.sweep()
        labels = chain.labels
        tables.append(len(chain.count))
    expected = (concentration / (concentration + np.arange(n))).sum()
    # the chain is correlated over some ten rounds; one table has a deviation of about one
    assert np.mean(tables) == pytest.approx(expected, abs=4 * np.sqrt(10 / rounds))


def test_concentration_is_drawn_from_its_posterior(rng):
    chain = Chain(PRIOR, np.zeros((30, 2)), 1.0, rng)
    chain.labels[:] = np.arange(30) % 4
    draws = []
    for _ in range(20_000):
        chain.resample_concentration(2.0)
        draws.append(chain.concentration)
    grid = np.linspace(1e-3, 12, 20_000)
    log_p = [log_partition_law(np.bincount(chain.labels), a) for a in grid] - grid / 2
    p = np.exp(log_p - log_p.max())
    assert np.mean(draws) == pytest.approx((grid * p).sum() / p.sum(), rel=0.04)


def test_separate_clusters_are_found_and_told_apart(rng):
    centres = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]])
    truth = np.repeat([0, 1, 2], [60, 40, 20])
    X = centres[truth] + rng.normal(size=(120, 2))
    for estimate in ("least_squares", "map"):
        model = DirichletProcessMixture(0.1, estimate=estimate, random_state=0).fit(X)
        assert model.n_clusters_ == 3
        np.testing.assert_array_equal(model.labels_, truth)
        np.testing.assert_allclose(model.means_, centres, atol=0.6)
        np.testing.assert_allclose(model.weights_, [0.5, 1 / 3, 1 / 6])
        np.testing.assert_array_equal(model.predict(X), truth)
    assert {len(v) for v in model.history_.values()} == {200}
    together = model.similarity()
    assert together[truth[:, None] == truth].min() > 0.5
    assert together[truth[:, None] != truth].max() < 0.1


def test_the_density_integrates_to_one_and_moves_with_the_units(rng):
    X = np.r_[rng.normal(size=30), rng.normal(8, 1, size=30)][:, None]
    model = DirichletProcessMixture(random_state=0).fit(X)
    grid = np.linspace(-400, 400, 400_001)[:, None]
    # the predictive density has the tails of Student's: a little mass is beyond the grid
    assert np.exp(model.score_samples(grid)).sum() * 0.002 == pytest.approx(1, abs=1e-3)
    other = DirichletProcessMixture(random_state=0).fit(1000 * X + 5)
    np.testing.assert_array_equal(other.labels_, model.labels_)
    np.testing.assert_allclose(
        other.score_samples(1000 * X + 5), model.score_samples(X) - np.log(1000), atol=1e-6
    )


def test_least_squares_takes_the_partition_nearest_to_the_mean(rng):
    samples = np.array([[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 2, 3]], dtype=np.int32)
    same = samples[:, :, None] == samples[:, None]
    loss = ((same - same.mean(axis=0)) ** 2).sum(axis=(1, 2))
    assert least_squares_partition(samples) == loss.argmin()
    assert agreements(samples[0], samples[1]) == (same[0] & same[1]).sum()


def test_priors_are_taken_and_refused(rng):
    X = rng.normal(size=(20, 2))
    model = DirichletProcessMixture(
        mean_prior=[0, 0], covariance_prior=np.eye(2), degrees_of_freedom_prior=5, random_state=0
    ).fit(X)
    assert model.statistics_["location"].tolist() == [0, 0]
    for bad, says in (
        ({"mean_prior": [1.0]}, "mean_prior"),
        ({"covariance_prior": -np.eye(2)}, "positive definite"),
        ({"covariance_prior": [[1.0, 0.5], [0.4, 1.0]]}, "symmetric"),
        ({"degrees_of_freedom_prior": 1.5}, "degrees_of_freedom_prior"),
        ({"n_burn_in": 200}, "n_burn_in"),
    ):
        with pytest.raises(ValueError, match=says):
            DirichletProcessMixture(**bad).fit(X)
    drawn = DirichletProcessMixture(resample_concentration=True, random_state=0).fit(X)
    assert np.std(drawn.history_["concentration"]) > 0


@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [0, 1, 2, 3, 3, 3]])
def test_the_concentration_has_its_law_given_the_number_of_clusters(rng, labels):
    """p(α | k) is e^(-α / m) α^k Γ(α) / Γ(α + n) up to a constant, here by quadrature."""
    n, k, mean, draws = len(labels), max(labels) + 1, 2.0, 6000
    grid = np.linspace(1e-4, 80, 200_001)
    log_p = -grid / mean + k * np.log(grid) + gammaln(grid) - gammaln(grid + n)
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    chain = Chain(Prior(0.1, 4.0, np.eye(2)), rng.normal(size=(n, 2)), 1.0, rng)
    chain.labels = np.array(labels)
    seen = np.empty(draws)
    for i in range(draws):
        chain.resample_concentration(mean)
        seen[i] = chain.concentration
    exact = p @ grid
    spread = np.sqrt(p @ grid**2 - exact**2)
    # successive draws are correlated: allow as if one in four were independent
    assert abs(seen.mean() - exact) < 4 * spread / np.sqrt(draws / 4)
