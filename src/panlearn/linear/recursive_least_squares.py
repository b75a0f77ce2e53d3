"""Least squares one row at a time, with the covariance of the estimate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from panlearn.core.estimator import fitting
from panlearn.core.memory import require_memory
from panlearn.core.parameters import Bounds, NonNegative, Positive
from panlearn.core.sources import ArrayRows, Block, DaskRows, Rows
from panlearn.core.validation import FLOATS, read_rows
from panlearn.linear._base import MultiTargetRegressor
from panlearn.linear._prior import prior_covariance, prior_mean
from panlearn.linear._recursive_kernels import update


@dataclass(eq=False, repr=False)
class RecursiveLeastSquares(MultiTargetRegressor):
    r"""Least squares that takes in one row after another and may forget old ones.

    .. math::
        \min_\theta \; f^n (\theta - \theta_0)^\top P_0^{-1} (\theta - \theta_0)
        + \frac{1}{R} \sum_{i=1}^n f^{n - i} (y_i - x_i^\top \theta)^2

    Parameters
    ----------
    prior_mean : float or array-like of shape (n_features,), default=0.0
        The estimate :math:`\theta_0` before any row.
    prior_covariance : float or array-like, default=1000000.0
        Its covariance :math:`P_0`: one variance, a vector of variances, or a matrix. A variance
        of zero freezes a coefficient.
    noise_variance : float, default=1.0
        The variance R of the noise of a row.
    forgetting : float, default=1.0
        The weight f of the past at each row, in (0, 1]; 1 forgets nothing. The memory is about
        1 / (1 - f) rows.
    fit_intercept : bool, default=True
        Whether to learn an intercept: the coefficient of a last column of ones, which has a
        prior of its own.
    intercept_prior_mean : float, default=0.0
        The intercept before any row.
    intercept_prior_variance : float, default=1000000.0
        Its variance.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        The estimate of the weights.
    intercept_ : float or ndarray of shape (n_targets,)
        The estimate of the intercept.
    theta_ : ndarray of shape (n_features (+ 1), n_targets)
        Both, in float64, the intercept last.
    covariance_ : ndarray of shape (n_features (+ 1), n_features (+ 1))
        The covariance P of the estimate.
    n_samples_seen_ : int
        Rows taken in, those of zero weight aside.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    Each row moves the estimate by the gain :math:`K = P x / (x^\top P x + R)` times the error of
    its prediction, and the covariance by Joseph's form
    :math:`P \leftarrow (I - K x^\top) P (I - K x^\top)^\top + R K K^\top`, which is symmetric and
    stays positive definite where the shorter :math:`(I - K x^\top) P` does not:
    :math:`O(d^2)` a row, in a compiled loop over the rows of a block. Forgetting divides P by f
    before each row, so a feature that stays at zero makes its variance grow without bound.

    Without forgetting the estimate is that of ridge regression, and the posterior of
    `BayesianLinearRegression` with the same prior. A weight s counts as s rows, for any s > 0:
    :math:`f^s` and :math:`R (1 - f) / (1 - f^s)` take the places of f and R.

    References
    ----------
    R. L. Plackett (1950). Some theorems in least squares. Biometrika 37.
    doi:10.1093/biomet/37.1-2.149

    R. S. Bucy and P. D. Joseph (1968). Filtering for Stochastic Processes with Applications to
    Guidance. Interscience.

    Examples
    --------
    >>> from panlearn.linear import RecursiveLeastSquares
    >>> model = RecursiveLeastSquares(fit_intercept=False, prior_covariance=2.0, noise_variance=0.5)
    >>> for y in [1.0, 3.0, 2.0]:
    ...     model = model.partial_fit([[1.0]], [y])
    >>> model.coef_.round(4), model.covariance_.round(4)
    (array([1.8462]), array([[0.1538]]))
    """

    _: KW_ONLY
    prior_mean: float | np.ndarray = 0.0
    prior_covariance: NonNegative[float] | np.ndarray = 1e6
    noise_variance: Positive[float] = 1.0
    forgetting: Annotated[float, Bounds(0, 1, closed_high=True)] = 1.0
    fit_intercept: bool = True
    intercept_prior_mean: float = 0.0
    intercept_prior_variance: NonNegative[float] = 1e6

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from training data, in its order, starting from the prior.

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
        RecursiveLeastSquares
            The model itself.
        """
        return self._take_in(X, y, sample_weight, first=True)

    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take in more rows, one or a block, in their order.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        RecursiveLeastSquares
            The model itself.
        """
        return self._take_in(X, y, sample_weight, first=not self.__sklearn_is_fitted__())

    def predict(self, X: Any, return_std: bool = False) -> Any:
        r"""Predict the target of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        return_std : bool, default=False
            Whether to return also the standard deviation of the predictive distribution,
            :math:`\sqrt{x^\top P x + R}`.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_targets)
        std : ndarray of the same shape
            Only if `return_std`.
        """
        mean = self._score_rows(X)
        if not return_std:
            return mean
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=FLOATS)
        rows = np.ones((X.shape[0], len(self.covariance_)))
        rows[:, : X.shape[1]] = X.toarray() if sparse.issparse(X) else X
        variance = np.einsum("ij,jk,ik->i", rows, self.covariance_, rows, optimize=True)
        std = np.sqrt(variance + self.noise_variance).astype(mean.dtype, copy=False)
        return mean, std if mean.ndim == 1 else np.tile(std[:, None], mean.shape[1])

    def _take_in(self, X: Any, y: Any, sample_weight: Any, *, first: bool) -> Self:
        rows: Rows | None = None if first or sample_weight is not None else self._plain_rows(X, y)
        if rows is None:
            rows = read_rows(self, X, y, sample_weight, targets="numbers", reset=first)
        theta: Any = getattr(self, "theta_", None)
        covariance: Any = getattr(self, "covariance_", None)
        seen = getattr(self, "n_samples_seen_", 0)
        if theta is not None:
            theta, covariance = theta.copy(), covariance.copy()
        single = rows.y_ndim == 1
        for block in _blocks(rows):
            y = np.array(np.atleast_2d(block.y.T).T, dtype=float, order="C")
            if theta is None:
                theta, covariance = self._prior(rows.n_features, y.shape[1])
            if y.shape[1] != theta.shape[1]:
                raise ValueError(f"y has {y.shape[1]} targets; it had {theta.shape[1]} before")
            # one type and layout, so that the kernel is compiled once
            dense = block.X.toarray() if sparse.issparse(block.X) else block.X
            dense = np.array(dense, dtype=float, order="C")
            update(theta, covariance, dense, y, *self._row_weights(len(y), block.weight))
            seen += len(y) if block.weight is None else np.count_nonzero(block.weight)
        if theta is None:
            raise ValueError("there is not one row to learn from")
        if not (np.isfinite(theta).all() and np.isfinite(covariance).all()):
            rows.reject_non_finite()
            raise ValueError(
                "the estimate overflows: rescale X, or raise forgetting, which lets the variance "
                "of a feature that stays at zero grow without bound"
            )
        self.theta_, self.covariance_, self.n_samples_seen_ = theta, covariance, int(seen)
        coef = theta[: rows.n_features].T.astype(rows.dtype)
        intercept = theta[-1].astype(rows.dtype) if self.fit_intercept else np.zeros(len(coef))
        self.coef_ = coef[0] if single else coef
        self.intercept_ = intercept[0].item() if single else intercept
        return self

    def _plain_rows(self, X: Any, y: Any) -> ArrayRows | None:
        """Rows that are arrays of the expected form already, for which validation is a glance.

        scikit-learn's validation takes several times as long as the update by one row.
        """
        if not (type(X) is np.ndarray and type(y) is np.ndarray and X.dtype in FLOATS):
            return None
        expected = X.ndim == 2 and X.shape[1] == self.n_features_in_ and len(X) > 0
        if not (expected and y.dtype == X.dtype and y.shape in [X.shape[:1], (len(X), 1)]):
            return None
        if hasattr(self, "feature_names_in_") or not np.isfinite(y).all():
            return None
        return ArrayRows(X, y, None)

    def _prior(self, d: int, targets: int) -> tuple[np.ndarray, np.ndarray]:
        require_memory((d, d), "the covariance", "use fewer features")
        mean, covariance = prior_mean(self.prior_mean, d), self.prior_covariance
        covariance = prior_covariance(covariance, d)
        if self.fit_intercept:
            mean = np.append(mean, self.intercept_prior_mean)
            covariance = np.pad(covariance, (0, 1))
            covariance[-1, -1] = self.intercept_prior_variance
        return np.tile(mean[:, None], targets), np.ascontiguousarray(covariance)

    def _row_weights(self, n: int, weight: Any) -> tuple[np.ndarray, np.ndarray]:
        """The noise of each row and the weight of its past; a weight of s stands for s rows."""
        noise, past = float(self.noise_variance), float(self.forgetting)
        if weight is None:
            return np.full(n, noise), np.full(n, past)
        weight = weight.astype(float, copy=False)
        count = weight if past == 1 else (1 - past**weight) / (1 - past)
        with np.errstate(divide="ignore"):
            return noise / count, past**weight


def _blocks(rows: Rows) -> Iterator[Block]:
    """The blocks in their order, wherever they are."""
    return (part.compute() for part in rows.parts) if isinstance(rows, DaskRows) else iter(rows)
