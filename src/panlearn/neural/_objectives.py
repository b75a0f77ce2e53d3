r"""Objectives of prediction: the loss of each row, and its weight if the batch brings one.

A batch is (rows, targets) or (rows, targets, weights). An objective is a function of module and
batch, made here from its constants. Labels are smoothed in training alone: a validation loss is
that of the labels as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

Batch = tuple[torch.Tensor, ...]
Losses = Any


def softmax_loss(label_smoothing: float = 0.0) -> Callable[[nn.Module, Batch], Losses]:
    r"""Cross-entropy with the smoothed label :math:`(1 - \epsilon) e_y + \epsilon / K`."""

    def objective(module: nn.Module, batch: Batch) -> Losses:
        smoothing = label_smoothing if module.training else 0.0
        losses = functional.cross_entropy(
            module(batch[0]), batch[1], reduction="none", label_smoothing=smoothing
        )
        return (losses, batch[2]) if len(batch) > 2 else losses

    return objective


def logistic_loss(label_smoothing: float = 0.0) -> Callable[[nn.Module, Batch], Losses]:
    r"""Sum over labels of :math:`-t \log\sigma(z) - (1 - t) \log\sigma(-z)`, with t smoothed."""

    def objective(module: nn.Module, batch: Batch) -> Losses:
        smoothing = label_smoothing if module.training else 0.0
        targets = batch[1] * (1 - smoothing) + smoothing / 2
        scores = module(batch[0])
        losses = functional.binary_cross_entropy_with_logits(scores, targets, reduction="none")
        losses = losses.sum(1)
        return (losses, batch[2]) if len(batch) > 2 else losses

    return objective


def squared_loss(module: nn.Module, batch: Batch) -> Losses:
    r"""Half the squared error of each row, :math:`\tfrac12 \lVert f(x) - y \rVert^2`."""
    losses = torch.square(module(batch[0]) - batch[1]).sum(1) / 2
    return (losses, batch[2]) if len(batch) > 2 else losses
