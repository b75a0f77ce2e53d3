"""Rollouts: completions that a policy draws while it learns, and what is made of them."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from panlearn.alignment._prompts import Sequences
from panlearn.transformer import Completion
from panlearn.transformer._decoder_model import DecoderModel
from panlearn.transformer._generation import Choice


@dataclass(frozen=True)
class Rollouts:
    """Completions of prompts, several of each one after the other.

    Parameters
    ----------
    prompts : list of ndarray
        Token ids of the prompt of each completion.
    completions : list of Completion
    device : torch.device
    """

    prompts: list[np.ndarray]
    completions: list[Completion]
    device: torch.device

    @cached_property
    def tokens(self) -> tuple[Tensor, Tensor]:
        """Ids of prompts and completions, and which of them are of completions; (n, longest)."""
        after = [completion.tokens for completion in self.completions]
        return Sequences.of(self.prompts, after).padded(np.arange(len(after)), self.device)

    @property
    def there(self) -> Tensor:
        """Where a token of a completion is predicted, shape (n, longest - 1)."""
        return self.tokens[1][:, 1:]

    @cached_property
    def lengths(self) -> Tensor:
        """How many tokens each completion has."""
        return self.there.sum(dim=1)

    @property
    def log_probs(self) -> Tensor:
        """Of each token when it was drawn, in the places of `there`."""
        drawn = np.concatenate([completion.log_probs for completion in self.completions])
        found = torch.zeros(self.there.shape, device=self.device)
        return found.masked_scatter(self.there, torch.from_numpy(drawn).to(found))

    @property
    def ended(self) -> Tensor:
        """Which came to their end, and did not run out of tokens."""
        return torch.tensor([c.ended for c in self.completions], device=self.device)

    @property
    def texts(self) -> list[Any]:
        """What a reward sees: texts, or token ids if there is no tokenizer."""
        return [text_of(completion) for completion in self.completions]


def text_of(completion: Completion) -> Any:
    """The text of a completion, or its token ids if there is no tokenizer."""
    return completion.tokens.tolist() if completion.text is None else completion.text


def roll_out(
    model: DecoderModel,
    module: nn.Module,
    prompts: Sequence[np.ndarray],
    seeds: Tensor,
    *,
    max_tokens: int,
) -> Rollouts:
    """Draw completions from the law of a module, at temperature one.

    Parameters
    ----------
    model : DecoderModel
        Knows the tokens; its own weights are not looked at.
    module : Decoder
        The policy as it is now.
    prompts : sequence of ndarray
        Token ids.
    seeds : tensor of shape (n_prompts, n_samples)
        One for each completion: it depends on nothing else, be the batch cut as it may.
    max_tokens : int
        The most tokens of a completion.

    Returns
    -------
    Rollouts
    """
    live = copy.copy(model)
    live._ready = module
    answers = live._answers([p for p in prompts for _ in range(seeds.shape[1])], ())
    generators = [np.random.default_rng(seed) for seed in seeds.flatten().tolist()]
    with evaluating(module):
        for _ in live._steps(answers, max_tokens, Choice(1.0), generators, scored=True):
            pass
    drawn = [answer.completion() for answer in answers]
    return Rollouts([answer.prompt for answer in answers], drawn, seeds.device)


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Inside the block nothing is dropped out: ratios of probabilities are of policies alone."""
    was = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(was)


def check_room(model: DecoderModel, prompts: Sequence[np.ndarray], max_tokens: int) -> None:
    """Refuse a prompt after which the context has no room for so many tokens."""
    room = model.config_.context + 1  # the last token is predicted, not read
    for row, prompt in enumerate(prompts):
        if len(prompt) + max_tokens > room:
            raise ValueError(
                f"prompt {row} has {len(prompt)} tokens, and with {max_tokens} more it is longer "
                f"than the context of {room - 1} and the one that it predicts: shorten it, or "
                f"lower max_tokens to {max(room - len(prompt), 0)}"
            )
