"""What models of linear factors with Gaussian noise share: fitting from any source, and use."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.derived import derived
from panlearn.core.em import expectation_maximisation
from panlearn.core.map_reduce import map_reduce
from panlearn.core.memory import require_memory
from panlearn.core.mergeable import Mergeable
from panlearn.core.parameters import RandomState
from panlearn.core.progress import Iterative
from panlearn.core.random import generator
from panlearn.core.sources import ArrayRows, Rows
from panlearn.core.statistics import Moments, RootMoments
from panlearn.core.validation import read_rows
from panlearn.latent._extremes import checked_rows, floats, log_floats
from panlearn.latent._factors import (
    Factors,
    FactorSums,
    Known,
    Observed,
    expect,
    inferred,
    variances,
)
from panlearn.latent._likelihood import Likelihood
from panlearn.latent._rows import coordinates

FLOOR = 1e-9  # the least share of a feature's variance that is noise


class LinearGaussian(
    Likelihood, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Iterative, Mergeable
):
    """A density with few linear factors, learned from moments or, with holes, by EM; abstract."""

    _kept_none_if = "it was fitted to rows with NaN, of which no moments are kept"
    capabilities = Capabilities(
        sources=ANYWHERE, any_order=True, partial_fit="exact", missing=True, sparse=True
    )

    n_components: int | None
    max_iter: int
    tol: float
    components_: np.ndarray
    mean_: np.ndarray
    noise_variance_: Any

    @abstractmethod
    def _from_moments(self, moments: Moments | RootMoments, k: int) -> Factors:
        """Learn from complete rows, with the mean taken as zero."""

    @abstractmethod
    def _first(self, moments: Moments | RootMoments, k: int) -> Factors:
        """Parameters to start from, the mean taken as zero."""

    @abstractmethod
    def _step(self, at: Factors, seen: FactorSums, floor: np.ndarray) -> Factors:
        """Maximise, from rows that may be incomplete."""

    @abstractmethod
    def _set_fitted(self, found: Factors, dtype: np.dtype) -> None:
        """Set the parameters."""

    @abstractmethod
    def _noise(self) -> np.ndarray:
        """The variances of the noise, one a feature."""

    def _read_training(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Rows:
        return read_rows(self, X, None, sample_weight, reset=reset)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Solve from the moments of complete rows; rows with missing entries are walked by EM."""
        rows = self._read_training(X, y, sample_weight, reset=True)
        kind = _kind(rows)
        moments = _moments(rows, kind)
        if not moments.is_finite:
            return self._fit_incomplete(rows)
        if not moments.weight > 1:
            raise ValueError(
                f"the variance of n_samples = {moments.weight:g} (the sum of the weights) is not "
                "defined; give more than 1 sample"
            )
        return self._take(moments, rows)

    def _summarise(self, rows: Rows) -> Moments | RootMoments:
        moments = _moments(rows, _kind(rows, vars(self).get("statistic_")))
        if not moments.is_finite:
            raise ValueError("partial_fit takes complete rows, and X contains NaN or infinity")
        return moments

    def _solve(self, statistic: Moments | RootMoments, rows: Rows) -> None:
        found = self._from_moments(statistic, self._wanted(rows.n_features))
        self._set_fitted(found._replace(mean=statistic.mean), rows.dtype)

    def _fit_incomplete(self, rows: Rows) -> Self:
        if not rows.repeatable:
            raise ValueError(
                f"{type(self).__name__} walks rows with missing entries (NaN) several times and "
                "this iterator can be walked once; give a list of batches"
            )
        seen = map_reduce(lambda X, y, w: Observed.of(X, w), rows, require_finite=False)
        mean = _observed_mean(seen)
        kind = _kind(rows)
        filled = map_reduce(lambda X, y, w: kind.of(_filled(X, mean), weight=w), rows)
        # a filled entry adds nothing to the scatter: blow it up to what the others have
        scale = np.sqrt(seen.weight / seen.count)
        if isinstance(filled, RootMoments):
            filled = RootMoments(filled.weight, mean, filled.root * scale)
        else:
            filled = Moments(filled.weight, mean, filled.scatter * np.outer(scale, scale))
        floor = noise_floor(variances(filled))
        start = self._first(filled, self._wanted(rows.n_features))._replace(mean=mean)
        self._set_fitted(
            self._iterate(rows, start, lambda at, sums: self._step(at, sums, floor)), rows.dtype
        )
        return self

    def _iterate(
        self,
        rows: Rows,
        start: Factors,
        step: Callable[[Factors, FactorSums], Factors],
        complete: bool = False,
    ) -> Factors:
        """Run EM; `step` maximises, given the parameters that the sums were taken at."""
        return expectation_maximisation(
            self,
            rows,
            start,
            expect=lambda *block: expect(*block, complete=complete),
            maximise=step,
            max_iter=self.max_iter,
            tol=self.tol,
        )

    def _wanted(self, d: int) -> int:
        k = d if self.n_components is None else self.n_components
        if k > d:
            raise ValueError(f"n_components={k} is more than n_features={d}; ask for fewer")
        return int(k)

    def transform(self, X: Any) -> np.ndarray:
        """Give the mean of the factors of each row, given the entries that it has.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; NaN is missing.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        X = self._check(X)
        out = np.empty((X.shape[0], len(self.components_)))
        for index, _, found in inferred(self._complete, X):
            out[index] = found.means
        return floats(out, X.dtype, "the factors")

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Give the mean of the rows that have these factors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Factors, as `transform` returns them.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        self._require_fitted()
        return coordinates(X, len(self.components_)) @ self.components_ + self.mean_

    def score_samples(self, X: Any) -> np.ndarray:
        """Give the log density of each row, of the entries that it has.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; NaN is missing.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        X = self._check(X)
        out = np.empty(X.shape[0])
        for index, _, found in inferred(self._complete, X):
            out[index] = found.log_density
        return log_floats(out, X.dtype)

    def impute(self, X: Any) -> np.ndarray:
        """Fill missing entries with their conditional means, which have the least squared error.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is missing.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        X, at = self._check(X, accept_sparse=False), self._complete.at
        out = np.array(X, dtype=float)
        for index, seen, found in inferred(self._complete, X):
            if not seen.all():
                guess = at.mean[~seen] + found.means @ at.loadings[~seen].T
                out[np.ix_(index, ~seen)] = guess
        return floats(out, X.dtype, "the missing entries")

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> np.ndarray:
        """Draw rows from the model.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, Generator, RandomState or None, default=None
            Seeds the draws.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        at, rng = self._factors(), generator(random_state)
        d, k = at.loadings.shape
        factors, noise = rng.standard_normal((n_samples, k)), rng.standard_normal((n_samples, d))
        rows = at.mean + factors @ at.loadings.T + noise * np.sqrt(at.noise)
        return rows.astype(self.components_.dtype, copy=False)

    def get_covariance(self) -> np.ndarray:
        """Give the covariance of the model, that of the factors and of the noise.

        Returns
        -------
        ndarray of shape (n_features, n_features)
        """
        at = self._factors()
        covariance = at.loadings @ at.loadings.T + np.diag(at.noise)
        return floats(covariance, self.components_.dtype, "the covariances")

    def get_precision(self) -> np.ndarray:
        """Give the inverse of the covariance of the model.

        Returns
        -------
        ndarray of shape (n_features, n_features)
        """
        at = self._factors()
        scaled = at.loadings / at.noise[:, None]
        inner = np.eye(at.loadings.shape[1]) + at.loadings.T @ scaled
        precision = np.diag(1 / at.noise) - scaled @ np.linalg.solve(inner, scaled.T)
        return floats(precision, self.components_.dtype, "the precisions")

    def _factors(self) -> Factors:
        self._require_fitted()
        mean, loadings = self.mean_.astype(float), self.components_.T.astype(float)
        return Factors(mean, loadings, self._noise())

    @derived("mean_", "components_", "noise_variance_")
    def _complete(self) -> Known:
        """The law of the factors of rows that miss nothing."""
        return Known(self._factors())

    def _check(self, X: Any, accept_sparse: Any = "csr") -> Any:
        self._require_fitted()
        return checked_rows(self, X, reset=False, accept_sparse=accept_sparse, allow_nan=True)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def noise_floor(variance: np.ndarray) -> np.ndarray:
    """The least variances of the noise; a feature that does not vary has one from the others."""
    return np.maximum(FLOOR * variance, 1e-12 * (variance.max() or 1.0))


def with_signs(loadings: np.ndarray) -> np.ndarray:
    """Make the largest entry of each column positive; of equally large ones, the first."""
    size = np.abs(loadings)
    leading = np.argmax(size >= (1 - 1e-6) * size.max(axis=0), axis=0)
    signs = np.sign(loadings[leading, np.arange(loadings.shape[1])])
    return loadings * np.where(signs == 0, 1, signs)


def _kind(rows: Rows, seen: Any = None) -> type[Moments | RootMoments]:
    """How to sum up: as before, or of fewer rows than features without their covariance."""
    if seen is not None:
        return type(seen)
    return (
        RootMoments
        if isinstance(rows, ArrayRows) and rows.X.shape[0] < rows.n_features
        else Moments
    )


def _moments(rows: Rows, kind: type[Any]) -> Any:
    d = rows.n_features
    if kind is Moments:
        require_memory((d, d), "the covariance", "choose fewer features")
    return map_reduce(lambda X, y, weight: kind.of(X, weight=weight), rows, require_finite=False)


def _filled(X: Any, mean: np.ndarray) -> np.ndarray:
    rows = X.toarray() if hasattr(X, "toarray") else X
    return np.where(np.isnan(rows), mean, rows)


def _observed_mean(seen: Observed) -> np.ndarray:
    """The mean of the entries that are there; refused where they are infinite or none."""
    if not np.isfinite(seen.total).all():
        raise ValueError("Input X contains infinity or a value too large for its dtype")
    empty = np.flatnonzero(seen.count == 0)
    if empty.size:
        raise ValueError(
            f"column {', '.join(map(str, empty))} of X is NaN in every row; drop it, or learn from "
            "rows that have it"
        )
    return seen.total / seen.count
