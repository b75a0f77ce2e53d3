"""Metropolis-Hastings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from panlearn.core.parameters import RandomState
from panlearn.montecarlo._adaptation import Adaptation, covariance_root
from panlearn.montecarlo._chains import Density, State, accept, first_densities, run
from panlearn.montecarlo.draws import Draws
from panlearn.montecarlo.proposals import RandomWalk, Tunable, best_scale


@dataclass(frozen=True)
class Metropolis:
    """The sampler: a proposal, and its acceptance by the ratio of densities."""

    log_density: Density
    proposal: Any

    def init(self, position: np.ndarray) -> State:
        """Return the state of chains at their first positions."""
        values = first_densities(self.log_density, position)
        return State(position, values, np.ones(len(position)))

    def step(self, rng: np.random.Generator, state: State) -> State:
        """Propose, and go or stay."""
        position, density = state.position, state.log_density
        proposed, log_hastings = self.proposal(rng, position)
        value = self.log_density(proposed)
        accepted, probability = accept(rng, value - density + log_hastings)
        if np.isnan(probability).any():
            chain = int(np.flatnonzero(np.isnan(probability))[0])
            raise ValueError(
                f"the acceptance is NaN for the proposal {proposed[chain]}, of log density "
                f"{value[chain]}; let log_density return -inf outside the support"
            )
        return State(
            np.where(accepted[:, None], proposed, position),
            np.where(accepted, value, density),
            probability,
        )

    @property
    def step_size(self) -> float:
        """The scale of the random walk."""
        return self.proposal.step_size

    def with_step(self, step_size: float) -> Metropolis:
        """Return the sampler with another scale."""
        return replace(self, proposal=replace(self.proposal, step_size=step_size))

    def with_spread(self, positions: np.ndarray) -> Metropolis:
        """Return the sampler whose steps have the covariance of positions."""
        root = covariance_root(self.proposal.coordinates(positions))
        if root is None:
            return self
        # in units of the law the best scale is known, whatever it was before
        scale = best_scale(positions.shape[1])
        return replace(self, proposal=replace(self.proposal, root=root, step_size=scale))

    def facts(self) -> dict[str, Any]:
        """Return the scale, and the covariance of the steps if it was learned."""
        scale, root = self.proposal.step_size, self.proposal.root
        learned = {} if root is None else {"covariance": scale**2 * root @ root.T}
        return {"step_size": scale, **learned}


def metropolis_hastings(
    log_density: Density,
    init: ArrayLike,
    *,
    proposal: Callable[..., Any] | None = None,
    n_draws: int = 1000,
    n_warmup: int = 1000,
    thin: int = 1,
    target_ess: float | None = None,
    random_state: RandomState = None,
) -> Draws:
    r"""Draw from a density by proposals that are accepted or refused.

    .. math::
        x' \sim q(\cdot \mid x), \qquad
        P(\text{accept}) = \min\!\left(1, \frac{p(x')\, q(x \mid x')}{p(x)\, q(x' \mid x)}\right)

    Parameters
    ----------
    log_density : callable
        Maps positions of shape (chains, dim) to log densities of shape (chains,), up to a constant;
        -inf outside the support.
    init : array-like of shape (chains, dim)
        The first positions, one row a chain, better spread than all alike.
    proposal : callable or None, default=None
        ``proposal(rng, x)`` gives the proposed positions and the logarithm of their Hastings
        factors, see `panlearn.montecarlo.proposals`; a Gaussian random walk if not given.
    n_draws : int, default=1000
        Draws to keep of each chain.
    n_warmup : int, default=1000
        Steps before, in which a random walk tunes itself; they are not kept.
    thin : int, default=1
        Steps from one kept draw to the next.
    target_ess : float or None, default=None
        Stop before `n_draws` once every dimension has this bulk effective sample size; a warning
        says how many more draws are needed if it is not reached.
    random_state : int, Generator, RandomState or None, default=None
        Seeds all chains.

    Returns
    -------
    Draws
        The draws; ``info`` has the tuned ``step_size`` and the ``covariance`` of the steps.

    Notes
    -----
    All chains step at once in NumPy, so a step costs one call of `log_density` and little else. In
    the warm-up, and there alone, the covariance of a random walk is learned from all chains in
    windows of growing length, and its scale by dual averaging towards an acceptance of 0.44 in one
    dimension and 0.234 in many, where Gaussian laws mix best. Other proposals stay as they are. A
    proposal costs :math:`O(d)` a chain, and :math:`O(d^2)` once a covariance is learned.

    References
    ----------
    N. Metropolis, A. W. Rosenbluth, M. N. Rosenbluth, A. H. Teller, E. Teller (1953). Equation of
    state calculations by fast computing machines. J. Chem. Phys. 21(6). doi:10.1063/1.1699114

    W. K. Hastings (1970). Monte Carlo sampling methods using Markov chains and their applications.
    Biometrika 57(1). doi:10.1093/biomet/57.1.97

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.montecarlo import metropolis_hastings
    >>> start = np.random.default_rng(0).normal(size=(16, 1))
    >>> laplace = metropolis_hastings(
    ...     lambda x: -np.abs(x[:, 0]), start, n_draws=4000, random_state=0
    ... )
    >>> bool(abs(laplace.covariance()[0, 0] - 2) < 0.15)
    True
    """
    chosen = RandomWalk() if proposal is None else proposal
    tuner = None
    if isinstance(chosen, Tunable):
        dim = np.shape(init)[-1] if np.ndim(init) else 1
        if chosen.step_size is None:
            chosen = replace(chosen, step_size=best_scale(dim))
        tuner = Adaptation(Metropolis(log_density, chosen), n_warmup, 0.234 + 0.206 / dim)
    return run(
        Metropolis(log_density, chosen),
        init,
        n_draws=n_draws,
        n_warmup=n_warmup,
        thin=thin,
        target_ess=target_ess,
        random_state=random_state,
        tuner=tuner,
    )
