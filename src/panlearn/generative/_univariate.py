r"""Increasing functions of one number: what a flow does to a column, given parameters from others.

Each has ``n_parameters``, the numbers that say which function it is; ``forward(x, parameters)``,
which gives the value and the logarithm of the slope; and ``inverse(z, parameters)``. Shapes are
(...) for numbers and (..., n_parameters) for parameters. All of them map the line onto the line.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch.nn import functional

from panlearn.core.value import Value

Pair = tuple[torch.Tensor, torch.Tensor]


class Univariate(Protocol):
    """An increasing map of the line onto itself, one for each column."""

    @property
    def n_parameters(self) -> int:
        """Numbers that say which map it is, for each column."""
        ...

    def forward(self, x: torch.Tensor, parameters: torch.Tensor) -> Pair:
        """Map data towards noise; the logarithm of the slope comes along."""
        ...

    def inverse(
        self, z: torch.Tensor, parameters: torch.Tensor, column: int | None = None
    ) -> torch.Tensor:
        """Map noise back; with `column` the numbers are of that one alone."""
        ...


@dataclass(frozen=True)
class AffineTransform(Value):
    r"""A shift and a positive scale.

    .. math:: z = e^{a} x + b, \qquad a = \frac{\alpha}{1 + |\alpha / \log s|}

    Parameters
    ----------
    slope : float, default=0.001
        The smallest slope s; the largest is 1 / s.

    Notes
    -----
    The parameters of a column are :math:`b` and :math:`\alpha`, in this order. A number costs
    :math:`O(1)`.

    References
    ----------
    Dinh, Sohl-Dickstein, Bengio (2017). Density estimation using Real NVP. ICLR. arXiv:1605.08803

    Examples
    --------
    >>> import torch
    >>> from panlearn.generative import AffineTransform
    >>> z, log_slope = AffineTransform().forward(torch.ones(1), torch.tensor([[2.0, 0.0]]))
    >>> float(z), float(log_slope)
    (3.0, 0.0)
    """

    slope: float = 1e-3

    def __post_init__(self) -> None:
        _require_slope(self.slope)

    @property
    def n_parameters(self) -> int:
        """A shift and a scale."""
        return 2

    def forward(self, x: torch.Tensor, parameters: torch.Tensor) -> Pair:
        """Scale and shift."""
        log_slope = soft_clip(parameters[..., 1], -math.log(self.slope))
        return torch.addcmul(parameters[..., 0], x, log_slope.exp()), log_slope

    def inverse(
        self, z: torch.Tensor, parameters: torch.Tensor, column: int | None = None
    ) -> torch.Tensor:
        """Take the shift away and divide by the scale."""
        log_slope = soft_clip(parameters[..., 1], -math.log(self.slope))
        return (z - parameters[..., 0]) * torch.exp(-log_slope)


@dataclass(frozen=True)
class SplineTransform(Value):
    r"""A monotone rational-quadratic spline on :math:`[-B, B]`, and the identity outside.

    .. math::
        z = z_k + \frac{(z_{k+1} - z_k)\,(s \xi^2 + d_k \xi (1 - \xi))}
        {s + (d_k + d_{k+1} - 2 s)\, \xi (1 - \xi)}, \qquad
        \xi = \frac{x - x_k}{x_{k+1} - x_k}, \quad s = \frac{z_{k+1} - z_k}{x_{k+1} - x_k}

    Parameters
    ----------
    bins : int, default=8
        Pieces of the spline.
    bound : float, default=5.0
        :math:`B`. Columns are standardised, so that few rows lie beyond 5.
    slope : float, default=0.001
        The smallest ratio of two bins, and the smallest slope at a knot.

    Notes
    -----
    The parameters of a column are the logarithms of `bins` widths, of as many heights and of the
    slopes at the inner knots, softly clipped. Numbers are put into :math:`[-B, B]` before the
    spline sees them, so that none is worked out where it is not defined. The inverse solves a
    quadratic equation. A number costs :math:`O(K)` for K bins.

    References
    ----------
    Durkan, Bekasov, Murray, Papamakarios (2019). Neural spline flows. NeurIPS. arXiv:1906.04032

    Examples
    --------
    >>> import torch
    >>> from panlearn.generative import SplineTransform
    >>> spline, x = SplineTransform(bins=4), torch.tensor([-7.0, 0.3, 2.0])
    >>> parameters = torch.randn(3, spline.n_parameters, generator=torch.Generator().manual_seed(0))
    >>> z, log_slope = spline.forward(x, parameters)
    >>> bool(torch.allclose(spline.inverse(z, parameters), x, atol=1e-5)), float(z[0])
    (True, -7.0)
    """

    bins: int = 8
    bound: float = 5.0
    slope: float = 1e-3

    def __post_init__(self) -> None:
        _require_slope(self.slope)
        if self.bins < 1 or not self.bound > 0:
            raise ValueError(
                f"a spline with bins={self.bins} and bound={self.bound} is none: both must be "
                "above zero"
            )

    @property
    def n_parameters(self) -> int:
        """Widths, heights and slopes at the inner knots."""
        return 3 * self.bins - 1

    def forward(self, x: torch.Tensor, parameters: torch.Tensor) -> Pair:
        """Map by the piece that x lies in."""
        across, up, slopes = self._knots(parameters)
        inside = x.abs() < self.bound
        u = x.clamp(-self.bound, self.bound)
        x0, x1, z0, z1, d0, d1 = _piece(across, u, across, up, slopes)
        width, height = x1 - x0, z1 - z0
        s, xi = height / width, (u - x0) / width
        rest = xi * (1 - xi)
        denominator = s + (d0 + d1 - 2 * s) * rest
        z = z0 + height * (s * xi.square() + d0 * rest) / denominator
        rise = d1 * xi.square() + 2 * s * rest + d0 * (1 - xi).square()
        log_slope = rise.log() + 2 * (s / denominator).log()
        return torch.where(inside, z, x), torch.where(inside, log_slope, torch.zeros_like(x))

    def inverse(
        self, z: torch.Tensor, parameters: torch.Tensor, column: int | None = None
    ) -> torch.Tensor:
        """Solve for the place in the piece that z lies in."""
        across, up, slopes = self._knots(parameters)
        v = z.clamp(-self.bound, self.bound)
        x0, x1, z0, z1, d0, d1 = _piece(up, v, across, up, slopes)
        height, above = z1 - z0, v - z0
        s = height / (x1 - x0)
        bend = above * (d0 + d1 - 2 * s)
        a, b, c = height * (s - d0) + bend, height * d0 - bend, -s * above
        root = (b.square() - 4 * a * c).clamp_min(0).sqrt()
        x = x0 + (x1 - x0) * (2 * c / (-b - root))  # the form that does not cancel
        return torch.where(z.abs() < self.bound, x, z)

    def _knots(self, parameters: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Knots on both axes, (..., bins + 1), and the slopes there."""
        limit = -math.log(self.slope)
        sizes = soft_clip(parameters[..., : 2 * self.bins], limit / 2)
        steps = sizes.unflatten(-1, (2, self.bins)).softmax(dim=-1)
        ends = self.bound * (2 * functional.pad(steps.cumsum(dim=-1)[..., :-1], (1, 0)) - 1)
        across, up = functional.pad(ends, (0, 1), value=self.bound).unbind(dim=-2)
        inner = soft_clip(parameters[..., 2 * self.bins :], limit)
        return across, up, functional.pad(inner, (1, 1)).exp()


def _piece(knots: torch.Tensor, at: torch.Tensor, *tables: torch.Tensor) -> list[torch.Tensor]:
    """The values of tables at both ends of the piece of `knots` that numbers lie in."""
    inner = knots[..., 1:-1].detach().contiguous()
    index = torch.searchsorted(inner, at.detach().unsqueeze(-1).contiguous())
    ends = torch.cat([index, index + 1], dim=-1)
    return [end for table in tables for end in table.gather(-1, ends).unbind(dim=-1)]


@dataclass(frozen=True)
class SumOfSquaresTransform(Value):
    r"""The integral of a sum of squared polynomials, and straight on beyond :math:`[-B, B]`.

    .. math::
        z = c + \int_0^{x} \frac1K \sum_{k=1}^{K}
        \Bigl(1 + \sum_{l=0}^{L} a_{kl} \bigl(\tfrac{u}{B}\bigr)^{l}\Bigr)^{2} + s \; du

    Parameters
    ----------
    polynomials : int, default=3
        :math:`K`.
    degree : int, default=4
        :math:`L`.
    bound : float, default=10.0
        :math:`B`. Beyond it the map goes on with the slope that it has there, which keeps far rows
        finite and the map onto the whole line.
    slope : float, default=0.001
        The smallest slope s.

    Notes
    -----
    The parameters of a column are the rows of :math:`a`, then :math:`c`. With
    :math:`v = (1, u, \ldots, u^L)` the integral is :math:`u\, v^\top (G \circ H)\, v` for
    :math:`G = \frac1K \sum_k a_k a_k^\top` and the Hilbert matrix :math:`H`, without quadrature.
    The inverse is found by bisection, to the last digits of the floats.

    References
    ----------
    Jaini, Selby, Yu (2019). Sum-of-squares polynomial flow. ICML. arXiv:1905.02325

    Examples
    --------
    >>> import torch
    >>> from panlearn.generative._univariate import SumOfSquaresTransform
    >>> cubic = SumOfSquaresTransform(polynomials=1, degree=1, bound=1.0, slope=1e-3)
    >>> z, _ = cubic.forward(torch.tensor([0.5]), torch.tensor([[-1.0, 1.0, 0.0]]))
    >>> round(float(z), 4)  # the integral of u^2, and 0.001 u
    0.0422
    """

    polynomials: int = 3
    degree: int = 4
    bound: float = 10.0
    slope: float = 1e-3

    def __post_init__(self) -> None:
        _require_slope(self.slope)
        if self.polynomials < 1 or self.degree < 0 or not self.bound > 0:
            raise ValueError(
                f"polynomials={self.polynomials} and bound={self.bound} must be above zero, and "
                f"degree={self.degree} not below it"
            )

    @property
    def n_parameters(self) -> int:
        """Coefficients of the polynomials, and a constant."""
        return self.polynomials * (self.degree + 1) + 1

    def forward(self, x: torch.Tensor, parameters: torch.Tensor) -> Pair:
        """Integrate to x."""
        a, constant = self._coefficients(parameters), parameters[..., -1]
        z, slope = self._integral(x, a)
        return z + constant, slope.log()

    def inverse(
        self, z: torch.Tensor, parameters: torch.Tensor, column: int | None = None
    ) -> torch.Tensor:
        """Bisect inside the bound; beyond it the map is straight."""
        a, target = self._coefficients(parameters), z - parameters[..., -1]
        edge = torch.full_like(target, self.bound)
        inner = bisect(lambda x: self._integral(x, a)[0], target, -edge, edge)
        end = torch.copysign(edge, inner)
        value, slope = self._integral(end, a)
        beyond = (target - value) / slope
        return torch.where(beyond * end > 0, end + beyond, inner)

    def _coefficients(self, parameters: torch.Tensor) -> torch.Tensor:
        a = parameters[..., :-1].unflatten(-1, (self.polynomials, self.degree + 1))
        return a + functional.pad(a.new_ones(1), (0, self.degree))  # the one of the formula

    def _integral(self, x: torch.Tensor, a: torch.Tensor) -> Pair:
        near = x.clamp(-self.bound, self.bound)
        u = near / self.bound
        exponents = torch.arange(self.degree + 1, device=x.device)
        v = u.unsqueeze(-1) ** exponents
        hilbert = 1 / (1 + exponents + exponents[:, None]).to(x.dtype)
        scaled = a * v.unsqueeze(-2)  # the terms of each polynomial at u
        square = torch.einsum("...ki,ij,...kj->...", scaled, hilbert, scaled)
        slope = scaled.sum(dim=-1).square().mean(dim=-1) + self.slope
        z = near * (square / self.polynomials + self.slope)
        return z + (x - near) * slope, slope


def soft_clip(x: torch.Tensor, bound: float) -> torch.Tensor:
    """Bring numbers smoothly into (-bound, bound), near zero as they are."""
    return x / (1 + x.abs() / bound)


def bisect(
    increasing: Callable[[torch.Tensor], torch.Tensor],
    target: torch.Tensor,
    low: torch.Tensor,
    high: torch.Tensor,
) -> torch.Tensor:
    """Solve ``increasing(x) = target`` on [low, high], to the last digits of the floats."""
    halvings = 36 if target.dtype == torch.float32 else 68
    for _ in range(halvings):
        middle = low + (high - low) / 2
        below = increasing(middle) < target
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
    return low + (high - low) / 2


def _require_slope(slope: float) -> None:
    if not 0 < slope < 1:
        raise ValueError(f"slope={slope!r} must lie between 0 and 1")
