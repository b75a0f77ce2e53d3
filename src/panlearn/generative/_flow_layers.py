r"""Layers of normalising flows: invertible maps of rows whose log determinant is known.

A layer has ``forward(x, context)``, from data towards noise, which gives the rows and
:math:`\log|\det \partial z / \partial x|` of each; and ``inverse(z, context)``. `Flow` is a chain
of them with a standard normal distribution at its end.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from panlearn.generative._univariate import Pair, Univariate, bisect
from panlearn.neural._layers import _ACTIVATIONS, Activation

Context = torch.Tensor | None


class Flow(nn.Module):
    r"""A chain of layers from data to standard normal noise.

    .. math:: \log p(x) = \log N(z \mid 0, I) + \sum_l \log \Bigl|\det
              \frac{\partial z_l}{\partial z_{l-1}}\Bigr|
    """

    def __init__(self, layers: Sequence[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: torch.Tensor, context: Context = None) -> Pair:
        """Map rows to noise; the log determinants come along."""
        total = x.new_zeros(len(x))
        for layer in self.layers:
            x, log_determinant = layer(x, context)
            total = total + log_determinant
        return x, total

    def inverse(self, z: torch.Tensor, context: Context = None) -> torch.Tensor:
        """Map noise to rows."""
        for layer in reversed(self.layers):
            z = layer.inverse(z, context)  # type: ignore[operator]
        return z

    def log_density(self, x: torch.Tensor, context: Context = None) -> torch.Tensor:
        """The log density of each row."""
        z, log_determinant = self(x, context)
        return log_normal(z) + log_determinant

    @torch.no_grad()
    def begin(self, x: torch.Tensor, context: Context = None) -> None:
        """Let layers that start from data see them as they arrive there."""
        for layer in self.layers:
            if isinstance(layer, ActNorm):
                layer.begin(x)
            x, _ = layer(x, context)


def log_normal(z: torch.Tensor) -> torch.Tensor:
    """The log density of rows under the standard normal distribution."""
    return -0.5 * (z.square().sum(dim=1) + z.shape[1] * math.log(2 * math.pi))


class Permutation(nn.Module):
    """Put columns in another order."""

    order: torch.Tensor
    back: torch.Tensor

    def __init__(self, order: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("order", order)
        self.register_buffer("back", order.argsort())

    def forward(self, x: torch.Tensor, context: Context = None) -> Pair:
        """Reorder; volumes stay as they are."""
        return x[:, self.order], x.new_zeros(())

    def inverse(self, z: torch.Tensor, context: Context = None) -> torch.Tensor:
        """Put them back."""
        return z[:, self.back]


class ActNorm(nn.Module):
    r"""A shift and a scale of each column, which start by standardising the first data they see.

    .. math:: z = e^{s} (x - m)
    """

    def __init__(self, features: int) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(features))
        self.log_scale = nn.Parameter(torch.zeros(features))

    @torch.no_grad()
    def begin(self, x: torch.Tensor) -> None:
        """Start from the mean and the deviation of the columns."""
        deviation, mean = torch.std_mean(x, dim=0, correction=0)
        self.shift.copy_(mean)
        self.log_scale.copy_(-deviation.clamp_min(1e-3).log())

    def forward(self, x: torch.Tensor, context: Context = None) -> Pair:
        """Standardise."""
        return (x - self.shift) * self.log_scale.exp(), self.log_scale.sum()

    def inverse(self, z: torch.Tensor, context: Context = None) -> torch.Tensor:
        """Put scale and mean back."""
        return torch.addcmul(self.shift, z, torch.exp(-self.log_scale))


class Coupling(nn.Module):
    r"""Keep one part of the columns and map the other by what a network makes of the kept one.

    .. math:: z_a = x_a, \qquad z_b = f(x_b;\ \theta(x_a, c))

    Parameters
    ----------
    features, context : int
        Columns of rows, and of what they are conditioned on.
    kept : slice
        The first columns or the last ones.
    univariate : Univariate
        :math:`f`.
    hidden, activation
        Of the network :math:`\theta`.
    """

    def __init__(
        self,
        features: int,
        context: int,
        kept: slice,
        univariate: Univariate,
        hidden: Sequence[int],
        activation: Activation,
    ) -> None:
        super().__init__()
        low, high, _ = kept.indices(features)
        self.first, self.size = low == 0, high - low
        self.univariate = univariate
        n_in = self.size + context
        sizes = (max(n_in, 1), *hidden, (features - self.size) * univariate.n_parameters)
        self.conditioner = perceptron(sizes, activation)
        self.blind = n_in == 0

    def _parts(self, x: torch.Tensor) -> Pair:
        """The kept columns and the others."""
        if self.first:
            return x[:, : self.size], x[:, self.size :]
        return x[:, -self.size :] if self.size else x[:, :0], x[:, : x.shape[1] - self.size]

    def _whole(self, kept: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        return torch.cat([kept, other] if self.first else [other, kept], dim=1)

    def _conditioned(self, kept: torch.Tensor, context: Context) -> torch.Tensor:
        if self.blind:  # one column: there is nothing to look at
            kept = kept.new_zeros(len(kept), 1)
        elif context is not None:
            kept = torch.cat([kept, context], dim=1)
        return self.conditioner(kept).unflatten(1, (-1, self.univariate.n_parameters))

    def forward(self, x: torch.Tensor, context: Context = None) -> Pair:
        """Map the part that is not kept."""
        kept, other = self._parts(x)
        mapped, log_slope = self.univariate.forward(other, self._conditioned(kept, context))
        return self._whole(kept, mapped), log_slope.sum(dim=1)

    def inverse(self, z: torch.Tensor, context: Context = None) -> torch.Tensor:
        """The kept part is there, and with it the parameters of the other."""
        kept, other = self._parts(z)
        return self._whole(kept, self.univariate.inverse(other, self._conditioned(kept, context)))


class Autoregressive(nn.Module):
    r"""Map each column by what a masked network makes of those before it.

    .. math:: z_i = f(x_i;\ \theta_i(x_{<i}, c))

    Parameters
    ----------
    order : tensor of shape (features,)
        The rank of each column.
    context : int
        Columns that rows are conditioned on.
    univariate : Univariate
        :math:`f`.
    hidden, activation
        Of the masked network :math:`\theta`.

    Notes
    -----
    A hidden unit of degree m sees the first m columns; degrees go round. The inverse goes column by
    column and works out only the units whose inputs have just become known, so that all of it
    multiplies no more numbers than one pass forward.
    """

    order: torch.Tensor

    def __init__(
        self,
        order: torch.Tensor,
        context: int,
        univariate: Univariate,
        hidden: Sequence[int],
        activation: Activation,
    ) -> None:
        super().__init__()
        d, n = len(order), univariate.n_parameters
        self.register_buffer("order", order)
        self.univariate, self.activation = univariate, _ACTIVATIONS[activation]()
        lowest = 0 if context else 1  # a unit that sees nothing is of no use
        inputs = torch.cat([order + 1, torch.zeros(context, dtype=order.dtype)])
        degrees = [torch.arange(h) % max(d - lowest, 1) + lowest for h in hidden]
        outputs = order.repeat_interleave(n)
        self.linears = nn.ModuleList(
            MaskedLinear(after[:, None] >= before)
            for before, after in itertools.pairwise([inputs, *degrees, outputs])
        )
        self._degrees = degrees
        self._n = n

    def forward(self, x: torch.Tensor, context: Context = None) -> Pair:
        """Map all columns at once."""
        h = x if context is None else torch.cat([x, context], dim=1)
        for linear in self.linears[:-1]:
            h = self.activation(linear(h))
        parameters = self.linears[-1](h).unflatten(1, (-1, self._n))
        z, log_slope = self.univariate.forward(x, parameters)
        return z, log_slope.sum(dim=1)

    def inverse(self, z: torch.Tensor, context: Context = None) -> torch.Tensor:
        """Find the columns one after the other."""
        n, d = z.shape
        n_context = 0 if context is None else context.shape[1]
        sequence = self.order.argsort()
        # Units in the order in which they can be worked out, those of each layer one a row.
        places = [torch.arange(d, d + n_context, device=z.device), sequence]
        by_degree = [torch.cat(places), *(m.argsort(stable=True) for m in self._degrees)]
        linears: Any = self.linears
        layers: list[Any] = [
            ((m.weight * m.mask)[:, inputs], m.bias[:, None])
            for m, inputs in zip(linears, by_degree, strict=True)
        ]
        states = [z.new_empty(len(units), n) for units in by_degree]
        if context is not None:
            states[0][:n_context] = context.T
        hidden = [
            (weight[units], bias[units])
            for (weight, bias), units in zip(layers[:-1], by_degree[1:], strict=True)
        ]
        weight, bias = layers[-1]
        before = [0] * len(hidden)
        for rank, column in enumerate(sequence.tolist()):
            known = n_context + rank
            for level, (w, b) in enumerate(hidden):
                low, high = before[level], int((self._degrees[level] <= rank).sum())
                if high > low:
                    part = torch.addmm(b[low:high], w[low:high, :known], states[level][:known])
                    part = self.activation(part)
                    if len(part) == len(w):  # all at once, as of two columns: no copy
                        states[level + 1] = part
                    else:
                        states[level + 1][low:high] = part
                before[level] = known = high
            rows = slice(column * self._n, (column + 1) * self._n)
            parameters = torch.addmm(bias[rows], weight[rows, :known], states[-1][:known])
            found = self.univariate.inverse(z[:, column], parameters.T, column)
            states[0][n_context + rank] = found
        return states[0][n_context + self.order].T.contiguous()


class MaskedLinear(nn.Linear):
    """A linear layer in which some outputs do not see some inputs."""

    mask: torch.Tensor

    def __init__(self, mask: torch.Tensor) -> None:
        super().__init__(mask.shape[1], mask.shape[0])
        self.register_buffer("mask", mask.to(self.weight.dtype), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Multiply by the weights that are there."""
        return functional.linear(x, self.weight * self.mask, self.bias)


class MonotoneNetwork(nn.Module):
    r"""A network for each column that increases in it, steered by signals that others send.

    .. math::
        h_0 = (x, s), \quad h_l = \phi(|W_l| h_{l-1} + b_l), \quad z = |W_L| h_{L-1} + b_L

    with :math:`\phi` the ELU on one half of the units and :math:`-\mathrm{ELU}(-\cdot)` on the
    other, so that the map goes on to infinity on both sides. The slope is carried along.

    Parameters
    ----------
    features : int
        Columns.
    signal : int
        Signals a column.
    hidden : sequence of int
        Units of the hidden layers, even numbers.
    """

    def __init__(self, features: int, signal: int, hidden: Sequence[int]) -> None:
        super().__init__()
        self.n_parameters = signal
        sizes = itertools.pairwise((1 + signal, *hidden, 1))
        self.weights = nn.ParameterList()
        self.biases = nn.ParameterList()
        for n_in, n_out in sizes:
            limit = 1 / math.sqrt(n_in)
            self.weights.append(torch.empty(features, n_out, n_in).uniform_(-limit, limit))
            self.biases.append(torch.empty(features, n_out).uniform_(-limit, limit))

    def forward(self, x: torch.Tensor, parameters: torch.Tensor) -> Pair:
        """Values and log slopes of rows (n, features), with parameters (n, features, signal)."""
        z, slope = self._run(x.T, parameters.transpose(0, 1), slice(None))
        return z.T, slope.log().T

    def inverse(
        self, z: torch.Tensor, parameters: torch.Tensor, column: int | None = None
    ) -> torch.Tensor:
        """Bisect, on an interval that is doubled until it holds the answer."""
        if column is not None:
            z, parameters = z[:, None], parameters[:, None]
        chosen = slice(None) if column is None else slice(column, column + 1)
        target, signals = z.T, parameters.transpose(0, 1)

        def value(x: torch.Tensor) -> torch.Tensor:
            return self._run(x, signals, chosen)[0]

        reach = torch.full_like(target, 10.0)
        for _ in range(60):
            short = (value(reach) < target) | (value(-reach) > target)
            if not short.any():
                break
            reach = torch.where(short, 2 * reach, reach)
        found = bisect(value, target, -reach, reach).T
        return found if column is None else found[:, 0]

    def _run(self, x: torch.Tensor, signals: torch.Tensor, columns: slice) -> Pair:
        """Values and slopes of (features, n), by matrices of each feature."""
        h = torch.cat([x.unsqueeze(-1), signals], dim=-1)
        slope: torch.Tensor | None = None
        last = len(self.weights) - 1
        for i, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            weight = w[columns].abs().transpose(1, 2)
            h = torch.baddbmm(b[columns].unsqueeze(1), h, weight)
            slope = weight[:, :1] if slope is None else slope @ weight
            if i < last:
                half = h.shape[-1] // 2
                up, down = h[..., :half], h[..., half:]
                slope = slope * torch.cat([up.clamp_max(0), -down.clamp_min(0)], dim=-1).exp()
                h = torch.cat([functional.elu(up), -functional.elu(-down)], dim=-1)
        assert slope is not None
        return h.squeeze(-1), slope.expand_as(h).squeeze(-1)


def perceptron(sizes: Sequence[int], activation: Activation) -> nn.Sequential:
    """Affine layers with an activation between them, as PyTorch draws their first weights."""
    layers: list[nn.Module] = []
    for n_in, n_out in itertools.pairwise(sizes):
        layers += [nn.Linear(n_in, n_out), _ACTIVATIONS[activation]()]
    return nn.Sequential(*layers[:-1])
