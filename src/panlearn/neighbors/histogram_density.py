"""Histograms as densities, in any number of dimensions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, Self

import numpy as np
from sklearn.base import DensityMixin

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.density import Density
from panlearn.core.estimator import Estimator, fitting
from panlearn.core.learned import shapes
from panlearn.core.map_reduce import map_reduce
from panlearn.core.parameters import Bounds, RandomState
from panlearn.core.plain import known_rows
from panlearn.core.random import generator
from panlearn.core.sources import ArrayRows
from panlearn.core.statistics import LabelCounts
from panlearn.core.validation import read_rows

MOST_BINS = 1 << 24


@dataclass(eq=False, repr=False)
class HistogramDensity(Density, DensityMixin, Estimator):
    r"""A density that is constant on each cell of a grid.

    .. math::
        \hat p(x) = \frac{n_c}{n \, |c|} \qquad \text{for } x \text{ in the cell } c
        \text{ of volume } |c| \text{ with } n_c \text{ of the } n \text{ rows}

    Parameters
    ----------
    bins : int, str or array-like, default="scott"
        The grid: a number of bins of equal width for each feature; a rule, "scott", "fd" or
        "sturges"; or the edges of the bins, an increasing array for all features or a list of
        arrays, one a feature. Edges that are given do not depend on the rows.

    Attributes
    ----------
    bin_edges_ : list of ndarray
        The edges of the bins of each feature.
    statistic_ : LabelCounts
        The numbers of the cells that hold rows, and the weights in them; row-major over the grid.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    Scott's width is :math:`(24 \sqrt\pi / n)^{1/3} \sigma` and that of Freedman and Diaconis
    twice the interquartile range times :math:`n^{-1/3}`, both with the exponent
    :math:`1 / (d + 2)` in d dimensions; there are never more bins than rows. Only cells that hold
    rows are kept, so memory grows with the rows and not with the grid. A bin holds its lower edge
    and the last one both. With given edges the counts are sums over the rows: X may then be a
    stream of batches or a Dask collection, and rows outside the grid are refused. A fit costs
    :math:`O(n d \log b)` for b bins a feature, and a sort of the cells, :math:`O(n \log n)`.

    References
    ----------
    D. W. Scott (1979). On optimal and data-based histograms. Biometrika 66(3).
    doi:10.1093/biomet/66.3.605

    D. Freedman and P. Diaconis (1981). On the histogram as a density estimator: L2 theory.
    Zeitschrift für Wahrscheinlichkeitstheorie 57. doi:10.1007/BF01025868

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.neighbors import HistogramDensity
    >>> model = HistogramDensity([0.0, 1.0, 3.0]).fit([[0.5], [0.7], [1.5], [2.5]])
    >>> np.exp(model.score_samples([[0.2], [2.0], [9.0]]))
    array([0.5 , 0.25, 0.  ])
    """

    learned = shapes(
        bin_edges_="n_features of (*,)",
    )

    capabilities = Capabilities(sources=ANYWHERE, any_order=True)

    bins: Annotated[int, Bounds(0, MOST_BINS)] | Literal["scott", "fd", "sturges"] | np.ndarray = (
        "scott"
    )

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count the rows in each cell.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; with given edges also a stream of batches.
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; an integer weight is a repeated row.

        Returns
        -------
        HistogramDensity
            The model itself.
        """
        rows = read_rows(self, X, None, sample_weight)
        if not isinstance(self.bins, str | int | np.integer):
            edges = _given(self.bins, rows.n_features)
            if isinstance(rows, ArrayRows):
                rows.reject_non_finite()
        elif isinstance(rows, ArrayRows):
            rows.reject_non_finite()
            edges = _chosen(self.bins, rows.X, rows.weight)
        else:
            raise ValueError(
                f"bins={self.bins!r} looks at all rows before it counts; for a stream give the "
                "edges of the bins"
            )
        _sizes(edges)
        self.statistic_ = map_reduce(partial(_count, edges), rows)
        self.bin_edges_ = edges
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
            Minus infinity in empty cells and outside the grid.
        """
        self._require_fitted()
        X = known_rows(self, X)
        cells, inside = _cells(self.bin_edges_, X)
        labels, count = self.statistic_.labels, self.statistic_.count
        code = np.ravel_multi_index(cells, _sizes(self.bin_edges_))
        place = np.minimum(np.searchsorted(labels, code), len(labels) - 1)
        found = inside & (labels[place] == code) & (count[place] > 0)
        logs = np.full(len(X), -np.inf)
        logs[found] = np.log(count[place[found]] / count.sum())
        for edges, cell in zip(self.bin_edges_, cells, strict=True):
            logs -= np.log(np.diff(edges))[cell]
        return logs.astype(X.dtype, copy=False)

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
        rng, statistic = generator(random_state), self.statistic_
        share = statistic.count / statistic.count.sum()
        code = rng.choice(statistic.labels, n_samples, p=share)
        cells = np.unravel_index(code, _sizes(self.bin_edges_))
        pairs = zip(self.bin_edges_, cells, strict=True)
        return np.column_stack([rng.uniform(edges[c], edges[c + 1]) for edges, c in pairs])


def _given(bins: Any, d: int) -> list[np.ndarray]:
    """Edges from the user: one array for all features, or one a feature."""
    try:
        several = len(bins) > 0 and all(isinstance(b, Iterable) for b in bins)
        edges = [np.array(b, dtype=float) for b in bins] if several else [np.array(bins, float)] * d
    except (TypeError, ValueError) as error:
        raise ValueError(f"bins must be numbers: {error}") from error
    if len(edges) != d:
        raise ValueError(f"bins has edges for {len(edges)} features and X has {d}")
    for e in edges:
        if e.ndim != 1 or len(e) < 2 or not np.isfinite(e).all() or not (np.diff(e) > 0).all():
            raise ValueError("bins must be increasing edges, at least two a feature, all finite")
    return edges


def _chosen(bins: Any, X: np.ndarray, weight: np.ndarray | None) -> list[np.ndarray]:
    """Edges by a number of bins or by a rule, from the rows that weigh something."""
    weight = np.ones(len(X)) if weight is None else weight.astype(float)
    X, weight = X[weight > 0].astype(np.float64), weight[weight > 0]
    if not len(X):
        raise ValueError("sample_weight is zero for every row, so there is nothing to learn from")
    n, d = weight.sum(), X.shape[1]
    edges = []
    for column in X.T:
        low, high = column.min(), column.max()
        if low == high:
            room = max(0.5, 1e-6 * abs(low))
            low, high = low - room, high + room
        count = bins if not isinstance(bins, str) else _rule(bins, column, weight, n, d, high - low)
        edge = np.linspace(low, high, int(count) + 1)
        # a bin needs a width: neighbouring floats bound how many there are
        edges.append(np.unique(edge) if len(np.unique(edge)) > 1 else np.array([low, high]))
    return edges


def _rule(
    rule: str, column: np.ndarray, weight: np.ndarray, n: float, d: int, spread: float
) -> float:
    """How many bins a rule wants, at least one and no more than rows."""
    unit = column / np.abs(column).max(initial=1e-300)  # squares of this are floats
    if rule == "sturges":
        count = np.log2(n) + 1
    else:
        if rule == "scott":
            mean = np.average(unit, weights=weight)
            sigma = np.sqrt(np.average((unit - mean) ** 2, weights=weight))
            width = (24 * np.sqrt(np.pi) / n) ** (1 / (d + 2)) * sigma
        else:
            ends = np.quantile(unit, [0.25, 0.75], weights=weight, method="inverted_cdf")
            width = 2 * (ends[1] - ends[0]) * n ** (-1 / (d + 2))
        count = (unit.max() - unit.min()) / width if width > 0 else 1
    if count > MOST_BINS:
        raise ValueError(
            f"bins={rule!r} asks for {count:.3g} bins for rows that weigh {n:.3g}; divide "
            "sample_weight by its largest value, or give bins a number"
        )
    return np.clip(np.ceil(count), 1, max(1, np.ceil(n)))


def _sizes(edges: list[np.ndarray]) -> tuple[int, ...]:
    """Bins of each feature; their product numbers the cells."""
    sizes = tuple(len(e) - 1 for e in edges)
    if np.sum(np.log2(sizes)) > 62:
        raise ValueError(
            f"bins makes a grid of 2^{np.sum(np.log2(sizes)):.0f} cells, more than can be "
            "numbered; use fewer bins or fewer features"
        )
    return sizes


def _cells(edges: list[np.ndarray], X: np.ndarray) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """The bin of each feature of each row, and whether the row is on the grid."""
    inside = np.ones(len(X), dtype=bool)
    cells = []
    for edge, column in zip(edges, X.T, strict=True):
        inside &= (column >= edge[0]) & (column <= edge[-1])
        cell = np.searchsorted(edge, column, side="right") - 1
        cells.append(np.clip(cell, 0, len(edge) - 2))
    return tuple(cells), inside


def _count(edges: list[np.ndarray], X: np.ndarray, y: Any, weight: Any) -> LabelCounts:
    """The cells of a block with their weights."""
    cells, inside = _cells(edges, X)
    if not (inside if weight is None else inside | (weight == 0)).all():
        raise ValueError("X has rows outside the edges given as bins; widen the edges")
    return LabelCounts.of(np.ravel_multi_index(cells, _sizes(edges)), weight)
