"""Where a token stands: fixed sinusoids that are added, and rotations of queries and keys."""

from __future__ import annotations

import torch
from torch import Tensor


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


def rotary_positions(positions: Tensor, width: int, *, base: float = 10_000.0) -> Tensor:
    r"""Give the cosines and sines of :math:`t b^{-2i/d}` that `rotate` turns coordinates by.

    Parameters
    ----------
    positions : tensor of ints of shape (..., n)
        The place t of each token.
    width : int
        Coordinates d of one head, an even number.
    base : float, default=10000.0
        The number b.

    Returns
    -------
    tensor of shape (2, ..., n, width / 2)
        Cosines, then sines, in single precision.
    """
    angles = _angles(positions, width, base)
    return torch.stack([angles.cos(), angles.sin()]).float()


def _angles(positions: Tensor, width: int, base: float) -> Tensor:
    """T b^(-2i/d) in double precision, for a late position loses its digits in single."""
    if width % 2:
        raise ValueError(f"positions turn pairs of coordinates: an even width; got {width}")
    steps = torch.arange(0, width, 2, dtype=torch.float64, device=positions.device)
    return positions[..., None].double() * base ** (-steps / width)


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
