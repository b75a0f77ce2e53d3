"""Claims on expectation-maximisation and its bound."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.core.gaussian import KINDS
from panlearn.latent import CategoricalMixture, GaussianMixture, KMeans
from panlearn.latent import _categories as products
from panlearn.latent._gaussians import Expected, Mixture, expect, log_densities, maximise


def _rows() -> np.ndarray:
    rng = np.random.default_rng(142)
    return np.r_[rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) * [2.0, 0.5] + [4.0, 1.0]]


def _mixture(seed: int, k: int = 3, kind: str = "full") -> Mixture:
    """Parameters at random."""
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(k, 2, 2))
    full = roots @ roots.swapaxes(1, 2) + 0.5 * np.eye(2)
    covariances = full if kind == "full" else np.ones(k)
    return Mixture(
        KINDS[kind], rng.dirichlet(np.ones(k) * 5), 3 * rng.normal(size=(k, 2)), covariances
    )


def _log_joint(at: Mixture, X: np.ndarray) -> np.ndarray:
    """Log π_k N(x | μ_k, Σ_k), (n, k)."""
    k, d = at.means.shape
    matrices = at.kind.matrices(at.covariances, k, d)
    columns = [multivariate_normal(at.means[j], matrices[j]).logpdf(X) for j in range(k)]
    return np.stack(columns, axis=1) + np.log(at.weights)


def _responsibilities(at: Mixture, X: np.ndarray) -> np.ndarray:
    joint = _log_joint(at, X)
    return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))


def _expected_joint(at: Mixture, q: np.ndarray, X: np.ndarray) -> float:
    """Q: the expected log-likelihood of rows and components under q."""
    return float((q * _log_joint(at, X)).sum())


def _stationary(X: np.ndarray, q: np.ndarray, at: Mixture) -> float:
    """The largest derivative of Q in means, weights (with their multiplier) and covariances."""
    worst = np.abs(q.sum(axis=0) / at.weights - len(X)).max() / len(X)
    for j in range(len(at.weights)):
        precision, centred = np.linalg.inv(at.covariances[j]), X - at.means[j]
        worst = max(worst, np.abs(precision @ (q[:, j] @ centred)).max())
        scatter = (q[:, j, None] * centred).T @ centred
        slope = precision @ scatter @ precision - q[:, j].sum() * precision
        worst = max(worst, np.abs(slope).max())
    return float(worst)


@claim("A142")
def the_maximisation_is_a_weighted_maximum_likelihood() -> Iterator[Evidence]:
    """π_k is the mean of q, μ_k the weighted mean, Σ_k the weighted scatter about the new mean.

    There the gradient of Q = Σ q_nk [log π_k + log N_k] is zero; the text lacks the brackets.
    """
    X, at = _rows(), _mixture(0)
    q = _responsibilities(at, X)
    new = maximise(at, expect(at, X), 0.0)
    yield equal("weights and mean of q", new.weights, q.mean(axis=0), 1e-12)
    yield equal("means", new.means, (q.T @ X) / q.sum(axis=0)[:, None], 1e-10)
    yield at_most("largest derivative of Q", _stationary(X, q, new), 1e-8)


@claim("A143")
def the_bound_and_its_gap() -> Iterator[Evidence]:
    """Σ_k q_k log(π_k N_k / q_k) ≤ log Σ_k π_k N_k, with gap KL(q ‖ posterior).

    The bound is below, not above as the text writes it, because the logarithm is concave, not
    convex.
    """
    X, at = _rows(), _mixture(1)
    joint, posterior = _log_joint(at, X), _responsibilities(at, X)
    q = np.random.default_rng(0).dirichlet(np.ones(3), size=len(X))
    density = log_densities(at, X)[0]
    gap = density - (q * (joint - np.log(q))).sum(axis=1)
    yield at_least("smallest gap", gap.min(), 0.0)
    divergence = (q * (np.log(q) - np.log(posterior))).sum(axis=1)
    yield equal("gap and KL", gap, divergence, 1e-10)
    tight = (posterior * (joint - np.log(posterior))).sum(axis=1)
    yield equal("bound at the posterior", tight, density, 1e-10)


@claim("A145")
def the_likelihood_rises_by_at_least_q() -> Iterator[Evidence]:
    """Log p(θ) − log p(θ') ≥ Q(θ; θ') − Q(θ'; θ'), with Q = Σ_n E_{z | x_n, θ'} log p(x_n, z | θ).

    The text's compact form puts the logarithm outside the sum, which is another function.
    """
    X, slack = _rows(), np.inf
    for seed in range(30):
        here, there = _mixture(seed), _mixture(seed + 100)
        q = _responsibilities(here, X)
        rise = log_densities(there, X)[0].sum() - log_densities(here, X)[0].sum()
        slack = min(slack, rise - _expected_joint(there, q, X) + _expected_joint(here, q, X))
    yield at_least("least slack", slack, -1e-10)


def _means_of(seen: Expected, at: Mixture) -> np.ndarray:
    return at.means + seen.shift / seen.count[:, None]


def _beside_lloyd(X: np.ndarray, start: np.ndarray, variance: float, hard: bool) -> float:
    """Follow the means of EM with one fixed variance beside those of k-means."""
    k, worst, centres = len(start), 0.0, start
    at = Mixture(KINDS["spherical"], np.full(k, 1 / k), start, np.full(k, variance))
    for _ in range(20):
        model = KMeans(k, init=centres, max_iter=1, tol=1e300).fit(X)
        seen = expect(at, X, hard=hard)
        at, centres = at._replace(means=_means_of(seen, at)), model.cluster_centers_
        worst = max(worst, float(np.abs(at.means - centres).max()))
    return worst


@claim("A146")
def hard_em_is_lloyds_algorithm() -> Iterator[Evidence]:
    """Hard EM with equal weights and one spherical covariance takes the steps of k-means."""
    X = np.random.default_rng(146).normal(size=(150, 2))
    yield at_most(
        "largest distance of means in 20 steps", _beside_lloyd(X, X[:4], 1.0, True), 1e-12
    )


@claim("A147")
def soft_em_without_variance_is_lloyds_algorithm() -> Iterator[Evidence]:
    """Soft EM with covariances fixed at σ²I becomes k-means as σ² → 0.

    It is not that the covariances converge to that, as the text says: they are held there.
    """
    rng = np.random.default_rng(147)
    X = np.repeat(np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]]), 30, axis=0)
    X = X + 0.3 * rng.normal(size=X.shape)
    yield at_most("largest distance of means", _beside_lloyd(X, X[[0, 40, 80]], 1e-4, False), 1e-12)


def _scatters(at: Mixture, seen: Expected) -> np.ndarray:
    """About the new means."""
    step = seen.shift / seen.count[:, None]
    return seen.scatter - seen.count[:, None, None] * step[:, :, None] * step[:, None, :]


@claim("A148")
def a_floor_that_keeps_em_monotone() -> Iterator[Evidence]:
    """An inverse-Wishart prior gives Σ_k = (S_k + Ψ)/(N_k + ν + d + 1), and EM climbs with it.

    The prior is inverse-Wishart, not Wishart as in the text, and the penalised likelihood is what
    never falls. Adding v²I to each covariance afterwards, as the text also offers, lowers the
    likelihood at times; a floor under the eigenvalues as a constraint of the maximisation does not.
    """
    X, psi, nu, d = _rows(), 0.3 * np.eye(2), 3.0, 2
    least = {"penalised": np.inf, "constrained": np.inf, "added": np.inf}
    for seed in range(60):
        for name in least:
            at, last = _mixture(seed), -np.inf
            for _ in range(15):
                seen = expect(at, X)
                value, covariances = seen.log_likelihood, _scatters(at, seen)
                count = seen.count[:, None, None]
                if name == "penalised":
                    log_det = np.linalg.slogdet(at.covariances)[1]
                    trace = np.trace(np.linalg.solve(at.covariances, psi[None]), axis1=1, axis2=2)
                    value -= 0.5 * float(((nu + d + 1) * log_det + trace).sum())
                    covariances = (covariances + psi) / (count + nu + d + 1)
                elif name == "added":
                    covariances = covariances / count + 0.3 * np.eye(2)
                new = maximise(at, seen, 0.3)
                at = new if name == "constrained" else new._replace(covariances=covariances)
                least[name] = min(least[name], value - last)
                last = value
    yield at_least("smallest step with the prior", least["penalised"], -1e-9)
    yield at_least("smallest step with a constraint", least["constrained"], -1e-9)
    yield at_most("smallest step with v²I added", least["added"], -1e-3)


@claim("B241")
def the_maximisation_is_stationary() -> Iterator[Evidence]:
    """The updates of EM are stationary points of Q, and at convergence of the likelihood.

    The derivative in μ_k holds Σ_k⁻¹(x − μ_k), not Σ_k as printed, and the printed loop over n is
    one over iterations.
    """
    X = _rows()
    at = _mixture(2)
    yield at_most(
        "derivative of Q",
        _stationary(X, _responsibilities(at, X), maximise(at, expect(at, X), 0)),
        1e-8,
    )
    model = GaussianMixture(2, tol=1e-14, max_iter=5000, random_state=0).fit(X)
    yield at_least("smallest step", np.diff(model.history_["log_likelihood"]).min(), -1e-9)
    end = Mixture(KINDS["full"], model.weights_, model.means_, model.covariances_)
    yield at_most("derivative at the end", _stationary(X, _responsibilities(end, X), end), 1e-4)


@claim("B244")
def known_components_are_fitted_apart() -> Iterator[Evidence]:
    """With z known the likelihood is Π (π_k N_k)^{z_nk}: frequencies, means and covariances."""
    X, z = _rows(), np.repeat([0, 1], 60)
    z[:10] = 1
    model = GaussianMixture(2, use_labels=True, reg_covar=1e-12, random_state=0).fit(X, z)
    for j in range(2):
        mine = X[z == j]
        yield equal(f"frequency of {j}", model.weights_[j], len(mine) / len(X), 1e-12)
        yield equal(f"mean of {j}", model.means_[j], mine.mean(axis=0), 1e-12)
        yield equal(f"covariance of {j}", model.covariances_[j], np.cov(mine.T, bias=True), 1e-12)


def _categorical(seed: int) -> tuple[np.ndarray, products.Products]:
    """Rows of three features, and a mixture at random."""
    rng = np.random.default_rng(seed)
    X = rng.integers(3, size=(80, 3)).astype(float)
    tables = [np.log(rng.dirichlet(np.ones(3), size=3).T) for _ in range(3)]
    known = [np.arange(3.0)] * 3
    return X, products.Products(known, rng.dirichlet(np.ones(3)), np.concatenate(tables))


def _elbo(q: np.ndarray, log_joint: np.ndarray) -> np.ndarray:
    return (q * (log_joint - np.log(q))).sum(axis=1)


def _categorical_joint(at: products.Products, X: np.ndarray) -> Any:
    return products.ones_of(X, at.categories) @ at.log_probabilities + np.log(at.weights)


@claim("B245")
def evidence_is_bound_and_divergence() -> Iterator[Evidence]:
    """Log p(x) = ELBO(q) + KL(q ‖ p(z | x)), and ELBO = E_q log p(x | z) − KL(q ‖ p(z))."""
    X, at = _categorical(0)
    joint = _categorical_joint(at, X)
    evidence, posterior = products.posteriors(at, products.ones_of(X, at.categories))
    q = np.random.default_rng(1).dirichlet(np.ones(3), size=len(X))
    divergence = (q * np.log(q / posterior)).sum(axis=1)
    yield equal("log p(x) and the sum", evidence, _elbo(q, joint) + divergence, 1e-12)
    given = (q * (joint - np.log(at.weights))).sum(axis=1)
    prior = (q * np.log(q / at.weights)).sum(axis=1)
    yield equal("the two forms of the bound", _elbo(q, joint), given - prior, 1e-12)
    yield at_least("least divergence", divergence.min(), 0.0)
    yield equal("bound at the posterior", _elbo(posterior, joint), evidence, 1e-12)


@claim("B246")
def em_climbs_the_bound_by_turns() -> Iterator[Evidence]:
    """The expectation makes the bound tight, the maximisation raises it: EM is ascent by turns."""
    X, at = _categorical(3)
    model = CategoricalMixture(3, alpha=0.0)
    least_e, least_m, widest = np.inf, np.inf, 0.0
    q = np.full((len(X), 3), 1 / 3)
    for _ in range(15):
        ones = products.ones_of(X, at.categories)
        before = _elbo(q, _categorical_joint(at, X)).sum()
        evidence, q = products.posteriors(at, ones)
        between = _elbo(q, _categorical_joint(at, X)).sum()
        widest = max(widest, abs(between - evidence.sum()))
        at = products.maximise(at.categories, products.expect(at, X), model.alpha)
        after = _elbo(q, _categorical_joint(at, X)).sum()
        least_e, least_m = min(least_e, between - before), min(least_m, after - between)
    yield at_least("least rise by an expectation", least_e, -1e-9)
    yield at_least("least rise by a maximisation", least_m, -1e-9)
    yield at_most("widest gap after an expectation", widest, 1e-9)


@claim("B247")
def a_mixture_without_variance_assigns_as_k_means() -> Iterator[Evidence]:
    """With Σ = σ²I and σ → 0 the responsibilities are the assignments of k-means."""
    rng = np.random.default_rng(247)
    X = np.repeat(np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]]), 40, axis=0)
    X = X + rng.normal(size=X.shape)
    clusters = KMeans(3, random_state=0).fit(X)
    at = Mixture(KINDS["spherical"], np.full(3, 1 / 3), clusters.cluster_centers_, np.full(3, 1e-6))
    q = _responsibilities(at, X)
    yield true("the same assignments", (q.argmax(axis=1) == clusters.labels_).all())
    yield equal("largest responsibilities and 1", q.max(axis=1), np.ones(len(X)), 1e-12)
