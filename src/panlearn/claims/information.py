"""Entropy, divergences and what can be learned of one variable from another."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import softmax

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.theory import information, probability


def _pairs(seed: int, n: int = 50, cells: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(cells), size=(n, 2))


@claim("A227")
def entropy_bounds() -> Iterator[Evidence]:
    """0 <= H(p) <= log K: zero just if one outcome is certain, log K if all are alike."""
    values = [information.entropy(p) for p in np.random.default_rng(0).dirichlet(np.ones(6), 200)]
    yield at_least("least entropy", min(values), 1e-12)
    yield at_most("greatest entropy", max(values), np.log(6))
    yield equal("certain, with 0 log 0 = 0", information.entropy([0, 1, 0]), 0)
    yield equal("uniform", information.entropy(np.ones(6)), np.log(6), 1e-12)


@claim("A228")
def cross_entropy_is_least_at_the_truth() -> Iterator[Evidence]:
    """H(p, q) = H(p) + KL(p || q) >= H(p), least over q at q = p."""
    for p, q in _pairs(1, 5):
        total = information.entropy(p) + information.kl_divergence(p, q)
        yield equal("H(p, q)", information.cross_entropy(p, q), total, 1e-12)
        run = minimize(lambda z, p=p: information.cross_entropy(p, softmax(z)), np.zeros(5))
        yield equal("its minimiser", softmax(run.x), p, 1e-4)


@claim("A229")
def relative_entropy() -> Iterator[Evidence]:
    """KL(p || q) >= 0, zero just at p = q, not symmetric, infinite if q = 0 < p; H(p, q) - H(p).

    The text has H(p) - H(q), which may be negative. For Gaussians there is a closed form.
    """
    values = [information.kl_divergence(p, q) for p, q in _pairs(2)]
    yield at_least("least divergence of different laws", min(values), 1e-6)
    p, q = _pairs(2, 1)[0]
    yield equal("of equal laws", information.kl_divergence(p, p), 0, 1e-15)
    there, back = information.kl_divergence(p, q), information.kl_divergence(q, p)
    yield at_least("asymmetry", abs(there - back), 1e-3)
    yield true("outside the support", np.isinf(information.kl_divergence([1, 1], [1, 0])))
    first, second = (
        probability.MultivariateNormal(0.3, 1.5),
        probability.MultivariateNormal(-1.0, 4.0),
    )

    def integrand(x: float) -> float:
        a, b = first.logpdf([x]), second.logpdf([x])
        return float(np.exp(a) * (a - b))

    closed = information.gaussian_kl_divergence(0.3, 1.5, -1.0, 4.0)
    yield equal("Gaussians by quadrature", closed, quad(integrand, -20, 20)[0], 1e-8)


@claim("B176")
def divergence_and_likelihood() -> Iterator[Evidence]:
    """KL is H(p, q) - H(p), and its minimiser over a model is the maximum of the likelihood.

    The text leaves the weight q(x) out of the integral.
    """
    for p, q in _pairs(3, 10):
        gap = information.cross_entropy(p, q) - information.entropy(p)
        yield equal("cross-entropy - entropy", information.kl_divergence(p, q), gap, 1e-12)
    rng = np.random.default_rng(3)
    counts = np.bincount(rng.binomial(4, 0.35, size=500), minlength=5)
    model = [
        (t, information.kl_divergence(counts, _binomial(4, t)))
        for t in np.linspace(0.01, 0.99, 981)
    ]
    best = min(model, key=lambda pair: pair[1])[0]
    yield equal("minimiser and mean / 4", best, counts @ np.arange(5) / counts.sum() / 4, 1e-3)


def _binomial(n: int, p: float) -> np.ndarray:
    table = np.ones(1)
    for _ in range(n):
        table = np.convolve(table, [1 - p, p])
    return table


@claim("B177")
def forward_and_reverse_fits() -> Iterator[Evidence]:
    """One Gaussian for 0.5 N(-3, 1) + 0.5 N(3, 1): forward KL matches moments, reverse a mode.

    Forward: mean 0, variance 10. Reverse: mean +-2.98431, variance 1.04728, value 0.68877, which
    is less than the 0.93784 of the moments.
    """
    x = np.linspace(-30, 30, 6001)
    mixture = np.exp(-((x - 3) ** 2) / 2) + np.exp(-((x + 3) ** 2) / 2)

    def normal(z: np.ndarray) -> np.ndarray:
        return np.exp(-((x - z[0]) ** 2) / (2 * np.exp(z[1]))) + 1e-300

    forward = minimize(lambda z: information.kl_divergence(mixture, normal(z)), [0.5, 1.0])
    yield equal("forward mean and variance", [forward.x[0], np.exp(forward.x[1])], [0, 10], 1e-2)
    reverse = minimize(lambda z: information.kl_divergence(normal(z), mixture + 1e-300), [2.0, 0.0])
    found = [abs(reverse.x[0]), np.exp(reverse.x[1]), reverse.fun]
    yield equal("reverse mean, variance and value", found, [2.98431, 1.04728, 0.68877], 1e-3)
    moments = information.kl_divergence(normal(np.array([0.0, np.log(10)])), mixture + 1e-300)
    yield equal("reverse value of the moments", moments, 0.93784, 1e-3)


@claim("B178")
def gaussian_divergence() -> Iterator[Evidence]:
    """KL(N1 || N2) = [log |S2|/|S1| - n + tr(S2^-1 S1) + (m2 - m1)' S2^-1 (m2 - m1)] / 2."""
    rng = np.random.default_rng(4)
    laws = []
    for _ in range(2):
        A = rng.normal(size=(3, 3))
        laws.append(probability.MultivariateNormal(rng.normal(size=3), A @ A.T + np.eye(3)))
    first, second = laws
    closed = information.gaussian_kl_divergence(
        first.mean, first.covariance, second.mean, second.covariance
    )
    draws = first.sample(100_000, random_state=4)
    gaps = first.logpdf(draws) - second.logpdf(draws)
    error = gaps.std() / np.sqrt(len(gaps))
    yield at_most("standard errors from draws", abs(gaps.mean() - closed) / error, 4)
    one = np.log(3 / 2) + (4 + 1.5**2) / 18 - 0.5
    yield equal("1-D", information.gaussian_kl_divergence(0.5, 4.0, -1.0, 9.0), one, 1e-12)


@claim("B179")
def traces_of_gaussians() -> Iterator[Evidence]:
    """X'Ax = tr(x x' A), E XX' = S + mu mu', and E (x - mu)' S^-1 (x - mu) = n."""
    rng = np.random.default_rng(5)
    A = rng.normal(size=(3, 3))
    law = probability.MultivariateNormal(rng.normal(size=3), A @ A.T + np.eye(3))
    x = law.sample(1, random_state=5)[0]
    yield equal("x'Ax", x @ A @ x, np.trace(np.outer(x, x) @ A), 1e-12)
    X = law.sample(200_000, random_state=6)
    second = X.T @ X / len(X)
    expected = law.covariance + np.outer(law.mean, law.mean)
    yield at_most("relative error of E XX'", np.abs(second / expected - 1).max(), 0.1)
    white = (X - law.mean) @ np.linalg.inv(law.covariance)
    yield equal("E of the squared distance", (white * (X - law.mean)).sum(1).mean(), 3, 0.05)


@claim("B196")
def conditional_entropy() -> Iterator[Evidence]:
    """H(X | Y) = H(X, Y) - H(Y) = E_Y H(X | Y = y), where the text has E H(X, Y)."""
    joint = np.random.default_rng(6).dirichlet(np.ones(12)).reshape(3, 4)
    chained = information.entropy(joint) - information.entropy(joint.sum(axis=0))
    mean = sum(w * information.entropy(c) for w, c in zip(joint.sum(0), joint.T, strict=True))
    yield equal("chain rule", information.conditional_entropy(joint), chained, 1e-12)
    yield equal("mean over y", information.conditional_entropy(joint), mean, 1e-12)


@claim("B197")
def variational_bound_on_information() -> Iterator[Evidence]:
    """I(c; x) >= H(c) + E log Q(c | x) for any Q, an equality at Q = p(c | x)."""
    rng = np.random.default_rng(7)
    joint = rng.dirichlet(np.ones(12)).reshape(3, 4)
    truth, prior = information.mutual_information(joint), information.entropy(joint.sum(axis=1))
    best = prior + (joint * np.log(probability.condition(joint, 1))).sum()
    yield equal("at Q = p(c | x)", best, truth, 1e-12)
    for _ in range(20):
        Q = rng.dirichlet(np.ones(3), size=4).T
        yield at_most("at another Q", prior + (joint * np.log(Q)).sum(), truth)


@claim("B198")
def resampling_lemma() -> Iterator[Evidence]:
    """E over x, y | x of f(x, y) is E over x, y | x, x' | y of f(x', y)."""
    rng = np.random.default_rng(8)
    joint, f = rng.dirichlet(np.ones(12)).reshape(3, 4), rng.normal(size=(3, 4))
    again = np.einsum("xy,zy,zy->", joint, probability.condition(joint, 1), f)
    yield equal("both expectations", (joint * f).sum(), again, 1e-12)
