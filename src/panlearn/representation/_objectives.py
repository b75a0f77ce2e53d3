"""Losses that compare two views of each example; rows of all processes take part."""

from __future__ import annotations

import torch
from torch import nn

from panlearn.neural._step import Step


def contrastive_losses(
    one: torch.Tensor, other: torch.Tensor, temperature: float, step: Step
) -> torch.Tensor:
    """Each view has to find its partner among all other views of the batch: NT-Xent, by row."""
    one, other = nn.functional.normalize(one), nn.functional.normalize(other)
    every = torch.cat([step.gather(one), step.gather(other)])
    n = len(every) // 2
    place = places(one, step)
    losses = torch.zeros(len(one), dtype=one.dtype, device=one.device)
    for view, own, partner in ((one, place, place + n), (other, place + n, place)):
        scores = view @ every.T / temperature
        scores = scores.scatter(1, own[:, None], -torch.inf)  # a view is not its own candidate
        losses = losses + nn.functional.cross_entropy(scores, partner, reduction="none")
    return losses / 2


def paired_losses(
    one: torch.Tensor, other: torch.Tensor, log_scale: torch.Tensor, step: Step
) -> torch.Tensor:
    """CLIP's: a row of one side has to find its own among all of the other side, and back."""
    one, other = nn.functional.normalize(one), nn.functional.normalize(other)
    place, scale = places(one, step), log_scale.exp()
    forward = scale * one @ step.gather(other).T
    backward = scale * other @ step.gather(one).T
    losses = [
        nn.functional.cross_entropy(scores, place, reduction="none")
        for scores in (forward, backward)
    ]
    return (losses[0] + losses[1]) / 2


def guess_losses(guess: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """BYOL's squared distance of unit vectors, 2 - 2 cos, by row."""
    return 2 - 2 * nn.functional.cosine_similarity(guess, target)


def variance_penalty(embedding: torch.Tensor, target: float = 1.0) -> torch.Tensor:
    """Say by how much deviations of the columns fall short of a target: VICReg's hinge."""
    variance = embedding.var(dim=0, correction=min(1, len(embedding) - 1))
    return (target - (variance + 1e-4).sqrt()).relu().mean()


def covariance_penalty(embedding: torch.Tensor) -> torch.Tensor:
    """Sum the squared covariances of different columns, over their number: VICReg's."""
    centred = embedding - embedding.mean(dim=0)
    covariance = centred.T @ centred / max(len(centred) - 1, 1)
    off = covariance - covariance.diagonal().diag_embed()
    return off.square().sum() / embedding.shape[1]


def spread_and_rank(embedding: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    r"""How far from collapse unit embeddings are.

    The spread is the root mean squared distance from their mean, from 0 (all rows alike) to 1. The
    rank is :math:`(\sum_j \lambda_j)^2 / \sum_j \lambda_j^2` with the eigenvalues of their
    covariance, the number of directions that are used: both sums are sums over the matrix, so that
    a step needs no eigenvalue.
    """
    unit = nn.functional.normalize(embedding.detach())
    centred = unit - unit.mean(dim=0)
    n, d = centred.shape
    scatter = centred.T @ centred if d <= n else centred @ centred.T  # with the same eigenvalues
    total = centred.square().sum()
    squares = scatter.square().sum().clamp(min=torch.finfo(unit.dtype).tiny)
    return (total / n).sqrt(), total.square() / squares


def places(rows: torch.Tensor, step: Step) -> torch.Tensor:
    """Where the rows at hand stand in the batch."""
    low = 0 if step.share.idle else step.share.low
    return low + torch.arange(len(rows), device=rows.device)
