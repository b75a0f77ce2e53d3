r"""The expectation and the maximisation of a Gaussian mixture.

The statistic of a block is taken about the means of the current parameters, so that it is a plain
sum and yet loses no digits far from zero. A row with missing entries is marginalised exactly: its
density is that of the entries it has, and what it adds to the scatter is the conditional mean of
the others, with their conditional covariance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from panlearn.core.gaussian import LOG_2PI, Covariance, Partial, by_pattern
from panlearn.core.statistics import Sums
from panlearn.latent._full_kernels import NOTHING, expect_rows, log_joint_rows

CHUNK_BYTES = 1 << 18  # centred rows and white rows of one component stay in the cache
FEW = 1 << 12  # rows times components up to which to compile would take longer than it saves
LOWEST = -1e300  # of a log density, so that a row far from all components has probabilities


class Mixture(NamedTuple):
    """The parameters: weights (k,), means (k, d), covariances in the shape of their kind."""

    kind: Covariance
    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray


@dataclass(frozen=True)
class Expected(Sums):
    """Expected weight, shift of the mean and scatter of each component, about its current mean."""

    weight: float
    log_likelihood: float
    count: np.ndarray
    shift: np.ndarray
    scatter: np.ndarray


def expect(
    at: Mixture, X: Any, labels: Any = None, weight: Any = None, *, hard: bool = False
) -> Expected:
    """Sum what the rows of a block are expected to add to each component.

    With hard assignment a row adds to its most probable component alone, and the likelihood is that
    of rows and components together: the sum over components becomes their maximum.
    """
    k, d = at.means.shape
    labels = None if labels is None else components(labels, k)
    count, shift = np.zeros(k), np.zeros((k, d))
    total, log_likelihood = 0.0, 0.0
    scatter = np.stack([at.kind.scatter(np.zeros((1, d)), np.zeros(1))] * k)
    for part, group in _groups(at, X):
        w = np.ones(len(part)) if weight is None else weight[part].astype(float)
        if group.compiled:
            known = np.empty(0, np.int64) if labels is None else labels[part]
            total += float(w.sum())
            log_likelihood += group.expect(w, known, hard, count, shift, scatter)
            continue
        log_joint = group.log_joint()
        if labels is not None:
            known = labels[part] >= 0
            other = np.arange(k)[:, None] != labels[part]
            log_joint[known & other] = -np.inf
        log_density, responsibilities = _largest(log_joint) if hard else _normalised(log_joint)
        log_likelihood += float(w @ log_density)
        total += float(w.sum())
        for j in range(k):
            share, here = w * responsibilities[j], responsibilities[j] > NOTHING
            if 2 * np.count_nonzero(here) < len(here):  # most rows are far from most components
                share, (centred, uncertain) = share[here], group.filled(j, here)
            else:
                centred, uncertain = group.filled(j)
            count[j] += share.sum()
            shift[j] += share @ centred
            scatter[j] += at.kind.scatter(centred, share)
            if uncertain is not None:
                scatter[j] += share.sum() * at.kind.part(uncertain)
    return Expected(total, log_likelihood, count, shift, scatter)


def components(y: Any, k: int) -> np.ndarray:
    """Labels as components, refused unless they are -1 or one of the k."""
    y = np.asarray(y)
    if y.dtype.kind not in "iuf" or not np.isin(y, np.arange(-1, k)).all():
        raise ValueError(
            f"with use_labels, y must hold components 0 to {k - 1}, or -1 where none is known; got "
            f"{np.unique(y)[:5]}"
        )
    return y.astype(np.int64)


def maximise(at: Mixture, seen: Expected, floor: float) -> Mixture:
    """The parameters that maximise the expected log-likelihood, given those it was taken at."""
    step = seen.shift / seen.count[:, None]
    about = np.stack([at.kind.scatter(s[None], np.ones(1)) for s in step])
    count = seen.count.reshape(-1, *[1] * (about.ndim - 1))
    covariances = at.kind.maximise(seen.scatter - count * about, seen.count, floor)
    return Mixture(at.kind, seen.count / seen.count.sum(), at.means + step, covariances)


def summary_of(at: Mixture) -> Expected:
    """The sums of weight 1 that have these parameters as their maximum."""
    k, d = at.means.shape
    kept = at.kind.kept(at.covariances, k, d)
    scatter = np.stack([w * part for w, part in zip(at.weights, kept, strict=True)])
    return Expected(1.0, 0.0, at.weights, np.zeros((k, d)), scatter)


def log_densities(at: Mixture, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Log density of each row, and the probabilities (n, k) of its components."""
    density = np.empty(X.shape[0])
    probabilities = np.empty((X.shape[0], len(at.weights)))
    for part, group in _groups(at, X):
        density[part], responsibilities = _normalised(group.log_joint())
        probabilities[part] = responsibilities.T
    return density, probabilities


def log_posteriors(at: Mixture, X: Any) -> np.ndarray:
    """The log-probabilities (n, k) of the components of each row."""
    out = np.empty((X.shape[0], len(at.weights)))
    for part, group in _groups(at, X):
        log_joint = np.maximum(group.log_joint(), LOWEST)
        out[part] = (log_joint - logsumexp(log_joint, axis=0)).T
    return out


def fill(at: Mixture, X: np.ndarray) -> np.ndarray:
    """Missing entries replaced by their conditional means under the mixture."""
    out = np.array(X, dtype=float)
    for part, group in _groups(at, X):
        _, responsibilities = _normalised(group.log_joint())
        guess = sum(
            responsibilities[j][:, None] * (group.filled(j)[0] + at.means[j])
            for j in range(len(at.weights))
        )
        missing = np.isnan(out[part])
        rows = out[part]
        rows[missing] = np.asarray(guess)[missing]
        out[part] = rows
    return out


def draw(at: Mixture, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the mixture, and their components."""
    k, d = at.means.shape
    y = rng.choice(k, size=n, p=at.weights / at.weights.sum())
    X = rng.standard_normal((n, d))
    kept = at.kind.kept(at.covariances, k, d)
    roots = np.sqrt(kept) if kept.ndim == 2 else np.linalg.cholesky(kept).swapaxes(1, 2)
    for j, root in enumerate(roots):
        X[y == j] = at.means[j] + at.kind.white(X[y == j], root)
    return X, y


def draw_missing(at: Mixture, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Missing entries drawn from the mixture, given the others."""
    out = np.array(X, dtype=float)
    for part, group in _groups(at, X):
        if isinstance(group, _Complete):
            continue
        missing, odds = ~group.seen, np.cumsum(_normalised(group.log_joint())[1], axis=0)
        y = (rng.random(len(part)) * odds[-1] >= odds).sum(axis=0)
        noise = rng.standard_normal((len(part), int(missing.sum())))
        for j in np.unique(y):
            centred, uncertain = group.filled(j, y == j)
            values, vectors = np.linalg.eigh(uncertain[np.ix_(missing, missing)])
            root = vectors * np.sqrt(np.clip(values, 0, None))  # none may be left, but rounding
            guess = centred[:, missing] + at.means[j, missing] + noise[y == j] @ root.T
            out[np.ix_(part[y == j], missing)] = guess
    return out


def _normalised(log_joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log Σ_j exp of each column, and the columns as probabilities; log_joint is overwritten."""
    np.maximum(log_joint, LOWEST, out=log_joint)
    top = log_joint.max(axis=0)
    log_joint -= top
    np.exp(log_joint, out=log_joint)
    total = log_joint.sum(axis=0)
    log_joint /= total
    return top + np.log(total), log_joint


def _largest(log_joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest of each column, and where it is as probabilities 0 and 1."""
    best = log_joint.argmax(axis=0)
    columns = np.arange(len(best))
    one_hot = np.zeros_like(log_joint)
    one_hot[best, columns] = 1.0
    return log_joint[best, columns], one_hot


def _groups(at: Mixture, X: Any) -> Any:
    """Cut rows into chunks of one pattern of missing entries: (indices, chunk)."""
    k, d = at.means.shape
    roots, log_det = at.kind.whitening(at.covariances, k, d)
    constant = np.log(at.weights) - 0.5 * d * LOG_2PI + log_det
    matrices, compiled = None, roots[0].ndim == 2 and X.shape[0] * k > FEW
    step = max(CHUNK_BYTES // (8 * d), 64)
    for start in range(0, X.shape[0], step):
        rows = X[start : start + step]
        rows = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=float)
        for index, seen in by_pattern(rows):
            chosen = rows if len(index) == len(rows) else rows[index]
            if seen.all():
                yield start + index, _Complete(at, chosen, roots, constant, compiled)
            else:
                matrices = at.kind.matrices(at.covariances, k, d) if matrices is None else matrices
                yield start + index, _Incomplete(at, chosen, seen, matrices)


class _Complete:
    """Rows with every entry."""

    def __init__(
        self,
        at: Mixture,
        rows: np.ndarray,
        roots: list[np.ndarray],
        constant: np.ndarray,
        compiled: bool,
    ) -> None:
        self.at, self.rows, self.roots, self.constant = at, rows, roots, constant
        self.compiled = compiled  # which is there for components that have matrices

    def expect(self, weight: Any, labels: Any, hard: bool, *sums: np.ndarray) -> float:
        """Add to the sums; the log-likelihood is returned."""
        roots, rows = np.stack(self.roots), np.ascontiguousarray(self.rows)
        at = self.at.means, roots, self.constant
        return expect_rows(rows, weight, labels, hard, *at, *sums)

    def log_joint(self) -> np.ndarray:
        """Log π_j N(x | μ_j, Σ_j), components in rows."""
        if self.compiled:
            rows = np.ascontiguousarray(self.rows)
            return log_joint_rows(rows, self.at.means, np.stack(self.roots), self.constant)
        out = np.empty((len(self.constant), len(self.rows)))
        for j, root in enumerate(self.roots):
            white = self.at.kind.white(self.rows - self.at.means[j], root)
            np.einsum("ij,ij->i", white, white, out=out[j])  # may be infinite, without a warning
        out *= -0.5
        out += self.constant[:, None]
        return out

    def filled(self, j: int, here: Any = slice(None)) -> tuple[np.ndarray, None]:
        """The rows less the mean; nothing is uncertain."""
        return self.rows[here] - self.at.means[j], None


class _Incomplete:
    """Rows that miss the same entries; what depends on the components is found for all at once."""

    compiled = False

    def __init__(
        self, at: Mixture, rows: np.ndarray, seen: np.ndarray, matrices: np.ndarray
    ) -> None:
        self.at, self.rows, self.seen = at, rows[:, seen], seen
        self.given = Partial(at.means, matrices, seen)

    def log_joint(self) -> np.ndarray:
        """Log π_j N(x_o | μ_jo, Σ_joo) of the entries that are there."""
        return self.given.log_densities(self.rows) + np.log(self.at.weights)[:, None]

    def filled(self, j: int, here: Any = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """E[x | x_o] - μ_j and Cov[x | x_o]."""
        return self.given.filled(j, self.rows[here])
