"""The two layers of a restricted Boltzmann machine: conditional laws, energy, gradient."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from panlearn.core.short_rows import shifted


class Layers(NamedTuple):
    """Weights and biases, and the conditional laws that they give."""

    weights: np.ndarray
    visible_bias: np.ndarray
    hidden_bias: np.ndarray

    def hidden(self, v: np.ndarray) -> np.ndarray:
        """p(h = 1 | v) = σ(c + W v)."""
        field = v @ self.weights.T
        shifted(field, self.hidden_bias, out=field)
        return expit(field, out=field)

    def visible(self, h: np.ndarray) -> np.ndarray:
        """p(v = 1 | h) = σ(b + W'h)."""
        field = h @ self.weights
        field += self.visible_bias
        return expit(field, out=field)

    def free_energy(self, v: np.ndarray) -> np.ndarray:
        """F(v) = -b'v - Σ log(1 + exp(c + W v))."""
        field = v @ self.weights.T + self.hidden_bias
        return -v @ self.visible_bias - np.logaddexp(0, field).sum(axis=1)


def drawn(probability: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Coins with these probabilities, in their type; the stream is the same for every type."""
    coins = rng.random(probability.shape, dtype=np.float32) < probability
    return coins.astype(probability.dtype)
