"""Bounds on tails, and how tight they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar


def markov(mean: float, t: float) -> float:
    r"""Markov's :math:`P(X \ge t) \le E X / t`, for X of zero or more."""
    return _capped(mean, t, "t")


def chebyshev(variance: float, t: float) -> float:
    r"""Chebyshev's :math:`P(|X - \mu| \ge t) \le \sigma^2 / t^2`."""
    return _capped(variance, t**2, "t")


def cantelli(variance: float, t: float) -> float:
    r"""Cantelli's :math:`P(X - \mu \ge t) \le \sigma^2 / (\sigma^2 + t^2)`, of one side."""
    return _capped(variance, variance + t**2, "t")


def hoeffding(n: int, t: float, low: float = 0.0, high: float = 1.0) -> float:
    r"""Hoeffding's :math:`P(\bar X - \mu \ge t) \le e^{-2 n t^2 / (b - a)^2}`, terms in [a, b]."""
    return float(np.exp(-2 * n * _positive(t, "t") ** 2 / _positive(high - low, "high - low") ** 2))


def bernstein(n: int, t: float, variance: float, bound: float = 1.0) -> float:
    r"""Bernstein's bound for the mean of n terms within b of their mean, of known variance.

    .. math:: P(\bar X - \mu \ge t) \le \exp\Bigl(-\frac{n t^2}{2 \sigma^2 + 2 b t / 3}\Bigr)
    """
    return float(np.exp(-n * _positive(t, "t") ** 2 / (2 * variance + 2 * bound * t / 3)))


def chernoff(log_mgf: Callable[[float], float], t: float, limit: float = 100.0) -> float:
    r"""Chernoff's :math:`P(X \ge t) \le \inf_{0 \le s < S} e^{\log M(s) - s t}`, S the `limit`."""
    run = minimize_scalar(
        lambda s: log_mgf(s) - s * t, bounds=(0, limit), method="bounded", options={"xatol": 1e-10}
    )
    return float(min(np.exp(run.fun), 1.0))


def chebyshev_extremal(variance: float, t: float) -> tuple[np.ndarray, np.ndarray]:
    r"""The law about zero for which Chebyshev's bound is an equality: values and probabilities.

    It sits at :math:`-t, 0, t` with :math:`\sigma^2 / 2 t^2` at each end, if :math:`t \ge \sigma`.
    """
    if not t**2 >= variance > 0:
        raise ValueError(f"t={t!r} must be at least the deviation {np.sqrt(variance):.4g}")
    end = variance / (2 * t**2)
    return np.array([-t, 0.0, t]), np.array([end, 1 - 2 * end, end])


def tail_bounds(law: Any, t: float) -> dict[str, dict[str, float]]:
    r"""Bounds on the tails of a law beside their exact values, and how many times too large.

    .. math:: \text{ratio} = \text{bound} / \text{exact} \ge 1

    Parameters
    ----------
    law : frozen distribution of scipy.stats
        It has a mean and a variance; that Markov's bound applies is read from its support.
    t : float
        The distance from the mean, above zero.

    Returns
    -------
    dict of {name: {"bound", "exact", "ratio"}}
        "chebyshev" on both sides, "cantelli" above the mean, and "markov" where it applies.
    """
    _positive(t, "t")
    mean, variance = law.mean(), law.var()
    # P(X >= x) is 1 - P(X < x): for a discrete law the point itself counts
    above = float(law.sf(mean + t) + _mass(law, mean + t))
    bounds = {
        "chebyshev": (chebyshev(variance, t), above + float(law.cdf(mean - t))),
        "cantelli": (cantelli(variance, t), above),
    }
    if law.support()[0] >= 0:
        bounds["markov"] = (markov(mean, mean + t), above)
    return {
        name: {"bound": bound, "exact": exact, "ratio": bound / exact if exact else np.inf}
        for name, (bound, exact) in bounds.items()
    }


def _mass(law: Any, x: float) -> float:
    return float(law.pmf(x)) if hasattr(law, "pmf") and hasattr(law.dist, "pmf") else 0.0


def _positive(value: float, name: str) -> float:
    if not value > 0:
        raise ValueError(f"{name} must be above zero; got {value!r}")
    return value


def _capped(amount: float, limit: float, name: str) -> float:
    if not amount >= 0:
        raise ValueError(f"a mean or variance here is zero or more; got {amount!r}")
    return float(min(amount / _positive(limit, name), 1.0))
