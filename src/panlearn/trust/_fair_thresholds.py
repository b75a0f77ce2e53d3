"""The best randomised thresholds per group under a fairness constraint: a small linear program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array
from sklearn.isotonic import isotonic_regression

RATES = {
    "demographic_parity": ("acceptance",),
    "equal_opportunity": ("tpr",),
    "equalized_odds": ("tpr", "fpr"),
}


@dataclass(frozen=True, eq=False)
class Corners:
    """The corners of a group's ROC hull: thresholds, and the weight accepted of each label."""

    thresholds: np.ndarray
    tp: np.ndarray
    fp: np.ndarray

    def rate(self, name: str) -> np.ndarray:
        """A rate at each corner."""
        tp, fp = self.tp, self.fp
        if name == "acceptance":
            return (tp + fp) / (tp[-1] + fp[-1])
        accepted = tp if name == "tpr" else fp
        return accepted / accepted[-1]


def corners(positive: np.ndarray, score: np.ndarray, weight: np.ndarray) -> Corners:
    """The upper hull of a ROC, from accepting nothing to everything.

    Its slopes are the isotonic regression of the labels on the score: each block is an edge. A
    threshold is midway between two scores, so that rounding of a score does not cross it.
    """
    order = np.argsort(-score, kind="stable")
    ends = np.flatnonzero(np.diff(score[order], append=-np.inf))
    tp, fp = (
        np.concatenate([[0.0], np.cumsum(np.where(side, weight, 0.0)[order])[ends]])
        for side in (positive, ~positive)
    )
    steps = np.diff(tp) + np.diff(fp)
    share = np.divide(np.diff(tp), steps, out=np.zeros_like(steps), where=steps > 0)
    slopes = isotonic_regression(share, sample_weight=np.maximum(steps, 1e-300), increasing=False)
    kept = np.concatenate([[0], 1 + np.flatnonzero(np.diff(slopes, append=-1.0))])
    distinct = score[order][ends]
    above, below = distinct[:-1], distinct[1:]
    midway = above / 2 + below / 2
    midway = np.where(midway > below, midway, above)
    thresholds = np.concatenate([[np.inf], midway, [-np.inf]])
    return Corners(thresholds[kept], tp[kept], fp[kept])


@dataclass(frozen=True, eq=False)
class Mixtures:
    """For each group, the thresholds that are used and how often each; and the expected cost."""

    thresholds: list[np.ndarray]
    probabilities: list[np.ndarray]
    cost: float


def best_mixtures(
    hulls: list[Corners], constraint: str, tolerance: float, fp_cost: float, fn_cost: float
) -> Mixtures:
    """Minimise the mean cost over mixtures of corners whose rates lie within the tolerance.

    The variables are the weight of every corner of every group, and the least value of each rate
    that is to be equal.
    """
    names, total = RATES[constraint], sum(h.tp[-1] + h.fp[-1] for h in hulls)
    sizes = [len(h.thresholds) for h in hulls]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    width = starts[-1] + len(names)
    cost = np.concatenate(
        [(fp_cost * h.fp + fn_cost * (h.tp[-1] - h.tp)) / total for h in hulls]
        + [np.zeros(len(names))]
    )
    once, rows, limits = np.zeros((len(hulls), width)), [], []
    for g, hull in enumerate(hulls):
        own = slice(starts[g], starts[g + 1])
        once[g, own] = 1
        for r, name in enumerate(names):
            row = np.zeros(width)
            row[own], row[starts[-1] + r] = hull.rate(name), -1
            rows += [row, -row]  # t <= rate <= t + tolerance
            limits += [tolerance, 0.0]
    solved = linprog(
        cost,
        A_ub=csr_array(np.array(rows)),
        b_ub=limits,
        A_eq=csr_array(once),
        b_eq=np.ones(len(hulls)),
        bounds=[(0, None)] * starts[-1] + [(0, 1)] * len(names),
    )
    weights = np.split(solved.x[: starts[-1]], starts[1:-1])
    used = [w > 1e-12 for w in weights]
    return Mixtures(
        [h.thresholds[u] for h, u in zip(hulls, used, strict=True)],
        [w[u] / w[u].sum() for w, u in zip(weights, used, strict=True)],
        float(solved.fun),
    )
