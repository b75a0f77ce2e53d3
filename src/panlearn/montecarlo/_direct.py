"""Independent draws: by the inverse of a cdf, by rejection, by importance weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from panlearn.core.parameters import RandomState
from panlearn.core.random import generator
from panlearn.montecarlo._chains import Density
from panlearn.montecarlo.draws import Draws, WeightedDraws

Sample = Callable[[np.random.Generator, int], Any]


def inverse_transform(
    quantile: Callable[[np.ndarray], Any] | None = None,
    *,
    cdf: Callable[[np.ndarray], Any] | None = None,
    n_draws: int = 1000,
    random_state: RandomState = None,
) -> Draws:
    r"""Draw a number by its quantile function, or by its distribution function.

    .. math:: x = Q(u), \quad u \sim \mathcal{U}(0, 1), \qquad Q(u) = \inf \{x : F(x) \ge u\}

    Parameters
    ----------
    quantile : callable or None, default=None
        The quantile function Q of an array of numbers in (0, 1).
    cdf : callable or None, default=None
        The distribution function F of an array; it may jump and may be flat. One of the two.
    n_draws : int, default=1000
        How many draws.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the draws.

    Returns
    -------
    Draws
        One chain of independent draws, of shape (1, n_draws, 1).

    Notes
    -----
    F is inverted by bisection to the last digit, for all draws at once: the least x with
    :math:`F(x) \ge u`, which is the generalised inverse, so that F need not be continuous. It takes
    :math:`O(n)` quantiles for n draws, or some sixty times as many values of F.

    References
    ----------
    L. Devroye (1986). Non-uniform random variate generation, chapter 2.
    doi:10.1007/978-1-4613-8643-8

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.montecarlo import inverse_transform
    >>> draws = inverse_transform(lambda u: -np.log1p(-u) / 2, n_draws=10_000, random_state=0)
    >>> bool(abs(draws.mean()[0] - 0.5) < 0.02)
    True
    >>> die = inverse_transform(cdf=lambda x: np.clip(np.floor(x), 0, 6) / 6, random_state=0)
    >>> np.unique(die.draws)
    array([1., 2., 3., 4., 5., 6.])
    """
    if (quantile is None) == (cdf is None):
        raise ValueError("give either quantile or cdf")
    u = generator(random_state).uniform(np.finfo(float).tiny, 1.0, size=_count(n_draws))
    x = np.asarray(quantile(u) if quantile is not None else _invert(cdf, u), dtype=float)
    if x.shape != u.shape or np.isnan(x).any():
        raise ValueError(
            f"the quantile function must map {u.shape} numbers in (0, 1) to as many; it gave shape "
            f"{x.shape}, NaN: {bool(np.isnan(x).any())}"
        )
    return Draws(x[None, :, None], np.ones(1))


def _invert(cdf: Any, u: np.ndarray) -> np.ndarray:
    """The least x with F(x) >= u, by bisection of the floats in their order."""
    left, right = np.full(len(u), -1.0), np.full(len(u), 1.0)
    for _ in range(1023):
        short, far = cdf(right) < u, cdf(left) >= u
        if not (short.any() or far.any()):
            break
        right, left = np.where(short, 2 * right, right), np.where(far, 2 * left, left)
    else:
        raise ValueError("cdf does not rise from 0 to 1 on the floats; check it at both ends")
    low, high = _order(left), _order(right)
    while ((middle := (low & high) + ((low ^ high) >> 1)) > low).any():  # their mean, rounded down
        above = cdf(_float(middle)) >= u
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return _float(high) + 0.0  # no negative zero


def _order(x: np.ndarray) -> np.ndarray:
    """The place of a float among all floats; of the negative ones the bits count backwards."""
    bits = x.view(np.int64)
    return np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)


def _float(order: np.ndarray) -> np.ndarray:
    return np.where(order < 0, order ^ np.int64(2**63 - 1), order).view(np.float64)


def rejection(
    log_density: Density,
    sample: Sample,
    proposal_log_density: Density,
    *,
    log_bound: float,
    n_draws: int = 1000,
    max_proposals: int = 10_000_000,
    random_state: RandomState = None,
) -> Draws:
    r"""Draw from a density under an envelope: propose, and accept by the ratio of the two.

    .. math::
        x \sim q, \qquad P(\text{accept}) = \frac{\tilde p(x)}{k\, q(x)} \le 1, \qquad
        P = \frac{1}{k} \int \tilde p

    Parameters
    ----------
    log_density : callable
        Maps positions of shape (n, dim) to :math:`\log \tilde p`, of shape (n,), up to a constant.
    sample : callable
        ``sample(rng, n)`` gives n independent draws of q, of shape (n, dim) or (n,).
    proposal_log_density : callable
        The log density of q, with its constant.
    log_bound : float
        The logarithm of k: :math:`\tilde p(x) \le k q(x)` everywhere.
    n_draws : int, default=1000
        How many draws.
    max_proposals : int, default=10000000
        Where to give up.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the draws.

    Returns
    -------
    Draws
        One chain of independent draws. ``acceptance`` is the share of proposals that were
        accepted; ``info`` has their number ``n_proposals`` and the estimate ``log_normaliser`` of
        :math:`\log \int \tilde p`.

    Notes
    -----
    A proposal above the envelope is an error, since the draws would not be of p. The expected
    number of proposals is k over the integral of the density for each draw. Thus :math:`O(n k)`
    proposals make n draws of a normalised density.

    References
    ----------
    J. von Neumann (1951). Various techniques used in connection with random digits. Applied
    Mathematics Series 12, National Bureau of Standards.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from panlearn.montecarlo import rejection
    >>> draws = rejection(
    ...     lambda x: -(x[:, 0] ** 2) / 2,
    ...     lambda rng, n: rng.normal(0, 2, size=(n, 1)),
    ...     lambda x: norm.logpdf(x[:, 0], scale=2),
    ...     log_bound=np.log(2 * np.sqrt(2 * np.pi)),
    ...     random_state=0,
    ... )
    >>> bool(abs(draws.acceptance[0] - 0.5) < 0.05)
    True
    """
    rng, n_draws = generator(random_state), _count(n_draws)
    kept: list[np.ndarray] = []
    values: list[np.ndarray] = []
    proposed = accepted = 0
    while accepted < n_draws:
        if proposed >= max_proposals:
            raise RuntimeError(
                f"{accepted} of {proposed} proposals were accepted, and {n_draws} are wanted; "
                "lower log_bound, take a proposal nearer to the density, or raise max_proposals"
            )
        rate = max(accepted, 1) / max(proposed, 1)
        size = int(min(max(1.1 * (n_draws - accepted) / rate, 1000), 100_000))
        x = _table(sample(rng, size), size)
        density = _values(log_density, x, "log_density")
        excess = density - _values(proposal_log_density, x, "proposal_log_density") - log_bound
        if (excess > 1e-9).any():
            raise ValueError(
                f"the density exceeds its envelope at {x[excess.argmax()]}: log_bound must be at "
                f"least {log_bound + excess.max():.6g}; got {log_bound:.6g}"
            )
        keep = np.flatnonzero(np.log1p(-rng.random(size)) <= excess)
        if accepted + len(keep) >= n_draws:  # the last draw ends the count, so the rate is fair
            keep = keep[: n_draws - accepted]
            size = int(keep[-1]) + 1
        proposed, accepted = proposed + size, accepted + len(keep)
        kept.append(x[keep])
        values.append(density[keep])
    rate = accepted / proposed
    info = {"n_proposals": proposed, "log_normaliser": float(log_bound + np.log(rate))}
    draws = np.concatenate(kept)[None]
    return Draws(draws, np.array([rate]), np.concatenate(values)[None], info=info)


def importance(
    log_density: Density,
    sample: Sample,
    proposal_log_density: Density,
    *,
    n_draws: int = 1000,
    random_state: RandomState = None,
) -> WeightedDraws:
    r"""Draw from one density and weigh the draws so that they stand for another.

    .. math:: w_i = \frac{\tilde p(x_i)}{q(x_i)}, \qquad x_i \sim q

    Parameters
    ----------
    log_density : callable
        Maps positions of shape (n, dim) to :math:`\log \tilde p`, of shape (n,), up to a constant.
    sample : callable
        ``sample(rng, n)`` gives n independent draws of q, of shape (n, dim) or (n,).
    proposal_log_density : callable
        The log density of q, with its constant.
    n_draws : int, default=1000
        How many draws.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the draws.

    Returns
    -------
    WeightedDraws
        The draws and the logarithms of their weights; its ``expectation`` is plain or
        self-normalised, and ``ess`` and ``pareto_k`` say what the weights are worth.

    Notes
    -----
    The draws come from q, and it has to cover p. The variance of the mean of a function f is least
    for q in proportion to :math:`|f| p`, and zero then if f has one sign. It takes :math:`O(n)`
    values of either density for n draws.

    References
    ----------
    A. B. Owen (2013). Monte Carlo theory, methods and examples, chapter 9.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from panlearn.montecarlo import importance
    >>> draws = importance(
    ...     lambda x: norm.logpdf(x[:, 0]),
    ...     lambda rng, n: rng.normal(0, 2, size=(n, 1)),
    ...     lambda x: norm.logpdf(x[:, 0], scale=2),
    ...     n_draws=10_000,
    ...     random_state=0,
    ... )
    >>> bool(abs(draws.expectation(lambda x: x[:, 0] ** 2) - 1) < 0.05)
    True
    """
    n_draws = _count(n_draws)
    x = _table(sample(generator(random_state), n_draws), n_draws)
    log_weights = _values(log_density, x, "log_density") - _values(
        proposal_log_density, x, "proposal_log_density"
    )
    if np.isnan(log_weights).any() or not (log_weights < np.inf).all():
        raise ValueError("a weight is NaN or infinite: q must be positive at each of its draws")
    if not np.isfinite(log_weights).any():
        raise ValueError("every weight is zero: no draw of q lies where p is positive")
    return WeightedDraws(x, log_weights)


def _count(n_draws: int) -> int:
    if isinstance(n_draws, bool) or not isinstance(n_draws, int | np.integer) or n_draws < 1:
        raise ValueError(f"n_draws must be a whole number from 1 up; got {n_draws!r}")
    return int(n_draws)


def _table(draws: Any, n: int) -> np.ndarray:
    x = np.asarray(draws, dtype=float)
    x = x[:, None] if x.ndim == 1 else x
    if x.ndim != 2 or len(x) != n:
        raise ValueError(f"sample(rng, {n}) must give shape ({n}, dim); it gave {x.shape}")
    return x


def _values(function: Density, x: np.ndarray, name: str) -> np.ndarray:
    values = np.asarray(function(x), dtype=float)
    if values.shape != (len(x),) or np.isnan(values).any():
        raise ValueError(
            f"{name} must map positions of shape {x.shape} to {(len(x),)}; it gave shape "
            f"{values.shape}, NaN: {bool(np.isnan(values).any())}"
        )
    return values
