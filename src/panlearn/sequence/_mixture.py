"""Emissions from a mixture of Gaussians in each state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from panlearn.core.statistics import Sums
from panlearn.sequence._chain_kernels import shifted
from panlearn.sequence._emissions import Emission, posterior_mode
from panlearn.sequence._gaussian import GaussianEmission, StateMoments

STEP = 1 << 15  # rows at a time: all parts of all states of them stay in the cache


@dataclass(frozen=True)
class MixtureMoments(Sums):
    """The moments of the parts of all states, one after the other."""

    count: np.ndarray
    shift: np.ndarray
    scatter: np.ndarray


class MixtureEmission(Emission):
    """Vectors from the parts of each state: weights (k, m), and k m Gaussians in a row."""

    def __init__(
        self,
        weights: np.ndarray,
        parts: GaussianEmission,
        moving: bool = True,
        prior: Any = 1.0,
    ) -> None:
        self.weights, self.parts, self.moving, self.prior = weights, parts, moving, prior
        with np.errstate(divide="ignore"):
            self._log_weights = np.log(weights)

    def _joint(self, values: np.ndarray) -> np.ndarray:
        """Log of weight times density of every part, of shape (n, k, m)."""
        inner = self.parts.log_densities(values)
        return inner.reshape(len(values), *self.weights.shape) + self._log_weights

    def log_densities(self, values: np.ndarray) -> np.ndarray:
        out = np.empty((len(values), len(self.weights)))
        for start in range(0, len(values), STEP):
            rows = slice(start, start + STEP)
            out[rows] = _log_sum(self._joint(values[rows]))
        return out

    def densities(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        density, shift = self.log_densities(values), np.empty(len(values))
        shifted(density, shift)
        return density, shift

    def expect(self, values: np.ndarray, share: np.ndarray) -> MixtureMoments:
        total = self.parts.expect(values[:0], np.zeros((0, self.weights.size)))
        for start in range(0, len(values), STEP):
            rows = slice(start, start + STEP)
            joint = self._joint(values[rows])
            top = _log_sum(joint)[:, :, None]
            of_part = np.exp(joint - np.where(np.isfinite(top), top, 0.0)) * share[rows, :, None]
            total += self.parts.expect(values[rows], of_part.reshape(len(joint), -1))
        return MixtureMoments(total.count, total.shift, total.scatter)

    def maximise(self, seen: MixtureMoments) -> MixtureEmission:
        count = seen.count.reshape(self.weights.shape)
        weights = self.weights
        if self.moving:
            weights = posterior_mode(count, self.prior, np.ones_like(count, bool), weights)
        parts = self.parts.maximise(StateMoments(seen.count, seen.shift, seen.scatter))
        return MixtureEmission(weights, parts, self.moving, self.prior)

    def sample(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        edges = np.cumsum(self.weights, axis=1)[states]
        part = (rng.random(len(states))[:, None] * edges[:, -1:] > edges).sum(axis=1)
        return self.parts.sample(states * self.weights.shape[1] + part, rng)

    @property
    def n_parameters(self) -> int:
        return self.weights.size - len(self.weights) + self.parts.n_parameters


def _log_sum(joint: np.ndarray) -> np.ndarray:
    """Log Σ exp over the last axis; a step beyond the reach of all parts has minus infinity."""
    top = joint.max(axis=-1)
    reached = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return reached + np.log(np.exp(joint - reached[..., None]).sum(axis=-1))
