r"""Step-size schedules: the factor by which iteration k scales the step.

.. math:: \eta_k = \eta_0 \, s(k), \qquad k = 0, 1, 2, \ldots

A function of this module gives back s, a plain (and picklable) function of k, which may be an
array, for the `schedule` of an optimiser. For stochastic gradients a sum of steps that diverges
with a sum of squares that converges (`inverse_time`) reaches the minimum of a strongly convex
objective; for a merely convex one take `inverse_sqrt`: 1/k is then too short a road.

A factor costs :math:`O(1)`, whatever k is.

References
----------
Robbins, Monro (1951). A stochastic approximation method. doi:10.1214/aoms/1177729586

Loshchilov, Hutter (2017). SGDR: stochastic gradient descent with warm restarts. ICLR.
arXiv:1608.03983

Examples
--------
>>> import numpy as np
>>> from panlearn.optimize import schedules
>>> schedules.inverse_time(1.0)(np.arange(4))
array([1.        , 0.5       , 0.33333333, 0.25      ])
>>> schedules.step_decay([10, 20], factor=0.1)(np.array([9, 10, 25]))
array([1.  , 0.1 , 0.01])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

__all__ = ["constant", "inverse_sqrt", "inverse_time", "step_decay", "warmup_cosine"]

Schedule = Callable[[Any], Any]


def constant() -> Schedule:
    r"""Keep the same step at every iteration, :math:`s(k) = 1`."""
    return _constant


def step_decay(milestones: Sequence[int], factor: float = 0.1) -> Schedule:
    r"""Drop at each milestone, :math:`s(k) = f^{\#\{i : k \ge t_i\}}`."""
    steps = np.asarray(milestones)
    if steps.ndim != 1 or np.any(np.diff(steps) <= 0):
        raise ValueError(f"milestones={milestones!r} must be a list that increases")
    if not 0 < factor <= 1:
        raise ValueError(f"factor={factor!r} must lie in (0, 1]")
    return partial(_step_decay, milestones=steps, factor=float(factor))


def inverse_time(decay: float = 1.0) -> Schedule:
    r"""Decay with the inverse of time, :math:`s(k) = 1 / (1 + c k)`."""
    return partial(_inverse_time, decay=_check_decay(decay))


def inverse_sqrt(decay: float = 1.0) -> Schedule:
    r"""Decay with the root of time, :math:`s(k) = 1 / \sqrt{1 + c k}`."""
    return partial(_inverse_sqrt, decay=_check_decay(decay))


def warmup_cosine(warmup: int, total: int, final: float = 0.0) -> Schedule:
    r"""Rise linearly over w iterations, then follow half a cosine down to the final factor f.

    .. math::

        s(k) = \begin{cases} (k + 1) / w & k < w \\
        f + \tfrac12 (1 - f) \bigl(1 + \cos(\pi \min(1, \tfrac{k - w}{n - w}))\bigr) & k \ge w
        \end{cases}
    """
    if not 0 <= warmup < total:
        raise ValueError(f"warmup={warmup!r} must be below total={total!r}, zero or more")
    if not 0 <= final <= 1:
        raise ValueError(f"final={final!r} must lie in [0, 1]")
    return partial(_warmup_cosine, warmup=warmup, total=total, final=float(final))


def _constant(k: Any) -> Any:
    return np.ones(np.shape(k))[()]


def _step_decay(k: Any, milestones: np.ndarray, factor: float) -> Any:
    return factor ** np.searchsorted(milestones, k, side="right")


def _inverse_time(k: Any, decay: float) -> Any:
    return 1 / (1 + decay * k)


def _inverse_sqrt(k: Any, decay: float) -> Any:
    return 1 / np.sqrt(1 + decay * k)


def _warmup_cosine(k: Any, warmup: int, total: int, final: float) -> Any:
    progress = np.clip((k - warmup) / (total - warmup), 0, 1)
    cosine = final + (1 - final) * (1 + np.cos(np.pi * progress)) / 2
    return np.where(k < warmup, (k + 1) / max(warmup, 1), cosine)[()]


def _check_decay(decay: float) -> float:
    if not (np.isfinite(decay) and decay >= 0):
        raise ValueError(f"decay={decay!r} must be a finite number, zero or more")
    return float(decay)
