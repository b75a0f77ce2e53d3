"""What every model with a density of a row has: its mean, and criteria to choose by."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np


class Likelihood(ABC):
    """A model that gives the log density of a row, from a known number of parameters; abstract."""

    @abstractmethod
    def score_samples(self, X: Any) -> np.ndarray:
        """Give the log density of each row."""

    @abstractmethod
    def _n_parameters(self) -> int:
        """How many numbers are free."""

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

    def bic(self, X: Any) -> float:
        """Give the Bayesian information criterion on rows; lower is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, of any kind that `score_samples` takes.

        Returns
        -------
        float
        """
        density = self.score_samples(X).astype(float)
        return float(-2 * density.sum() + self._n_parameters() * np.log(len(density)))

    def aic(self, X: Any) -> float:
        """Give Akaike's information criterion on rows; lower is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, of any kind that `score_samples` takes.

        Returns
        -------
        float
        """
        return float(-2 * self.score_samples(X).astype(float).sum() + 2 * self._n_parameters())
