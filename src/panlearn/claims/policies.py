"""Policies that learn from rewards: the regularised optimum, advantages, the clip, rules."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.core.extras import require

torch: Any = require("torch")

from panlearn.alignment import rejection_sampling, rewards  # noqa: E402
from panlearn.alignment._policy_gradients import (  # noqa: E402
    clipped_losses,
    group_advantages,
    group_losses,
)
from panlearn.transformer import GPT, GPTConfig  # noqa: E402


def _draw(seed: int, *shape: int) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _surrogate(policy: Any, reference: Any, gains: Any, beta: float) -> Any:
    """The mean loss over all answers, each as often as the policy gives it."""
    now, old, before = (table[:, None] for table in (policy, policy.detach(), reference))
    law = policy.detach().exp()
    advantages = gains - law @ gains
    losses = group_losses(now, old, before, advantages, low=0.2, high=0.2, beta=beta, kl="unbiased")
    return law @ losses[:, 0]


@claim("B158")
def regularised_optimum() -> Iterator[Evidence]:
    """On a finite set of answers the policy that maximises E r - beta E log(pi / pi_0) is
    proportional to pi_0 exp(r / beta), and the policy gradient leads to it. The text lacks the
    policy's parameters in the second term, and calls PPO the objective, of which it is the means.
    """
    gains, reference, beta = _draw(0, 6), _draw(1, 6).log_softmax(0), 0.7
    scores = torch.zeros(6, dtype=torch.float64, requires_grad=True)
    for _ in range(1200):
        loss = _surrogate(scores.log_softmax(0), reference, gains, beta)
        (slope,) = torch.autograd.grad(loss, scores)
        scores = (scores - 2.0 * slope).detach().requires_grad_()
    best = (reference + gains / beta).softmax(0)
    yield equal("the policy after gradient ascent", scores.detach().softmax(0), best, 1e-4)
    value = lambda law: law @ gains - beta * (law * (law.log() - reference)).sum()  # noqa: E731
    others = [_draw(seed, 6).softmax(0) for seed in range(2, 40)]
    yield at_least("the value above that of others", value(best) - max(map(value, others)), 0.0)
    level = beta * torch.logsumexp(reference + gains / beta, 0)
    yield equal("the value of the optimum, beta log Z", value(best), level, 1e-12)


@claim("B163")
def the_clip() -> Iterator[Evidence]:
    """min(rho A, clip(rho, 1 - e, 1 + e) A) is min(rho A, g(e, A)) with g = (1 + e) A if A >= 0,
    else (1 - e) A; it is min(rho, 1 + e) A for A >= 0 and max(rho, 1 - e) A for A < 0, and has no
    gradient beyond the clip on the side that improves.
    """
    e = 0.2
    grid = torch.linspace(0.0, 3.0, 301, dtype=torch.float64)
    ratio, advantage = torch.meshgrid(grid, torch.linspace(-2, 2, 41).double(), indexing="ij")
    ratio.requires_grad_()
    found = -clipped_losses(ratio, advantage, e, e)
    (slope,) = torch.autograd.grad(found.sum(), ratio)
    found, ratio = found.detach(), ratio.detach()
    bound = torch.where(advantage >= 0, (1 + e) * advantage, (1 - e) * advantage)
    yield equal("the bound g", found, torch.minimum(ratio * advantage, bound), 1e-12)
    one_sided = torch.where(advantage >= 0, ratio.clamp(max=1 + e), ratio.clamp(min=1 - e))
    yield equal("the one-sided form", found, one_sided * advantage, 1e-12)
    beyond = (advantage > 0) & (ratio > 1 + e + 1e-9) | (advantage < 0) & (ratio < 1 - e - 1e-9)
    yield at_most("gradient beyond the clip", slope[beyond].abs().max(), 0.0)
    inside = (ratio > 1 - e + 1e-9) & (ratio < 1 + e - 1e-9)
    yield equal("gradient inside it", slope[inside], advantage[inside], 1e-12)


@claim("B164")
def group_advantage() -> Iterator[Evidence]:
    """Advantages of a group are its rewards less their mean, over their deviation: of (1, 0, 0, 1)
    they are (1, -1, -1, 1) with the deviation of the population, and 0.866025 in size with that of
    a sample. They sum to zero, and are zero if all rewards are equal.
    """
    group = torch.tensor([[1.0, 0, 0, 1]], dtype=torch.float64)
    guard = 1e-4  # what is added to the deviation
    signs = 2 * group[0] - 1
    found = group_advantages(group, "population")[0]
    yield equal("population", found, signs * 0.5 / (0.5 + guard), 1e-12)
    spread = math.sqrt(1 / 3)
    found = group_advantages(group, "sample")[0]
    yield equal("sample", found, signs * 0.5 / (spread + guard), 1e-12)
    yield equal("its size without the guard", 0.5 / spread, 0.866025, 5e-7)
    drawn = _draw(0, 50, 7)
    for deviation in ("sample", "population", "none"):
        sums = group_advantages(drawn, deviation).sum(dim=1)
        yield at_most(f"sum of a group ({deviation})", sums.abs().max(), 1e-12)
    same = group_advantages(torch.full((3, 5), 0.7), "sample")
    yield at_most("advantages of equal rewards", same.abs().max(), 1e-6)


@claim("B165")
def the_first_move() -> Iterator[Evidence]:
    """Where all ratios are one and beta is zero the group objective is the mean advantage, which
    is zero, and its gradient is the mean of A_i grad log pi(o_i).
    """
    scores = _draw(0, 5).requires_grad_()
    answers = torch.tensor([0, 3, 3, 1, 4, 0])
    advantages = group_advantages(_draw(1, 1, 6))[0]
    old = scores.log_softmax(0)[answers].detach()[:, None]

    def objective(at: Any) -> Any:
        now = at.log_softmax(0)[answers][:, None]
        how: dict[str, Any] = {"low": 0.2, "high": 0.2, "beta": 0.0, "kl": "k3"}
        return -group_losses(now, old, None, advantages, **how).mean()

    value = objective(scores)
    yield at_most("value", value.detach().abs(), 1e-12)
    (slope,) = torch.autograd.grad(value, scores)
    (policy,) = torch.autograd.grad((advantages * scores.log_softmax(0)[answers]).mean(), scores)
    yield equal("gradient", slope, policy, 1e-12)
    step = 1e-5 * torch.eye(5, dtype=torch.float64)
    with torch.no_grad():
        differences = [(objective(scores + s) - objective(scores - s)) / 2e-5 for s in step]
    yield equal("finite differences", slope, torch.stack(differences), 1e-8)


@claim("B166")
def baselines() -> Iterator[Evidence]:
    """The advantage Q(s, a) - V(s) has mean zero under the policy, and to subtract any baseline of
    the state leaves the mean of grad log pi times the advantage as it is.
    """
    quality, scores = _draw(0, 4, 6), _draw(1, 4, 6).requires_grad_()
    law = scores.softmax(1).detach()
    advantage = quality - (law * quality).sum(dim=1, keepdim=True)
    yield at_most("mean advantage", (law * advantage).sum(dim=1).abs().max(), 1e-12)

    def gradient(gains: Any) -> Any:
        """The mean over all actions of grad log pi times what they gain."""
        losses = clipped_losses((scores.log_softmax(1) - law.log()).exp(), gains, 0.2, 0.2)
        return -torch.autograd.grad((law * losses).sum(), scores)[0]

    (exact,) = torch.autograd.grad((scores.softmax(1) * quality).sum(), scores)
    yield equal("with the value as baseline", gradient(advantage), exact, 1e-12)
    yield equal("with any baseline", gradient(quality - 3 * _draw(2, 4, 1)), exact, 1e-12)
    yield equal("with none", gradient(quality), exact, 1e-12)


@claim("B174")
def rule_rewards() -> Iterator[Evidence]:
    """The accuracy reward compares the boxed answer, the format reward asks for think tags. In the
    sample problem, sqrt(a - sqrt(a + x)) = x with a > 1, the only real solution is
    (sqrt(4 a - 3) - 1) / 2, from (x^2 + x + 1 - a)(x^2 - x - a) = x^4 - 2 a x^2 - x + a^2 - a.
    """
    solution = r"\frac{\sqrt{4a-3}-1}{2}"
    right, wrong = rf"so $\boxed{{{solution}}}$", r"so $\boxed{\frac{\sqrt{4a-3}+1}{2}}$"
    found = rewards.BoxedAnswer()(["?"] * 3, [right, wrong, solution], [solution] * 3)
    yield equal("boxed, wrong, not boxed", found, [1, 0, 0])
    texts = ["<think>a</think>\n<answer>b</answer>", "a <answer>b</answer>", "<think>a</think>"]
    yield equal("format", rewards.Format()([""] * 3, texts), [1, 0, 0])
    for a in (1.1, 2.0, 3.0, 7.5):
        first, second = np.poly1d([1, 1, 1 - a]), np.poly1d([1, -1, -a])
        product = np.poly1d([1, 0, -2 * a, -1, a * a - a])
        yield equal("the product", (first * second).coeffs, product.coeffs, 1e-12)
        x = (math.sqrt(4 * a - 3) - 1) / 2
        yield equal(f"the equation at a={a}", math.sqrt(a - math.sqrt(a + x)), x, 1e-12)
        real = [r.real for r in product.roots if abs(r.imag) < 1e-9 and r.real >= 0]
        inside = [r for r in real if r * r <= a]  # the outer root is of what is not negative
        others = [r for r in inside if abs(math.sqrt(a - math.sqrt(a + r)) - r) < 1e-6]
        yield equal("solutions", others, [x], 1e-9)
    yield equal("at a = 2", (math.sqrt(5) - 1) / 2, 0.618034, 5e-7)


@claim("B175")
def only_what_is_right_is_kept() -> Iterator[Evidence]:
    """Rejection sampling keeps only completions that were verified: all have the reward one."""
    config = GPTConfig(1, 16, 2, 12)
    texts = [f"{a}+{b}={a + b}" for a in range(4) for b in range(4)]
    model = GPT(config, learning_rate=1e-2, max_epochs=60, random_state=0).fit(texts)
    prompts = [text.partition("=")[0] + "=" for text in texts]
    answers = [text.partition("=")[2] for text in texts]
    how: dict[str, Any] = {"answers": answers, "n_samples": 12, "max_tokens": 4, "random_state": 0}
    kept = rejection_sampling(model, prompts, rewards.ExactAnswer(tag=None), threshold=1, **how)
    yield at_least("kept", len(kept), 1)
    yield equal("rewards", [row["reward"] for row in kept], np.ones(len(kept)))
    checked = [int(row["completion"]) == eval_sum(row["prompt"]) for row in kept]
    yield true("all are right", all(checked))
    drawn = model.complete(prompts, n_samples=12, max_tokens=4, random_state=0)
    share = np.mean([c.text == a for row, a in zip(drawn, answers, strict=True) for c in row])
    yield at_most("share of right completions before", share, 0.99)


def eval_sum(prompt: str) -> int:
    """The sum that a prompt asks for."""
    one, _, other = prompt.rstrip("=").partition("+")
    return int(one) + int(other)
