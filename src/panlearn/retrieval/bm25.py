"""BM25: documents ranked by the words that they share with a query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self, overload

import numpy as np
from scipy import sparse

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.derived import derived
from panlearn.core.estimator import fitting
from panlearn.core.memory import require_memory
from panlearn.core.parameters import Fraction, NonNegative, check_parameters
from panlearn.core.sources import Batches, is_dask
from panlearn.retrieval._labels import Hits, as_labels, as_mask, check_k, next_labels, split_hits
from panlearn.retrieval._postings import Postings
from panlearn.retrieval._scored import Queries, ScoredPostings
from panlearn.retrieval._variants import Name
from panlearn.text._base import TextModel
from panlearn.text._documents import (
    Tokenizer,
    Tokens,
    WordTokenizer,
    as_list,
    collect,
    read_documents,
)

WORDS = WordTokenizer()


@dataclass(eq=False, repr=False)
class BM25(TextModel):
    r"""Rank documents for a query by the words that they share: rare ones count more.

    .. math::
        \mathrm{score}(q, D) = \sum_{t \in q} \ln\Bigl(1 + \frac{N - n_t + \frac12}{n_t + \frac12}
        \Bigr) \frac{f_{t,D}}{f_{t,D} + k_1 \bigl(1 - b + b\, |D| / \overline{|D|}\bigr)}

    where :math:`f_{t,D}` counts the word t in the document D of :math:`|D|` words, and
    :math:`n_t` of the N documents hold it.

    Parameters
    ----------
    k1 : float, default=1.5
        How slowly a repeated word saturates; 0 asks only whether it is there.
    b : float, default=0.75
        How much a long document is held against it, from 0 to 1.
    variant : {"lucene", "robertson", "atire", "bm25l", "bm25+", "bm25okapi"}, default="lucene"
        Another form of the two factors. Only "lucene", "bm25l" and "bm25+" give every match a score
        above zero.
    delta : float or None, default=None
        What "bm25l" (0.5 if not given) and "bm25+" (1) add to the factor of the count.
    epsilon : float, default=0.25
        "bm25okapi" gives a word that is in most documents this part of the mean idf.
    tokenizer : WordTokenizer or callable, default=WordTokenizer()
        How documents and queries are cut into words.

    Attributes
    ----------
    postings_ : Postings
        The index: the ids and the words in order, and the counts as a sparse matrix.

    Notes
    -----
    What is kept are the counts alone, so that documents can come and go: after `add` and `remove`
    the index is that of a fit to the documents that are left, bit for bit. Each of them costs a
    pass over the index, so give many documents at a time. Scores are computed when a search first
    needs them, in float32. A word that stands twice in a query counts twice.

    "bm25l" and "bm25+" count every word of the query, also one that a document lacks, as bm25s
    does; it adds the same to all documents. What a search gives are documents that match.

    The search adds up the short lists of postings of a query. When k documents have more than the
    frequent words left could add, no other can come among the first k; these words are then looked
    up in bit maps for the few documents that were found. Queries are spread over threads; the
    result does not depend on their number. A fit costs :math:`O(N)` for N tokens, a query at most
    the postings of its words, :math:`O(\sum_w n_w)` for words in :math:`n_w` documents each.

    References
    ----------
    S. Robertson and H. Zaragoza (2009). The probabilistic relevance framework: BM25 and beyond.
    Foundations and Trends in Information Retrieval 3(4), 333-389. doi:10.1561/1500000019

    C. Kamphuis, A. P. de Vries, L. Boytsov and J. Lin (2020). Which BM25 do you mean? ECIR 2020.
    doi:10.1007/978-3-030-45442-5_4

    H. Turtle and J. Flood (1995). Query evaluation: strategies and optimizations. Information
    Processing & Management 31(6), 831-850. doi:10.1016/0306-4573(95)00020-H

    Examples
    --------
    >>> from panlearn.retrieval import BM25
    >>> texts = ["a cat on the mat", "a dog and a cat", "the stock market fell"]
    >>> index = BM25().fit(texts, ids=["mat", "dog", "market"])
    >>> index.search("cat mat").ids
    array(['mat', 'dog'], dtype=object)
    >>> index.add(["cat, cat, cat"], ids=["cats"]).remove(["dog"])
    BM25()
    >>> [hits.ids.tolist() for hits in index.search(["cat", "the market"], k=2)]
    [['cats', 'mat'], ['market', 'mat']]
    """

    capabilities = Capabilities(sources=ANYWHERE)

    k1: NonNegative[float] = 1.5
    b: Fraction[float] = 0.75
    _: KW_ONLY
    variant: Name = "lucene"
    delta: NonNegative[float] | None = None
    epsilon: NonNegative[float] = 0.25
    tokenizer: Tokenizer = WORDS

    @fitting
    def fit(self, X: Any, y: Any = None, *, ids: Any = None) -> Self:
        """Index documents.

        Parameters
        ----------
        X : iterable of str or of list of str, Batches or Dask bag
            Texts, or lists of tokens. Batches are lists, or tuples ``(list, ids)``.
        y : object, default=None
            Ignored.
        ids : sequence of labels, default=None
            One label a document, each different: numbers, strings or tuples; 0, 1, ... if not
            given.

        Returns
        -------
        BM25
            The index itself.
        """
        tokens, labels = self._documents(X, ids)
        if labels is None:
            labels = np.arange(len(tokens))
        self.postings_ = Postings.of(tokens, labels)
        return self

    @fitting
    def add(self, X: Any, ids: Any = None) -> Self:
        """Add documents; one whose id is there already takes the place of the old one.

        Parameters
        ----------
        X : iterable of str or of list of str, Batches or Dask bag
            Texts, or lists of tokens.
        ids : sequence of labels, default=None
            One label a document; the numbers after the greatest so far, if not given.

        Returns
        -------
        BM25
            The index itself, as a fit to all documents would give it.
        """
        self._require_fitted()
        tokens, labels = self._documents(X, ids)
        if labels is None:
            labels = next_labels(self.postings_.ids, len(tokens))
        known = set(self.postings_.ids.tolist())
        if replaced := [i for i in labels.tolist() if i in known]:
            self.postings_ = self.postings_.without(replaced)
        self.postings_ = self.postings_ + Postings.of(tokens, labels)
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
        BM25
            The index itself, as a fit to the documents that are left would give it.
        """
        self._require_fitted()
        self.postings_ = self.postings_.without(ids)
        return self

    @property
    def ids_(self) -> np.ndarray:
        """The ids of the documents, ascending."""
        self._require_fitted()
        return self.postings_.ids

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
        queries : str, or list of str or of list of str
            One query, or many, each a text or a list of tokens.
        k : int, default=10
            How many documents at most; fewer if fewer match.
        allowed : sequence of ids or mask, default=None
            The documents to choose among: their ids, or one bool for each of `ids_`.

        Returns
        -------
        Hits or list of Hits
            ``ids`` and ``scores`` for the query, or for each of them, best first; documents of
            equal score in the order of their ids.
        """
        self._require_fitted()
        single, labels = isinstance(queries, str), self.postings_.ids
        asked = self._queries([queries] if single else queries)
        docs, scores = self._scored().search(asked, check_k(k), as_mask(allowed, labels))
        hits = split_hits(labels, docs, scores)
        return hits[0] if single else hits

    def scores(self, queries: Any) -> np.ndarray:
        """Score every document for each of some queries.

        Parameters
        ----------
        queries : list of str or of list of str
            The queries, each a text or a list of tokens.

        Returns
        -------
        ndarray of shape (n_queries, n_documents)
            In the order of `ids_`, of float32.
        """
        self._require_fitted()
        asked = self._queries(queries)
        shape = (len(asked), len(self.postings_.ids))
        require_memory(shape, "the table of scores", "search for the best k instead", itemsize=4)
        return self._scored().all_scores(asked)

    def _documents(self, X: Any, ids: Any) -> tuple[Tokens, np.ndarray | None]:
        """The words of documents, and their labels if they have any."""
        if ids is not None and not is_dask(X) and not isinstance(X, Batches):
            X = as_list(X)
            ids = as_labels(ids, len(X)).tolist()
        block = collect(read_documents(self, X, ids, tokenizer=self.tokenizer))
        if not len(block.X):
            raise ValueError("there is no document, so nothing to index")
        return block.X, None if block.y is None else as_labels(block.y)

    def _queries(self, queries: Any) -> Queries:
        """The words of queries that the index knows, each once, with how often it stands there."""
        tokens = self._read(queries)
        index = self._numbers
        number = np.array([index.get(word, -1) for word in tokens.words], dtype=np.int64)
        terms = number[tokens.ids]
        rows = np.repeat(np.arange(len(tokens)), tokens.lengths)[terms >= 0]
        shape = (len(tokens), max(len(index), 1))
        ones = np.ones(len(rows), dtype=np.float32)
        table = sparse.csr_array((ones, (rows, terms[terms >= 0])), shape=shape)
        return Queries(table.indices, table.data, table.indptr)

    @derived("postings_")
    def _numbers(self) -> dict[str, int]:
        """The number of each word."""
        return {word: i for i, word in enumerate(self.postings_.words)}

    def _scored(self) -> ScoredPostings:
        """The scores, worked out once for these counts and parameters."""
        check_parameters(self)
        return self._scores

    @derived("postings_", "variant", "k1", "b", "delta", "epsilon")
    def _scores(self) -> ScoredPostings:
        return ScoredPostings.of(
            self.postings_, self.variant, self.k1, self.b, self.delta, self.epsilon
        )
