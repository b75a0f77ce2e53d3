"""TextRank: the words and the sentences that a text comes back to."""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from panlearn.core.value import Value
from panlearn.text._documents import Tokenizer, Tokens, WordTokenizer, tokenize
from panlearn.text.pagerank import pagerank

_SENTENCE = re.compile(
    r"(?:(?<=[.!?…])|(?<=[.!?…][\"'”’)\]]))\s+(?=[\"'“‘(\[]*[^\W_a-zß-öø-ÿ])|\n\s*\n"
)
_PAUSE = re.compile(r"[^\w\s'’-]+")
WORDS = WordTokenizer(pattern=r"\w+")
LEAST = 10  # words that phrases are made of, in a short text


@dataclass(frozen=True)
class TextRank(Value):
    r"""Find the key words of a text, or its key sentences, by PageRank on a graph of them.

    Words are linked if they stand within `window` of each other; sentences by what they share,

    .. math::
        w(S_i, S_j) = \frac{|\{t : t \in S_i,\ t \in S_j\}|}{\ln |S_i| + \ln |S_j|}, \qquad
        r_i = 1 - \alpha + \alpha \sum_j \frac{w_{ji}}{\sum_k w_{jk}} r_j

    Parameters
    ----------
    window : int, default=2
        Words are linked if at most ``window - 1`` steps apart: with 2, neighbours.
    alpha : float, default=0.85
        The damping of the walk on the graph.
    tokenizer : WordTokenizer or callable
        How a text is cut into words; by default runs of letters and digits, in lower case.
    stop_words : tuple of str or None, default=None
        Words that link nothing; scikit-learn's English ones if not given.

    Notes
    -----
    It learns nothing: each text is ranked on its own. The ranks of a text are its stationary law
    and so sum to one; what is linked to nothing has rank zero. Key words that stand side by side
    are given as one phrase, whose rank is the mean of its words'. The original takes nouns and
    adjectives alone; stop words stand in for a tagger here. Words cost :math:`O(w N)` for N tokens
    and a window of w, sentences at most :math:`O(S^2)` for S of them, and either a PageRank.

    References
    ----------
    R. Mihalcea and P. Tarau (2004). TextRank: bringing order into texts. EMNLP 2004, 404-411.
    https://aclanthology.org/W04-3252

    Examples
    --------
    >>> from panlearn.text import TextRank
    >>> text = (
    ...     "A random walk goes from node to node. The random walk has a stationary law. The "
    ...     "stationary law ranks each node by the visits of the walk. It was raining."
    ... )
    >>> [phrase for phrase, _ in TextRank().keywords(text, 2)]
    ['walk', 'random walk']
    >>> TextRank().summary(text, 1)
    ['The random walk has a stationary law.']
    """

    window: int = 2
    alpha: float = 0.85
    _: KW_ONLY
    tokenizer: Tokenizer = WORDS
    stop_words: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.window, int) or self.window < 2:
            raise ValueError(f"window must be an int of at least 2; got {self.window!r}")
        if not 0 <= self.alpha < 1:
            raise ValueError(f"alpha must be at least 0 and below 1; got {self.alpha!r}")
        if isinstance(self.stop_words, str):
            raise ValueError(f"stop_words must be a tuple of words; got {self.stop_words!r}")

    def keywords(self, text: str, k: int = 10) -> list[tuple[str, float]]:
        """Find the key words and phrases of a text.

        Parameters
        ----------
        text : str
            The text.
        k : int, default=10
            How many at most.

        Returns
        -------
        list of (str, float)
            Phrases of the best third of the words, and at least of ten words, with their ranks,
            best first.
        """
        ranks = self.word_ranks(text)
        best = sorted((w for w in ranks if ranks[w] > 0), key=lambda w: (-ranks[w], w))
        chosen = set(best[: max(LEAST, len(best) // 3)])
        phrases = {}
        for part in tokenize(_PAUSE.split(text), self.tokenizer).documents():
            run: list[str] = []
            for word in [*part, ""]:
                if word in chosen:
                    run.append(word)
                elif run:
                    phrases[" ".join(run)] = float(np.mean([ranks[w] for w in run]))
                    run = []
        return sorted(phrases.items(), key=lambda item: (-item[1], item[0]))[:k]

    def summary(self, text: Any, k: int = 3) -> list[str]:
        """Find the key sentences of a text.

        Parameters
        ----------
        text : str or list of str
            The text, or its sentences; a text is cut after full stops and at empty lines.
        k : int, default=3
            How many sentences at most.

        Returns
        -------
        list of str
            The sentences, in the order of the text.
        """
        sentences = split_sentences(text) if isinstance(text, str) else list(text)
        ranks = self.sentence_ranks(sentences)
        best = sorted(range(len(sentences)), key=lambda i: (-ranks[i], i))[:k]
        return [sentences[i] for i in sorted(best)]

    def word_ranks(self, text: str) -> dict[str, float]:
        """Rank the words of a text.

        Parameters
        ----------
        text : str
            The text.

        Returns
        -------
        dict of {str: float}
            The rank of each word that is no stop word, in the order of the text.
        """
        if not isinstance(text, str):
            raise ValueError(f"text must be a str; got a {type(text).__name__}")
        tokens = tokenize([text], self.tokenizer)
        wanted, n = self._wanted(tokens), len(tokens.words)
        graph = sparse.coo_array((n, n)).tocsr()
        for step in range(1, self.window):
            a, b = tokens.ids[:-step], tokens.ids[step:]
            linked = wanted[a] & wanted[b] & (a != b)
            ones = np.ones(linked.sum())
            graph = graph + sparse.coo_array((ones, (a[linked], b[linked])), shape=(n, n)).tocsr()
        graph = graph + graph.T
        graph.data[:] = 1.0  # linked or not, however often
        ranks = self._rank(graph)
        return {w: float(ranks[i]) for i, w in enumerate(tokens.words) if wanted[i]}

    def sentence_ranks(self, sentences: Any) -> np.ndarray:
        """Rank the sentences of a text.

        Parameters
        ----------
        sentences : list of str or of list of str
            The sentences, or their tokens.

        Returns
        -------
        ndarray of shape (n_sentences,)
        """
        tokens = tokenize(sentences, self.tokenizer)
        tokens = tokens.keep(self._wanted(tokens))
        rows, lengths = np.repeat(np.arange(len(tokens)), tokens.lengths), tokens.lengths
        shape = (len(tokens), len(tokens.words))
        holds = sparse.csr_array((np.ones(len(rows)), (rows, tokens.ids)), shape=shape)
        holds.data[:] = 1.0
        common = (holds @ holds.T).tocoo()
        logs = np.log(np.maximum(lengths, 1))
        scale = logs[common.row] + logs[common.col]
        used = (common.row != common.col) & (scale > 0)
        entries = (common.data[used] / scale[used], (common.row[used], common.col[used]))
        return self._rank(sparse.coo_array(entries, shape=common.shape).tocsr())

    def _wanted(self, tokens: Tokens) -> np.ndarray:
        stop = ENGLISH_STOP_WORDS if self.stop_words is None else set(self.stop_words)
        return np.array([word not in stop for word in tokens.words], dtype=bool)

    def _rank(self, graph: Any) -> np.ndarray:
        """PageRank of what is linked; if nothing is, all are alike."""
        linked = np.flatnonzero(np.diff(graph.indptr))
        if not len(linked):
            return np.full(graph.shape[0], 1 / max(graph.shape[0], 1))
        ranks = np.zeros(graph.shape[0])
        ranks[linked] = pagerank(graph[linked][:, linked], self.alpha)
        return ranks


def split_sentences(text: str) -> list[str]:
    """Cut a text after full stops, question and exclamation marks, and at empty lines."""
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]
