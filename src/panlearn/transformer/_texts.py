"""Between texts and tokens: a corpus as one stream of ids, and answers that grow by tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from panlearn.core.extras import require
from panlearn.core.sources import Batches, DaskRows, is_dask
from panlearn.text import BPETokenizer
from panlearn.text._documents import as_list, read_texts

END = "<|endoftext|>"


def encode_corpus(
    estimator: Any, X: Any, fit_tokenizer: Callable[[Any], BPETokenizer]
) -> tuple[BPETokenizer, np.ndarray]:
    """A tokenizer for documents, and all their ids, each document after a token of its own."""
    if not isinstance(X, Batches) and not is_dask(X):
        X = as_list(X)
    rows = read_texts(estimator, X, convert=list, repeatable=True)
    tokenizer = fit_tokenizer(X)
    end = next(iter(tokenizer.special_tokens_.values()))
    blocks = require("dask").compute(*rows.parts) if isinstance(rows, DaskRows) else rows
    parts = [np.array([end], dtype=np.int32)]
    for block in blocks:
        for ids in tokenizer.transform(block.X):
            parts += [np.asarray(ids, dtype=np.int32), parts[0]]
    tokens = np.concatenate(parts)
    if len(tokens) == len(parts) // 2 + 1:
        raise ValueError("the documents are empty, so there is nothing to learn from")
    return tokenizer, tokens


def row_generators(
    prompts: Sequence[np.ndarray], rng: np.random.Generator
) -> list[np.random.Generator]:
    """One generator a prompt: of the seed, the prompt, and how often it came before."""
    seed = int(rng.integers(2**63))
    seen: Counter[bytes] = Counter()
    made = []
    for prompt in prompts:
        key = prompt.tobytes()
        made.append(np.random.default_rng([seed, seen[key], *prompt.tolist()]))
        seen[key] += 1
    return made


@dataclass(frozen=True)
class Completion:
    r"""What a model added to a prompt, and how probable each token of it was.

    .. math:: \log p_\theta(x_t \mid x_1, \dots, x_{t-1})

    Parameters
    ----------
    text : str or None
        The text, up to a stop string; None if the model has no tokenizer.
    tokens : ndarray of shape (n_tokens,)
        All that was added, the token that ended it included.
    log_probs : ndarray of shape (n_tokens,)
        Logarithms of the probabilities that the model itself gives them, at temperature one and
        without cuts.
    ended : bool
        Whether it came to its end, and did not run out of tokens.

    References
    ----------
    Holtzman, A. et al. (2020). The curious case of neural text degeneration. ICLR.
    https://arxiv.org/abs/1904.09751

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.transformer import Completion
    >>> found = Completion("ab", np.array([97, 98]), np.log([0.5, 0.5]), ended=False)
    >>> float(np.exp(found.log_probs.sum()))
    0.25
    """

    text: str | None
    tokens: np.ndarray
    log_probs: np.ndarray
    ended: bool


class Answer:
    """What is added to one prompt, until an end token or a stop string."""

    def __init__(
        self,
        prompt: np.ndarray,
        decode: Callable[[list[int]], str] | None,
        stops: list[str],
        *,
        text: bool,
    ) -> None:
        self.prompt, self._decode, self._stops, self._is_text = prompt, decode, stops, text
        self._tokens: list[int] = []
        self._closing: list[int] = []  # the token that ended it
        self._log_probs: list[float] = []
        self._given, self.ended = 0, False
        self._cut: int | None = None
        # a stop string ends in the newest token: only so much of the text has to be looked at
        self._tail = max(map(len, stops), default=0) + 8

    def add(self, token: int, ends: tuple[int, ...], log_prob: float = np.nan) -> None:
        """Take the next token, and end if it says so."""
        self._log_probs.append(log_prob)
        if token in ends:
            self._closing = [token]
            self.ended = True
            return
        self._tokens.append(token)
        if self._stops and self._decode is not None:
            # a stop string has at most as many tokens as bytes, and a character four of these
            recent = self._decode(self._tokens[-4 * self._tail :])
            if any(stop in recent for stop in self._stops):
                text = self._decode(self._tokens)
                self._cut = min(place for s in self._stops if (place := text.find(s)) >= 0)
                self.ended = True

    @property
    def value(self) -> Any:
        """The text, or the ids if the prompt was ids; a text ends before its stop string."""
        return self._text if self._is_text else list(self._tokens)

    @property
    def _text(self) -> str:
        assert self._decode is not None
        return self._decode(self._tokens)[: self._cut]

    def completion(self) -> Completion:
        """All that is known of it."""
        text = None if self._decode is None else self._text
        tokens = np.array([*self._tokens, *self._closing], dtype=np.int64)
        return Completion(text, tokens, np.array(self._log_probs), self.ended)

    def fresh(self, *, final: bool = False) -> str:
        """What of the text is certain and was not given yet."""
        text = self._text
        if not (final or self.ended):
            while text.endswith("\ufffd"):  # a character whose last bytes are to come
                text = text[:-1]
            held = max(
                (n for s in self._stops for n in range(1, len(s)) if text.endswith(s[:n])),
                default=0,
            )
            text = text[: len(text) - held]
        piece, self._given = text[self._given :], max(self._given, len(text))
        return piece
