"""Gibbs sampling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from panlearn.core.parameters import RandomState
from panlearn.montecarlo._chains import State, run
from panlearn.montecarlo.draws import Draws


@dataclass(frozen=True)
class Gibbs:
    """The sampler: coordinates and the function that draws them given the others."""

    blocks: tuple[tuple[Any, Callable[..., Any]], ...]
    shuffled: bool = False

    def init(self, position: np.ndarray) -> State:
        """Return the state of chains at their first positions."""
        return State(position, None, np.ones(len(position)))

    def step(self, rng: np.random.Generator, state: State) -> State:
        """Draw every block once, or as many at random, each given what is new."""
        position, count = state.position.copy(), len(self.blocks)
        order = rng.integers(count, size=count) if self.shuffled else range(count)
        for i in order:
            columns, conditional = self.blocks[i]
            drawn = np.asarray(conditional(rng, position), dtype=float)
            if drawn.shape != position[:, columns].shape or not np.isfinite(drawn).all():
                raise ValueError(
                    f"the conditional of {columns} must give finite draws of shape "
                    f"{position[:, columns].shape}; it gave {drawn.shape}"
                    f"{'' if np.isfinite(drawn).all() else ', some of them NaN or infinite'}"
                )
            position[:, columns] = drawn
        return State(position, None, state.acceptance)


def gibbs(
    conditionals: Sequence[Any],
    init: ArrayLike,
    *,
    scan: Literal["systematic", "random"] = "systematic",
    n_draws: int = 1000,
    n_warmup: int = 1000,
    thin: int = 1,
    target_ess: float | None = None,
    random_state: RandomState = None,
) -> Draws:
    r"""Draw from a law by drawing each coordinate given all others.

    .. math:: x_j \sim p(x_j \mid x_1, \ldots, x_{j-1}, x_{j+1}, \ldots, x_d), \qquad j = 1, ..., d

    Parameters
    ----------
    conditionals : sequence
        One function a coordinate, ``conditional(rng, x)`` with x of shape (chains, dim), which
        returns draws of shape (chains,); or pairs ``(columns, conditional)`` for blocks, whose
        functions return (chains, len(columns)).
    init : array-like of shape (chains, dim)
        The first positions, one row a chain.
    scan : {"systematic", "random"}, default="systematic"
        Whether a step goes through the coordinates in order, or picks as many at random, which
        makes the chain reversible.
    n_draws : int, default=1000
        Draws to keep of each chain.
    n_warmup : int, default=1000
        Steps before, which are not kept.
    thin : int, default=1
        Steps from one kept draw to the next.
    target_ess : float or None, default=None
        Stop before `n_draws` once every dimension has this bulk effective sample size.
    random_state : int, Generator, RandomState or None, default=None
        Seeds all chains.

    Returns
    -------
    Draws
        The draws; every update is accepted, since it is a Metropolis-Hastings step whose proposal
        is the conditional law itself.

    Notes
    -----
    A step is one call of each conditional for all chains at once. Coordinates that depend much on
    each other mix slowly: draw them as a block. A step costs :math:`O(b)` calls for b blocks of
    coordinates.

    References
    ----------
    S. Geman, D. Geman (1984). Stochastic relaxation, Gibbs distributions, and the Bayesian
    restoration of images. IEEE PAMI 6(6). doi:10.1109/TPAMI.1984.4767596

    Examples
    --------
    A bivariate normal law with correlation 0.8:

    >>> import numpy as np
    >>> from panlearn.montecarlo import gibbs
    >>> draws = gibbs(
    ...     [
    ...         lambda rng, x: rng.normal(0.8 * x[:, 1], 0.6),
    ...         lambda rng, x: rng.normal(0.8 * x[:, 0], 0.6),
    ...     ],
    ...     np.zeros((8, 2)),
    ...     n_draws=2000,
    ...     random_state=0,
    ... )
    >>> bool(abs(draws.covariance()[0, 1] - 0.8) < 0.05)
    True
    """
    if scan not in ("systematic", "random"):
        raise ValueError(f"scan must be 'systematic' or 'random'; got {scan!r}")
    dim = np.shape(init)[-1] if np.ndim(init) else 0
    blocks = tuple(
        (list(c[0]), c[1]) if isinstance(c, tuple) else (j, c) for j, c in enumerate(conditionals)
    )
    covered = {int(j) for columns, _ in blocks for j in np.atleast_1d(columns)}
    if covered != set(range(dim)):
        raise ValueError(
            f"the conditionals draw the coordinates {sorted(covered)} of {dim}; every coordinate "
            "of init needs one"
        )
    return run(
        Gibbs(blocks, scan == "random"),
        init,
        n_draws=n_draws,
        n_warmup=n_warmup,
        thin=thin,
        target_ess=target_ess,
        random_state=random_state,
    )
