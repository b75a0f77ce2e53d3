"""The coin with a beta prior."""

from __future__ import annotations

import functools
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.special import betaln
from scipy.stats import beta as beta_distribution
from sklearn.base import DensityMixin
from sklearn.utils.extmath import safe_sparse_dot

from panlearn.bayes.bernoulli_nb import binary
from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.density import Density
from panlearn.core.learned import shapes
from panlearn.core.map_reduce import map_reduce
from panlearn.core.mergeable import Mergeable
from panlearn.core.parameters import Positive, RandomState
from panlearn.core.plain import known_rows
from panlearn.core.random import generator
from panlearn.core.sources import Rows
from panlearn.core.statistics import Sums
from panlearn.core.validation import read_rows


@dataclass(frozen=True)
class CoinCounts(Sums):
    r"""How often each coin was tossed, and how often it fell on heads.

    Attributes
    ----------
    weight : float
    heads : ndarray of shape (d,)
    """

    weight: float
    heads: np.ndarray

    @classmethod
    def of(cls, X: Any, weight: np.ndarray | None = None) -> Self:
        """Count a block of 0 and 1, dense or sparse."""
        weight = np.ones(X.shape[0]) if weight is None else np.asarray(weight, dtype=float)
        return cls(float(weight.sum()), weight @ X)


@dataclass(eq=False, repr=False)
class BetaBernoulli(Density, DensityMixin, Mergeable):
    r"""Coins, one a feature, whose chances of heads have beta priors.

    .. math::
        \theta_j \sim \mathrm{Beta}(a, b), \quad x_{ij} \mid \theta_j \sim
        \mathrm{Bernoulli}(\theta_j), \qquad
        \theta_j \mid X \sim \mathrm{Beta}(a + h_j, \; b + n - h_j)

    after n tosses with :math:`h_j` heads.

    Parameters
    ----------
    a : float, default=1.0
        Heads that the prior is worth.
    b : float, default=1.0
        Tails that the prior is worth; a = b = 1 is the uniform prior.
    binarize : float, default=0.0
        A value above this is heads; None if X holds only 0 and 1.

    Attributes
    ----------
    a_ : ndarray of shape (n_features,)
        The posterior's :math:`a + h_j`.
    b_ : ndarray of shape (n_features,)
        The posterior's :math:`b + n - h_j`.
    predictive_ : ndarray of shape (n_features,)
        Chance that the next toss is heads, the posterior mean :math:`a_j / (a_j + b_j)`.
    log_evidence_ : float
        Logarithm of the probability of the data, :math:`\sum_j \log B(a_j, b_j) - \log B(a, b)`.
    statistic_ : CoinCounts
        The counts of the rows seen, from which `partial_fit` goes on.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    The order of the tosses does not matter: the probability of a sequence is that of a Pólya urn
    with a red and b black balls. X may be an array, a sparse matrix, a stream of batches or a Dask
    collection, and `partial_fit` goes on, with the same numbers. One pass, :math:`O(n d)`.

    References
    ----------
    A. Gelman, J. B. Carlin, H. S. Stern, D. B. Dunson, A. Vehtari and D. B. Rubin (2013). Bayesian
    Data Analysis, chapter 2. CRC Press. doi:10.1201/b16018

    Examples
    --------
    Seven heads and three tails, after a prior of two and two:

    >>> from panlearn.bayes import BetaBernoulli
    >>> model = BetaBernoulli(a=2, b=2).fit([[1]] * 7 + [[0]] * 3)
    >>> model.predictive_.round(4)
    array([0.6429])
    >>> model.interval(0.9).round(3)
    array([[0.427, 0.834]])
    """

    learned = shapes(
        a_="(n_features,)",
        b_="(n_features,)",
        predictive_="(n_features,)",
    )

    capabilities = Capabilities(sources=ANYWHERE, any_order=True, partial_fit="exact", sparse=True)

    a: Positive[float] = 1.0
    b: Positive[float] = 1.0
    _: KW_ONLY
    binarize: float | None = 0.0

    def _read_training(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Rows:
        return read_rows(self, X, None, sample_weight, reset=reset)

    def _summarise(self, rows: Rows) -> CoinCounts:
        return map_reduce(functools.partial(_count, self.binarize), rows)

    def _solve(self, statistic: CoinCounts, rows: Rows) -> None:
        heads, tosses = statistic.heads, statistic.weight
        self.a_ = self.a + heads
        self.b_ = self.b + (tosses - heads)
        self.predictive_ = self.a_ / (self.a_ + self.b_)
        self.log_evidence_ = float(np.sum(betaln(self.a_, self.b_) - betaln(self.a, self.b)))

    def interval(self, confidence: float = 0.95) -> np.ndarray:
        """Credible interval of each coin's chance of heads, with equal tails.

        Parameters
        ----------
        confidence : float, default=0.95
            Posterior probability of the interval.

        Returns
        -------
        ndarray of shape (n_features, 2)
        """
        self._require_fitted()
        if not 0 < confidence < 1:
            raise ValueError(f"confidence must be between 0 and 1; got {confidence}")
        return np.stack(beta_distribution.interval(confidence, self.a_, self.b_), axis=1)

    def score_samples(self, X: Any) -> np.ndarray:
        """Log probability of each row as the next toss of all coins.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Tosses.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        self._require_fitted()
        X = known_rows(self, X, accept_sparse="csr")
        heads, tails = np.log(self.predictive_), np.log1p(-self.predictive_)
        scores = safe_sparse_dot(binary(X, self.binarize), heads - tails) + tails.sum()
        return scores.astype(X.dtype, copy=False)

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> np.ndarray:
        """Toss each coin again: draws from the posterior predictive distribution of a row.

        Parameters
        ----------
        n_samples : int, default=1
            How many rows.
        random_state : int, Generator or RandomState, default=None
            Seeds the draws.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Of 0 and 1.
        """
        self._require_fitted()
        uniform = generator(random_state).random((n_samples, self.n_features_in_))
        return (uniform < self.predictive_).astype(int)


def _count(threshold: float | None, X: Any, y: Any, weight: np.ndarray | None) -> CoinCounts:
    return CoinCounts.of(binary(X, threshold), weight)
