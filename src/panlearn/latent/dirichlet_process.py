"""A mixture of as many Gaussians as the rows ask for."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClusterMixin, DensityMixin

from panlearn.core.estimator import Estimator, fitting
from panlearn.core.interrupts import passes
from panlearn.core.learned import shapes
from panlearn.core.memory import require_memory
from panlearn.core.parameters import Bounds, NonNegative, Positive, RandomState
from panlearn.core.random import generator
from panlearn.latent._extremes import floats, log_floats
from panlearn.latent._niw import Clusters, Prior, agreements, sweep
from panlearn.latent._restaurants import log_partition_law
from panlearn.latent._rows import power_of_two, rows_in_memory

REFRESH = 10  # sweeps after which the factors are made anew, lest rounding pile up
Sweeps = Annotated[int, Bounds(1, 10**6, closed_low=True, closed_high=True)]


@dataclass(eq=False, repr=False)
class DirichletProcessMixture(ClusterMixin, DensityMixin, Estimator):
    r"""A Gaussian mixture with a Dirichlet process over its components, sampled by Gibbs.

    .. math::
        x_i \mid z_i = k \sim N(\mu_k, \Sigma_k), \quad
        \Sigma_k \sim \mathcal W^{-1}(\Psi_0, \nu_0), \quad
        \mu_k \mid \Sigma_k \sim N(m_0, \Sigma_k / \kappa_0), \quad
        p(z) = \frac{\alpha^K \prod_k (n_k - 1)!}{\alpha (\alpha + 1) \cdots (\alpha + n - 1)}

    Parameters
    ----------
    concentration : float, default=1.0
        The mass :math:`\alpha` of new clusters.
    resample_concentration : bool, default=False
        Whether to draw :math:`\alpha` too, from an exponential prior with the given one as mean.
    mean_prior : array-like of shape (n_features,), default=None
        The mean :math:`m_0`; that of the rows if None.
    mean_precision_prior : float, default=0.1
        The number :math:`\kappa_0` of rows that the prior of a mean is worth.
    degrees_of_freedom_prior : float, default=None
        :math:`\nu_0`, more than the number of features d; d + 2 if None.
    covariance_prior : array-like of shape (n_features, n_features), default=None
        :math:`\Psi_0`; a tenth of the variances of the features if None.
    n_iter : int, default=200
        Sweeps over the rows.
    n_burn_in : int, default=100
        How many of the first sweeps are left out of what is learned.
    estimate : {"least_squares", "map"}, default="least_squares"
        Which of the sampled partitions is `labels_`: the one nearest to the posterior
        probabilities that two rows are together, or the most probable.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the sampler.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The estimated partition, clusters by falling size.
    label_samples_ : ndarray of shape (n_iter - n_burn_in, n_samples)
        The sampled partitions.
    n_clusters_ : int
        Number of clusters in `labels_`.
    weights_ : ndarray of shape (n_clusters,)
        Shares of the rows.
    means_ : ndarray of shape (n_clusters, n_features)
        Posterior means of the clusters' means.
    covariances_ : ndarray of shape (n_clusters, n_features, n_features)
        Posterior means of their covariances.
    concentration_ : float
        The concentration of the estimate: given, or the mean of those drawn.
    history_ : dict
        ``n_clusters``, ``log_joint`` (of rows and partition) and ``concentration`` of each sweep.
    statistics_ : dict
        What the predictive density is computed from: ``location`` and ``scale`` of the features,
        and in these units ``count``, ``mean`` and Cholesky ``factor`` of each cluster, the last
        one empty, and the two numbers of the ``prior``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    Collapsed Gibbs sampling: the parameters are integrated out, and each row in turn leaves its
    cluster and joins one by its size times a Student density, or opens one by the concentration.
    A move is a rank-one update of a Cholesky factor, a sweep :math:`O(n K d^2)` in compiled code;
    every tenth sweep makes the factors anew, so rounding does not pile up. The first sweep seats
    the rows one by one. Watch the traces in `history_`: a chain may stay long near one partition.

    `predict` and `score_samples` are given the estimated partition: the next row belongs to a
    cluster by the posterior predictive density, :math:`\sum_k \frac{n_k}{\alpha + n} t_k(x) +
    \frac{\alpha}{\alpha + n} t_0(x)`.

    References
    ----------
    R. M. Neal (2000). Markov chain sampling methods for Dirichlet process mixture models. Journal
    of Computational and Graphical Statistics 9(2). doi:10.1080/10618600.2000.10474879

    M. D. Escobar and M. West (1995). Bayesian density estimation and inference using mixtures.
    Journal of the American Statistical Association 90. doi:10.1080/01621459.1995.10476550

    D. B. Dahl (2006). Model-based clustering for expression data via a Dirichlet process mixture
    model. Bayesian Inference for Gene Expression and Proteomics. doi:10.1017/CBO9780511584589.011

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.latent import DirichletProcessMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([[0, 0], [9, 0], [0, 9]], 40, axis=0) + rng.normal(size=(120, 2))
    >>> model = DirichletProcessMixture(random_state=0).fit(X)
    >>> model.n_clusters_
    3
    """

    learned = shapes(
        labels_="(n_samples,)",
        label_samples_="(*, n_samples)",
        weights_="(n_clusters,)",
        means_="(n_clusters, n_features)",
        covariances_="(n_clusters, n_features, n_features)",
        statistics_={
            "location": "(n_features,)",
            "scale": "(n_features,)",
            "count": "(n_clusters + 1,)",
            "mean": "(n_clusters + 1, n_features)",
            "factor": "(n_clusters + 1, n_features, n_features)",
            "prior": "(2,)",
        },
    )

    concentration: Positive[float] = 1.0
    _: KW_ONLY
    resample_concentration: bool = False
    mean_prior: np.ndarray | None = None
    mean_precision_prior: Positive[float] = 0.1
    degrees_of_freedom_prior: Positive[float] | None = None
    covariance_prior: np.ndarray | None = None
    n_iter: Sweeps = 200
    n_burn_in: NonNegative[int] = 100
    estimate: Literal["least_squares", "map"] = "least_squares"
    random_state: RandomState = None

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Sample partitions of the training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : object, default=None
            Ignored.

        Returns
        -------
        DirichletProcessMixture
            The model itself.
        """
        X = rows_in_memory(self, X)
        if self.n_burn_in >= self.n_iter:
            raise ValueError(
                f"n_burn_in={self.n_burn_in} leaves nothing of n_iter={self.n_iter} sweeps; "
                "raise n_iter"
            )
        kept = self.n_iter - self.n_burn_in
        require_memory((kept, len(X)), "the sampled partitions", "lower n_iter", itemsize=4)
        prior, location, scale = self._prior(X)
        rows = (X - location) / scale
        chain = Chain(prior, rows, self.concentration, generator(self.random_state))
        offset = len(X) * float(np.log(scale).sum())
        samples = np.empty((kept, len(X)), dtype=np.int32)
        history: dict[str, list[float]] = {"n_clusters": [], "log_joint": [], "concentration": []}
        for step in passes(self, self.n_iter):
            chain.sweep()
            if self.resample_concentration:
                chain.resample_concentration(self.concentration)
            history["n_clusters"].append(float(len(chain.count)))
            history["log_joint"].append(chain.log_joint() - offset)
            history["concentration"].append(chain.concentration)
            samples[max(step - self.n_burn_in, 0)] = chain.labels
        # of a chain that was interrupted in its burn-in, the last
        first = min(self.n_burn_in, len(history["log_joint"]) - 1)
        samples = samples[: len(history["log_joint"]) - first]
        if self.estimate == "map":
            best = int(np.argmax(history["log_joint"][first:]))
        else:
            best = least_squares_partition(samples)
        self.label_samples_, self.history_ = samples, history
        self.concentration_ = float(np.mean(history["concentration"][first:]))
        self.statistics_ = {"location": location, "scale": scale}
        self._learned(prior, rows, samples[best], X.dtype)
        return self

    def _prior(self, X: np.ndarray) -> tuple[Prior, np.ndarray, np.ndarray]:
        """The prior in units in which the features have variance one about m₀, and these units."""
        d = X.shape[1]
        unit = power_of_two(float(max(X.max(), -X.min())))
        if not 1e-280 < unit < 1e280:
            raise ValueError("the values of X are too large or too small: rescale its columns")
        centre, spread = unit * (X / unit).mean(axis=0), unit * (X / unit).std(axis=0)
        spread[spread <= 1e-12 * np.abs(X).max(axis=0)] = 0.0  # constant but for rounding
        unit_of = np.where(spread > 0, spread, 1.0).astype(float)
        location = centre.astype(float)
        if self.mean_prior is not None:
            location = _numbers(self.mean_prior, (d,), "mean_prior")
        nu = float(self.degrees_of_freedom_prior or d + 2)
        if nu <= d:
            raise ValueError(f"degrees_of_freedom_prior={nu:g} must be above n_features={d}")
        scale = 0.1 * np.eye(d)
        if self.covariance_prior is not None:
            given = _numbers(self.covariance_prior, (d, d), "covariance_prior")
            scale = given / unit_of / unit_of[:, None]
            if not np.array_equal(given, given.T) or np.linalg.eigvalsh(scale)[0] <= 0:
                raise ValueError("covariance_prior must be symmetric and positive definite")
        return Prior(float(self.mean_precision_prior), nu, scale), location, unit_of

    def _learned(self, prior: Prior, rows: np.ndarray, labels: np.ndarray, dtype: Any) -> None:
        n, d = rows.shape
        order = np.argsort(-np.bincount(labels), kind="stable")
        self.labels_ = np.argsort(order)[labels]
        found = Clusters.of(prior, rows, self.labels_, len(order))
        self.n_clusters_ = len(order)
        self.weights_ = (found.size / n).astype(dtype, copy=False)
        location, unit = self.statistics_["location"], self.statistics_["scale"]
        self.means_ = (found.mean * unit + location).astype(dtype, copy=False)
        scatter = found.factor @ found.factor.transpose(0, 2, 1)
        scatter /= (prior.freedom + found.size - d - 1)[:, None, None]
        scatter *= unit * unit[:, None]
        self.covariances_ = floats(scatter, dtype, "the covariances")
        # one more cluster, of no rows: the prior
        whole = Clusters.of(prior, rows, self.labels_, len(order) + 1)
        self.statistics_ |= {
            "count": whole.size,
            "mean": whole.mean,
            "factor": whole.factor,
            "prior": np.array([prior.precision, prior.freedom]),
        }

    def _log_joints(self, X: Any) -> tuple[np.ndarray, np.dtype]:
        """Log p(x, k) of each row and cluster, the last one new, in the units of the rows."""
        self._require_fitted()
        X = rows_in_memory(self, X, reset=False)
        at, (precision, freedom) = self.statistics_, self.statistics_["prior"]
        clusters = Clusters(at["count"], at["mean"], at["factor"])
        prior = Prior(precision, freedom, clusters.factor[-1] @ clusters.factor[-1].T)
        weight = np.r_[clusters.size[:-1], self.concentration_]
        with np.errstate(over="ignore"):  # an infinite distance is a density of zero
            joint = clusters.log_predictive(prior, (X - at["location"]) / at["scale"])
        joint += np.log(weight / weight.sum()) - np.log(at["scale"]).sum()
        return joint, X.dtype

    def predict(self, X: Any) -> np.ndarray:
        """Give the most probable of the clusters for new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._log_joints(X)[0][:, :-1].argmax(axis=1)

    def score_samples(self, X: Any) -> np.ndarray:
        """Give the log posterior predictive density of new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        joint, dtype = self._log_joints(X)
        return log_floats(logsumexp(joint, axis=1), dtype)

    def score(self, X: Any, y: Any = None) -> float:
        """Give the mean log posterior predictive density of new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : object, default=None
            Ignored.

        Returns
        -------
        float
        """
        return float(self.score_samples(X).mean())

    def similarity(self) -> np.ndarray:
        """Give the posterior probabilities that two training rows are together.

        Returns
        -------
        ndarray of shape (n_samples, n_samples)
        """
        self._require_fitted()
        n = self.label_samples_.shape[1]
        require_memory((n, n), "the similarity of the rows", "use label_samples_")
        total = np.zeros((n, n))
        for labels in self.label_samples_:
            total += labels[:, None] == labels
        return total / len(self.label_samples_)


class Chain:
    """The state of the sampler: labels, and the statistics of the clusters they make."""

    def __init__(
        self, prior: Prior, X: np.ndarray, concentration: float, rng: np.random.Generator
    ) -> None:
        self.prior, self.X, self.rng = prior, np.ascontiguousarray(X, dtype=float), rng
        self.concentration = float(concentration)
        self.labels = np.full(len(X), -1, dtype=np.int64)
        self._constant, self._sweeps = prior.constants(len(X)), 0
        nobody = Clusters.of(prior, self.X, self.labels, 1)
        self._alone = nobody.log_predictive(prior, self.X)[:, 0]

    @property
    def count(self) -> np.ndarray:
        """Sizes of the clusters."""
        return np.bincount(self.labels)

    def sweep(self) -> None:
        """Draw each label given the others."""
        coins, row = self.rng.random(len(self.X)), 0
        alone = self._alone + np.log(self.concentration)
        if self._sweeps % REFRESH == 0:
            self._refresh()
        self._sweeps += 1
        while row < len(self.X):
            row = sweep(
                self.X,
                self.labels,
                *self._now,
                self._base,
                int(self.labels.max()) + 1,
                row,
                alone,
                self._constant,
                self.prior.precision,
                self.prior.freedom,
                coins,
                np.empty(len(self._base)),
                np.empty(self.X.shape[1]),
            )
            if row < len(self.X):  # the clusters have filled the room
                self._refresh()

    def _refresh(self) -> None:
        """The statistics from the rows, with room for as many clusters again."""
        room = 2 * (int(self.labels.max()) + 1) + 8
        self._now = Clusters.of(self.prior, self.X, self.labels, room)
        self._base = self._now.log_weights(self._constant)

    def resample_concentration(self, mean: float) -> None:
        """Draw α given the number of clusters, through a Beta(α + 1, n) variable."""
        n, k = len(self.X), len(self.count)
        rate = 1 / mean - np.log(self.rng.beta(self.concentration + 1, n))
        odds = k / (n * rate)
        shape = k + 1 if self.rng.random() < odds / (1 + odds) else k
        self.concentration = float(self.rng.gamma(shape, 1 / rate))

    def log_joint(self) -> float:
        """Log p(z) + Σ log p(X_k)."""
        count, k = self.count, len(self.count)
        evidence = self.prior.log_evidence(count, self._now.factor[:k])
        return log_partition_law(count, self.concentration) + float(evidence.sum())


def least_squares_partition(samples: np.ndarray) -> int:
    r"""The sample s with the least :math:`\sum_{ij} ([s_i = s_j] - \hat p_{ij})^2`."""
    size = len(samples)
    together = np.empty((size, size))
    for i in range(size):
        for j in range(i + 1):
            together[i, j] = together[j, i] = agreements(samples[i], samples[j])
    return int(np.argmin(np.diag(together) - 2 * together.mean(axis=1)))


def _numbers(value: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
    """A user's array of finite numbers of this shape."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from error
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite and of shape {shape}; got {array.shape}")
    return array
