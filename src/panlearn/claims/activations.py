"""Activations of networks: their formulas, far from zero, and how steep they are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import expit

from panlearn.claims.claim import Evidence, claim, equal
from panlearn.core.extras import require

torch = require("torch")

from panlearn.neural._layers import MLP  # noqa: E402


def activation(name: str, t: np.ndarray) -> np.ndarray:
    """What a network of one unit with this activation, weights one and biases zero gives."""
    module = MLP((1, 1, 1), name).double()  # type: ignore[arg-type]
    for parameter in module.parameters():
        parameter.data.fill_(float(parameter.dim() > 1))
    with torch.no_grad():
        return module(torch.tensor(t, dtype=torch.float64)[:, None])[:, 0].numpy()


@claim("A83")
def activations_are_stable() -> Iterator[Evidence]:
    """tanh(z) = (e^z - e^-z) / (e^z + e^-z) and relu(z) = max(0, z), also far from zero."""
    z = np.linspace(-5, 5, 101)
    direct = (np.exp(z) - np.exp(-z)) / (np.exp(z) + np.exp(-z))
    yield equal("tanh and its formula", activation("tanh", z), direct, 1e-12)
    yield equal("relu and its formula", activation("relu", z), np.maximum(z, 0), 1e-12)
    far = np.array([-1e3, 1e3])
    yield equal("tanh far from zero", activation("tanh", far), [-1.0, 1.0])
    yield equal("relu far from zero", activation("relu", far), [0.0, 1e3])


@claim("B115")
def activations_and_their_identities() -> Iterator[Evidence]:
    """relu(t) = max(t, 0); elu(t) = max(t, 0) + e^min(t, 0) - 1; tanh(t) = 1 - 2 sigmoid(-2t).

    The text multiplies the negative part of elu by t, and gives 1 - 2 sigmoid(-t), which is
    tanh(t / 2).
    """
    t = np.linspace(-4, 4, 81)
    elu = np.maximum(t, 0) + np.exp(np.minimum(t, 0)) - 1
    yield equal("relu", activation("relu", t), np.maximum(t, 0), 1e-12)
    yield equal("elu", activation("elu", t), elu, 1e-12)
    yield equal("elu(-1)", activation("elu", np.array([-1.0])), [-0.632120558829], 1e-12)
    tanh, sigmoid = activation("tanh", t), activation("logistic", -2 * t)
    yield equal("tanh", tanh, 1 - 2 * sigmoid, 1e-12)
    half = 1 - 2 * activation("logistic", -t)
    yield equal("what the text has", activation("tanh", t / 2), half, 1e-12)
    yield equal("sigmoid and its formula", sigmoid, 1 / (1 + np.exp(2 * t)), 1e-12)


@claim("A15")
def lipschitz_constants() -> Iterator[Evidence]:
    """A differentiable f on the line is Lipschitz if and only if f' is bounded, by sup |f'|.

    It is 1 for tanh and the rectifier, 1/4 for the sigmoid.
    """
    x = np.linspace(-5, 5, 100_001)
    middle = (x[1:] + x[:-1]) / 2
    for name, slope, constant in (
        ("tanh", 1 - np.tanh(middle) ** 2, 1),
        ("logistic", expit(middle) * expit(-middle), 1 / 4),
        ("relu", middle > 0, 1),
    ):
        quotients = np.diff(activation(name, x)) / np.diff(x)
        yield equal(f"quotients of {name} and f'", quotients, slope, 1e-6)
        yield equal(f"largest difference quotient of {name}", quotients.max(), constant, 1e-6)
