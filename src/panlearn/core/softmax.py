"""What a classifier answers once it has scores: labels, probabilities and their logarithms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin

from panlearn.core.short_rows import first_largest


class SoftmaxClassifier(ClassifierMixin):
    """A classifier whose probabilities are the softmax of its scores; abstract.

    A class gives ``_scores``: rows of scores in the order of ``classes_``, for X as in `fit`, after
    a look at whether there was a fit.
    """

    classes_: np.ndarray
    _scores: Callable[[Any], np.ndarray]

    def decision_function(self, X: Any) -> np.ndarray:
        """Give the scores of the classes before the softmax.

        Parameters
        ----------
        X : array-like or list
            Examples, as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            For two classes the score of the second less that of the first, of shape (n_samples,).
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Give the logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like or list
            Examples, as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return log_softmax(self._scores(X), axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Give the probabilities of the classes, in the order of ``classes_``.

        Parameters
        ----------
        X : array-like or list
            Examples, as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.exp(log_softmax(self._scores(X), axis=1))

    def predict(self, X: Any) -> np.ndarray:
        """Give the most probable label of each example.

        Parameters
        ----------
        X : array-like or list
            Examples, as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.classes_[first_largest(self._scores(X))]
