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
from panlearn.transformer._runs import Runs
from panlearn.transformer._tokens import draw_each


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
            return _highest(scores)
        if self._cuts:
            return _inverted(self.probabilities(scores), uniform())[0]
        return _drawn(scores, self.temperature, uniform())[0]

    def scored(
        self, scores: Tensor, uniform: Callable[[], np.ndarray]
    ) -> tuple[Tensor, np.ndarray]:
        """Choose one token a row, and tell the logarithm of its probability as the model has it."""
        if self.temperature == 1 and not self._cuts:
            return _drawn(scores, 1.0, uniform())
        chosen = self(scores, uniform)
        return chosen, _log_probability(scores, chosen, _exponentials(scores, 1.0).sum(dim=-1))

    def by_loops(self, scored: bool) -> bool:
        """Whether loops choose like this, with log-probabilities if they are wanted."""
        return not self._cuts and (not scored or self.temperature == 1)

    @property
    def _cuts(self) -> bool:
        """Whether some tokens are never drawn."""
        return self.top_k is not None or self.top_p < 1

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


def _highest(scores: Tensor) -> Tensor:
    """The first of the highest scores of each row."""
    if scores.device.type != "cpu" or scores.dtype != torch.float32:
        return scores.argmax(dim=-1)
    return torch.from_numpy(scores.numpy().argmax(axis=-1))  # by vectors, ten times as fast


def _drawn(scores: Tensor, temperature: float, uniform: np.ndarray) -> tuple[Tensor, np.ndarray]:
    """The token of each row up to which probabilities sum to a share, and its log-probability."""
    if scores.device.type != "cpu" or scores.dtype != torch.float32:
        chosen, total = _inverted(_exponentials(scores, temperature), uniform)
        return chosen, _log_probability(scores / temperature, chosen, total)
    chosen, log = torch.empty(len(scores), dtype=torch.long), np.empty(len(scores))
    draw_each(scores.contiguous().numpy(), np.float32(temperature), uniform, chosen.numpy(), log)
    return chosen, log


def _log_probability(scores: Tensor, chosen: Tensor, total: Tensor) -> np.ndarray:
    """Of tokens, with the sum of exponentials the largest of which is one."""
    above = scores.gather(-1, chosen[:, None])[:, 0] - scores.amax(dim=-1)
    return (above.double() - total.double().log()).cpu().numpy()


def _exponentials(scores: Tensor, temperature: float) -> Tensor:
    """Numbers in proportion to the probabilities, the largest of them one."""
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    return (scores - scores.amax(dim=-1, keepdim=True)).div_(temperature).exp_()


def _inverted(weights: Tensor, uniform: np.ndarray) -> tuple[Tensor, Tensor]:
    """The token of each row up to which weights sum to a share of their total, and the total."""
    kept = weights.cumsum(dim=-1, dtype=torch.float64)
    drawn = torch.from_numpy(uniform).to(kept) * kept[:, -1]
    # tokens in the order of the vocabulary: rounding moves borders, it does not swap tokens
    found = torch.searchsorted(kept, drawn[:, None], right=True)[:, 0]
    return found.clamp_max(weights.shape[-1] - 1), kept[:, -1]


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
        Whether ``log_probs`` is to hold those of the tokens that `step` gave last.
    ends : sequence of ints, default=()
        Tokens after which nothing more of a row is wanted.
    ahead : int, default=1
        The most tokens a row that are chosen at once, for `step` to give one by one.
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
        ends: Sequence[int] = (),
        ahead: int = 1,
    ) -> None:
        self._scored, self._left = scored, max_tokens
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
        self._plain = PlainDecoder(self._decoder, len(prompts)) if suits else None
        self._tokens = torch.zeros(len(prompts), capacity, dtype=torch.long).to(self._head.device)
        for row, prompt in enumerate(prompts):
            self._tokens[row, starts[row] : longest] = torch.as_tensor(prompt)
        self._table = self._tokens.numpy() if suits else np.empty(0)  # the same, to loops
        self._ahead, self._runs = ahead, None
        if self._plain is not None and ahead > 1 and choice.by_loops(scored):
            how = choice.temperature, generators, ends
            self._runs = Runs(self._plain, self._table, *how)
        self._different: dict[bytes, list[int]] = {}  # rows by their prompts
        for row, prompt in enumerate(prompts):
            self._different.setdefault(np.asarray(prompt).tobytes(), []).append(row)
        self._known = longest  # columns of tokens that are known, of which the cache holds some
        ahead = isinstance(decoder, Decoder) and decoder.config.n_ahead
        self._drafts = Drafts(self._decoder, starts, capacity) if ahead else None
        self._draft = self._tokens[:, :0]
        self._ready: list[tuple[Tensor, np.ndarray]] = []  # chosen, and not given yet

    def step(self) -> Tensor:
        """Choose the next token of each row."""
        if not self._ready:
            self._choose_more()
        chosen, self.log_probs = self._ready.pop(0)
        self._left -= 1
        return chosen

    @torch.inference_mode()
    def _choose_more(self) -> None:
        """Choose a token a row, or some."""
        room = min(self.cache.capacity, self._decoder.config.context)
        if self._drafts is not None and self._known + 2 <= room:
            self._speculate(self._drafts)
            return
        self._drafts = None  # the context is full: from here on one by one
        self._read_again()
        if self._runs is not None and (n := self._n_ahead(self._runs)) > 1:
            self._run(self._runs, n)
        else:
            self._ready.append((self._one_step(), self.log_probs))

    def _n_ahead(self, runs: Runs) -> int:
        """How many tokens follow before something else than a step has to be done."""
        cache, context = self.cache, self._decoder.config.context
        if self._known != cache.end + 1:  # the prompt has to be read
            return 0
        in_context = context + min(cache.starts) + 1 - self._known
        wanted = min(self._ahead, self._left, runs.most)
        return min(wanted, in_context, cache.capacity - self._known)

    def _run(self, runs: Runs, n: int) -> None:
        """Choose up to n tokens a row."""
        cache, first = self.cache, self._known
        n = runs(cache.memory, cache.starts, cache.end, n)
        cache.end += n
        self._known += n
        for column in range(first, self._known):
            log_probs = runs.log_probs[:, column].copy() if self._scored else self.log_probs
            self._ready.append((self._tokens[:, column].clone(), log_probs))

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
        if not self._scored:
            return self._choice(scores, self._uniform)
        chosen, self.log_probs = self._choice.scored(scores, self._uniform)
        return chosen

    def _one_step(self) -> Tensor:
        """Read the newest tokens of all rows and choose one for each."""
        cache = self.cache
        chosen = self._choose(self._scores())
        if self._runs is not None:
            self._runs.see(chosen.numpy())
        if self._known == cache.capacity:
            self._move()
        if self._known < cache.capacity:  # the last token of a run has no column and needs none
            self._write(chosen)
        self._known += 1
        return chosen

    def _write(self, chosen: Tensor) -> None:
        """Put tokens into the column after the last; between steps of loops, without tensors."""
        if self._plain is None:
            self._tokens[:, self._known] = chosen
        else:
            self._table[:, self._known] = chosen.numpy()

    def _scores(self) -> Tensor:
        """Read the newest tokens of all rows and score what follows."""
        cache = self.cache
        if self._plain is not None and self._known == cache.end + 1:
            ids = self._table[:, cache.end]
            cache.end += 1
            return self._plain.scores(ids, cache.memory, np.array(cache.starts), cache.end - 1)
        fresh = self._tokens[:, cache.end : self._known]
        if not cache.end and len(self._different) < len(fresh):
            return self._first(fresh)
        return F.linear(self._decoder.last(fresh, cache), self._head)

    def _first(self, fresh: Tensor) -> Tensor:
        """Read prompts, each once, and let all rows that begin with it go on from there."""
        places = list(self._different.values())
        firsts = [rows[0] for rows in places]
        alone = self._decoder.cache([self.cache.starts[row] for row in firsts], fresh.shape[1])
        states = self._decoder.last(fresh[firsts], alone)
        number = {row: i for i, rows in enumerate(places) for row in rows}
        copies = torch.tensor([number[row] for row in range(len(fresh))], device=fresh.device)
        self.cache.take(alone, copies)
        return F.linear(states, self._head)[copies]

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
