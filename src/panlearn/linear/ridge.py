"""Ridge regression."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.estimator import fitting
from panlearn.core.parameters import NonNegative
from panlearn.linear._base import MultiTargetRegressor
from panlearn.linear._mergeable import learn, learn_more


@dataclass(eq=False, repr=False)
class Ridge(MultiTargetRegressor):
    r"""Least squares with an :math:`\ell_2` penalty.

    .. math::
        \min_{w, b} \; \sum_i s_i \, (y_i - x_i^\top w - b)^2 + \alpha \|w\|_2^2

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1.0
        The strength of the penalty; an array gives each target its own.
    fit_intercept : bool, default=True
        Whether to learn the intercept b, which is not penalised.
    positive : bool, default=False
        Whether all weights must be at least zero.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        The weights w.
    intercept_ : float or ndarray of shape (n_targets,)
        The intercept b.
    statistic_ : Statistic
        The moments of the rows seen, from which `partial_fit` goes on; absent if X was wide.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X had names.

    Notes
    -----
    With more rows than columns the normal equations are solved from centred second moments,
    :math:`O(n d^2 + d^3)`, with more columns than rows from the singular values of the rows,
    :math:`O(n^2 d)`: the primal or the dual problem, whichever is smaller. Ill-conditioned moments
    are replaced by their square root, found by QR; with `positive` that root is always taken, and
    solved by the active sets of Lawson and Hanson. X may be an array, a sparse matrix, a stream of
    batches (`panlearn.Batches`) or a Dask collection, with the same coefficients.

    References
    ----------
    A. E. Hoerl and R. W. Kennard (1970). Ridge regression: biased estimation for nonorthogonal
    problems. Technometrics 12(1). doi:10.1080/00401706.1970.10488634

    Examples
    --------
    >>> from panlearn.linear import Ridge
    >>> model = Ridge(alpha=1.0).fit([[0.0], [1.0], [2.0]], [0.0, 2.0, 4.0])
    >>> model.coef_.round(3), round(model.intercept_, 3)
    (array([1.333]), 0.667)
    """

    capabilities = Capabilities(sources=ANYWHERE, any_order=True, partial_fit="exact", sparse=True)

    alpha: NonNegative[float] | np.ndarray = 1.0
    _: KW_ONLY
    fit_intercept: bool = True
    positive: bool = False

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from training data.

        Parameters
        ----------
        X : {array-like, sparse matrix}, Batches or Dask collection
            The rows, of shape (n_samples, n_features).
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The targets; with a stream they come in its batches.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; an integer weight is a repeated row.

        Returns
        -------
        Ridge
            The model itself.
        """
        learn(self, X, y, sample_weight, penalty=self.alpha)
        return self

    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more data as if it had been there from the start.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        Ridge
            The model itself.
        """
        learn_more(self, X, y, sample_weight, penalty=self.alpha)
        return self
