"""Langevin dynamics, plain and adjusted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from panlearn.core.parameters import RandomState
from panlearn.montecarlo._adaptation import Adaptation, covariance_root
from panlearn.montecarlo._chains import (
    Density,
    State,
    accept,
    first_densities,
    first_scores,
    run,
)
from panlearn.montecarlo.draws import Draws


@dataclass(frozen=True)
class Unadjusted:
    r"""The plain sampler: :math:`x' = x + \frac\epsilon2 s(x) + \sqrt\epsilon\, \xi`."""

    score: Density
    step_size: float

    def init(self, position: np.ndarray) -> State:
        """Return the state of chains at their first positions."""
        gradient = first_scores(self.score, position)
        return State(position, None, np.ones(len(position)), gradient)

    def step(self, rng: np.random.Generator, state: State) -> State:
        """Drift along the score, and diffuse."""
        position, gradient = state.position, state.gradient
        noise = rng.standard_normal(position.shape)
        position = position + self.step_size / 2 * gradient + np.sqrt(self.step_size) * noise
        gradient = self.score(position)
        if not np.isfinite(gradient).all():
            raise ValueError(
                f"the score is not finite where the dynamics led with step_size={self.step_size:g};"
                " lower it, or give log_density, so that bad steps are refused"
            )
        return State(position, None, state.acceptance, gradient)


@dataclass(frozen=True)
class Adjusted:
    r"""The sampler with acceptance, in coordinates in which the law has covariance one.

    .. math:: x' = x + \frac\epsilon2 L L^\top s(x) + \sqrt\epsilon\, L \xi
    """

    log_density: Density
    score: Density
    step_size: float
    root: np.ndarray | None = None

    def init(self, position: np.ndarray) -> State:
        """Return the state of chains at their first positions."""
        density = first_densities(self.log_density, position)
        gradient = first_scores(self.score, position)
        return State(position, density, np.ones(len(position)), gradient)

    def step(self, rng: np.random.Generator, state: State) -> State:
        """Drift, diffuse, and go or stay."""
        root = np.sqrt(self.step_size)
        noise = rng.standard_normal(state.position.shape)
        drift = self.step_size / 2 * self._times(state.gradient)
        with np.errstate(over="ignore", invalid="ignore"):
            step = drift + root * noise
            proposed = state.position + (step if self.root is None else step @ self.root.T)
            density, gradient = self.log_density(proposed), self.score(proposed)
            # the noise that would lead back, in units of the noise that led here
            back = -noise - (drift + self.step_size / 2 * self._times(gradient)) / root
            log_hastings = ((noise**2).sum(axis=1) - (back**2).sum(axis=1)) / 2
            log_ratio = density - state.log_density + log_hastings
        log_ratio = np.where(np.isnan(log_ratio), -np.inf, log_ratio)
        accepted, probability = accept(rng, log_ratio)
        return State(
            np.where(accepted[:, None], proposed, state.position),
            np.where(accepted, density, state.log_density),
            probability,
            np.where(accepted[:, None], gradient, state.gradient),
        )

    def _times(self, gradient: np.ndarray) -> np.ndarray:
        """The score in the coordinates of the steps, L's."""
        return gradient if self.root is None else gradient @ self.root

    def with_step(self, step_size: float) -> Adjusted:
        """Return the sampler with another step."""
        return replace(self, step_size=step_size)

    def with_spread(self, positions: np.ndarray) -> Adjusted:
        """Return the sampler whose steps have the covariance of positions."""
        root = covariance_root(positions)
        if root is None:
            return self
        return replace(self, root=root, step_size=positions.shape[1] ** (-1 / 3))

    def facts(self) -> dict[str, Any]:
        """Return the step, and the covariance in units of which it is if that was learned."""
        learned = {} if self.root is None else {"covariance": self.root @ self.root.T}
        return {"step_size": self.step_size, **learned}


def langevin(
    score: Density,
    init: ArrayLike,
    *,
    log_density: Density | None = None,
    step_size: float | None = None,
    n_draws: int = 1000,
    n_warmup: int = 1000,
    thin: int = 1,
    target_ess: float | None = None,
    random_state: RandomState = None,
) -> Draws:
    r"""Draw from a density by diffusion along its score.

    .. math::
        x_{t+1} = x_t + \frac{\epsilon}{2} \nabla \log p(x_t) + \sqrt{\epsilon}\, \xi_t, \qquad
        \xi_t \sim \mathcal{N}(0, I)

    Parameters
    ----------
    score : callable
        The gradient of the log density: positions of shape (chains, dim) to the same shape.
    init : array-like of shape (chains, dim)
        The first positions, one row a chain.
    log_density : callable or None, default=None
        Maps (chains, dim) to (chains,). If given, each step is accepted or refused, which makes
        the law exact (MALA); if not, the dynamics run as they are (ULA).
    step_size : float or None, default=None
        The step :math:`\epsilon`, of which plain dynamics have no default; with `log_density`
        the first step of the warm-up.
    n_draws : int, default=1000
        Draws to keep of each chain.
    n_warmup : int, default=1000
        Steps before, which are not kept; with `log_density` they tune step and covariance.
    thin : int, default=1
        Steps from one kept draw to the next.
    target_ess : float or None, default=None
        Stop before `n_draws` once every dimension has this bulk effective sample size.
    random_state : int, Generator, RandomState or None, default=None
        Seeds all chains.

    Returns
    -------
    Draws
        The draws; ``info`` has the tuned ``step_size`` and the ``covariance`` that it refers to.

    Notes
    -----
    Plain dynamics have a bias of the order of the step: on a standard normal law their variance is
    :math:`1 / (1 - \epsilon / 4)`. Adjusted ones have none; the warm-up tunes the step towards
    an acceptance of 0.574, in coordinates in which the draws of the windows have covariance one. A
    step costs one call of the score, and :math:`O(d)` a chain, adjusted one call of the density
    more and :math:`O(d^2)`.

    References
    ----------
    G. O. Roberts, R. L. Tweedie (1996). Exponential convergence of Langevin distributions and their
    discrete approximations. Bernoulli 2(4). doi:10.2307/3318418

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.montecarlo import langevin
    >>> plain = langevin(
    ...     lambda x: -x, np.zeros((64, 1)), step_size=0.5, n_draws=5000, random_state=0
    ... )
    >>> bool(abs(plain.covariance()[0, 0] - 1 / (1 - 0.5 / 4)) < 0.03)
    True
    """
    if step_size is not None and not (np.isfinite(step_size) and step_size > 0):
        raise ValueError(f"step_size must be positive and finite; got {step_size!r}")
    loop: dict[str, Any] = dict(
        n_draws=n_draws,
        n_warmup=n_warmup,
        thin=thin,
        target_ess=target_ess,
        random_state=random_state,
    )
    if log_density is None:
        if step_size is None:
            raise ValueError(
                "plain Langevin dynamics need a step_size, which trades bias for speed; or give "
                "log_density, by which steps are refused and the step is tuned"
            )
        return run(Unadjusted(score, step_size), init, **loop)
    dim = np.shape(init)[-1] if np.ndim(init) else 1
    sampler = Adjusted(log_density, score, dim ** (-1 / 3) if step_size is None else step_size)
    return run(sampler, init, tuner=Adaptation(sampler, n_warmup, 0.574), **loop)
