r"""One shape for every sampler, and the loop that runs it.

A sampler is ``init(position) -> State`` and ``step(rng, state) -> State``, both for many chains at
once: positions have shape (chains, dim), and a log density maps them to (chains,). It is a frozen
value; what a warm-up tunes, a `Tuner` puts into a new one, and after the warm-up nothing changes,
so that the draws are of one Markov chain that leaves its law invariant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from panlearn.core.memory import require_memory
from panlearn.core.parameters import RandomState
from panlearn.core.random import generator
from panlearn.core.warning import warn
from panlearn.montecarlo.diagnostics import ess_bulk
from panlearn.montecarlo.draws import Draws

Density = Callable[[np.ndarray], np.ndarray]


class State(NamedTuple):
    """Where the chains are: positions, what is known of them, and how the last step went."""

    position: np.ndarray
    log_density: Any
    acceptance: np.ndarray
    gradient: Any = None
    divergent: np.ndarray | None = None


class Sampler(Protocol):
    """What the loop asks of a sampler."""

    def init(self, position: np.ndarray) -> State:
        """Return the state of chains at their first positions."""
        ...

    def step(self, rng: np.random.Generator, state: State) -> State:
        """Return the state after one step of each chain."""
        ...


class Tuner(Protocol):
    """What the loop asks of an adaptation, which acts in the warm-up alone."""

    def update(self, sampler: Any, state: State) -> Any:
        """Return the sampler for the next step of the warm-up."""
        ...

    def finish(self, sampler: Any) -> Any:
        """Return the sampler for the draws."""
        ...

    def info(self, sampler: Any) -> dict[str, Any]:
        """Return what was tuned, by name."""
        ...


def run(
    sampler: Any,
    start: ArrayLike,
    *,
    n_draws: int,
    n_warmup: int,
    thin: int = 1,
    target_ess: float | None = None,
    random_state: RandomState = None,
    tuner: Tuner | None = None,
) -> Draws:
    """Warm up, draw, and stop early once the least effective sample size is reached."""
    _check_counts(n_draws=n_draws, n_warmup=n_warmup, thin=thin)
    if target_ess is not None and n_draws < 4:
        raise ValueError(
            f"an effective sample size needs four draws a chain; got n_draws={n_draws}"
        )
    if target_ess is not None and not target_ess > 0:
        raise ValueError(f"target_ess must be positive; got {target_ess!r}")
    position, rng = _start(start), generator(random_state)
    chains, dim = position.shape
    remedy = "draw fewer, thin more, or run fewer chains"
    require_memory((chains, n_draws, dim), "the array of draws", remedy)
    state = sampler.init(position)
    for _ in range(n_warmup):
        state = sampler.step(rng, state)
        if tuner is not None:
            sampler = tuner.update(sampler, state)
    info = {}
    if tuner is not None:
        sampler = tuner.finish(sampler)
        info = tuner.info(sampler)
    kept, seen = _Record(state, n_draws), 0
    for goal in _goals(n_draws, target_ess):
        for _ in range(seen, goal):
            for _ in range(thin):
                state = sampler.step(rng, state)
                kept.count(state)
            kept.keep(state)
        seen = goal
        if target_ess is not None and ess_bulk(kept.draws[:, :seen]).min() >= target_ess:
            break
    if target_ess is not None:
        _warn_of_shortage(kept.draws[:, :seen], target_ess)
    return kept.result(seen, n_warmup=n_warmup, thin=thin, info=info)


class _Record:
    """The draws so far, in arrays that are there from the start."""

    def __init__(self, state: State, n_draws: int) -> None:
        chains, dim = state.position.shape
        self.draws = np.empty((chains, n_draws, dim))
        self.log_density = None if state.log_density is None else np.empty((chains, n_draws))
        self._accepted, self._divergences = np.zeros(chains), np.zeros(chains, dtype=int)
        self._steps, self._kept = 0, 0

    def count(self, state: State) -> None:
        self._steps += 1
        self._accepted += state.acceptance
        if state.divergent is not None:
            self._divergences += state.divergent

    def keep(self, state: State) -> None:
        self.draws[:, self._kept] = state.position
        if self.log_density is not None:
            self.log_density[:, self._kept] = state.log_density
        self._kept += 1

    def result(self, seen: int, **facts: Any) -> Draws:
        densities = self.log_density
        if densities is not None:
            densities = np.ascontiguousarray(densities[:, :seen])
        acceptance = self._accepted / self._steps
        if total := int(self._divergences.sum()):
            warn(
                f"{total} of {self._steps * len(acceptance)} steps diverged after the warm-up, so "
                "the draws may miss a part of the law; raise target_acceptance, or parametrise the "
                "density so that its scales are alike",
                ConvergenceWarning,
            )
        draws = np.ascontiguousarray(self.draws[:, :seen])  # a copy only if it stopped early
        return Draws(draws, acceptance, densities, self._divergences, **facts)


def _goals(n_draws: int, target_ess: float | None) -> list[int]:
    """When to look at the effective sample size: at each doubling, and at the end."""
    if target_ess is None:
        return [n_draws]
    halvings = range((n_draws // 100).bit_length())
    return sorted({n_draws >> k for k in halvings} | {n_draws})


def _warn_of_shortage(draws: np.ndarray, target: float) -> None:
    least, n = float(ess_bulk(draws).min()), draws.shape[1]
    if least < target:
        more = int(np.ceil(n * (target / least - 1)))
        warn(
            f"the least effective sample size is {least:.0f} after {n} draws a chain, below "
            f"target_ess={target:g}; about {more} more draws a chain should do",
            ConvergenceWarning,
        )


def _check_counts(**counts: int) -> None:
    for name, value in counts.items():
        least = 0 if name == "n_warmup" else 1
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{name} must be a whole number from {least} up; got {value!r}")


def _start(start: ArrayLike) -> np.ndarray:
    """First positions as floats of shape (chains, dim)."""
    position = np.array(start, dtype=float)
    if position.ndim != 2 or not position.size:
        raise ValueError(
            f"init must have shape (chains, dim), one row a chain; got shape {position.shape}"
        )
    if not np.isfinite(position).all():
        raise ValueError("init holds NaN or infinity; every chain needs a finite start")
    return position


def first_densities(log_density: Density, position: np.ndarray) -> np.ndarray:
    """Log densities of the first positions, or an error that says what is wrong with them."""
    values = np.asarray(log_density(position), dtype=float)
    if values.shape != position.shape[:1]:
        raise ValueError(
            f"log_density must map positions of shape {position.shape} to {position.shape[:1]}, "
            f"one value a chain; it gave shape {values.shape}"
        )
    if not np.isfinite(values).all():
        chain = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(
            f"log_density is {values[chain]} at the start of chain {chain}; start every chain "
            "where the density is positive and finite"
        )
    return values


def first_scores(score: Density, position: np.ndarray) -> np.ndarray:
    """Scores of the first positions, or an error that says what is wrong with them."""
    values = np.asarray(score(position), dtype=float)
    if values.shape != position.shape or not np.isfinite(values).all():
        raise ValueError(
            f"score must map positions of shape {position.shape} to finite gradients of that "
            f"shape; it gave shape {values.shape}, finite: {bool(np.isfinite(values).all())}"
        )
    return values


def accept(rng: np.random.Generator, log_ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Draw who accepts with probability :math:`\min(1, e^{r})`; also that probability."""
    probability = np.exp(np.minimum(log_ratio, 0.0))
    return rng.random(len(probability)) < probability, probability
