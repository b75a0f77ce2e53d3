"""Texts as UTF-8, and counts of the pieces that a pattern cuts them into, which merge."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from panlearn.core.jit import jit
from panlearn.core.statistics import Statistic
from panlearn.text._pretokenize import WHOLE, character_classes, next_piece
from panlearn.text._word_table import (
    LENGTH,
    START,
    VALUE,
    WordTable,
    copy,
    empty_table,
    find,
    insert,
)


@dataclass(frozen=True)
class Texts:
    """Strings one after the other: string s is ``text[offsets[s] : offsets[s + 1]]`` in UTF-8.

    Attributes
    ----------
    text : ndarray of uint8
    offsets : ndarray of shape (n_strings + 1,)
    documents : ndarray of shape (n_documents + 1,)
        Document d has the strings from ``documents[d]`` on: one, or one a token.
    """

    text: np.ndarray
    offsets: np.ndarray
    documents: np.ndarray

    def __post_init__(self) -> None:
        # bytes cannot be written, and kernels are compiled once if no other text can
        text = self.text.view()
        text.flags.writeable = False
        object.__setattr__(self, "text", text)

    @classmethod
    def of(cls, items: Iterable[Any]) -> Self:
        """Encode documents, which are strings or lists of them."""
        encoded: list[bytes] = []
        documents = [0]
        for item in items:
            for text in [item] if isinstance(item, str) else item:
                if not isinstance(text, str):
                    raise ValueError(f"a document holds the token {text!r:.60}, which is no str")
                encoded.append(to_utf8(text))
            documents.append(len(encoded))
        offsets = np.fromiter(itertools.accumulate(map(len, encoded), initial=0), np.int64)
        text = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        return cls(text, offsets, np.array(documents))

    def __len__(self) -> int:
        return len(self.documents) - 1

    @property
    def nbytes(self) -> int:
        """The size of the text."""
        return self.text.nbytes


def to_utf8(text: str) -> bytes:
    """Encode any string; a surrogate that stands alone has three bytes, as others of its size."""
    return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class PieceCounts(Statistic):
    r"""How often each distinct piece occurs in texts: :math:`c_p = \sum_d \omega_d n_{dp}`.

    Attributes
    ----------
    letters : ndarray of uint8
        The pieces, in the order of their first appearance, as bytes one after the other.
    offsets : ndarray of shape (n_pieces + 1,)
    count : ndarray of shape (n_pieces,)
    weight : float
        The weight of the documents, their number.

    Examples
    --------
    >>> from panlearn.text._piece_counts import PieceCounts, Texts
    >>> seen = PieceCounts.of(Texts.of(["no, no"])) + PieceCounts.of(Texts.of(["oh no"]))
    >>> seen.pieces(), seen.count.tolist()
    ([b'no', b',', b' no', b'oh'], [1.0, 1.0, 2.0, 1.0])
    """

    letters: np.ndarray
    offsets: np.ndarray
    count: np.ndarray
    weight: float

    @classmethod
    def of(cls, texts: Texts, weight: np.ndarray | None = None, *, pattern: int = 0) -> Self:
        """Count the pieces of some texts."""
        w = np.ones(len(texts)) if weight is None else np.asarray(weight, dtype=float)
        each = np.repeat(w, np.diff(texts.documents))
        table, count = count_pieces(
            *(empty_table(), np.empty(1024), texts.text, texts.offsets, each),
            *(pattern, _classes(pattern)),
        )
        return cls(*_flat(table), count[: table.sizes[0]], float(w.sum()))

    @classmethod
    def zero(cls) -> Self:
        """Count nothing."""
        return cls(np.zeros(0, np.uint8), np.zeros(1, np.int64), np.zeros(0), 0.0)

    def pieces(self) -> list[bytes]:
        """Give the pieces."""
        letters = self.letters.tobytes()
        return [letters[a:b] for a, b in itertools.pairwise(self.offsets.tolist())]

    def __add__(self, other: Any) -> Self:
        if isinstance(other, int) and other == 0:
            return self
        if not isinstance(other, PieceCounts):
            return NotImplemented
        table, count = empty_table(), np.empty(1024)
        for part in (self, other):
            table, count = count_pieces(
                table, count, part.letters, part.offsets, part.count, WHOLE, _classes(WHOLE)
            )
        weight = self.weight + other.weight
        return type(self)(*_flat(table), count[: table.sizes[0]], weight)

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.letters, self.offsets, factor * self.count, factor * self.weight)

    @property
    def is_finite(self) -> bool:
        """Whether the weights were finite."""
        return bool(np.isfinite(self.weight) and np.isfinite(self.count).all())


def _classes(pattern: int) -> np.ndarray:
    return np.zeros(0, np.uint8) if pattern == WHOLE else character_classes()


def _flat(table: WordTable) -> tuple[np.ndarray, np.ndarray]:
    n_words, n_letters = table.sizes
    entries = table.entries[table.entries[:, LENGTH] > 0]
    offsets = np.full(n_words + 1, n_letters)
    offsets[entries[:, VALUE]] = entries[:, START]
    return table.letters[:n_letters].copy(), offsets


@jit(plain=lambda table, count, text, *rest: 5 * len(text))
def count_pieces(
    table: WordTable,
    count: np.ndarray,
    text: np.ndarray,
    offsets: np.ndarray,
    weight: np.ndarray,
    pattern: int,
    classes: np.ndarray,
) -> tuple[WordTable, np.ndarray]:
    """Add the weight of each string to the counts of its pieces; the table numbers the pieces."""
    for document in range(len(offsets) - 1):
        at, stop = offsets[document], offsets[document + 1]
        while at < stop:
            end = next_piece(text, at, stop, pattern, classes)
            slot, code = find(table, text, at, end)
            if table.entries[slot, LENGTH]:
                count[table.entries[slot, VALUE]] += weight[document]
            else:
                number = table.sizes[0]
                if number == len(count):
                    room = np.empty(2 * number)
                    copy(count, 0, number, room, 0)
                    count = room
                count[number] = weight[document]
                table = insert(table, slot, code, text, at, end, number)
            at = end
    return table, count
