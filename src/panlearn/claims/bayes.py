"""Generative classifiers: naive Bayes and discriminant analysis."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import optimize, stats
from scipy.special import expit

from panlearn.bayes import (
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal
from panlearn.claims.perceptron import EMAILS, SPAM


def _classes(n: int = 120, d: int = 3, k: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, k, n)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + y[:, None] * np.linspace(1, -1, d)
    return X, y


@claim("B3")
def spam_by_naive_bayes() -> Iterator[Evidence]:
    """On the six emails theta_+ = (2, 2, 2, 1, 2) / 3 and theta_- = (2, 0, 2, 3, 0) / 3.

    Maximum likelihood gives P(+ | x') = 1 for the query, since no good email said "viagra"; with
    Laplace's rule it is 9/11.
    """
    query = [[1, 1, 0, 0, 0]]
    counted = BernoulliNB(alpha=0.0).fit(EMAILS, SPAM)
    theta = np.exp(counted.feature_log_prob_)
    yield equal("theta_-", theta[0], np.array([2, 0, 2, 3, 0]) / 3, 1e-12)
    yield equal("theta_+", theta[1], np.array([2, 2, 2, 1, 2]) / 3, 1e-12)
    yield equal("class probabilities", np.exp(counted.class_log_prior_), [0.5, 0.5], 1e-12)
    yield equal("P(+ | x'), counted", counted.predict_proba(query)[0, 1], 1.0, 1e-12)
    smoothed = BernoulliNB(alpha=1.0).fit(EMAILS, SPAM)
    yield equal("P(+ | x'), smoothed", smoothed.predict_proba(query)[0, 1], 9 / 11, 1e-12)


@claim("B221")
def counts_maximise_the_likelihood() -> Iterator[Evidence]:
    """pi_c = N_c / N and theta_jc = N_jc / N_c maximise the log-likelihood of naive Bayes.

    Gaussian, Bernoulli and categorical models agree with the product of their densities. The text
    leaves out the index of pi and the sigma of the normal density, and its counts give log 0 for
    values that a class has not shown.
    """
    rng = np.random.default_rng(0)
    X, y = _classes()
    binary = (X > 0).astype(int)
    model = BernoulliNB(alpha=0.0).fit(binary, y)
    theta, share = np.exp(model.feature_log_prob_), np.exp(model.class_log_prior_)

    def loglik(theta: np.ndarray, share: np.ndarray) -> float:
        each = stats.bernoulli.logpmf(binary, theta[y]).sum(axis=1)
        return float(np.sum(np.log(share[y]) + each))

    best, gains = loglik(theta, share), []
    for _ in range(200):
        near = np.clip(theta + 0.05 * rng.normal(size=theta.shape), 1e-6, 1 - 1e-6)
        p = np.clip(share[0] + 0.05 * rng.normal(), 0.01, 0.99)
        gains.append(loglik(near, np.array([p, 1 - p])) - best)
    yield at_most("best of 200 perturbations, above the estimate", max(gains), 0.0)
    joint = model.predict_joint_log_proba(binary)[np.arange(len(y)), y]
    yield equal("Bernoulli: log-likelihood / its product", joint.sum() / best, 1.0, 1e-12)
    normal = GaussianNB(var_smoothing=0.0).fit(X, y)
    densities = stats.norm.logpdf(X[:, None], normal.theta_, np.sqrt(normal.var_)).sum(axis=2)
    expected = densities + np.log(normal.class_prior_)
    yield equal("Gaussian", normal.predict_joint_log_proba(X), expected, 1e-11)
    codes = np.digitize(X, [-0.5, 0.5])
    table = CategoricalNB(alpha=0.0).fit(codes, y)
    product = np.stack(
        [
            [np.mean((codes[y == c] == row).astype(float), axis=0).prod() for c in (0, 1)]
            for row in codes
        ]
    )
    found = np.exp(table.predict_joint_log_proba(codes))
    yield equal("categorical", found, product * table.class_count_ / len(y), 1e-12)


@claim("A192")
def likelihood_of_independent_rows() -> Iterator[Evidence]:
    """The likelihood of independent rows is the product of theirs: log p(D) = sum log p(x_i)."""
    X, y = _classes()
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    product = 1.0
    for row in X[:40]:
        densities = [
            p * stats.multivariate_normal(mean, rotation * scaling @ rotation.T).pdf(row)
            for p, mean, rotation, scaling in zip(
                model.priors_, model.means_, model.rotations_, model.scalings_, strict=True
            )
        ]
        product *= sum(densities)
    yield equal("log p(D)", model.score_samples(X[:40]).sum(), np.log(product), 1e-10)


@claim("A193")
def gaussian_naive_bayes() -> Iterator[Evidence]:
    """Maximum likelihood: class frequencies, class means, and class variances that divide by N_c.

    Features are independent given the class, p(x | y) = prod_k p(x_k | y), not "iid" as the text
    says; and the mean of squares that it calls sigma is sigma squared.
    """
    X, y = _classes(d=2)
    model = GaussianNB(var_smoothing=0.0).fit(X, y)
    rows = X[y == 1]

    def minus_loglik(t: np.ndarray) -> float:
        return -float(stats.norm.logpdf(rows, t[:2], np.exp(t[2:])).sum())

    best = optimize.minimize(minus_loglik, np.zeros(4), tol=1e-12).x
    yield equal("means", model.theta_[1], best[:2], 1e-5)
    yield equal("variances", model.var_[1], np.exp(2 * best[2:]), 1e-5)
    yield equal("variances in closed form", model.var_[1], rows.var(axis=0), 1e-12)
    yield equal("frequencies", model.class_prior_, [np.mean(y == 0), np.mean(y == 1)], 1e-15)
    inside = stats.norm.logpdf(X, model.theta_[1], np.sqrt(model.var_[1])).sum(axis=1)
    joint = model.predict_joint_log_proba(X)[:, 1] - np.log(model.class_prior_[1])
    yield equal("p(x | y) and the product of its features", joint, inside, 1e-11)


@claim("A194")
def quadratic_discriminants() -> Iterator[Evidence]:
    """Quadratic discriminant analysis has full class covariances that divide by N_c.

    Their diagonals are the variances of Gaussian naive Bayes, and its log-odds are quadratic in x.
    """
    X, y = _classes()
    model = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    naive = GaussianNB(var_smoothing=0.0).fit(X, y)
    for c in range(2):
        covariance = np.cov(X[y == c].T, bias=True)
        yield equal(f"covariance of class {c}", model.covariance_[c], covariance, 1e-11)
        yield equal(f"its diagonal {c}", np.diag(model.covariance_[c]), naive.var_[c], 1e-11)
    line = np.linspace(-3, 3, 50)[:, None] * [1.0, -0.5, 2.0] + [0.3, 1.0, -1.0]
    odds = model.decision_function(line)
    third = np.abs(np.diff(odds, 3)).max()
    yield at_most("third differences / second", third / np.abs(np.diff(odds, 2)).max(), 1e-8)


@claim("A195")
def linear_discriminants() -> Iterator[Evidence]:
    """With one covariance, P(1 | x) = sigma(w'x + b), w = S^-1 (mu_1 - mu_0).

    b = -(mu_1' S^-1 mu_1 - mu_0' S^-1 mu_0) / 2 + log(pi_1 / pi_0). The shared covariance is full,
    not one sigma as the text writes.
    """
    X, y = _classes()
    model = LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
    (mu0, mu1), precision = model.means_, np.linalg.inv(model.covariance_)
    w = precision @ (mu1 - mu0)
    b = -(mu1 @ precision @ mu1 - mu0 @ precision @ mu0) / 2
    b += np.log(model.priors_[1] / model.priors_[0])
    yield equal("w", model.coef_[0], w, 1e-11)
    yield equal("b", model.intercept_, [b], 1e-11)
    yield equal("P(1 | x)", model.predict_proba(X)[:, 1], expit(X @ w + b), 1e-12)
    rotation = model.covariance_ - np.diag(np.diag(model.covariance_))
    yield at_least("largest covariance off the diagonal", np.abs(rotation).max(), 0.1)


@claim("A196")
def the_m_step_is_a_weighted_fit() -> Iterator[Evidence]:
    """The M-step of a Gaussian mixture is the Gaussian Bayes classifier fitted to weighted rows.

    Each row counts in each component with its responsibility; an integer weight is a repeated row.
    """
    X, _ = _classes()
    q = np.random.default_rng(1).dirichlet(np.ones(3), size=len(X))
    rows, labels = np.tile(X, (3, 1)), np.repeat(np.arange(3), len(X))
    model = QuadraticDiscriminantAnalysis(store_covariance=True)
    model.fit(rows, labels, sample_weight=q.T.ravel())
    total = q.sum(axis=0)
    means = (q.T @ X) / total[:, None]
    yield equal("pi", model.priors_, q.mean(axis=0), 1e-12)
    yield equal("mu", model.means_, means, 1e-10)
    for c in range(3):
        centred = X - means[c]
        yield equal(
            f"Sigma {c}", model.covariance_[c], (centred.T * q[:, c]) @ centred / total[c], 1e-10
        )
    X, y = _classes()
    times = np.random.default_rng(2).integers(0, 4, len(y))
    weighted = QuadraticDiscriminantAnalysis().fit(X, y, sample_weight=times)
    repeated = QuadraticDiscriminantAnalysis().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    yield equal(
        "weights and repetition", weighted.predict_proba(X), repeated.predict_proba(X), 1e-10
    )


@claim("A202")
def naive_needs_fewer_rows() -> Iterator[Evidence]:
    """With independent features naive Bayes does better than quadratic discriminants on few rows.

    Its probabilities are not right for all large samples, as the text has it, but only if the
    independence is true: copies of a feature make it over-confident.
    """
    rng = np.random.default_rng(0)
    gains = []
    with np.errstate(all="ignore"):
        for _ in range(50):
            y = np.tile([0, 1], 15)
            X = rng.normal(size=(30, 10)) + 0.5 * y[:, None]
            new = np.repeat([0, 1], 200)
            Z = rng.normal(size=(400, 10)) + 0.5 * new[:, None]
            full = QuadraticDiscriminantAnalysis(tol=0.0).fit(X, y)
            gains.append(GaussianNB().fit(X, y).score(Z, new) - full.score(Z, new))
    yield at_least("mean gain in accuracy", np.mean(gains), 0.03)
    y = rng.integers(0, 2, 20_000)
    x = rng.normal(size=(20_000, 1)) + y[:, None]
    gaps = []
    for copies in (1, 3, 10):
        X = np.repeat(x, copies, axis=1)
        model = GaussianNB().fit(X[:10_000], y[:10_000])
        p = model.predict_proba(X[10_000:])
        confidence, right = p.max(axis=1), p.argmax(axis=1) == y[10_000:]
        gaps.append(confidence.mean() - right.mean())
    yield at_most("over-confidence with one copy", abs(gaps[0]), 0.02)
    yield at_least("more with three", gaps[1] - gaps[0], 0.05)
    yield at_least("and more with ten", gaps[2] - gaps[1], 0.03)
