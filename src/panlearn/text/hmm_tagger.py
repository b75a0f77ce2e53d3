"""A part-of-speech tagger: a hidden Markov chain of tags, with a model of unknown words."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from panlearn.core.learned import shapes
from panlearn.core.map_reduce import map_reduce
from panlearn.core.mergeable import Mergeable
from panlearn.core.parameters import Bounds, NonNegative, Positive
from panlearn.core.sources import Rows
from panlearn.sequence._path_kernels import viterbi
from panlearn.text._base import TextModel
from panlearn.text._documents import Tokenizer, Tokens, WordTokenizer, read_documents
from panlearn.text._tag_counts import TagCounts, flat_tags, suffix_laws, suffixes

Letters = Annotated[int, Bounds(0, 30, closed_low=True, closed_high=True)]


@dataclass(eq=False, repr=False)
class HMMTagger(Mergeable, TextModel):
    r"""Tags of the words of a document: the most probable path of a chain that emits words.

    .. math::
        \hat t = \arg\max_t \prod_{i=1}^{n+1} P(t_i \mid t_{i-1}) \prod_{i=1}^n P(w_i \mid t_i),
        \qquad P(w \mid t) \propto \frac{P(t \mid \text{suffix of } w)}{P(t)}
        \text{ for unknown } w

    Parameters
    ----------
    smoothing : float, default=0.1
        What is added to each count of one tag after another.
    max_suffix : int, default=8
        The most letters at the end of an unknown word that are looked at.
    rare_count : int, default=10
        Suffixes are learned from words that occur no more often: unknown words are like these.
    tokenizer : WordTokenizer or callable, default=WordTokenizer(False, r"\S+")
        Cuts a text into words, here at spaces; each word of a text to learn from needs a tag.

    Attributes
    ----------
    tags_ : ndarray of shape (n_tags,)
        The tags, sorted.
    words_ : ndarray of shape (n_words,)
        The words that were seen, sorted.
    step_ : ndarray of shape (n_tags + 1, n_tags + 1)
        Log probabilities from tag to tag; the last row is the beginning, the last column the end.
    emission_ : ndarray of shape (n_words, n_tags)
        Log probabilities of the words.
    suffixes_ : ndarray of shape (n_suffixes,)
        Ends of rare words after a mark: A for words with a capital, a for others.
    suffix_emission_ : ndarray of shape (n_suffixes, n_tags)
        Log of :math:`P(t \mid \text{suffix}) / P(t)`.
    statistic_ : TagCounts
        The counts, from which `partial_fit` goes on.

    Notes
    -----
    Training counts. A known word has only tags that it was seen with; an unknown one those of the
    longest suffix that rare words have, smoothed by all shorter ones. Viterbi's algorithm finds the
    path in :math:`O(n T^2)` for T tags, in compiled code over all documents.

    References
    ----------
    T. Brants (2000). TnT: a statistical part-of-speech tagger. ANLP. doi:10.3115/974147.974178

    Examples
    --------
    >>> from panlearn.text import HMMTagger
    >>> X = ["the dog barked".split(), "a cat walked".split(), "the cat jumped".split()]
    >>> model = HMMTagger().fit(X, [["DET", "NOUN", "VERB"]] * 3)
    >>> model.predict([["a", "dog", "whispered"]])[0].tolist()
    ['DET', 'NOUN', 'VERB']
    """

    learned = shapes(
        tags_="(n_tags,)",
        words_="(n_words,)",
        step_="(n_tags + 1, n_tags + 1)",
        emission_="(n_words, n_tags)",
        suffixes_="(n_suffixes,)",
        suffix_emission_="(n_suffixes, n_tags)",
    )

    _: KW_ONLY
    smoothing: Positive[float] = 0.1
    max_suffix: Letters = 8
    rare_count: NonNegative[int] = 10
    tokenizer: Tokenizer = WordTokenizer(False, r"\S+")

    def _read_training(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Rows:
        return read_documents(self, X, y, sample_weight, tokenizer=self.tokenizer)

    def _summarise(self, rows: Rows) -> TagCounts:
        return map_reduce(TagCounts.of, rows)

    def _solve(self, statistic: TagCounts, rows: Rows) -> None:
        if not len(statistic.words):
            raise ValueError("no document has a word, so there is nothing to learn from")
        step = statistic.step + self.smoothing
        emission = np.zeros((len(statistic.words), len(statistic.tags)))
        emission[tuple(statistic.pairs.T)] = statistic.count
        rare = min(self.rare_count, 2**62)
        self.suffixes_, laws, overall = suffix_laws(statistic, rare, self.max_suffix)
        with np.errstate(divide="ignore"):
            self.emission_ = np.log(emission / emission.sum(axis=0))
            self.suffix_emission_ = np.log(laws / overall)
        self.step_ = np.log(step / step.sum(axis=1, keepdims=True))
        self.tags_ = statistic.tags
        self.words_ = statistic.words

    def predict(self, X: Any) -> list[np.ndarray]:
        """Give the most probable tags.

        Parameters
        ----------
        X : iterable of list of str or of str
            The documents.

        Returns
        -------
        list of ndarray of shape (n_tokens,)
            The tags of each document.
        """
        tokens = self._read(X)
        tags = self.tags_[self._paths(tokens)]
        return [tags[start:stop] for start, stop in pairwise(tokens.offsets.tolist())]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Give the share of words whose tag is right.

        Parameters
        ----------
        X : iterable of list of str or of str
            The documents.
        y : iterable of list of str
            Their tags.
        sample_weight : array-like of shape (n_documents,), default=None
            Weights of the documents.

        Returns
        -------
        float
        """
        tokens = self._read(X)
        right = self.tags_[self._paths(tokens)] == np.array(flat_tags(tokens, y), dtype=object)
        if not len(right):
            raise ValueError("no document has a word, so there is no share of them")
        weight = np.ones(len(tokens)) if sample_weight is None else np.asarray(sample_weight)
        return float(np.average(right, weights=np.repeat(weight, tokens.lengths)))

    def _paths(self, tokens: Tokens) -> np.ndarray:
        """Numbers of the tags, by Viterbi's algorithm."""
        n, k = len(tokens.ids), len(self.tags_)
        path, pointer = np.empty(n, dtype=np.int64), np.empty((n, k), dtype=np.int32)
        density = self._emissions(tokens.words)[tokens.ids]
        some = tokens.lengths > 0
        density[tokens.offsets[1:][some] - 1] += self.step_[:k, k]  # the end comes after it
        offsets = np.concatenate([[0], tokens.offsets[1:][some]])
        first, steps = self.step_[k, :k].copy(), self.step_[:k, :k].copy()
        viterbi(first, steps, density, offsets, pointer, path, np.empty(len(offsets) - 1))
        return path

    def _emissions(self, words: list[str]) -> np.ndarray:
        """Log P(w | t) of known words; of others log P(t | suffix) / P(t), the longest there is."""
        known = {word: i for i, word in enumerate(self.words_.tolist())}
        ends = {suffix: i for i, suffix in enumerate(self.suffixes_.tolist())}
        table = np.zeros((len(words), len(self.tags_)))
        for i, word in enumerate(words):
            if word in known:
                table[i] = self.emission_[known[word]]
            else:
                found = [ends[s] for s in suffixes(word, self.max_suffix) if s in ends]
                if found:
                    table[i] = self.suffix_emission_[found[-1]]
        return table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required, tags.target_tags.multi_output = True, True
        return tags
