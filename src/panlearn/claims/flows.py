"""Normalising flows: change of variables, triangular maps, couplings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import stats

from panlearn.claims.claim import Evidence, at_most, claim, equal, true
from panlearn.core.extras import require

torch = require("torch")

from panlearn.generative import (  # noqa: E402
    AffineTransform,
    MaskedAutoregressiveFlow,
    RealNVP,
)
from panlearn.generative._flow_layers import (  # noqa: E402
    Autoregressive,
    Coupling,
    Flow,
    MonotoneNetwork,
)
from panlearn.neural._random import seeded  # noqa: E402

_L = np.array([[2.0, 0.0], [-1.0, 0.5]])
_MEAN = np.array([3.0, -1.0])


def _tensor(values: Any) -> Any:
    return torch.tensor(np.asarray(values, dtype=float))


def _points(n: int, d: int) -> Any:
    return _tensor(np.random.default_rng(0).normal(size=(n, d)))


def _coupling(d: int = 4) -> Any:
    with seeded(0):
        return Coupling(d, 0, slice(0, 2), AffineTransform(), (8,), "tanh").double()


def _triangular(d: int = 3) -> Any:
    with seeded(0):
        return Autoregressive(
            torch.arange(d), 0, MonotoneNetwork(d, 4, (8,)), (8,), "tanh"
        ).double()


def _jacobian(function: Any, x: Any) -> Any:
    return torch.autograd.functional.jacobian(lambda row: function(row[None])[0], x)


def _linear_flow(precision: np.ndarray, mean: np.ndarray) -> Any:
    """One affine layer that takes N(mean, S) to N(0, I), given the inverse of the factor of S."""
    layer = Autoregressive(torch.arange(2), 0, AffineTransform(), (), "relu").double()
    a = np.log(np.diag(precision))
    limit = -np.log(1e-3)
    shift = -precision @ mean
    with torch.no_grad():
        linear: Any = layer.linears[0]
        linear.weight.zero_()
        linear.weight[2, 0] = precision[1, 0]
        linear.bias.copy_(_tensor(np.column_stack([shift, a / (1 - np.abs(a) / limit)]).ravel()))
    return Flow([layer])


@claim("B199")
def a_linear_map_of_noise() -> Iterator[Evidence]:
    """A map x = L n + m with LL' = S has mean m and covariance S, and a density of integral one.

    The text's normalising constant has a wrong exponent: it is (2 pi)^(-d/2) |S|^(-1/2).
    """
    flow = _linear_flow(np.linalg.inv(_L), _MEAN)
    noise = stats.qmc.MultivariateNormalQMC([0, 0], seed=0).random(4096)
    with torch.no_grad():
        x = flow.inverse(_tensor(noise)).numpy()
    yield equal("mean", x.mean(0), _MEAN, 1e-2)
    yield equal("covariance", np.cov(x.T), _L @ _L.T, 3e-2)
    exact = stats.multivariate_normal(_MEAN, _L @ _L.T).logpdf(x[:50])
    yield equal("log density", flow.log_density(_tensor(x[:50])).detach(), exact, 1e-10)
    yield equal("integral", _integral(flow, [-13, -9], [19, 7]), 1.0, 1e-6)


def _integral(flow: Any, low: list, high: list) -> float:
    a, b = (np.linspace(*ends, 401) for ends in zip(low, high, strict=True))
    grid = np.stack(np.meshgrid(a, b, indexing="ij"), axis=-1).reshape(-1, 2)
    with torch.no_grad():
        density = flow.log_density(_tensor(grid)).exp().numpy().reshape(401, 401)
    return float(np.trapezoid(np.trapezoid(density, b), a))


@claim("B200")
def jacobians_of_a_map_and_of_its_inverse() -> Iterator[Evidence]:
    """The Jacobian of T at T^-1(x) times that of T^-1 at x is the identity."""
    layer, x = _coupling(), _points(1, 4)[0]
    z = layer(x[None])[0][0].detach()
    forward = _jacobian(lambda rows: layer(rows)[0], x)
    back = _jacobian(layer.inverse, z)
    yield equal("product", forward @ back, np.eye(4), 1e-8)


@claim("B201")
def change_of_variables() -> Iterator[Evidence]:
    """The density of x = T(z) is r(T^-1(x)) |det dT^-1/dx| = r(z) / |det dT/dz|."""
    z = _points(50, 1)
    x = z.exp()
    slope = _jacobian(torch.exp, z[0])[0, 0]
    yield equal("slope of exp", slope, x[0, 0], 1e-12)
    density = stats.norm.pdf(z[:, 0]) / x[:, 0].numpy()
    yield equal("exp of a Gaussian", density, stats.lognorm(1.0).pdf(x[:, 0].numpy()), 1e-12)
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[:, 1] += X[:, 0] ** 2
    model = RealNVP(transforms=4, hidden_layer_sizes=16, max_epochs=5, random_state=0).fit(X)
    yield equal("integral of a flow", _integral(model.module_, [-16, -16], [16, 16]), 1.0, 1e-3)


@claim("B202")
def likelihood_by_either_map() -> Iterator[Evidence]:
    """The two ways log r(z) - log|det dT/dz| and log r(Sx) + log|det dS/dx|, S = T^-1, agree.

    The text takes the last term away.
    """
    layer = _coupling()
    flow, x = Flow([layer]), _points(5, 4)
    z, added = flow(x)
    for i in range(len(x)):
        taken = torch.linalg.slogdet(_jacobian(flow.inverse, z[i].detach())).logabsdet
        logs = stats.norm.logpdf(z[i].detach()).sum()
        yield equal(f"row {i}", float(logs - taken), float(logs + added[i].detach()), 1e-10)


@claim("B203")
def triangular_maps() -> Iterator[Evidence]:
    """The log determinant of an increasing triangular map is a sum; bisection inverts it."""
    layer, x = _triangular(), _points(20, 3)
    z, log_determinant = layer(x)
    jacobian = _jacobian(lambda rows: layer(rows)[0], x[0])
    yield equal("above the diagonal", jacobian.triu(1), np.zeros((3, 3)))
    total = jacobian.diagonal().log().sum()
    yield equal("sum of log slopes", total, log_determinant[0].detach(), 1e-10)
    with torch.no_grad():
        yield equal("inverse", layer.inverse(z), x, 1e-8)


@claim("B204")
def the_triangular_map_is_unique() -> Iterator[Evidence]:
    """The increasing triangular map from N(0, I) to N(m, S) is m + L z, L the Cholesky factor.

    It is unique for one order of the columns; another order has another map, and not the same up
    to a permutation, as the text has it.
    """
    X = stats.qmc.MultivariateNormalQMC([0, 0], seed=0).random(2048) @ _L.T + _MEAN
    settings: Any = {
        "max_epochs": 200,
        "batch_size": 2048,
        "learning_rate": 0.1,
        "schedule": "cosine",
    }
    model = MaskedAutoregressiveFlow(
        transforms=1, hidden_layer_sizes=(), random_state=0, **settings
    ).fit(X)
    origin, *ends = model.from_noise([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    yield equal("m", origin, _MEAN, 1e-2)
    yield equal("L", (ends - origin).T, _L, 1e-2)
    swapped = np.linalg.cholesky((_L @ _L.T)[::-1, ::-1])[::-1, ::-1]
    yield true("the other order has another map", np.abs(swapped - _L).max() > 0.5)


@claim("B205")
def affine_couplings() -> Iterator[Evidence]:
    """A coupling keeps z1 and scales and shifts z2 by functions of it; log dets are sums."""
    layer, x = _coupling(), _points(5, 4)
    with torch.no_grad():
        z, log_determinant = layer(x)
        parameters = layer.conditioner(x[:, :2]).unflatten(1, (2, 2))
        a = parameters[..., 1] / (1 + parameters[..., 1].abs() / -np.log(1e-3))
        yield equal("kept", z[:, :2], x[:, :2])
        yield equal("scaled and shifted", z[:, 2:], a.exp() * x[:, 2:] + parameters[..., 0], 1e-12)
        yield equal("log determinant", log_determinant, a.sum(dim=1), 1e-12)
        yield equal("inverse", layer.inverse(z), x, 1e-10)
    jacobian = _jacobian(lambda rows: layer(rows)[0], x[0])
    yield equal("above the diagonal", jacobian.triu(1), np.zeros((4, 4)))


@claim("B206")
def gaussian_conditionals_with_a_curved_mean() -> Iterator[Evidence]:
    """x2 | x1 ~ N(x1^2, 1) with Gaussian x1 is not Gaussian: x2 has skewness 8 / 3^1.5 = 1.5396.

    The text says that nested Gaussians only give Gaussians; that takes linear means and constant
    scales.
    """
    noise = stats.qmc.MultivariateNormalQMC([0, 0], seed=1).random(2**15)
    x2 = noise[:, 0] ** 2 + noise[:, 1]
    yield equal("skewness", stats.skew(x2), 8 / 3**1.5, 0.05)
    X = np.column_stack([noise[:, 0], x2])[:4096]
    settings: Any = {
        "max_epochs": 15,
        "learning_rate": 0.01,
        "schedule": "cosine",
        "random_state": 0,
    }
    flow = MaskedAutoregressiveFlow(transforms=1, **settings).fit(X)
    learned = stats.skew(flow.sample(20_000, random_state=0)[:, 1])
    yield equal("skewness of what one layer of Gaussians makes", learned, 8 / 3**1.5, 0.25)
    exact = stats.norm.logpdf(X[:, 0]) + stats.norm.logpdf(X[:, 1], X[:, 0] ** 2)
    yield at_most("nats to the truth", exact.mean() - flow.score(X), 0.05)
