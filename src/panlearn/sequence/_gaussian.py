r"""Gaussian emissions: densities and expected moments of complete and of incomplete rows.

Moments are taken about the current means, so that they are plain sums and yet lose no digits far
from zero. A row with missing entries is marginalised exactly: its density is that of the entries
that it has, and it adds the conditional mean of the others and their conditional covariance.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from panlearn.core.gaussian import KINDS, LOG_2PI, Covariance, Partial, by_pattern
from panlearn.core.statistics import Sums
from panlearn.sequence import _gaussian_kernels as kernels
from panlearn.sequence._chain_kernels import shifted
from panlearn.sequence._emissions import Emission


@dataclass(frozen=True)
class StateMoments(Sums):
    """Weight (k,), shift (d, k) and scatter (d, k) or (d, d, k) about the current means."""

    count: np.ndarray
    shift: np.ndarray
    scatter: np.ndarray


@dataclass(frozen=True)
class GaussianPrior:
    """Rows that were seen before: `weight` at `mean` in each state, and what adds to scatters.

    Numbers, or arrays that spread over (k, d) means, (k, 1) weights and the scatters; the last are
    over all states together where these share a covariance.
    """

    mean: np.ndarray
    weight: np.ndarray
    scatter: np.ndarray
    count: Any


NO_PRIOR = GaussianPrior(np.zeros(()), np.zeros((1, 1)), np.zeros(()), 0.0)


class GaussianEmission(Emission):
    """Vectors with means (k, d) and covariances of one of the four kinds, at least a floor.

    Of means ("m") and covariances ("c") those in `params` are learned.
    """

    def __init__(
        self,
        kind: Covariance,
        means: np.ndarray,
        covariances: np.ndarray,
        floor: float,
        prior: GaussianPrior = NO_PRIOR,
        params: str = "mc",
    ) -> None:
        self.kind, self.means, self.covariances, self.floor = kind, means, covariances, floor
        self.prior, self.params = prior, params
        k, d = means.shape
        self._centre = np.ascontiguousarray(means.T)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            try:
                roots, log_det = kind.whitening(covariances, k, d)
            except (linalg.LinAlgError, ValueError):
                roots, log_det = [np.full((d, d), np.nan)] * k, np.full(k, np.nan)
            self._diagonal = roots[0].ndim == 1
            form = [0.5 * r * r if self._diagonal else r.T for r in roots]
        self._form = np.ascontiguousarray(np.moveaxis(np.stack(form), 0, -1))
        if not (np.isfinite(self._form).all() and np.isfinite(means).all()):
            raise ValueError(
                "a state has no spread in some direction, or one beyond the floats: raise "
                "min_covar, or rescale the columns of X"
            )
        self._constant = log_det - 0.5 * d * LOG_2PI

    @functools.cached_property
    def _matrices(self) -> np.ndarray:
        """The covariances as matrices, which only missing entries and samples need."""
        return self.kind.matrices(self.covariances, *self.means.shape)

    def log_densities(self, values: np.ndarray) -> np.ndarray:
        k = len(self.means)
        kernel = kernels.diagonal_log_densities if self._diagonal else kernels.full_log_densities
        out = np.empty((len(values), k))
        for index, seen in by_pattern(values):
            whole = len(index) == len(values)
            rows = values if whole else values[index]
            if not seen.all():
                out[index] = self._given(seen).log_densities(rows[:, seen]).T
            elif whole:
                kernel(rows, self._centre, self._form, self._constant, out)
            else:
                part = np.empty((len(index), k))
                kernel(rows, self._centre, self._form, self._constant, part)
                out[index] = part
        return out

    def _given(self, seen: np.ndarray) -> Partial:
        return Partial(self.means, self._matrices, seen)

    def densities(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        density, shift = self.log_densities(values), np.empty(len(values))
        shifted(density, shift)
        return density, shift

    def expect(self, values: np.ndarray, share: np.ndarray) -> StateMoments:
        k, d = self.means.shape
        kernel = kernels.diagonal_moments if self._diagonal else kernels.full_moments
        shift, scatter = np.zeros((d, k)), np.zeros((d, k) if self._diagonal else (d, d, k))
        for index, seen in by_pattern(values):
            whole = len(index) == len(values)
            rows, here = (values, share) if whole else (values[index], share[index])
            if seen.all():
                kernel(rows, self._centre, here, shift, scatter)
            else:
                self._add_incomplete(rows[:, seen], self._given(seen), here, shift, scatter)
        if not self._diagonal:
            lower = np.tril(np.ones((d, d)), -1)[:, :, None] * scatter
            scatter = scatter + lower.swapaxes(0, 1)
        return StateMoments(share.sum(axis=0), shift, scatter)

    def _add_incomplete(
        self,
        rows: np.ndarray,
        given: Partial,
        share: np.ndarray,
        shift: np.ndarray,
        scatter: np.ndarray,
    ) -> None:
        """Add E[x | x_o] - mean, and its square with Cov[x | x_o], of rows that miss the same."""
        for j in range(len(self.means)):
            centred, uncertain = given.filled(j, rows)
            shift[:, j] += share[:, j] @ centred
            second = (centred.T * share[:, j]) @ centred + share[:, j].sum() * uncertain
            scatter[..., j] += np.diagonal(second) if self._diagonal else np.tril(second)

    def maximise(self, seen: StateMoments) -> GaussianEmission:
        prior = self.prior
        count = np.where(seen.count > 1e-12 * seen.count.sum(), seen.count, 0.0)[:, None]
        shift, weight = seen.shift.T, count + prior.weight
        lost = weight == 0
        step = np.where(lost, 0.0, prior.weight * (prior.mean - self.means) + shift)
        step = step / np.where(lost, 1.0, weight) if "m" in self.params else np.zeros_like(shift)
        means, covariances = self.means + step, self.covariances
        if "c" in self.params:
            covariances = self._spread(seen, count[:, 0], step, means)
        return GaussianEmission(self.kind, means, covariances, self.floor, prior, self.params)

    def _spread(
        self, seen: StateMoments, count: np.ndarray, step: np.ndarray, means: np.ndarray
    ) -> np.ndarray:
        """Covariances about the new means, from moments about the old ones and the prior."""
        prior, k = self.prior, len(count)

        def products(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            return a * b if self._diagonal else a[:, :, None] * b[:, None, :]

        away, shift = means - prior.mean, seen.shift.T
        each = np.moveaxis(seen.scatter, -1, 0) + products(count[:, None] * step, step)
        each = each - products(step, shift) - products(shift, step)
        each = each + products(prior.weight * away, away)
        shared = k if self.kind is KINDS["tied"] else 1
        each = each + prior.scatter / shared
        count = count + prior.count / shared
        # a state without steps stays as it was: it gets a weight that is nothing beside the others
        lost = count == 0
        count = np.where(lost, 1e-200, count)
        for j in np.flatnonzero(lost):
            each[j] = 1e-200 * self.kind.part(self._matrices[j])
        return self.kind.maximise(each, count, self.floor)

    def sample(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        noise = rng.standard_normal((len(states), self.means.shape[1]))
        roots = np.linalg.cholesky(self._matrices)
        return self.means[states] + np.einsum("nij,nj->ni", roots[states], noise)

    @property
    def n_parameters(self) -> int:
        k, d = self.means.shape
        return k * d + self.kind.n_parameters(k, d)
