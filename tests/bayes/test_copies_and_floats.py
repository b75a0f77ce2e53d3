"""What generative classifiers promise of the caller's arrays, of floats, and of extreme rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from panlearn.bayes import (
    AbstainingClassifier,
    BernoulliNB,
    CategoricalNB,
    CostSensitiveClassifier,
    GaussianMixtureClassifier,
    GaussianNB,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    QuadraticDiscriminantAnalysis,
)

WITH_PRIORS = [
    GaussianNB,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
    GaussianMixtureClassifier,
]


def data():
    rng = np.random.default_rng(2)
    y = np.arange(60) % 2
    return rng.normal(size=(60, 3)) + 0.5 * y[:, None], y


@pytest.mark.parametrize("kind", WITH_PRIORS)
def test_priors_are_a_copy(kind):
    X, y = data()
    priors = np.array([0.2, 0.8])
    model = kind(priors=priors).fit(X, y)
    before = model.predict_proba(X)
    priors[:] = 0.99, 0.01
    assert_array_equal(model.predict_proba(X), before)
    X[:], y[:] = 0, 0
    assert_allclose(model.priors_ if hasattr(model, "priors_") else model.class_prior_, [0.2, 0.8])


@pytest.mark.parametrize("kind", [BernoulliNB, CategoricalNB, MultinomialNB])
def test_counts_keep_nothing_of_the_caller(kind):
    X, y = data()
    X, prior, alpha = np.abs(np.round(X)), np.array([0.2, 0.8]), np.ones(3)
    alphas = {} if kind is CategoricalNB else {"alpha": alpha}
    model = kind(class_prior=prior, **alphas).fit(X, y)
    new = X.copy()
    before = model.predict_proba(new)
    X[:], y[:], prior[:], alpha[:] = 0, 0, 0.5, 9
    assert_array_equal(model.predict_proba(new), before)


def test_costs_are_a_copy():
    X, y = data()
    costs = np.array([[0.0, 1.0], [4.0, 0.0]])
    model = CostSensitiveClassifier(costs=costs).fit(X, y)
    before = model.expected_cost(X)
    costs[:] = 0
    assert_array_equal(model.expected_cost(X), before)


@pytest.mark.parametrize("kind", [AbstainingClassifier, CostSensitiveClassifier])
def test_logarithms_of_probabilities_are_those_of_the_inner_classifier(kind):
    X, y = data()
    model = kind(GaussianNB()).fit(X, y)
    assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    far = model.predict_log_proba(1e3 * X)
    assert np.isfinite(far).all()  # where the logarithm of the probability would be infinite
    assert far.min() < -1000


def test_float32_stays_float32():
    X, y = data()
    model = GaussianNB().fit(X.astype(np.float32), y)
    for values in (model.theta_, model.var_, model.predict_proba(X.astype(np.float32))):
        assert values.dtype == np.float32
    exact = GaussianNB().fit(X.astype(np.float32).astype(float), y)
    assert_allclose(model.theta_, exact.theta_, rtol=1e-6)
    # the attributes are rounded, what is computed with is not
    assert_allclose(model.predict_log_proba(X), exact.predict_log_proba(X), rtol=1e-12)
    large = GaussianNB().fit((1e30 * X).astype(np.float32), y)
    assert np.isfinite(large.predict_proba((1e30 * X).astype(np.float32))).all()
    assert (large.predict((1e30 * X).astype(np.float32)) == exact.predict(X)).mean() > 0.95


def test_without_smoothing_a_constant_feature_decides_by_distance():
    X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 3.0], [1.0, 3.0], [5.0, 1.0]])
    y = np.array([0, 0, 1, 1, 2])
    for scale in (1e-140, 1e-5, 1.0, 1e140):
        model = GaussianNB(var_smoothing=0).fit(scale * X, y)
        assert_array_equal(model.predict(scale * (X + 0.2)), y)


@pytest.mark.parametrize("kind", WITH_PRIORS)
def test_rows_at_the_end_of_the_floats_have_finite_probabilities(kind):
    X, y = data()
    model = kind().fit(X, y)
    for size in (1e160, 1e200, 1e300):
        if kind is GaussianMixtureClassifier:  # its mixtures refuse what they cannot square
            with pytest.raises(ValueError, match="takes up to 1e"):
                model.predict_proba(size * X)
            continue
        probability = model.predict_proba(size * X)
        assert np.isfinite(probability).all()
        assert_allclose(probability.sum(axis=1), 1)


@pytest.mark.parametrize(
    "kind", [GaussianNB, MultinomialNB, BernoulliNB, QuadraticDiscriminantAnalysis]
)
def test_a_malformed_sparse_matrix_is_refused_when_rows_are_scored(kind):
    X, y = data()
    model = kind().fit(np.abs(X), y)
    bad = sparse.csr_array(np.abs(X))
    bad.indices[0] = 999_999
    with pytest.raises(ValueError, match="malformed sparse"):
        model.predict_joint_log_proba(bad)
