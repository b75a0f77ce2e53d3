"""Convolution: sizes, shared weights, shifts, pooling, and the shapes of known networks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import ceil
from typing import Any

import numpy as np

from panlearn.claims.claim import Evidence, at_least, claim, equal, true
from panlearn.core.extras import require

torch = require("torch")

from panlearn.neural.layers import Conv, Linear, Pool, network, shapes, stack  # noqa: E402


def _convolved(image: object, kernel: object, **options: int) -> np.ndarray:
    """One map: panlearn's layer with this kernel, and no bias, on one image."""
    x, w = (torch.as_tensor(np.array(a, dtype=float)) for a in (image, kernel))
    options = {"padding": 0, **options}
    layer: Any = Conv(1, tuple(w.shape), **options).build((1, *x.shape)).double()
    with torch.no_grad():
        layer.weight[:], layer.bias[:] = w, 0.0
        return layer(x[None, None])[0, 0].numpy()


def _parameters(module: Any) -> int:
    return sum(p.numel() for p in module.parameters())


def _sizes() -> Iterator[tuple[int, int, int, int]]:
    """Sizes of images and kernels, padding and stride that leave something over."""
    for n, a, p, s in product((5, 8, 11), (2, 3, 5), (0, 2), (1, 3)):
        if n + 2 * p >= a:
            yield n, a, p, s


@claim("A89")
def pooling_shrinks_without_parameters() -> Iterator[Evidence]:
    """Pooling with windows of size K at stride S takes i pixels to floor((i - K) / S) + 1 and has
    no parameters.
    """
    wrong = 0
    for i, K, S in product((4, 7, 12, 28), (2, 3, 4), (1, 2, 3)):
        layer = Pool(K, stride=S)
        out = layer.build((2, i, i))(torch.zeros(1, 2, i, i)).shape[1:]
        wrong += not tuple(out) == layer.shape((2, i, i)) == (2, *2 * [(i - K) // S + 1])
    yield equal("shapes that differ", wrong, 0)
    yield equal("parameters of pooling", _parameters(Pool(2).build((3, 8, 8))), 0)


@claim("A90")
def convolution_has_this_size() -> Iterator[Evidence]:
    """A convolution with m kernels of size K, padding P and stride S gives m channels of
    floor((i + 2P - K) / S) + 1 pixels along each axis. The text leaves out the floor.
    """
    wrong, broken = 0, 0
    for i, K, P, S in _sizes():
        layer = Conv(3, K, stride=S, padding=P)
        out = tuple(layer.build((2, i, i))(torch.zeros(1, 2, i, i)).shape[1:])
        wrong += not out == layer.shape((2, i, i)) == (3, *2 * [(i + 2 * P - K) // S + 1])
        broken += (i + 2 * P - K) % S > 0
    yield equal("shapes that differ", wrong, 0)
    yield at_least("cases in which only the floor is right", broken, 1)


@claim("A91")
def convolution_has_so_many_parameters() -> Iterator[Evidence]:
    """A convolution from C to m channels with kernels of K_H by K_W has (K_H K_W C + 1) m
    parameters.
    """
    for C, m, high, wide in ((1, 6, 5, 5), (3, 16, 3, 5), (8, 4, 1, 2)):
        layer = Conv(m, (high, wide)).build((C, 9, 9))
        expected = (high * wide * C + 1) * m
        yield equal(f"{C} to {m} channels, {high} x {wide}", _parameters(layer), expected)


@claim("A92")
def valid_and_same_padding() -> Iterator[Evidence]:
    """A filter of (2p+1) by (2q+1) at stride one turns m by n pixels into (m-2p) by (n-2q); of the
    image extended to (m+2p) by (n+2q) it keeps the size. The text writes a filter of (p+1) by
    (2q+1) and an output of (m-p) by (n-q).
    """
    out = _convolved(np.ones((9, 11)), np.ones((5, 3)))
    yield equal("9 x 11 with 5 x 3", out.shape, (5, 9))
    for p, q in ((1, 1), (2, 1), (0, 3)):
        layer = Conv(1, (2 * p + 1, 2 * q + 1), padding=(p, q))
        yield equal(f"size kept with p, q = {p}, {q}", layer.shape((1, 9, 11)), (1, 9, 11))
        same = Conv(1, (2 * p + 1, 2 * q + 1))
        yield equal("as without a padding given", same.shape((1, 9, 11)), (1, 9, 11))


@claim("A93")
def convolution_commutes_with_shifts() -> Iterator[Evidence]:
    """Convolution commutes with shifts: exactly if the image goes on in a circle, or away from the
    border; at stride s for shifts by multiples of s. A flattened linear layer behind it does not.
    What layers compute is the cross-correlation sum f[k, l] x[n + k, m + l]; the text garbles the
    indices of the convolution sum f[k, l] x[n - k, m - l].
    """
    rng = np.random.default_rng(93)
    image, kernel = rng.normal(size=(12, 12)), rng.normal(size=(3, 3))

    def circular(x: np.ndarray, stride: int = 1) -> np.ndarray:
        return _convolved(np.pad(x, 1, mode="wrap"), kernel, stride=stride)

    moved = np.roll(image, (2, -3), axis=(0, 1))
    both = np.roll(circular(image), (2, -3), axis=(0, 1))
    yield equal("in a circle", circular(moved), both, 1e-12)
    by_two = circular(np.roll(image, 2, axis=0), 2)
    yield equal("stride 2, shift 2", by_two, np.roll(circular(image, 2), 1, axis=0), 1e-12)
    by_one = circular(np.roll(image, 1, axis=0), 2)
    off = min(np.abs(by_one - np.roll(circular(image, 2), k, axis=0)).max() for k in range(6))
    yield at_least("stride 2, shift 1: difference from any shift", off, 0.1)
    valid = _convolved(np.roll(image, 2, axis=0), kernel)
    yield equal("interior", valid[2:], _convolved(image, kernel)[:-2], 1e-12)
    head = rng.normal(size=144)
    change = head @ (circular(moved) - circular(image)).ravel()
    yield at_least("a linear head sees the shift", abs(change), 0.1)


@claim("A94")
def shared_gradients_are_sums() -> Iterator[Evidence]:
    """The gradient of a shared weight is the sum, over the positions, of the gradients of a layer
    that has its own weights at each position.
    """
    rng = np.random.default_rng(94)
    x, kernel, pull = rng.normal(size=(6, 7)), rng.normal(size=(3, 2)), rng.normal(size=(4, 6))
    layer: Any = Conv(1, (3, 2), padding=0).build((1, 6, 7)).double()
    with torch.no_grad():
        layer.weight[:] = torch.as_tensor(kernel)
    out = layer(torch.as_tensor(x)[None, None])[0, 0]
    (out * torch.as_tensor(pull)).sum().backward()
    patches = np.lib.stride_tricks.sliding_window_view(x, (3, 2))  # (4, 6, 3, 2)
    own = torch.as_tensor(np.broadcast_to(kernel, patches.shape).copy()).requires_grad_()
    unshared = (own * torch.as_tensor(patches.copy())).sum(dim=(2, 3))
    (unshared * torch.as_tensor(pull)).sum().backward()
    yield equal("gradient", layer.weight.grad[0, 0], own.grad.sum(dim=(0, 1)), 1e-12)


@claim("B126")
def a_worked_convolution() -> Iterator[Evidence]:
    """The 5 by 5 image of the text and its 3 by 3 kernel give ((4, 3, 4), (2, 4, 3), (2, 3, 4)).
    The kernel is its own turn by 180 degrees, so that convolution and cross-correlation agree.
    """
    image = [[int(c) for c in row] for row in ("11100", "01110", "00111", "00110", "01100")]
    kernel = np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    expected = [[4, 3, 4], [2, 4, 3], [2, 3, 4]]
    yield equal("cross-correlation", _convolved(image, kernel), expected)
    yield equal("true convolution", _convolved(image, kernel[::-1, ::-1]), expected)


@claim("B127")
def output_size_of_convolution() -> Iterator[Evidence]:
    """Of m pixels along an axis a kernel of size a with padding p and stride s leaves
    floor(1 + (m + 2p - a) / s).
    """
    wrong = sum(
        Conv(1, a, stride=s, padding=p).build((1, m, m))(torch.zeros(1, 1, m, m)).shape[-1]
        != np.floor(1 + (m + 2 * p - a) / s)
        for m, a, p, s in _sizes()
    )
    yield equal("sizes that differ", wrong, 0)


@claim("B128")
def padding_that_keeps_the_size() -> Iterator[Evidence]:
    """To keep m pixels at stride s a kernel of size a needs the padding
    ceil((m (s - 1) + a - s) / 2): an even kernel at stride one gives one pixel too many. The text
    prints m (s - a) for the rows, which would be negative.
    """
    for m, a, s, p in ((7, 3, 1, 1), (10, 5, 1, 2), (7, 3, 2, 4)):
        yield equal(f"padding for {m}, {a}, {s}", ceil((m * (s - 1) + a - s) / 2), p)
        shape = Conv(1, a, stride=s, padding=p).shape((1, m, m))
        yield equal("size kept", shape, (1, m, m))
    even = Conv(1, 4, padding=ceil((4 - 1) / 2)).shape((1, 8, 8))
    yield equal("even kernel", even, (1, 9, 9))


@claim("B129")
def convolution_is_a_matrix() -> Iterator[Evidence]:
    """A 2 by 2 kernel on a 3 by 3 image is a 4 by 9 matrix whose rows are the kernel, moved:
    W vec(X) = vec(W * X), row by row. The text calls the matrix circulant: it is a block Toeplitz
    matrix of Toeplitz blocks, and its star is cross-correlation.
    """
    rng = np.random.default_rng(129)
    kernel, X = rng.normal(size=(2, 2)), rng.normal(size=(3, 3))
    (a, b), (c, d) = kernel
    matrix = [
        [a, b, 0, c, d, 0, 0, 0, 0],
        [0, a, b, 0, c, d, 0, 0, 0],
        [0, 0, 0, a, b, 0, c, d, 0],
        [0, 0, 0, 0, a, b, 0, c, d],
    ]
    yield equal("W vec(X)", np.array(matrix) @ X.ravel(), _convolved(X, kernel).ravel(), 1e-12)
    turned = _convolved(X, kernel[::-1, ::-1])
    yield at_least("true convolution differs by", np.abs(turned - _convolved(X, kernel)).max(), 0.1)


@claim("B130")
def weights_are_shared() -> Iterator[Evidence]:
    """The 2 by 2 kernel has 4 free weights where the matrix that does the same has 36 entries."""
    layer = Conv(1, 2, padding=0)
    shared: Any = layer.build((1, 3, 3))
    yield equal("weights of the layer", shared.weight.numel(), 4)
    dense: Any = Linear(int(np.prod(layer.shape((1, 3, 3))))).build((9,))
    yield equal("entries of the matrix", dense.weight.numel(), 36)


@claim("B131")
def kernels_reach_over_all_channels() -> Iterator[Evidence]:
    """Five kernels of 3 by 3 on an image of three colours give five channels, with 5 * 27 weights
    and 5 biases; each channel is the sum over the colours.
    """
    layer: Any = Conv(5, 3, padding=0).build((3, 8, 8)).double()
    yield equal("channels", layer(torch.zeros(1, 3, 8, 8).double()).shape[1], 5)
    yield equal("weights and biases", [layer.weight.numel(), layer.bias.numel()], [135, 5])
    x = torch.as_tensor(np.random.default_rng(131).normal(size=(3, 8, 8)))
    with torch.no_grad():
        whole = layer(x[None])[0, 2].numpy() - float(layer.bias[2])
        kernels = layer.weight[2].numpy()
        parts = np.sum([_convolved(x[c].numpy(), kernels[c]) for c in range(3)], axis=0)
    yield equal("sum over the colours", whole, parts, 1e-12)


@claim("B132")
def pooling_takes_the_largest_or_the_mean() -> Iterator[Evidence]:
    """Max pooling takes the largest value of a window, average pooling the mean; global pooling
    leaves one value a channel, not a single one as the text says.
    """
    x = torch.arange(32.0).reshape(1, 2, 4, 4)
    largest = Pool(2).build((2, 4, 4))(x)[0]
    mean = Pool(2, kind="mean").build((2, 4, 4))(x)[0]
    yield equal("largest", largest[0], [[5, 7], [13, 15]])
    yield equal("mean", mean[0], [[2.5, 4.5], [10.5, 12.5]])
    whole = stack(["global_pool"], (2, 4, 4), 3)[0](x)[0]
    yield equal("global", whole, [7.5, 23.5])


@claim("B133")
def lenet_has_these_shapes() -> Iterator[Evidence]:
    """LeNet takes 1@32x32 to 6@28x28, 6@14x14, 16@10x10, 16@5x5, 120, 84 and 10."""
    layers, image = network("lenet"), (1, 32, 32)
    found = list(dict.fromkeys([*shapes(layers, image), (10,)]))
    expected = [(6, 28, 28), (6, 14, 14), (16, 10, 10), (16, 5, 5), (400,), (120,), (84,), (10,)]
    yield true("shapes", found == expected)
    out = stack(layers, image, 10)(torch.zeros(1, *image))
    yield equal("outputs of the module", out.shape[1:], (10,))


@claim("B134")
def alexnet_needs_a_padding_of_two() -> Iterator[Evidence]:
    """The first layer of AlexNet takes 3@224x224 to 96@55x55 with kernels of 11 at stride 4 and a
    padding of 2, which the text does not give; without it there are 54.
    """
    first = network("alexnet")[0]
    yield equal("first layer", first.shape((3, 224, 224)), (96, 55, 55))
    yield equal("kernel, stride, padding", [first.size, first.stride, first.padding], [11, 4, 2])
    bare = Conv(96, 11, stride=4, padding=0)
    yield equal("without padding", bare.shape((3, 224, 224)), (96, 54, 54))
    yield equal(
        "maps before the dense layers",
        shapes(network("alexnet"), (3, 224, 224))[12:14][0],
        (256, 6, 6),
    )


@claim("B135")
def convolution_is_linear_and_equivariant() -> Iterator[Evidence]:
    """Convolution is linear, and away from the border a shifted image has shifted maps."""
    rng = np.random.default_rng(135)
    x, z, kernel = (rng.normal(size=s) for s in ((9, 9), (9, 9), (3, 3)))
    sum_of = 2 * _convolved(x, kernel) - 3 * _convolved(z, kernel)
    yield equal("linear", _convolved(2 * x - 3 * z, kernel), sum_of, 1e-12)
    moved = np.roll(x, (1, 2), axis=(0, 1))
    yield equal(
        "shifted", _convolved(moved, kernel)[1:, 2:], _convolved(x, kernel)[:-1, :-2], 1e-12
    )
