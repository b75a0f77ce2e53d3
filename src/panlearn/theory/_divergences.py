"""Divergences between tables: what a table is, f-divergences, their conjugates and bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy

Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class FDivergence:
    r"""A convex generator f with f(1) = 0, and what is needed to compute with it.

    .. math:: D_f(p \| q) = \sum_i q_i f(p_i / q_i), \qquad f^*(s) = \sup_t \, s t - f(t)

    Parameters
    ----------
    f : callable
        The generator, for arrays of t > 0.
    derivative : callable
        Its derivative, which makes the best critic :math:`f'(p / q)`.
    conjugate : callable
        The convex conjugate :math:`f^*`.
    at_zero : float
        The limit of f(t) at 0: what mass of q counts where p has none.
    slope : float
        The limit of f(t) / t at infinity: what mass of p counts where q has none.
    """

    f: Function
    derivative: Function
    conjugate: Function
    at_zero: float
    slope: float


def _below(bound: float, conjugate: Function) -> Function:
    """A conjugate that is finite for s < bound only, and infinite from there on."""

    def function(s: np.ndarray) -> np.ndarray:
        inside = np.asarray(s, dtype=float) < bound
        return np.where(inside, conjugate(np.where(inside, s, bound - 1.0)), np.inf)

    return function


def _total_variation_conjugate(s: np.ndarray) -> np.ndarray:
    return np.where(np.asarray(s) > 0.5, np.inf, np.maximum(s, -0.5))


# Halved, so that it is at most log 2; the sum of the two KL terms is twice as much.
_JS = FDivergence(
    lambda t: (xlogy(t, t) - (t + 1) * np.log((t + 1) / 2)) / 2,
    lambda t: np.log(2 * t / (t + 1)) / 2,
    _below(np.log(2) / 2, lambda s: -np.log(2 - np.exp(2 * s)) / 2),
    np.log(2) / 2,
    np.log(2) / 2,
)
_GAN = FDivergence(
    lambda t: xlogy(t, t) - (t + 1) * np.log(t + 1) + np.log(4),
    lambda t: np.log(t / (t + 1)),
    _below(0.0, lambda s: -np.log(-np.expm1(s)) - np.log(4)),
    np.log(4),
    0.0,
)
F_DIVERGENCES = {
    "kl": FDivergence(
        lambda t: xlogy(t, t) - t + 1,
        np.log,
        np.expm1,
        1.0,
        np.inf,
    ),
    "reverse_kl": FDivergence(
        lambda t: t - 1 - np.log(t),
        lambda t: 1 - 1 / t,
        _below(1.0, lambda s: -np.log(1 - s)),
        np.inf,
        1.0,
    ),
    "total_variation": FDivergence(
        lambda t: np.abs(t - 1) / 2,
        lambda t: np.sign(t - 1) / 2,
        _total_variation_conjugate,
        0.5,
        0.5,
    ),
    "js": _JS,
    "gan": _GAN,
    "pearson": FDivergence(
        lambda t: (t - 1) ** 2,
        lambda t: 2 * (t - 1),
        lambda s: np.where(np.asarray(s) > -2, s + np.square(s) / 4, -1.0),
        1.0,
        np.inf,
    ),
    "hellinger": FDivergence(
        lambda t: (np.sqrt(t) - 1) ** 2 / 2,
        lambda t: (1 - 1 / np.sqrt(t)) / 2,
        _below(0.5, lambda s: s / (1 - 2 * s)),
        0.5,
        0.5,
    ),
}


def table(values: Any, name: str = "p") -> np.ndarray:
    """Probabilities from probabilities or counts of any shape; they are made to sum to one."""
    p = np.asarray(values, dtype=float)
    if not p.size or not np.isfinite(p).all() or (p < 0).any() or not p.any():
        raise ValueError(
            f"{name} must hold probabilities or counts, zero or more and not all zero; got "
            f"{np.array2string(p, threshold=8)}"
        )
    return p / p.sum()


def tables(p: Any, q: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two tables over the same cells."""
    first, second = table(p, "p"), table(q, "q")
    if first.shape != second.shape:
        raise ValueError(
            f"p has shape {first.shape} and q {second.shape}; give both over the same cells"
        )
    return first, second


def generator(f: str | FDivergence) -> FDivergence:
    """The divergence of a name, or the one that is given."""
    if isinstance(f, FDivergence):
        return f
    if f not in F_DIVERGENCES:
        raise ValueError(f"f must be one of {list(F_DIVERGENCES)} or an FDivergence; got {f!r}")
    return F_DIVERGENCES[f]


def f_divergence(p: Any, q: Any, f: str | FDivergence = "kl") -> float:
    r"""The f-divergence :math:`\sum_i q_i f(p_i / q_i)`, zero just if p = q where f is strict.

    Parameters
    ----------
    p, q : array-like
        Probabilities or counts over the same cells.
    f : str or FDivergence, default="kl"
        One of "kl", "reverse_kl", "total_variation", "js" (at most log 2), "gan" (twice as much,
        with the generator :math:`t \log t - (t + 1) \log(t + 1) + \log 4`), "pearson",
        "hellinger" (the squared distance), or a generator of your own.

    Returns
    -------
    float
        Infinite where p lies outside q and the generator has no bound there.
    """
    chosen, (first, second) = generator(f), tables(p, q)
    both = (first > 0) & (second > 0)
    ratio = first[both] / second[both]
    total = second[both] @ chosen.f(ratio)
    only_q, only_p = second[first == 0].sum(), first[second == 0].sum()
    total += chosen.at_zero * only_q if only_q else 0.0
    total += chosen.slope * only_p if only_p else 0.0
    return max(float(total), 0.0)


def conjugate(s: Any, f: str | FDivergence = "kl") -> np.ndarray:
    r"""The convex conjugate :math:`f^*(s) = \sup_{t \ge 0} s t - f(t)` of a generator."""
    return np.asarray(generator(f).conjugate(np.asarray(s, dtype=float)))


def best_critic(p: Any, q: Any, f: str | FDivergence = "kl") -> np.ndarray:
    r"""The critic :math:`f'(p / q)` at which `variational_bound` reaches the divergence."""
    first, second = tables(p, q)
    if not ((first > 0) & (second > 0)).all():
        raise ValueError("p and q must be positive in every cell for the best critic to be finite")
    return generator(f).derivative(first / second)


def variational_bound(critic: Any, p: Any, q: Any, f: str | FDivergence = "kl") -> float:
    r"""The lower bound on :math:`D_f(p \| q)` that a critic T of the cells proves.

    .. math:: \sum_i p_i T_i - \sum_i q_i f^*(T_i) \le D_f(p \| q)
    """
    first, second = tables(p, q)
    values = np.broadcast_to(np.asarray(critic, dtype=float), first.shape)
    reward = np.where(first > 0, first * np.where(first > 0, values, 0.0), 0.0).sum()
    cost = conjugate(values, f)[second > 0]
    return float(reward - second[second > 0] @ cost)
