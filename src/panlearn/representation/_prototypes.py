"""Classes as unit vectors: the nearest is the answer."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from panlearn.core.estimator import Estimator
from panlearn.core.softmax import SoftmaxClassifier


class _Learned:
    """What `fit` sets."""

    classes_: np.ndarray
    prototypes_: np.ndarray


@dataclass(eq=False, repr=False)
class PrototypeClassifier(SoftmaxClassifier, Estimator, _Learned):
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


def unit(vectors: np.ndarray) -> np.ndarray:
    """Rows of length one; one of zeros stays."""
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0)
    safe = vectors / np.where(largest > 0, largest, 1)  # squares neither overflow nor vanish
    length = np.linalg.norm(safe, axis=1, keepdims=True)
    return safe / np.where(length > 0, length, 1)
