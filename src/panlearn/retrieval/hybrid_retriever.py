"""Search by words and by meaning, fused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self, overload

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import Pipeline

from panlearn.core.capabilities import ANYWHERE, Capabilities, require_weighing
from panlearn.core.estimator import fitting
from panlearn.core.extras import require
from panlearn.core.memory import require_memory
from panlearn.core.parameters import NonNegative, Positive
from panlearn.core.sources import Batches, is_dask
from panlearn.core.threads import one_blas_thread
from panlearn.retrieval._labels import Hits, as_labels, check_k, next_labels
from panlearn.retrieval.bm25 import BM25
from panlearn.retrieval.dense_index import DenseIndex
from panlearn.retrieval.fusion import reciprocal_rank_fusion
from panlearn.text import TfidfVectorizer
from panlearn.text._base import TextModel
from panlearn.text._documents import as_list

TOPICS = 100  # dimensions of the vectors, if no encoder is given


@dataclass(eq=False, repr=False)
class HybridRetriever(TextModel):
    r"""Rank documents by their words and by their vectors, and fuse the two rankings.

    .. math::
        \mathrm{score}(d) = \frac{1}{k + \mathrm{rank}_{\text{words}}(d)}
        + \frac{1}{k + \mathrm{rank}_{\text{vectors}}(d)}

    Parameters
    ----------
    lexical : BM25 or None, default=None
        How words are compared; ``BM25()`` if not given.
    encoder : transformer or None, default=None
        Makes vectors of texts: anything with ``transform``, and ``fit`` if it has to learn. If not
        given, tf-idf reduced to a hundred dimensions (latent semantic analysis).
    rank_constant : float, default=60
        The k of the fusion.
    depth : int, default=100
        How many documents of each ranking are fused.

    Attributes
    ----------
    lexical_ : BM25
        The index of words.
    dense_ : DenseIndex
        The index of vectors, compared by cosine.
    encoder_ : transformer
        The fitted encoder.

    Notes
    -----
    `add` encodes new documents with the encoder as it was fitted; fit again when the language of
    the documents has changed. An encoder that is trained already and has a ``fit`` goes in as
    `sklearn.frozen.FrozenEstimator`. In the ranking by vectors only documents of positive cosine
    take part. `panlearn.save` takes the retriever if it takes the encoder. A query costs that of
    `BM25`, one pass of the encoder and :math:`O(n d)` for n vectors.

    References
    ----------
    G. V. Cormack, C. L. A. Clarke and S. Büttcher (2009). Reciprocal rank fusion outperforms
    Condorcet and individual rank learning methods. SIGIR 2009, 758-759.
    doi:10.1145/1571941.1572114

    Examples
    --------
    >>> from panlearn.retrieval import HybridRetriever
    >>> texts = ["car needs petrol", "automobile needs petrol", "cat drinks milk", "milk"]
    >>> retriever = HybridRetriever().fit(texts)
    >>> retriever.search("car", k=2).ids  # the second shares no word with the query
    array([0, 1])
    """

    capabilities = Capabilities(sources=ANYWHERE)

    lexical: BM25 | None = None
    encoder: Any = None
    _: KW_ONLY
    rank_constant: NonNegative[float] = 60
    depth: Positive[int] = 100

    @fitting
    def fit(self, X: Any, y: Any = None, *, ids: Any = None) -> Self:
        """Index documents.

        Parameters
        ----------
        X : iterable of str or of list of str, Batches or Dask bag
            Texts, or lists of tokens if the encoder takes them. Batches are lists, or tuples
            ``(list, ids)``.
        y : object, default=None
            Ignored.
        ids : sequence of labels, default=None
            One label a document, each different; 0, 1, ... if not given.

        Returns
        -------
        HybridRetriever
            The retriever itself.
        """
        if self.encoder is not None and not hasattr(self.encoder, "transform"):
            raise ValueError(f"encoder must have a method transform; got {self.encoder!r}")
        documents, labels = gather(self, X, ids)
        labels = np.arange(len(documents)) if labels is None else labels
        words = BM25() if self.lexical is None else clone(self.lexical)
        self.lexical_ = words.fit(documents, ids=labels)
        if self.encoder is None:
            self.encoder_ = _topics(documents, words)
        else:
            self.encoder_ = clone(self.encoder, safe=False)
            if hasattr(self.encoder_, "fit"):
                self.encoder_.fit(documents, None)
        self.dense_ = DenseIndex().fit(self._encode(documents), ids=labels)
        return self

    @fitting
    def add(self, X: Any, ids: Any = None) -> Self:
        """Add documents; one whose id is there already takes the place of the old one.

        Parameters
        ----------
        X : iterable of str or of list of str, Batches or Dask bag
            The documents.
        ids : sequence of labels, default=None
            One label a document; the numbers after the greatest so far, if not given.

        Returns
        -------
        HybridRetriever
            The retriever itself.
        """
        self._require_fitted()
        documents, labels = gather(self, X, ids)
        if labels is None:
            labels = next_labels(self.dense_.ids_, len(documents))
        # copies, so that a failure of the second leaves the first as it was
        words, vectors = _twin(self.lexical_), _twin(self.dense_)
        self.dense_ = vectors.add(self._encode(documents), ids=labels)
        self.lexical_ = words.add(documents, ids=labels)
        return self

    @fitting
    def remove(self, ids: Iterable[Any]) -> Self:
        """Remove documents.

        Parameters
        ----------
        ids : iterable of labels
            Which; one that is not there is a KeyError.

        Returns
        -------
        HybridRetriever
            The retriever itself.
        """
        self._require_fitted()
        gone = list(ids)
        self.lexical_ = _twin(self.lexical_).remove(gone)
        self.dense_ = _twin(self.dense_).remove(gone)
        return self

    @property
    def ids_(self) -> np.ndarray:
        """The ids of the documents, ascending."""
        self._require_fitted()
        return self.dense_.ids_

    @overload
    def search(self, queries: str, k: int = 10, *, allowed: Any = None) -> Hits: ...

    @overload
    def search(
        self, queries: list[str] | list[list[str]], k: int = 10, *, allowed: Any = None
    ) -> list[Hits]: ...

    def search(self, queries: Any, k: int = 10, *, allowed: Any = None) -> Any:
        """Find the best documents for one query or many.

        Parameters
        ----------
        queries : str or list of str
            One query, or many.
        k : int, default=10
            How many documents at most.
        allowed : sequence of ids or mask, default=None
            The documents to choose among: their ids, or one bool for each of `ids_`.

        Returns
        -------
        Hits or list of Hits
            ``ids`` and fused ``scores`` for the query, or for each of them, best first; documents
            of equal score in the order of their ids.
        """
        self._require_fitted()
        single = isinstance(queries, str)
        texts, depth = as_list([queries] if single else queries), max(check_k(k), self.depth)
        by_words = self.lexical_.search(texts, depth, allowed=allowed)
        by_vectors: list[Hits] = []
        if texts:
            found = self.dense_.search(self._encode(texts), depth, allowed=allowed)
            by_vectors = [Hits(h.ids[h.scores > 0], h.scores[h.scores > 0]) for h in found]
        hits = [
            reciprocal_rank_fusion(pair, self.rank_constant, n=k)
            for pair in zip(by_words, by_vectors, strict=True)
        ]
        return hits[0] if single else hits

    def _encode(self, documents: list[Any]) -> np.ndarray:
        with one_blas_thread():  # the same bits for any number of threads
            vectors = self.encoder_.transform(documents)
        if not sparse.issparse(vectors):
            return vectors
        require_memory(vectors.shape, "the matrix of vectors", "reduce them, as TruncatedSVD does")
        return vectors.toarray()


def gather(estimator: Any, X: Any, ids: Any) -> tuple[list[Any], np.ndarray | None]:
    """All documents of any source, as they came, and their labels if they have any."""
    if isinstance(X, Batches):
        blocks = []
        for block in X:
            require_weighing(estimator, block.weight)
            blocks.append((as_list(block.X), block.y))
        documents = [document for block, _ in blocks for document in block]
        if ids is None and any(labels is not None for _, labels in blocks):
            ids = [label for _, labels in blocks for label in labels]
    elif is_dask(X):
        if hasattr(X, "chunks") or hasattr(X, "columns"):
            raise ValueError("documents come in a dask.bag, not in a Dask array or frame")
        documents, ids = as_list(_computed(X)), _computed(ids) if is_dask(ids) else ids
    else:
        documents = as_list(X)
    if not documents:
        raise ValueError("there is no document, so nothing to index")
    return documents, None if ids is None else as_labels(ids, len(documents))


def _computed(bag: Any) -> list[Any]:
    """The items of a bag, by threads: `compute` would start processes."""
    parts = require("dask").compute(*bag.to_delayed())
    return [item for part in parts for item in part]


def _topics(documents: list[Any], words: BM25) -> Pipeline:
    """Latent semantic analysis of as many dimensions as the documents allow."""
    tfidf = TfidfVectorizer(tokenizer=words.tokenizer)
    steps: list[tuple[str, Any]] = [("tfidf", tfidf)]
    if (n_words := len(words.postings_.words)) > 1:
        dimensions = max(1, min(TOPICS, len(documents) - 1, n_words - 1))
        steps.append(("svd", TruncatedSVD(dimensions, random_state=0)))
    # of documents that are all alike the SVD reports shares of a variance that is zero
    with one_blas_thread(), np.errstate(invalid="ignore", divide="ignore"):
        return Pipeline(steps).fit(documents)


def _twin(index: Any) -> Any:
    """A second estimator with the same learned attributes, which none of its methods write into."""
    twin = clone(index)
    vars(twin).update({k: v for k, v in vars(index).items() if k.endswith("_")})
    return twin
