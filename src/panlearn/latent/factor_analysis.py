"""Factor analysis."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from scipy import linalg

from panlearn.core.learned import shapes
from panlearn.core.parameters import NonNegative, Positive
from panlearn.core.statistics import Moments, RootMoments
from panlearn.latent._extremes import floats
from panlearn.latent._factors import (
    Factors,
    FactorSums,
    leading,
    maximise,
    residual_noise,
    stand_ins,
    variances,
)
from panlearn.latent._linear_gaussian import LinearGaussian, noise_floor, with_signs


@dataclass(eq=False, repr=False)
class FactorAnalysis(LinearGaussian):
    r"""A Gaussian whose features depend on each other through few factors alone.

    .. math::
        x = \mu + W z + \epsilon, \quad z \sim \mathcal{N}(0, I_k), \quad
        \epsilon \sim \mathcal{N}(0, \operatorname{diag} \psi), \qquad
        \max_{\mu, W, \psi} \; \sum_i s_i \log \mathcal{N}(x_i \mid \mu, W W^\top +
        \operatorname{diag} \psi)

    Parameters
    ----------
    n_components : int or None, default=None
        The number k of factors; by default as many as features.
    tol : float, default=1e-8
        The loop ends when the mean log-likelihood of a row changes by no more than this.
    max_iter : int, default=1000
        The most iterations.
    noise_variance_init : array-like of shape (n_features,), default=None
        The first noise variances; by default half the variances of the features.
    rotation : {"varimax", "quartimax"} or None, default=None
        Turn the factors so that each has few large loadings, or each feature has; the density does
        not change.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The loadings :math:`W^\top`. Without a rotation :math:`W^\top \Psi^{-1} W` is diagonal, and
        falls. The largest entry of each row is positive.
    noise_variance_ : ndarray of shape (n_features,)
        The variances :math:`\psi`.
    mean_ : ndarray of shape (n_features,)
        The mean :math:`\mu`.
    statistic_ : Moments
        The moments of the rows seen, from which `partial_fit` goes on; absent if entries were
        missing.
    n_iter_ : int
        Iterations.
    converged_ : bool
        Whether they converged.
    history_ : dict
        ``log_likelihood`` (mean of a row) before, and ``change`` of, each iteration.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X had names.

    Notes
    -----
    One pass over the rows finds their moments, :math:`O(n d^2)`, and the iterations see these
    alone. Of fewer rows than features they are the rows themselves, and eigenvectors come from
    their products, so that no table of features by features is made. Each is a
    step of ECME: the noise maximises the expected likelihood with the loadings held, then the
    loadings maximise the likelihood itself with the noise held, through the leading
    eigenvectors of :math:`\Psi^{-1/2} S \Psi^{-1/2}`; :math:`O(d^2 k + d^3)`. Two of them are
    extrapolated to where they lead, which is kept if the likelihood is higher there; so it never
    falls, and far fewer iterations are needed than with EM.

    NaN is a missing entry and is marginalised exactly, by PX-EM over the rows. The noise of a
    feature is kept above :math:`10^{-9}` of its variance, which is a constraint of each
    maximisation. X may be an array, a sparse matrix, a stream of batches or a Dask collection.

    References
    ----------
    D. B. Rubin and D. T. Thayer (1982). EM algorithms for ML factor analysis. Psychometrika 47(1).
    doi:10.1007/BF02293851

    C. Liu and D. B. Rubin (1998). Maximum likelihood estimation of factor analysis using the ECME
    algorithm with complete and incomplete data. Statistica Sinica 8(3).

    R. Varadhan and C. Roland (2008). Simple and globally convergent methods for accelerating the
    convergence of any EM algorithm. Scandinavian Journal of Statistics 35(2).
    doi:10.1111/j.1467-9469.2007.00585.x

    H. F. Kaiser (1958). The varimax criterion for analytic rotation in factor analysis.
    Psychometrika 23(3). doi:10.1007/BF02289233

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.latent import FactorAnalysis
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 1)) * [3.0, 2.0, 1.0] + rng.normal(size=(2000, 3))
    >>> model = FactorAnalysis(1).fit(X)
    >>> model.components_.round(1), model.noise_variance_.round(1)
    (array([[3., 2., 1.]]), array([0.9, 1.1, 1. ]))
    """

    learned = shapes(
        components_="(n_components, n_features)",
        noise_variance_="(n_features,)",
        mean_="(n_features,)",
    )

    n_components: Positive[int] | None = None
    _: KW_ONLY
    tol: NonNegative[float] = 1e-8
    max_iter: Positive[int] = 1000
    noise_variance_init: np.ndarray | None = None
    rotation: Literal["varimax", "quartimax"] | None = None

    def _from_moments(self, moments: Moments | RootMoments, k: int) -> Factors:
        variance = variances(moments)
        floor = noise_floor(variance)

        def once(at: Factors) -> tuple[Factors, float]:
            noise = np.maximum(variance - (at.loadings**2).sum(axis=1), floor)
            return _with_best_loadings(moments, noise, k)

        def step(at: Factors, seen: FactorSums) -> Factors:
            noise = np.maximum(residual_noise(at, seen), floor)
            first, _ = _with_best_loadings(moments, noise, k)
            second, value = once(first)
            guess = _extrapolated(at.noise, first.noise, second.noise)
            ahead, reached = once(
                _with_best_loadings(moments, np.clip(guess, floor, variance + floor), k)[0]
            )
            return ahead if reached >= value else second

        return self._iterate(stand_ins(moments), self._first(moments, k), step, complete=True)

    def _first(self, moments: Moments | RootMoments, k: int) -> Factors:
        variance = variances(moments)
        noise = np.maximum(self._given_noise(variance / 2), noise_floor(variance))
        return _with_best_loadings(moments, noise, k)[0]

    def _given_noise(self, default: np.ndarray) -> np.ndarray:
        if self.noise_variance_init is None:
            return default
        try:
            noise = np.array(self.noise_variance_init, dtype=float)
        except (TypeError, ValueError) as error:
            raise ValueError(f"noise_variance_init must hold numbers: {error}") from error
        if noise.shape != default.shape or not (np.isfinite(noise) & (noise > 0)).all():
            raise ValueError(
                f"noise_variance_init must hold {len(default)} positive numbers, one a feature; "
                f"got {self.noise_variance_init!r}"
            )
        return noise

    def _step(self, at: Factors, seen: FactorSums, floor: np.ndarray) -> Factors:
        found, _ = maximise(at, seen)
        return found._replace(noise=np.maximum(found.noise, floor))

    def _set_fitted(self, found: Factors, dtype: np.dtype) -> None:
        loadings = _canonical(found)
        if self.rotation is not None:
            loadings = loadings @ turn(loadings, 1.0 if self.rotation == "varimax" else 0.0)
        self.components_ = with_signs(loadings).T.astype(dtype, copy=False)
        least = float(np.finfo(dtype).tiny)  # what divides is no zero
        self.noise_variance_ = floats(np.maximum(found.noise, least), dtype, "the variances of X")
        self.mean_ = found.mean.astype(dtype, copy=False)

    def _noise(self) -> np.ndarray:
        return self.noise_variance_.astype(float)

    def _n_parameters(self) -> int:
        """Mean, noise, and loadings up to a rotation."""
        k, d = self.components_.shape
        return 2 * d + d * k - k * (k - 1) // 2


def _with_best_loadings(
    moments: Moments | RootMoments, noise: np.ndarray, k: int
) -> tuple[Factors, float]:
    r"""The loadings with the highest likelihood given the noise, and twice that likelihood.

    .. math:: W = \Psi^{1/2} U_k (\Lambda_k - I)_+^{1/2}, \qquad
        \Psi^{-1/2} S \Psi^{-1/2} = U \Lambda U^\top

    There the likelihood of a row is, but for a constant, :math:`-\frac12 \sum_j \log \psi_j
    + S_{jj} / \psi_j` and what the factors add, :math:`\frac12 \sum_{j \le k} \lambda_j - 1 -
    \log \lambda_j`.
    """
    scale, d = np.sqrt(noise), len(noise)
    values, vectors = leading(moments, scale, k)
    values = np.maximum(values, 1.0)
    loadings = scale[:, None] * vectors * np.sqrt(values - 1)
    without = np.log(noise).sum() + (variances(moments) / noise).sum()
    return Factors(np.zeros(d), loadings, noise), float(
        (values - 1 - np.log(values)).sum() - without
    )


def _extrapolated(first: np.ndarray, second: np.ndarray, third: np.ndarray) -> np.ndarray:
    """Where a geometric sequence of the logarithms would end (SQUAREM)."""
    step, bend = np.log(second / first), np.log(third / second) - np.log(second / first)
    ratio = np.linalg.norm(step) / max(float(np.linalg.norm(bend)), np.finfo(float).tiny)
    length = min(max(float(ratio), 1.0), 1e6)
    return np.exp(np.clip(np.log(first) + 2 * length * step + length**2 * bend, -700, 700))


def _canonical(found: Factors) -> np.ndarray:
    """The loadings turned so that Wᵀ Ψ⁻¹ W is diagonal, and falls."""
    scale = np.sqrt(found.noise)[:, None]
    left, values, _ = linalg.svd(found.loadings / scale, full_matrices=False)
    values = np.where(values > 1e-12 * values[0], values, 0.0)  # the rest is rounding
    return scale * left * values


def turn(loadings: np.ndarray, gamma: float) -> np.ndarray:
    r"""The rotation R that makes :math:`L = W R` simple: 1 is varimax, 0 is quartimax.

    .. math:: \max_R \; \sum_j \Big[ \sum_i L_{ij}^4 - \frac{\gamma}{d}
        \Big(\sum_i L_{ij}^2\Big)^2 \Big]

    Each step replaces R by the orthogonal matrix nearest to the gradient.
    """
    d, k = loadings.shape
    rotation, last = np.eye(k), 0.0
    for _ in range(1000):
        turned = loadings @ rotation
        gradient = loadings.T @ (turned**3 - gamma / d * turned * (turned**2).sum(axis=0))
        left, values, right = linalg.svd(gradient)
        rotation = left @ right
        if values.sum() <= last * (1 + 1e-12):
            break
        last = values.sum()
    return rotation
