r"""Policy gradients as functions of tensors: advantages, the clipped surrogate, estimates of KL.

Completions are rows of shape (n, m), padded; ``there`` says where a token stands. Log-probabilities
are those of the tokens that were drawn.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

Deviation = Literal["sample", "population", "none"]
KL = Literal["k3", "unbiased"]
Average = Literal["grpo", "dapo", "dr_grpo"]

_GUARD = 1e-4  # added to a deviation, so that equal rewards give advantages of zero


def group_advantages(rewards: Tensor, deviation: Deviation = "sample") -> Tensor:
    r"""Compare each reward with the others of its group, :math:`(r_i - \bar r) / (s + 10^{-4})`.

    Parameters
    ----------
    rewards : tensor of shape (n_groups, n)
        A row holds the rewards of completions of one prompt.
    deviation : {"sample", "population", "none"}
        s: with n - 1 in the denominator, with n, or no division.

    Returns
    -------
    tensor of shape (n_groups, n)
    """
    centred = rewards - rewards.mean(dim=1, keepdim=True)
    if deviation == "none":
        return centred
    freedom = rewards.shape[1] - (deviation == "sample")
    spread = (centred.square().sum(dim=1, keepdim=True) / max(freedom, 1)).sqrt()
    return centred / (spread + _GUARD)


def clipped_losses(ratio: Tensor, advantages: Tensor, low: float, high: float) -> Tensor:
    r"""Give :math:`-\min(\rho A, \operatorname{clip}(\rho, 1 - \epsilon, 1 + \epsilon') A)`."""
    return -torch.minimum(ratio * advantages, ratio.clamp(1 - low, 1 + high) * advantages)


def k1(log_probs: Tensor, reference: Tensor) -> Tensor:
    r"""Estimate :math:`KL(\pi \| \pi_{ref})` by :math:`\log \pi - \log \pi_{ref}`, unbiased."""
    return log_probs - reference


def k2(log_probs: Tensor, reference: Tensor) -> Tensor:
    r"""Estimate KL by :math:`(\log \pi - \log \pi_{ref})^2 / 2`: biased, of little variance."""
    return (log_probs - reference).square() / 2


def k3(log_probs: Tensor, reference: Tensor) -> Tensor:
    r"""Estimate KL by :math:`e^{-d} + d - 1, d = \log \pi - \log \pi_{ref}`: unbiased, and >= 0."""
    difference = reference - log_probs
    return difference.expm1() - difference


def group_losses(
    log_probs: Tensor,
    old: Tensor,
    reference: Tensor | None,
    advantages: Tensor,
    *,
    low: float,
    high: float,
    beta: float,
    kl: KL,
) -> Tensor:
    r"""The loss of each token: the clipped surrogate and :math:`\beta` times an estimate of KL.

    Parameters
    ----------
    log_probs, old, reference : tensor of shape (n, m)
        Of the policy now, of the policy that drew the tokens, and of the frozen one; the last may
        be None if beta is zero.
    advantages : tensor of shape (n,)
    low, high : float
        How far the ratio may fall below one, and rise above it.
    beta : float
        The weight of the divergence.
    kl : {"k3", "unbiased"}
        The estimate as it is, or times the ratio, whose gradient is that of the divergence.

    Returns
    -------
    tensor of shape (n, m)
    """
    ratio = (log_probs - old).exp()
    losses = clipped_losses(ratio, advantages[:, None], low, high)
    if reference is None:
        return losses
    divergence = k3(log_probs, reference)
    return losses + beta * (divergence * ratio if kl == "unbiased" else divergence)


def averaged(
    losses: Tensor, there: Tensor, average: Average, longest: int
) -> tuple[Tensor, Tensor]:
    """Bring losses of tokens to losses of rows and their weights, whose mean is the objective.

    Parameters
    ----------
    losses, there : tensor of shape (n, m)
    average : {"grpo", "dapo", "dr_grpo"}
        The mean of each row's mean; the mean over all tokens; or the mean of each row's sum, in
        units of the longest that a completion may be.
    longest : int

    Returns
    -------
    tuple of tensor of shape (n,)
    """
    sums, lengths = (losses * there).sum(dim=1), there.sum(dim=1).clamp(min=1).to(losses)
    if average == "dr_grpo":
        return sums / longest, torch.ones_like(sums)
    return sums / lengths, lengths if average == "dapo" else torch.ones_like(sums)


def generalised_advantages(
    rewards: Tensor, values: Tensor, there: Tensor, gamma: float, lam: float
) -> Tensor:
    r"""Sum what came out better than expected, :math:`A_t = \sum_l (\gamma\lambda)^l \delta_{t+l}`.

    Here :math:`\delta_t = r_t + \gamma V_{t+1} - V_t`, and after the last token V is zero.

    Parameters
    ----------
    rewards, values, there : tensor of shape (n, m)
    gamma, lam : float

    Returns
    -------
    tensor of shape (n, m)
        Zero where no token stands.
    """
    found = torch.zeros_like(values)
    ahead = following = values.new_zeros(len(values))
    for t in reversed(range(values.shape[1])):
        value = torch.where(there[:, t], values[:, t], 0.0)
        surprise = rewards[:, t] + gamma * following - value
        ahead = torch.where(there[:, t], surprise + gamma * lam * ahead, 0.0)
        found[:, t], following = ahead, value
    return found


def value_losses(values: Tensor, old: Tensor, returns: Tensor, clip: float | None) -> Tensor:
    r"""Give :math:`\frac12 \max((V - R)^2, (V_{clip} - R)^2)`, V within `clip` of what it was."""
    errors = (values - returns).square()
    if clip is not None:
        near = old + (values - old).clamp(-clip, clip)
        errors = torch.maximum(errors, (near - returns).square())
    return errors / 2
