"""Mixtures of Gaussians."""

from __future__ import annotations

import functools
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from sklearn.base import DensityMixin

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.em import expectation_maximisation
from panlearn.core.estimator import Estimator, fitting
from panlearn.core.gaussian import KINDS
from panlearn.core.learned import COVARIANCES, shapes
from panlearn.core.map_reduce import map_reduce
from panlearn.core.parameters import Bounds, NonNegative, Positive, RandomState
from panlearn.core.progress import Iterative
from panlearn.core.random import generator
from panlearn.core.sources import ArrayRows, Rows, as_batches
from panlearn.core.starts import RowSample, Starts, best_of, require_values, sample_rows
from panlearn.core.validation import read_rows
from panlearn.latent._extremes import checked_rows, floats, log_floats
from panlearn.latent._gaussians import (
    Expected,
    Mixture,
    draw,
    expect,
    fill,
    log_densities,
    log_posteriors,
    summary_of,
)
from panlearn.latent._likelihood import ClassedLikelihood
from panlearn.latent._mixture_span import RowSpan
from panlearn.latent._mixture_starts import density_quantiles, next_mixture, starts


@dataclass(eq=False, repr=False)
class GaussianMixture(ClassedLikelihood, DensityMixin, Iterative, Estimator):
    r"""A density that is a weighted sum of Gaussians, learned by EM.

    .. math::
        p(x) = \sum_{j=1}^k \pi_j \, \mathcal{N}(x \mid \mu_j, \Sigma_j), \qquad
        \max_{\pi, \mu, \Sigma} \; \sum_i s_i \log p(x_i)
        \quad \text{with} \quad \Sigma_j \succeq r I

    Parameters
    ----------
    n_components : int, default=1
        The number k of components.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        A matrix each, one matrix for all, a variance for each feature, or one variance.
    tol : float, default=1e-3
        The loop ends when the mean log-likelihood changes by no more than this.
    reg_covar : float, default=1e-6
        The floor r: no eigenvalue of a covariance is below it.
    max_iter : int, default=100
        The most iterations of one start.
    n_init : int, default=1
        How many starts to try; the highest likelihood wins.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}, default="kmeans"
        The start: the clusters of k-means; or, with equal weights and spherical covariances at the
        variance of the data, means spread by k-means++, random means of all rows, or random rows.
    weights_init : array-like or None, default=None
        The first weights, of shape (n_components,).
    means_init : array-like or None, default=None
        The first means, of shape (n_components, n_features).
    precisions_init : array-like or None, default=None
        The inverses of the first covariances, in the shape of `covariances_`.
    assignment : {"soft", "hard"}, default="soft"
        Whether a row belongs to all components by their probabilities, or to the most probable
        one, which maximises the likelihood of rows and components together.
    use_labels : bool, default=False
        Whether y holds the component of some rows, and -1 for those where it is not known.
    learning_decay : float in (0.5, 1], default=0.7
        How fast the steps of `partial_fit` shrink: step t has the share :math:`(t + 2)^{-a}`.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the starts.
    warm_start : bool, default=False
        Whether a further `fit` starts from the mixture that the last one found.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        The weights of the components.
    means_ : ndarray of shape (n_components, n_features)
        Their means.
    covariances_ : ndarray
        Their covariances, of shape (k, d, d), (d, d), (k, d) or (k,) by `covariance_type`.
    precisions_ : ndarray
        The inverses of the covariances.
    lower_bound_ : float
        The mean log-likelihood at the last expectation.
    density_quantiles_ : ndarray of shape (1001,)
        Quantiles of the log density of the training rows, for `predict_anomaly`.
    n_iter_ : int
        Iterations of the start that won, and the steps of `partial_fit` since.
    converged_ : bool
        Whether `fit` converged; False after `partial_fit`.
    history_ : dict
        ``log_likelihood`` (mean of a row; with hard assignment, of row and component) before, and
        ``change`` of, each iteration.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X had names.

    Notes
    -----
    Expectation and maximisation alternate, :math:`O(n k d^2)` an iteration, in one walk over the
    rows wherever they are. Few rows of many columns are walked in n coordinates of the space that
    they span, outside of which every covariance is at the floor. NaN is a missing entry and is
    marginalised exactly. The floor of the covariances is a constraint under which the maximisation
    is exact, so the log-likelihood never falls; adding r to the diagonal, as is common, may lower
    it. Of float32 rows a covariance is learned in float64 and kept in float32, no eigenvalue below
    a rounding of the largest, so that it is definite still. A component that no row belongs to any
    more is warned of and put on the row with the lowest density, after which the likelihood may
    fall once. Starts are drawn from at most ``max(10000, 100 k)`` distinct rows, chosen by a hash
    of their values, so that the order and the source of the rows change nothing; starts over few
    rows run side by side.

    `partial_fit` is stepwise EM: the expected sums that the parameters stand for are mixed with
    those of the new rows, and maximised. The first call starts from its own rows; after `fit` the
    iterations count as steps.

    References
    ----------
    A. P. Dempster, N. M. Laird and D. B. Rubin (1977). Maximum likelihood from incomplete data via
    the EM algorithm. JRSS B 39(1). doi:10.1111/j.2517-6161.1977.tb01600.x

    Z. Ghahramani and M. I. Jordan (1994). Supervised learning from incomplete data via an EM
    approach. NeurIPS 6.

    O. Cappé and E. Moulines (2009). On-line expectation-maximization algorithm for latent data
    models. JRSS B 71(3). doi:10.1111/j.1467-9868.2009.00698.x

    P. Liang and D. Klein (2009). Online EM for unsupervised models. NAACL.

    Examples
    --------
    >>> from panlearn.latent import GaussianMixture
    >>> X = [[0.0], [0.2], [0.4], [9.0], [9.2], [9.4]]
    >>> model = GaussianMixture(2, random_state=0).fit(X)
    >>> sorted(model.means_.ravel().round(3).tolist()), model.weights_.round(3)
    ([0.2, 9.2], array([0.5, 0.5]))
    """

    learned = shapes(
        weights_="(n_components,)",
        means_="(n_components, n_features)",
        covariances_=COVARIANCES,
        precisions_=COVARIANCES,
        density_quantiles_="(*,)",
    )

    capabilities = Capabilities(sources=ANYWHERE, any_order=True, missing=True, sparse=True)

    n_components: Positive[int] = 1
    _: KW_ONLY
    covariance_type: Literal["full", "tied", "diag", "spherical"] = "full"
    tol: NonNegative[float] = 1e-3
    reg_covar: NonNegative[float] = 1e-6
    max_iter: Positive[int] = 100
    n_init: Starts = 1
    init_params: Literal["kmeans", "k-means++", "random", "random_from_data"] = "kmeans"
    weights_init: np.ndarray | None = None
    means_init: np.ndarray | None = None
    precisions_init: np.ndarray | None = None
    assignment: Literal["soft", "hard"] = "soft"
    use_labels: bool = False
    learning_decay: Annotated[float, Bounds(0.5, 1, closed_high=True)] = 0.7
    random_state: RandomState = None
    warm_start: bool = False

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the mixture from training data.

        Parameters
        ----------
        X : {array-like, sparse matrix}, Batches or Dask collection
            The rows, of shape (n_samples, n_features); NaN is missing. A stream is walked several
            times.
        y : array-like of shape (n_samples,), default=None
            With `use_labels`, the component of each row, or -1; else ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; an integer weight is a repeated row.

        Returns
        -------
        GaussianMixture
            The model itself.
        """
        rows, rng = self._read(X, y, sample_weight), generator(self.random_state)
        dtype, sample = rows.dtype, self._sample(rows, rng)
        span = RowSpan.of(self, rows)
        begin = starts(self, rows, sample, rng, span)
        if span is not None:
            rows, sample = span.rows(rows), span.sample(sample)

        def expect_rows(at: Mixture, *block: Any) -> Expected:
            seen = self._expect(at, *block)
            return seen if span is None else span.whole(seen)

        def run(estimator: Any, start: Mixture) -> Mixture:
            return expectation_maximisation(
                estimator,
                rows,
                start,
                expect=expect_rows,
                maximise=functools.partial(next_mixture, sample=sample, floor=self.reg_covar),
                max_iter=self.max_iter,
                tol=self.tol,
                attributes=lambda at: self._attributes(
                    at if span is None else span.outside(at), dtype
                ),
            )

        def objective(found: Mixture) -> float:
            return map_reduce(functools.partial(self._expect, found), rows).log_likelihood

        found = best_of(self, rows, begin, run, objective)
        self._learn(found, dtype, span)
        self.lower_bound_ = self.history_["log_likelihood"][-1]
        quantiles = density_quantiles(found, sample, rng)
        self.density_quantiles_ = quantiles if span is None else quantiles + span.log_outside
        return self

    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take a step of stepwise EM towards new rows.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; the first rows must be at least `n_components`.

        Returns
        -------
        GaussianMixture
            The model itself.
        """
        first = not self.__sklearn_is_fitted__()
        rows, rng = self._read(X, y, sample_weight, first), generator(self.random_state)
        sample = self._sample(rows, rng, first)
        at = starts(self, rows, sample, rng)[0] if first else self._mixture()
        share = 1.0 if first else (self.n_iter_ + 2) ** -self.learning_decay
        seen = map_reduce(functools.partial(self._expect, at), rows)
        mixed = summary_of(at) * (1 - share) + seen * (share / seen.weight)
        found = next_mixture(at, mixed, sample=sample, floor=self.reg_covar)
        self._learn(found, rows.dtype)
        quantiles = density_quantiles(found, sample, rng)
        old = getattr(self, "density_quantiles_", quantiles)
        self.density_quantiles_ = old + share * (quantiles - old)
        value = seen.log_likelihood / seen.weight
        change = abs(value - getattr(self, "lower_bound_", -np.inf))
        self.lower_bound_, self.converged_ = value, False
        self.n_iter_: int = 1 if first else self.n_iter_ + 1
        self.history_: dict[str, list[float]] = {} if first else self.history_
        for name, new in (("log_likelihood", value), ("change", change)):
            self.history_ = {**self.history_, name: [*self.history_.get(name, []), new]}
        return self

    def _read(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Rows:
        if self.use_labels and y is None and as_batches(X) is None:
            raise ValueError("use_labels=True requires y to be passed, but y is None")
        walk: Any = {"y": y, "targets": "labels"} if self.use_labels else {}
        walk |= {"sample_weight": sample_weight, "repeatable": True}
        rows = read_rows(self, X, reset=reset, **walk)
        if reset and isinstance(rows, ArrayRows) and (n := rows.X.shape[0]) < self.n_components:
            raise ValueError(f"n_samples={n} should be >= n_components; ask for fewer components")
        return rows

    def _sample(self, rows: Rows, rng: np.random.Generator, whole: bool = True) -> RowSample:
        size = max(10_000, 100 * self.n_components)
        sample = sample_rows(rows, rng, size=size, require_finite=False)
        require_values(sample, whole)
        return sample

    def _expect(self, at: Mixture, X: Any, y: Any, weight: Any) -> Expected:
        return expect(at, X, y, weight, hard=self.assignment == "hard")

    def _learn(self, found: Mixture, dtype: np.dtype, span: RowSpan | None = None) -> None:
        if span is None:
            precisions = found.kind.inverse(found.covariances)
        else:
            found, precisions = span.outside(found), span.precisions(found)
        for name, value in self._attributes(found, dtype).items():
            setattr(self, name, value)
        if not all(np.isfinite(v).all() for v in (self.means_, self.covariances_)):
            raise ValueError(f"the covariances are beyond {dtype}; rescale the columns of X")
        self.precisions_ = precisions.astype(dtype, copy=False)

    def _attributes(self, at: Mixture, dtype: np.dtype) -> dict[str, Any]:
        with np.errstate(over="ignore"):
            return {
                "weights_": at.weights.astype(dtype, copy=False),
                "means_": at.means.astype(dtype, copy=False),
                "covariances_": at.kind.stored(at.covariances, dtype),
            }

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
        return log_floats(log_densities(self._mixture(), X)[0], X.dtype)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Give the probabilities of the components of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; NaN is missing.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        X = self._check(X)
        return log_densities(self._mixture(), X)[1].astype(X.dtype, copy=False)

    def _log_posteriors(self, X: Any) -> np.ndarray:
        X = self._check(X)
        return log_floats(log_posteriors(self._mixture(), X), X.dtype)

    def predict(self, X: Any) -> np.ndarray:
        """Give the most probable component of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; NaN is missing.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return log_densities(self._mixture(), self._check(X))[1].argmax(axis=1)

    def predict_anomaly(self, X: Any, *, false_positive_rate: float = 0.01) -> np.ndarray:
        """Say which rows are less dense than all but a share of the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, complete, as densities of fewer entries are not comparable.
        false_positive_rate : float, default=0.01
            The share of ordinary rows that may be called anomalous.

        Returns
        -------
        ndarray of shape (n_samples,)
            True for an anomaly.
        """
        if false_positive_rate not in Bounds(0, 1, closed_low=True, closed_high=True):
            raise ValueError(f"false_positive_rate must be in [0, 1]; got {false_positive_rate!r}")
        self._require_fitted()
        threshold = np.interp(1000 * false_positive_rate, range(1001), self.density_quantiles_)
        X = self._check(X)
        if np.isnan(X.min()):
            raise ValueError("predict_anomaly takes complete rows, and X contains NaN; impute it")
        return log_densities(self._mixture(), X)[0] < threshold

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
        X = self._check(X, accept_sparse=False)
        return floats(fill(self._mixture(), X), X.dtype, "the missing entries")

    def sample(
        self, n_samples: int = 1, random_state: RandomState = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows from the mixture.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, Generator, RandomState or None, default=None
            Seeds the draws.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,)
            The component of each row.
        """
        X, y = draw(self._mixture(), n_samples, generator(random_state))
        return X.astype(self.means_.dtype, copy=False), y

    def _n_parameters(self) -> int:
        k, d = self.means_.shape
        return k - 1 + k * d + KINDS[self.covariance_type].n_parameters(k, d)

    def _mixture(self) -> Mixture:
        self._require_fitted()
        learned = (self.weights_, self.means_, self.covariances_)
        return Mixture(KINDS[self.covariance_type], *(a.astype(float) for a in learned))

    def _check(self, X: Any, accept_sparse: Any = "csr") -> Any:
        self._require_fitted()
        return checked_rows(self, X, reset=False, accept_sparse=accept_sparse, allow_nan=True)
