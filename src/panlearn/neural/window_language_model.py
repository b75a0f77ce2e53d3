"""The neural language model of a window: the next word from the few words before it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import torch
from scipy.special import log_softmax
from torch import nn
from torch.nn import functional as F

from panlearn.core.capabilities import Capabilities
from panlearn.core.estimator import fitting
from panlearn.core.parameters import BelowOne, Count, Positive, RandomState
from panlearn.core.random import generator
from panlearn.neural._estimator import DeepEstimator
from panlearn.neural._step import Dropout
from panlearn.text._documents import Tokenizer, Tokens, WordTokenizer, collect, read_documents
from panlearn.text._language_model import WordLanguageModel

_BLOCK = 1 << 22  # numbers of a block of scores


class Window(nn.Module):
    """The words of a window as vectors, side by side, through one hidden layer."""

    def __init__(
        self, n_words: int, window: int, embedding_size: int, hidden_size: int, dropout: float
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_words + 3, embedding_size)
        self.hidden = nn.Linear(window * embedding_size, hidden_size)
        self.dropout = Dropout(dropout)
        self.head = nn.Linear(hidden_size, n_words + 2)
        nn.init.normal_(self.embedding.weight, std=0.3)
        nn.init.zeros_(self.head.weight)  # at first every word is as probable as any other
        nn.init.zeros_(self.head.bias)

    def forward(self, contexts: torch.Tensor) -> torch.Tensor:
        """The scores of words, end and unknown word, (n, n_words + 2), after windows (n, k)."""
        inputs = self.embedding(contexts).flatten(start_dim=1)
        return self.head(self.dropout(self.hidden(inputs).tanh()))


@dataclass(eq=False, repr=False)
class WindowLanguageModel(WordLanguageModel, DeepEstimator):
    r"""The law of the next word given the k words before it, by a network on their vectors.

    .. math::
        p(w_t = i \mid w_{t-k}, \ldots, w_{t-1}) =
        \operatorname{softmax}_i\bigl(b + U \tanh(d + H x)\bigr), \qquad
        x = [C_{w_{t-k}}; \ldots; C_{w_{t-1}}]

    Parameters
    ----------
    window_size : int, default=3
        The number k of words before.
    embedding_size : int, default=32
        Numbers in the vector of a word.
    hidden_size : int, default=64
        Units of the hidden layer.
    dropout : float, default=0.0
        The share of hidden units that are left out in training, below one.
    min_count : int, default=1
        Words of fewer occurrences are learned as the unknown word.
    tokenizer : WordTokenizer or callable, default=WordTokenizer(pattern=r"\w+")
        Cuts a text into words; ``WordTokenizer(pattern="(?s).")`` into characters.

    Attributes
    ----------
    words_ : ndarray of shape (n_words,)
        The words that are known, sorted. Besides them, the model predicts the end of a document,
        ``"</s>"``, and an unknown word, ``"<unk>"``.
    weights_ : dict of {str: ndarray}
        ``"embedding.weight"`` holds the vectors C of the words, in their order, then those of end,
        unknown word and beginning.
    history_ : dict
        The mean loss of a word in each epoch, and more.
    n_iter_ : int
        Epochs.
    converged_ : bool
        Whether all epochs were walked.

    Notes
    -----
    A document is one sequence; k beginnings stand before it, and its end is predicted. A step costs
    :math:`O(b h V)` for b windows, h units and V words, most of it in the softmax. Words that are
    used alike come to have vectors that are alike, so that a window that was never seen is judged
    by those that resemble it, which counts of n-grams cannot do. There are no direct connections
    from vectors to scores. Training computes in float32, probabilities in float64.

    References
    ----------
    Y. Bengio, R. Ducharme, P. Vincent and C. Jauvin (2003). A neural probabilistic language model.
    Journal of Machine Learning Research 3. https://jmlr.org/papers/v3/bengio03a.html

    Examples
    --------
    >>> from panlearn.neural import WindowLanguageModel
    >>> texts = ["the cat sat on the mat", "the dog sat on the rug"] * 4
    >>> model = WindowLanguageModel(2, max_epochs=60, random_state=0).fit(texts)
    >>> model.probability("on", ["cat", "sat"]) > 0.9
    True
    >>> model.perplexity(["the dog sat on the mat"]) < model.perplexity(["mat the on sat"])
    True
    """

    capabilities = Capabilities()

    window_size: Count = 3
    _: KW_ONLY
    embedding_size: Count = 32
    hidden_size: Count = 64
    dropout: BelowOne = 0.0
    min_count: Positive[int] = 1
    tokenizer: Tokenizer = WordTokenizer(pattern=r"\w+")
    batch_size: Count = 128
    learning_rate: Positive[float] = 5e-3

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from documents.

        Parameters
        ----------
        X : iterable of str or of list of str
            The documents.
        y : object, default=None
            Ignored.

        Returns
        -------
        WindowLanguageModel
            The model itself.
        """
        tokens = collect(read_documents(self, X, tokenizer=self.tokenizer)).X
        counts = np.bincount(tokens.ids, minlength=len(tokens.words))
        pairs = zip(tokens.words, counts, strict=True)
        self.words_ = np.array(sorted(w for w, n in pairs if n >= self.min_count), dtype=str)
        stream, places = self._stream(tokens)
        words, before = torch.from_numpy(stream), torch.arange(-int(self.window_size), 0)

        def objective(module: nn.Module, batch: Any) -> torch.Tensor:
            (index,) = batch
            at = index.cpu()
            contexts, wanted = words[at[:, None] + before], words[at]
            scores = module(contexts.to(index.device))
            return F.cross_entropy(scores, wanted.to(index.device), reduction="none")

        rng = generator(self.random_state)
        self._learn(self._initial(rng), objective, (places,), rng)
        return self

    def _build(self) -> nn.Module:
        sizes = int(self.embedding_size), int(self.hidden_size)
        return Window(len(self.words_), int(self.window_size), *sizes, self.dropout)

    def _numbers(self, words: Any) -> np.ndarray:
        """Numbers of words: their places, then end, unknown and beginning."""
        n = len(self.words_)
        index = {"</s>": n, "<s>": n + 2, **{w: i for i, w in enumerate(self.words_.tolist())}}
        return np.array([index.get(word, n + 1) for word in words], dtype=np.int64)

    def _stream(self, tokens: Tokens) -> tuple[np.ndarray, np.ndarray]:
        """All documents with beginnings before and ends behind, and the places to predict."""
        n, k = len(self.words_), int(self.window_size)
        shift = (k + 1) * np.arange(len(tokens)) + k
        starts = tokens.offsets[:-1] + shift
        stream = np.full(len(tokens.ids) + (k + 1) * len(tokens), n + 2)
        where = np.arange(len(tokens.ids)) + np.repeat(shift, tokens.lengths)
        stream[where] = self._numbers(tokens.words)[tokens.ids]
        ends = starts + tokens.lengths
        stream[ends] = n
        return stream, np.sort(np.concatenate([where, ends]))

    def _laws(self, contexts: np.ndarray) -> np.ndarray:
        """Log probabilities of all words, ends and the unknown word after windows, in float64."""
        weights = {name: value.astype(float) for name, value in self.weights_.items()}
        inputs = weights["embedding.weight"][contexts].reshape(len(contexts), -1)
        hidden = np.tanh(inputs @ weights["hidden.weight"].T + weights["hidden.bias"])
        return log_softmax(hidden @ weights["head.weight"].T + weights["head.bias"], axis=1)

    def _log_scores(self, tokens: Tokens) -> np.ndarray:
        """Log p of each word and end, one document after the other."""
        stream, places = self._stream(tokens)
        before = np.arange(-int(self.window_size), 0)
        size = max(1, _BLOCK // (len(self.words_) + 2))
        parts = [np.zeros(0)]
        for low in range(0, len(places), size):
            at = places[low : low + size]
            parts.append(self._laws(stream[at[:, None] + before])[np.arange(len(at)), stream[at]])
        return np.concatenate(parts)

    def probability(self, word: str, context: Any = ()) -> float:
        """Give the probability of a word after others.

        Parameters
        ----------
        word : str
            The word; ``"</s>"`` is the end of a document, ``"<unk>"`` an unknown word.
        context : sequence of str, default=()
            The words before, from the beginning of the document if they are fewer than k.

        Returns
        -------
        float
        """
        self._require_fitted()
        laws = self._laws(self._context(context)[None])
        return float(np.exp(laws[0, self._numbers([word])[0]]))

    def _context(self, words: Any) -> np.ndarray:
        if isinstance(words, str):
            raise ValueError(f"context is a list of words; got the single str {words!r}")
        k = int(self.window_size)
        return self._numbers((["<s>"] * k + list(words))[-k:])

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
        self._require_fitted()
        rng, end = generator(random_state), len(self.words_)
        window = np.tile(self._context(context), (n_samples, 1))
        found: list[list[str]] = [[] for _ in range(n_samples)]
        going = np.arange(n_samples)
        for _ in range(max_length):
            if not len(going):
                break
            laws = np.exp(self._laws(window[going])[:, : end + 1])
            edges = laws.cumsum(axis=1)
            drawn = (edges < rng.random((len(going), 1)) * edges[:, -1:]).sum(axis=1)
            for i, code in zip(going, drawn, strict=True):
                if code < end:
                    found[i].append(str(self.words_[code]))
            window[going] = np.c_[window[going][:, 1:], drawn]
            going = going[drawn < end]
        return found
