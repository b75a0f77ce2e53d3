r"""Discrete linear systems, one a channel: their kernels, and one step of their recurrence.

.. math:: x_k = \bar A x_{k-1} + \bar B u_k, \qquad y_k = C x_k, \qquad K_j = C \bar A^j \bar B

A kernel of length L is a product of two thin matrices: with j = i s + r, row i of the one holds
:math:`C \bar A^{is}` and column r of the other :math:`\bar A^r \bar B`. With s near the root of L
that needs few powers, and the rest is a product that BLAS does.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import torch
from torch import Tensor

Rule = Literal["bilinear", "zoh"]


class DiagonalSystem(NamedTuple):
    """Complex states, of which the conjugates are not kept: y = 2 Re(C x); all of shape (h, n)."""

    A: Tensor
    B: Tensor
    C: Tensor

    @classmethod
    def of(cls, A: Tensor, B: Tensor, C: Tensor, step: Tensor, rule: Rule) -> DiagonalSystem:
        """Make steps of a continuous system; steps are of shape (h,)."""
        z = step[:, None] * A
        if rule == "bilinear":
            return cls((1 + z / 2) / (1 - z / 2), step[:, None] / (1 - z / 2) * B, C)
        return cls(z.exp(), torch.expm1(z) / A * B, C)

    def kernel(self, length: int, dtype: torch.dtype) -> Tensor:
        """K_0, ..., K_(length-1) of each channel, (h, length)."""
        stride, n_rows = _split(length)
        power = self.A[:, None].expand(-1, stride, -1).cumprod(1)  # A^1, ..., A^stride
        columns = torch.cat([self.B[:, None], power[:, :-1] * self.B[:, None]], 1)
        leap = power[:, -1:].expand(-1, n_rows - 1, -1).cumprod(1)
        rows = 2 * torch.cat([self.C[:, None], leap * self.C[:, None]], 1)
        left = torch.view_as_real(rows.conj().resolve_conj()).flatten(2)
        right = torch.view_as_real(columns).flatten(2).transpose(1, 2)
        return _product(left, right, dtype).flatten(1)[:, :length]

    def start(self, n_rows: int) -> Tensor:
        """The state of rest, (n_rows, h, n)."""
        return self.B.new_zeros(n_rows, *self.B.shape)

    def step(self, u: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Take one input a channel, (n_rows, h): the outputs and the next state."""
        state = self.A * state + self.B * u[..., None]
        return 2 * (self.C * state).real.sum(-1), state


class DenseSystem(NamedTuple):
    """Real states and whole matrices: A of shape (h, n, n), B and C of shape (h, n)."""

    A: Tensor
    B: Tensor
    C: Tensor

    @classmethod
    def held(cls, A: Tensor, B: Tensor, C: Tensor, step: Tensor) -> DenseSystem:
        """Make steps of a continuous system within which inputs are held; steps are (h,)."""
        n, scale = A.shape[-1], step[:, None, None]
        both = torch.cat([scale * A, scale * B[..., None]], -1)
        # the exponential of ((A, B), (0, 0)) holds both
        found = torch.linalg.matrix_exp(torch.nn.functional.pad(both, (0, 0, 0, 1)))[:, :n]
        return cls(found[..., :n], found[..., n], C)

    @classmethod
    def bilinear(cls, blocks: Tensor, p: Tensor, B: Tensor, C: Tensor, step: Tensor) -> DenseSystem:
        r"""Make steps of A = D - p p' by the trapezoidal rule, without a factorisation.

        .. math::
            \bar A = 2 R - I, \quad \bar B = \Delta R B, \quad
            R = \bigl(I - \tfrac\Delta2 A\bigr)^{-1}
              = M^{-1} - \frac{\tfrac\Delta2 M^{-1} p\, p^\top M^{-1}}
                              {1 + \tfrac\Delta2 p^\top M^{-1} p}, \quad
            M = I - \tfrac\Delta2 D

        D is made of the blocks ((-a, -w), (w, -a)), given as complex numbers -a + i w of shape
        (h, n / 2), which are their eigenvalues; since a is above zero, so is the denominator.
        """
        inverse = 1 / (1 - step[:, None] / 2 * blocks)
        pairs = torch.view_as_complex(p.unflatten(-1, (-1, 2)))
        left, right = (
            torch.view_as_real(part * pairs).flatten(-2) for part in (inverse, inverse.conj())
        )
        share = step / 2 / (1 + step / 2 * (p * left).sum(-1))
        R = -(share[:, None] * left)[:, :, None] * right[:, None]
        even = torch.arange(0, p.shape[-1], 2, device=p.device)
        D = torch.zeros_like(R)
        D[:, even, even] = D[:, even + 1, even + 1] = inverse.real
        D[:, even, even + 1], D[:, even + 1, even] = -inverse.imag, inverse.imag
        R = R + D
        whole = torch.eye(p.shape[-1], dtype=p.dtype, device=p.device)
        return cls(2 * R - whole, step[:, None] * (R @ B[..., None])[..., 0], C)

    def kernel(self, length: int, dtype: torch.dtype) -> Tensor:
        """K_0, ..., K_(length-1) of each channel, (h, length)."""
        stride, n_rows = _split(length)
        columns, power = self.B[..., None], self.A
        while columns.shape[-1] < stride:  # A^0 B ... A^(m-1) B, and A^m: twice as many at a time
            columns = torch.cat([columns, power @ columns], -1)
            power = _without_dust(power @ power)
        rows = self.C[:, None]
        while rows.shape[1] < n_rows:
            rows = torch.cat([rows, rows @ power], 1)
            power = _without_dust(power @ power) if rows.shape[1] < n_rows else power
        return _product(rows, columns, dtype).flatten(1)[:, :length]

    def start(self, n_rows: int) -> Tensor:
        """The state of rest, (n_rows, h, n)."""
        return self.B.new_zeros(n_rows, *self.B.shape)

    def step(self, u: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Take one input a channel, (n_rows, h): the outputs and the next state."""
        state = (self.A @ state[..., None])[..., 0] + self.B * u[..., None]
        return (self.C * state).sum(-1), state


System = DiagonalSystem | DenseSystem


def _product(rows: Tensor, columns: Tensor, dtype: torch.dtype) -> Tensor:
    return _without_dust(rows).to(dtype) @ _without_dust(columns).to(dtype)


def _without_dust(x: Tensor) -> Tensor:
    """Zero in the place of numbers whose products processors are slow at, and nobody sees."""
    return torch.nn.functional.hardshrink(x, 1e-30)


def _split(length: int) -> tuple[int, int]:
    """A power of two near the root of a length, and how many of it cover the length."""
    stride = 1 << math.ceil(math.log2(length) / 2)
    return stride, -(-length // stride)
