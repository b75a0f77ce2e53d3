"""Classes as unit vectors: the nearest is the answer."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin

from panlearn.core.estimator import Estimator


class _Learned:
    """What `fit` sets."""

    classes_: np.ndarray
    prototypes_: np.ndarray


@dataclass(eq=False, repr=False)
class PrototypeClassifier(ClassifierMixin, Estimator, _Learned):
    """A classifier by the largest scaled cosine with the vector of a class; abstract."""

    def __sklearn_clone__(self) -> Any:
        """Copy the parameters but for the encoder, which is only looked at and stays fitted."""
        made: Any = super().__sklearn_clone__()
        made.model = self.model
        return made

    @abstractmethod
    def _vectors(self, X: Any) -> np.ndarray:
        """Give the vectors of examples that are like those of `fit`."""

    @property
    @abstractmethod
    def _scale(self) -> float:
        """The factor of the cosines."""

    def _scores(self, X: Any) -> np.ndarray:
        self._require_fitted()
        return self._scale * unit(self._vectors(X)) @ self.prototypes_.T

    def decision_function(self, X: Any) -> np.ndarray:
        """Give the scaled cosine of each example and each class.

        Parameters
        ----------
        X : array-like
            Examples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,)
            With two classes, the second's minus the first's.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """Give the softmax of the scaled cosines.

        Parameters
        ----------
        X : array-like
            Examples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return softmax(self._scores(X), axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """Give the class whose vector is nearest.

        Parameters
        ----------
        X : array-like
            Examples.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.classes_[self._scores(X).argmax(axis=1)]


def unit(vectors: np.ndarray) -> np.ndarray:
    """Rows of length one; one of zeros stays."""
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0)
    safe = vectors / np.where(largest > 0, largest, 1)  # squares neither overflow nor vanish
    length = np.linalg.norm(safe, axis=1, keepdims=True)
    return safe / np.where(length > 0, length, 1)
