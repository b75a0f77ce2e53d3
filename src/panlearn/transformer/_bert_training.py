r"""The two tasks that BERT learns from texts without labels: masked words, and what follows.

.. math::
    \ell = -\frac{1}{|M|} \sum_{i \in M} \log p(x_i \mid \tilde x)
           - \log p(\text{follows or not} \mid \tilde x)

M is fifteen in a hundred of the tokens of a text, drawn anew in each step. In :math:`\tilde x`, of
ten of them eight are the mask, one is any token and one is as it was.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from panlearn.neural._recurrence import Ragged, within
from panlearn.neural._step import Step

MASKED, HIDDEN, CHANGED = 0.15, 0.8, 0.1


def mask_words(
    ids: Tensor, ordinary: Tensor, mask_token: int, n_tokens: int, step: Step, width: int
) -> tuple[Tensor, Tensor]:
    """Hide fifteen in a hundred of the ordinary tokens of each row, one at least.

    Noise is drawn for `width` columns whatever the rows need, so that it does not depend on them.
    """
    n = ids.shape[1]
    noise = step.uniform(width)[:, :n].masked_fill(~ordinary, 2.0)
    wanted = (ordinary.sum(1) * MASKED).round().clamp(min=1).long()
    ranks = noise.argsort(1).argsort(1)
    chosen = (ranks < wanted[:, None]) & ordinary
    fate, other = step.uniform(width)[:, :n], step.integers(n_tokens, width)[:, :n]
    seen = torch.where(chosen & (fate < HIDDEN), mask_token, ids)
    seen = torch.where(chosen & (fate >= 1 - CHANGED), other, seen)
    return seen, chosen


class Pretraining:
    """The objective: pieces of documents by their numbers in, a loss for each out.

    Pieces lie one after the other; with `follow`, piece i is shown with piece i + 1 or, half of
    the time, with one of another document. ``documents`` says which document a piece is of.
    """

    def __init__(
        self,
        pieces: list[list[int]],
        documents: np.ndarray,
        special: dict[str, int],
        n_tokens: int,
        *,
        follow: bool,
    ) -> None:
        values = np.fromiter((t for piece in pieces for t in piece), np.int64)
        self._pieces = Ragged(values, np.cumsum([0, *map(len, pieces)], dtype=np.int64))
        self._special, self._n_tokens, self._follow = special, n_tokens, follow
        self._longest = max(map(len, pieces))
        low = np.searchsorted(documents, documents, side="left")
        high = np.searchsorted(documents, documents, side="right")
        self._bounds = torch.from_numpy(np.stack([low, high]))

    def __call__(self, module: Any, batch: Any, step: Step) -> Tensor:
        (index,) = batch
        second, apart = None, None
        if self._follow:
            low, high = self._bounds[:, index.cpu()].to(index.device)
            n_others = self._bounds.shape[1] - (high - low)
            other = (step.uniform() * n_others).long().clamp(max=n_others - 1)
            other = torch.where(other < low, other, other + high - low)
            apart = step.uniform() < 0.5
            second = torch.where(apart, other, index + 1)
        ids, segments, lengths, ordinary = self._framed(index, second, step)
        width = 2 * self._longest + 3
        mask_token = self._special["[MASK]"]
        seen, chosen = mask_words(ids, ordinary, mask_token, self._n_tokens, step, width)
        states = module(seen, segments, lengths)
        losses = F.cross_entropy(module.words(states[chosen]), ids[chosen], reduction="none")
        rows = torch.nonzero(chosen)[:, 0]
        loss = torch.zeros(len(ids), device=losses.device, dtype=losses.dtype)
        loss = loss.index_add(0, rows, losses) / chosen.sum(1)
        step.note(word_loss=losses)
        if apart is not None:
            scores = module.order(states)
            step.note(order_accuracy=(scores.argmax(1) == apart.long()).float())
            loss = loss + F.cross_entropy(scores, apart.long(), reduction="none")
        return loss

    def _framed(
        self, index: Tensor, second: Tensor | None, step: Step
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Ids with their marks, segments, lengths, and which tokens are no marks.

        They are as long as any with these first pieces may be: the other pieces of the batch draw
        others, and noise goes by the length.
        """
        parts = [self._pieces(index, step)]
        n = 2 + parts[0][0].shape[1]
        if second is not None:
            parts.append(self._pieces(second))
            n += 1 + self._longest
        total = 1 + torch.stack([lengths + 1 for _, lengths in parts]).sum(0)
        ids = torch.full((len(index), n), self._special["[PAD]"], device=index.device)
        segments, ordinary = torch.zeros_like(ids), torch.zeros_like(ids, dtype=torch.bool)
        ids[:, 0] = self._special["[CLS]"]
        rows, start = torch.arange(len(index), device=index.device), torch.ones_like(index)
        for number, (tokens, lengths) in enumerate(parts):
            there = within(lengths, tokens.shape[1])
            places = start[:, None] + torch.arange(tokens.shape[1], device=index.device)
            row = rows[:, None].expand_as(places)[there]
            ids[row, places[there]] = tokens[there]
            segments[row, places[there]] = number
            ordinary[row, places[there]] = True
            ids[rows, start + lengths] = self._special["[SEP]"]
            segments[rows, start + lengths] = number
            start = start + lengths + 1
        return ids, segments, total, ordinary


def cut(documents: list[list[int]], context: int, *, follow: bool) -> tuple[list, np.ndarray, Any]:
    """Pieces of documents, the document of each, and the numbers of those to learn from.

    Without `follow` a piece fills the context; with it, two do, and a document has two at least.
    """
    room = (context - 3) // 2 if follow else context - 2
    pieces: list[list[int]] = []
    owners: list[int] = []
    for number, ids in enumerate(documents):
        n = -(-len(ids) // room)
        if follow and len(ids) > 1:
            n = max(n, 2)
        made = [part.tolist() for part in np.array_split(np.array(ids), n)] if n else []
        pieces += made
        owners += [number] * len(made)
    documents_of = np.array(owners, dtype=np.int64)
    if not follow:
        return pieces, documents_of, np.arange(len(pieces))
    starts = np.flatnonzero(documents_of[1:] == documents_of[:-1])
    return pieces, documents_of, starts
