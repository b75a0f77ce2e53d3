"""Hamiltonian Monte Carlo."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from panlearn.core.parameters import RandomState
from panlearn.montecarlo._adaptation import Adaptation, spreads
from panlearn.montecarlo._chains import (
    Density,
    State,
    accept,
    first_densities,
    first_scores,
    run,
)
from panlearn.montecarlo.draws import Draws

DIVERGENT = 1000.0  # an error of the energy beyond which the dynamics have broken down


@dataclass(frozen=True)
class Hamiltonian:
    """The sampler: a random momentum, leapfrog steps, and acceptance by the change of energy."""

    log_density: Density
    score: Density
    step_size: float
    path_length: float
    max_steps: int
    spread: Any = 1.0

    def init(self, position: np.ndarray) -> State:
        """Return the state of chains at their first positions."""
        density = first_densities(self.log_density, position)
        gradient = first_scores(self.score, position)
        n = len(position)
        return State(position, density, np.ones(n), gradient, np.zeros(n, dtype=bool))

    def step(self, rng: np.random.Generator, state: State) -> State:
        """Follow the dynamics for a random time, and go or stay."""
        momentum = rng.standard_normal(state.position.shape)
        # a time that varies: a fixed one may be a period of the dynamics and lead nowhere
        n_steps = int(np.ceil(2 * rng.random() * self.path_length / self.step_size))
        n_steps = min(max(n_steps, 1), self.max_steps)
        with np.errstate(all="ignore"):  # a path that breaks down overflows, and is refused
            position, gradient, final = self.leapfrog(
                state.position, state.gradient, momentum, n_steps
            )
            density = self.log_density(position)
            kinetic = ((momentum**2).sum(axis=1) - (final**2).sum(axis=1)) / 2
            change = density - state.log_density + kinetic
        change = np.where(np.isnan(change), -np.inf, change)
        accepted, probability = accept(rng, change)
        return State(
            np.where(accepted[:, None], position, state.position),
            np.where(accepted, density, state.log_density),
            probability,
            np.where(accepted[:, None], gradient, state.gradient),
            change < -DIVERGENT,
        )

    def leapfrog(
        self, position: np.ndarray, gradient: Any, momentum: np.ndarray, n_steps: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r"""Half a kick, then drifts and kicks, then half a kick: reversible, and keeps volume."""
        kick, drift = self.step_size * self.spread, self.step_size * self.spread
        momentum = momentum + kick / 2 * gradient
        for i in range(n_steps):
            position = position + drift * momentum
            gradient = self.score(position)
            momentum = momentum + (kick if i < n_steps - 1 else kick / 2) * gradient
        return position, gradient, momentum

    def with_step(self, step_size: float) -> Hamiltonian:
        """Return the sampler with another step."""
        return replace(self, step_size=step_size)

    def with_spread(self, positions: np.ndarray) -> Hamiltonian:
        """Return the sampler with masses of one over the variances of positions."""
        spread = spreads(positions)
        if spread is None:
            return self
        return replace(self, spread=spread, step_size=positions.shape[1] ** (-1 / 4))

    def facts(self) -> dict[str, Any]:
        """Return the step and the masses."""
        return {"step_size": self.step_size, "mass": 1 / np.asarray(self.spread) ** 2}


def hamiltonian(
    log_density: Density,
    score: Density,
    init: ArrayLike,
    *,
    path_length: float = float(np.pi / 2),
    target_acceptance: float = 0.8,
    max_steps: int = 256,
    n_draws: int = 1000,
    n_warmup: int = 1000,
    thin: int = 1,
    target_ess: float | None = None,
    random_state: RandomState = None,
) -> Draws:
    r"""Draw from a density by the dynamics of a particle on it.

    .. math::
        H(x, m) = -\log p(x) + \tfrac12 m^\top M^{-1} m, \qquad
        \dot x = M^{-1} m, \quad \dot m = \nabla \log p(x), \qquad m_0 \sim \mathcal{N}(0, M)

    Parameters
    ----------
    log_density : callable
        Maps positions of shape (chains, dim) to log densities of shape (chains,), up to a constant.
    score : callable
        Its gradient: (chains, dim) to the same shape.
    init : array-like of shape (chains, dim)
        The first positions, one row a chain.
    path_length : float, default=1.5707963267948966
        The mean time to follow the dynamics, in units in which the law has spread one: a quarter
        of the period of a normal law, after which a draw has forgotten the one before.
    target_acceptance : float, default=0.8
        The mean acceptance that the warm-up tunes the step to; raise it if paths diverge.
    max_steps : int, default=256
        The most leapfrog steps of a path.
    n_draws : int, default=1000
        Draws to keep of each chain.
    n_warmup : int, default=1000
        Steps before, which tune the step and the masses; they are not kept.
    thin : int, default=1
        Steps from one kept draw to the next.
    target_ess : float or None, default=None
        Stop before `n_draws` once every dimension has this bulk effective sample size.
    random_state : int, Generator, RandomState or None, default=None
        Seeds all chains.

    Returns
    -------
    Draws
        The draws; ``info`` has the tuned ``step_size`` and ``mass``; ``divergences`` counts paths
        that broke down, of which a warning tells.

    Notes
    -----
    The dynamics are followed by leapfrog steps, one call of `score` each for all chains at once,
    for a time drawn from (0, 2 `path_length`), the same for all chains. In the warm-up, and there
    alone, the step is tuned by dual averaging and the diagonal mass M is set to one over the
    variances of the draws of all chains in windows of growing length. A draw costs
    :math:`O(T / \epsilon)` calls of the score for paths of length T in steps of :math:`\epsilon`.

    References
    ----------
    R. M. Neal (2011). MCMC using Hamiltonian dynamics. Handbook of Markov chain Monte Carlo.
    arXiv:1206.1901

    M. D. Hoffman, A. Gelman (2014). The No-U-Turn sampler: adaptively setting path lengths in
    Hamiltonian Monte Carlo. JMLR 15.

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.montecarlo import hamiltonian
    >>> spread = np.array([0.01, 1.0, 100.0])
    >>> draws = hamiltonian(
    ...     lambda x: -((x / spread) ** 2).sum(axis=1) / 2,
    ...     lambda x: -x / spread**2,
    ...     np.random.default_rng(0).normal(size=(8, 3)),
    ...     random_state=0,
    ... )
    >>> (draws.draws.std(axis=(0, 1)) / spread).round(1)
    array([1., 1., 1.])
    """
    for name, value in {"path_length": path_length, "max_steps": max_steps}.items():
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be positive and finite; got {value!r}")
    if not 0 < target_acceptance < 1:
        raise ValueError(f"target_acceptance must be in (0, 1); got {target_acceptance!r}")
    dim = np.shape(init)[-1] if np.ndim(init) else 1
    sampler = Hamiltonian(log_density, score, dim ** (-1 / 4), path_length, int(max_steps))
    return run(
        sampler,
        init,
        n_draws=n_draws,
        n_warmup=n_warmup,
        thin=thin,
        target_ess=target_ess,
        random_state=random_state,
        tuner=Adaptation(sampler, n_warmup, target_acceptance),
    )
