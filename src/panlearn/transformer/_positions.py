"""Where a token stands: fixed sinusoids that are added, and rotations of queries and keys."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import torch
from torch import Tensor

from panlearn.core.parameters import Positive, check_parameters
from panlearn.core.value import Value


def sinusoidal_positions(n: int, width: int, *, base: float = 10_000.0) -> Tensor:
    r"""Give the fixed table :math:`\sin(t b^{-2i/d}), \cos(t b^{-2i/d})` in columns 2i and 2i + 1.

    Parameters
    ----------
    n : int
        How many positions, from 0.
    width : int
        Columns of the table, an even number.
    base : float, default=10000.0
        The number b: wave lengths run from 2 pi to 2 pi b.

    Returns
    -------
    tensor of shape (n, width)

    Examples
    --------
    >>> from panlearn.transformer.attention import sinusoidal_positions
    >>> sinusoidal_positions(2, 4)[1]
    tensor([0.8415, 0.5403, 0.0100, 0.9999])
    """
    angles = _angles(torch.arange(n), width, base)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).float()


@dataclass(frozen=True)
class RotaryScaling(Value):
    r"""Rotations slowed down, so that a model reads longer texts than it was trained on.

    .. math::
        \omega_i' = (1 - s_i) \frac{\omega_i}{f} + s_i \omega_i, \qquad
        \omega_i = b^{-2i/d}

    A wave that turns often within the context of the training keeps its speed, :math:`s_i = 1`, one
    that turns less than once is slowed down by the factor f, :math:`s_i = 0`.

    Parameters
    ----------
    kind : {"linear", "llama3", "yarn"}, default="llama3"
        All waves are slowed down; or s rises linearly with the number of turns, as in Llama 3.1; or
        with the number i of the wave, as in YaRN.
    factor : float, default=8.0
        The number f.
    context : int, default=8192
        The context of the training.
    low : float, default=1.0
        Turns within that context below which s is zero.
    high : float, default=4.0
        Turns above which s is one; YaRN has 32.
    amplitude : float, default=1.0
        Multiplies cosines and sines.
    sharpness : float, default=1.0
        Multiplies the scores of latent attention.

    References
    ----------
    Peng, B., Quesnelle, J., Fan, H. and Shippole, E. (2024). YaRN: efficient context window
    extension of large language models. ICLR. https://arxiv.org/abs/2309.00071

    Grattafiori, A. et al. (2024). The Llama 3 herd of models. https://arxiv.org/abs/2407.21783

    Examples
    --------
    >>> from panlearn.transformer import GPTConfig, RotaryScaling
    >>> scaling = RotaryScaling("llama3", 8.0, 8192)
    >>> GPTConfig.llama(context=131072, rotary_scaling=scaling).rotary_scaling.factor
    8.0
    """

    kind: Literal["linear", "llama3", "yarn"] = "llama3"
    factor: Positive[float] = 8.0
    context: Positive[int] = 8192
    _: KW_ONLY
    low: Positive[float] = 1.0
    high: Positive[float] = 4.0
    amplitude: Positive[float] = 1.0
    sharpness: Positive[float] = 1.0

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.high <= self.low:
            raise ValueError(f"high={self.high} must be above low={self.low}")

    def slow(self, speeds: Tensor, base: float) -> Tensor:
        """Give the new speeds of waves."""
        if self.kind == "linear":
            return speeds / self.factor
        if self.kind == "llama3":
            turns = self.context * speeds / (2 * math.pi)
            kept = ((turns - self.low) / (self.high - self.low)).clamp(0, 1)
        else:
            n = len(speeds)
            first, last = (n * self._wave(t, base) for t in (self.high, self.low))
            first, last = max(math.floor(first), 0), min(math.ceil(last), 2 * n - 1)
            waves = torch.arange(n, dtype=speeds.dtype, device=speeds.device)
            kept = 1 - ((waves - first) / (last - first or 0.001)).clamp(0, 1)
        return (1 - kept) * speeds / self.factor + kept * speeds

    def _wave(self, turns: float, base: float) -> float:
        """The wave with so many turns within the context, as a share of all."""
        return math.log(self.context / (turns * 2 * math.pi)) / math.log(base)


def rotary_positions(
    positions: Tensor, width: int, *, base: float = 10_000.0, scaling: RotaryScaling | None = None
) -> Tensor:
    r"""Give the cosines and sines of :math:`t b^{-2i/d}` that `rotate` turns coordinates by.

    Parameters
    ----------
    positions : tensor of ints of shape (..., n)
        The place t of each token.
    width : int
        Coordinates d of one head, an even number.
    base : float, default=10000.0
        The number b.
    scaling : RotaryScaling, default=None
        How the waves are slowed down.

    Returns
    -------
    tensor of shape (2, ..., n, width / 2)
        Cosines, then sines, in single precision.
    """
    angles = _angles(positions, width, base, scaling)
    amplitude = 1.0 if scaling is None else scaling.amplitude
    return torch.stack([angles.cos(), angles.sin()]).mul_(amplitude).float()


def _angles(
    positions: Tensor, width: int, base: float, scaling: RotaryScaling | None = None
) -> Tensor:
    """T b^(-2i/d) in double precision, for a late position loses its digits in single."""
    if width % 2:
        raise ValueError(f"positions turn pairs of coordinates: an even width; got {width}")
    steps = torch.arange(0, width, 2, dtype=torch.float64, device=positions.device)
    speeds = base ** (-steps / width)
    if scaling is not None:
        speeds = scaling.slow(speeds, base)
    return positions[..., None].double() * speeds


def rotate(x: Tensor, rotation: Tensor, *, adjacent: bool = False) -> Tensor:
    r"""Turn pairs of coordinates of x by the angles of their positions.

    .. math::
        (x_a, x_b) \mapsto (x_a \cos\theta - x_b \sin\theta,\; x_a \sin\theta + x_b \cos\theta)

    Lengths stay, and the product of a turned query and a turned key depends on the distance of
    their positions alone.

    Parameters
    ----------
    x : tensor of shape (..., n, d)
        Queries or keys; values are not turned.
    rotation : tensor of shape (2, ..., n, d / 2)
        What `rotary_positions` gives.
    adjacent : bool, default=False
        Pair the coordinates 2i and 2i + 1, as the paper does. Else i and i + d/2, as the files of
        Llama do. The two differ by a permutation of the coordinates.

    Returns
    -------
    tensor of shape (..., n, d)
    """
    cos, sin = rotation.to(x.dtype)
    if adjacent:
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)
