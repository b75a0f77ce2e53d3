"""What is known of a node before its splits are looked at: sums, weight, impurity; compiled."""

from __future__ import annotations

import math

import numpy as np

from panlearn.core.jit import jit
from panlearn.tree._median import median_of
from panlearn.tree._split import (
    ABSOLUTE_ERROR,
    ENTROPY,
    EPSILON,
    GINI,
    POISSON,
    Limits,
    Targets,
)


@jit(error_model="numpy", _nrt=False)
def summarise(
    local: Targets, targets: Targets, criterion: int, start: int, stop: int, sums: np.ndarray
) -> tuple[float, float]:
    """Fill the sums of a stretch of rows; its weight, and its impurity, a mean over the outputs."""
    impurity, n_outputs = 0.0, max(len(local.code), len(local.value))
    weight = added(local.weight, start, stop)
    if criterion >= GINI:
        for k in range(len(sums)):
            sums[k] = 0.0
    for o in range(len(local.code)):
        for i in range(start, stop):
            sums[local.code[o, i]] += local.weight[i]
    for o in range(len(local.value)):
        sums[o] = added(local.value[o], start, stop)
    if criterion == GINI:
        impurity = float(n_outputs)
        for s in sums:
            share = s / weight  # not the sum over weight squared, which may underflow
            impurity -= share * share
    elif criterion == ENTROPY:
        for s in sums:
            if s > 0:
                impurity -= s / weight * math.log2(s / weight)
    elif criterion == ABSOLUTE_ERROR:
        for o in range(n_outputs):
            rows = targets.order[o, start:stop]
            impurity += median_of(rows, targets.value[o], targets.weight)[1]
        impurity /= weight
    elif criterion == POISSON:
        for o in range(n_outputs):
            mean = sums[o] / weight
            for i in range(start, stop):
                v, w = local.value[o, i], local.weight[i]
                if v > 0:
                    impurity += v * math.log(v / w / mean)
        impurity /= weight
    else:
        for o in range(n_outputs):
            mean = sums[o] / weight
            impurity = squares_added(impurity, local.value[o], local.weight, mean, start, stop)
        impurity /= weight
    return weight, max(0.0, impurity / n_outputs)


def _added(values: np.ndarray, start: int, stop: int) -> float:
    """Do as `added` does, with numbers of Python."""
    result = 0.0
    for value in values[start:stop].tolist():  # not by `sum`, which corrects its rounding
        result += value
    return result


@jit(error_model="numpy", _nrt=False, instead=_added)
def added(values: np.ndarray, start: int, stop: int) -> float:
    """Sum of a stretch, from the left."""
    result = 0.0
    for i in range(start, stop):
        result += values[i]
    return result


def _squares_added(
    before: float, value: np.ndarray, weight: np.ndarray, mean: float, start: int, stop: int
) -> float:
    """Do as `squares_added` does, with numbers of Python."""
    result, mean = before, float(mean)
    for v, w in zip(value[start:stop].tolist(), weight[start:stop].tolist(), strict=True):
        residual = v / w - mean
        result += w * (residual * residual)
    return result


@jit(error_model="numpy", _nrt=False, instead=_squares_added)
def squares_added(
    before: float, value: np.ndarray, weight: np.ndarray, mean: float, start: int, stop: int
) -> float:
    """Add the weighted squares of a stretch of weighted values around a mean to what was before."""
    result = before
    for i in range(start, stop):
        v, w = value[i], weight[i]
        residual = v / w - mean
        result += w * (residual * residual)
    return result


@jit(error_model="numpy", _nrt=False)
def is_terminal(depth: int, size: int, impurity: float, limits: Limits) -> bool:
    """Whether a node is a leaf before any split of it is looked at."""
    return bool(
        depth >= limits.max_depth
        or size < limits.min_samples_split
        or size < 2 * limits.min_samples_leaf
        or impurity <= EPSILON
    )
