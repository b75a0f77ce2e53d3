"""Networks that see a noisy example and a time: a perceptron for tables, a U-Net for images."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F


class TimeAndCondition(nn.Module):
    """Features of a time, by waves of many lengths, and of a condition beside it."""

    def __init__(self, size: int, n_conditions: int, scale: float = 1.0) -> None:
        super().__init__()
        self.scale, self.n_waves = scale, 16
        self.layers = nn.Sequential(nn.Linear(2 * self.n_waves, size), nn.SiLU())
        self.condition = nn.Linear(n_conditions, size, bias=False) if n_conditions else None

    def forward(
        self, t: torch.Tensor, condition: torch.Tensor | None, like: torch.Tensor
    ) -> torch.Tensor:
        """Rows of features, in the floats of `like`."""
        lengths = torch.arange(self.n_waves, device=t.device, dtype=like.dtype) / self.n_waves
        waves = (self.scale * t.to(like.dtype))[:, None] * torch.exp(-math.log(1e4) * lengths)
        features = self.layers(torch.cat([waves.sin(), waves.cos()], dim=1))
        if self.condition is not None and condition is not None:
            features = features + self.condition(condition)
        return features


class PerceptronDenoiser(nn.Module):
    """Hidden layers with shortcuts, to each of which the features of time are added."""

    def __init__(
        self, n_in: int, hidden: tuple[int, ...], n_conditions: int, n_outputs: int, scale: float
    ) -> None:
        super().__init__()
        width = hidden[0]
        self.time = TimeAndCondition(width, n_conditions, scale)
        self.enter = nn.Linear(n_in, width)
        sizes = list(zip(hidden, hidden[1:] + hidden[-1:], strict=True))
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in sizes)
        self.shifts = nn.ModuleList(nn.Linear(width, b) for _, b in sizes)
        self.leave = nn.Linear(hidden[-1], n_outputs * n_in)
        self.n_outputs = n_outputs

    def forward(
        self, x: torch.Tensor, t: torch.Tensor, condition: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Outputs (n, n_outputs, d)."""
        features = self.time(t, condition, x)
        h = F.silu(self.enter(x) + features)
        for layer, shift in zip(self.layers, self.shifts, strict=True):
            new = F.silu(layer(h) + shift(features))
            h = h + new if new.shape == h.shape else new
        return self.leave(h).unflatten(1, (self.n_outputs, -1))


class Block(nn.Module):
    """Two convolutions with a shortcut; features, if any, shift the channels between them."""

    def __init__(self, n_in: int, n_out: int, n_features: int = 0) -> None:
        super().__init__()
        self.first = nn.Sequential(_norm(n_in), nn.SiLU(), nn.Conv2d(n_in, n_out, 3, padding=1))
        self.shift = nn.Linear(n_features, n_out) if n_features else None
        self.second = nn.Sequential(_norm(n_out), nn.SiLU(), nn.Conv2d(n_out, n_out, 3, padding=1))
        self.shortcut = nn.Conv2d(n_in, n_out, 1) if n_in != n_out else nn.Identity()

    def forward(self, x: torch.Tensor, features: torch.Tensor | None = None) -> torch.Tensor:
        """Maps (n, n_out, h, w)."""
        h = self.first(x)
        if self.shift is not None:
            h = h + self.shift(features)[..., None, None]
        return self.second(h) + self.shortcut(x)


class UNet(nn.Module):
    """Blocks down to half the size each, up again, with what was there on the way down beside."""

    def __init__(
        self,
        channels: int,
        hidden: tuple[int, ...],
        n_conditions: int,
        n_outputs: int,
        scale: float,
    ) -> None:
        super().__init__()
        n_features = 4 * hidden[0]
        self.time = TimeAndCondition(n_features, n_conditions, scale)
        self.enter = nn.Conv2d(channels, hidden[0], 3, padding=1)
        before = (hidden[0], *hidden[:-1])
        self.down = nn.ModuleList(
            Block(a, b, n_features) for a, b in zip(before, hidden, strict=True)
        )
        self.middle = Block(hidden[-1], hidden[-1], n_features)
        self.up = nn.ModuleList(
            Block(2 * b, a, n_features) for a, b in zip(before[::-1], hidden[::-1], strict=True)
        )
        self.leave = nn.Sequential(
            _norm(hidden[0]), nn.SiLU(), nn.Conv2d(hidden[0], n_outputs * channels, 3, padding=1)
        )
        self.n_outputs = n_outputs

    def forward(
        self, x: torch.Tensor, t: torch.Tensor, condition: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Outputs (n, n_outputs, c, h, w)."""
        features = self.time(t, condition, x)
        h, kept = self.enter(x), []
        for block in self.down:
            h = block(h, features)
            kept.append(h)
            if min(h.shape[2:]) > 1:
                h = F.avg_pool2d(h, 2, ceil_mode=True)
        h = self.middle(h, features)
        for block, beside in zip(self.up, kept[::-1], strict=True):
            h = F.interpolate(h, size=beside.shape[2:])
            h = block(torch.cat([h, beside], dim=1), features)
        return self.leave(h).unflatten(1, (self.n_outputs, -1))


def _norm(channels: int) -> nn.Module:
    return nn.GroupNorm(math.gcd(8, channels), channels)
