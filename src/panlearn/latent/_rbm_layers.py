"""The two layers of a restricted Boltzmann machine: conditional laws, energy, gradient."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from panlearn.core.short_rows import shifted
from panlearn.core.threads import threads

BLOCK = 1 << 15  # numbers of some rows and all hidden units, which stay in the cache


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

    def pseudo_log_likelihood(self, v: np.ndarray) -> np.ndarray:
        """Σ_i log p(v_i | v_-i) of each row."""
        step = max(1, BLOCK // len(self.weights))
        if len(v) <= step:  # done sooner than threads are made ready
            return self._pseudo(v.T.copy())
        parts = (v[start : start + step].T.copy() for start in range(0, len(v), step))
        with threads() as run:
            return np.concatenate(list(run(self._pseudo, parts)))

    def _pseudo(self, v: np.ndarray) -> np.ndarray:
        """The same, of a few rows that stand as columns, a feature at a time.

        If a feature turns from v to 1 - v, the field of a unit grows by δ, and its part of -F by
        the logarithm of the mean of 1 and e^δ, weighed by its being off and on. One logarithm does
        for the product of as many as stay floats.
        """
        field, turn = self.weights @ v + self.hidden_bias[:, None], 1 - 2 * v
        off, on, total = expit(-field), expit(field), np.zeros(v.shape[1], v.dtype)
        farthest = float(np.abs(self.weights).max() * np.abs(turn).max())
        together = int(0.8 * np.log(np.finfo(v.dtype).max) / max(farthest, 1e-3))
        binary = bool((np.abs(turn) == 1).all())
        for weights, bias, way in zip(self.weights.T, self.visible_bias, turn, strict=True):
            w = weights[:, None]
            if not together:
                rise = np.logaddexp(log_expit(-field), log_expit(field) + w * way).sum(axis=0)
            else:
                mean = np.where(way > 0, np.exp(w), np.exp(-w)) if binary else np.exp(w * way)
                mean *= on
                mean += off
                parts = (mean[i : i + together] for i in range(0, len(mean), together))
                rise = sum(np.log(part.prod(axis=0)) for part in parts)
            total += log_expit(-rise - bias * way)
        return total


def drawn(probability: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Coins with these probabilities, in their type; the stream is the same for every type."""
    coins = rng.random(probability.shape, dtype=np.float32) < probability
    return coins.astype(probability.dtype)
