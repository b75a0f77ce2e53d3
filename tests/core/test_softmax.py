"""What classifiers make of scores: values by hand, for two classes and for three."""

import numpy as np
import pytest

from panlearn.core.softmax import SoftmaxClassifier


class Given(SoftmaxClassifier):
    """Scores are what is asked about."""

    def __init__(self, labels):
        self.classes_ = np.array(labels)

    def _scores(self, X):
        return np.log(np.asarray(X, dtype=float))


def test_probabilities_are_the_shares_of_exponentials():
    model, X = Given(["b", "c", "a"]), [[1.0, 2.0, 5.0], [3.0, 0.5, 0.5]]
    shares = [[1 / 8, 2 / 8, 5 / 8], [3 / 4, 1 / 8, 1 / 8]]
    np.testing.assert_allclose(model.predict_proba(X), shares, rtol=1e-15)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(shares), rtol=1e-14)
    np.testing.assert_allclose(model.decision_function(X), np.log(X))
    assert model.predict(X).tolist() == ["a", "b"]


def test_of_two_classes_the_decision_is_a_difference():
    model = Given([4, 7])
    assert model.decision_function([[1.0, 4.0]]) == pytest.approx([np.log(4)])
    assert model.predict([[1.0, 4.0], [4.0, 1.0]]).tolist() == [7, 4]


def test_extreme_scores_keep_their_logarithms():
    """exp(-2000) is no float; its logarithm is."""
    found = Given([0, 1])
    found._scores = lambda X: np.array([[0.0, 2000.0]])
    np.testing.assert_array_equal(found.predict_log_proba(None), [[-2000.0, 0.0]])
    np.testing.assert_array_equal(found.predict_proba(None), [[0.0, 1.0]])
