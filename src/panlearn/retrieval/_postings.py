"""The inverted index: for each word the documents that hold it, and how often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from panlearn.core.value import Value
from panlearn.retrieval._labels import as_labels, joined, positions, ranks
from panlearn.text._documents import Tokens


@dataclass(frozen=True)
class Postings(Value):
    """Counts of words in documents, in one form only: words sorted, documents sorted by id.

    However the documents came, at once, one by one or after others that are gone, the same
    documents give the same arrays.

    Attributes
    ----------
    ids : ndarray of shape (n_documents,)
        The labels of the documents, ascending.
    words : list of str
        The words that occur, ascending.
    counts : csc_array of shape (n_documents, n_words)
        How often each occurs, of int32; a column is the list of postings of a word.
    """

    ids: np.ndarray
    words: list[str]
    counts: Any

    def __post_init__(self) -> None:
        shape = (len(self.ids), len(self.words))
        if getattr(self.counts, "format", None) != "csc" or self.counts.shape != shape:
            raise ValueError(f"counts must be a csc matrix of {shape[0]} documents x {shape[1]}")
        if self.counts.dtype != np.int32 or not self.counts.has_canonical_format:
            raise ValueError("counts must be of int32, with each word of a document once")

    @classmethod
    def of(cls, tokens: Tokens, ids: np.ndarray) -> Self:
        """Index the words of documents."""
        rows = np.repeat(np.arange(len(ids), dtype=np.int32), tokens.lengths)
        ones = np.ones(len(rows), dtype=np.int32)
        return cls._sorted(ids, tokens.words, rows, tokens.ids, ones)

    @classmethod
    def _sorted(
        cls,
        ids: np.ndarray,
        words: list[str],
        rows: np.ndarray,
        columns: np.ndarray,
        counts: np.ndarray,
    ) -> Self:
        """Bring documents and words into order, add up what stands twice, drop unused words."""
        order = ranks(ids)
        used = np.bincount(columns, minlength=len(words)) > 0
        kept = sorted((w, i) for i, w in enumerate(words) if used[i])
        number = np.empty(len(words), dtype=np.int32)
        number[[i for _, i in kept]] = np.arange(len(kept), dtype=np.int32)
        place = np.empty(len(ids), dtype=np.int32)
        place[order] = np.arange(len(ids), dtype=np.int32)
        shape = (len(ids), len(kept))
        table = sparse.coo_array((counts, (place[rows], number[columns])), shape=shape).tocsc()
        table.sum_duplicates()
        return cls(ids[order], [w for w, _ in kept], table)

    def __add__(self, other: Postings) -> Postings:
        """Merge with the postings of other documents."""
        words = list(dict.fromkeys([*self.words, *other.words]))
        index = {word: i for i, word in enumerate(words)}
        rows, columns = zip(self._entries(), other._entries(), strict=True)
        number = np.array([index[word] for word in other.words], dtype=np.int32)
        return Postings._sorted(
            joined(self.ids, other.ids),
            words,
            np.concatenate([rows[0], rows[1] + np.int32(len(self.ids))]),
            np.concatenate([columns[0], number[columns[1]]]),
            np.concatenate([self.counts.data, other.counts.data]),
        )

    def without(self, ids: Any) -> Postings:
        """Leave documents out."""
        kept = np.ones(len(self.ids), dtype=bool)
        kept[positions(self.ids, ids)] = False
        place = np.cumsum(kept, dtype=np.int32) - np.int32(1)
        rows, columns = self._entries()
        stay = kept[rows]
        labels = as_labels(self.ids[kept])  # numbers again, if all that are left are numbers
        counts = self.counts.data[stay]
        return Postings._sorted(labels, self.words, place[rows[stay]], columns[stay], counts)

    def _entries(self) -> tuple[np.ndarray, np.ndarray]:
        """Documents and words of the entries."""
        table = self.counts
        words = np.arange(len(self.words), dtype=np.int32)
        return table.indices, np.repeat(words, np.diff(table.indptr))
