"""Kernel principal component analysis."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy import linalg, sparse
from scipy.linalg import blas
from scipy.sparse.linalg import LinearOperator, eigsh
from scipy.spatial.distance import cdist
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from panlearn.core.estimator import fitting
from panlearn.core.learned import shapes
from panlearn.core.memory import require_memory
from panlearn.core.parameters import NonNegative, Positive, RandomState
from panlearn.core.random import generator
from panlearn.kernel._base import BLOCK, KernelMethod, KernelOrMatrix, rounded, times
from panlearn.kernel._kernel import Kernel
from panlearn.kernel._labels import present
from panlearn.kernel._solve import solve_psd
from panlearn.kernel._stationary import Stationary
from panlearn.kernel._tiles import fill_lower, gram
from panlearn.kernel.kernels import RBF, Linear

Solver = Literal["dense", "arpack"]


@dataclass(eq=False, repr=False)
class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelMethod):
    r"""Principal component analysis in the feature space of a kernel.

    .. math::
        \max_{w^\top w = 1} \; \sum_i s_i \big(w^\top (\varphi(x_i) - \bar\varphi)\big)^2, \qquad
        w = \sum_i a_i \, (\varphi(x_i) - \bar\varphi), \quad
        S^{1/2} \tilde K S^{1/2} u = \lambda u, \quad a = S^{1/2} u / \sqrt\lambda

    where :math:`\tilde K` is the kernel matrix of the rows about their mean
    :math:`\bar\varphi`.

    Parameters
    ----------
    n_components : int or None, default=None
        How many components to keep; None keeps all whose eigenvalue is not zero to rounding.
    kernel : str, kernel or callable, default='linear'
        "linear", "poly", "polynomial", "rbf", "laplacian", "cosine" or "sigmoid"; a kernel of
        `panlearn.kernel.kernels` or of scikit-learn; a function of two matrices of rows, or of
        two rows; or "precomputed": X is then the matrix of the rows with the training rows.
    gamma : float, default=None
        The factor in "rbf", :math:`\exp(-\gamma \|x - z\|^2)`, "laplacian", "poly" and "sigmoid";
        None is 1 / n_features.
    degree : int, default=3
        The degree of "poly".
    coef0 : float, default=1.0
        The constant in "poly" and "sigmoid".
    alpha : float, default=1.0
        The penalty of the ridge regression behind `inverse_transform`.
    fit_inverse_transform : bool, default=False
        Whether to learn the way back by kernel ridge regression of the rows on their scores, with
        the same kernel. Without it, the way back is known for the kernels "linear" and "rbf".
    eigen_solver : {'auto', 'dense', 'arpack'}, default='auto'
        All eigenvalues at once, or Lanczos iterations for the largest; "auto" takes the latter
        from 500 rows if at most a twentieth of the components is wanted.
    tol : float, default=1e-10
        The relative error of the eigenvalues at which "arpack" stops; 0 is rounding.
    random_state : int, Generator or RandomState, default=None
        Draws the vector from which "arpack" starts.
    copy_X : bool, default=True
        Whether to keep a copy of the rows. Without it the model is as good as long as the caller
        leaves X alone.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components_,)
        The largest eigenvalues of the centred kernel matrix, falling.
    eigenvectors_ : ndarray of shape (n_samples, n_components_)
        Their eigenvectors u. The row with the largest score has a positive one; of scores that are
        as large to six digits the first decides.
    n_components_ : int
        How many components were kept.
    eigen_solver_ : str
        The way that was taken.
    dual_coef_ : ndarray of shape (n_samples, n_features)
        The coefficients of the way back, with ``fit_inverse_transform``.
    X_fit_ : {ndarray, csr matrix} of shape (n_samples, n_features)
        A copy of the rows of the training data whose weight is not zero; for "precomputed" their
        positions, (n_samples, 1).
    X_transformed_fit_ : ndarray of shape (n_samples, n_components_)
        Their scores.
    projection_ : ndarray of shape (n_samples, n_components_)
        The scores of a row x are ``kernel_(x, X_fit_) @ projection_ - offset_``.
    offset_ : ndarray of shape (n_components_,)
        What the scores are lowered by.
    sample_weight_ : ndarray of shape (n_samples,)
        Their weights.
    kernel_ : Kernel or None
        The kernel as it was used; None for "precomputed".
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X had names.

    Notes
    -----
    "dense" costs :math:`O(n^3)`; "arpack" a few dozen products with the kernel matrix,
    :math:`O(n^2)` each. Half of that matrix is made, after saying whether it fits, and it is
    centred only in its products. New rows are centred by the mean of the training rows in feature
    space. A component with eigenvalue zero has scores zero. The matrix of "sigmoid" may have
    negative eigenvalues, which no component belongs to; of any other kernel they are an error.

    `inverse_transform` looks for the row whose image is nearest to the point that the scores stand
    for. For the kernel "linear" it is a sum of training rows; for "rbf" the fixed point of Mika and
    others, from the training row with the nearest scores; with ``fit_inverse_transform`` it is
    estimated by ridge regression as Bakır and others do.

    References
    ----------
    B. Schölkopf, A. Smola and K.-R. Müller (1998). Nonlinear component analysis as a kernel
    eigenvalue problem. Neural Computation 10(5). doi:10.1162/089976698300017467

    S. Mika, B. Schölkopf, A. Smola, K.-R. Müller, M. Scholz and G. Rätsch (1999). Kernel PCA and
    de-noising in feature spaces. NIPS 11, 536-542.

    G. H. Bakır, J. Weston and B. Schölkopf (2004). Learning to find pre-images. NIPS 16, 449-456.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from panlearn.kernel import KernelPCA
    >>> X, y = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    >>> model = KernelPCA(2, kernel="rbf", gamma=3.0).fit(X)
    >>> inner, outer = (model.transform(X[y == label])[:, 0] for label in (1, 0))
    >>> bool(inner.min() > outer.max())  # the first component tells the circles apart
    True
    """

    learned = shapes(
        eigenvalues_="(n_components,)",
        eigenvectors_="(n_samples, n_components)",
        projection_="(n_samples, n_components)",
        offset_="(n_components,)",
        sample_weight_="(n_samples,)",
        X_transformed_fit_="(n_samples, n_components)",
        dual_coef_="(n_samples, n_features)",
    )

    n_components: Positive[int] | None = None
    _: KW_ONLY
    kernel: KernelOrMatrix = "linear"
    gamma: Positive[float] | None = None
    degree: Positive[int] = 3
    coef0: float = 1.0
    alpha: NonNegative[float] = 1.0
    fit_inverse_transform: bool = False
    eigen_solver: Literal["auto", "dense", "arpack"] = "auto"
    tol: NonNegative[float] = 1e-10
    random_state: RandomState = None
    copy_X: bool = True

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the components of training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; for "precomputed" the kernel matrix, (n_samples, n_samples).
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; an integer weight is a repeated row.

        Returns
        -------
        KernelPCA
            The model itself.
        """
        matrix, _, weight = self._read(X, None, sample_weight, "none", keep_sparse=True)
        X, _, weight = present(self._rows(matrix), np.zeros(matrix.shape[0]), weight)
        if self.fit_inverse_transform and self._is_given:
            raise ValueError(
                "fit_inverse_transform learns the way back to rows, and kernel='precomputed' has "
                "none; give the rows and a kernel"
            )
        kernel = self._choose_kernel(X, matrix)
        n, k, solver = len(weight), self.n_components, self._choose(len(weight))
        copies = 1 if solver == "arpack" else 3
        require_memory((copies, n, n), "the kernel matrix with its workspace", "use fewer rows")
        centred = _Centred.of(kernel, X.astype(np.float64, copy=False), weight)
        if solver == "arpack":
            start = generator(self.random_state).standard_normal(n)
            values, vectors = centred.largest(k or n, self.tol, start)
        else:
            # of a kernel that is no inner product the least eigenvalue tells
            proved = isinstance(kernel, Linear | Stationary)
            values, vectors = centred.spectrum(k if proved and k is not None else n)
        error = n * np.finfo(float).eps * max(float(np.abs(values).max()), centred.size)
        if values.min() < -1e3 * error and not kernel.indefinite:
            raise ValueError(
                f"the centred kernel matrix has the eigenvalue {values.min():.3g}: the kernel is "
                "not valid on these rows"
            )
        k = max(int(np.sum(values > error)), 1) if k is None else k
        values, vectors = np.where(values > error, values, 0.0)[:k], vectors[:, :k]
        root = np.sqrt(weight)[:, None]
        vectors = vectors * _signs(vectors / root)
        self.n_components_, self.eigen_solver_ = k, solver
        self.eigenvalues_, self.eigenvectors_ = values, vectors
        a = root * vectors / np.sqrt(np.where(values > 0, values, np.inf))
        # a sums to zero but for rounding, which a large common part of the kernel would magnify
        projection = a - weight[:, None] * (a.sum(axis=0) / weight.sum())
        self.projection_ = np.ascontiguousarray(projection)
        self.offset_ = centred.means @ self.projection_
        scores = vectors * np.sqrt(values) / root
        self._keep(kernel, X, self.copy_X)
        self.sample_weight_ = weight
        # row after row in memory, as a model file has it, so that the bits of a product stay
        self.X_transformed_fit_ = np.ascontiguousarray(scores, dtype=X.dtype)
        if self.fit_inverse_transform:
            H = gram(kernel, scores)
            H.flat[:: n + 1] += self.alpha / weight
            rows = X.toarray() if sparse.issparse(X) else X
            self.dual_coef_ = np.ascontiguousarray(solve_psd(H, rows.astype(np.float64)))
        return self

    def _choose(self, n: int) -> Solver:
        k = self.n_components
        if k is not None and k > n:
            raise ValueError(f"n_components={k} is more than n_samples={n}; ask for fewer")
        if self.eigen_solver == "arpack" and (k is None or k == n):
            raise ValueError("eigen_solver='arpack' needs n_components, and fewer than rows")
        if self.eigen_solver != "auto":
            return self.eigen_solver
        return "arpack" if k is not None and k <= n / 20 and n >= 500 else "dense"

    def transform(self, X: Any) -> np.ndarray:
        """Project rows on the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; for "precomputed" their kernel matrix with the training rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
        """
        self._require_fitted()
        return rounded(self._times(X, self.projection_) - self.offset_, self.X_fit_.dtype)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Give rows whose images are near the points that have these scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)
            Scores, as `transform` returns them.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        self._require_fitted()
        scores = np.asarray(X, dtype=np.float64)
        if scores.ndim != 2 or scores.shape[1] != self.n_components_:
            raise ValueError(
                f"X must have the shape (n_samples, {self.n_components_}) of what transform "
                f"returns; got {scores.shape}"
            )
        dtype = self.X_fit_.dtype
        if hasattr(self, "dual_coef_"):
            return times(self.kernel_, scores, self.X_transformed_fit_, self.dual_coef_).astype(
                dtype
            )
        if not isinstance(self.kernel_, RBF | Linear):
            raise ValueError(
                f"there is no way back from the kernel {self.kernel_} without training: fit with "
                "fit_inverse_transform=True"
            )
        train = self.X_fit_.toarray() if sparse.issparse(self.X_fit_) else self.X_fit_
        train = train.astype(np.float64, copy=False)
        mean, step = self.sample_weight_ / self.sample_weight_.sum(), max(1, BLOCK // len(train))
        rows = []
        for i in range(0, len(scores), step):
            # the point is Σ_i γ_i φ(x_i)
            share = scores[i : i + step] @ self.projection_.T + mean
            if isinstance(self.kernel_, Linear):
                rows.append(share @ train)
            else:
                near = cdist(scores[i : i + step], self.X_transformed_fit_).argmin(axis=1)
                rows.append(_pre_image(self.kernel_, train, share, train[near]))
        return np.concatenate(rows).astype(dtype)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class _Centred(NamedTuple):
    """S½ P K Pᵀ S½ with P = I − 1sᵀ/n: K in its lower half, its row means, s, its largest entry."""

    K: np.ndarray
    means: np.ndarray
    weight: np.ndarray
    size: float

    @classmethod
    def of(cls, kernel: Kernel, X: Any, weight: np.ndarray) -> Self:
        K = np.zeros((len(weight), len(weight)))
        fill_lower(kernel, X, K)
        means = blas.dsymv(1.0, K.T, weight / weight.sum(), lower=0)
        return cls(K, means, weight, float(np.abs(K.diagonal()).max()))

    def spectrum(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k largest eigenvalues, falling, and their vectors; K is overwritten."""
        K, root, n = self.K, np.sqrt(self.weight), len(self.K)
        K -= self.means
        K -= (self.means - self.means @ self.weight / self.weight.sum())[:, None]
        K *= root
        K *= root[:, None]
        # what is below the diagonal here is above it for Fortran
        values, vectors = linalg.eigh(
            K.T,
            lower=False,
            subset_by_index=[n - k, n - 1],
            overwrite_a=True,
            check_finite=False,
        )
        return values[::-1], vectors[:, ::-1]

    def largest(self, k: int, tol: float, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The k largest eigenvalues, falling, and their vectors, by Lanczos iterations."""
        n, root = len(self.K), np.sqrt(self.weight)
        share = self.weight / self.weight.sum()

        def product(v: np.ndarray) -> np.ndarray:
            w = root * v.ravel()
            y = blas.dsymv(1.0, self.K.T, w - share * w.sum(), lower=0)
            return root * (y - share @ y)

        operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
        values, vectors = eigsh(operator, k=k, which="LA", tol=tol, v0=start)
        order = np.argsort(values)[::-1]
        return values[order], vectors[:, order]


def _signs(scores: np.ndarray) -> np.ndarray:
    """What makes the largest score of each column positive; of equally large ones, the first."""
    size = np.abs(scores)
    leading = np.argmax(size >= (1 - 1e-6) * size.max(axis=0), axis=0)
    return np.where(scores[leading, np.arange(scores.shape[1])] < 0, -1.0, 1.0)


def _pre_image(
    kernel: RBF, train: np.ndarray, share: np.ndarray, start: np.ndarray, max_iter: int = 200
) -> np.ndarray:
    """Rows z of highest h(z) = Σ_i γ_i k(z, x_i) near a start, by z ← Σ_i γ_i k(z, x_i) x_i / h."""
    found, going, scale = start.copy(), np.arange(len(start)), np.abs(train).max()
    weight = share * kernel._gram(start, train)
    height = weight.sum(axis=1)
    for _ in range(max_iter):
        going, weight, height = going[height > 0], weight[height > 0], height[height > 0]
        if not len(going):
            break
        at = (weight @ train) / height[:, None]
        moved = np.abs(at - found[going]).max(axis=1)
        weight = share[going] * kernel._gram(at, train)
        now = weight.sum(axis=1)
        up = now > height  # a negative γ may lead down: then the last row stands
        found[going[up]] = at[up]
        on = up & (moved > 1e-10 * scale)
        going, weight, height = going[on], weight[on], now[on]
    return found
