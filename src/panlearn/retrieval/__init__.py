"""Retrieval: documents in, ranked passages and answers out; by words, by vectors, and by both.

`BM25` ranks documents by the words that they share with a query, `DenseIndex` vectors by their
cosine with that of a query: all of them, or those of a few lists (`IVF`). `HybridRetriever` does
both and fuses the rankings by `reciprocal_rank_fusion`. Documents have any labels as ids, and can
be added, replaced and removed. `RAG` answers a question from the passages that any of them finds,
and cites them; `evaluation` measures rankings and answers.
"""

from panlearn.retrieval import evaluation
from panlearn.retrieval.bm25 import BM25
from panlearn.retrieval.dense_index import DenseIndex
from panlearn.retrieval.fusion import reciprocal_rank_fusion
from panlearn.retrieval.hybrid_retriever import HybridRetriever
from panlearn.retrieval.ivf import IVF
from panlearn.retrieval.rag import RAG, Answer

__all__ = [
    "BM25",
    "IVF",
    "RAG",
    "Answer",
    "DenseIndex",
    "HybridRetriever",
    "evaluation",
    "reciprocal_rank_fusion",
]
