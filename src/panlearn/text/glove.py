"""Word vectors from counts of words that stand near each other."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from panlearn.core.estimator import fitting
from panlearn.core.interrupts import passes
from panlearn.core.memory import require_memory
from panlearn.core.parameters import Count, Fraction, Jobs, Positive, RandomState
from panlearn.core.random import generator
from panlearn.core.threads import threads
from panlearn.text._cooccurrence import CooccurrenceCounts, read_sentences
from panlearn.text._documents import Tokenizer, WordTokenizer
from panlearn.text._glove_training import Entries, Sides
from panlearn.text._word_vectors import WordVectors


@dataclass(eq=False, repr=False)
class GloVe(WordVectors):
    r"""Words as vectors whose products are the logarithms of how often the words meet.

    .. math::
        \min \; \frac12 \sum_{n_{vw} > 0} f(n_{vw})
        \left(x_v^\top z_w + b_v + c_w - \log n_{vw}\right)^2,
        \qquad f(n) = \min\{1, (n / n_{\max})^\alpha\}

    over the pairs of words that are within a window of each other :math:`n_{vw}` times.

    Parameters
    ----------
    vector_size : int, default=100
        The length of a vector.
    window : int, default=10
        The farthest that two words may be to count as a pair.
    min_count : int, default=5
        Words that occur less often are left out.
    n_max : float, default=100.0
        The count from which on a pair has its full weight.
    alpha : float, default=0.75
        The power in the weight of a pair, from 0 to 1.
    learning_rate : float, default=0.05
        The rate of AdaGrad.
    epochs : int, default=25
        Passes over the pairs.
    n_jobs : int or None, default=-1
        Threads; None for one, -1 for one a core. Any number gives the same bits.
    tokenizer : WordTokenizer or callable, default=WordTokenizer()
        How a text is cut into words.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the first vectors and the order of the pairs.

    Attributes
    ----------
    words_ : ndarray of shape (n_words,)
        The vocabulary, the most frequent word first.
    counts_ : ndarray of shape (n_words,)
        How often each occurs.
    vectors_ : ndarray of shape (n_words, vector_size)
        The sums x + z of the two vectors of a word, in float32.
    word_factors_ : ndarray of shape (n_words, vector_size + 1)
        The vectors x, and the biases b in the last column.
    context_factors_ : ndarray of shape (n_words, vector_size + 1)
        The vectors z, and the biases c in the last column.
    history_ : dict
        ``loss`` of each epoch: the mean over the pairs of the terms of the formula, as met before
        each step, summed in float64.

    Notes
    -----
    One pass over the documents counts; these counts are sums, so that streams and bags work as a
    list does and neither the order of documents nor the cut matters. Pairs that never met are left
    out, for their logarithm does not exist. Each pass of AdaGrad takes one step a pair, in
    :math:`O(d)`. Pairs of different groups of words run side by side; they share no vector.
    All pairs in the window weigh the same; the authors' program divides by their distance.

    References
    ----------
    J. Pennington, R. Socher and C. D. Manning (2014). GloVe: global vectors for word
    representation. EMNLP. doi:10.3115/v1/D14-1162

    Examples
    --------
    >>> from panlearn.text import GloVe
    >>> texts = ["a cat eats fish", "a dog eats meat", "the sun is hot", "the fire is hot"] * 50
    >>> model = GloVe(4, window=2, random_state=0).fit(texts)
    >>> model.similarity("sun", "fire") > model.similarity("sun", "fish")
    True
    """

    vector_size: Count = 100
    _: KW_ONLY
    window: Count = 10
    min_count: Positive[int] = 5
    n_max: Positive[float] = 100.0
    alpha: Fraction[float] = 0.75
    learning_rate: Positive[float] = 0.05
    epochs: Count = 25
    n_jobs: Jobs = -1
    tokenizer: Tokenizer = WordTokenizer()
    random_state: RandomState = None

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn a vector for each word that is frequent enough.

        Parameters
        ----------
        X : iterable of str or of list of str, Batches or Dask bag
            Documents, texts or lists of tokens.
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights; an integer weight is a repeated document.

        Returns
        -------
        GloVe
            The model itself.
        """
        rows = read_sentences(self, X, sample_weight, tokenizer=self.tokenizer, boundary=None)
        seen = CooccurrenceCounts.of_rows(rows, self.window).most_frequent(self.min_count)
        rng = generator(self.random_state)
        pairs = seen.symmetric
        if not pairs.nnz:
            raise ValueError(
                f"nothing to learn from: no two words that occur {self.min_count} times are within "
                "the window of each other; lower min_count, or give more or longer documents"
            )
        order = np.lexsort([np.arange(len(seen.words)), -seen.count])
        shape = (len(order), self.vector_size + 1)
        require_memory((4, *shape), "two vectors a word and their squares", "raise min_count", 4)
        entries = Entries(pairs[order][:, order].tocsr(), self.n_max, self.alpha, rng)
        sides, losses = Sides.random(len(order), self.vector_size, rng), []
        with threads(self.n_jobs) as run:
            for _ in passes(self, self.epochs):
                losses.append(entries.epoch(sides, self.learning_rate, run))
                if not np.isfinite(losses[-1]):
                    raise ValueError("the vectors grew beyond the floats; lower learning_rate")
        self.words_, self.counts_ = seen.words[order], seen.count[order]
        self.word_factors_, self.context_factors_ = sides.words, sides.contexts
        self.vectors_ = (sides.words + sides.contexts)[:, :-1].copy()
        self.history_ = {"loss": losses}
        return self
