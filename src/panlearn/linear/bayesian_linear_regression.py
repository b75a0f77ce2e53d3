"""Linear regression with a Gaussian prior: posterior, predictive distribution and evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import linalg

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.learned import shapes
from panlearn.core.map_reduce import map_reduce
from panlearn.core.memory import require_memory
from panlearn.core.mergeable import Mergeable
from panlearn.core.parameters import NonNegative, Positive, RandomState
from panlearn.core.plain import known_rows
from panlearn.core.progress import Iterations, Iterative
from panlearn.core.random import generator
from panlearn.core.sources import ArrayRows, Rows
from panlearn.core.statistics import RootMoments
from panlearn.core.validation import read_rows
from panlearn.linear import inference
from panlearn.linear._base import LinearRegressor, finite
from panlearn.linear._least_squares import EPS, root_of
from panlearn.linear._prior import covariance_root, prior_covariance, prior_mean
from panlearn.linear._targets import one_target


@dataclass(eq=False, repr=False)
class BayesianLinearRegression(Iterative, Mergeable, LinearRegressor):
    r"""Linear regression with a Gaussian prior on the weights.

    .. math::
        w \sim \mathcal{N}(\mu_0, \Sigma_0), \qquad
        y_i \mid w \sim \mathcal{N}(x_i^\top w + b, \; 1 / (\alpha s_i))

    so that :math:`w \mid y \sim \mathcal{N}(\mu, \Sigma)` with
    :math:`\Sigma^{-1} = \Sigma_0^{-1} + \alpha X^\top X` and
    :math:`\mu = \Sigma (\Sigma_0^{-1} \mu_0 + \alpha X^\top (y - b))`. What is not given, the
    noise or the scale of the prior, is learned by maximising the evidence
    :math:`p(y \mid \alpha, \Sigma_0)`.

    Parameters
    ----------
    prior_mean : float or array-like of shape (n_features,), default=0.0
        The mean :math:`\mu_0`.
    prior_covariance : float or array-like, default=None
        The covariance :math:`\Sigma_0`: one variance, a vector of variances, or a matrix, which
        may be singular. None for :math:`I / \lambda` with :math:`\lambda` learned.
    noise_variance : float, default=None
        The variance :math:`1 / \alpha` of the noise; None to learn it.
    fit_intercept : bool, default=True
        Whether to learn the intercept b. It has a flat prior and is taken at its best value; for
        an intercept with a prior, give a column of ones instead.
    max_iter : int, default=300
        The most iterations of evidence maximisation.
    tol : float, default=0.001
        The end: the sum of the changes of the coefficients.
    alpha_1, alpha_2 : float, default=1e-06
        Shape and rate of the Gamma prior of :math:`\alpha`, if it is learned.
    lambda_1, lambda_2 : float, default=1e-06
        Shape and rate of the Gamma prior of :math:`\lambda`, if it is learned.
    alpha_init : float, default=None
        Where :math:`\alpha` starts, if it is learned; None for the inverse variance of y.
    lambda_init : float, default=None
        Where :math:`\lambda` starts, if it is learned; None for 1.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The posterior mean :math:`\mu`.
    intercept_ : float
        The intercept b.
    sigma_ : ndarray of shape (n_features, n_features)
        The posterior covariance :math:`\Sigma`, made when it is asked for.
    axes_ : ndarray of shape (n_axes, n_features)
        Rows whose products add up to :math:`\Sigma`. Of fewer rows than features, as many as
        these; along what is orthogonal to them the posterior is the prior.
    alpha_ : float
        The precision of the noise.
    lambda_ : float
        The precision of the prior, whose covariance is that given (or I) divided by it.
    log_evidence_ : float
        :math:`\log p(y \mid \alpha, \lambda)` at the final values.
    scores_ : ndarray of shape (n_iter_ + 1,)
        What evidence maximisation raises, before each iteration and at the end: the log evidence
        with the Gamma priors.
    statistic_ : RootMoments
        The moments of the rows seen, from which `partial_fit` goes on.
    n_iter_ : int
        Iterations run.
    converged_ : bool
        Whether the tolerance was met.
    history_ : dict of list
        ``score`` and ``change`` of each iteration.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    The rows enter through the square root of their moments, found by QR in one pass,
    :math:`O(n d^2)`. Its singular values, in coordinates where the prior is white, give the
    posterior for any :math:`\alpha` and :math:`\lambda` in :math:`O(d^2)`, so the iterations
    (MacKay's fixed point) cost next to nothing. Of fewer rows than features it is
    :math:`O(n^2 d)`, and no table of features by features is made unless the prior is one. X may be
    an array, a sparse matrix, a stream of batches or a Dask collection, and `partial_fit` goes on,
    with the same numbers.

    With nothing given it is scikit-learn's ``BayesianRidge``.

    References
    ----------
    D. J. C. MacKay (1992). Bayesian interpolation. Neural Computation 4(3).
    doi:10.1162/neco.1992.4.3.415

    M. E. Tipping (2001). Sparse Bayesian learning and the relevance vector machine. JMLR 1.

    Examples
    --------
    >>> from panlearn.linear import BayesianLinearRegression
    >>> model = BayesianLinearRegression(
    ...     prior_covariance=1.0, noise_variance=1.0, fit_intercept=False
    ... ).fit([[1.0], [2.0]], [1.0, 2.0])
    >>> model.coef_.round(4), model.sigma_.round(4)
    (array([0.8333]), array([[0.1667]]))
    >>> mean, std = model.predict([[3.0]], return_std=True)
    >>> mean.round(4), (std**2).round(4)
    (array([2.5]), array([2.5]))
    """

    learned = shapes(
        axes_="(n_axes, n_features)",
        scores_="(*,)",
    )

    capabilities = Capabilities(sources=ANYWHERE, any_order=True, partial_fit="exact", sparse=True)

    _: KW_ONLY
    prior_mean: float | np.ndarray = 0.0
    prior_covariance: Positive[float] | np.ndarray | None = None
    noise_variance: Positive[float] | None = None
    fit_intercept: bool = True
    max_iter: Positive[int] = 300
    tol: NonNegative[float] = 1e-3
    alpha_1: NonNegative[float] = 1e-6
    alpha_2: NonNegative[float] = 1e-6
    lambda_1: NonNegative[float] = 1e-6
    lambda_2: NonNegative[float] = 1e-6
    alpha_init: Positive[float] | None = None
    lambda_init: Positive[float] | None = None

    def predict(self, X: Any, return_std: bool = False) -> Any:
        r"""Predict the target of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        return_std : bool, default=False
            Whether to return also the standard deviation of the predictive distribution,
            :math:`\sqrt{x^\top \Sigma x + 1 / \alpha}` with x centred if there is an intercept.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
        std : ndarray of shape (n_samples,)
            Only if `return_std`.
        """
        mean = self._score_rows(X)
        if not return_std:
            return mean
        rows = self._centred(X).astype(float, copy=False)
        size = np.abs(rows).max(axis=1, initial=1.0)  # squares of larger ones might overflow
        rows = rows / size[:, None]
        spread = size * np.sqrt(self._variance(rows))
        return mean, finite(np.hypot(spread, 1 / np.sqrt(self.alpha_)), mean.dtype)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: RandomState = None) -> np.ndarray:
        """Draw regression functions from the posterior and evaluate them, without noise, at X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            Where to evaluate.
        n_samples : int, default=1
            How many functions.
        random_state : int, Generator, RandomState or None, default=None
            What the draw is made from.

        Returns
        -------
        ndarray of shape (n_rows, n_samples)
        """
        mean, rows = self._score_rows(X), self._centred(X)
        normal = generator(random_state).standard_normal((self.n_features_in_, n_samples))
        if (unit := self._untold) is None:
            return mean[:, None] + rows @ (covariance_root(self.sigma_) @ normal)
        along = unit @ normal
        rest = normal - unit.T @ along
        return mean[:, None] + rows @ (self.axes_.T @ along + rest / np.sqrt(self.lambda_))

    def summary(self, confidence: float = 0.95) -> inference.Summary:
        r"""Posterior means, standard deviations and intervals of the coefficients.

        Parameters
        ----------
        confidence : float, default=0.95
            Of the intervals, which hold a coefficient with this probability.

        Returns
        -------
        Summary
            See `panlearn.linear.inference`. The p-value is twice the probability that the
            coefficient has the other sign.
        """
        self._require_fitted()
        return inference.posterior(self, confidence)

    @property
    def sigma_(self) -> np.ndarray:
        """The posterior covariance of the weights."""
        self._require_fitted()
        d, unit = self.axes_.shape[1], self._untold
        require_memory((d, d), "the posterior covariance", "ask predict for return_std instead")
        sigma = self.axes_.T @ self.axes_
        if unit is not None:
            sigma -= unit.T @ unit / self.lambda_
            sigma.flat[:: d + 1] += 1 / self.lambda_
        return sigma

    @property
    def _untold(self) -> np.ndarray | None:
        """The axes at length one, if there are others, of which the data tell nothing."""
        if len(self.axes_) == self.axes_.shape[1]:
            return None
        return self.axes_ / np.linalg.norm(self.axes_, axis=1, keepdims=True)

    def _variance(self, rows: np.ndarray) -> np.ndarray:
        """Give x' Sigma x of each row."""
        variance = np.square(rows @ self.axes_.T).sum(axis=1)
        if (unit := self._untold) is not None:
            rest = rows - (rows @ unit.T) @ unit
            variance += np.square(rest).sum(axis=1) / self.lambda_
        return variance

    def _centred(self, X: Any) -> np.ndarray:
        X = known_rows(self, X, accept_sparse="csr")
        X = X if isinstance(X, np.ndarray) else X.toarray()
        return X - self.statistic_.mean[:-1] if self.fit_intercept else X

    def _read_training(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Rows:
        return one_target(read_rows(self, X, y, sample_weight, targets="numbers", reset=reset))

    def _summarise(self, rows: Rows) -> RootMoments:
        d = rows.n_features
        n = min(rows.X.shape[0], d) if isinstance(rows, ArrayRows) else d
        require_memory((n, d), "the square root of the moments", "use Ridge, or fewer features")
        return map_reduce(root_of, rows)

    def _solve(self, statistic: RootMoments, rows: Rows) -> None:
        d = rows.n_features
        given: Any = self.prior_covariance
        white = np.ndim(given) == 0  # learned, or one variance for all
        root = None if white else covariance_root(prior_covariance(given, d))
        center = prior_mean(self.prior_mean, d)
        # an overflow shows in the score
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            problem = _Evidence.of(statistic, center, root, fit_intercept=self.fit_intercept)
            attributes = partial(self._attributes, problem, statistic, rows.dtype)
            alpha, precision = self._maximise(problem, rows, attributes)
            last = self._score(problem, alpha, precision)
            self.__dict__.update(attributes(alpha, precision))
        self.scores_ = np.append(self.history_["score"], last)

    def _attributes(
        self,
        problem: _Evidence,
        statistic: RootMoments,
        dtype: np.dtype,
        alpha: float,
        precision: float,
    ) -> dict[str, Any]:
        """What the model has learned, given the precisions."""
        coef, mean = problem.coef(alpha, precision), statistic.mean
        return {
            "coef_": coef.astype(dtype, copy=False),
            "intercept_": float(mean[-1] - mean[:-1] @ coef) if self.fit_intercept else 0.0,
            "axes_": problem.axes(alpha, precision),
            "alpha_": alpha,
            "lambda_": precision,
            "log_evidence_": problem.log_evidence(alpha, precision),
            "statistic_": statistic,
        }

    def _maximise(
        self, problem: _Evidence, rows: Rows, attributes: Callable[..., dict[str, Any]]
    ) -> tuple[float, float]:
        """MacKay's fixed point for the precisions of noise and prior, of those not given."""
        noise = self.noise_variance
        prior: Any = self.prior_covariance
        alpha = 1 / (problem.variance + EPS if noise is None else noise)
        precision = 1.0 if prior is None or np.ndim(prior) else 1 / prior
        if noise is None and self.alpha_init is not None:
            alpha = self.alpha_init
        if prior is None and self.lambda_init is not None:
            precision = self.lambda_init
        done, last = noise is not None and prior is not None, None
        with Iterations(self, max_iter=self.max_iter, tol=self.tol, rows=rows) as loop:
            for _ in loop:
                coef = problem.coef(alpha, precision)
                score = self._score(problem, alpha, precision)
                errors, length, used = problem.summary(alpha, precision)
                if noise is None:
                    free = max(problem.weight - used, 0.0)
                    alpha = (free + 2 * self.alpha_1) / (errors + 2 * self.alpha_2)
                if prior is None:
                    precision = (used + 2 * self.lambda_1) / (length + 2 * self.lambda_2)
                change = np.inf if last is None else np.abs(coef - last).sum()
                loop.record(
                    change=0.0 if done else change,
                    score=score,
                    attributes=partial(attributes, float(alpha), float(precision)),
                )
                last = coef
        return float(alpha), float(precision)

    def _score(self, problem: _Evidence, alpha: float, precision: float) -> float:
        """Log evidence plus the Gamma log densities, up to a constant, of what is learned."""
        score = problem.log_evidence(alpha, precision)
        if self.noise_variance is None:
            score += self.alpha_1 * np.log(alpha) - self.alpha_2 * alpha
        if self.prior_covariance is None:
            score += self.lambda_1 * np.log(precision) - self.lambda_2 * precision
        if not np.isfinite(score):
            raise ValueError("the fit overflows float64: bring X and y to similar scales")
        return float(score)


class _Evidence(NamedTuple):
    """The posterior for any precisions, in coordinates u with w = center + basis u, u ~ N(0, I)."""

    center: np.ndarray
    basis: np.ndarray  # (d, r): root of the prior times the right singular vectors
    singular: np.ndarray  # (r,): of the whitened design; r is d or, without a root, that of rows
    projected: np.ndarray  # (r,): the target in the left singular vectors
    residue: float  # squared length of the target outside them
    weight: float
    variance: float  # of y about its mean

    @classmethod
    def of(
        cls, moments: RootMoments, center: np.ndarray, root: Any, *, fit_intercept: bool
    ) -> Self:
        """Decompose the whitened design, from the square root of the moments."""
        d, rows = len(center), moments.root
        variance = float(np.sum(rows[:, d] ** 2)) / moments.weight
        if not fit_intercept:
            rows = np.vstack([rows, np.sqrt(moments.weight) * moments.mean])
        design, target = rows[:, :d], rows[:, d] - rows[:, :d] @ center
        if root is not None and len(design) < d:  # rows of zeros: all directions, with the prior's
            padding = np.zeros((d - len(design), d))
            design, target = np.vstack([design, padding]), np.pad(target, (0, len(padding)))
        left, values, right = linalg.svd(
            design if root is None else design @ root, full_matrices=False
        )
        basis = right.T if root is None else root @ right.T
        along = left.T @ target
        residue = float(np.sum((target - left @ along) ** 2))
        return cls(center, basis, values, along, residue, moments.weight, variance)

    def coef(self, alpha: float, precision: float) -> np.ndarray:
        """The posterior mean of w."""
        return self.center + self.basis @ self._mean(alpha, precision)

    def axes(self, alpha: float, precision: float) -> np.ndarray:
        """Rows whose products add up to the posterior covariance of w, as far as data tell."""
        return (self.basis / np.sqrt(alpha * self.singular**2 + precision)).T

    def summary(self, alpha: float, precision: float) -> tuple[float, float, float]:
        """Squared error, squared length of u, and the number of directions the data determine."""
        mean, curvature = self._mean(alpha, precision), alpha * self.singular**2
        errors = np.sum((self.projected - self.singular * mean) ** 2) + self.residue
        return float(errors), float(mean @ mean), float(np.sum(curvature / (precision + curvature)))

    def log_evidence(self, alpha: float, precision: float) -> float:
        r"""Give log N(y; X center, I / alpha + X Sigma_0 X')."""
        errors, length, _ = self.summary(alpha, precision)
        return 0.5 * float(
            self.weight * np.log(alpha / (2 * np.pi))
            - alpha * errors
            - precision * length
            - np.sum(np.log1p(alpha * self.singular**2 / precision))
        )

    def _mean(self, alpha: float, precision: float) -> np.ndarray:
        ratio = precision / alpha
        return self.singular * self.projected / (self.singular**2 + ratio)
