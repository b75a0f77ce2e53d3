"""Correction of misspelt words by a noisy channel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.derived import derived
from panlearn.core.estimator import fitting
from panlearn.core.parameters import Bounds, NonNegative, Positive
from panlearn.text._base import TextModel
from panlearn.text._delete_index import DeleteIndex
from panlearn.text._documents import Tokenizer, WordTokenizer
from panlearn.text._ngrams import END, FIRST, NGramCounts
from panlearn.text._words import as_objects
from panlearn.text.ngram_model import NGramModel

Edits = Annotated[int, Bounds(1, 3, closed_low=True, closed_high=True)]
Order = Annotated[int, Bounds(1, 64, closed_low=True, closed_high=True)]
_SOUNDS = {
    letter: str(digit)
    for digit, letters in enumerate(["bfpv", "cgjkqsxz", "dt", "l", "mn", "r"], start=1)
    for letter in letters
}


class Suggestion(NamedTuple):
    """A word that may have been meant, its distance, and the score it is ranked by."""

    word: str
    distance: int
    score: float


def soundex(word: str) -> str:
    """Give the phonetic key of an English word: its first letter and the digits of three sounds."""
    letters = [c for c in word.lower() if "a" <= c <= "z"]
    if not letters:
        return ""
    key, last = letters[0].upper(), _SOUNDS.get(letters[0])
    for letter in letters[1:]:
        sound = _SOUNDS.get(letter)
        if sound and sound != last:
            key += sound
        if letter not in "hw":  # between equal sounds these two do not count
            last = sound
    return key[:4].ljust(4, "0")


@dataclass(eq=False, repr=False)
class SpellCorrector(TextModel):
    r"""The word that was meant: likely where it stands, and near to what was written.

    .. math::
        \hat w = \arg\max_{w : d(x, w) \le d_{max}} \; \log p(w \mid h) - \lambda \, d(x, w) +
        \mu \, [\mathrm{key}(x) = \mathrm{key}(w)]

    for the written word x after the words h, the distance d (insertions, deletions, replacements,
    swaps of neighbours), and a phonetic key.

    Parameters
    ----------
    max_distance : int, default=2
        The most edits, 1 to 3.
    order : int, default=2
        That of the language model, a Kneser-Ney `NGramModel`; with 1 the context does not matter.
    distance_cost : float, default=6.0
        What an edit costs, :math:`\lambda`, in nats.
    phonetic_bonus : float, default=2.0
        What a word gains that sounds alike, :math:`\mu`.
    min_count : int, default=1
        Words that occur less often in training may be misspelt, and are not learned.
    tokenizer : WordTokenizer or callable, default=WordTokenizer(pattern=r"\w+")
        Cuts a text into words.

    Attributes
    ----------
    words_ : ndarray of shape (n_words,)
        The lexicon, sorted.
    language_model_ : NGramModel
        The law :math:`p(w \mid h)`.

    Notes
    -----
    Words near x are found in an index of all rests of the first seven letters of each word after up
    to max_distance deletions, which misses none; with 100,000 words it has three million entries
    and answers in a fraction of a millisecond. It is built when it is first asked. A word of the
    lexicon is never corrected, nor is one without a near word. Learning costs one pass over the
    words, and a word :math:`O(7^e)` look-ups for up to e edits, whatever the number of words.

    References
    ----------
    M. D. Kernighan, K. W. Church and W. A. Gale (1990). A spelling correction program based on a
    noisy channel model. COLING. doi:10.3115/997939.997975

    T. Bocek, E. Hunt and B. Stiller (2007). Fast similarity search in large dictionaries. Technical
    report ifi-2007.02, University of Zurich.

    Examples
    --------
    >>> from panlearn.text import SpellCorrector
    >>> model = SpellCorrector().fit(["the cat sat on the mat", "the dog sat on the cat"])
    >>> model.correct("teh dgo sta on the mat")
    'the dog sat on the mat'
    >>> [s.word for s in model.suggest("cet", n=2)]
    ['cat', 'sat']
    """

    capabilities = Capabilities(sources=ANYWHERE, any_order=True, partial_fit="exact")

    max_distance: Edits = 2
    _: KW_ONLY
    order: Order = 2
    distance_cost: Positive[float] = 6.0
    phonetic_bonus: NonNegative[float] = 2.0
    min_count: Positive[int] = 1
    tokenizer: Tokenizer = WordTokenizer(pattern=r"\w+")

    @classmethod
    def from_counts(cls, counts: Mapping[str, float], **parameters: Any) -> Self:
        """Make a corrector of a list of words and their frequencies.

        Parameters
        ----------
        counts : mapping of str to float
            How often each word occurs.
        **parameters
            Those of the class; the order is 1.

        Returns
        -------
        SpellCorrector
            As if it were fitted.
        """
        model = cls(**{"order": 1, **parameters})
        kept = {w: float(c) for w, c in counts.items() if c >= model.min_count}
        if not kept or model.order != 1 or not np.isfinite(list(kept.values())).all():
            raise ValueError("counts must hold words with finite frequencies, and order be 1")
        words = sorted(kept)
        numbers = np.arange(FIRST - 1, FIRST + len(words), dtype=np.int32)
        numbers[0] = END
        count = np.array([1.0, *(kept[word] for word in words)])
        language = NGramModel(1, tokenizer=model.tokenizer)
        language._set_fitted(NGramCounts(as_objects(words), numbers[:, None], count, 1.0))
        model.language_model_, model.words_ = language, language.words_
        return model

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the lexicon and the language model from documents.

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
        SpellCorrector
            The model itself.
        """
        return self._learn(NGramModel.fit, X, sample_weight)

    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from further documents, which may bring further words.

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
        SpellCorrector
            The model itself.
        """
        return self._learn(NGramModel.partial_fit, X, sample_weight)

    def _learn(self, learn: Any, X: Any, sample_weight: Any) -> Self:
        settings = {name: getattr(self, name) for name in ("order", "min_count", "tokenizer")}
        language = NGramModel(**settings)
        if (before := getattr(self, "language_model_", None)) is not None:
            language.statistic_ = before.statistic_
        learn(language, X, sample_weight=sample_weight)
        if not len(language.words_):
            raise ValueError("no document has a word (of min_count), so nothing is learned")
        self.language_model_, self.words_ = language, language.words_
        return self

    def suggest(self, word: str, context: Any = (), *, n: int = 5) -> list[Suggestion]:
        """Give the words that may have been meant, best first.

        Parameters
        ----------
        word : str
            What was written.
        context : sequence of str, default=()
            The words before.
        n : int, default=5
            How many, at most.

        Returns
        -------
        list of Suggestion
            Of equal scores the first in the alphabet.
        """
        self._require_fitted()
        if not isinstance(word, str):
            raise ValueError(f"word must be a str; got {word!r:.60}")
        numbers, distances = self._near(word)
        if not len(numbers):
            return []
        score = self._log_law(context, numbers) - self.distance_cost * distances
        if self.phonetic_bonus:
            key = soundex(word)
            alike = [bool(key) and soundex(self.words_[i]) == key for i in numbers]
            score += self.phonetic_bonus * np.array(alike)
        best = np.lexsort((numbers, -score))[:n]
        return [
            Suggestion(self.words_[numbers[i]], int(distances[i]), float(score[i])) for i in best
        ]

    def predict(self, X: Any) -> list[list[str]]:
        """Give the words of documents, with those that are not in the lexicon corrected.

        Parameters
        ----------
        X : iterable of str or of list of str
            The documents.

        Returns
        -------
        list of list of str
        """
        return [self._corrected(words) for words in self._read(X).documents()]

    def correct(self, text: str) -> str:
        """Give a text with its words corrected, and everything between them as it was.

        Parameters
        ----------
        text : str
            The text. A word that is changed takes over a capital at its beginning.

        Returns
        -------
        str
        """
        self._require_fitted()
        if not isinstance(text, str):
            raise ValueError(f"text must be a str; got {text!r:.60}; use predict for several")
        written = self.tokenizer(text)
        parts, at, lower = [], 0, text.lower()
        searched = lower if len(lower) == len(text) else text
        for old, new in zip(written, self._corrected(written), strict=True):
            place = searched.find(old, at)
            if place < 0:  # a tokenizer that changes words more than by case: leave it
                continue
            kept = text[place : place + len(old)]
            if old != new:
                kept = new.capitalize() if kept[:1].isupper() else new
            parts += [text[at:place], kept]
            at = place + len(old)
        return "".join([*parts, text[at:]])

    def _corrected(self, words: list[str]) -> list[str]:
        """Word after word, each in the context of the corrected ones before."""
        found: list[str] = []
        for word in words:
            at = np.searchsorted(self.words_, word)
            known = at < len(self.words_) and self.words_[at] == word
            best = [] if known else self.suggest(word, found, n=1)
            found.append(best[0].word if best else word)
        return found

    def _log_law(self, context: Any, numbers: np.ndarray) -> np.ndarray:
        """Log p of some words of the lexicon after the words of a context."""
        before = self.language_model_._before(context)
        if not len(before):
            return self._log_shares[numbers]
        grams = np.empty((len(numbers), len(before) + 1), dtype=np.int64)
        grams[:, :-1], grams[:, -1] = before, FIRST + numbers
        return np.log(self.language_model_.tables_.score(grams))

    @derived("language_model_")
    def _log_shares(self) -> np.ndarray:
        """Log p of the words where the context does not matter."""
        return np.log(self.language_model_._law(())[FIRST:])

    @derived("words_", "max_distance")
    def _index(self) -> DeleteIndex:
        return DeleteIndex.of(self.words_.tolist(), self.max_distance)

    def _near(self, word: str) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the near words, by an index that is made once for a lexicon."""
        return self._index.near(word, self.max_distance)
