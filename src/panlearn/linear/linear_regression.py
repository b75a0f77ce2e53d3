"""Ordinary, weighted and generalised least squares."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import linalg
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import validate_data

from panlearn.core.estimator import fitting
from panlearn.core.learned import shapes
from panlearn.core.memory import require_memory
from panlearn.core.statistics import RootMoments
from panlearn.core.validation import FLOATS, reject_hidden
from panlearn.core.warning import warn
from panlearn.linear import inference
from panlearn.linear._least_squares import Solution, from_root
from panlearn.linear._mergeable import LeastSquares, set_coefficients


@dataclass(eq=False, repr=False)
class LinearRegression(LeastSquares):
    r"""Least squares: ordinary, weighted, or generalised by the covariance of the noise.

    .. math::
        \min_{w, b} \; (y - X w - b)^\top R^{-1} (y - X w - b)

    with :math:`R = I`, :math:`R = \operatorname{diag}(1 / s_i)` for sample weights, or any
    positive definite matrix.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to learn the intercept b.
    positive : bool, default=False
        Whether all weights must be at least zero; not with a covariance of the noise.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        The weights w; where several solve the problem, those of least norm.
    intercept_ : float or ndarray of shape (n_targets,)
        The intercept b.
    rank_ : int
        Rank of the centred X; absent for a wide sparse X, which is solved by LSQR, and where
        `positive`.
    singular_ : ndarray of shape (n_singular,)
        The min(n_samples, n_features) singular values of the centred X; absent likewise.
    statistic_ : Statistic
        The moments of the rows seen, from which `partial_fit` goes on; absent if X was wide.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X had names.

    Notes
    -----
    One pass over cache-sized blocks of X gives centred second moments, merged by Chan's update,
    which are solved by Cholesky: :math:`O(n d^2)`, with memory for a few blocks beside X. If they
    are ill-conditioned a second pass finds their square root by QR, and its singular values give
    the solution with the accuracy of a solver on X itself. With `positive` the square root is
    solved by the active sets of Lawson and Hanson. X may be an array, a sparse matrix, a
    stream of batches (`panlearn.Batches`) or a Dask collection, with the same coefficients.

    References
    ----------
    Å. Björck (1996). Numerical Methods for Least Squares Problems. SIAM.
    doi:10.1137/1.9781611971484

    C. L. Lawson and R. J. Hanson (1995). Solving Least Squares Problems, chapter 23. SIAM.
    doi:10.1137/1.9781611971217

    Examples
    --------
    >>> from panlearn.linear import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.coef_.round(6), round(model.intercept_, 6)
    (array([2.]), 1.0)

    Two measurements of one quantity, the second with four times the variance:

    >>> gls = LinearRegression(fit_intercept=False)
    >>> gls.fit([[1.0], [1.0]], [1.0, 3.0], noise_covariance=[[1, 0], [0, 4]]).coef_.round(6)
    array([1.4])
    """

    learned = shapes(
        singular_="(n_singular,)",
    )

    _: KW_ONLY
    fit_intercept: bool = True
    positive: bool = False

    @fitting
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, noise_covariance: Any = None
    ) -> Self:
        """Learn from training data.

        Parameters
        ----------
        X : {array-like, sparse matrix}, Batches or Dask collection
            The rows, of shape (n_samples, n_features).
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The targets; with a stream they come in its batches.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; an integer weight is a repeated row.
        noise_covariance : array-like of shape (n_samples, n_samples), default=None
            Covariance R of the noise, up to a factor, in place of weights. X is then an array.

        Returns
        -------
        LinearRegression
            The model itself.
        """
        if noise_covariance is None:
            return self._fit(X, y, sample_weight)
        if sample_weight is not None:
            raise ValueError("give sample_weight or noise_covariance, not both")
        if self.positive:
            raise ValueError("positive=True is not for noise_covariance: whiten X and y first")
        return self._fit_generalised(X, y, noise_covariance)

    def summary(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        noise_covariance: Any = None,
        confidence: float = 0.95,
    ) -> inference.Summary:
        """Standard errors, tests and intervals of the coefficients, from the rows of the fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows that the model was fitted to.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights; an integer weight is a repeated row.
        noise_covariance : array-like of shape (n_samples, n_samples), default=None
            As in `fit`.
        confidence : float, default=0.95
            Of the intervals.

        Returns
        -------
        Summary
            See `panlearn.linear.inference`.
        """
        self._require_fitted()
        if self.positive:
            raise ValueError("positive=True: what stands at its bound has no standard error")
        root = None
        if noise_covariance is not None:
            root = linalg.cholesky(np.asarray(noise_covariance, dtype=float), lower=True)
        return inference.least_squares(self, X, y, sample_weight, root, confidence)

    def _penalty(self) -> float:
        return 0.0

    def _set_fitted(self, solution: Solution, dtype: np.dtype, *, single: bool) -> None:
        set_coefficients(self, solution, dtype, single=single)
        if solution.singular is None:
            return
        self.singular_, self.rank_ = solution.singular, solution.rank
        if solution.statistic is None or solution.statistic.weight <= self.n_features_in_:
            return  # fewer rows than unknowns: the least-norm solution is what one asks for
        if self.rank_ < self.n_features_in_:
            warn(
                f"X has rank {self.rank_} with {self.n_features_in_} columns, so many solutions "
                "fit as well; this is the one of least norm. Drop constant or repeated columns, "
                "or use Ridge",
                linalg.LinAlgWarning,
            )

    def _fit_generalised(self, X: Any, y: Any, noise_covariance: Any) -> Self:
        """Whiten the centred rows by the Cholesky factor of R, then solve as usual."""
        reject_hidden(X=X, y=y, noise_covariance=noise_covariance)
        X, y = validate_data(self, X, y, dtype=FLOATS, multi_output=True, y_numeric=True)
        n = len(X)
        require_memory((n, n), "the Cholesky factor of noise_covariance", "use sample_weight")
        covariance = check_array(noise_covariance, dtype=FLOATS, input_name="noise_covariance")
        check_consistent_length(X, covariance, covariance.T)
        if not np.allclose(covariance, covariance.T, rtol=1e-6, atol=0):
            raise ValueError("noise_covariance must be symmetric; give (R + R.T) / 2")
        try:
            factor = linalg.cholesky(covariance, lower=True)
        except linalg.LinAlgError as error:
            raise ValueError("noise_covariance must be positive definite") from error
        rows = np.column_stack([X, y]).astype(float)
        mean = rows.mean(axis=0) if self.fit_intercept else np.zeros(rows.shape[1])
        ones, rows = _whiten(factor, np.ones((n, 1))), _whiten(factor, rows - mean)
        weight = float(np.sum(ones**2))
        if self.fit_intercept:  # what is left of the mean once the noise is counted
            rest = (ones.T @ rows)[0] / weight
            mean, rows = mean + rest, rows - ones * rest
        solution = from_root(
            RootMoments(weight, mean, rows),
            X.shape[1],
            np.zeros(()),
            fit_intercept=self.fit_intercept,
        )
        # which has no rows to go on from
        self._set_fitted(replace(solution, statistic=None), X.dtype, single=y.ndim == 1)
        return self


def _whiten(factor: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return linalg.solve_triangular(factor, rows, lower=True, check_finite=False)
