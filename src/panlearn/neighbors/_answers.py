"""What neighbours say of a row: the votes of their labels, and the mean of their targets."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin

from panlearn.core.learned import shapes
from panlearn.neighbors._ball import Ball
from panlearn.neighbors._base import StoredRows


class VotingRows(ClassifierMixin, StoredRows):
    """A classifier by the votes of neighbours; abstract."""

    learned = shapes(
        y_="(n_samples_fit,) < n_classes",
    )

    classes_: np.ndarray
    y_: np.ndarray

    @abstractmethod
    def predict_proba(self, X: Any) -> np.ndarray:
        """Share of the vote that each class has."""

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of the share of the vote that each class has.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Minus infinity for a class that no neighbour has.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _shares(self, near: Ball) -> np.ndarray:
        """The share of each class in the votes; none where there is no neighbour."""
        n, k, voices = len(near.sizes), len(self.classes_), self._voices(near)
        # of nothing at all it counts whole numbers
        votes = np.bincount(near.query * k + self.y_[near.which], voices, n * k).astype(float)
        votes = votes.reshape(n, k)
        total = votes.sum(axis=1, keepdims=True)
        return (votes / np.where(total > 0, total, 1)).astype(voices.dtype, copy=False)


class AveragedRows(MultiOutputMixin, RegressorMixin, StoredRows):
    """A regressor by the mean target of neighbours; abstract."""

    learned = shapes(
        y_="(n_samples_fit,) or (n_samples_fit, n_targets)",
    )

    y_: np.ndarray

    def _mean(self, near: Ball) -> np.ndarray:
        """The weighted mean of the targets, (n_queries,) or (n_queries, n_targets)."""
        voices = near.matrix(self._voices(near), self.n_samples_fit_)
        total = voices.astype(float, copy=False) @ np.ones(self.n_samples_fit_)
        voices.data /= np.repeat(total.astype(voices.dtype), near.sizes)
        return voices @ self.y_
