"""Binary features of rows, as many as the rows ask for."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from panlearn.core.estimator import Estimator, fitting
from panlearn.core.interrupts import passes
from panlearn.core.learned import shapes
from panlearn.core.parameters import NonNegative, Positive, RandomState
from panlearn.core.random import generator
from panlearn.latent._buffet import BuffetChain
from panlearn.latent._rows import coordinates, power_of_two, rows_in_memory
from panlearn.latent.dirichlet_process import Sweeps


@dataclass(eq=False, repr=False)
class IndianBuffetFactors(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""Rows as sums of binary features, with a beta process over the features.

    .. math::
        X = \mathbf 1 b^\top + Z A + E, \quad Z \sim \mathrm{IBP}(\alpha), \quad
        A_{kj} \sim N(0, \sigma_A^2), \quad E_{ij} \sim N(0, \sigma^2)

    Under the Indian buffet process row i has a feature of m earlier rows with probability m / i,
    and Poisson(:math:`\alpha / i`) features of its own.

    Parameters
    ----------
    concentration : float, default=1.0
        The mass :math:`\alpha`: n rows have :math:`\alpha (1 + 1/2 + \dots + 1/n)` features on
        average, each row :math:`\alpha` of them.
    resample_concentration : bool, default=False
        Whether to draw :math:`\alpha` too, from an exponential prior with the given one as mean.
    noise_variance : float, default=None
        :math:`\sigma^2`; drawn with an inverse-gamma prior if None.
    feature_variance : float, default=None
        :math:`\sigma_A^2`; drawn with an inverse-gamma prior if None.
    fit_intercept : bool, default=True
        Whether b is the mean of the rows; zero if not.
    n_iter : int, default=300
        Sweeps over the rows.
    n_burn_in : int, default=100
        How many of the first sweeps the estimate is not taken from.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the sampler.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Posterior mean of A given the estimated features, the most frequent first.
    indicators_ : ndarray of shape (n_samples, n_components)
        The estimated Z of the training rows: the most probable one that was sampled.
    n_components_ : int
        Number of features of the estimate; it may be zero.
    frequencies_ : ndarray of shape (n_components,)
        The share of rows with each.
    mean_ : ndarray of shape (n_features,)
        The intercept b.
    noise_variance_, feature_variance_, concentration_ : float
        Those of the estimate.
    history_ : dict
        ``n_components``, ``log_joint`` (of rows and features), ``noise_variance``,
        ``feature_variance`` and ``concentration`` of each sweep.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    Collapsed Gibbs sampling, A integrated out. When a row is visited it is taken out of the
    Gaussian posterior of A by a downdate of rank one; each of its features is then drawn by the
    predictive density of the row, after that the number of its own ones; and it is put back. A
    sweep is :math:`O(n K (K + d))` in compiled code. After it, pairs of features are proposed to be
    replaced by one of them and their exclusive or, a Metropolis step that untangles mixtures of
    features where changes of single rows are stuck. The variances are drawn given a draw of A,
    which is then forgotten. The scale of the priors is the mean square of the rows. Where the noise
    is very small the posterior is a set of sharp modes, and a chain may stay in one with a feature
    too many: compare ``log_joint`` of a few seeds.

    `transform` gives the probabilities of the features of new rows given A, by a factorised
    approximation that is iterated for each row alone.

    References
    ----------
    T. L. Griffiths and Z. Ghahramani (2011). The Indian buffet process: an introduction and
    review. Journal of Machine Learning Research 12.

    F. Doshi-Velez and Z. Ghahramani (2009). Accelerated sampling for the Indian buffet process.
    ICML. doi:10.1145/1553374.1553409

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.latent import IndianBuffetFactors
    >>> rng = np.random.default_rng(0)
    >>> A = np.array([[2, 2, 0, 0, 0, 0], [0, 0, 2, 2, 0, 0], [0, 0, 0, 0, 2, 2]])
    >>> X = rng.integers(2, size=(60, 3)) @ A + 0.7 * rng.normal(size=(60, 6))
    >>> model = IndianBuffetFactors(fit_intercept=False, random_state=1).fit(X)
    >>> model.n_components_
    3
    """

    learned = shapes(
        components_="(n_components, n_features)",
        indicators_="(n_samples, n_components)",
        frequencies_="(n_components,)",
        mean_="(n_features,)",
    )

    concentration: Positive[float] = 1.0
    _: KW_ONLY
    resample_concentration: bool = False
    noise_variance: Positive[float] | None = None
    feature_variance: Positive[float] | None = None
    fit_intercept: bool = True
    n_iter: Sweeps = 300
    n_burn_in: NonNegative[int] = 100
    random_state: RandomState = None

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Sample the features of the training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : object, default=None
            Ignored.

        Returns
        -------
        IndianBuffetFactors
            The model itself.
        """
        X = rows_in_memory(self, X)
        if self.n_burn_in >= self.n_iter:
            raise ValueError(
                f"n_burn_in={self.n_burn_in} leaves nothing of n_iter={self.n_iter} sweeps; "
                "raise n_iter"
            )
        mean, scale, rows = self._scaled(X)
        chain = BuffetChain(
            rows,
            float(self.concentration),
            0.5 if self.noise_variance is None else self.noise_variance / scale**2,
            1.0 if self.feature_variance is None else self.feature_variance / scale**2,
            generator(self.random_state),
        )
        names = ("n_components", "log_joint", "noise_variance", "feature_variance", "concentration")
        history: dict[str, list[float]] = {name: [] for name in names}
        best: tuple[Any, ...] = (-np.inf,)
        for step in passes(self, self.n_iter):
            chain.sweep()
            chain.recombine()
            chain.resample_scales(self.noise_variance is None, self.feature_variance is None)
            if self.resample_concentration:
                chain.resample_concentration(self.concentration)
            log_joint = chain.log_joint() - X.size * np.log(scale)
            variances = chain.noise * scale**2, chain.loading * scale**2
            state = (chain.Z.shape[1], log_joint, *variances, chain.concentration)
            for name, value in zip(names, state, strict=True):
                history[name].append(float(value))
            if step <= self.n_burn_in or log_joint > best[0]:  # until then, the last
                best = (log_joint, chain.Z, chain.posterior()[0], *state[2:])
        _, Z, loadings, *scales = best
        order = np.argsort(-Z.sum(axis=0), kind="stable")
        self.indicators_ = Z[:, order].astype(bool)
        self.components_ = (scale * loadings[order]).astype(X.dtype, copy=False)
        self.n_components_ = len(order)
        self.frequencies_ = self.indicators_.mean(axis=0).astype(X.dtype, copy=False)
        self.mean_ = mean.astype(X.dtype, copy=False)
        self.noise_variance_, self.feature_variance_, self.concentration_ = map(float, scales)
        self.history_ = history
        return self

    def _scaled(self, X: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
        """The intercept, the root of the mean square about it, and the rows in this unit."""
        unit = power_of_two(float(max(X.max(), -X.min())))
        if not 1e-152 < unit < 1e140:
            raise ValueError("the squares of X overflow or vanish: rescale its columns")
        rows = (X / unit).astype(float)
        mean = rows.mean(axis=0) if self.fit_intercept else np.zeros(X.shape[1])
        rows -= mean
        size = float(np.sqrt(np.mean(rows**2)))
        size = size if size > 1e-14 else 1.0  # constant but for rounding
        return mean * unit, size * unit, rows / size

    def transform(self, X: Any) -> np.ndarray:
        """Give the probabilities that rows have the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        self._require_fitted()
        X = rows_in_memory(self, X, reset=False)
        A = self.components_.astype(float) / np.sqrt(self.noise_variance_)
        rows = (X.astype(float) - self.mean_) / np.sqrt(self.noise_variance_)
        n = len(self.indicators_)
        taken = self.indicators_.sum(axis=0)
        prior = np.log(taken / (n + 1 - taken))
        product, square = rows @ A.T, A @ A.T
        own = np.diag(square).copy()
        q = np.full(product.shape, 0.5)
        for _ in range(100):
            before = q.copy()
            for k in range(len(A)):
                others = q @ square[:, k] - q[:, k] * own[k]
                q[:, k] = expit(prior[k] + product[:, k] - others - own[k] / 2)
            if np.abs(q - before).max(initial=0) < 1e-10:
                break
        return q.astype(X.dtype, copy=False)

    def inverse_transform(self, Z: Any) -> np.ndarray:
        """Give the rows that features make.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            Features, or their probabilities.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        self._require_fitted()
        return coordinates(Z, len(self.components_)) @ self.components_ + self.mean_

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
