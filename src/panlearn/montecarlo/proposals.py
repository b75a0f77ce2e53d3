r"""Proposals of Metropolis and Hastings: where a chain may go next, and how to weigh the way back.

.. math:: x' \sim q(\cdot \mid x), \qquad \log h = \log q(x \mid x') - \log q(x' \mid x)

A proposal is any function ``proposal(rng, x)`` that returns the positions :math:`x'` of all chains,
of shape (chains, dim), and the logarithm of their Hastings factors h: an array of shape (chains,),
or 0.0 if the proposal is symmetric. `RandomWalk` and `LogRandomWalk` learn their covariance and
their scale in the warm-up.

A proposal costs :math:`O(d)` a chain, with a learned covariance :math:`O(d^2)`.

References
----------
W. K. Hastings (1970). Monte Carlo sampling methods using Markov chains and their applications.
Biometrika 57(1). doi:10.1093/biomet/57.1.97

G. O. Roberts, J. S. Rosenthal (2001). Optimal scaling for various Metropolis-Hastings algorithms.
Statistical Science 16(4). doi:10.1214/ss/1015346320

Examples
--------
>>> import numpy as np
>>> from panlearn.montecarlo import metropolis_hastings, proposals
>>> start = np.full((16, 1), 2.0)
>>> rate = lambda x: np.where(x[:, 0] > 0, -x[:, 0], -np.inf)  # the exponential law
>>> draws = metropolis_hastings(
...     rate, start, proposal=proposals.LogRandomWalk(), n_draws=3000, random_state=0
... )
>>> bool(abs(draws.mean()[0] - 1) < 0.05)
True
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Independent", "LogRandomWalk", "RandomWalk", "Tunable"]


def best_scale(dim: int) -> float:
    r"""The scale :math:`2.38 / \sqrt d` at which a random walk explores a Gaussian law best."""
    return 2.38 / float(np.sqrt(dim))


@dataclass(frozen=True)
class Tunable(ABC):
    r"""A Gaussian step with factor L of its covariance and a scale, in some coordinates.

    .. math:: z' = z + s L \xi, \qquad \xi \sim \mathcal{N}(0, I)
    """

    step_size: float | None = None
    root: Any = None

    def walk(self, rng: np.random.Generator, z: np.ndarray) -> np.ndarray:
        """Step in the coordinates of the walk."""
        noise = rng.standard_normal(z.shape)
        scale = best_scale(z.shape[1]) if self.step_size is None else self.step_size
        return z + scale * (noise if self.root is None else noise @ self.root.T)

    @abstractmethod
    def coordinates(self, x: np.ndarray) -> np.ndarray:
        """Give the coordinates in which the walk is Gaussian."""

    @abstractmethod
    def __call__(
        self, rng: np.random.Generator, x: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | float]:
        """Propose."""


@dataclass(frozen=True)
class RandomWalk(Tunable):
    r"""A Gaussian step, :math:`x' = x + s L \xi`: symmetric, so its Hastings factor is one.

    Parameters
    ----------
    step_size : float or None, default=None
        The scale s; :math:`2.38 / \sqrt d` if not given.
    root : ndarray of shape (dim, dim) or None, default=None
        The factor L; the identity if not given.
    """

    def coordinates(self, x: np.ndarray) -> np.ndarray:
        """Give the positions themselves."""
        return x

    def __call__(
        self, rng: np.random.Generator, x: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | float]:
        """Propose a step from x."""
        return self.walk(rng, x), 0.0


@dataclass(frozen=True)
class LogRandomWalk(Tunable):
    r"""A Gaussian step of the logarithm, for positive variables: :math:`h = \prod_j x'_j / x_j`.

    Parameters
    ----------
    step_size : float or None, default=None
        The scale s; :math:`2.38 / \sqrt d` if not given.
    root : ndarray of shape (dim, dim) or None, default=None
        The factor L; the identity if not given.
    """

    def coordinates(self, x: np.ndarray) -> np.ndarray:
        """Give the logarithms."""
        return np.log(x)

    def __call__(
        self, rng: np.random.Generator, x: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | float]:
        """Propose a factor for each entry of x."""
        z = np.log(x)
        proposed = self.walk(rng, z)
        return np.exp(proposed), (proposed - z).sum(axis=1)


@dataclass(frozen=True)
class Independent:
    r"""A draw that does not look where the chain is: :math:`h = q(x) / q(x')`.

    Parameters
    ----------
    sample : callable
        ``sample(rng, n)`` gives n draws of q, of shape (n, dim).
    log_density : callable
        The log density of q, which maps (n, dim) to (n,); constants do not matter.
    """

    sample: Callable[[np.random.Generator, int], np.ndarray]
    log_density: Callable[[np.ndarray], np.ndarray]

    def __call__(self, rng: np.random.Generator, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Propose fresh draws."""
        proposed = self.sample(rng, len(x))
        return proposed, self.log_density(x) - self.log_density(proposed)
