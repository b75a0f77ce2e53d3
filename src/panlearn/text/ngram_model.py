"""Language models of n-grams: maximum likelihood, add-k, interpolated Kneser-Ney."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np

from panlearn.core.map_reduce import map_reduce
from panlearn.core.mergeable import Mergeable
from panlearn.core.parameters import Bounds, Fraction, NonNegative, Positive, RandomState
from panlearn.core.random import generator
from panlearn.core.sources import Rows
from panlearn.text._documents import Tokenizer, Tokens, WordTokenizer, read_documents
from panlearn.text._language_model import WordLanguageModel
from panlearn.text._ngrams import (
    END,
    FIRST,
    START,
    UNKNOWN,
    NGramCounts,
    NGramTables,
    distinct,
    windows,
)

Order = Annotated[int, Bounds(1, 64, closed_low=True, closed_high=True)]
_NAMES = {"<s>": START, "</s>": END}
"""What may be asked for by name; in a document they are words like others."""


@dataclass(eq=False, repr=False)
class NGramModel(Mergeable, WordLanguageModel):
    r"""The law of the next word given the n - 1 words before it.

    .. math::
        p_k(w \mid h) = \frac{\max(c_k(hw) - d_k, 0)}{c_k(h \cdot)} +
        \frac{d_k N_{1+}(h \cdot)}{c_k(h \cdot)} p_{k-1}(w \mid h'), \qquad p_0 = \frac1V

    for :math:`h'` the context h without its first word, and the count :math:`c_n` of an n-gram,
    but below the highest order the number of different words before a k-gram.

    Parameters
    ----------
    order : int, default=3
        The length n of an n-gram.
    smoothing : {"kneser_ney", "add_k", "mle"}, default="kneser_ney"
        The formula above; :math:`(c(hw) + k) / (c(h \cdot) + k V)`; or plain shares of counts.
    discount : float, default=None
        The :math:`d_k` of Kneser-Ney; if None, :math:`n_1 / (n_1 + 2 n_2)` for each order, with
        :math:`n_i` k-grams of count i.
    k : float, default=1.0
        What add-k adds to each count.
    min_count : int, default=1
        Words of fewer occurrences are learned as the unknown word.
    prune : int, default=0
        Of orders two and above, k-grams with a count up to this are dropped; what they had goes to
        the next lower order.
    tokenizer : WordTokenizer or callable, default=WordTokenizer(pattern=r"\w+")
        Cuts a text into words; ``WordTokenizer(pattern="(?s).")`` into characters.

    Attributes
    ----------
    words_ : ndarray of shape (n_words,)
        The words that are known, sorted. Besides them, the model predicts the end of a document,
        ``"</s>"``, and an unknown word, ``"<unk>"``. Where a document has such a name itself, as a
        corpus whose rare words were replaced, it is counted as the unknown word.
    discount_ : ndarray of shape (order,)
        The discounts of orders 1, 2, ..., if there are any.
    tables_ : NGramTables
        Sorted n-grams and their weights.
    statistic_ : NGramCounts
        The counts, from which `partial_fit` goes on.

    Notes
    -----
    A document is one sequence; n - 1 beginnings stand before it, and its end is predicted. Counts
    of n-grams are sums over documents, so that any source gives one model. They are held as sorted
    numbers, some twenty bytes each, and a corpus is scored at once by binary search, in
    :math:`O(n \log N)` a word. A context that was never seen leaves the law to the next lower
    order; maximum likelihood then says zero. Weights that Kneser-Ney takes from n-grams and gives
    to the lower order sum to one exactly, pruned or not.

    References
    ----------
    R. Kneser and H. Ney (1995). Improved backing-off for m-gram language modeling. ICASSP.
    doi:10.1109/ICASSP.1995.479394

    S. F. Chen and J. Goodman (1999). An empirical study of smoothing techniques for language
    modeling. Computer Speech & Language 13(4). doi:10.1006/csla.1999.0128

    Examples
    --------
    >>> from panlearn.text import NGramModel
    >>> texts = ["the cat sat on the mat", "the dog sat on the mat"]
    >>> model = NGramModel(2, smoothing="mle").fit(texts)
    >>> model.probability("mat", ["the"]), model.probability("on", ["sat"])
    (0.5, 1.0)
    >>> smooth = NGramModel(2).fit(texts)
    >>> smooth.perplexity(["the dog sat"]) < smooth.perplexity(["mat the on"])
    True
    """

    order: Order = 3
    _: KW_ONLY
    smoothing: Literal["kneser_ney", "add_k", "mle"] = "kneser_ney"
    discount: Fraction[float] | None = None
    k: Positive[float] = 1.0
    min_count: Positive[int] = 1
    prune: NonNegative[int] = 0
    tokenizer: Tokenizer = WordTokenizer(pattern=r"\w+")

    def _read_training(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Rows:
        return read_documents(self, X, None, sample_weight, tokenizer=self.tokenizer)

    def _summarise(self, rows: Rows) -> NGramCounts:
        seen: Any = getattr(self, "statistic_", None)
        if seen is not None and seen.grams.shape[1] != self.order:
            raise ValueError(
                f"this model has counted n-grams of order {seen.grams.shape[1]}, and order is now "
                f"{self.order}; call fit"
            )
        order = self.order
        return map_reduce(lambda X, y, weight: NGramCounts.of(X, weight, order=order), rows)

    def _solve(self, statistic: NGramCounts, rows: Rows) -> None:
        if not statistic.weight:
            raise ValueError("there is no document, so there is nothing to learn from")
        self._set_fitted(statistic)

    def _set_fitted(self, counted: NGramCounts) -> None:
        """Learn what follows from the counts."""
        kept = counted.restrict(self.min_count) if self.min_count > 1 else counted
        self.statistic_ = counted
        self.words_ = kept.words
        self._weigh(kept)

    def _weigh(self, counted: NGramCounts) -> None:
        """Turn counts into the tables of `NGramTables`."""
        size, smooth = FIRST + len(counted.words), self.smoothing == "kneser_ney"
        levels = [(counted.grams, counted.count)]
        for _ in range(self.order - 1):  # without the first word: how many of these there were
            grams = levels[-1][0]
            levels.append(distinct(grams[:, 1:], np.ones(len(grams))))
        tables = NGramTables(size, [], [], [], [])
        discounts = []
        for k, (grams, count) in enumerate(reversed(levels)):
            contexts, number = tables.number(grams[:, :-1])
            key = number * size + grams[:, -1]
            by = np.argsort(key)
            if not smooth and k < self.order - 1:
                by = by[:0]  # no lower order has a say
            key, number, count = key[by], number[by], count[by]
            kept = count > (min(self.prune, 2**62) if k else 0)
            if self.smoothing == "mle":
                key, number, count, kept = key[kept], number[kept], count[kept], kept[kept]
            discount = self._discount(count) if smooth else 0.0
            added = self.k * (size - 1) if self.smoothing == "add_k" else 0.0
            total = np.bincount(number, count, minlength=len(contexts)) + added
            own, taken = np.maximum(count - discount, 0), np.minimum(count, discount)
            # what n-grams leave is the share of the lower order
            left = np.bincount(number, np.where(kept, taken, count), minlength=len(contexts))
            rest = np.divide(left + added, total, out=np.zeros(len(contexts)), where=total > 0)
            key, own = key[kept], (own / total[number])[kept]
            tables.contexts.append(contexts)
            tables.grams.append(key)
            tables.own.append(own)
            tables.rest.append(rest)
            discounts.append(discount)
        self.tables_, self.discount_ = tables, np.array(discounts)

    def _discount(self, count: np.ndarray) -> float:
        if self.discount is not None:
            return float(self.discount)
        once, twice = (count == 1).sum(), (count == 2).sum()
        return float(once / (once + 2 * twice)) if once and twice else 0.75

    def probability(self, word: str, context: Any = ()) -> float:
        """Give the probability of a word after others.

        Parameters
        ----------
        word : str
            The word; ``"</s>"`` is the end of a document, ``"<unk>"`` an unknown word.
        context : sequence of str, default=()
            The words before, from the beginning of the document if they are fewer than order - 1.

        Returns
        -------
        float
        """
        law = self._law(context)
        return float(law[self._numbers([word], _NAMES)[0]])

    def distribution(self, context: Any = ()) -> dict[str, float]:
        """Give the law of the next word.

        Parameters
        ----------
        context : sequence of str, default=()
            The words before, as in `probability`.

        Returns
        -------
        dict of str to float
            Of ``"</s>"``, ``"<unk>"`` and every word; they sum to one, but by maximum likelihood
            after a context that never was, where all are zero.
        """
        law = self._law(context)
        return dict(zip(["</s>", "<unk>", *self.words_.tolist()], law[END:].tolist(), strict=True))

    def sample(
        self,
        n_samples: int = 1,
        random_state: RandomState = None,
        *,
        context: Any = (),
        max_length: int = 100,
    ) -> list[list[str]]:
        """Draw documents, word after word.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, Generator, RandomState or None, default=None
            Seeds the draws.
        context : sequence of str, default=()
            Words that each begins with; they are not given back.
        max_length : int, default=100
            The most words of each.

        Returns
        -------
        list of list of str
            An unknown word is never drawn.
        """
        rng, found = generator(random_state), []
        for _ in range(n_samples):
            words = list(context)
            while len(words) < len(context) + max_length:
                law = self._law(words)
                law[UNKNOWN] = 0.0
                if not law.sum():
                    raise ValueError(f"no word has a probability after {words[-self.order :]}")
                edges = np.cumsum(law)
                drawn = int(np.searchsorted(edges, rng.random() * edges[-1], side="right"))
                if drawn == END:
                    break
                words.append(self.words_[drawn - FIRST])
            found.append(words[len(context) :])
        return found

    def _log_scores(self, tokens: Tokens) -> np.ndarray:
        """Log p of each word and end, one document after the other."""
        number = self._numbers(tokens.words)
        grams = windows(number[tokens.ids], tokens.offsets, self.tables_.order)
        with np.errstate(divide="ignore"):
            return np.log(self.tables_.score(grams))

    def _law(self, context: Any) -> np.ndarray:
        """P of every number of a word."""
        self._require_fitted()
        return self.tables_.law(self._before(context))

    def _before(self, context: Any) -> np.ndarray:
        """Numbers of the last order - 1 words, after beginnings if there are fewer."""
        if isinstance(context, str):
            raise ValueError(f"context is a list of words; got the single str {context!r}")
        n = self.tables_.order - 1
        numbers = self._numbers(list(context)[max(0, len(context) - n) :], _NAMES)
        return np.concatenate([np.full(n - len(numbers), START), numbers])

    def _numbers(self, words: list[str], names: dict[str, int] | None = None) -> np.ndarray:
        """Numbers of words, by binary search among those that are known, and of other `names`."""
        names = names or {}
        known, found = self.words_, np.empty(len(words), dtype=np.int64)
        for i, word in enumerate(words):
            at = bisect_left(known, word)
            there = at < len(known) and known[at] == word
            found[i] = FIRST + at if there else names.get(word, UNKNOWN)
        return found
