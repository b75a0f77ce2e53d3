"""The sampler of LDA: the topic of each token, and how often what has which."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, psi

from panlearn.core.memory import require_memory
from panlearn.text._topic_kernels import document_slopes, sweep
from panlearn.text._topics import Corpus

LEAST = 1e-5
"""What a prior that is learned does not fall below: at zero a topic could not come back."""
TABLE = 128
"""How many tokens of a document with one topic the table of log-gammas goes up to."""


def whole(corpus: Corpus) -> Corpus:
    """The corpus with its tokens; its counts must be whole numbers: a topic belongs to a token."""
    if corpus.ids is not None:
        return corpus
    counts = corpus.counts
    if (counts.data != np.floor(counts.data)).any():
        raise ValueError(
            "X holds counts that are no whole numbers; give the counts themselves, before any "
            "weighting such as tf-idf"
        )
    with np.errstate(over="ignore"):
        n_tokens = int(min(counts.data.sum(), 2.0**62))
    require_memory((n_tokens,), "the list of tokens", "lower the counts", itemsize=12)
    times = counts.data.astype(np.int64)
    ids = np.repeat(counts.indices.astype(np.int32), times)
    return corpus._replace(ids=ids, offsets=np.append(0, np.cumsum(times))[counts.indptr])


class Chain:
    """The state of the sampler: the topic of each token, and how often what has which.

    Counts of words and topics of tokens that were `seen` before, of shape (n_words, n_topics), are
    as if these tokens were here, with topics that remain.
    """

    def __init__(
        self,
        corpus: Corpus,
        alpha: np.ndarray,
        beta: float,
        rng: np.random.Generator,
        seen: np.ndarray | None = None,
    ) -> None:
        self.ids, self.offsets = corpus.ids, corpus.offsets
        self.alpha, self.beta = alpha, beta
        n_words, self._n_topics = corpus.counts.shape[1], len(alpha)
        self.topics = np.full(len(self.ids), -1, dtype=np.int32)
        before = np.zeros((n_words, self._n_topics), np.int32) if seen is None else seen
        listed = np.count_nonzero(before, axis=1)
        most = np.minimum(np.bincount(self.ids, minlength=n_words) + listed, self._n_topics)
        room = np.cumsum(most) - most
        self._bounds = np.column_stack([room, room + listed])
        self._lists = np.zeros((int(most.sum()) + 1, 2), dtype=np.int32)
        word, topic = np.nonzero(before)
        place = np.arange(len(word)) + np.repeat(room + listed - np.cumsum(listed), listed)
        self._lists[place] = np.column_stack([topic, before[word, topic]])
        self._total = before.sum(axis=0, dtype=np.int64)
        self._before = np.bincount(before[word, topic]), self._total.copy()
        self._state = rng.integers(2**63, dtype=np.uint64)

    def sweep(self) -> float:
        """Draw the topic of each token given the others; give log p(w, z)."""
        alpha = self.alpha[:, None]
        table = gammaln(alpha + np.arange(TABLE)) - gammaln(alpha)
        at = self.ids, self.offsets, self.topics, self._bounds, self._lists, self._total
        memory = np.empty(self._n_topics, np.int64), np.empty((3, self._n_topics))
        state, value = sweep(*at, self.alpha, self.beta, table, self._state, *memory)
        self._state = np.uint64(state)
        value += self._word_value(np.bincount(self._word_topics()[2]), self._total)
        value -= self._word_value(*self._before)
        lengths, every = np.diff(self.offsets), alpha.sum()
        return float(value + (gammaln(every) - gammaln(every + lengths)).sum())

    def _word_value(self, counts: np.ndarray, total: np.ndarray) -> float:
        """Log p(w | z), where so many pairs of word and topic occur 0, 1, ... times."""
        table = gammaln(self.beta + np.arange(len(counts))) - gammaln(self.beta)
        rest = len(self._bounds) * self.beta
        return float(counts @ table + (gammaln(rest) - gammaln(rest + total)).sum())

    def update_priors(self) -> None:
        """One step of Minka's fixed point for α and for β."""
        slopes, whole = document_slopes(self.offsets, self.topics, self.alpha)
        self.alpha = np.maximum(self.alpha * slopes / (1 + whole), LEAST)
        n_words = len(self._bounds)
        rest, counts = n_words * self.beta, self._word_topics()[2]
        slope = (psi(self.beta + counts) - psi(self.beta)).sum()
        every = (psi(rest + self._total) - psi(rest)).sum()
        self.beta = float(max(self.beta * slope / (1 + n_words * every), LEAST))

    def _word_topics(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Words, topics and counts of what is listed."""
        n = self._bounds[:, 1] - self._bounds[:, 0]
        word = np.repeat(np.arange(len(n)), n)
        place = np.arange(len(word)) + np.repeat(self._bounds[:, 1] - np.cumsum(n), n)
        return word, *self._lists[place].T

    def word_counts(self) -> np.ndarray:
        """How often each word has each topic, of shape (n_words, n_topics)."""
        table = np.zeros((len(self._bounds), self._n_topics), dtype=np.int32)
        word, topic, count = self._word_topics()
        table[word, topic] = count
        return table

    def add_word_laws(self, to: np.ndarray) -> None:
        """Add φ_kw = (β + n_kw) / (Vβ + n_k) to an array of shape (n_words, n_topics)."""
        inverse = 1 / (len(self._bounds) * self.beta + self._total)
        word, topic, count = self._word_topics()
        to += self.beta * inverse
        to[word, topic] += count * inverse[topic]

    def document_laws(self) -> np.ndarray:
        """θ_dk = (α_k + n_dk) / (Σα + N_d)."""
        lengths = np.diff(self.offsets)
        document = np.repeat(np.arange(len(lengths)), lengths)
        size = len(lengths) * self._n_topics
        n = np.bincount(document * self._n_topics + self.topics, minlength=size)
        share = n.reshape(-1, self._n_topics) + self.alpha
        return share / share.sum(axis=1, keepdims=True)
