"""Vectors of words from the company that they keep."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.preprocessing import normalize

from panlearn.core.estimator import fitting
from panlearn.core.parameters import Positive
from panlearn.text._base import TextModel
from panlearn.text._cooccurrence import SENTENCE_END, CooccurrenceCounts, pmi
from panlearn.text._documents import Tokenizer, Vocabulary, WordTokenizer


@dataclass(eq=False, repr=False)
class CooccurrenceEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, TextModel):
    r"""Vectors of words whose products approximate how words occur together.

    .. math::
        M \approx E\, S\, E^\top, \qquad E = V_k |\Lambda_k|^{1/2}, \quad S = \mathrm{sign}\,
        \Lambda_k, \qquad M_{vw} = \max\!\Big(0, \log \frac{p(v, w)}{p(v)\, p(w)}\Big)

    for the k eigenvalues :math:`\Lambda_k` of the symmetric matrix M that are largest in absolute
    value, and their eigenvectors :math:`V_k`; of all matrices of rank k this one is nearest to M.

    Parameters
    ----------
    n_components : int, default=50
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
    embedding_ : ndarray of shape (n_words, n_components)
        The vectors E.
    eigenvalues_ : ndarray of shape (n_components,)
        Those of M, the largest in absolute value first.
    signs_ : ndarray of shape (n_components,)
        The diagonal of S.
    statistic_ : CooccurrenceCounts
        The counts, from which `partial_fit` goes on.

    Notes
    -----
    M has zeros where words never meet, its diagonal among them, and so is rarely positive
    semi-definite: a negative eigenvalue has no real root, and the signs are kept beside the
    vectors. The counts are sums over sentences. Lanczos iterations from a fixed start find the
    eigenvectors; when they are most of the matrix it is decomposed as a dense one. The sign of each
    is such that its largest entry is positive.

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
    >>> model = CooccurrenceEmbedding(n_components=3, window=1).fit(texts)
    >>> [word for word, _ in model.most_similar("cat", topn=1)]
    ['dog']
    """

    n_components: Positive[int] = 50
    _: KW_ONLY
    window: Positive[int] = 5
    min_count: Positive[int] = 1
    weighting: Literal["ppmi", "log", "count"] = "ppmi"
    boundary: str | None = SENTENCE_END
    tokenizer: Tokenizer = WordTokenizer()

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count and factorise.

        Parameters
        ----------
        X : iterable of str or of list of str, Batches or Dask bag
            The documents.
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights; an integer weight is a repeated document.

        Returns
        -------
        CooccurrenceEmbedding
            The model itself.
        """
        return self._learn(0, X, sample_weight)

    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count further documents, and factorise all that was seen.

        Parameters
        ----------
        X : iterable of str or of list of str, Batches or Dask bag
            The documents.
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights; an integer weight is a repeated document.

        Returns
        -------
        CooccurrenceEmbedding
            The model itself.
        """
        return self._learn(getattr(self, "statistic_", 0), X, sample_weight)

    def _learn(self, seen: Any, X: Any, sample_weight: Any) -> Self:
        counted = seen + CooccurrenceCounts.of_rows(
            self,
            X,
            sample_weight,
            window=self.window,
            boundary=self.boundary,
            tokenizer=self.tokenizer,
        )
        kept = counted.most_frequent(self.min_count)
        if not kept.forward.nnz:
            raise ValueError(
                f"no two of the {len(kept.words)} words that tokenizer finds at least min_count = "
                f"{self.min_count} times stand in one window"
            )
        matrix = self._matrix(kept)
        values, vectors = _largest(matrix, min(self.n_components, len(kept.words)))
        self.statistic_, self.words_ = counted, kept.words
        self.eigenvalues_, self.signs_ = values, np.sign(values)
        self.embedding_ = vectors * np.sqrt(np.abs(values))
        return self

    def _matrix(self, counts: CooccurrenceCounts) -> sparse.csr_array:
        if self.weighting == "ppmi":
            return pmi(counts, positive=True)
        together = counts.symmetric
        return together.log1p() if self.weighting == "log" else together

    def transform(self, X: Any) -> np.ndarray:
        """Give the mean of the vectors of the words of each document; zero if none is known.

        Parameters
        ----------
        X : iterable of str or of list of str
            The documents.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
        """
        tokens = self._read(X)
        known = Vocabulary(tuple(self.words_.tolist())).encode(tokens)
        document = np.repeat(np.arange(len(known)), known.lengths)[known.values >= 0]
        shape = (len(known), len(self.words_))
        at = (document, known.values[known.values >= 0])
        counts = sparse.coo_array((np.ones(len(document)), at), shape=shape).tocsr()
        return normalize(counts, "l1") @ self.embedding_

    def most_similar(self, word: str, topn: int = 10) -> list[tuple[str, float]]:
        """Give the words whose vectors have the smallest angle with that of a word.

        Parameters
        ----------
        word : str
            A word that has a vector.
        topn : int, default=10
            How many.

        Returns
        -------
        list of (str, float)
            Words and cosines, the nearest first.
        """
        self._require_fitted()
        at = int(np.searchsorted(self.words_, word))
        if at == len(self.words_) or self.words_[at] != word:
            raise ValueError(f"{word!r} has no vector: it was seen fewer than min_count times")
        unit = normalize(self.embedding_)
        cosine = unit @ unit[at]
        order = np.argsort(-cosine, kind="stable")
        return [(str(self.words_[i]), float(cosine[i])) for i in order[order != at][:topn]]

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]


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
