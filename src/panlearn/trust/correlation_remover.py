"""Features without what they tell, linearly, of a sensitive column."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from panlearn.core.estimator import Estimator, fitting
from panlearn.core.parameters import Fraction
from panlearn.core.validation import reject_hidden
from panlearn.trust._groups import group_codes


@dataclass(eq=False, repr=False)
class CorrelationRemover(OneToOneFeatureMixin, TransformerMixin, Estimator):
    r"""Subtract from each feature its least-squares prediction from the sensitive columns.

    .. math:: Z = X - \alpha \, (S - \bar S) \, B, \qquad
        B = \arg\min_B \|X - \bar X - (S - \bar S) B\|_F^2

    Parameters
    ----------
    alpha : float, default=1.0
        How much is subtracted: at 1 no feature is correlated with a sensitive column, at 0 the
        features stay as they are.

    Attributes
    ----------
    coef_ : ndarray of shape (n_sensitive, n_features)
        The coefficients B; with no sensitive columns it has no rows.
    sensitive_mean_ : ndarray of shape (n_sensitive,)
        The mean of the sensitive columns.
    groups_ : list
        The values of a sensitive column that holds no numbers, of which all but the first have an
        indicator; empty for numbers.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if they were given.

    Notes
    -----
    The sensitive columns are arguments of ``fit`` and ``transform``, with metadata routing, and no
    features. Only the linear relation goes: a forest may still find others. A fit costs
    :math:`O(n s (s + d))` for s sensitive columns.

    References
    ----------
    H. Weerts, M. Dudík, R. Edgar, A. Jalali, R. Lutz and M. Madaio (2023). Fairlearn: assessing and
    improving fairness of AI systems. Journal of Machine Learning Research 24.

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.trust import CorrelationRemover
    >>> rng = np.random.default_rng(0)
    >>> s = rng.integers(2, size=200)
    >>> X = rng.normal(size=(200, 3)) + s[:, None]
    >>> Z = CorrelationRemover().fit_transform(X, sensitive_features=s)
    >>> bool(np.abs(np.cov(Z.T, s)[-1, :3]).max() < 1e-10)
    True
    """

    _: KW_ONLY
    alpha: Fraction[float] = 1.0

    @fitting
    def fit(self, X: Any, y: Any = None, sensitive_features: Any = None) -> Self:
        """Learn what the sensitive columns tell of each feature.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : None
            Ignored.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, k), default=None
            Numbers, or one column of groups; without it nothing is removed.

        Returns
        -------
        self
            The model itself.
        """
        reject_hidden(X=X)
        rows = validate_data(self, X, dtype=[np.float64, np.float32])
        self.groups_ = _labels(sensitive_features)
        S = self._sensitive(sensitive_features, len(rows), rows.dtype)
        self.sensitive_mean_ = S.mean(axis=0)
        centred = S - self.sensitive_mean_
        self.coef_ = np.linalg.lstsq(centred, rows - rows.mean(axis=0), rcond=None)[0]
        return self

    def transform(self, X: Any, sensitive_features: Any = None) -> np.ndarray:
        """Subtract what the sensitive columns tell of each feature.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, k), default=None
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        self._require_fitted()
        reject_hidden(X=X)
        rows = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        S = self._sensitive(sensitive_features, len(rows), rows.dtype)
        if S.shape[1] != len(self.coef_):
            raise ValueError(
                f"sensitive_features has {S.shape[1]} columns, and the fit had {len(self.coef_)}"
            )
        centred = S - self.sensitive_mean_.astype(rows.dtype)
        return rows - rows.dtype.type(self.alpha) * (centred @ self.coef_.astype(rows.dtype))

    def fit_transform(self, X: Any, y: Any = None, sensitive_features: Any = None) -> np.ndarray:
        """Fit, then transform the same rows.

        Parameters
        ----------
        X, y, sensitive_features
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        return self.fit(X, y, sensitive_features=sensitive_features).transform(
            X, sensitive_features=sensitive_features
        )

    def _sensitive(self, sensitive: Any, n: int, dtype: Any) -> np.ndarray:
        """The sensitive columns as numbers: those given, or an indicator for each other group."""
        if sensitive is None:
            return np.zeros((n, 0), dtype=dtype)
        if self.groups_:
            groups, codes = group_codes(sensitive, n)
            if unknown := [group for group in groups if group not in self.groups_]:
                raise ValueError(f"sensitive_features has {unknown[:3]}, which the fit had not")
            places = np.array([self.groups_.index(group) for group in groups])
            return np.eye(len(self.groups_), dtype=dtype)[places[codes]][:, 1:]
        table = np.asarray(sensitive, dtype=float)
        table = table[:, None] if table.ndim == 1 else table
        if table.ndim != 2 or len(table) != n or not np.isfinite(table).all():
            raise ValueError(
                f"sensitive_features must be {n} rows of finite numbers; shape {table.shape}"
            )
        return table.astype(dtype)


def _labels(sensitive: Any) -> list:
    """The groups of a column that holds no numbers; none of one that does."""
    values = np.asarray(sensitive)
    if sensitive is None or values.dtype.kind in "biuf":
        return []
    return group_codes(sensitive, len(values))[0]
