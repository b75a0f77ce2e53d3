"""The two layers of a restricted Boltzmann machine: conditional laws, energy, gradient."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from panlearn.core.short_rows import shifted
from panlearn.core.threads import threads

BLOCK = 1 << 16  # numbers of some rows and all hidden units, which stay in the cache
MANY = 1000  # numbers whose exponentials NumPy finds sooner than SciPy, many at a time


class Layers(NamedTuple):
    """Weights and biases, and the conditional laws that they give."""

    weights: np.ndarray
    visible_bias: np.ndarray
    hidden_bias: np.ndarray

    def hidden(self, v: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """p(h = 1 | v) = σ(c + W v)."""
        field = np.matmul(v, self.weights.T, out=out)
        return _sigmoid(shifted(field, self.hidden_bias, out=field))

    def visible(self, h: np.ndarray) -> np.ndarray:
        """p(v = 1 | h) = σ(b + W'h)."""
        field = h @ self.weights
        field += self.visible_bias
        return _sigmoid(field)

    def free_energy(self, v: np.ndarray) -> np.ndarray:
        """F(v) = -b'v - Σ log(1 + exp(c + W v))."""
        field = v @ self.weights.T + self.hidden_bias
        return -v @ self.visible_bias - np.logaddexp(0, field).sum(axis=1)

    def pseudo_log_likelihood(self, v: np.ndarray) -> np.ndarray:
        """Σ_i log p(v_i | v_-i) of each row."""
        units, features = self.weights.shape
        step = max(1, BLOCK // max(units, 2 * features))
        if len(v) <= step:  # done sooner than threads are made ready
            return self._pseudo(v.T.copy())
        parts = (v[start : start + step].T.copy() for start in range(0, len(v), step))
        with threads() as run:
            return np.concatenate(list(run(self._pseudo, parts)))

    def _pseudo(self, v: np.ndarray) -> np.ndarray:
        """The same, of a few rows that stand as columns.

        If a feature turns from v to 1 - v, the field of a unit grows by δ, and its part of -F by
        the logarithm of the mean of 1 and e^δ, weighed by its being off and on.
        """
        longest = 0.8 * float(np.log(np.finfo(v.dtype).max))  # sums of δ whose e^δ is a float
        reach = np.abs(self.weights).sum(axis=0) + np.abs(self.visible_bias) + np.log(2)
        if reach.max() < longest and ((v == 0) | (v == 1)).all():
            return self._pseudo_of_bits(v, reach, longest)
        return self._pseudo_by_features(v, longest)

    def _pseudo_of_bits(self, v: np.ndarray, reach: np.ndarray, longest: float) -> np.ndarray:
        """The same, if a δ is w or -w and no product of means leaves the range of floats.

        The means of a unit are one product of matrices for all rows, features and both signs.
        -log p(v_i | v_-i) = log(1 + odds) of the turned row over the row, and log(1 + odds) of
        several features is one logarithm, of 1 + left.
        """
        units, features = self.weights.shape
        field = self.weights @ v + self.hidden_bias[:, None]
        off = np.exp(-np.maximum(field, -longest))  # beyond it a unit is off all the same
        on = 1 / (1 + off)
        off *= on
        weighed = np.stack([off, on], axis=1)
        growth = np.ones((units, 2, features, 2), v.dtype)
        np.exp(self.weights, out=growth[:, 0, :, 1])
        np.exp(-self.weights, out=growth[:, 1, :, 1])
        growth = growth.reshape(units, 2 * features, 2)
        bias = self.visible_bias[:, None]
        odds = np.exp(np.vstack([bias, -bias])) * np.ones_like(v[:1])
        together = max(1, BLOCK // odds.size)
        for i in range(0, units, together):
            means = growth[i : i + together] @ weighed[i : i + together]
            odds *= means[0] if len(means) == 1 else means.prod(axis=0)
        odds = odds[:features] * (1 - v) + odds[features:] * v  # one of them is times 0
        total, left, far = np.zeros(v.shape[1], v.dtype), np.zeros(v.shape[1], v.dtype), 0.0
        for odd, most in zip(odds, reach, strict=True):
            if far + most > longest:
                total -= np.log1p(left)
                left[:], far = 0, 0.0
            left += odd * (1 + left)
            far += most
        return total - np.log1p(left)

    def _pseudo_by_features(self, v: np.ndarray, longest: float) -> np.ndarray:
        """The same, a feature at a time: one logarithm of as many means as stay floats."""
        field, turn = self.weights @ v + self.hidden_bias[:, None], 1 - 2 * v
        off, on, total = expit(-field), expit(field), np.zeros(v.shape[1], v.dtype)
        farthest = float(np.abs(self.weights).max() * np.abs(turn).max())
        together = int(longest / max(farthest, 1e-3))
        for weights, bias, way in zip(self.weights.T, self.visible_bias, turn, strict=True):
            delta = weights[:, None] * way
            if not together:
                rise = np.logaddexp(log_expit(-field), log_expit(field) + delta).sum(axis=0)
            else:
                mean = np.exp(delta, out=delta)
                mean *= on
                mean += off
                parts = (mean[i : i + together] for i in range(0, len(mean), together))
                rise = sum(np.log(part.prod(axis=0)) for part in parts)
            total += log_expit(-rise - bias * way)
        return total


def _sigmoid(field: np.ndarray) -> np.ndarray:
    """σ of each number, in its place."""
    if field.size < MANY:
        return expit(field, out=field)
    np.negative(field, out=field)
    with np.errstate(over="ignore"):
        np.exp(field, out=field)  # infinite where σ is zero
    field += 1
    return np.divide(1, field, out=field)


def drawn(probability: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Coins with these probabilities, in their type; the stream is the same for every type."""
    coins = rng.random(probability.shape, dtype=np.float32) < probability
    return coins.astype(probability.dtype)
