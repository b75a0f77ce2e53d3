"""Least squares one row at a time, with the covariance of the estimate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Self

import numpy as np
from scipy import linalg, sparse
from scipy.linalg.lapack import dtrtrs

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.estimator import fitting
from panlearn.core.learned import shapes
from panlearn.core.memory import require_memory
from panlearn.core.parameters import Bounds, NonNegative, Positive
from panlearn.core.plain import known_rows
from panlearn.core.sources import ArrayRows, Block, DaskRows, Rows
from panlearn.core.validation import FLOATS, read_rows
from panlearn.linear._base import MultiTargetRegressor, finite, lengths
from panlearn.linear._prior import covariance_root, prior_covariance, prior_mean
from panlearn.linear._recursive_kernels import absorb

TINY = 1e-150  # what may stand below a fraction whose square is still a float


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
        The covariance P of the estimate, found when it is asked for.
    prior_ : tuple of ndarray
        The estimate before any row, and a root L of its covariance, :math:`P_0 = L L^\top`, without
        columns of zeros.
    triangle_ : ndarray of shape (rank of L, rank of L + n_targets)
        R and z of the triangular system :math:`R u = z` that the rows have been rotated into; the
        estimate is :math:`\theta_0 + L u`.
    n_samples_seen_ : int
        Rows taken in, those of zero weight aside.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    In the coordinates of the prior, :math:`\theta = \theta_0 + L u`, the objective is
    :math:`\|R u - z\|^2` and a constant, R triangular and at first I. A row is one more row of this
    system; Givens rotations make it triangular again, :math:`O(d^2)` a row in a compiled loop over
    the rows of a block, and forgetting multiplies it by :math:`\sqrt f`. The sums
    :math:`R^\top R` themselves are never formed: the estimate keeps the digits that a QR
    decomposition of all rows would give, however wide the prior, and :math:`P = L (R^\top R)^{-1}
    L^\top` is positive definite by its form. The gain of textbooks,
    :math:`K = P x / (x^\top P x + R)`, gives the same numbers in exact arithmetic, and loses half
    of the digits from a wide prior. A feature that stays at zero while others are forgotten makes
    its variance grow without bound.

    Without forgetting the estimate is that of ridge regression, and the posterior of
    `BayesianLinearRegression` with the same prior. A weight s counts as s rows, for any s > 0:
    :math:`f^s` and :math:`R (1 - f) / (1 - f^s)` take the places of f and R.

    References
    ----------
    R. L. Plackett (1950). Some theorems in least squares. Biometrika 37.
    doi:10.1093/biomet/37.1-2.149

    W. M. Gentleman (1973). Least squares computations by Givens transformations without square
    roots. IMA Journal of Applied Mathematics 12(3). doi:10.1093/imamat/12.3.329

    Examples
    --------
    >>> from panlearn.linear import RecursiveLeastSquares
    >>> model = RecursiveLeastSquares(fit_intercept=False, prior_covariance=2.0, noise_variance=0.5)
    >>> for y in [1.0, 3.0, 2.0]:
    ...     model = model.partial_fit([[1.0]], [y])
    >>> model.coef_.round(4), model.covariance_.round(4)
    (array([1.8462]), array([[0.1538]]))
    """

    learned = shapes(
        theta_="(n_weights, n_targets)",
        prior_=("(n_weights,)", "(n_weights, rank)"),
        triangle_="(rank, rank + n_targets)",
    )

    capabilities = Capabilities(sources=ANYWHERE, any_order=True, partial_fit="exact", sparse=True)

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
        X = known_rows(self, X, accept_sparse="csr")
        spread = lengths(_with_ones(X, len(self.theta_)) @ self._root())
        std = finite(np.hypot(spread, np.sqrt(self.noise_variance)), mean.dtype)
        return mean, std if mean.ndim == 1 else np.tile(std[:, None], mean.shape[1])

    @property
    def covariance_(self) -> np.ndarray:
        """The covariance P of the estimate."""
        self._require_fitted()
        root = self._root()
        return root @ root.T

    def _root(self) -> np.ndarray:
        """A root of the covariance, L over R."""
        size = len(self.triangle_)
        return linalg.solve_triangular(
            self.triangle_[:, :size], self.prior_[1].T, trans="T", check_finite=False
        ).T

    @np.errstate(over="ignore", invalid="ignore")  # an overflow shows in the estimate
    def _take_in(self, X: Any, y: Any, sample_weight: Any, *, first: bool) -> Self:
        rows: Rows | None = None if first or sample_weight is not None else self._plain_rows(X, y)
        if rows is None:
            rows = read_rows(self, X, y, sample_weight, targets="numbers", reset=first)
        prior, triangle = getattr(self, "prior_", None), getattr(self, "triangle_", None)
        seen = getattr(self, "n_samples_seen_", 0)
        if triangle is not None:
            triangle = triangle.copy()
        single = rows.y_ndim == 1
        for block in _blocks(rows):
            y = np.array(np.atleast_2d(block.y.T).T, dtype=float, order="C")
            if prior is None or triangle is None:
                prior = self._prior(rows.n_features)
                triangle = np.eye(prior[1].shape[1], prior[1].shape[1] + y.shape[1])
            targets = triangle.shape[1] - triangle.shape[0]
            if y.shape[1] != targets:
                raise ValueError(f"y has {y.shape[1]} targets; it had {targets} before")
            mean, root = prior
            dense = _with_ones(block.X, len(mean))
            if mean.any():
                y -= (dense @ mean)[:, None]
            dense = _in_units(dense, root)
            absorb(triangle, dense, y, *self._row_weights(len(y), block.weight))
            seen += len(y) if block.weight is None else np.count_nonzero(block.weight)
        if prior is None or triangle is None:
            raise ValueError("there is not one row to learn from")
        theta = _estimate(prior, triangle)
        if theta is None:
            rows.reject_non_finite()
            raise ValueError(
                "the estimate overflows: rescale X, or raise forgetting, which lets the variance "
                "of a feature that stays at zero grow without bound"
            )
        self.prior_, self.triangle_, self.theta_ = prior, triangle, theta
        self.n_samples_seen_ = int(seen)
        if rows.dtype != theta.dtype:
            theta = finite(theta, rows.dtype)
        coef = theta[: rows.n_features].T.copy()
        intercept = theta[-1].copy() if self.fit_intercept else np.zeros(len(coef))
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

    def _prior(self, d: int) -> tuple[np.ndarray, np.ndarray]:
        """The estimate before any row and a root of its covariance."""
        require_memory((d, d), "the covariance", "use fewer features")
        mean, covariance = prior_mean(self.prior_mean, d), self.prior_covariance
        covariance = prior_covariance(covariance, d)
        if self.fit_intercept:
            mean = np.append(mean, self.intercept_prior_mean)
            covariance = np.pad(covariance, (0, 1))
            covariance[-1, -1] = self.intercept_prior_variance
        root = covariance_root(covariance)
        return mean, root[:, root.any(axis=0)]

    def _row_weights(self, n: int, weight: Any) -> tuple[np.ndarray, np.ndarray]:
        """The noise of each row and the weight of its past; a weight of s stands for s rows."""
        noise, past = float(self.noise_variance), float(self.forgetting)
        if weight is None:
            return np.full(n, noise), np.full(n, past)
        weight = weight.astype(float, copy=False)
        count = weight if past == 1 else (1 - past**weight) / (1 - past)
        with np.errstate(divide="ignore"):
            return noise / count, past**weight


def _with_ones(X: Any, size: int) -> np.ndarray:
    """Dense rows in float64, with a last column of ones if `size` has room for it."""
    rows = np.ones((X.shape[0], size))
    rows[:, : X.shape[1]] = X.toarray() if sparse.issparse(X) else X
    return rows


def _in_units(rows: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Rows times L; a diagonal one, as most are, takes no product of matrices."""
    kept = np.flatnonzero(root.any(axis=1))
    if np.count_nonzero(root) != len(kept):
        return np.ascontiguousarray(rows @ root)
    if len(kept) == len(root):
        return rows * root.diagonal()
    return np.ascontiguousarray(rows[:, kept] * root[kept].diagonal())


def _estimate(prior: tuple[np.ndarray, np.ndarray], triangle: np.ndarray) -> np.ndarray | None:
    """Solve the triangular system; None if it, or the square of its inverse, overflows."""
    (mean, root), size = prior, len(triangle)
    least = np.abs(np.diag(triangle)).min(initial=1.0)
    if not least > TINY * np.abs(root).max(initial=0.0):
        return None
    solved = triangle[:, size:]
    if size:  # else nothing is uncertain, which LAPACK would complain of on standard error
        solved = dtrtrs(triangle[:, :size], solved)[0]
    theta = mean[:, None] + root @ solved
    return theta if np.isfinite(theta).all() else None


def _blocks(rows: Rows) -> Iterator[Block]:
    """The blocks in their order, wherever they are."""
    return (part.compute() for part in rows.parts) if isinstance(rows, DaskRows) else iter(rows)
