r"""Fully connected networks: layers, activations, and how weights begin."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
from torch import nn

from panlearn.neural._step import Dropout

Activation = Literal[
    "identity", "logistic", "tanh", "relu", "leaky_relu", "elu", "selu", "gelu", "silu", "softplus"
]
Initialization = Literal[
    "auto",
    "glorot_uniform",
    "glorot_normal",
    "he_uniform",
    "he_normal",
    "lecun_uniform",
    "lecun_normal",
    "orthogonal",
]
Normalization = Literal["batch", "layer", "rms"]

_ACTIVATIONS: dict[str, type[nn.Module]] = {
    "identity": nn.Identity,
    "logistic": nn.Sigmoid,
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "leaky_relu": nn.LeakyReLU,
    "elu": nn.ELU,
    "selu": nn.SELU,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "softplus": nn.Softplus,
}
_NORMALIZATIONS: dict[str, Callable[[int], nn.Module]] = {
    "batch": nn.BatchNorm1d,
    "layer": nn.LayerNorm,
    "rms": nn.RMSNorm,
}
_HE = ("relu", "leaky_relu", "elu", "gelu", "silu", "softplus")


class MLP(nn.Module):
    r"""Affine layers with an activation after each but the last.

    .. math:: v_l = \phi(W_l v_{l-1} + b_l), \qquad f(x) = W_L v_{L-1} + b_L

    With a normalisation it stands before the activation, dropout after it.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        activation: Activation = "relu",
        *,
        dropout: float = 0.0,
        normalization: Normalization | None = None,
        initialization: Initialization = "auto",
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for i, (n_in, n_out) in enumerate(itertools.pairwise(sizes)):
            last = i == len(sizes) - 2
            linear = nn.utils.skip_init(nn.Linear, n_in, n_out)
            initialize(linear, "identity" if last else activation, initialization)
            layers.append(linear)
            if last:
                break
            if normalization is not None:
                layers.append(_NORMALIZATIONS[normalization](n_out))
            layers.append(_ACTIVATIONS[activation]())
            if dropout:
                layers.append(Dropout(dropout))
        self.layers = nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map rows (n, d) to outputs (n, k)."""
        return self.layers(x)


@torch.no_grad()
def initialize(layer: Any, activation: str, scheme: Initialization = "auto") -> None:
    r"""Draw the weights of a layer with n inputs and m outputs; its biases are zero, but for auto.

    Glorot: variance :math:`2/(n + m)`; He: :math:`2/n`; LeCun: :math:`1/n`; "orthogonal": rows, or
    columns, of length :math:`\sqrt 2` for the ReLU and its kin, else 1. "auto" is He's uniform for
    these, LeCun's normal for SELU, and Glorot's uniform for the rest, with biases on
    :math:`\pm 1/\sqrt n`: with zeros every unit of a network on one feature bends at one place.
    """
    n_in, n_out = nn.init._calculate_fan_in_and_fan_out(layer.weight)
    if layer.bias is not None:
        spread = 1 / math.sqrt(n_in) if scheme == "auto" else 0.0
        layer.bias.uniform_(-spread, spread)
    if scheme == "auto":
        rest: Initialization = "lecun_normal" if activation == "selu" else "glorot_uniform"
        scheme = "he_uniform" if activation in _HE else rest
    if scheme == "orthogonal":
        nn.init.orthogonal_(layer.weight, math.sqrt(2) if activation in _HE else 1.0)
        return
    who, _, shape = scheme.partition("_")
    variance = {"glorot": 2 / (n_in + n_out), "he": 2 / n_in, "lecun": 1 / n_in}[who]
    if shape == "uniform":  # on [-a, a] the variance is a^2 / 3
        layer.weight.uniform_(-math.sqrt(3 * variance), math.sqrt(3 * variance))
    else:
        layer.weight.normal_(0.0, math.sqrt(variance))
