"""Learning from preferences: Bradley and Terry's model, rewards, and DPO without them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from panlearn.claims.claim import Evidence, claim, equal, true
from panlearn.core.extras import require

torch: Any = require("torch")

from panlearn.alignment import DPO, RewardModel, losses  # noqa: E402
from panlearn.alignment.reward_model import bradley_terry_losses  # noqa: E402


def _draw(seed: int, *shape: int) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@claim("B157")
def reward_loss() -> Iterator[Evidence]:
    """The loss of a reward model, -E log sigma(r(x, y_w) - r(x, y_l)), depends on the difference
    alone, is log 2 at equal rewards, and has the slope -(1 - sigma) in the difference. Both rewards
    are of one model; in the text the second one lacks its parameters.
    """
    rewards = _draw(0, 20, 2).requires_grad_(True)
    found = bradley_terry_losses(rewards)
    difference = (rewards[:, 0] - rewards[:, 1]).detach()
    yield equal("losses by hand", found.detach(), torch.log1p(torch.exp(-difference)), 1e-12)
    shifted = bradley_terry_losses(rewards + 7.3).detach()
    yield equal("losses of shifted rewards", shifted, found.detach(), 1e-12)
    (slope,) = torch.autograd.grad(found.sum(), rewards)
    expected = -(1 - torch.sigmoid(difference))
    yield equal("slope in the chosen reward", slope[:, 0], expected, 1e-12)
    yield equal("slope in the rejected reward", slope[:, 1], -expected, 1e-12)
    model = RewardModel(learning_rate=1e-9, max_epochs=1, random_state=0)
    model.fit([("a", "b", "c")])
    margin = float(model.decision_function([("a", "b", "c")])[0])
    loss = model.history_["loss"][0]
    yield equal("loss of a model at its first step", loss, math.log1p(math.exp(-margin)), 1e-5)
    yield equal(
        "loss at equal rewards", bradley_terry_losses(torch.zeros(1, 2)), [math.log(2)], 1e-7
    )


@claim("B159")
def bradley_terry() -> Iterator[Evidence]:
    """Bradley and Terry's chance that one answer is preferred to another is
    exp(r1) / (exp(r1) + exp(r2)) = sigma(r1 - r2), and adding a constant to both changes nothing.
    """
    rewards = _draw(1, 50, 2)
    chance = torch.exp(-bradley_terry_losses(rewards))
    share = rewards.exp() / rewards.exp().sum(1, keepdim=True)
    yield equal("share of the exponentials", share[:, 0], chance, 1e-12)
    yield equal("after a shift", torch.exp(-bradley_terry_losses(rewards - 2.5)), chance, 1e-12)
    other = torch.exp(-bradley_terry_losses(rewards.flip(1)))
    yield equal("chances of both orders", chance + other, np.ones(50), 1e-12)


@claim("B160")
def preference_loss() -> Iterator[Evidence]:
    """The loss of DPO, -log sigma(beta [log pi/ref (y_w) - log pi/ref (y_l)]), is log 2 = 0.693147
    where the policy is its reference, and 0.6443967 at log-ratios of 0.5 and -0.5 with beta 0.1.
    The expectation is over y_w and y_l; the text writes w_l.
    """
    loss, lengths = losses.Sigmoid(), torch.ones(1, 2)
    ratios = torch.tensor([[0.5, -0.5]], dtype=torch.float64)
    yield equal("loss of the example", loss(ratios, lengths, 0.1), [0.6443967], 1e-7)
    yield equal("loss at the reference", loss(0 * ratios, lengths, 0.1), [math.log(2)], 1e-12)
    tuner = DPO(learning_rate=1e-3, max_epochs=2, random_state=0).fit([("a", "b", "c")])
    yield equal("first loss of a run", tuner.history_["loss"][0], math.log(2), 1e-6)
    yield true("the loss falls", tuner.history_["loss"][1] < tuner.history_["loss"][0])


@claim("B161")
def preference_slope() -> Iterator[Evidence]:
    """The slopes of DPO's loss are -beta sigma(-m) in log pi(y_w) and beta sigma(-m) in log
    pi(y_l), m the scaled margin: 0.0475021 in the example. With a label p, the loss
    -p log sigma(m) - (1 - p) log sigma(-m) at p = 0 is that of the swapped pair. Labels that are
    drawn at random cannot be learned better than log 2.
    """
    loss, lengths, beta, step = losses.Sigmoid(), torch.ones(1, 2), 0.1, 1e-5
    ratios = torch.tensor([[0.5, -0.5]], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(loss(ratios, lengths, beta).sum(), ratios)
    yield equal("slopes of the example", slope, [[-0.0475021, 0.0475021]], 1e-7)
    fixed = ratios.detach()
    differences = [
        (loss(fixed + move, lengths, beta) - loss(fixed - move, lengths, beta)) / (2 * step)
        for move in step * torch.eye(2, dtype=torch.float64)[:, None]
    ]
    yield equal("finite differences", torch.stack(differences).T, slope, 1e-6)
    margin = beta * float(fixed[0, 0] - fixed[0, 1])
    swapped = loss(fixed.flip(1), lengths, beta)
    yield equal("label 0", [math.log1p(math.exp(margin))], swapped, 1e-12)
    both = (loss(fixed, lengths, beta) + swapped) / 2
    yield true("a fair coin costs log 2 at least", float(both) >= math.log(2))


@claim("B162")
def implicit_reward() -> Iterator[Evidence]:
    """The policy ref exp(r / beta), normalised for each prompt, has beta log(policy / ref) = r up
    to a constant of the prompt: DPO's margin of it is the difference of rewards.
    """
    beta = 0.3
    reference, rewards = _draw(2, 4, 6).log_softmax(1), _draw(3, 4, 6)
    optimum = (reference + rewards / beta).log_softmax(1)
    ratios = optimum - reference
    left = beta * ratios - rewards
    yield equal("spread of the constant", left - left[:, :1], np.zeros((4, 6)), 1e-12)
    found = losses.Sigmoid()(ratios[:, :2], torch.ones(4, 2), beta)
    yield equal("loss of pairs", found, bradley_terry_losses(rewards[:, :2]), 1e-12)
