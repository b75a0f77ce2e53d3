"""Matrices of terms: which of them are columns, and what an entry is."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, Literal

import numpy as np
from scipy import sparse

from panlearn.text._analysis import Analysis
from panlearn.text._grams import TermCounts

TermFrequency = Literal["raw", "relative", "boolean", "log", "sublinear", "augmented"]


def select(X: sparse.csr_matrix, column: np.ndarray, n_columns: int) -> sparse.csr_matrix:
    """Take column j to the place ``column[j]``, and leave it out if that is -1."""
    indices = column[X.indices]
    kept = indices >= 0
    ends = np.concatenate([[0], np.cumsum(kept)])[X.indptr]
    chosen = (X.data[kept], indices[kept], ends)
    selected = sparse.csr_matrix(chosen, shape=(X.shape[0], n_columns))
    selected.sort_indices()  # nothing to do unless a vocabulary is in another order
    return selected


def places(seen: TermCounts, vocabulary: Any, analysis: Analysis) -> tuple[TermCounts, np.ndarray]:
    """The counts with the terms of a vocabulary, and the places of these, in its order."""
    array = isinstance(vocabulary, np.ndarray)
    terms = list(np.atleast_1d(vocabulary) if array else vocabulary)
    good = len(terms) > 0 and all(isinstance(term, str) for term in terms)
    if good and isinstance(vocabulary, Mapping):
        good = set(vocabulary.values()) == set(range(len(terms)))
        terms = sorted(terms, key=vocabulary.__getitem__) if good else terms
    elif good:
        good = len(set(terms)) == len(terms)
        terms = sorted(terms) if isinstance(vocabulary, Set) else terms
    if not good:
        raise ValueError(
            "vocabulary must be different terms, or map terms to the columns 0, 1, ..., each once; "
            f"got {vocabulary!r:.60}"
        )
    known = TermCounts.never([analysis.split(term) for term in terms])
    every = seen + known
    place = dict(zip(known.names(between=analysis.between), every.find(known), strict=True))
    return every, np.array([place[term] for term in terms])


def term_frequency(counts: sparse.csr_matrix, form: TermFrequency, unit: float = 1.0) -> np.ndarray:
    r"""The frequency of each term that a document has, by one of the forms; log b is `unit`."""
    f, lengths = counts.data.astype(float), np.diff(counts.indptr)
    if form == "relative":
        return f / np.repeat(counts.sum(axis=1).A1, lengths)
    if form == "boolean":
        return np.ones(len(f))
    if form == "log":
        return np.log1p(f) / unit
    if form == "sublinear":
        return 1 + np.log(f) / unit
    if form == "augmented":
        return 0.5 + 0.5 * f / np.repeat(counts.max(axis=1).toarray().ravel(), lengths)
    return f
