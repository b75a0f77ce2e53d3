"""Kernel density estimation: a bump on every row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy.integrate import quad
from scipy.special import gammaln, logsumexp
from sklearn.base import DensityMixin

from panlearn.core.capabilities import Capabilities
from panlearn.core.density import Density
from panlearn.core.estimator import Estimator, fitting
from panlearn.core.learned import shapes
from panlearn.core.parameters import Positive, RandomState
from panlearn.core.plain import known_rows
from panlearn.core.random import generator
from panlearn.core.sources import ArrayRows
from panlearn.core.threads import threads
from panlearn.core.validation import read_rows
from panlearn.neighbors._kernels import powered_distances

BLOCK = 1 << 20  # distances that a thread has in memory


class _Kernel(NamedTuple):
    """A radial density: its logarithm at a squared distance, its integral, draws of the radius."""

    log: Callable[[np.ndarray], np.ndarray]
    log_integral: Callable[[int], float]
    radius: Callable[[np.random.Generator, int, int], np.ndarray]


def _log_sphere(d: int) -> float:
    """Logarithm of the surface of the unit ball in d dimensions."""
    return np.log(2) + d / 2 * np.log(np.pi) - gammaln(d / 2)


def _inside(log: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """A kernel that is zero outside the unit ball."""

    def value(square: np.ndarray) -> np.ndarray:
        return np.where(square < 1, log(np.where(square < 1, square, 0.0)), -np.inf)

    return value


def _cosine_radius(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Draws from the Epanechnikov kernel, which lies above, kept as often as the cosine allows."""
    radius = np.empty(0)
    while len(radius) < n:
        draw = np.sqrt(rng.beta(d / 2, 2, n))
        keep = rng.random(n) * (1 - draw**2) < np.cos(np.pi / 2 * draw)
        radius = np.append(radius, draw[keep])
    return radius[:n]


KERNELS = {
    "gaussian": _Kernel(
        lambda square: -square / 2,
        lambda d: d / 2 * np.log(2 * np.pi),
        lambda rng, n, d: np.sqrt(rng.chisquare(d, n)),
    ),
    "tophat": _Kernel(
        _inside(np.zeros_like),
        lambda d: _log_sphere(d) - np.log(d),
        lambda rng, n, d: rng.random(n) ** (1 / d),
    ),
    "epanechnikov": _Kernel(
        _inside(lambda square: np.log1p(-square)),
        lambda d: _log_sphere(d) + np.log(2 / (d * (d + 2))),
        lambda rng, n, d: np.sqrt(rng.beta(d / 2, 2, n)),
    ),
    "exponential": _Kernel(
        lambda square: -np.sqrt(square),
        lambda d: _log_sphere(d) + gammaln(d),
        lambda rng, n, d: rng.gamma(d, size=n),
    ),
    "linear": _Kernel(
        _inside(lambda square: np.log1p(-np.sqrt(square))),
        lambda d: _log_sphere(d) - np.log(d * (d + 1)),
        lambda rng, n, d: rng.beta(d, 2, n),
    ),
    "cosine": _Kernel(
        _inside(lambda square: np.log(np.cos(np.pi / 2 * np.sqrt(square)))),
        lambda d: (
            _log_sphere(d)
            + np.log(quad(lambda r: r ** (d - 1) * np.cos(np.pi / 2 * r), 0, 1, epsabs=0)[0])
        ),
        _cosine_radius,
    ),
}


@dataclass(eq=False, repr=False)
class KernelDensity(Density, DensityMixin, Estimator):
    r"""A density that is the mean of bumps of one width, one on each training row.

    .. math::
        \hat p(x) = \frac{1}{\sum_i w_i} \sum_i \frac{w_i}{h^d}
        K\!\left(\frac{\|x - x_i\|}{h}\right)

    Parameters
    ----------
    bandwidth : float or {"scott", "silverman"}, default=1.0
        The width h. Scott's rule is :math:`n^{-1/(d+4)}`, Silverman's
        :math:`(n (d + 2) / 4)^{-1/(d+4)}` with n the sum of the weights; both are for rows of unit
        variance.
    kernel : str, default="gaussian"
        The bump K: "gaussian", "tophat", "epanechnikov", "exponential", "linear" or "cosine". All
        but the Gaussian and the exponential one end at distance h.

    Attributes
    ----------
    X_ : ndarray of shape (n_samples, n_features)
        The training rows, without those of weight zero.
    log_weight_ : ndarray of shape (n_samples,)
        The logarithms of their weights as parts of the whole.
    bandwidth_ : float
        The width h.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    A density costs :math:`O(n d)` for each row that it is asked for. Distances come from
    differences and sums are taken of logarithms, so far tails keep their digits. Every kernel
    can be sampled: a direction, and a radius from its own law.

    References
    ----------
    E. Parzen (1962). On estimation of a probability density function and mode. Annals of
    Mathematical Statistics 33(3). doi:10.1214/aoms/1177704472

    B. W. Silverman (1986). Density Estimation for Statistics and Data Analysis. Chapman and Hall.
    doi:10.1007/978-1-4899-3324-9

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.neighbors import KernelDensity
    >>> model = KernelDensity(bandwidth=0.5, kernel="tophat").fit([[0.0], [1.0]])
    >>> np.exp(model.score_samples([[0.1], [0.6], [3.0]])).round(3)
    array([0.5, 0.5, 0. ])
    """

    learned = shapes(
        X_="(n_samples, n_features)",
        log_weight_="(n_samples,)",
    )

    capabilities = Capabilities(any_order=True)

    bandwidth: Positive[float] | Literal["scott", "silverman"] = 1.0
    _: KW_ONLY
    kernel: Literal["gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"] = (
        "gaussian"
    )

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep the training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; an integer weight is a repeated row.

        Returns
        -------
        KernelDensity
            The model itself.
        """
        rows = read_rows(self, X, None, sample_weight)
        assert isinstance(rows, ArrayRows)  # no other source is declared
        rows.reject_non_finite()
        weight = np.ones(rows.X.shape[0]) if rows.weight is None else rows.weight.astype(float)
        total, d = weight.sum(), rows.n_features
        if total == 0:
            raise ValueError("sample_weight is zero for every row, so there is nothing to learn")
        self.X_ = rows.X[weight > 0]  # a copy: the caller's array stays the caller's
        self.log_weight_ = np.log(weight[weight > 0] / total)
        rule = {"scott": total, "silverman": total * (d + 2) / 4}
        if isinstance(self.bandwidth, str):
            self.bandwidth_ = float(rule[self.bandwidth] ** (-1 / (d + 4)))
        else:
            self.bandwidth_ = float(self.bandwidth)
        return self

    def score_samples(self, X: Any) -> np.ndarray:
        """Logarithm of the density at each row.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_queries,)
            Minus infinity where no kernel reaches.
        """
        self._require_fitted()
        X = known_rows(self, X)
        kernel, d, h = KERNELS[self.kernel], self.n_features_in_, self.bandwidth_
        columns = np.ascontiguousarray(self.X_.T, dtype=np.float64)
        step = max(1, BLOCK // columns.shape[1])

        def density(part: np.ndarray) -> np.ndarray:
            square = powered_distances(part.astype(np.float64), columns, 2.0) / h / h
            return logsumexp(kernel.log(square) + self.log_weight_, axis=1)

        parts = [X[i : i + step] for i in range(0, len(X), step)]
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            if len(parts) == 1:  # done sooner than threads are made ready
                logs = density(X)
            else:
                with threads() as run:
                    logs = np.concatenate(list(run(density, parts)))
        return (logs - kernel.log_integral(d) - d * np.log(h)).astype(self.X_.dtype, copy=False)

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> np.ndarray:
        """Draw rows from the density.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, Generator, RandomState or None, default=None
            What seeds the draws.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        self._require_fitted()
        rng, d = generator(random_state), self.n_features_in_
        row = rng.choice(len(self.X_), n_samples, p=np.exp(self.log_weight_))
        direction = rng.normal(size=(n_samples, d))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        radius = self.bandwidth_ * KERNELS[self.kernel].radius(rng, n_samples, d)
        return (self.X_[row] + radius[:, None] * direction).astype(self.X_.dtype, copy=False)
