"""Retrieval: documents in, ranked passages out; by words, by vectors, and by both.

`BM25` ranks documents by the words that they share with a query.
"""

from panlearn.retrieval.bm25 import BM25

__all__ = ["BM25"]
