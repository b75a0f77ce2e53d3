r"""Tuning in the warm-up: dual averaging of the step, windows for the spread of the law.

References
----------
M. D. Hoffman, A. Gelman (2014). The No-U-Turn sampler. JMLR 15.

H. Haario, E. Saksman, J. Tamminen (2001). An adaptive Metropolis algorithm. Bernoulli 7(2).
doi:10.2307/3318737
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from panlearn.montecarlo._chains import State


class DualAveraging:
    r"""Steps whose mean acceptance tends to a target.

    .. math::
        \log \epsilon_{t+1} = \mu - \frac{\sqrt t}{\gamma} \bar H_t, \qquad
        \bar H_t = \bar H_{t-1} + \frac{(\delta - a_t) - \bar H_{t-1}}{t + t_0}
    """

    gamma, delay, decay = 0.05, 10.0, 0.75

    def __init__(self, step: float, target: float) -> None:
        self.target = target
        self.restart(step)

    def restart(self, step: float) -> None:
        """Forget, and begin at a step."""
        self._centre, self._error, self._t, self._mean = np.log(step), 0.0, 0, np.log(step)

    def update(self, acceptance: float) -> float:
        """Return the next step to try."""
        self._t += 1
        self._error += (self.target - acceptance - self._error) / (self._t + self.delay)
        log_step = self._centre - np.sqrt(self._t) / self.gamma * self._error
        weight = self._t**-self.decay
        self._mean = weight * log_step + (1 - weight) * self._mean
        return float(np.exp(log_step))

    @property
    def average(self) -> float:
        """The weighted mean of the steps, which is less noisy than the last of them."""
        return float(np.exp(self._mean))


class TunableSampler(Protocol):
    """What the adaptation asks of a sampler: its step and its spread can be set."""

    @property
    def step_size(self) -> float:
        """The step, in units of the spread."""
        ...

    def with_step(self, step_size: float) -> Any:
        """Return the sampler with another step."""
        ...

    def with_spread(self, positions: np.ndarray) -> Any:
        """Return the sampler for a law with the spread of positions of shape (n, dim)."""
        ...

    def facts(self) -> dict[str, Any]:
        """Return what was tuned, by name."""
        ...


class Adaptation:
    r"""The tuner of every sampler with a step: dual averaging, and the spread by windows.

    The windows end at 1/16, 1/8, 1/4, 1/2 and all of the first nine tenths of the warm-up, so each
    holds the second half of what came before its end. At its end the spread of the positions of
    all chains in it goes into the sampler; the last tenth tunes the step alone.
    """

    def __init__(self, sampler: TunableSampler, n_warmup: int, target: float) -> None:
        self._averaging = DualAveraging(sampler.step_size, target)
        self._ends = {int(0.9 * n_warmup / 2**k) for k in range(5)} - {0}
        self._window: list[np.ndarray] = []
        self._seen, self._accepted = 0, 0.0

    def update(self, sampler: Any, state: State) -> Any:
        """Return the sampler with the next step, and at the end of a window the spread in it."""
        self._seen += 1
        acceptance = float(state.acceptance.mean())
        self._accepted += acceptance
        sampler = sampler.with_step(self._averaging.update(acceptance))
        if self._seen <= max(self._ends, default=0):
            self._window.append(state.position)
        if self._seen in self._ends:
            sampler = sampler.with_spread(np.concatenate(self._window))
            self._window = []
            self._averaging.restart(sampler.step_size)
        return sampler

    def finish(self, sampler: Any) -> Any:
        """Return the sampler with the mean of the steps, if there was a warm-up."""
        return sampler.with_step(self._averaging.average) if self._seen else sampler

    def info(self, sampler: Any) -> dict[str, Any]:
        """Return what was tuned, and the acceptance in the warm-up."""
        facts = sampler.facts()
        return {**facts, "warmup_acceptance": self._accepted / self._seen} if self._seen else facts


def covariance_root(positions: np.ndarray) -> np.ndarray | None:
    """Cholesky factor of the covariance, shrunk to its diagonal; None if a column stood still."""
    n, dim = positions.shape
    if n < 2:
        return None
    covariance = np.atleast_2d(np.cov(positions, rowvar=False))
    keep = n / (n + 5 + dim)
    covariance = keep * covariance + (1 - keep) * np.diag(np.diag(covariance))
    try:
        return np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return None


def spreads(positions: np.ndarray) -> np.ndarray | None:
    """Standard deviations of the columns; None if one stood still."""
    spread = positions.std(axis=0)
    return spread if (spread > 0).all() and np.isfinite(spread).all() else None
