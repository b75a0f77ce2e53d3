"""What networks can represent: approximation, linear regions, and what linear layers cannot add."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.core.extras import require

torch = require("torch")

from panlearn.neural._layers import MLP  # noqa: E402
from panlearn.neural._random import seeded  # noqa: E402


def spline(knots: np.ndarray, values: np.ndarray) -> Any:
    """A network of one hidden ReLU layer that interpolates values at knots.

    g(x) = g(t_0) + sum_i c_i relu(x - t_i), c_i the change of slope at t_i.
    """
    slopes = np.diff(values) / np.diff(knots)
    changes = np.diff(slopes, prepend=0.0)
    module: Any = MLP((1, len(slopes), 1)).double()
    first, last = module.layers[0], module.layers[2]
    first.weight.data = torch.ones(len(slopes), 1, dtype=torch.float64)
    first.bias.data = -torch.tensor(knots[:-1])
    last.weight.data = torch.tensor(changes)[None]
    last.bias.data = torch.tensor(values[:1])
    return module


def evaluate(module: Any, x: np.ndarray) -> np.ndarray:
    """The outputs of a network with one input."""
    with torch.no_grad():
        return module(torch.tensor(x)[:, None])[:, 0].numpy()


def spline_error(f: Any, low: float, high: float, pieces: int) -> float:
    """Largest error of a ReLU network with so many units on an interval."""
    knots = np.linspace(low, high, pieces + 1)
    grid = np.linspace(low, high, 20_001)
    return float(np.abs(evaluate(spline(knots, f(knots)), grid) - f(grid)).max())


@claim("A95")
def one_hidden_layer_approximates() -> Iterator[Evidence]:
    """One hidden layer approximates continuous functions on compact sets, uniformly.

    Sixty-four rectified units, with outputs by least squares, are within 1e-2 of sin(2x) e^(x/3)
    on [-pi, pi], and twice as many within a quarter of that. It needs an activation that is not a
    polynomial: with z^2 the features span parabolas only. The texts say "any function", and one
    calls the ReLU bounded; neither is right.
    """

    def f(x: np.ndarray) -> np.ndarray:
        return np.sin(2 * x) * np.exp(x / 3)

    grid, errors = np.linspace(-np.pi, np.pi, 20_001), []
    for n in (64, 128, 256):
        knots = np.linspace(-np.pi, np.pi, n + 1)
        hats = np.stack([np.interp(grid[::10], knots, e) for e in np.eye(n + 1)], axis=1)
        heights = np.linalg.lstsq(hats, f(grid[::10]))[0]
        errors.append(np.abs(evaluate(spline(knots, heights), grid) - f(grid)).max())
    yield at_most("error of 64 units", errors[0], 1e-2)
    for before, after in itertools.pairwise(errors):
        yield true("about four times smaller", 3.5 <= before / after <= 4.5)
    rng = np.random.default_rng(0)
    x = np.linspace(-np.pi, np.pi, 1000)
    features = (np.outer(x, rng.standard_normal(200)) + rng.standard_normal(200)) ** 2
    yield equal("rank of 200 squares", np.linalg.matrix_rank(features, tol=1e-6), 3)
    coefficients, *_ = np.linalg.lstsq(features, f(x), rcond=None)
    yield at_least("their error", np.abs(features @ coefficients - f(x)).max(), 0.5)


@claim("A96")
def piecewise_linear_functions_are_networks() -> Iterator[Evidence]:
    """A continuous piecewise linear function is a + bx + sum c_i relu(x - t_i), c_i slope jumps."""
    rng = np.random.default_rng(0)
    knots = np.sort(np.r_[0.0, rng.random(12), 1.0])
    values = rng.standard_normal(14)
    grid = np.linspace(0, 1, 1001)
    got = evaluate(spline(knots, values), grid)
    yield equal("network and interpolation", got, np.interp(grid, knots, values), 1e-11)


def sawtooth(n: int) -> Any:
    """A layer of n units that maps [0, 1] onto itself n times, up and down."""
    knots = np.linspace(0, 1, n + 1)
    return spline(knots, (np.arange(n + 1) % 2).astype(float))


@claim("A97")
def depth_multiplies_linear_pieces() -> Iterator[Evidence]:
    """L layers of n units can have n^L linear pieces on an interval; one layer has n + 1 at most.

    The order that the text gives for the largest number of regions is a lower bound, not an upper.
    """
    x = np.linspace(0, 1, 20_737)  # 2^8 3^4 pieces of equal length: every corner is a grid point
    for n in (2, 3, 4):
        for depth in (1, 2, 3):
            y = x
            for _ in range(depth):
                y = evaluate(sawtooth(n), y)
            slopes = np.diff(y) / np.diff(x)
            pieces = 1 + np.count_nonzero(np.abs(np.diff(slopes)) > 1e-3)
            yield equal(f"pieces of {depth} layers of {n}", pieces, n**depth)


@claim("A98")
def regions_of_one_layer() -> Iterator[Evidence]:
    """One ReLU layer of n units cuts R^d into sum_{j <= d} C(n, j) regions: 29 for n = 7, d = 2."""
    with seeded(3):
        layer: Any = MLP((2, 7, 1), "relu").layers[0]
        points = torch.randn(400_000, 2) * torch.logspace(-1, 2, 400_000)[:, None]
        layer.bias.data.uniform_(-1, 1)
    patterns = ((layer(points) > 0).long() * 2 ** torch.arange(7)).sum(1)
    expected = sum(math.comb(7, j) for j in range(3))
    yield equal("activation patterns", len(patterns.unique()), expected)


@claim("A101")
def ridge_functions_reach_more_dimensions() -> Iterator[Evidence]:
    """Sums of functions of one direction each approximate functions of several variables.

    x1 x2 = ((x1 + x2)^2 - (x1 - x2)^2) / 4, each square a network of one variable.
    """
    knots = np.linspace(-2, 2, 65)
    square = spline(knots, knots**2)
    a, b = np.meshgrid(np.linspace(-1, 1, 61), np.linspace(-1, 1, 61))
    product = (evaluate(square, (a + b).ravel()) - evaluate(square, (a - b).ravel())) / 4
    yield at_most("error of x1 x2", np.abs(product - (a * b).ravel()).max(), 1e-2)


def affine(weights: np.ndarray, bias: np.ndarray) -> Any:
    """A layer without activation."""
    module: Any = MLP((weights.shape[1], weights.shape[0]), "identity").double()
    module.layers[0].weight.data = torch.tensor(weights)
    module.layers[0].bias.data = torch.tensor(bias)
    return module


@claim("A102")
def linear_means_a_matrix() -> Iterator[Evidence]:
    """A function is additive and homogeneous just if it is x -> W x; w^T x if it is a number.

    The text has w^T x for any number of outputs. A bias that is not zero breaks both.
    """
    rng = np.random.default_rng(0)
    W = rng.standard_normal((3, 4))
    x, y = torch.tensor(rng.standard_normal((2, 1, 4)))
    layer = affine(W, np.zeros(3))
    yield equal(
        "additivity", (layer(x + y) - layer(x) - layer(y)).detach(), np.zeros((1, 3)), 1e-12
    )
    yield equal("homogeneity", (layer(-2.5 * x) + 2.5 * layer(x)).detach(), np.zeros((1, 3)), 1e-12)
    yield equal("W from basis vectors", layer(torch.eye(4).double()).detach().T, W, 1e-12)
    shifted = affine(W, np.ones(3))
    yield equal(
        "with a bias", (shifted(x + y) - shifted(x) - shifted(y)).detach(), -np.ones((1, 3)), 1e-12
    )


@claim("A103")
def stacked_linear_layers_are_one() -> Iterator[Evidence]:
    """Layers without a nonlinearity make one matrix, of a rank no greater than the narrowest."""
    with seeded(0):
        module: Any = MLP((6, 2, 5), "identity").double()
    first, second = module.layers[0], module.layers[2]
    product = second.weight @ first.weight
    x = torch.eye(6, dtype=torch.float64)
    constant = second.weight @ first.bias + second.bias
    yield equal(
        "network and one matrix", module(x).detach(), (x @ product.T + constant).detach(), 1e-12
    )
    yield equal("rank", torch.linalg.matrix_rank(product), 2)


@claim("B114")
def linear_layers_collapse() -> Iterator[Evidence]:
    """W2 (W1 x + b1) + b2 = (W2 W1) x + (W2 b1 + b2): depth without a nonlinearity adds nothing."""
    with seeded(1):
        module: Any = MLP((3, 8, 2), "identity").double()
        x = torch.randn(20, 3, dtype=torch.float64)
    first, second = module.layers[0], module.layers[2]
    one = affine(
        (second.weight @ first.weight).detach().numpy(),
        (second.weight @ first.bias + second.bias).detach().numpy(),
    )
    yield equal("two layers and one", module(x).detach(), one(x).detach(), 1e-12)


@claim("B117")
def a_network_interpolates_the_sine() -> Iterator[Evidence]:
    """64 ReLU units interpolate sin on [0, 2 pi] within h^2 / 8; twice as many, four times better.

    On all of the real line, as the text has it, no network could; and the output needs a bias.
    """
    error = spline_error(np.sin, 0, 2 * np.pi, 64)
    bound = (2 * np.pi / 64) ** 2 / 8
    yield at_most("error", error, bound)
    yield at_least("and nearly all of the bound", error, 0.99 * bound)
    ratio = error / spline_error(np.sin, 0, 2 * np.pi, 128)
    yield true("about four times smaller", 3.9 <= ratio <= 4.1)


@claim("B125")
def chain_rule_of_several_variables() -> Iterator[Evidence]:
    """df/d(s, t) is the row df/dx times the Jacobian; d(a^T x)/dx = a^T and d(Ax)/dx = A."""
    jacobian = torch.autograd.functional.jacobian
    with seeded(2):
        inner, outer = (MLP(sizes, "tanh").double() for sizes in ((2, 4, 3), (3, 4, 1)))
        A, a = torch.randn(3, 2, dtype=torch.float64), torch.randn(2, dtype=torch.float64)
    s = torch.tensor([0.4, -0.8], dtype=torch.float64)
    row = jacobian(outer, inner(s))
    yield equal("df/ds", jacobian(lambda s: outer(inner(s)), s), row @ jacobian(inner, s), 1e-12)
    yield equal("d(a^T x)/dx", jacobian(lambda x: a @ x, s), a, 1e-12)
    yield equal("d(Ax)/dx", jacobian(lambda x: A @ x, s), A, 1e-12)
