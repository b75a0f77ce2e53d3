"""Tokens after prompts from a memory of fixed size: what a token costs does not grow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from panlearn.statespace._mamba import MambaDecoder, Memory
from panlearn.statespace._mamba_plain import PlainMamba
from panlearn.transformer._generation import Choice

_PIECE = 512  # tokens of a prompt that are read at a time


class MambaGeneration:
    """Tokens after several prompts: the constructor reads them, `step` gives one more a row.

    Parameters
    ----------
    decoder : MambaDecoder
    prompts : sequence of ndarray
        Token ids, one at least each.
    choice : Choice
    generators : sequence of numpy.random.Generator
        One a row, so that what a row draws does not depend on the others.
    scored : bool, default=False
        Whether ``log_probs`` is to hold those of the tokens that `step` chose last.
    """

    def __init__(
        self,
        decoder: MambaDecoder,
        prompts: Sequence[np.ndarray],
        *,
        choice: Choice,
        generators: Sequence[np.random.Generator],
        scored: bool = False,
    ) -> None:
        self._decoder, self._choice, self._generators = decoder, choice, generators
        self._scored = scored
        self.log_probs = np.full(len(prompts), np.nan)
        self._head = decoder.projection.detach()
        self.memory: list[Memory] | None = None
        self._scores = F.linear(self._read(prompts), self._head)
        self._plain = None
        if self.memory is not None and PlainMamba.suits(decoder, len(prompts)):
            self._plain, self.memory = PlainMamba(decoder, self.memory), None
        self._chosen: Tensor | None = None

    @torch.inference_mode()
    def _read(self, prompts: Sequence[np.ndarray]) -> Tensor:
        """Read the prompts piece by piece; give the last token of each as the head sees it."""
        device = self._head.device
        lengths = torch.tensor([len(prompt) for prompt in prompts])
        table = torch.zeros(len(prompts), int(lengths.max()), dtype=torch.long)
        for row, prompt in zip(table, prompts, strict=True):
            row[: len(prompt)] = torch.as_tensor(prompt)
        seen = None
        for low in range(0, table.shape[1], _PIECE):
            piece = table[:, low : low + _PIECE].to(device)
            left = (lengths - low).clamp(0, piece.shape[1])
            whole = bool((left == piece.shape[1]).all())
            last, self.memory = self._decoder.go_on(
                piece, self.memory, None if whole else left.to(device)
            )
            ends = ((lengths > low) & (lengths <= low + _PIECE)).to(device)[:, None]
            seen = last if seen is None else torch.where(ends, last, seen)
        assert seen is not None
        return seen

    @torch.inference_mode()
    def step(self) -> Tensor:
        """Read what was chosen last, and choose the next token of each row."""
        if self._chosen is not None:
            self._scores = self._after(self._chosen)
        if self._scored:
            chosen, self.log_probs = self._choice.scored(self._scores, self._uniform)
        else:
            chosen = self._choice(self._scores, self._uniform)
        self._chosen = chosen
        return chosen

    def _after(self, chosen: Tensor) -> Tensor:
        """Score what follows one more token a row."""
        if self._plain is not None:
            return self._plain.scores(chosen.numpy())
        seen, self.memory = self._decoder.go_on(chosen[:, None], self.memory)
        return F.linear(seen, self._head)

    def _uniform(self) -> np.ndarray:
        return np.array([rng.random() for rng in self._generators])
