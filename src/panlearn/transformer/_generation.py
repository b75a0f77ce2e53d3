r"""Generation: one token at a time, from a cache of keys and values that is allocated once.

The state of a run is a table of columns, one a step, and the first column of each row: shorter
prompts begin later, so that all rows end in the same column. A row holds at most as many columns as
the context; when it is full, the model reads the last half of it again and goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from panlearn.transformer._decoder import Decoder
from panlearn.transformer._drafts import Drafts
from panlearn.transformer._plain import PlainDecoder
from panlearn.transformer._protocol import NextToken


@dataclass(frozen=True)
class Choice:
    """How the next token is chosen from its scores.

    Attributes
    ----------
    temperature : float
        Divides the scores; zero takes the highest.
    top_k : int or None
        Only so many of the most probable tokens.
    top_p : float
        Only the fewest tokens whose probability reaches this.
    """

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < float("inf"):
            raise ValueError(f"temperature must be zero or above; got {self.temperature}")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k must be 1 or more, or None; got {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be in (0, 1]; got {self.top_p}")

    def __call__(self, scores: Tensor, uniform: Callable[[], np.ndarray]) -> Tensor:
        """Choose one token a row; `uniform` draws one number from [0, 1) for each."""
        if self.temperature == 0:
            return scores.argmax(dim=-1)
        kept = self.probabilities(scores).cumsum(dim=-1)
        drawn = torch.from_numpy(uniform()).to(kept) * kept[:, -1]
        # tokens in the order of the vocabulary: rounding moves borders, it does not swap tokens
        return torch.searchsorted(kept, drawn[:, None], right=True)[:, 0].clamp_max(
            scores.shape[-1] - 1
        )

    def probabilities(self, scores: Tensor) -> Tensor:
        """Give the law that tokens are drawn from; what is not kept has probability zero."""
        law = (scores.double() / self.temperature).softmax(dim=-1)
        k = min(self.top_k or law.shape[-1], law.shape[-1])
        if k < law.shape[-1]:
            law = law * (law >= law.topk(k).values[:, -1:])
        if self.top_p < 1:
            falling = (law / law.sum(dim=-1, keepdim=True)).sort(dim=-1, descending=True).values
            needed = (falling.cumsum(dim=-1) - falling < self.top_p).sum(dim=-1, keepdim=True)
            law = law / law.sum(dim=-1, keepdim=True)
            law = law * (law >= falling.gather(-1, needed - 1))
        return law / law.sum(dim=-1, keepdim=True)


class Generation:
    """Tokens after several prompts: the constructor prepares, `step` gives one more a row.

    Parameters
    ----------
    decoder : NextToken
    prompts : sequence of ndarray
        Token ids, one at least each.
    max_tokens : int
        The most steps that will be taken.
    choice : Choice
    generators : sequence of numpy.random.Generator
        One a row, so that what a row draws does not depend on the others.
    scored : bool, default=False
        Whether ``log_probs`` is to hold those of the tokens that `step` chose last.
    """

    def __init__(
        self,
        decoder: NextToken,
        prompts: Sequence[np.ndarray],
        *,
        max_tokens: int,
        choice: Choice,
        generators: Sequence[np.random.Generator],
        scored: bool = False,
    ) -> None:
        self._scored = scored
        self.log_probs = np.full(len(prompts), np.nan)
        self._decoder = cast(Any, decoder)
        self._choice, self._generators = choice, generators
        self._head = decoder.projection.detach()
        longest = max(map(len, prompts))
        # a row needs as many columns as the context; twice that, and rows seldom have to move
        capacity = min(longest + max_tokens, max(2 * decoder.config.context, longest + 1))
        starts = [longest - len(prompt) for prompt in prompts]
        self.cache = decoder.cache(starts, capacity)
        suits = PlainDecoder.suits(decoder, len(prompts))
        self._plain = PlainDecoder(self._decoder, capacity) if suits else None
        self._tokens = torch.zeros(len(prompts), capacity, dtype=torch.long).to(self._head.device)
        for row, prompt in enumerate(prompts):
            self._tokens[row, starts[row] : longest] = torch.as_tensor(prompt)
        self._known = longest  # columns of tokens that are known, of which the cache holds some
        ahead = isinstance(decoder, Decoder) and decoder.config.n_ahead
        self._drafts = Drafts(self._decoder, starts, capacity) if ahead else None
        self._draft = self._tokens[:, :0]
        self._ready: list[tuple[Tensor, np.ndarray]] = []  # chosen, and not given yet

    @torch.inference_mode()
    def step(self) -> Tensor:
        """Choose the next token of each row."""
        room = min(self.cache.capacity, self._decoder.config.context)
        if self._drafts is not None and not self._ready and self._known + 2 <= room:
            self._speculate(self._drafts)
        if self._ready:
            chosen, self.log_probs = self._ready.pop(0)
            return chosen
        self._drafts = None  # the context is full: from here on one by one
        return self._one_step()

    def _speculate(self, drafts: Drafts) -> None:
        """Read the newest tokens and proposed ones; choose one a row, or two if all were right."""
        cache, decoder, first = self.cache, self._decoder, self.cache.end
        fresh = torch.cat([self._tokens[:, first : self._known], self._draft], dim=1)
        states = decoder.norm(decoder.go_on(fresh, cache))
        n_scored = 1 + self._draft.shape[1]
        for i, scores in enumerate(F.linear(states[:, -n_scored:], self._head).unbind(1)):
            if i and (self._ready[-1][0] != self._draft[:, i - 1]).any():
                cache.end -= 1  # what was read of tokens that do not stand there
                break
            chosen = self._choose(scores)
            self._ready.append((chosen, self.log_probs))
            self._tokens[:, self._known] = chosen
            self._known += 1
        following = self._tokens[:, first + 1 : self._known]
        self._draft = drafts.after(states[:, : cache.end - first], following)

    def _choose(self, scores: Tensor) -> Tensor:
        chosen = self._choice(scores, self._uniform)
        if self._scored:
            law = scores.double().log_softmax(dim=-1)
            self.log_probs = law.gather(-1, chosen[:, None])[:, 0].cpu().numpy()
        return chosen

    def _one_step(self) -> Tensor:
        """Read the newest tokens of all rows and choose one for each."""
        cache = self.cache
        self._read_again()
        fresh = self._tokens[:, cache.end : self._known]
        if self._plain is not None and fresh.shape[1] == 1:
            cache.memory, starts = cache.memory.float(), np.array(cache.starts)
            scores = self._plain.scores(fresh[:, 0].numpy(), cache.memory, starts, cache.end)
            cache.end += 1
        else:
            scores = F.linear(self._decoder.last(fresh, cache), self._head)
        chosen = self._choose(scores)
        if self._known == cache.capacity:
            self._move()
        if self._known < cache.capacity:  # the last token of a run has no column and needs none
            self._tokens[:, self._known] = chosen
        self._known += 1
        return chosen

    def _uniform(self) -> np.ndarray:
        return np.array([rng.random() for rng in self._generators])

    def _read_again(self) -> None:
        """Let rows that fill the context go on from its last half."""
        cache, context = self.cache, self._decoder.config.context
        for row, start in enumerate(cache.starts):
            if self._known - start <= context:
                continue
            kept = max(context // 2, 1)
            if kept == context:  # a context of one token: what was before is forgotten
                cache.starts[row] = self._known - 1
                continue
            start = self._known - 1 - kept
            alone = self._decoder.cache([0], kept)
            self._decoder.last(self._tokens[row : row + 1, start : start + kept], alone)
            cache.put(row, start, alone)

    def _move(self) -> None:
        """Shift all rows to the left, over columns that none of them needs."""
        cache = self.cache
        shift = min(cache.starts)
        if shift:
            self._tokens[:, : cache.end - shift] = self._tokens[:, shift : cache.end].clone()
            cache.move(shift)
            self._known -= shift
