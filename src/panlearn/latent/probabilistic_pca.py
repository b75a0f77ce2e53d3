"""Probabilistic principal component analysis."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy import linalg

from panlearn.core.learned import shapes
from panlearn.core.parameters import NonNegative, Positive
from panlearn.core.progress import Iterations
from panlearn.core.statistics import Moments, RootMoments
from panlearn.latent._extremes import floats
from panlearn.latent._factors import (
    Factors,
    FactorSums,
    expect,
    leading,
    maximise,
    stand_ins,
    variances,
)
from panlearn.latent._linear_gaussian import LinearGaussian, noise_floor, with_signs


@dataclass(eq=False, repr=False)
class ProbabilisticPCA(LinearGaussian):
    r"""A Gaussian with a few principal directions, and the same variance in all others.

    .. math::
        x = \mu + W z + \epsilon, \quad z \sim \mathcal{N}(0, I_k), \quad
        \epsilon \sim \mathcal{N}(0, \sigma^2 I_d), \qquad
        \max_{\mu, W, \sigma^2} \; \sum_i s_i \log \mathcal{N}(x_i \mid \mu, W W^\top + \sigma^2 I)

    Parameters
    ----------
    n_components : int or None, default=None
        The number k of directions; by default one less than there are features, which leaves one
        for the noise.
    tol : float, default=1e-8
        With missing entries, the loop ends when the mean log-likelihood of a row changes by no
        more than this.
    max_iter : int, default=1000
        The most iterations.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The loadings :math:`W^\top`: principal directions by falling variance, each of length
        :math:`(\lambda_j - \sigma^2)^{1/2}`, with the largest entry positive.
    noise_variance_ : float
        The variance :math:`\sigma^2`.
    mean_ : ndarray of shape (n_features,)
        The mean :math:`\mu`.
    explained_variance_ : ndarray of shape (n_components,)
        The variances :math:`\lambda_j` of the model along the directions.
    statistic_ : Moments
        The moments of the rows seen, from which `partial_fit` goes on; absent if entries were
        missing.
    n_iter_ : int
        Iterations; 1 for complete rows.
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
    For complete rows the maximum is known: the leading eigenvectors of the covariance of the rows
    (with divisor n), and for :math:`\sigma^2` the mean of the eigenvalues left out. One pass,
    :math:`O(n d^2 + d^3)`. NaN is a missing entry and is marginalised exactly: PX-EM then walks the
    rows, :math:`O(n d k)` and :math:`O(d k^2)` for each pattern of missing entries an iteration,
    and its likelihood never falls. :math:`\sigma^2` is kept above :math:`10^{-9}` of the mean
    variance of a feature. X may be an array, a sparse matrix, a stream of batches or a Dask
    collection.

    `transform` gives the mean of z given the row, which is shorter than the scores of `PCA`: it is
    drawn towards zero by the noise.

    References
    ----------
    M. E. Tipping and C. M. Bishop (1999). Probabilistic principal component analysis. JRSS B 61(3).
    doi:10.1111/1467-9868.00196

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.latent import ProbabilisticPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 1)) * [3.0, 2.0, 1.0] + rng.normal(size=(2000, 3))
    >>> model = ProbabilisticPCA(1).fit(X)
    >>> model.components_.round(1), round(model.noise_variance_, 1)
    (array([[3., 2., 1.]]), 1.0)
    >>> model.impute([[3.0, np.nan, np.nan]]).round(1)
    array([[3. , 1.8, 0.9]])
    """

    learned = shapes(
        components_="(n_components, n_features)",
        explained_variance_="(n_components,)",
        mean_="(n_features,)",
    )

    n_components: Positive[int] | None = None
    _: KW_ONLY
    tol: NonNegative[float] = 1e-8
    max_iter: Positive[int] = 1000

    def _wanted(self, d: int) -> int:
        return max(d - 1, 1) if self.n_components is None else super()._wanted(d)

    def _from_moments(self, moments: Moments | RootMoments, k: int) -> Factors:
        found = self._first(moments, k)
        with Iterations(self, max_iter=self.max_iter, tol=self.tol) as loop:
            for _ in loop:
                rows = stand_ins(moments)
                seen = expect(found, rows.X, None, rows.weight, complete=True)
                loop.record(log_likelihood=seen.log_likelihood / seen.weight, change=0.0)
        return found

    def _first(self, moments: Moments | RootMoments, k: int) -> Factors:
        """The maximum of the likelihood for complete rows."""
        d, variance = len(moments.mean), variances(moments)
        if isinstance(moments, RootMoments):  # fewer rows than features: the rest is what is left
            values, vectors = leading(moments, np.ones(d), k)
            rest = (variance.sum() - values.sum()) / max(d - k, 1)
        else:
            found, vectors = linalg.eigh(moments.scatter / moments.weight, check_finite=False)
            values, vectors = found[::-1][:k], vectors[:, ::-1][:, :k]
            rest = found[: d - k].mean() if k < d else 0.0
        noise = np.maximum(np.full(d, rest), _floor(variance))
        return Factors(np.zeros(d), vectors * np.sqrt(np.clip(values - noise[0], 0, None)), noise)

    def _step(self, at: Factors, seen: FactorSums, floor: np.ndarray) -> Factors:
        found, count = maximise(at, seen)
        common = np.average(found.noise, weights=np.broadcast_to(count, found.noise.shape))
        return found._replace(noise=np.maximum(np.full(len(floor), common), floor.mean()))

    def _set_fitted(self, found: Factors, dtype: np.dtype) -> None:
        left, lengths, _ = linalg.svd(found.loadings, full_matrices=False)
        lengths = np.where(lengths > 1e-12 * lengths[0], lengths, 0.0)  # the rest is rounding
        self.components_ = with_signs(left * lengths).T.astype(dtype, copy=False)
        self.noise_variance_ = float(found.noise[0])
        variances = lengths**2 + found.noise[0]
        self.explained_variance_ = floats(variances, dtype, "the variances of X")
        self.mean_ = found.mean.astype(dtype, copy=False)

    def _noise(self) -> np.ndarray:
        return np.full(self.components_.shape[1], self.noise_variance_)

    def _n_parameters(self) -> int:
        """Mean, noise, and loadings up to a rotation."""
        k, d = self.components_.shape
        return d + 1 + d * k - k * (k - 1) // 2


def _floor(variance: np.ndarray) -> float:
    return float(noise_floor(variance).mean())
