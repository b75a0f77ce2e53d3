"""Word vectors from the words around a word."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.estimator import fitting
from panlearn.core.interrupts import passes
from panlearn.core.memory import require_memory
from panlearn.core.parameters import Bounds, Count, Jobs, NonNegative, Positive, RandomState
from panlearn.core.random import generator
from panlearn.core.threads import threads
from panlearn.text._documents import Tokenizer, WordTokenizer, collect, read_documents
from panlearn.text._word2vec_training import Trainer
from panlearn.text._word_vectors import Corpus, WordVectors

Few = Annotated[int, Bounds(0, 1000, closed_low=True, closed_high=True)]
Power = Annotated[float, Bounds(-10, 10)]


@dataclass(eq=False, repr=False)
class Word2Vec(WordVectors):
    r"""Words as vectors that tell which words stand near them.

    .. math::
        \min_{x, z} \; - \sum_{(c, w)} \Bigl[ \log \sigma(x_c^\top z_w)
        + \sum_{n \sim P} \log \sigma(-x_c^\top z_n) \Bigr]
        \quad \text{or} \quad
        - \sum_{(c, w)} \log \frac{\exp(x_c^\top z_w)}{\sum_u \exp(x_c^\top z_u)}

    over the pairs of a word w and a word c of its window, with k negative words drawn from
    :math:`P(n) \propto \text{count}(n)^{3/4}`, or against all words of the vocabulary.

    Parameters
    ----------
    vector_size : int, default=100
        The length of a vector.
    window : int, default=5
        The farthest that a word of the window may be; the reach of each window is drawn from 1 to
        this number, so that near words weigh more.
    min_count : int, default=5
        Words that occur less often are left out.
    negative : int, default=5
        The number k of negative words; 0 for the softmax over all words, whose cost grows with the
        vocabulary.
    ns_exponent : float, default=0.75
        The power of the counts in the distribution of negative words.
    sample : float, default=0.001
        Occurrences of words with a share f of the text above this share s stay with probability
        :math:`\sqrt{s / f} + s / f` only; 0 keeps all. In a vocabulary of n words, s is at least
        1 / n: a word with no more than its even share is not thinned out.
    alpha : float, default=0.025
        The learning rate at the start.
    min_alpha : float, default=0.0001
        The learning rate at the end, to which it falls linearly.
    epochs : int, default=5
        Passes over the documents.
    sg : {0, 1}, default=1
        1 for skip-gram, as in the formula; 0 for the continuous bag of words, where :math:`x_c` is
        the mean over the whole window: quicker, and weaker on rare words.
    deterministic : bool, default=True
        Whether the vectors are the same for any number of threads. False lets threads race for the
        rows without locks: somewhat quicker on many cores, and **not reproducible**.
    n_jobs : int or None, default=-1
        Threads; None for one, -1 for one a core.
    tokenizer : WordTokenizer or callable, default=WordTokenizer()
        How a text is cut into words.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the first vectors, the windows and the negative words.

    Attributes
    ----------
    words_ : ndarray of shape (n_words,)
        The vocabulary, the most frequent word first.
    counts_ : ndarray of shape (n_words,)
        How often each occurs.
    vectors_ : ndarray of shape (n_words, vector_size)
        The vectors x of words, in float32.
    context_vectors_ : ndarray of shape (n_words, vector_size)
        The vectors z.
    history_ : dict
        ``loss`` of each epoch: the mean, over the pairs, of the bracket in the formula with its
        sign, as met before each step, summed in float64.

    Notes
    -----
    Stochastic gradient steps, one a pair, in :math:`O(k d)`. Four pairs in a row share their
    negative words, whose vectors then stay in the cache; in expectation nothing changes.
    For unconstrained vectors the minimum is at
    :math:`x_c^\top z_w = \log \frac{P(w \mid c)}{k P(w)}`, the pointwise mutual information less
    :math:`\log k` (with exponent 1).

    Threads share large corpora by blocks: words are dealt into eight groups at random, and pairs of
    different groups, with negative words from the group of w, touch different rows. The groups are
    dealt anew every 32768 tokens, whatever the number of threads, so up to eight of them help. The
    continuous bag of words, the softmax and small corpora run on one thread unless
    ``deterministic=False``. A document longer than that, or than 4096 tokens there, is cut.

    `transform` gives documents the mean of the vectors of their words.

    References
    ----------
    T. Mikolov, I. Sutskever, K. Chen, G. Corrado and J. Dean (2013). Distributed representations of
    words and phrases and their compositionality. NeurIPS. arXiv:1310.4546

    O. Levy and Y. Goldberg (2014). Neural word embedding as implicit matrix factorization. NeurIPS.

    S. Ji, N. Satish, S. Li and P. Dubey (2016). Parallelizing Word2Vec in shared and distributed
    memory. arXiv:1604.04661

    Examples
    --------
    >>> from panlearn.text import Word2Vec
    >>> texts = ["a cat eats fish", "a dog eats meat", "the sun is hot", "the fire is hot"] * 50
    >>> model = Word2Vec(8, window=2, sample=0, random_state=0).fit(texts)
    >>> model.most_similar("sun", topn=1)[0][0]
    'fire'
    >>> model.transform(["the hot fire", "never heard"]).shape
    (2, 8)
    """

    capabilities = Capabilities(sources=ANYWHERE)

    vector_size: Count = 100
    _: KW_ONLY
    window: Count = 5
    min_count: Positive[int] = 5
    negative: Few = 5
    ns_exponent: Power = 0.75
    sample: NonNegative[float] = 1e-3
    alpha: Positive[float] = 0.025
    min_alpha: NonNegative[float] = 1e-4
    epochs: Count = 5
    sg: Literal[0, 1] = 1
    deterministic: bool = True
    n_jobs: Jobs = -1
    tokenizer: Tokenizer = WordTokenizer()
    random_state: RandomState = None

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn a vector for each word that is frequent enough.

        Parameters
        ----------
        X : iterable of str or of list of str, Batches or Dask bag
            Documents, texts or lists of tokens. Of a stream or a bag, the numbers of the tokens
            are gathered in memory, in their order, which is that of the steps.
        y : object, default=None
            Ignored.

        Returns
        -------
        Word2Vec
            The model itself.
        """
        tokens = collect(read_documents(self, X, tokenizer=self.tokenizer)).X
        corpus, rng = Corpus.of(tokens, self.min_count), generator(self.random_state)
        if np.diff(corpus.offsets).max() < 2:
            raise ValueError(
                f"no document has two words that occur {self.min_count} times, so no word a "
                "neighbour; lower min_count, or give longer documents"
            )
        shape = (len(corpus.words), self.vector_size)
        require_memory((2, *shape), "the vectors, twice,", "raise min_count", itemsize=4)
        first = rng.random(shape, dtype=np.float32)
        first -= np.float32(0.5)
        first /= np.float32(self.vector_size)
        trainer = self._trainer(corpus, first)
        trainer.expect(self.epochs)
        losses: list[float] = []
        with threads(self.n_jobs) as run:
            for _ in passes(self, self.epochs):
                total, n = trainer.epoch(lambda share: self._rate(len(losses) + share), rng, run)
                if n == 0:
                    raise ValueError("no two neighbours are left of the text; raise sample")
                losses.append(total / n)
                if not np.isfinite(losses[-1]):
                    raise ValueError("the vectors grew beyond the floats; lower alpha")
        self.words_, self.counts_ = corpus.words, corpus.counts
        self.vectors_, self.context_vectors_ = trainer.inputs, trainer.outputs
        self.history_ = {"loss": losses}
        return self

    def _trainer(self, corpus: Corpus, first: np.ndarray) -> Trainer:
        counts = corpus.counts.astype(float)
        keep = np.ones_like(counts)
        if self.sample > 0:
            share = max(self.sample, 1 / len(counts)) * counts.sum() / counts
            keep = np.minimum(1, np.sqrt(share) + share)
        noise = counts**self.ns_exponent
        return Trainer(
            corpus.ids,
            corpus.offsets,
            first,
            np.zeros_like(first),
            keep,
            keep * counts,
            noise / noise.sum(),
            self.window,
            self.negative,
            bool(self.sg),
            self.deterministic,
        )

    def _rate(self, epochs: float) -> float:
        """The learning rate after so many epochs."""
        return self.alpha - (self.alpha - self.min_alpha) * epochs / self.epochs
