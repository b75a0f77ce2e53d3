"""The covariance of each class and of all rows, shrunk by a given part or Ledoit and Wolf's."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from scipy import sparse

from panlearn.bayes._class_statistics import ClassRoots
from panlearn.core.map_reduce import map_reduce
from panlearn.core.sources import Rows
from panlearn.core.statistics import Counts


def class_covariances(statistic: ClassRoots, rows: Rows, shrinkage: Any) -> np.ndarray:
    """Covariances of the k classes, and last that of all rows together, (k + 1, d, d).

    They are moved by the part `shrinkage` towards a multiple of the identity, for "auto" by the
    part that Ledoit and Wolf choose, for None not at all.
    """
    share = statistic.classes.count / statistic.weight
    apart = statistic.mean - share @ statistic.mean
    inside = statistic.covariances()
    total = np.tensordot(share, inside, 1) + (apart.T * share) @ apart
    covariances = np.concatenate([inside, total[None]])
    if shrinkage == "auto":
        return ledoit_wolf_covariances(covariances, statistic, rows)
    part, d = shrinkage or 0.0, covariances.shape[1]
    size = np.trace(covariances, axis1=1, axis2=2) / d
    return (1 - part) * covariances + part * size[:, None, None] * np.eye(d)


def ledoit_wolf_covariances(
    covariances: np.ndarray, statistic: ClassRoots, rows: Rows
) -> np.ndarray:
    r"""Shrink (k + 1, d, d) covariances: those of the k classes and that of all rows.

    With the features scaled to unit variance, the correlations R are moved towards the identity by

    .. math::
        \frac{\frac{1}{n} \left( \frac1n \sum_i \|z_i\|^4 - \|R\|_F^2 \right)}
        {\|R - \mu I\|_F^2}, \qquad \mu = \operatorname{tr} R / d,

    at most 1. The fourth moments of the scaled rows z take another pass.
    """
    if not rows.repeatable:
        raise ValueError(
            'shrinkage="auto" walks the data twice and this iterator can be walked once; give a '
            "list of batches, or panlearn.Batches(function that returns a fresh iterator)"
        )
    d = covariances.shape[1]
    weight = np.append(statistic.classes.count, statistic.weight)
    share = statistic.classes.count / statistic.weight
    mean = np.vstack([statistic.mean, share @ statistic.mean])
    deviation = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    deviation = np.where(deviation > 0, deviation, 1.0)
    summary = functools.partial(_fourth_moments, statistic.classes.labels, mean, deviation)
    *sums, seen = map_reduce(summary, rows).count
    if not np.isclose(seen, statistic.weight, rtol=1e-6):
        raise ValueError(
            'shrinkage="auto" needs all rows again, so it does not go with partial_fit; fit once, '
            "or give shrinkage a number"
        )
    fourth = np.array(sums) / np.maximum(weight, np.finfo(float).tiny)
    correlation = covariances / (deviation[:, :, None] * deviation[:, None, :])
    size = np.trace(correlation, axis1=1, axis2=2) / d
    squares = np.sum(correlation**2, axis=(1, 2))
    spread = squares - d * size**2  # |R - mu I|^2
    noise = np.minimum((fourth - squares) / np.maximum(weight, 1.0), spread)
    part = np.where(spread > 0, noise / np.where(spread > 0, spread, 1.0), 0.0)[:, None, None]
    shrunk = (1 - part) * correlation + part * size[:, None, None] * np.eye(d)
    return shrunk * (deviation[:, :, None] * deviation[:, None, :])


def _fourth_moments(
    labels: np.ndarray,
    mean: np.ndarray,
    deviation: np.ndarray,
    X: Any,
    y: Any,
    weight: np.ndarray | None,
) -> Counts:
    """Sums of |z|^4 in each class, with its own scales, and over all rows; last the weight."""
    X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)
    weight = np.ones(len(X)) if weight is None else weight
    codes = np.minimum(np.searchsorted(labels, y), len(labels) - 1)  # weight 0 if not among them
    own = np.sum(((X - mean[codes]) / deviation[codes]) ** 2, axis=1)
    all_rows = np.sum(((X - mean[-1]) / deviation[-1]) ** 2, axis=1)
    groups = np.concatenate([codes, np.repeat([len(labels), len(labels) + 1], len(X))])
    values = np.concatenate([weight * own**2, weight * all_rows**2, weight])
    return Counts.of(groups, values, n_codes=len(labels) + 2)
