"""The games of policies for `neural.train`: rollouts inside a step, then several moves on them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from panlearn.alignment._episodes import Episodes
from panlearn.alignment._policy import token_log_probabilities
from panlearn.alignment._policy_gradients import (
    KL,
    Average,
    Deviation,
    averaged,
    clipped_losses,
    generalised_advantages,
    group_advantages,
    group_losses,
    k1,
    k3,
    value_losses,
)
from panlearn.alignment._rollouts import Rollouts, evaluating
from panlearn.neural._step import Step

Moves = Iterator[tuple[Any, Tensor, Tensor]]


def log_probabilities(module: Any, rollouts: Rollouts) -> Tensor:
    """Of the tokens of completions, with a gradient and without dropout."""
    with evaluating(module):
        return token_log_probabilities(module, *rollouts.tokens)


@dataclass(frozen=True)
class GroupGame:
    """A step of GRPO, see there: completions of each prompt are compared with each other."""

    episodes: Episodes
    reference: Any
    n_samples: int
    n_moves: int
    beta: float
    low: float
    high: float
    deviation: Deviation
    kl: KL
    average: Average

    def __call__(self, module: Any, batch: Any, step: Step) -> Moves:
        """Draw, compare, and move the policy several times."""
        rollouts, rewards = self.episodes.play(module, batch[0], step, self.n_samples)
        groups = rewards.view(-1, self.n_samples)
        advantages = group_advantages(groups, self.deviation).flatten()
        spread = groups.amax(dim=1) - groups.amin(dim=1)
        step.note(equal_rewards=(spread == 0).float())
        there, reference = rollouts.there, None
        if self.beta:
            with torch.no_grad():
                reference = log_probabilities(self.reference, rollouts)
        log_probs = log_probabilities(module, rollouts)
        old = log_probs.detach()  # of the policy that drew the tokens: it has not moved yet
        for move in range(self.n_moves if step.training else 1):
            if move:
                log_probs = log_probabilities(module, rollouts)
            losses = group_losses(
                *(log_probs, old, reference, advantages),
                low=self.low,
                high=self.high,
                beta=self.beta,
                kl=self.kl,
            )
            note_ratio(step, log_probs, old, there, advantages[:, None], self.low, self.high)
            if reference is not None:
                step.note(kl=k3(log_probs.detach(), reference)[there])
            yield module, *averaged(losses, there, self.average, self.episodes.max_tokens)


@dataclass(frozen=True)
class ActorCriticGame:
    """A step of PPO, see there: a network of values says what was to be expected."""

    episodes: Episodes
    reference: Any
    n_moves: int
    beta: float
    clip: float
    clip_value: float | None
    gamma: float
    lam: float
    unfinished: float
    pretraining: Callable[[Any, Step], Tensor] | None
    pretraining_weight: float

    def __call__(self, players: dict[str, Any], batch: Any, step: Step) -> Moves:
        """Draw, compare with what was expected, and move policy and values several times."""
        policy, critic = (players[name].module for name in ("policy", "value"))
        rollouts, rewards = self.episodes.play(policy, batch[0], step, 1)
        there = rollouts.there
        log_probs = log_probabilities(policy, rollouts)
        old = log_probs.detach()  # of the policy that drew the tokens: it has not moved yet
        with torch.no_grad():
            divergence = k1(old, log_probabilities(self.reference, rollouts))
            before = expected(critic, rollouts.tokens[0])
        rewards = rewards - self.unfinished * ~rollouts.ended
        paid = token_rewards(rewards, divergence, there, self.beta)
        advantages = generalised_advantages(paid, before, there, self.gamma, self.lam)
        returns = advantages + before
        count, advantages = whitened(advantages, there, step)
        step.note(kl=divergence[there])
        for move in range(self.n_moves if step.training else 1):
            if move:
                log_probs = log_probabilities(policy, rollouts)
            losses = clipped_losses((log_probs - old).exp(), advantages, self.clip, self.clip)
            note_ratio(step, log_probs, old, there, advantages, self.clip, self.clip)
            rows, lengths = averaged(losses, there, "dapo", 1)
            if self.pretraining is not None:  # a text for each row, in the mean over all rows
                text = self.pretraining(policy, step)
                step.note(pretraining_loss=text)
                per_row = count / step.share.whole
                rows = rows + self.pretraining_weight * per_row * text / lengths
            yield players["policy"], rows, lengths
            values = expected(critic, rollouts.tokens[0])
            errors = value_losses(values, before, returns, self.clip_value)
            yield players["value"], *averaged(errors, there, "dapo", 1)


def critic_of(module: Any) -> Any:
    """A copy of a decoder that has a value for each token: nothing is expected at first."""
    made = copy.deepcopy(module)
    # without the numbers that a layer draws when it is made, from a generator that others use
    made.value = nn.utils.skip_init(nn.Linear, module.config.width, 1).to(module.projection)
    for parameter in made.value.parameters():
        nn.init.zeros_(parameter)
    return made


def expected(critic: Any, ids: Tensor) -> Tensor:
    """What reward is expected before each token but the first, of shape (n, longest - 1)."""
    with evaluating(critic):
        return critic.value(critic.states(ids[:, :-1]))[..., 0]


def token_rewards(rewards: Tensor, divergence: Tensor, there: Tensor, beta: float) -> Tensor:
    r"""Pay :math:`-\beta (\log \pi - \log \pi_{ref})` for each token, and the reward for the last.

    Parameters
    ----------
    rewards : tensor of shape (n,)
    divergence, there : tensor of shape (n, m)
    beta : float

    Returns
    -------
    tensor of shape (n, m)
    """
    last = there & (there.flip(1).cumsum(dim=1).flip(1) == 1)
    return rewards[:, None] * last - beta * divergence * there


def whitened(advantages: Tensor, there: Tensor, step: Step) -> tuple[Tensor, Tensor]:
    """How many tokens there are over all processes, and advantages of mean 0 and deviation 1."""
    values = advantages * there
    sums = torch.stack([there.sum(dim=1).to(values), values.sum(dim=1)], dim=1)
    count, total = step.gather(sums).sum(dim=0)
    mean = total / count.clamp(min=1)
    squares = ((advantages - mean).square() * there).sum(dim=1, keepdim=True)
    variance = step.gather(squares).sum() / (count - 1).clamp(min=1)
    return count, (advantages - mean) * (variance + 1e-8).rsqrt()


@torch.no_grad()
def note_ratio(
    step: Step,
    log_probs: Tensor,
    old: Tensor,
    there: Tensor,
    advantages: Tensor,
    low: float,
    high: float,
) -> None:
    """Note the mean ratio, and the share of the tokens whose gradient the clip took away."""
    ratio = (log_probs - old).exp()
    out = torch.where(advantages > 0, ratio > 1 + high, (ratio < 1 - low) & (advantages < 0))
    step.note(ratio=ratio[there], clipped=out[there].float())
