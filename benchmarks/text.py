"""tf-idf against scikit-learn, and embeddings from co-occurrences against its truncated SVD."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer as Peer

from benchmarks.harness import Workload
from panlearn.text import CooccurrenceEmbedding, TfidfVectorizer, cooccurrence, pmi


def documents(n_documents=20_000, n_words=200, size=50_000, n_subjects=5):
    """Words of four letters whose frequencies follow Zipf; each subject prefers its own."""
    rng = np.random.default_rng(0)
    cumulative = np.cumsum(1 / np.arange(5, size + 5))
    uniform = rng.random((n_documents, n_words)) * cumulative[-1]
    word = np.minimum(np.searchsorted(cumulative, uniform), size - 1)
    subject = rng.integers(n_subjects, size=(n_documents, 1))
    special = rng.random(word.shape) < 0.3
    word = np.minimum(np.where(special, word // n_subjects * n_subjects + subject, word), size - 1)
    letters = [[chr(97 + c) for c in np.arange(size) // 26**j % 26] for j in range(4)]
    spelled = np.array(["".join(four) for four in zip(*letters, strict=True)])
    return [" ".join(row) for row in spelled[word]]


def matrix(data, X):
    return {"columns": X.shape[1], "entries": X.nnz, "sum": round(float(X.sum()), 4)}


def approximation(texts, result):
    """How far the product of the vectors is from the matrix, relative to its norm."""
    M = pmi(cooccurrence(texts, window=5), positive=True)
    E, signed = result
    inner = np.sum((M @ signed) * E)
    norm = np.sum((E.T @ E) * (signed.T @ signed))
    size = M.multiply(M).sum()
    return {"relative error": round(float(np.sqrt(max(size - 2 * inner + norm, 0) / size)), 6)}


def ours_embedding(texts):
    model = CooccurrenceEmbedding(50, window=5).fit(texts)
    return model.vectors_, model.vectors_ * model.signs_


def truncated_svd(texts):
    M = pmi(cooccurrence(texts, window=5), positive=True)
    svd = TruncatedSVD(50, algorithm="arpack", random_state=0)
    left = svd.fit_transform(M)
    return left, svd.components_.T


def workloads() -> Iterator[Workload]:
    for span in ((1, 1), (1, 2)):
        yield Workload(
            f"tf-idf, 2e4 documents of 200 words, terms of {span[0]} to {span[1]} words",
            "text.TfidfVectorizer",
            documents,
            {
                "panlearn": lambda d, s=span: TfidfVectorizer(ngram_range=s).fit_transform(d),
                "scikit-learn": lambda d, s=span: Peer(ngram_range=s).fit_transform(d),
            },
            matrix,
            bar=2.0,
        )
    yield Workload(
        "50 components of the PPMI of 1000 documents of 200 words, window 5",
        "text.CooccurrenceEmbedding",
        lambda: documents(1000, size=2000),
        {"panlearn": ours_embedding, "scikit-learn SVD of our PPMI": truncated_svd},
        approximation,
    )
