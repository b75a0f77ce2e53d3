"""GaussianMixtureClassifier: one mixture a class, and Bayes' rule."""

import numpy as np
import pytest
from scipy.special import logsumexp

from panlearn.bayes import GaussianMixtureClassifier, QuadraticDiscriminantAnalysis
from panlearn.latent import GaussianMixture


@pytest.fixture(name="data")
def two_sides(rng):
    """A class on both sides of the other."""
    X = np.r_[rng.normal(size=(100, 2)), rng.normal(size=(60, 2)) + 6, rng.normal(size=(40, 2)) - 6]
    return X, np.repeat(["inner", "outer"], 100)


def test_one_component_is_quadratic_discriminant_analysis(data):
    X, y = data
    ours = GaussianMixtureClassifier(reg_covar=0).fit(X, y)
    theirs = QuadraticDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X))


def test_the_posterior_is_bayes_rule(data):
    X, y = data
    model = GaussianMixtureClassifier(2, priors=[0.3, 0.7], random_state=0).fit(X, y)
    joint = np.stack([m.score_samples(X) for m in model.mixtures_], axis=1) + np.log([0.3, 0.7])
    expected = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-12)
    np.testing.assert_allclose(model.score_samples(X), logsumexp(joint, axis=1))
    assert model.score(X, y) > 0.98
    alone = GaussianMixture(2, random_state=0).fit(X[y == "outer"])
    assert sorted(model.mixtures_[1].weights_) == pytest.approx(sorted(alone.weights_))


def test_missing_entries_are_marginalised(data):
    X, y = data
    model = GaussianMixtureClassifier(2, random_state=0).fit(X, y)
    holes = X.copy()
    holes[::3, 1] = np.nan
    again = GaussianMixtureClassifier(2, random_state=0).fit(holes, y)
    assert again.score(holes, y) > 0.95
    only = np.full((1, 2), np.nan)
    np.testing.assert_allclose(model.predict_proba(only)[0], model.priors_)


def test_a_class_with_too_few_rows_is_named(data):
    X, y = data
    with pytest.raises(ValueError, match="class inner has 3 rows"):
        GaussianMixtureClassifier(4).fit(X[97:], y[97:])
    with pytest.raises(ValueError, match="one class only"):
        GaussianMixtureClassifier().fit(X, np.zeros(200))
