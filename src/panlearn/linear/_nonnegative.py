r"""Least squares with coefficients of at least zero, from the square root of the moments.

.. math:: \min_{W \ge 0} \|Y - X W\|^2 + \alpha \|W\|^2

The rows enter through a factor R of their scatter, so that streams and clusters do as well as
arrays, and the conditions of optimality hold to the rounding of R rather than of its square.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.optimize import nnls

from panlearn.core.map_reduce import map_reduce
from panlearn.core.memory import require_memory
from panlearn.core.sources import Rows
from panlearn.core.statistics import RootMoments
from panlearn.linear._least_squares import (
    Solution,
    centred_root,
    intercept_of,
    per_target,
    root_of,
    varies,
)

# Lawson and Hanson's method mostly takes one step a column that stays, and a few back
STEPS_PER_COLUMN = 30


def fit(rows: Rows, alpha: np.ndarray, *, fit_intercept: bool) -> Solution:
    """Solve from rows of any source."""
    d = rows.n_features
    require_memory((d, d), "the root of the second moments", "use fewer features")
    return from_root(map_reduce(root_of, rows), d, alpha, fit_intercept=fit_intercept)


def from_root(root: RootMoments, d: int, alpha: np.ndarray, *, fit_intercept: bool) -> Solution:
    """Solve for each target by the active sets of Lawson and Hanson."""
    design, targets = centred_root(root, d, fit_intercept=fit_intercept)
    alpha = per_target(alpha, targets.shape[1])
    live = varies(np.abs(design).max(axis=0, initial=0.0), root)
    coef = np.zeros((d, targets.shape[1]))
    if not live.any():  # nothing to choose from, which SciPy's solver does not survive
        return Solution(coef, intercept_of(root, coef, fit_intercept), None, None, root)
    for t, (target, penalty) in enumerate(zip(targets.T, alpha, strict=True)):
        coef[live, t] = _solve(design[:, live], target, penalty)
    return Solution(coef, intercept_of(root, coef, fit_intercept), None, None, root)


def _solve(design: np.ndarray, target: np.ndarray, alpha: float) -> np.ndarray:
    """Solve for one target, its columns scaled to one length: the units must not matter."""
    d = design.shape[1]
    if alpha > 0:  # rows below the others that pull each coefficient to zero
        design = np.vstack([design, np.sqrt(alpha) * np.eye(d)])
        target = np.append(target, np.zeros(d))
    length = np.array([linalg.norm(column) for column in design.T])  # squares may overflow
    most = linalg.norm(target) or 1.0
    solution, _ = nnls(design / length, target / most, maxiter=STEPS_PER_COLUMN * d)
    coef = np.zeros(d)
    used = solution > 0
    with np.errstate(over="ignore"):  # coefficients beyond the floats show later
        coef[used] = solution[used] * (most / length[used])
    return coef
