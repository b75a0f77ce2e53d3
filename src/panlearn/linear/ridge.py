"""Ridge regression."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from panlearn.core.parameters import NonNegative
from panlearn.linear._least_squares import Solution
from panlearn.linear._mergeable import LeastSquares, set_coefficients


@dataclass(eq=False, repr=False)
class Ridge(LeastSquares):
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

    alpha: NonNegative[float] | np.ndarray = 1.0
    _: KW_ONLY
    fit_intercept: bool = True
    positive: bool = False

    def _penalty(self) -> Any:
        return self.alpha

    def _set_fitted(self, solution: Solution, dtype: np.dtype, *, single: bool) -> None:
        set_coefficients(self, solution, dtype, single=single)
