"""Postings with their scores worked out, ready to be searched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from panlearn.core.threads import n_threads, threads
from panlearn.retrieval._postings import Postings
from panlearn.retrieval._top_k import fill_bitmaps, search
from panlearn.retrieval._variants import VARIANTS

LONG = 64  # a word that one document in so many holds has a long list, and a bit map beside it


@dataclass(frozen=True)
class Queries:
    """Words of queries: query q asks for ``terms[offsets[q] : offsets[q + 1]]``, with weights."""

    terms: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def matrix(self, n_words: int) -> sparse.csr_array:
        """The weights, a row a query and a column a word."""
        shape = (len(self), n_words)
        return sparse.csr_array((self.weights, self.terms, self.offsets), shape=shape)


@dataclass(frozen=True)
class ScoredPostings:
    """What each posting adds to a score, and what the search needs to know of long lists.

    Attributes
    ----------
    impacts : csc_array of shape (n_documents, n_words)
        What a word adds to the score of a document that holds it.
    absent : ndarray of shape (n_words,)
        What it adds to that of every document.
    peaks : ndarray of shape (n_words,)
        The greatest impact of each word.
    rows : ndarray of shape (n_words,)
        The bit map of a word with a long list, or -1.
    bits, before : ndarray of shape (n_long, n_documents // 64 + 1)
        The bit maps, and how many documents are marked before each piece of 64.
    """

    impacts: Any
    absent: np.ndarray
    peaks: np.ndarray
    rows: np.ndarray
    bits: np.ndarray
    before: np.ndarray

    @classmethod
    def of(
        cls, postings: Postings, variant: str, k1: float, b: float, delta: Any, epsilon: float
    ) -> ScoredPostings:
        """Work out the scores of a variant of BM25."""
        form, table, n = VARIANTS[variant], postings.counts, len(postings.ids)
        delta = form.delta if delta is None else delta
        lengths = np.bincount(table.indices, weights=table.data, minlength=n)
        relative = 1 - b + b * lengths / (lengths.mean() or 1) if n else lengths
        frequencies = np.diff(table.indptr)
        idf = form.idf(frequencies, n, epsilon)
        absent = idf * form.absent(k1, delta)
        impacts = form.saturation(table.data.astype(float), relative[table.indices], k1, delta)
        impacts *= np.repeat(idf, frequencies)
        impacts -= np.repeat(absent, frequencies)
        values = impacts.astype(np.float32)
        peaks = np.maximum.reduceat(values, table.indptr[:-1]) if len(values) else values
        # the bounds of the search hold for what adds to a score
        long = np.flatnonzero((frequencies * LONG > n) & (peaks > 0))
        rows = np.full(len(frequencies), -1, dtype=np.int32)
        rows[long] = np.arange(len(long), dtype=np.int32)
        bits = np.zeros((len(long), n // 64 + 1), dtype=np.uint64)
        before = np.zeros(bits.shape, dtype=np.int32)
        fill_bitmaps(table.indptr, table.indices, long, bits, before)
        matrix = sparse.csc_array((values, table.indices, table.indptr), shape=table.shape)
        return cls(matrix, absent.astype(np.float32), peaks, rows, bits, before)

    def search(self, queries: Queries, k: int, allowed: np.ndarray) -> tuple[np.ndarray, ...]:
        """Give the k best documents of each query and their scores; places left over hold n."""
        n = self.impacts.shape[0]
        docs = np.full((len(queries), min(k, n)), n, dtype=np.int64)
        scores = np.full(docs.shape, -np.inf, dtype=np.float32)

        def part(share: slice) -> None:
            search(
                *(self.impacts.indptr, self.impacts.indices, self.impacts.data, self.peaks),
                *(self.rows, self.bits, self.before, allowed, queries.terms, queries.weights),
                queries.offsets[share.start : share.stop + 1],
                *(docs[share], scores[share]),
            )

        if docs.size:
            step = max(16, -(-len(queries) // (4 * n_threads())))
            starts = range(0, len(queries), step)
            with threads() as run:
                list(run(part, [slice(i, min(i + step, len(queries))) for i in starts]))
        order = np.lexsort((docs, -scores), axis=-1)
        docs, scores = (np.take_along_axis(a, order, axis=-1) for a in (docs, scores))
        return docs, scores + (queries.matrix(len(self.absent)) @ self.absent)[:, None]

    def all_scores(self, queries: Queries) -> np.ndarray:
        """Give the scores of all documents, one row a query."""
        asked = queries.matrix(self.impacts.shape[1])
        return (asked @ self.impacts.T).toarray() + (asked @ self.absent)[:, None]
