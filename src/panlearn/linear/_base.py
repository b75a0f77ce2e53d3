"""What linear models share: the prediction, and the shape of their coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.extmath import safe_sparse_dot

from panlearn.core.boundary import is_finite
from panlearn.core.capabilities import Capabilities
from panlearn.core.estimator import Estimator
from panlearn.core.learned import shapes
from panlearn.core.plain import known_rows
from panlearn.core.short_rows import shifted


def finite(values: np.ndarray, dtype: Any) -> np.ndarray:
    """Values as floats of a type, or an error if one of them is beyond it."""
    with np.errstate(over="ignore"):
        values = values.astype(dtype, copy=False)
    if not is_finite(values):
        raise ValueError(
            f"what X and the coefficients give is beyond {values.dtype}; rescale X, or leave out "
            "the rows of extreme values"
        )
    return values


def lengths(rows: np.ndarray) -> np.ndarray:
    """The norm of each row, without a square that overflows."""
    largest = np.abs(rows).max(axis=1, initial=0.0)
    scale = np.where(largest > 0, largest, 1.0)
    return scale * np.sqrt(np.square(rows / scale[:, None]).sum(axis=1))


class LinearPredictor(Estimator):
    """A model whose score is an affine function of the features; abstract.

    A fitted one has ``coef_`` of shape (n_features,) or (n_targets, n_features) and ``intercept_``.
    """

    learned = shapes(
        coef_="(n_features,) or (n_targets, n_features)",
        intercept_="() or (n_targets,)",
    )

    capabilities = Capabilities(sparse=True)

    coef_: np.ndarray
    intercept_: Any

    def _score_rows(self, X: Any) -> np.ndarray:
        """X w + b for rows given by the user."""
        self._require_fitted()
        X = known_rows(self, X, accept_sparse="csr")
        with np.errstate(over="ignore", invalid="ignore"):
            scores = safe_sparse_dot(X, self.coef_.T, dense_output=True)
            same = scores.dtype == np.result_type(scores, self.intercept_)
            out = scores if same else None
            if scores.ndim == 2:
                scores = shifted(scores, self.intercept_, out=out)
            else:
                scores = np.add(scores, self.intercept_, out=out)
        return finite(scores, scores.dtype)


class LinearRegressor(RegressorMixin, LinearPredictor):
    """A regressor that predicts with an affine function; abstract."""

    def predict(self, X: Any) -> np.ndarray:
        """Predict the target of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        return self._score_rows(X)


class MultiTargetRegressor(MultiOutputMixin, LinearRegressor):
    """A linear regressor that learns several targets at once; abstract."""
