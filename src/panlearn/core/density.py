"""What every model with a density of a row has: its mean over rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np


class Density(ABC):
    """A model that gives the log density of a row; abstract."""

    @abstractmethod
    def score_samples(self, X: Any) -> np.ndarray:
        """Give the log density of each row."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Give the mean log density of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, of any kind that `score_samples` takes.
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the mean.

        Returns
        -------
        float
        """
        return float(np.average(self.score_samples(X).astype(float), weights=sample_weight))
