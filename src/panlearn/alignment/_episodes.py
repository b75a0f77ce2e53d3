"""What a policy is rewarded on: prompts, their answers, a reward, and rollouts of all that."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from panlearn.alignment._prompts import Sequences, read_prompts
from panlearn.alignment._rollouts import Rollouts, check_room, roll_out, text_of
from panlearn.alignment.rewards import Reward, as_reward
from panlearn.neural._step import Step
from panlearn.transformer import Completion
from panlearn.transformer._decoder_model import DecoderModel


@dataclass(frozen=True)
class Episodes:
    """Prompts that are played again and again.

    Parameters
    ----------
    model : DecoderModel
        Knows the tokens.
    prompts : list of ndarray
        Token ids.
    given : list
        The prompts as a reward sees them.
    answers : list
        What is right, or None.
    reward : Reward
    max_tokens : int
        The most tokens of a completion.
    """

    model: DecoderModel
    prompts: list[np.ndarray]
    given: list[Any]
    answers: list[Any]
    reward: Reward
    max_tokens: int

    @classmethod
    def read(
        cls,
        model: DecoderModel,
        prompts: Any,
        answers: Any,
        reward: Any,
        max_tokens: int,
        template: Any = None,
    ) -> Episodes:
        """Read prompts and answers; refuse those that do not go together or have no room."""
        given = list(prompts)
        tokens = read_prompts(model, given, template)
        check_room(model, tokens, max_tokens)
        right = [None] * len(given) if answers is None else list(answers)
        if len(right) != len(given):
            raise ValueError(f"there are {len(given)} prompts and {len(right)} answers")
        return cls(model, tokens, given, right, as_reward(reward), max_tokens)

    @property
    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of the prompts, and what tells them from others to a run that is resumed."""
        marks = Sequences(self.prompts, [np.ones(len(p), dtype=bool) for p in self.prompts]).marks()
        said = [zlib.crc32(str(answer).encode()) for answer in self.answers]
        return np.arange(len(self.prompts)), np.stack([marks, said], axis=1)

    def worth(self, row: int, completions: list[Completion]) -> np.ndarray:
        """The rewards of completions of one prompt."""
        n = len(completions)
        texts = [text_of(completion) for completion in completions]
        return self.reward([self.given[row]] * n, texts, [self.answers[row]] * n)

    def play(
        self, module: nn.Module, rows: Tensor, step: Step, n_samples: int
    ) -> tuple[Rollouts, Tensor]:
        """Draw completions of some prompts and reward them; both one after the other.

        Parameters
        ----------
        module : Decoder
            The policy as it is now.
        rows : tensor of shape (n,)
            The numbers of the prompts.
        step : Step
            Seeds the draws and notes what came of them.
        n_samples : int
            Completions of each prompt.

        Returns
        -------
        tuple of Rollouts, tensor of shape (n * n_samples,)
        """
        chosen = rows.tolist()
        seeds = step.integers(2**62, n_samples)
        prompts = [self.prompts[i] for i in chosen]
        rollouts = roll_out(self.model, module, prompts, seeds, max_tokens=self.max_tokens)
        again = [i for i in chosen for _ in range(n_samples)]
        given, answers = [self.given[i] for i in again], [self.answers[i] for i in again]
        total = torch.zeros(len(again), device=rows.device)
        terms = self.reward.terms
        for weight, term in terms:
            values = torch.from_numpy(term(given, rollouts.texts, answers)).to(total)
            total += weight * values
            if len(terms) > 1:
                step.note(**{f"reward_{term.name}": values})
        step.note(reward=total, length=rollouts.lengths.float(), ended=rollouts.ended.float())
        return rollouts, total
