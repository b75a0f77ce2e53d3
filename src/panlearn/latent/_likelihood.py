"""Criteria to choose a model of a density by."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from panlearn.core.density import Density


class Likelihood(Density):
    """A model that gives the log density of a row, from a known number of parameters; abstract."""

    @abstractmethod
    def _n_parameters(self) -> int:
        """How many numbers are free."""

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


class ClassedLikelihood(Likelihood):
    """A density whose rows belong to classes; abstract."""

    @abstractmethod
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from training data."""

    @abstractmethod
    def predict(self, X: Any) -> np.ndarray:
        """Give the most probable class of each row."""

    @abstractmethod
    def _log_posteriors(self, X: Any) -> np.ndarray:
        """The log-probabilities of the classes of each row."""

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Give the logarithms of the probabilities of the classes of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, of any kind that `predict` takes.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Exact where the probabilities themselves are zero to the floats.
        """
        return self._log_posteriors(X)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Learn from training data, and give the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, of any kind that both `fit` and `predict` take.
        y, sample_weight
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.fit(X, y, sample_weight).predict(X)
