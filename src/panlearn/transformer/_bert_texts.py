"""Texts and pairs of texts as rows of tokens with marks, in batches of like length."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from panlearn.core.sources import Batches, is_dask
from panlearn.text import WordPieceTokenizer
from panlearn.text._documents import as_list

MARKS = ("[PAD]", "[CLS]", "[SEP]", "[MASK]")
_TOKENS = 4096  # of a batch, padding included, when nothing is learned
_WASTE = 1.1  # the longest text of such a batch over the shortest


@dataclass(frozen=True)
class Rows:
    """Texts one after the other: text i is ``ids[offsets[i] : offsets[i + 1]]``, marks included.

    ``second`` says where the second segment of each begins, at its end if there is none.
    """

    ids: np.ndarray
    offsets: np.ndarray
    second: np.ndarray

    @classmethod
    def of(cls, texts: Sequence[tuple[list[int], int]]) -> Rows:
        """Put ids, and where their second segments begin, together."""
        lengths = [len(ids) for ids, _ in texts]
        flat = np.fromiter(
            itertools.chain.from_iterable(ids for ids, _ in texts), np.int64, sum(lengths)
        )
        offsets = np.cumsum([0, *lengths], dtype=np.int64)
        return cls(flat, offsets, np.array([at for _, at in texts], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.second)

    def lengths(self, index: Any) -> np.ndarray:
        """Tokens of some texts."""
        index = np.asarray(index)
        return self.offsets[index + 1] - self.offsets[index]

    def batch(
        self, index: Any, device: Any = "cpu", step: Any = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Ids and segments of some texts, padded to one length, and the lengths if they differ.

        In a step of a run, whose batches are numbers of texts, they are as long as the longest of
        the batch, of which these may be a part.
        """
        index, lengths = np.asarray(index), self.lengths(index)
        width = 0 if step is None else step.longest(lambda batch: self.lengths(batch[0].cpu()))
        place = np.arange(max(width, lengths.max()))
        there = place < lengths[:, None]
        ids = np.zeros(there.shape, dtype=np.int64)
        ids[there] = self.ids[(self.offsets[index, None] + place)[there]]
        segments = ((place >= self.second[index, None]) & there).astype(np.int64)
        made = (torch.from_numpy(a).to(device) for a in (ids, segments, lengths))
        first, second, last = made
        return first, second, None if there.all() else last


def read_pairs(X: Any) -> list[Any]:
    """Documents: str, list of tokens, or tuple of two str, which is a pair of texts."""
    if isinstance(X, Batches) or is_dask(X):
        raise ValueError(f"X is a {type(X).__name__}; documents are to come in a list here")
    if getattr(X, "ndim", 1) == 2 and X.shape[1] == 2:
        X = [tuple(row) for row in (X.values if hasattr(X, "columns") else X).tolist()]
    documents = as_list(X)
    for i, document in enumerate(documents):
        if not isinstance(document, str):
            for token in document:
                if not isinstance(token, str):
                    raise ValueError(f"document {i} holds the token {token!r:.60}; tokens are str")
    return documents


def is_pair(document: Any) -> bool:
    """Whether a document is two texts."""
    return isinstance(document, tuple) and len(document) == 2


def frame(
    tokenizer: WordPieceTokenizer,
    documents: list[Any],
    context: int,
    special: Any = "text",
    marks: tuple[str, str] = ("[CLS]", "[SEP]"),
) -> Rows:
    """Tokens of documents between marks, cut to the context: of a pair, the longer text first."""
    first, end = (tokenizer.special_tokens_[mark] for mark in marks)
    pairs = np.array([is_pair(document) for document in documents], dtype=bool)
    texts = [text for d in documents for text in (d if is_pair(d) else (d,))]
    encoded = iter(tokenizer.encode_batch(texts, special=special))
    made = []
    for pair in pairs.tolist():
        ids = next(encoded)
        if not pair:
            made.append(([first, *ids[: context - 2], end], min(len(ids) + 2, context)))
            continue
        ids, other = _fitted(ids, next(encoded), context - 3)
        made.append(([first, *ids, end, *other, end], len(ids) + 2))
    return Rows.of(made)


def _fitted(one: list[int], two: list[int], room: int) -> tuple[list[int], list[int]]:
    """Two texts, of which the longer loses tokens from its end until there is room for both."""
    most = max(room - len(two), room - room // 2) if len(one) >= len(two) else None
    if most is not None:
        one = one[:most]
        return one, two[: room - len(one)]
    two, one = _fitted(two, one, room)
    return one, two


def by_length(rows: Rows, compute: Callable[..., Tensor], device: Any) -> Iterator[tuple[Any, Any]]:
    """Numbers of texts and what `compute` gives for them, texts of like length together."""
    lengths = np.diff(rows.offsets)
    order = np.argsort(-lengths, kind="stable")
    low = 0
    while low < len(order):
        longest = int(lengths[order[low]])
        most = min(len(order), low + max(1, _TOKENS // longest))
        near = np.searchsorted(-lengths[order[low:most]], -longest / _WASTE, side="right")
        index = order[low : low + max(1, int(near))]
        with torch.inference_mode():
            yield index, compute(*rows.batch(index, device))
        low += len(index)
