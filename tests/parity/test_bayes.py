"""Generative classifiers against scikit-learn: parameters, probabilities, predictions."""

import warnings

import numpy as np
import pytest
import sklearn.discriminant_analysis as discriminants
import sklearn.naive_bayes as naive
from scipy import sparse, stats
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from panlearn.bayes import (
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    QuadraticDiscriminantAnalysis,
    maximum_likelihood,
)

SETS = {f.__name__: f for f in (load_iris, load_wine, load_breast_cancer, load_digits)}
every_set = pytest.mark.parametrize("data", SETS)


def load(name):
    X, y = SETS[name](return_X_y=True)
    labels = np.array([f"class {c}" for c in np.unique(y)])
    return X, labels[y]


def check(ours, peer, X, names, rtol=1e-9):
    for name in names:
        a, b = getattr(ours, name), getattr(peer, name)
        for one, other in zip(a, b, strict=True) if isinstance(b, list) else [(a, b)]:
            scale = np.abs(other).max()
            np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * scale, err_msg=name)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), rtol=1e-6, atol=1e-9)


@every_set
@pytest.mark.parametrize("weighted", [False, True])
def test_gaussian_nb(data, weighted, rng):
    X, y = load(data)
    weight = rng.integers(1, 4, len(y)).astype(float) if weighted else None
    ours = GaussianNB(var_smoothing=1e-3).fit(X, y, sample_weight=weight)
    # scikit-learn takes the width of the smoothing from the unweighted rows
    smoothing = ours.epsilon_ / X.var(axis=0).max()
    peer = naive.GaussianNB(var_smoothing=smoothing).fit(X, y, sample_weight=weight)
    check(ours, peer, X, ["theta_", "var_", "class_prior_", "class_count_"])
    np.testing.assert_allclose(
        ours.predict_joint_log_proba(X), peer.predict_joint_log_proba(X), rtol=1e-8
    )


@every_set
@pytest.mark.parametrize("alpha", [1.0, 0.1, 1e-12])
def test_discrete_naive_bayes(data, alpha, rng):
    X, y = load(data)
    X = np.round(X)
    weight = rng.random(len(y))
    prior = np.full(len(set(y)), 1 / len(set(y)))
    names = ["feature_log_prob_", "class_log_prior_", "class_count_"]
    for rows in (X, sparse.csr_array(X)):
        for settings in ({}, {"fit_prior": False}, {"class_prior": prior}):
            for cls, peer in [
                (MultinomialNB, naive.MultinomialNB),
                (BernoulliNB, naive.BernoulliNB),
            ]:
                more = {"binarize": 2.0} if cls is BernoulliNB else {}
                ours = cls(alpha=alpha, **settings, **more).fit(rows, y, sample_weight=weight)
                theirs = peer(alpha=alpha, **settings, **more).fit(rows, y, sample_weight=weight)
                check(ours, theirs, rows, [*names, "feature_count_"])
    ours = CategoricalNB(alpha=alpha, min_categories=20).fit(X, y, sample_weight=weight)
    peer = naive.CategoricalNB(alpha=alpha, min_categories=20).fit(X, y, sample_weight=weight)
    check(ours, peer, X, [*names, "category_count_", "n_categories_"])


@every_set
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"store_covariance": True},
        {"solver": "lsqr", "shrinkage": 0.3},
        {"solver": "lsqr", "shrinkage": "auto"},
        {"solver": "eigen", "shrinkage": 0.3},
        {"solver": "eigen", "shrinkage": "auto"},
    ],
    ids=str,
)
@pytest.mark.parametrize("given", [False, True])
def test_linear_discriminant_analysis(data, settings, given):
    X, y = load(data)
    priors = np.arange(1.0, len(set(y)) + 1) if given else None
    priors = None if priors is None else priors / priors.sum()
    ours = LinearDiscriminantAnalysis(**settings, priors=priors).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # digits have constant columns
        peer = discriminants.LinearDiscriminantAnalysis(**settings, priors=priors).fit(X, y)
    names = ["means_", "priors_", "coef_", "intercept_"]
    names += ["covariance_"] if "covariance_" in vars(peer) else []
    names += ["explained_variance_ratio_"] if "scalings_" in vars(peer) else []
    check(ours, peer, X, names, rtol=1e-6)
    if "scalings_" in vars(peer):
        ours_out, theirs = ours.transform(X), peer.transform(X)
        sign = np.sign(np.sum(ours_out * theirs, axis=0))
        scale = np.abs(theirs).max()
        np.testing.assert_allclose(ours_out, sign * theirs, rtol=0, atol=1e-6 * scale)
    np.testing.assert_allclose(
        ours.decision_function(X), peer.decision_function(X), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("data", ["load_iris", "load_wine", "load_breast_cancer"])
@pytest.mark.parametrize("reg_param", [0.0, 0.2])
def test_quadratic_discriminant_analysis(data, reg_param):
    X, y = load(data)
    X = X / X.std(axis=0)  # scikit-learn holds variances against an absolute tolerance
    settings = {"reg_param": reg_param, "store_covariance": True}
    ours = QuadraticDiscriminantAnalysis(**settings).fit(X, y)
    peer = discriminants.QuadraticDiscriminantAnalysis(**settings, tol=1e-12).fit(X, y)
    check(ours, peer, X, ["means_", "priors_", "scalings_", "covariance_"], rtol=1e-7)
    if len(set(y)) > 2:  # ours is the joint density, theirs leaves out (2 pi)^(d/2)
        constant = X.shape[1] / 2 * np.log(2 * np.pi)
        theirs = peer.decision_function(X) - constant
    else:
        theirs = peer.decision_function(X)
    np.testing.assert_allclose(ours.decision_function(X), theirs, rtol=1e-6, atol=1e-6)


def test_where_scikit_learn_loses_the_digits(rng):
    """At an offset of 1e8 ours is the model of the centred rows."""
    X = rng.normal(size=(400, 3)) * [1.0, 2.0, 0.5]
    y = (X[:, 0] > 0).astype(int)
    X = np.round(X * 2**20) / 2**20  # so that the offset takes no digit from the rows
    far, near = GaussianNB().fit(X + 2.0**26, y), GaussianNB().fit(X, y)
    np.testing.assert_allclose(far.var_, near.var_, rtol=1e-12)
    halves = GaussianNB().partial_fit(X[:99] + 2.0**26, y[:99])
    halves.partial_fit(X[99:] + 2.0**26, y[99:])
    np.testing.assert_allclose(halves.var_, near.var_, rtol=1e-12)


def test_maximum_likelihood_is_the_fit_of_scipy(rng):
    x = rng.normal(3.0, 2.0, size=500)
    mean, deviation = stats.norm.fit(x)
    found = maximum_likelihood(x, "normal")
    np.testing.assert_allclose(found.parameters["mean"], mean, rtol=1e-12)
    np.testing.assert_allclose(found.parameters["variance"], deviation**2, rtol=1e-12)
    expected = stats.norm(mean, deviation).logpdf(x).sum()
    np.testing.assert_allclose(found.log_likelihood, expected, rtol=1e-12)
    x = rng.exponential(0.7, size=500)
    _, scale = stats.expon.fit(x, floc=0)
    found = maximum_likelihood(x, "exponential")
    np.testing.assert_allclose(found.parameters["rate"], 1 / scale, rtol=1e-12)
    np.testing.assert_allclose(
        found.log_likelihood, stats.expon(scale=scale).logpdf(x).sum(), rtol=1e-12
    )
    counts = {
        "poisson": (rng.poisson(2.5, 300), stats.poisson, {"mu": (0.1, 20)}, None),
        "geometric": (rng.geometric(0.3, 300), stats.geom, {"p": (0.01, 1)}, None),
        "binomial": (rng.binomial(9, 0.4, 300), stats.binom, {"n": (9, 9), "p": (0, 1)}, 9),
    }
    for family, (x, peer, bounds, trials) in counts.items():
        fit = stats.fit(peer, x, bounds)
        found = maximum_likelihood(x, family, n_trials=trials)
        np.testing.assert_allclose(list(found.parameters.values())[-1], fit.params[-2], rtol=1e-3)
        assert found.log_likelihood >= -fit.nllf() - 1e-9
    X = rng.multivariate_normal([1.0, -1.0], [[2.0, 0.6], [0.6, 1.0]], size=300)
    mean, covariance = stats.multivariate_normal.fit(X)
    found = maximum_likelihood(X, "multivariate_normal")
    np.testing.assert_allclose(found.parameters["mean"], mean, rtol=1e-12)
    np.testing.assert_allclose(found.parameters["covariance"], covariance, rtol=1e-12)
    expected = stats.multivariate_normal(mean, covariance).logpdf(X).sum()
    np.testing.assert_allclose(found.log_likelihood, expected, rtol=1e-12)


@pytest.mark.parametrize("data", ["load_iris", "load_wine"])
@pytest.mark.parametrize("shrinkage", [None, "auto", 0.3])
def test_quadratic_discriminants_by_eigenvalues(data, shrinkage):
    X, y = load(data)
    options = dict(solver="eigen", shrinkage=shrinkage, store_covariance=True)
    ours = QuadraticDiscriminantAnalysis(**options).fit(X, y)
    peer = discriminants.QuadraticDiscriminantAnalysis(**options, tol=1e-9).fit(X, y)
    check(ours, peer, X, ["means_", "scalings_", "covariance_", "priors_"], rtol=1e-8)
    a, b = ours.decision_function(X), peer.decision_function(X)  # ours has the factor of 2 pi too
    np.testing.assert_allclose(a - a[:, :1], b - b[:, :1], rtol=1e-7)
