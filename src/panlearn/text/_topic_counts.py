"""The expectation step of PLSA over documents, and its mergeable statistic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from panlearn.core.jit import jit
from panlearn.core.statistics import Sums


@dataclass(frozen=True)
class TopicCounts(Sums):
    r"""Expected counts of topics, with words and with documents.

    .. math::
        n_{wk} = \sum_d \omega_d \, n_{dw} P(k \mid d, w), \qquad
        n_{dk} = \omega_d \sum_w n_{dw} P(k \mid d, w)

    Attributes
    ----------
    weight : float
        The weight of the documents.
    log_likelihood : float
        :math:`\sum_d \omega_d \sum_w n_{dw} \log P(w \mid d)`.
    words : ndarray of shape (n_words, n_topics)
    documents : ndarray of shape (n_documents, n_topics)
        Of all documents; zero where one was not seen.
    """

    weight: float
    log_likelihood: float
    words: np.ndarray
    documents: np.ndarray

    @classmethod
    def of(
        cls,
        counts: Any,
        start: int,
        weight: np.ndarray | None,
        words: np.ndarray,
        shares: np.ndarray,
    ) -> Self:
        """Expect the topics of the documents from `start` on.

        `words` holds P(w | k) as columns, `shares` holds P(k | d) of all documents.
        """
        w = np.ones(counts.shape[0]) if weight is None else np.asarray(weight, dtype=float)
        part = slice(start, start + len(w))
        with_words, with_documents = np.zeros_like(words), np.zeros_like(shares)
        at = counts.indptr, counts.indices, counts.data
        value = expect(*at, w, words, shares[part], with_words, with_documents[part])
        return cls(float(w.sum()), value, with_words, with_documents)


@jit
def expect(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    weight: np.ndarray,
    words: np.ndarray,
    shares: np.ndarray,
    with_words: np.ndarray,
    with_documents: np.ndarray,
) -> float:
    """Add ω_d n_dw P(k | d, w) to both tables; give Σ ω_d n_dw log Σ_k φ_wk θ_dk."""
    n_topics, value = words.shape[1], 0.0
    joint = np.empty(n_topics)
    for d in range(len(indptr) - 1):
        for j in range(indptr[d], indptr[d + 1]):
            w, total = indices[j], 0.0
            for k in range(n_topics):
                joint[k] = words[w, k] * shares[d, k]
                total += joint[k]
            if total <= 0.0:  # no topic of the document has the word
                value = -np.inf
                continue
            value += weight[d] * data[j] * np.log(total)
            scale = data[j] / total
            for k in range(n_topics):
                expected = weight[d] * scale * joint[k]
                with_documents[d, k] += expected
                with_words[w, k] += expected
    return value


@jit
def fold_in_shares(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    words: np.ndarray,
    max_iter: int,
    tol: float,
    shares: np.ndarray,
) -> None:
    """Maximise Σ_w n_dw log Σ_k φ_wk θ_dk over θ_d by EM, until no share moves by `tol`."""
    n_topics = words.shape[1]
    count = np.empty(n_topics)
    for d in range(len(indptr) - 1):
        for _ in range(max_iter):
            count[:] = 0.0
            for j in range(indptr[d], indptr[d + 1]):
                w, total = indices[j], 0.0
                for k in range(n_topics):
                    total += words[w, k] * shares[d, k]
                if total > 0.0:
                    for k in range(n_topics):
                        count[k] += data[j] * words[w, k] * shares[d, k] / total
            everything, change = count.sum(), 0.0
            if everything <= 0.0:  # no word that a topic has: all shares alike
                break
            for k in range(n_topics):
                share = count[k] / everything
                change = max(change, abs(share - shares[d, k]))
                shares[d, k] = share
            if change <= tol:
                break
