"""Factor analysis."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from scipy import linalg, optimize

from panlearn.core.learned import shapes
from panlearn.core.parameters import NonNegative, Positive
from panlearn.core.statistics import Moments, RootMoments
from panlearn.core.threads import one_blas_thread
from panlearn.latent._extremes import floats
from panlearn.latent._factors import (
    Factors,
    FactorSums,
    maximise,
    residual_noise,
    stand_ins,
    variances,
)
from panlearn.latent._linear_gaussian import LinearGaussian, noise_floor, with_signs

STEPS = 50  # of an iteration
SMALL = 1 << 14  # entries of what is decomposed


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
    alone. Of fewer rows than features they are the rows themselves, so that no table of features by
    features is made. Each begins with a step of EM for the noise. Given the noise the best loadings
    are known, through the leading eigenvectors of :math:`\Psi^{-1/2} S \Psi^{-1/2}`, and with them
    the likelihood is a function of the noise alone, which quasi-Newton steps climb; each costs
    :math:`O(d^3)`. The likelihood never falls, and few iterations are needed where EM takes
    hundreds.

    NaN is a missing entry and is marginalised exactly, by PX-EM over the rows. The noise of a
    feature is kept above :math:`10^{-9}` of its variance, which is a constraint of each
    maximisation. X may be an array, a sparse matrix, a stream of batches or a Dask collection.

    References
    ----------
    D. B. Rubin and D. T. Thayer (1982). EM algorithms for ML factor analysis. Psychometrika 47(1).
    doi:10.1007/BF02293851

    K. G. Jöreskog (1967). Some contributions to maximum likelihood factor analysis. Psychometrika
    32(4). doi:10.1007/BF02289658

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

    @one_blas_thread()  # two take several times as long for matrices of some hundred rows
    def _from_moments(self, moments: Moments | RootMoments, k: int) -> Factors:
        rows = stand_ins(moments)
        root, floor = rows.X / np.sqrt(len(rows.X)), noise_floor(variances(moments))

        def step(at: Factors, seen: FactorSums) -> Factors:
            return _climbed(root, np.maximum(residual_noise(at, seen), floor), floor, k)

        first = with_best_loadings(root, self._first_noise(moments), k)[0]
        return self._iterate(rows, first, step, complete=True)

    def _first(self, moments: Moments | RootMoments, k: int) -> Factors:
        rows = stand_ins(moments).X
        return with_best_loadings(rows / np.sqrt(len(rows)), self._first_noise(moments), k)[0]

    def _first_noise(self, moments: Moments | RootMoments) -> np.ndarray:
        variance = variances(moments)
        return np.maximum(self._given_noise(variance / 2), noise_floor(variance))

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


def with_best_loadings(
    root: np.ndarray, noise: np.ndarray, k: int
) -> tuple[Factors, float, np.ndarray]:
    r"""The loadings with the highest likelihood given the noise; its value, and its slopes.

    .. math:: W = \Psi^{1/2} U_k (\Lambda_k - I)_+^{1/2}, \qquad
        \Psi^{-1/2} S \Psi^{-1/2} = U \Lambda U^\top, \quad S = R^\top R

    There minus twice the likelihood of a row is, but for a constant, :math:`\sum_j \log \psi_j +
    \sum_{j \in F} (1 + \log \lambda_j) + \sum_{j \notin F} \lambda_j`, F being the factors with
    :math:`\lambda_j > 1`, and its slope by :math:`\log \psi_i` is :math:`1 - \sum_{j \in F}
    u_{ij}^2 - \sum_{j \notin F} \lambda_j u_{ij}^2`. The singular values of :math:`R \Psi^{-1/2}`
    keep the digits that its squares would lose where a feature has next to no noise.
    """
    scale, d = np.sqrt(noise), len(noise)
    values, vectors, rest = leading(root / scale, k)
    factor = values > 1
    loadings = np.zeros((d, k))
    n = int(factor.sum())
    loadings[:, :n] = scale[:, None] * vectors[:n].T * np.sqrt(values[:n] - 1)
    spread = np.where(factor, 1 + np.log(np.maximum(values, 1)), values)
    value = np.log(noise).sum() + spread.sum() + rest.sum()
    slopes = 1 - np.where(factor, 1.0, values) @ vectors**2 - rest
    return Factors(np.zeros(d), loadings, noise), float(value), slopes


def leading(A: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""The largest k eigenvalues of AᵀA and their vectors, (k, d); what these leave of each column.

    That is :math:`\sum_{j > k} \lambda_j u_{ij}^2`. Few vectors of a large A are found through the
    products of its rows, :math:`A A^\top`. Digits are lost in these squares, but not in the lengths
    of A along the vectors, nor in what they leave of it.
    """
    if A.size <= SMALL or 4 * k > min(A.shape):
        _, lengths, vectors = linalg.svd(A, full_matrices=False, check_finite=False)
        values = lengths**2
        return values[:k], vectors[:k], values[k:] @ vectors[k:] ** 2
    n = len(A)
    _, rows = linalg.eigh(A @ A.T, subset_by_index=[n - k, n - 1], check_finite=False)
    along = rows.T @ A
    _, lengths, vectors = linalg.svd(along, full_matrices=False, check_finite=False)
    left = A - rows @ along
    return lengths**2, vectors, np.einsum("ij,ij->j", left, left)


def _climbed(root: np.ndarray, noise: np.ndarray, floor: np.ndarray, k: int) -> Factors:
    """What quasi-Newton steps in the logarithms of the noise lead to, the loadings always best.

    The features are taken with a variance of one, so that their units do not matter, but for those
    that vary less than the floor.
    """
    variance = np.einsum("ij,ij->j", root, root)
    unit = np.maximum(variance, floor)
    whitened = root / np.sqrt(unit)
    found = optimize.minimize(
        lambda logarithms: with_best_loadings(whitened, np.exp(logarithms), k)[1:],
        np.log(noise / unit),
        jac=True,
        method="L-BFGS-B",
        bounds=np.log(np.c_[floor, variance + floor] / unit[:, None]),
        options={"maxiter": STEPS, "maxcor": 20, "ftol": 1e-15, "gtol": 1e-9},
    )
    return with_best_loadings(root, np.exp(found.x) * unit, k)[0]


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
