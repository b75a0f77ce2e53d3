"""Where the EM of a Gaussian mixture starts, and starts again."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from panlearn.core.gaussian import KINDS
from panlearn.core.map_reduce import map_reduce
from panlearn.core.sources import Rows
from panlearn.core.starts import RowSample, k_means_plus_plus
from panlearn.core.warning import warn
from panlearn.latent._gaussians import (
    Expected,
    Mixture,
    components,
    draw_missing,
    log_densities,
    maximise,
)
from panlearn.latent._lloyd import Assigned, assign
from panlearn.latent._mixture_span import RowSpan
from panlearn.latent.kmeans import KMeans


def starts(
    model: Any,
    rows: Rows,
    sample: RowSample,
    rng: np.random.Generator,
    span: RowSpan | None = None,
) -> list[Mixture]:
    """The parameters of each start, in a span if there is one; what the user gave replaces them."""
    k, d, kind = model.n_components, rows.n_features, KINDS[model.covariance_type]
    (kind.require if span is None else kind.require_kept)(k, d)
    if model.warm_start and getattr(model, "means_", np.zeros(0)).shape == (k, d):
        return [model._mixture()]
    with np.errstate(over="ignore", invalid="ignore"):
        filled = np.where(np.isnan(sample.rows), sample.mean, sample.rows)
        if not np.isfinite(np.vdot(filled - sample.mean, filled - sample.mean)):
            raise ValueError(
                "the squares of X overflow: rescale its columns, for example with "
                "sklearn.preprocessing.StandardScaler"
            )
    weights = _given("weights_init", model.weights_init, (k,))
    means = _given("means_init", model.means_init, (k, d))
    precisions = _given("precisions_init", model.precisions_init, kind.shape(k, d))
    if weights is not None and not ((weights > 0).all() and np.isclose(weights.sum(), 1)):
        raise ValueError(f"weights_init must be positive and sum to 1; got {weights}")
    if precisions is not None:
        matrices = kind.matrices(precisions, k, d)
        symmetric = np.allclose(matrices, matrices.swapaxes(1, 2))
        if not symmetric or np.linalg.eigvalsh(matrices).min() <= 0:
            raise ValueError("precisions_init must be symmetric and positive definite")
    labelled = _labelled_means(rows, k, d, sample) if model.use_labels else None
    found = []
    for _ in range(model.n_init if means is None else 1):
        centres = _centres(model, filled, sample.weight_of, rng) if means is None else means
        if labelled is not None and means is None:
            centres = _with_labelled(centres, *labelled)
        if span is None:
            start = _around(centres, filled, sample, kind, model)
        else:
            centres, inside = span.inside(centres), span.sample(sample)
            start = _around(centres, inside.rows, inside, kind, model)
        covariances = start.covariances if precisions is None else kind.inverse(precisions)
        found.append(
            Mixture(kind, start.weights if weights is None else weights, centres, covariances)
        )
    return found


def _given(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    if value is None:
        return None
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from error
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite numbers of shape {shape}; got {array.shape}")
    return array


def _centres(model: Any, X: np.ndarray, weight: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """First means: those of k-means, or rows spread by k-means++."""
    k = model.n_components
    if model.init_params == "k-means++" or len(X) <= k:
        return X[k_means_plus_plus(X, weight, k, rng)]
    if model.init_params == "random_from_data":
        return X[rng.choice(len(X), size=k, replace=False, p=weight / weight.sum())]
    if model.init_params == "random":
        shares = rng.random((len(X), k))
        shares *= weight[:, None] / shares.sum(axis=1, keepdims=True)
        return shares.T @ X / shares.sum(axis=0)[:, None]
    clusters = KMeans(k, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clusters.fit(X, sample_weight=weight).cluster_centers_


def _around(
    centres: np.ndarray, X: np.ndarray, sample: RowSample, kind: Any, model: Any
) -> Mixture:
    """Weights and covariances for these means."""
    k, d = centres.shape
    spread = np.full(d, sample.variance.mean())
    equal = np.full(k, 1 / k)
    scatter = np.stack([kind.of_variances(spread)] * k)
    even = Mixture(kind, equal, centres, kind.maximise(scatter, np.ones(k), model.reg_covar))
    if model.init_params != "kmeans":
        return even
    labels, _ = assign(X, None, centres, sample.mean)
    count, shift, scatters = np.zeros(k), np.zeros((k, d)), np.zeros_like(scatter)
    for j in range(k):
        rows, weight = X[labels == j] - centres[j], sample.weight_of[labels == j]
        count[j], shift[j], scatters[j] = weight.sum(), weight @ rows, kind.scatter(rows, weight)
    empty = count == 0
    count[empty], scatters[empty] = sample.weight_of.min(), sample.weight_of.min() * scatter[empty]
    seen = Expected(float(count.sum()), 0.0, count, shift, scatters)
    return maximise(even, seen, model.reg_covar)


def _labelled_means(rows: Rows, k: int, d: int, sample: RowSample) -> tuple[np.ndarray, np.ndarray]:
    """Weight and mean of the rows whose component is given, each component."""

    def summary(X: Any, y: Any, weight: Any) -> Assigned:
        y = components(y, k)
        dense = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
        dense = np.where(np.isnan(dense), sample.mean, dense) - sample.mean
        w = np.ones(len(y)) if weight is None else weight.astype(float)
        one_hot = (np.arange(k)[:, None] == y) * w
        return Assigned(float(w.sum()), one_hot.sum(axis=1), one_hot @ dense, 0.0)

    seen = map_reduce(summary, rows)
    count = seen.count[:, None]
    return seen.count, seen.total / np.where(count > 0, count, 1) + sample.mean


def _with_labelled(centres: np.ndarray, count: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Labelled components at their own means, the others at the centres farthest from these."""
    known = count > 0
    out = means.copy()
    free = centres.copy()
    for j in np.flatnonzero(~known):
        if not known.any():
            return centres
        distance = ((free[:, None] - out[None, known]) ** 2).sum(axis=2).min(axis=1)
        far = int(distance.argmax())
        out[j], known[j] = free[far], True
    return out


def next_mixture(at: Mixture, seen: Expected, *, sample: RowSample, floor: float) -> Mixture:
    """The maximisation; a component that lost all its rows gets one of the sample first."""
    dead = np.flatnonzero(seen.count <= 1e-12 * seen.weight)
    if dead.size:
        seen = _revived(at, seen, dead, sample)
    return maximise(at, seen, floor)


def _revived(at: Mixture, seen: Expected, dead: np.ndarray, sample: RowSample) -> Expected:
    """Give components without rows one row of the sample each: those with the lowest density."""
    warn(
        f"component {', '.join(map(str, dead))} of the mixture lost all its rows and starts again "
        "from the rows with the lowest density; fewer components may be enough",
        ConvergenceWarning,
    )
    lowest = np.argsort(log_densities(at, sample.rows)[0], kind="stable")
    count, shift, scatter = seen.count.copy(), seen.shift.copy(), seen.scatter.copy()
    spread = at.kind.of_variances(sample.variance)
    for j, i in zip(dead, lowest, strict=False):
        row = np.where(np.isnan(sample.rows[i]), sample.mean, sample.rows[i])
        step = row - at.means[j]
        count[j] = sample.weight_of[i] * (seen.weight / sample.weight)
        shift[j] = count[j] * step
        scatter[j] = count[j] * (spread + at.kind.scatter(step[None], np.ones(1)))
    return Expected(seen.weight, seen.log_likelihood, count, shift, scatter)


def density_quantiles(at: Mixture, sample: RowSample, rng: np.random.Generator) -> np.ndarray:
    """Of the log density of the rows in a sample, whole: what they miss is drawn."""
    rows, weight = sample.rows, np.asarray(sample.weight_of, dtype=float)
    # rows that miss the same may be one of a large weight: no single draw is to stand for them all
    share = np.where(np.isnan(rows).any(axis=1), weight / weight.sum(), 0.0)
    times = np.maximum(1, np.ceil(1000 * share)).astype(int)
    rows, weight = np.repeat(rows, times, axis=0), np.repeat(weight / times, times)
    density = log_densities(at, draw_missing(at, rows, rng))[0]
    levels = np.linspace(0, 1, 1001)
    return np.quantile(density, levels, weights=weight, method="inverted_cdf")
