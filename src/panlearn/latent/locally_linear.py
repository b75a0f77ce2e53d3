"""An embedding that keeps how each row is composed of its neighbours."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from panlearn.core.estimator import Estimator, fitting
from panlearn.core.learned import shapes
from panlearn.core.memory import require_memory
from panlearn.core.parameters import Jobs, Positive
from panlearn.latent._embedding import smallest_eigenpairs
from panlearn.latent._neighbour_graph import components, index_of, neighbours
from panlearn.latent._rows import rows_in_memory


@dataclass(eq=False, repr=False)
class LocallyLinearEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""Coordinates in which each row is the same mixture of its neighbours as before.

    .. math::
        \min_{Z^\top Z = I,\; Z^\top \mathbf 1 = 0} \; \sum_i \Bigl\| z_i - \sum_j w_{ij} z_j
        \Bigr\|^2, \qquad w_{i\cdot} = \arg\min_{\sum_j w_j = 1} \Bigl\| x_i - \sum_{j \in N(i)}
        w_j x_j \Bigr\|^2 + \rho_i \|w\|^2

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours of each row.
    n_components : int, default=2
        The number of coordinates.
    reg : float, default=0.001
        The regularisation :math:`\rho_i` as a part of the trace of the neighbours' scatter about
        the row.
    n_jobs : int, default=None
        Threads of the search; None or -1 uses the cores of this process. It changes no result.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates of the training rows, columns of length one.
    reconstruction_error_ : float
        The objective: the sum of the eigenvalues that go with the coordinates.
    X_ : ndarray of shape (n_samples, n_features)
        The training rows, where new ones look for their neighbours.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    The weights are n systems of ``n_neighbors`` equations, solved together; the coordinates are
    the eigenvectors of the sparse matrix :math:`(I - W)^\top (I - W)` above the constant one, by
    Lanczos' method on its factorised inverse, shifted just below zero so that it is definite.
    Time and memory grow about linearly with n. The sign of a column makes its largest entry
    positive. If the graph of neighbours falls into components a warning says how many: the
    coordinates then tell components apart and little else.

    A new row gets the mixture of its neighbours' coordinates with its own weights. Beside the
    search, the weights cost :math:`O(n (k^2 d + k^3))` for k neighbours.

    References
    ----------
    S. T. Roweis and L. K. Saul (2000). Nonlinear dimensionality reduction by locally linear
    embedding. Science 290. doi:10.1126/science.290.5500.2323

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.latent import LocallyLinearEmbedding
    >>> angle = np.linspace(0, 1.5 * np.pi, 50)
    >>> X = np.c_[np.cos(angle), np.sin(angle)]
    >>> Z = LocallyLinearEmbedding(4, n_components=1).fit_transform(X)
    >>> steps = np.sign(np.diff(Z[:, 0]))
    >>> bool((steps == steps[0]).all())
    True
    """

    learned = shapes(
        X_="(n_samples, n_features)",
        embedding_="(n_samples, n_components)",
    )

    n_neighbors: Positive[int] = 5
    _: KW_ONLY
    n_components: Positive[int] = 2
    reg: Positive[float] = 1e-3
    n_jobs: Jobs = None

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : object, default=None
            Ignored.

        Returns
        -------
        LocallyLinearEmbedding
            The model itself.
        """
        X = rows_in_memory(self, X)
        n, k = len(X), self.n_components
        if k >= n:
            raise ValueError(f"n_components={k} must be below n_samples={n}; ask for fewer")
        index = neighbours(X, self.n_neighbors, 2.0, self.n_jobs)[1]
        require_memory(
            (n, self.n_neighbors**2), "the sparse matrix of LLE", "take fewer rows or neighbours"
        )
        components(index, "the coordinates will tell them apart and little else")
        weight = reconstruction_weights(X, X, index, self.reg)
        starts = np.arange(n + 1) * self.n_neighbors
        W = sparse.csc_array(sparse.csr_array((weight.ravel(), index.ravel(), starts), (n, n)))
        residual = sparse.eye_array(n, format="csc") - W
        values, vectors = smallest_eigenpairs((residual.T @ residual).tocsc(), k + 1)
        self.X_, self.embedding_ = X.copy(), np.ascontiguousarray(vectors[:, 1:], X.dtype)
        self.reconstruction_error_ = float(values[1:].sum())
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Embed the training rows and return their coordinates.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return self.fit(X).embedding_

    def transform(self, X: Any) -> np.ndarray:
        """Embed new rows as mixtures of their neighbours among the training rows.

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
        index = index_of(self.X_).query(X, self.n_neighbors, self.n_jobs)[1]
        weight = reconstruction_weights(X, self.X_, index, self.reg)
        return np.einsum("ij,ijk->ik", weight, self.embedding_[index]).astype(X.dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def reconstruction_weights(
    Q: np.ndarray, X: np.ndarray, index: np.ndarray, reg: float
) -> np.ndarray:
    """Weights w with sum one that compose each row of Q from its neighbours in X.

    They solve (C + reg tr(C) I) w = 1, C the neighbours' scatter about the row, up to the sum.
    """
    k = index.shape[1]
    weight = np.empty(index.shape)
    step = max(1, (1 << 17) // (k * max(k, X.shape[1])))  # differences that stay in the cache
    for i in range(0, len(Q), step):
        part = slice(i, i + step)
        difference = X[index[part]] - Q[part, None].astype(float)
        # the weights do not depend on the unit, so the largest difference is one
        low, high = (ends(axis=(1, 2), keepdims=True) for ends in (difference.min, difference.max))
        size = np.maximum(high, -low)
        difference /= np.where(size > 0, size, 1.0)
        C = difference @ difference.transpose(0, 2, 1)
        trace = np.trace(C, axis1=1, axis2=2)
        C[:, range(k), range(k)] += reg * np.where(trace > 0, trace, 1.0)[:, None]
        weight[part] = np.linalg.solve(C, np.ones((len(C), k, 1)))[:, :, 0]
    return weight / weight.sum(axis=1, keepdims=True)
