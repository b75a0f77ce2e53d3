"""Where Gaussian emissions start: a sample of the steps, means spread over it, and its spread."""

from __future__ import annotations

import functools
import operator
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from panlearn.core.gaussian import Covariance
from panlearn.core.map_reduce import map_reduce
from panlearn.core.sources import Rows, Sequences
from panlearn.core.starts import RowSample, k_means_plus_plus, require_values
from panlearn.core.statistics import Sums
from panlearn.latent import KMeans


def sample_steps(rows: Rows, k: int, rng: np.random.Generator) -> RowSample:
    """A sample of the steps of all sequences, refused if nothing can be learned from them."""
    salt, size = int(rng.integers(2**62)), max(10_000, 100 * k)
    sample = map_reduce(
        lambda X, y, weight: _sampled(X, weight, salt, size), rows, require_finite=False
    )
    require_values(sample)
    with np.errstate(over="ignore", invalid="ignore"):
        away = filled(sample) - sample.mean
        size_of = 4 * len(away) * np.vdot(away, away)  # all pairs of steps, squared, together
    if not np.isfinite(size_of):
        raise ValueError(
            "the squares of X overflow: rescale its columns, for example with "
            "sklearn.preprocessing.StandardScaler"
        )
    return sample


def filled(sample: RowSample) -> np.ndarray:
    """The rows of a sample with means for missing entries."""
    return np.where(np.isnan(sample.rows), sample.mean, sample.rows)


def spread(kind: Covariance, k: int, sample: RowSample, floor: float) -> np.ndarray:
    """The variances of all steps, for each of k states."""
    part = kind.part(np.diag(np.maximum(sample.variance, floor)))
    return kind.maximise(np.stack([part] * k), np.ones(k), floor)


def state_means(rows: Rows, k: int, sample: RowSample, rng: np.random.Generator) -> np.ndarray:
    """Means of the states: those of known steps, and for the others those of k-means."""
    known = map_reduce(lambda X, y, weight: _labelled(X, y, weight, k, sample.mean), rows)
    return _pinned(_centres(filled(sample), sample.weight_of, k, rng), known, sample.mean)


def part_means(
    rows: Rows, k: int, m: int, sample: RowSample, n_init: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Means (k, m, d) of the parts of each state, for each start.

    The first takes states to be compact. Their parts may lie anywhere, though, and only the order
    of the steps tells which go together: so the other starts deal the means of k m clusters out to
    the states by chance, unless known steps say where a state is.
    """
    found = [_near(state_means(rows, k, sample, rng), m, sample, rng)]
    known = map_reduce(lambda X, y, weight: _labelled(X, y, weight, k, sample.mean), rows)
    for _ in range(1, n_init):
        if known.count.any():
            found.append(_near(state_means(rows, k, sample, rng), m, sample, rng))
        else:
            centres = _centres(filled(sample), sample.weight_of, k * m, rng)
            found.append(rng.permutation(centres).reshape(k, m, -1))
    return found


def _near(centres: np.ndarray, m: int, sample: RowSample, rng: np.random.Generator) -> np.ndarray:
    """Means of the parts of each state: steps near its centre, far from each other."""
    X = filled(sample)
    nearest = ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    out = np.repeat(centres[:, None], m, axis=1)
    for j in range(len(centres)):
        if (here := nearest == j).any():
            weight = sample.weight_of[here]
            out[j] = X[here][k_means_plus_plus(X[here], weight, m, rng)] if m > 1 else centres[j]
    return out


@dataclass(frozen=True)
class Labelled(Sums):
    """Weight and sum of the steps whose state is known, each state, about a centre."""

    count: np.ndarray
    total: np.ndarray


def _labelled(X: Sequences, y: Any, weight: Any, k: int, centre: np.ndarray) -> Labelled:
    if y is None:
        return Labelled(np.zeros(k), np.zeros((k, len(centre))))
    w = np.ones(len(y)) if weight is None else _of_steps(X, weight)
    one_hot = (np.arange(k)[:, None] == y) * w
    return Labelled(one_hot.sum(axis=1), one_hot @ np.nan_to_num(X.values - centre, nan=0.0))


def _pinned(centres: np.ndarray, known: Labelled, centre: np.ndarray) -> np.ndarray:
    """Known states at their own means, the others at the centres farthest from these."""
    found = known.count > 0
    if not found.any():
        return centres
    out = known.total / np.where(found, known.count, 1)[:, None] + centre
    for j in np.flatnonzero(~found):
        distance = ((centres[:, None] - out[None, found]) ** 2).sum(axis=2).min(axis=1)
        out[j], found[j] = centres[distance.argmax()], True
    return out


def _centres(X: np.ndarray, weight: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    if len(X) <= k:
        return X[k_means_plus_plus(X, weight, k, rng)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clusters = KMeans(k, random_state=int(rng.integers(2**31))).fit(X, sample_weight=weight)
    return clusters.cluster_centers_


def _sampled(X: Sequences, weight: Any, salt: int, size: int) -> RowSample:
    """A sample of the steps; a long sequence is one block, and is sampled part by part."""
    of_step, step = _of_steps(X, weight), 1 << 18
    parts = [slice(i, i + step) for i in range(0, max(len(X.values), 1), step)]
    return functools.reduce(
        operator.add,
        (
            RowSample.of(X.values[p], None if of_step is None else of_step[p], salt=salt, size=size)
            for p in parts
        ),
    )


def _of_steps(X: Sequences, weight: Any) -> np.ndarray | None:
    """The weight of a sequence is that of each of its steps."""
    return None if weight is None else np.repeat(weight.astype(float), X.lengths)
