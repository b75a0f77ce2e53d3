"""S4: a linear state space a channel, trained as a convolution and run as a recurrence."""

from __future__ import annotations

import functools
import math
from typing import Literal

import torch
from scipy.fft import next_fast_len
from torch import Tensor, nn

from panlearn.statespace._systems import DenseSystem, DiagonalSystem, Rule, System
from panlearn.statespace.hippo import NormalPlusLowRank, normal_plus_low_rank


class S4(nn.Module):
    r"""A layer of linear state spaces that remember long pasts, one for each channel.

    .. math::
        x'(t) = A x(t) + B u(t), \qquad y(t) = C x(t) + D u(t), \qquad A = \Lambda - p p^\top

    which in steps of size :math:`\Delta` is a recurrence, and for a whole sequence a convolution:

    .. math::
        x_k = \bar A x_{k-1} + \bar B u_k, \quad y_k = C x_k + D u_k
        \qquad \Longleftrightarrow \qquad
        y = \bar K * u + D u, \quad \bar K_j = C \bar A^j \bar B

    Parameters
    ----------
    n_channels : int
        Numbers h in a step, each with a system of its own.
    state_size : int, default=64
        Numbers in the state of a channel, even.
    form : {"nplr", "diagonal"}, default="nplr"
        A normal matrix plus one of rank one, as in S4, or the normal matrix alone, as in S4D.
    rule : {"bilinear", "zoh"} or None, default=None
        The trapezoidal rule, or inputs that are held within a step. None takes the first for
        "nplr" and the second for "diagonal", as the papers do.
    step_range : tuple of float, default=(0.001, 0.1)
        Between which sizes of steps the channels start; the logarithms are uniform.

    Notes
    -----
    The systems start as HiPPO-LegS, see `hippo`; the diagonal form with half of B, with which it
    does the same for many states. What is learned is the decay and the frequency of each pair of
    states, p, B, C, D and the size of steps.

    The papers find the kernel of the first form by Cauchy matrices at the roots of unity. Here both
    forms use powers of the matrix, some of which make all others by one product: on a CPU that is
    less work than the transforms, :math:`O(h (n^3 \log L + n L))` for "nplr" and :math:`O(h n L)`
    for "diagonal". It has no division that could cancel, and is exact for any length. Powers and
    the state of the recurrence are in double precision: their rounding errors grow with the number
    of steps.

    References
    ----------
    Gu, A., Goel, K. and Re, C. (2022). Efficiently modeling long sequences with structured state
    spaces. ICLR. https://arxiv.org/abs/2111.00396

    Gu, A., Gupta, A., Goel, K. and Re, C. (2022). On the parameterization and initialization of
    diagonal state space models. NeurIPS. https://arxiv.org/abs/2206.11893

    Examples
    --------
    The convolution and the recurrence are the same function.

    >>> import torch
    >>> from panlearn.statespace import S4
    >>> layer, u = S4(3, 8), torch.randn(1, 50, 3)
    >>> y, state = layer(u), None
    >>> system = layer.system()
    >>> for k in range(50):
    ...     last, state = layer.step(u[:, k], state, system)
    >>> torch.allclose(y[:, -1], last, atol=1e-5)
    True
    """

    def __init__(
        self,
        n_channels: int,
        state_size: int = 64,
        *,
        form: Literal["nplr", "diagonal"] = "nplr",
        rule: Rule | None = None,
        step_range: tuple[float, float] = (1e-3, 1e-1),
    ) -> None:
        super().__init__()
        if n_channels < 1:
            raise ValueError(f"n_channels must be at least 1; got {n_channels}")
        if form not in ("nplr", "diagonal"):
            raise ValueError(f"form must be 'nplr' or 'diagonal'; got {form!r}")
        if rule not in ("bilinear", "zoh", None):
            raise ValueError(f"rule must be 'bilinear', 'zoh' or None; got {rule!r}")
        if state_size < 2 or state_size % 2:
            raise ValueError(f"state_size must be even, for pairs of states; got {state_size}")
        low, high = _logarithms(step_range)
        self.form = form
        self.rule: Rule = rule or ("bilinear" if form == "nplr" else "zoh")
        start = _start(state_size)

        def each(values: object) -> nn.Parameter:
            same = torch.as_tensor(values, dtype=torch.get_default_dtype())
            return nn.Parameter(same.expand(n_channels, *same.shape).clone())

        self.log_step = nn.Parameter(low + (high - low) * torch.rand(n_channels))
        self.log_decay = each([math.log(0.5)] * (state_size // 2))
        self.frequency = each(start.frequency)
        self.B = each(start.B if form == "nplr" else start.B / 2)
        self.C = nn.Parameter(torch.randn(n_channels, state_size))
        if form == "nplr":
            self.low_rank = each(start.low_rank)
        self.D = nn.Parameter(torch.randn(n_channels))

    def system(self) -> System:
        """Give the systems in steps, in double precision.

        Returns
        -------
        DiagonalSystem or DenseSystem
            Matrices A, B and C of each channel, for `step`.
        """
        step, decay = self.log_step.double().exp(), self.log_decay.double().exp()
        frequency, B, C = self.frequency.double(), self.B.double(), self.C.double()
        if self.form == "diagonal":
            pairs = torch.view_as_complex(B.unflatten(-1, (-1, 2)))
            # a state z of two numbers is read by C z = 2 Re(c (z_1 + i z_2)), c = (C_1 - i C_2) / 2
            read = torch.view_as_complex(C.unflatten(-1, (-1, 2))).conj() / 2
            return DiagonalSystem.of(torch.complex(-decay, frequency), pairs, read, step, self.rule)
        p = self.low_rank.double()
        if self.rule == "bilinear":
            return DenseSystem.bilinear(torch.complex(-decay, frequency), p, B, C, step)
        even = torch.arange(0, p.shape[-1], 2, device=p.device)
        A = -p[:, :, None] * p[:, None]
        twist = torch.zeros_like(A)
        twist[:, even, even] = twist[:, even + 1, even + 1] = -decay
        twist[:, even, even + 1], twist[:, even + 1, even] = -frequency, frequency
        return DenseSystem.held(A + twist, B, C, step)

    def kernel(self, length: int) -> Tensor:
        """Give the first values of the kernel of each channel.

        Parameters
        ----------
        length : int
            How many values.

        Returns
        -------
        tensor of shape (n_channels, length)
        """
        return self.system().kernel(length, self.D.dtype)

    def forward(self, u: Tensor) -> Tensor:
        """Map whole sequences, from rest.

        Parameters
        ----------
        u : tensor of shape (n, T, n_channels)
            Sequences; what follows a step does not change it.

        Returns
        -------
        tensor of shape (n, T, n_channels)
        """
        length = u.shape[1]
        if not length:
            return u
        return convolve(u, self.kernel(length)) + self.D * u

    def step(
        self, u: Tensor, state: Tensor | None = None, system: System | None = None
    ) -> tuple[Tensor, Tensor]:
        """Take one step of the recurrence.

        Parameters
        ----------
        u : tensor of shape (n, n_channels)
            The input.
        state : tensor, default=None
            What the step before gave; None is rest.
        system : DiagonalSystem or DenseSystem, default=None
            What `system` gives, so that it is made once for all steps.

        Returns
        -------
        tuple of tensor
            The output of shape (n, n_channels), and the next state.
        """
        system = self.system() if system is None else system
        state = system.start(len(u)) if state is None else state
        y, state = system.step(u.double(), state)
        return y.to(u.dtype) + self.D * u, state


def convolve(u: Tensor, kernel: Tensor) -> Tensor:
    """Causal convolution along the steps of (n, T, h), by kernels (h, T), through the FFT."""
    length = u.shape[1]
    size = next_fast_len(2 * length - 1, real=True)  # zeros behind, so that nothing wraps around
    shape = torch.fft.rfft(kernel.to(u.dtype), size)
    product = torch.fft.rfft(u.transpose(1, 2), size) * shape
    return torch.fft.irfft(product, size)[..., :length].transpose(1, 2)


def _logarithms(step_range: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = (math.log(size) for size in step_range)
    except (TypeError, ValueError):
        low, high = math.nan, math.nan
    if not -math.inf < low <= high < math.inf:
        raise ValueError(
            f"step_range must be two sizes above zero, the smaller first; got {step_range!r}"
        )
    return low, high


@functools.lru_cache(maxsize=8)
def _start(state_size: int) -> NormalPlusLowRank:
    return normal_plus_low_rank(state_size)
