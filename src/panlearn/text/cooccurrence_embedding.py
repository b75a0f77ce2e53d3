"""Vectors of words from the company that they keep."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.linalg import eigh

from panlearn.core.mergeable import Mergeable
from panlearn.core.parameters import Positive
from panlearn.core.sources import Rows
from panlearn.text._cooccurrence import SENTENCE_END, CooccurrenceCounts, pmi, read_sentences
from panlearn.text._documents import Tokenizer, WordTokenizer
from panlearn.text._word_vectors import WordVectors


@dataclass(eq=False, repr=False)
class CooccurrenceEmbedding(Mergeable, WordVectors):
    r"""Vectors of words whose products approximate how words occur together.

    .. math::
        M \approx E\, S\, E^\top, \qquad E = V_k |\Lambda_k|^{1/2}, \quad S = \mathrm{sign}\,
        \Lambda_k, \qquad M_{vw} = \max\!\Big(0, \log \frac{p(v, w)}{p(v)\, p(w)}\Big)

    for the k eigenvalues :math:`\Lambda_k` of the symmetric matrix M that are largest in absolute
    value, and their eigenvectors :math:`V_k`; of all matrices of rank k this one is nearest to M.

    Parameters
    ----------
    vector_size : int, default=50
        The length k of the vectors; at most the number of words.
    window : int, default=5
        The largest distance of two words that count as together.
    min_count : int, default=1
        How often a word must occur to get a vector.
    weighting : {"ppmi", "log", "count"}, default="ppmi"
        The matrix M: positive point-wise mutual information, :math:`\log(1 + C)`, or C itself.
    boundary : str or None, default=SENTENCE_END
        A regular expression at which texts are cut into sentences; windows stay within.
    tokenizer : WordTokenizer or callable, default=WordTokenizer()
        How a text is cut into words.

    Attributes
    ----------
    words_ : ndarray of object, shape (n_words,)
        The words that have a vector, sorted.
    vectors_ : ndarray of shape (n_words, vector_size)
        The vectors E.
    eigenvalues_ : ndarray of shape (vector_size,)
        Those of M, the largest in absolute value first.
    signs_ : ndarray of shape (vector_size,)
        The diagonal of S.
    statistic_ : CooccurrenceCounts
        The counts, from which `partial_fit` goes on.

    Notes
    -----
    M has zeros where words never meet, its diagonal among them, and so is rarely positive
    semi-definite: a negative eigenvalue has no real root, and the signs are kept beside the
    vectors. The counts are sums over sentences. Lanczos iterations from a fixed start find the
    eigenvectors; when they are most of the matrix it is decomposed as a dense one. The sign of each
    is such that its largest entry is positive. Counting costs about :math:`O(w N)` for N tokens and
    a window of w, a Lanczos step :math:`O(m + k V)` for m pairs that meet among V words.

    References
    ----------
    O. Levy and Y. Goldberg (2014). Neural word embedding as implicit matrix factorization.
    Advances in Neural Information Processing Systems 27.

    J. A. Bullinaria and J. P. Levy (2007). Extracting semantic representations from word
    co-occurrence statistics. Behavior Research Methods 39(3). doi:10.3758/BF03193020

    Examples
    --------
    >>> from panlearn.text import CooccurrenceEmbedding
    >>> texts = ["cat drinks milk", "dog drinks water", "big cat eats fish", "big dog eats meat"]
    >>> model = CooccurrenceEmbedding(3, window=1).fit(texts)
    >>> [word for word, _ in model.most_similar("cat", topn=1)]
    ['dog']
    """

    _kept_none_if = "its vectors were read from a file and have no counts"

    vector_size: Positive[int] = 50
    _: KW_ONLY
    window: Positive[int] = 5
    min_count: Positive[int] = 1
    weighting: Literal["ppmi", "log", "count"] = "ppmi"
    boundary: str | None = SENTENCE_END
    tokenizer: Tokenizer = WordTokenizer()

    def _read_training(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Rows:
        return read_sentences(
            self, X, sample_weight, tokenizer=self.tokenizer, boundary=self.boundary
        )

    def _summarise(self, rows: Rows) -> CooccurrenceCounts:
        return CooccurrenceCounts.of_rows(rows, self.window)

    def _solve(self, statistic: CooccurrenceCounts, rows: Rows) -> None:
        kept = statistic.most_frequent(self.min_count)
        if not kept.forward.nnz:
            raise ValueError(
                f"no two of the {len(kept.words)} words that tokenizer finds at least min_count = "
                f"{self.min_count} times stand in one window"
            )
        values, vectors = _largest(self._matrix(kept), min(self.vector_size, len(kept.words)))
        self.words_ = kept.words
        self.eigenvalues_ = values
        self.signs_ = np.sign(values)
        self.vectors_ = vectors * np.sqrt(np.abs(values))

    def _matrix(self, counts: CooccurrenceCounts) -> sparse.csr_array:
        if self.weighting == "ppmi":
            return pmi(counts, positive=True)
        together = counts.symmetric
        return together.log1p() if self.weighting == "log" else together


def _largest(matrix: sparse.csr_array, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k eigenvalues that are largest in absolute value, in that order, and their vectors."""
    n = matrix.shape[0]
    if 2 * k >= n:
        values, vectors = eigh(matrix.toarray())
    else:
        start = np.full(n, 1 / np.sqrt(n)) + np.linspace(0, 1e-3, n)  # not orthogonal to a vector
        values, vectors = sparse.linalg.eigsh(matrix, k, which="LM", v0=start)
    order = np.argsort(-np.abs(values), kind="stable")[:k]
    vectors = vectors[:, order]
    largest = np.argmax(np.abs(vectors), axis=0)
    return values[order], vectors * np.sign(vectors[largest, np.arange(k)])
