r"""l1 with many columns: solve on the few that can be active, look at all, take in more.

At the minimum a column with weight zero has a partial derivative of at most :math:`\lambda_j` in
size. So a problem on a working set of columns is a solution of the whole if no other column breaks
this, which one pass over the rows tells.
"""

from __future__ import annotations

import functools

import numpy as np

from panlearn.linear._logistic_problem import LogisticProblem
from panlearn.linear._quasi_newton import Loop, Steps, minimise

FIRST = 100


def minimise_by_working_sets(
    problem: LogisticProblem, x: np.ndarray, loop: Loop, *, max_iter: int, tol: float
) -> np.ndarray:
    """Minimise over working sets that grow until no column outside breaks the condition."""
    shape = (problem.k, problem.d + 1)
    penalty, scale = problem.penalty.reshape(shape), problem.constant_curvature().reshape(shape)
    for _ in loop:
        value, gradient, _ = problem.evaluate(x.ravel())
        x, gradient = x.reshape(shape), gradient.reshape(shape)
        active = np.abs(gradient + penalty * np.sign(x))
        excess = np.where(x != 0, active, np.maximum(np.abs(gradient) - penalty, 0.0))
        change = float(np.sqrt(np.sum(excess**2 / scale)))
        loop.record(
            change=change,
            objective=value + float(np.sum(penalty * np.abs(x))),
            attributes=functools.partial(problem.attributes, x),
        )
        if loop.converged:
            continue  # the loop closes this iteration, and ends
        support = (x[:, :-1] != 0).any(axis=0)
        score = np.where(support, np.inf, excess[:, :-1].max(axis=0))
        size = min(support.sum() + max(FIRST, support.sum()), np.count_nonzero(score))
        chosen = np.sort(np.argsort(-score, kind="stable")[:size])
        part = problem.restricted(chosen)
        columns = np.append(chosen, problem.d)
        start = x[:, columns].ravel()
        # no need to be exact on a set that will change
        best, _ = minimise(part, start, None, Steps(max_iter, max(0.1 * tol, 0.05 * change)))
        x = np.zeros(shape)
        x[:, columns] = best.reshape(problem.k, -1)
    return x.ravel()
