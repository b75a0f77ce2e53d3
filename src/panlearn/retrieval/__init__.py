"""Retrieval: documents in, ranked passages out; by words, by vectors, and by both.

`BM25` ranks documents by the words that they share with a query, `DenseIndex` vectors by their
cosine with that of a query, and `HybridRetriever` does both and fuses the rankings by
`reciprocal_rank_fusion`. Documents have any labels as ids, and can be added, replaced and removed.
"""

from panlearn.retrieval.bm25 import BM25
from panlearn.retrieval.dense_index import DenseIndex
from panlearn.retrieval.fusion import reciprocal_rank_fusion
from panlearn.retrieval.hybrid_retriever import HybridRetriever

__all__ = ["BM25", "DenseIndex", "HybridRetriever", "reciprocal_rank_fusion"]
