"""Search among vectors by inner product or cosine, exactly or in lists."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from panlearn.core.derived import derived
from panlearn.core.estimator import Estimator, fitting
from panlearn.core.learned import shapes
from panlearn.core.memory import require_memory
from panlearn.core.threads import threads
from panlearn.core.validation import FLOATS, reject_hidden
from panlearn.retrieval._labels import (
    Hits,
    as_labels,
    as_mask,
    check_k,
    joined,
    next_labels,
    positions,
    ranks,
    split_hits,
)
from panlearn.retrieval._top_k import push_rows
from panlearn.retrieval.ivf import IVF, Lists

FEWEST, QUERIES, VECTORS = 64, 256, 2048  # of a block: its products stay in the cache


@dataclass(eq=False, repr=False)
class DenseIndex(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""Find the vectors nearest to a query by cosine or inner product, exactly or nearly so.

    .. math::
        \mathrm{score}(q, x) = \frac{q \cdot x}{\lVert q \rVert\, \lVert x \rVert}
        \quad \text{or} \quad q \cdot x

    Parameters
    ----------
    metric : {"cosine", "inner_product"}, default="cosine"
        What is compared. A vector of length zero has cosine 0 with all.
    approximation : IVF or None, default=None
        How `search` leaves out vectors that are hardly near; None looks at all.

    Attributes
    ----------
    vectors_ : ndarray of shape (n_documents, n_features)
        The vectors in the order of the ids; of length one if `metric` is "cosine".
    ids_ : ndarray of shape (n_documents,)
        The ids of the vectors, ascending.
    n_features_in_ : int
        How long a vector is.
    lists_ : Lists
        The centres of the approximation and the lists around them, if there is one.
    recall_ : float
        The share of the ten nearest that the approximation finds, measured with vectors of the
        index, each without itself; absent if the search is exact.
    feature_names_in_ : ndarray of str
        Names of the columns, if the first vectors came as a data frame.

    Notes
    -----
    Blocks of queries are multiplied with blocks of vectors, on the machine's threads, and the best
    k of each query are kept in a heap: nothing of the size of all scores is formed. The cost is
    that of the products, and the result is exact. float32 is kept, and takes half the time.

    With an approximation, `add` and `remove` keep the centres as they were fitted, so that they
    give another index than a fit would; `fit` again when much has changed. The recall is measured
    on a hundred vectors, whenever the vectors change. Queries that are unlike the vectors of the
    index, as questions are unlike passages, find less. `transform` is exact. An exact query costs
    :math:`O(n d)`.

    References
    ----------
    M. Douze, A. Guzhva, C. Deng, J. Johnson, G. Szilvasy, P.-E. Mazaré, M. Lomeli, L. Hosseini and
    H. Jégou (2024). The Faiss library. doi:10.48550/arXiv.2401.08281

    Examples
    --------
    >>> from panlearn.retrieval import DenseIndex
    >>> index = DenseIndex().fit([[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]], ids=["x", "y", "both"])
    >>> index.search([[1.0, 0.1]], k=2)[0].ids
    array(['x', 'both'], dtype=object)
    >>> index.add([[2.0, 0.2]], ids=["z"]).remove(["x"]).search([[1.0, 0.1]], k=1)[0]
    Hits(ids=array(['z'], dtype=object), scores=array([1.]))
    """

    learned = shapes(vectors_="(n_documents, n_features)", ids_="(n_documents,)")

    _: KW_ONLY
    metric: Literal["cosine", "inner_product"] = "cosine"
    approximation: IVF | None = None

    @fitting
    def fit(self, X: Any, y: Any = None, *, ids: Any = None) -> Self:
        """Index vectors.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
            The vectors.
        y : object, default=None
            Ignored.
        ids : sequence of labels, default=None
            One label a vector, each different: numbers, strings or tuples; 0, 1, ... if not
            given.

        Returns
        -------
        DenseIndex
            The index itself.
        """
        vectors = self._vectors(X, reset=True)
        n = len(vectors)
        labels = np.arange(n) if ids is None else as_labels(ids, n)
        if self.approximation is None:
            return self._keep(labels, vectors, None)
        learned = self.approximation.learn(vectors, of_one_length=self.metric == "cosine")
        return self._keep(labels, vectors, learned)

    @fitting
    def add(self, X: Any, ids: Any = None) -> Self:
        """Add vectors; one whose id is there already takes the place of the old one.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
            The vectors.
        ids : sequence of labels, default=None
            One label a vector; the numbers after the greatest so far, if not given.

        Returns
        -------
        DenseIndex
            The index itself, as a fit to all vectors would give it.
        """
        self._require_fitted()
        vectors = self._vectors(X, reset=False)
        n = len(vectors)
        labels = next_labels(self.ids_, n) if ids is None else as_labels(ids, n)
        new = set(labels.tolist())
        kept = np.array([i not in new for i in self.ids_.tolist()], dtype=bool)
        both = np.concatenate([self.vectors_[kept], vectors])
        return self._keep(joined(self.ids_[kept], labels), both, getattr(self, "lists_", None))

    @fitting
    def remove(self, ids: Iterable[Any]) -> Self:
        """Remove vectors.

        Parameters
        ----------
        ids : iterable of labels
            Which; one that is not there is a KeyError.

        Returns
        -------
        DenseIndex
            The index itself, as a fit to the vectors that are left would give it.
        """
        self._require_fitted()
        kept = np.delete(np.arange(len(self.ids_)), positions(self.ids_, ids))
        known = getattr(self, "lists_", None)
        return self._keep(self.ids_[kept], self.vectors_[kept], known)

    def search(self, X: Any, k: int = 10, *, allowed: Any = None) -> list[Hits]:
        """Find the best vectors for each of some queries.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            The queries.
        k : int, default=10
            How many vectors at most.
        allowed : sequence of ids or mask, default=None
            The vectors to choose among: their ids, or one bool for each of `ids_`.

        Returns
        -------
        list of Hits
            ``ids`` and ``scores`` for each query, best first; vectors of equal score in the order
            of their ids.
        """
        self._require_fitted()
        queries = self._vectors(X, reset=False)
        labels, vectors = self.ids_, self.vectors_
        mask = None if allowed is None else as_mask(allowed, labels)
        if hasattr(self, "lists_"):
            places, scores = self._nearly(queries, min(check_k(k), len(labels)), mask)
            return split_hits(labels, places, scores)
        if mask is not None:
            labels, vectors = labels[mask], vectors[mask]
        places, scores = _best(queries, vectors, min(check_k(k), len(labels)))
        return split_hits(labels, places, scores)

    def transform(self, X: Any) -> np.ndarray:
        """Score every vector for each of some queries.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            The queries.

        Returns
        -------
        ndarray of shape (n_queries, n_documents)
            In the order of `ids_`.
        """
        self._require_fitted()
        queries = self._vectors(X, reset=False)
        shape = (len(queries), len(self.ids_))
        require_memory(shape, "the table of scores", "search for the best k instead")
        return queries @ self.vectors_.T

    def _vectors(self, X: Any, reset: bool) -> np.ndarray:
        """Checked vectors, in the floats of the index, and of length one for cosines."""
        reject_hidden(X=X)
        dtype = FLOATS if reset else self.vectors_.dtype
        X = validate_data(self, X, reset=reset, dtype=dtype)
        if self.metric == "inner_product":
            return X
        largest = np.abs(X).max(axis=1, keepdims=True)
        scaled = X / np.where(largest > 0, largest, 1)  # squares neither overflow nor vanish
        lengths = np.sqrt((scaled * scaled).sum(axis=1, keepdims=True))
        return scaled / np.where(lengths > 0, lengths, 1)

    def _keep(self, labels: np.ndarray, vectors: np.ndarray, known: Lists | None) -> Self:
        order = ranks(labels)
        self.ids_, self.vectors_ = as_labels(labels[order]), vectors[order]
        if known is not None:
            self.lists_ = Lists.of(known.centres, self.vectors_)
            self.recall_ = self._recall()
        return self

    @derived("vectors_", "lists_")
    def _listed(self) -> np.ndarray:
        """The vectors one list after the other."""
        return self.vectors_[self.lists_.order]

    def _nearly(
        self, queries: np.ndarray, k: int, mask: np.ndarray | None
    ) -> tuple[np.ndarray, ...]:
        n_probe = 1 if self.approximation is None else self.approximation.n_probe
        cosine = self.metric == "cosine"
        return self.lists_.best(queries, self._listed, k, n_probe, mask, of_one_length=cosine)

    def _recall(self, sample: int = 100, k: int = 10) -> float:
        """Compare what is found with what is nearest, for some vectors as queries."""
        n = len(self.vectors_)
        rows = np.linspace(0, n - 1, min(sample, n)).astype(np.int64)
        asked, most = self.vectors_[rows], min(k + 1, n)
        shares = []
        exact, nearly = _best(asked, self.vectors_, most), self._nearly(asked, most, None)
        for row, wanted, found in zip(rows, exact[0], nearly[0], strict=True):
            wanted, found = wanted[wanted != row][:k], found[found != row][:k]
            shares.append(np.isin(wanted, found).mean() if len(wanted) else 1.0)
        return float(np.mean(shares)) if shares else 1.0

    @property
    def _n_features_out(self) -> int:
        return len(self.ids_)


def _best(queries: np.ndarray, vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Places and products of the k vectors with the greatest query · vector, in falling order."""
    m, n = len(queries), len(vectors)
    places = np.full((m, k), n, dtype=np.int64)
    scores = np.full(places.shape, -np.inf, dtype=queries.dtype)
    step = min(max(m // 4, FEWEST), QUERIES)  # large products are quicker, but some threads wait

    def part(start: int) -> None:
        rows = slice(start, min(start + step, m))
        room = np.empty((rows.stop - start) * min(VECTORS, n), dtype=queries.dtype)
        for first in range(0, n, VECTORS):
            some = vectors[first : first + VECTORS]
            products = room[: (rows.stop - start) * len(some)].reshape(-1, len(some))
            np.matmul(queries[rows], some.T, out=products)
            push_rows(products, first, places[rows], scores[rows])

    if k:
        with threads() as run:
            list(run(part, range(0, m, step)))
    order = np.lexsort((places, -scores), axis=-1)
    return np.take_along_axis(places, order, axis=-1), np.take_along_axis(scores, order, axis=-1)
