r"""Layers of a network for images, as values: what they do to a shape, and the module they build.

.. math::
    (w \star x)_{m i j} = b_m + \sum_{c, k, l} w_{m c k l}\, x_{c,\, s i + k - p,\, s j + l - p},
    \qquad
    n' = \Bigl\lfloor \frac{n + 2 p - a}{s} \Bigr\rfloor + 1

A convolution with kernels of size a, stride s and padding p has maps of :math:`n'` pixels along
an axis of n, as has pooling; it is the cross-correlation that every deep-learning library
computes. ``layer.shape((c, h, w))`` gives the shape of what comes out, ``layer.build((c, h, w))``
the PyTorch module. A size, a stride or a padding is one number, or a pair for height and width.
What has no numbers is a word: ``"relu"``, ``"tanh"``, ``"sigmoid"``, ``"gelu"``, ``"batch_norm"``,
``"flatten"`` and ``"global_pool"``, the mean of each map. `network` gives the stacks with a name.

A convolution costs :math:`O(m c \, a^2 n'^2)` an image for m maps made of c.

References
----------
Y. LeCun, L. Bottou, Y. Bengio and P. Haffner (1998). Gradient-based learning applied to document
recognition. Proceedings of the IEEE 86(11). doi:10.1109/5.726791

A. Krizhevsky, I. Sutskever and G. E. Hinton (2012). ImageNet classification with deep
convolutional neural networks. NeurIPS. doi:10.1145/3065386

K. He, X. Zhang, S. Ren and J. Sun (2016). Deep residual learning for image recognition. CVPR.
doi:10.1109/CVPR.2016.90

Examples
--------
>>> from panlearn.neural.layers import Conv, Linear, Pool, network, shapes
>>> Conv(6, 5, padding=0).shape((1, 32, 32))
(6, 28, 28)
>>> shapes([Conv(8, 3), "relu", Pool(2), "flatten", Linear(10)], (1, 8, 8))
[(8, 8, 8), (8, 8, 8), (8, 4, 4), (128,), (10,)]
>>> shapes(network("lenet"), (1, 32, 32))[-2:]
[(84,), (84,)]
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import OrderedDict
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import torch
from torch import nn

from panlearn.core.value import Value
from panlearn.neural import _step

__all__ = ["Conv", "Dropout", "Linear", "Pool", "Residual", "network", "shapes", "stack"]

Shape = tuple[int, ...]
Size = int | tuple[int, int]


class Layer(Value):
    """What a stack is made of."""

    @abstractmethod
    def shape(self, shape: Shape) -> Shape:
        """The shape of the output, without the number of images; ValueError if there is none."""

    @abstractmethod
    def build(self, shape: Shape) -> nn.Module:
        """The module for inputs of this shape."""


@dataclass(frozen=True)
class Conv(Layer):
    r"""A convolution to so many channels, :math:`b_m + \sum_c w_{mc} \star x_c`.

    Without a padding it is half the kernel, which at stride one and odd size keeps the size.
    """

    channels: int
    size: Size
    _: KW_ONLY
    stride: Size = 1
    padding: Size | None = None

    def __post_init__(self) -> None:
        _counts(self, "channels")
        _pairs(self, "size", "stride")
        if self.padding is not None:
            _pairs(self, "padding", least=0)

    def shape(self, shape: Shape) -> Shape:
        """Maps of floor((n + 2p - a) / s) + 1 pixels along each axis."""
        return self.channels, *_slid(shape, self.size, self.stride, self._padding())

    def build(self, shape: Shape) -> nn.Module:
        """PyTorch's Conv2d."""
        size, stride = _pair(self.size), _pair(self.stride)
        return nn.Conv2d(shape[0], self.channels, size, stride, self._padding())

    def _padding(self) -> tuple[int, int]:
        if self.padding is not None:
            return _pair(self.padding)
        high, wide = _pair(self.size)
        return high // 2, wide // 2


@dataclass(frozen=True)
class Pool(Layer):
    r"""The largest or the mean value of each window, :math:`\max_{k, l} x_{c, si + k, sj + l}`."""

    size: Size
    _: KW_ONLY
    stride: Size | None = None
    padding: Size = 0
    kind: Literal["max", "mean"] = "max"

    def __post_init__(self) -> None:
        _pairs(self, "size", *([] if self.stride is None else ["stride"]))
        _pairs(self, "padding", least=0)
        if self.kind not in ("max", "mean"):
            raise ValueError(f"kind must be 'max' or 'mean'; got {self.kind!r}")
        if any(2 * p > a for p, a in zip(_pair(self.padding), _pair(self.size), strict=True)):
            raise ValueError(f"padding is at most half the size; got {self.padding!r}")

    def shape(self, shape: Shape) -> Shape:
        """As many maps, of floor((n + 2p - a) / s) + 1 pixels along each axis."""
        return shape[0], *_slid(shape, self.size, self._stride(), _pair(self.padding))

    def build(self, shape: Shape) -> nn.Module:
        """PyTorch's MaxPool2d or AvgPool2d."""
        kind = {"max": nn.MaxPool2d, "mean": nn.AvgPool2d}[self.kind]
        return kind(_pair(self.size), _pair(self._stride()), _pair(self.padding))

    def _stride(self) -> Size:
        return self.size if self.stride is None else self.stride


@dataclass(frozen=True)
class Linear(Layer):
    """A layer of so many units, each a weighted sum of all inputs: W x + b."""

    units: int

    def __post_init__(self) -> None:
        _counts(self, "units")

    def shape(self, shape: Shape) -> Shape:
        """One number a unit."""
        if len(shape) != 1:
            raise ValueError('a linear layer takes a vector: put "flatten" before it')
        return (self.units,)

    def build(self, shape: Shape) -> nn.Module:
        """PyTorch's Linear."""
        return nn.Linear(shape[0], self.units)


@dataclass(frozen=True)
class Dropout(Layer):
    """Inputs set to zero with this probability in training, the rest scaled by 1 / (1 - rate)."""

    rate: float

    def __post_init__(self) -> None:
        if not 0 <= self.rate < 1:
            raise ValueError(f"rate must lie in [0, 1); got {self.rate!r}")

    def shape(self, shape: Shape) -> Shape:
        """That of the input."""
        return shape

    def build(self, shape: Shape) -> nn.Module:
        """PyTorch's Dropout."""
        return _step.Dropout(self.rate)


@dataclass(frozen=True)
class Residual(Layer):
    r"""Two convolutions around which the input goes: :math:`\mathrm{relu}(x + F(x))`.

    F is a convolution of 3 by 3, batch norm, relu, convolution, batch norm. Where channels or
    stride change the shape, x goes through a convolution of 1 by 1 and a batch norm.
    """

    channels: int
    _: KW_ONLY
    stride: int = 1

    def __post_init__(self) -> None:
        _counts(self, "channels", "stride")

    def shape(self, shape: Shape) -> Shape:
        """That of its first convolution."""
        return Conv(self.channels, 3, stride=self.stride).shape(shape)

    def build(self, shape: Shape) -> nn.Module:
        """The block."""
        return ResidualBlock(shape[0], self.channels, self.stride)


class ResidualBlock(nn.Module):
    """relu(shortcut(x) + F(x)); no biases before a batch norm, which has its own."""

    def __init__(self, inputs: int, channels: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, channels, 3, stride, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(channels)
        self.shortcut: nn.Module = nn.Identity()
        if inputs != channels or stride != 1:
            project = nn.Conv2d(inputs, channels, 1, stride, bias=False)
            self.shortcut = nn.Sequential(project, nn.BatchNorm2d(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = self.first_norm(self.first(x)).relu()
        return (self.shortcut(x) + self.second_norm(self.second(inner))).relu()


@dataclass(frozen=True)
class _Pointwise(Layer):
    """What keeps the shape: an activation."""

    kind: Any

    def shape(self, shape: Shape) -> Shape:
        return shape

    def build(self, shape: Shape) -> nn.Module:
        return self.kind()


class _BatchNorm(Layer):
    """Each channel, or each unit, to mean zero and variance one over the batch; then a line."""

    def shape(self, shape: Shape) -> Shape:
        return shape

    def build(self, shape: Shape) -> nn.Module:
        return nn.BatchNorm2d(shape[0]) if len(shape) == 3 else nn.BatchNorm1d(shape[0])


class _Flatten(Layer):
    """Maps as one vector."""

    def shape(self, shape: Shape) -> Shape:
        return (math.prod(shape),)

    def build(self, shape: Shape) -> nn.Module:
        return nn.Flatten()


class _GlobalPool(Layer):
    """The mean of each map: one number a channel."""

    def shape(self, shape: Shape) -> Shape:
        return _maps(shape)[:1]

    def build(self, shape: Shape) -> nn.Module:
        return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())


_WORDS: dict[str, Layer] = {
    "relu": _Pointwise(nn.ReLU),
    "tanh": _Pointwise(nn.Tanh),
    "sigmoid": _Pointwise(nn.Sigmoid),
    "gelu": _Pointwise(nn.GELU),
    "batch_norm": _BatchNorm(),
    "flatten": _Flatten(),
    "global_pool": _GlobalPool(),
}


def network(name: str) -> list[Any]:
    """The layers of "small", for any images; "lenet", for 32 x 32; "alexnet", "resnet", for 224."""
    if name not in _NETWORKS:
        raise ValueError(f"no network is called {name!r}; the names are {list(_NETWORKS)}")
    return list(_NETWORKS[name])


def shapes(layers: Any, shape: Shape) -> list[Shape]:
    """The shape after each layer, for images of shape (channels, height, width)."""
    found, given = [], shape
    for i, layer in enumerate(layers):
        try:
            shape = _as_layer(layer).shape(shape)
        except ValueError as error:
            raise ValueError(
                f"layers[{i}], {layer!r}, of images of {_by(given)}: {error}"
            ) from None
        found.append(shape)
    return found


def stack(layers: Any, shape: Shape, n_outputs: int) -> nn.Sequential:
    """The module: the layers, flattened, and a linear layer to the outputs, called ``head``."""
    before = [shape, *shapes(layers, shape)]
    parts = [(str(i), _as_layer(layer).build(before[i])) for i, layer in enumerate(layers)]
    if len(before[-1]) > 1:
        parts.append(("flat", nn.Flatten()))
    parts.append(("head", nn.Linear(math.prod(before[-1]), n_outputs)))
    module = nn.Sequential(OrderedDict(parts))
    module.apply(_start)
    return module


def _start(module: nn.Module) -> None:
    """He's start, which keeps the variance of a signal through layers of rectified units."""
    if isinstance(module, nn.Conv2d | nn.Linear):
        nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def _as_layer(layer: Any) -> Layer:
    if isinstance(layer, str) and layer in _WORDS:
        return _WORDS[layer]
    if not isinstance(layer, Layer):
        raise ValueError(f"a layer is one of {list(_WORDS)}, or of {__all__[:5]}, called")
    return layer


def _slid(shape: Shape, size: Size, stride: Size, padding: Size) -> tuple[int, int]:
    """floor((n + 2p - a) / s) + 1 for height and width."""
    maps = _maps(shape)
    parts = zip(maps[1:], _pair(size), _pair(stride), _pair(padding), strict=True)
    high, wide = ((n + 2 * p - a) // s + 1 for n, a, s, p in parts)
    if min(high, wide) < 1:
        raise ValueError(
            f"its maps of {_by(maps[1:])} are smaller than the window of {_by(_pair(size))}; give "
            "larger images, or fewer layers that shrink them"
        )
    return high, wide


def _maps(shape: Shape) -> Shape:
    if len(shape) != 3:
        raise ValueError("it takes maps, and after flatten there are none")
    return shape


def _pair(size: Size) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else size


def _by(sizes: tuple[int, ...]) -> str:
    return " x ".join(map(str, sizes))


def _is_count(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _counts(layer: Any, *names: str) -> None:
    for name in names:
        if not _is_count(getattr(layer, name), 1):
            raise ValueError(f"{name} must be an int of at least 1; got {getattr(layer, name)!r}")


def _pairs(layer: Any, *names: str, least: int = 1) -> None:
    for name in names:
        value = getattr(layer, name)
        pair = value if isinstance(value, tuple) else (value, value)
        if len(pair) != 2 or not all(_is_count(v, least) for v in pair):
            raise ValueError(
                f"{name} must be an int of at least {least}, or a pair of them; got {value!r}"
            )


_CONNECTED = [w for _ in range(2) for w in ("flatten", Dropout(0.5), Linear(4096), "relu")]
_NETWORKS: dict[str, list[Any]] = {
    "small": [Conv(16, 3), "relu", Conv(32, 3, stride=2), "relu"],
    "lenet": [
        *(Conv(6, 5, padding=0), "tanh", Pool(2, kind="mean")),
        *(Conv(16, 5, padding=0), "tanh", Pool(2, kind="mean")),
        *("flatten", Linear(120), "tanh", Linear(84), "tanh"),
    ],
    "alexnet": [
        *(Conv(96, 11, stride=4, padding=2), "relu", Pool(3, stride=2)),
        *(Conv(256, 5), "relu", Pool(3, stride=2)),
        *(Conv(384, 3), "relu", Conv(384, 3), "relu", Conv(256, 3), "relu", Pool(3, stride=2)),
        *_CONNECTED,
    ],
    "resnet": [
        *(Conv(64, 7, stride=2), "batch_norm", "relu", Pool(3, stride=2, padding=1)),
        *(Residual(64), Residual(64), Residual(128, stride=2), Residual(128)),
        *(Residual(256, stride=2), Residual(256), Residual(512, stride=2), Residual(512)),
        "global_pool",
    ],
}
