"""Which words stand near which: counts that merge, and what they say beyond chance."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from panlearn.core.map_reduce import map_reduce
from panlearn.core.sources import Rows
from panlearn.core.statistics import Statistic
from panlearn.text._documents import Tokenizer, Tokens, WordTokenizer, read_texts, tokenize
from panlearn.text._words import as_objects, union

SENTENCE_END = r"[.!?]+(?:\s+|$)"


@dataclass(frozen=True)
class Sentences:
    """Documents cut at a boundary.

    Attributes
    ----------
    tokens : Tokens
        The sentences, each as a document of its own.
    lengths : ndarray of shape (n_documents,)
        How many sentences each document has.
    """

    tokens: Tokens
    lengths: np.ndarray

    @classmethod
    def of(cls, documents: list[Any], tokenizer: Tokenizer, boundary: str | None) -> Self:
        """Cut texts where the boundary matches; a list of tokens is one sentence."""
        pieces = [
            re.split(boundary, item) if isinstance(item, str) and boundary is not None else [item]
            for item in documents
        ]
        tokens = tokenize([sentence for part in pieces for sentence in part], tokenizer)
        return cls(tokens, np.array([len(part) for part in pieces], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def nbytes(self) -> int:
        """The size of the ids."""
        return self.tokens.nbytes


@dataclass(frozen=True)
class CooccurrenceCounts(Statistic):
    """How often words occur, and how often each is followed by each within a window.

    Attributes
    ----------
    words : ndarray of object, shape (n_words,)
        Sorted.
    count : ndarray of shape (n_words,)
        How often each word occurs.
    forward : csr_array of shape (n_words, n_words)
        How often the word of the column comes after that of the row, within the window.
    weight : float
        The weight of the sentences, their number.
    """

    words: np.ndarray
    count: np.ndarray
    forward: sparse.csr_array
    weight: float

    @classmethod
    def of(cls, tokens: Tokens, window: int, weight: np.ndarray | None = None) -> Self:
        """Count the words of some sentences, and their pairs at distances of 1 to `window`."""
        n = len(tokens.words)
        order = sorted(range(n), key=tokens.words.__getitem__)
        rank = np.empty(n, dtype=np.int32)
        rank[order] = np.arange(n, dtype=np.int32)
        ids, end = rank[tokens.ids], np.repeat(tokens.offsets[1:], tokens.lengths)
        w = np.ones(len(tokens)) if weight is None else weight.astype(float)
        each, place = np.repeat(w, tokens.lengths), np.arange(len(ids))
        forward = sparse.csr_array((n, n))
        for distance in range(1, min(window, int(tokens.lengths.max(initial=0))) + 1):
            first = np.flatnonzero(place + distance < end)
            pairs = (ids[first], ids[first + distance])
            forward += sparse.coo_array((each[first], pairs), shape=(n, n)).tocsr()
        words = as_objects([tokens.words[i] for i in order])
        return cls(words, np.bincount(ids, each, minlength=n), forward, float(w.sum()))

    @classmethod
    def of_rows(cls, rows: Rows, window: int) -> Self:
        """Count sentences that `read_sentences` read; those of a document have its weight."""

        def count(X: Sentences, y: Any, weight: np.ndarray | None) -> Any:
            return cls.of(
                X.tokens, window, None if weight is None else np.repeat(weight, X.lengths)
            )

        return map_reduce(count, rows)

    @property
    def symmetric(self) -> sparse.csr_array:
        """How often two words are within the window of each other: each pair from both sides."""
        return (self.forward + self.forward.T).tocsr()

    def __add__(self, other: Any) -> Self:
        if isinstance(other, int) and other == 0:
            return self
        if not isinstance(other, CooccurrenceCounts):
            return NotImplemented
        both: list[Any] = [self, other]
        words, places = union(self.words, other.words)
        n = len(words)
        count, forward = np.zeros(n), sparse.csr_array((n, n))
        for part, place in zip(both, places, strict=True):
            count[place] += part.count
            pairs = part.forward.tocoo()
            at = (place[pairs.coords[0]], place[pairs.coords[1]])
            forward += sparse.coo_array((pairs.data, at), shape=(n, n)).tocsr()
        return type(self)(words, count, forward, self.weight + other.weight)

    def __mul__(self, factor: float) -> Self:
        forward = factor * self.forward
        return type(self)(self.words, factor * self.count, forward, factor * self.weight)

    @property
    def is_finite(self) -> bool:
        """Whether the weights were finite."""
        return bool(np.isfinite(self.weight) and np.isfinite(self.count).all())

    def most_frequent(self, least: int) -> CooccurrenceCounts:
        """The counts of those words alone that occur at least so often."""
        kept = np.flatnonzero(self.count >= min(least, 1 << 62))
        forward = self.forward[kept][:, kept]
        return type(self)(self.words[kept], self.count[kept], forward, self.weight)


def read_sentences(
    estimator: Any,
    X: Any,
    sample_weight: Any = None,
    *,
    tokenizer: Tokenizer,
    boundary: str | None,
) -> Rows:
    """Cut documents of any source into sentences, which no window crosses."""
    try:
        groups = 0 if boundary is None else re.compile(boundary).groups
    except re.error as error:
        raise ValueError(f"boundary {boundary!r} is no regular expression: {error}") from None
    if groups:
        raise ValueError(f"boundary {boundary!r} captures groups; write (?:...) for (...)")
    convert = functools.partial(Sentences.of, tokenizer=tokenizer, boundary=boundary)
    return read_texts(estimator, X, None, sample_weight, convert=convert)


def cooccurrence(
    documents: Any,
    *,
    window: int = 1,
    boundary: str | None = SENTENCE_END,
    tokenizer: Tokenizer = WordTokenizer(),
) -> CooccurrenceCounts:
    r"""Count which words follow which within a window.

    .. math::
        F_{vw} = \#\{(i, j) : x_i = v,\ x_j = w,\ 1 \le j - i \le R\}, \qquad C = F + F^\top

    for the words :math:`x_1, x_2, \ldots` of a sentence, summed over sentences.

    Parameters
    ----------
    documents : iterable of str or of list of str, Batches or Dask bag
        The texts. A list of tokens is one sentence.
    window : int, default=1
        The largest distance R of two words; 1 takes neighbours.
    boundary : str or None, default=SENTENCE_END
        A regular expression at which texts are cut; no window goes beyond. By default a text ends
        a sentence with a full stop, a question or an exclamation mark before a blank. With None a
        text is one sentence.
    tokenizer : WordTokenizer or callable, default=WordTokenizer()
        How a text is cut into words.

    Returns
    -------
    CooccurrenceCounts
        ``words``, sorted; ``count``, how often each occurs; the sparse matrices ``forward``, F, and
        ``symmetric``, C. Those of two parts of a corpus, added, are those of the whole.

    Notes
    -----
    It costs about :math:`O(w N)` for N tokens and a window of w.

    References
    ----------
    K. Lund and C. Burgess (1996). Producing high-dimensional semantic spaces from lexical
    co-occurrence. Behavior Research Methods, Instruments, & Computers 28(2).
    doi:10.3758/BF03204766

    Examples
    --------
    >>> from panlearn.text import cooccurrence
    >>> seen = cooccurrence(["The cat sat. The dog sat."])
    >>> seen.words.tolist()
    ['cat', 'dog', 'sat', 'the']
    >>> seen.forward.toarray().astype(int)
    array([[0, 0, 1, 0],
           [0, 0, 1, 0],
           [0, 0, 0, 0],
           [1, 1, 0, 0]])
    """
    if not isinstance(window, int) or isinstance(window, bool) or window < 1:
        raise ValueError(f"window must be a distance of at least 1; got {window!r}")
    rows = read_sentences(None, documents, tokenizer=tokenizer, boundary=boundary)
    return CooccurrenceCounts.of_rows(rows, window)


def pmi(counts: Any, *, marginals: Any = None, positive: bool = False) -> Any:
    r"""Point-wise mutual information: how much more often things meet than by chance.

    .. math::
        \mathrm{PMI}(x, y) = \log \frac{p(x, y)}{p(x)\, p(y)}, \qquad
        \mathrm{PMI}(x, y, z) = \log \frac{p(x, y, z)}{p(x)\, p(y)\, p(z)}

    Parameters
    ----------
    counts : array-like, sparse matrix or CooccurrenceCounts
        How often each pair was seen, as a matrix, or each triple, as an array of three dimensions.
        Of `cooccurrence` the symmetric counts are taken.
    marginals : sequence of array-like, default=None
        How often each thing was seen alone, one array for each dimension; by default the sums of
        `counts` over the other dimensions.
    positive : bool, default=False
        Whether what is below zero becomes zero, which is called PPMI.

    Returns
    -------
    ndarray or csr_array
        As `counts`. Where nothing was counted it is minus infinity, or zero if `positive`; a sparse
        matrix has entries where something was counted, and no other.

    Notes
    -----
    It has no lower bound, and at most :math:`\min(-\log p(x), -\log p(y))`, which pairs that always
    meet attain. Its mean under :math:`p(x, y)` is the mutual information. It costs :math:`O(m)` for
    m stored counts, or for all cells of a dense table.

    References
    ----------
    K. W. Church and P. Hanks (1990). Word association norms, mutual information, and lexicography.
    Computational Linguistics 16(1). https://aclanthology.org/J90-1003

    Examples
    --------
    >>> from panlearn.text import pmi
    >>> pmi([[2, 0], [0, 2]], positive=True).round(3)
    array([[0.693, 0.   ],
           [0.   , 0.693]])
    """
    matrix = counts.symmetric if isinstance(counts, CooccurrenceCounts) else counts
    is_sparse = sparse.issparse(matrix)
    if is_sparse:
        table: Any = sparse.csr_array(matrix, dtype=float, copy=True)
        table.sum_duplicates()
        table.eliminate_zeros()
    else:
        table = np.asarray(matrix, dtype=float)
    values = table.data if is_sparse else table
    if table.ndim < 2 or not (values >= 0).all() or not 0 < values.sum() < np.inf:
        raise ValueError(
            "counts must be of pairs or of more, none of them negative or NaN and not all zero; "
            f"got shape {table.shape}"
        )
    if marginals is None:
        axes = range(table.ndim)
        alone = [table.sum(axis=tuple(set(axes) - {axis})) for axis in axes]
    else:
        alone = [np.asarray(m, dtype=float) for m in marginals]
        if [m.shape for m in alone] != [(n,) for n in table.shape] or not all(
            (m > 0).all() for m in alone
        ):
            raise ValueError(
                f"marginals must hold one count above zero for each of {table.shape} things; got "
                f"{alone}"
            )
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = [np.log(m) - np.log(m.sum()) for m in alone]
        total = np.log(values.sum())
        if not is_sparse:
            chance = sum(np.ix_(*logs), np.zeros(table.shape))
            result = np.where(table > 0, np.log(table) - total - chance, -np.inf)
            return np.maximum(result, 0) if positive else result
        pairs = table.tocoo()
        data = np.log(pairs.data) - total - logs[0][pairs.coords[0]] - logs[1][pairs.coords[1]]
    data = np.maximum(data, 0) if positive else data
    result = sparse.coo_array((data, pairs.coords), pairs.shape).tocsr()
    if positive:
        result.eliminate_zeros()
    return result
