"""An embedding that keeps the distances along the manifold."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from panlearn.core.estimator import Estimator, fitting
from panlearn.core.learned import shapes
from panlearn.core.memory import require_memory
from panlearn.core.parameters import Bounds, Jobs, Positive
from panlearn.latent._embedding import largest_eigenpairs
from panlearn.latent._extremes import floats
from panlearn.latent._neighbour_graph import connected_graph, geodesics, index_of
from panlearn.latent._rows import power_of_two, rows_in_memory


@dataclass(eq=False, repr=False)
class Isomap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""Coordinates whose distances are the geodesic ones of the rows.

    .. math::
        \min_{Z \in \mathbb R^{n \times k}} \; \bigl\| -\tfrac12 J D^{(2)} J - Z Z^\top \bigr\|_F,
        \qquad J = I - \tfrac1n \mathbf 1 \mathbf 1^\top,

    where :math:`D^{(2)}` holds the squared lengths of the shortest paths through the graph of
    nearest neighbours.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours of each row in the graph.
    n_components : int, default=2
        The number k of coordinates.
    p : float, default=2
        The order of Minkowski's distance between neighbours.
    n_jobs : int, default=None
        Threads of the searches and of the shortest paths; None or -1 uses the cores of this
        process. It changes no result.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The coordinates of the training rows.
    eigenvalues_ : ndarray of shape (n_components,)
        The largest eigenvalues of the centred matrix, the variances of the coordinates times n.
    dist_matrix_ : ndarray of shape (n_samples, n_samples)
        The geodesic distances.
    X_ : ndarray of shape (n_samples, n_features)
        The training rows, where new ones look for their neighbours.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    Exact neighbours, Dijkstra's algorithm from every row on the machine's threads
    (:math:`O(n^2 (k + \log n))`), and the leading eigenvectors by Lanczos' method
    (:math:`O(n^2)` a step). The distances are n by n in memory, twice while fitting. If the graph
    falls into components, a warning says how many, and each two are joined by the shortest edge
    between them. A column's largest entry is positive.

    A new row takes the shortest way through one of its neighbours to every training row, and from
    these distances its coordinates, as the training rows took theirs.

    References
    ----------
    J. B. Tenenbaum, V. de Silva and J. C. Langford (2000). A global geometric framework for
    nonlinear dimensionality reduction. Science 290. doi:10.1126/science.290.5500.2319

    Examples
    --------
    Points on three quarters of a circle unroll to a line.

    >>> import numpy as np
    >>> from panlearn.latent import Isomap
    >>> angle = np.linspace(0, 1.5 * np.pi, 50)
    >>> X = np.c_[np.cos(angle), np.sin(angle)]
    >>> Z = Isomap(2, n_components=1).fit_transform(X)
    >>> bool(abs(np.corrcoef(Z[:, 0], angle)[0, 1]) > 0.9999)
    True
    """

    most_rows = 2000
    learned = shapes(
        X_="(n_samples, n_features)",
        dist_matrix_="(n_samples, n_samples)",
        embedding_="(n_samples, n_components)",
        eigenvalues_="(n_components,)",
    )

    n_neighbors: Positive[int] = 5
    _: KW_ONLY
    n_components: Positive[int] = 2
    p: Annotated[float, Bounds(1, closed_low=True, closed_high=True)] = 2
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
        Isomap
            The model itself.
        """
        X = rows_in_memory(self, X)
        n, k = len(X), self.n_components
        if k > n:
            raise ValueError(f"n_components={k} is more than n_samples={n}; ask for fewer")
        require_memory((2, n, n), "what Isomap needs, the distances twice,", "take fewer rows")
        graph = connected_graph(X, self.n_neighbors, self.p, self.n_jobs)
        distances = geodesics(graph, self.n_jobs)
        unit = power_of_two(float(distances.max()))
        if unit > 1e150:
            raise ValueError("the squares of the distances overflow: rescale the columns of X")
        values, vectors = largest_eigenpairs(_centred(distances, unit), k)
        values = np.where(values > n * np.finfo(float).eps * values[0], values, 0.0)
        self.X_ = X.copy()
        self.dist_matrix_ = floats(distances, X.dtype, "the distances")
        self.embedding_ = np.ascontiguousarray(unit * (vectors * np.sqrt(values)), X.dtype)
        self.eigenvalues_ = floats(values * unit**2, X.dtype, "the squares of the distances")
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
        """Embed new rows through their neighbours among the training rows.

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
        near, index = index_of(self.X_, self.p).query(X, self.n_neighbors, self.n_jobs)
        D, unit = self.dist_matrix_, power_of_two(float(self.dist_matrix_.max()))
        centre = np.square(D / unit, dtype=float).mean(axis=0)
        known = self.embedding_.astype(float) / unit
        square = (known**2).sum(axis=0)
        # x's coordinates are -1/2 (d² - mean of d²) projected on the unit eigenvectors over √λ
        project = known / np.where(square > 0, square, 1.0)
        Z = np.empty((len(X), self.n_components), dtype=X.dtype)
        step = max(1, (1 << 22) // len(D))
        for i in range(0, len(X), step):
            part = slice(i, i + step)
            geodesic = np.full((len(X[part]), len(D)), np.inf)
            for distance, through in zip(near[part].T, index[part].T, strict=True):
                np.minimum(geodesic, distance[:, None] + D[through], out=geodesic)
            gap = (geodesic / unit) ** 2 - centre
            gap -= gap.mean(axis=1, keepdims=True)
            Z[part] = unit * (-0.5 * gap @ project)
        return Z

    def reconstruction_error(self) -> float:
        r"""Give the part of the distances that the coordinates leave out.

        Returns
        -------
        float
            :math:`\frac1n \sqrt{\|K\|_F^2 - \sum_j \lambda_j^2}` with the centred matrix
            :math:`K = -\frac12 J D^{(2)} J`.
        """
        self._require_fitted()
        unit = power_of_two(float(self.dist_matrix_.max()))
        K = _centred(self.dist_matrix_, unit)
        known = self.eigenvalues_.astype(float) / unit / unit
        left = np.vdot(K, K) - (known**2).sum()
        return float(unit**2 * np.sqrt(max(left, 0.0)) / len(K))

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _centred(distances: np.ndarray, unit: float) -> np.ndarray:
    """-1/2 J D² J of distances in a unit in which no square overflows."""
    K = np.divide(distances, unit, dtype=float)
    K *= K
    K *= -0.5
    mean = K.mean(axis=0)
    K -= mean
    K -= mean[:, None] - mean.mean()
    return K
