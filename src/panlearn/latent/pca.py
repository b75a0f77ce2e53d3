"""Principal component analysis."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy import linalg, sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.learned import shapes
from panlearn.core.map_reduce import map_reduce
from panlearn.core.memory import require_memory
from panlearn.core.mergeable import Mergeable
from panlearn.core.parameters import Bounds, NonNegative, Positive, RandomState
from panlearn.core.short_rows import divided, shifted
from panlearn.core.sources import ArrayRows, Rows
from panlearn.core.statistics import Moments
from panlearn.core.threads import in_parts, rows_together
from panlearn.core.validation import read_rows
from panlearn.latent._extremes import checked_rows, floats, log_floats
from panlearn.latent._likelihood import Likelihood
from panlearn.latent._principal_ways import Solver, choose, decompose, require_room
from panlearn.latent._rank_evidence import most_probable_rank
from panlearn.latent._row_blocks import row_blocks
from panlearn.latent._rows import coordinates
from panlearn.latent._spectrum import Spectrum, from_moments

BLOCK = 8192  # rows that are centred at a time: few calls, and the cache still holds them


@dataclass(eq=False, repr=False)
class PCA(Likelihood, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Mergeable):
    r"""The orthogonal directions in which the rows vary most.

    .. math::
        \max_{W^\top W = I} \operatorname{tr}(W^\top \Sigma W), \qquad
        \Sigma = \frac{1}{n - 1} \sum_i s_i (x_i - \mu)(x_i - \mu)^\top, \qquad n = \sum_i s_i

    Parameters
    ----------
    n_components : int, float in (0, 1), "mle" or None, default=None
        How many directions to keep: so many, or the fewest that explain this share of the
        variance, or the most probable number, or all in which the rows vary.
    whiten : bool, default=False
        Whether `transform` divides each score by its standard deviation.
    svd_solver : str, default="auto"
        The way to the solution: "covariance_eigh", "gram_eigh", "full", "arpack" or "randomized";
        "auto" is one that is exact.
    tol : float, default=0.0
        The tolerance of "arpack"; 0 is to rounding.
    iterated_power : int or "auto", default="auto"
        Power iterations of "randomized"; "auto" is 7.
    n_oversamples : int, default=10
        Random directions of "randomized" beyond the components.
    random_state : int, Generator, RandomState or None, default=None
        Seeds "arpack" and "randomized".

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        The directions, by falling variance. The largest entry of each is positive; of entries that
        are as large to six digits the first decides.
    explained_variance_ : ndarray of shape (n_components_,)
        The variance of the rows along each.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Its share in the variance of all features.
    singular_values_ : ndarray of shape (n_components_,)
        The singular values of the centred rows.
    mean_ : ndarray of shape (n_features,)
        The mean of the rows.
    n_components_ : int
        How many directions were kept.
    noise_variance_ : float
        The mean variance along the directions left out; 0 if none is.
    svd_solver_ : str
        The way that was taken.
    statistic_ : Moments
        The moments of the rows seen, from which `partial_fit` goes on; absent unless the way was
        "covariance_eigh".
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X had names.

    Notes
    -----
    "covariance_eigh" finds centred moments in one pass and their eigenvectors, :math:`O(n d^2 +
    d^3)`; "gram_eigh" the eigenvectors of the products of the centred rows, :math:`O(n^2 d + n^3)`.
    "auto" takes the first for streams, Dask collections and arrays of at least as many rows as
    columns, and the second for others; they give the same answer to rounding. Variances below
    :math:`10^{-16}` of the largest are noise in both, and directions below that or below the
    rounding of X do not count as those in which the rows vary. "full" is the singular value
    decomposition of the centred rows, :math:`O(n d \min(n, d))`, with twice the digits. "arpack"
    iterates Lanczos' method to the tolerance; "auto" takes it for few components of many sparse
    columns. "randomized" projects the rows on random directions, with power iterations: it is
    the fastest for few components of a large X, and its variances are too low where the
    spectrum falls slowly. The last two and "covariance_eigh" do not make sparse rows dense.

    The sum of the weights is the number n of rows. If it is below 2, as when the weights are
    shares of 1, the divisor n - 1 is n / 2.

    The density of `score_samples` is that of probabilistic PCA, a Gaussian with variance
    ``noise_variance_`` in the directions left out. A variance below rounding counts as one rounding
    of the largest, so that flat data have a density.

    References
    ----------
    K. Pearson (1901). On lines and planes of closest fit to systems of points in space.
    Philosophical Magazine 2(11). doi:10.1080/14786440109462720

    T. P. Minka (2000). Automatic choice of dimensionality for PCA. NeurIPS 13.

    N. Halko, P.-G. Martinsson and J. A. Tropp (2011). Finding structure with randomness. SIAM
    Review 53(2). doi:10.1137/090771806

    M. E. Tipping and C. M. Bishop (1999). Probabilistic principal component analysis. JRSS B 61(3).
    doi:10.1111/1467-9868.00196

    Examples
    --------
    >>> from panlearn.latent import PCA
    >>> model = PCA(n_components=1).fit([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]])
    >>> model.components_.round(3), model.explained_variance_ratio_.round(3), model.svd_solver_
    (array([[0.447, 0.894]]), array([1.]), 'covariance_eigh')
    """

    learned = shapes(
        components_="(n_components, n_features)",
        explained_variance_="(n_components,)",
        explained_variance_ratio_="(n_components,)",
        singular_values_="(n_components,)",
        mean_="(n_features,)",
    )

    _kept_none_if = "it was fitted with another svd_solver than 'covariance_eigh'"
    capabilities = Capabilities(sources=ANYWHERE, any_order=True, partial_fit="exact", sparse=True)

    n_components: Positive[int] | Annotated[float, Bounds(0, 1)] | Literal["mle"] | None = None
    _: KW_ONLY
    whiten: bool = False
    svd_solver: Literal["auto", "covariance_eigh", "gram_eigh", "full", "arpack", "randomized"] = (
        "auto"
    )
    tol: NonNegative[float] = 0.0
    iterated_power: NonNegative[int] | Literal["auto"] = "auto"
    n_oversamples: Positive[int] = 10
    random_state: RandomState = None

    def _read_training(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Rows:
        return read_rows(self, X, None, sample_weight, reset=reset)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Go the way that the rows and `svd_solver` ask for; only one keeps a statistic."""
        rows = self._read_training(X, y, sample_weight, reset=True)
        solver = choose(self, rows, self._number())
        if solver == "covariance_eigh" or not isinstance(rows, ArrayRows):
            self.statistic_ = self._summarise(rows)
            spectrum = from_moments(self.statistic_, rows.dtype, self._number())
        else:
            spectrum = decompose(self, rows, solver, self._number())
        if spectrum.weight <= 1 and spectrum.total == 0:
            raise ValueError(
                f"the variance of n_samples = {spectrum.weight:g} (the sum of the weights) is not "
                "defined; PCA needs more than 1 sample"
            )
        require_room(self._number(), spectrum.n_samples, rows.n_features)
        self._set_fitted(spectrum, rows.dtype, solver)
        return self

    def _summarise(self, rows: Rows) -> Moments:
        return _moments(rows)

    def _solve(self, statistic: Moments, rows: Rows) -> None:
        """Find components; the first rows may be fewer, and leave any directions for the others."""
        spectrum = from_moments(statistic, rows.dtype, self._number())
        require_room(self._number(), rows.n_features, rows.n_features)
        self._set_fitted(spectrum, rows.dtype, "covariance_eigh")

    def _number(self) -> int | None:
        """The number of components asked for, if it is a number."""
        k = self.n_components
        return int(k) if isinstance(k, int | np.integer) else None

    def _set_fitted(self, spectrum: Spectrum, dtype: np.dtype, solver: Solver) -> None:
        n, d, rank = spectrum.weight, len(spectrum.mean), max(spectrum.rank, 1)
        # n - 1 for two rows and more; continuous from there to weights that are shares of one
        degrees = max(n - 1, n / 2)
        limit = min(spectrum.n_samples, d)
        k = self._number()
        squares = spectrum.squares
        ratio = squares / spectrum.total if spectrum.total > 0 else np.zeros_like(squares)
        if self.n_components is None:
            k = rank
        elif self.n_components == "mle":
            k = most_probable_rank(squares[:limit] / degrees, n)
        elif k is None:
            enough = np.searchsorted(np.cumsum(ratio), self.n_components, side="right") + 1
            k = min(int(enough), rank)
        left = limit - k
        rest = squares[k:] if len(squares) >= limit else spectrum.total - squares[:k].sum()
        noise = max(float(np.sum(rest)), 0.0) / degrees / left if left > 0 else 0.0
        self.components_ = np.ascontiguousarray(_with_signs(spectrum.vectors[:k]), dtype)
        self.explained_variance_ = floats(squares[:k] / degrees, dtype, "the variances of X")
        self.singular_values_ = floats(np.sqrt(squares[:k]), dtype, "the singular values of X")
        self.explained_variance_ratio_ = ratio[:k].astype(dtype, copy=False)
        self.mean_ = spectrum.mean.astype(dtype, copy=False)
        self.n_components_ = k
        self.noise_variance_ = float(noise)
        self.svd_solver_ = solver

    def transform(self, X: Any) -> np.ndarray:
        """Project rows on the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
        """
        X = self._check(X)
        scores = self._project(X)
        return floats(scores / self._scale() if self.whiten else scores, X.dtype, "the scores")

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Give the rows that have these scores and nothing in the directions left out.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)
            Scores, as `transform` returns them.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        self._require_fitted()
        scores = coordinates(X, self.n_components_)
        return (scores * self._scale() if self.whiten else scores) @ self.components_ + self.mean_

    def score_samples(self, X: Any) -> np.ndarray:
        """Give the log density of each row under probabilistic PCA.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        X = self._check(X)
        d = X.shape[1]
        variance, noise = self._floored()
        log_det = np.log(variance).sum() + (d - self.n_components_) * np.log(noise)
        distance, mean = np.empty(X.shape[0]), self.mean_.astype(float)
        with np.errstate(over="ignore"):
            for part, rows in row_blocks(X, BLOCK):
                centred = shifted(rows.toarray() if sparse.issparse(rows) else rows, -mean)
                scores = centred @ self.components_.T
                distance[part] = _squares(divided(scores, np.sqrt(variance)))
                if d > self.n_components_:
                    centred -= scores @ self.components_
                    centred /= np.sqrt(noise)
                    distance[part] += _squares(centred)
        return log_floats(-0.5 * (distance + log_det + d * np.log(2 * np.pi)), X.dtype)

    def get_covariance(self) -> np.ndarray:
        """Give the covariance of the model, that of the components and of the noise.

        Returns
        -------
        ndarray of shape (n_features, n_features)
        """
        self._require_fitted()
        above = (self.explained_variance_ - self.noise_variance_)[:, None]
        covariance = self.components_.T @ (above * self.components_)
        covariance[np.diag_indices_from(covariance)] += self.noise_variance_
        return covariance

    def get_precision(self) -> np.ndarray:
        """Give the inverse of the covariance of the model.

        Returns
        -------
        ndarray of shape (n_features, n_features)
        """
        return linalg.pinvh(self.get_covariance())

    def _n_parameters(self) -> int:
        """Mean, noise, variances and a frame of k directions."""
        d, k = self.n_features_in_, self.n_components_
        return d + d * k - k * (k - 1) // 2 + (k < d)

    def _check(self, X: Any) -> Any:
        self._require_fitted()
        return checked_rows(self, X, reset=False, accept_sparse="csr")

    def _project(self, X: Any) -> np.ndarray:
        """(X - mean) W, with X centred first where the mean is so far that it would cost digits."""
        if sparse.issparse(X) or self._is_near():
            scores = X @ self.components_.T
            return shifted(scores, -self.mean_ @ self.components_.T, out=scores)
        out = np.empty((X.shape[0], self.n_components_), np.result_type(X, self.mean_))

        def project(part: slice) -> None:
            np.matmul(shifted(X[part], -self.mean_), self.components_.T, out=out[part])

        in_parts(project, len(X), rows_together(sum(self.components_.shape)))
        return out

    def _is_near(self) -> bool:
        """Whether the mean is no farther from zero than rows are from the mean."""
        mean, left = self.mean_.astype(float), len(self.mean_) - self.n_components_
        return mean @ mean <= self.explained_variance_.sum() + left * self.noise_variance_

    def _scale(self) -> np.ndarray:
        return np.sqrt(self._floored()[0]).astype(self.components_.dtype)

    def _floored(self) -> tuple[np.ndarray, float]:
        """The variances, none of them below one rounding of the largest."""
        variance = self.explained_variance_.astype(float)
        kind = np.finfo(self.components_.dtype)
        floor = max(float(kind.eps) * variance.max(), float(kind.tiny))
        return np.maximum(variance, floor), max(self.noise_variance_, floor)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _moments(rows: Rows) -> Moments:
    d = rows.n_features
    require_memory((d, d), "the covariance", "use svd_solver='randomized'")
    return map_reduce(lambda X, y, weight: Moments.of(X, weight=weight), rows)


def _squares(rows: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", rows, rows)


def _with_signs(vectors: np.ndarray) -> np.ndarray:
    """Make the largest entry of each row positive; of equally large ones, the first."""
    size = np.abs(vectors)
    leading = np.argmax(size >= (1 - 1e-6) * size.max(axis=1, keepdims=True), axis=1)
    signs = np.sign(vectors[np.arange(len(vectors)), leading])
    return vectors * np.where(signs == 0, 1, signs)[:, None]
