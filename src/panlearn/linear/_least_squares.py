r"""Least squares, penalised or not, from statistics of the rows.

The solution of :math:`\min_W \|Y - X W\|^2 + \alpha \|W\|^2` depends on the rows through their
second moments alone. Where these are well conditioned they are solved by Cholesky. Otherwise the
square-root form of the moments is, by a singular value decomposition: as accurate as a solver that
works on the rows, and still mergeable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.linalg.lapack import dpocon, dpotrf, dpotrs
from scipy.sparse.linalg import LinearOperator, lsqr
from sklearn.exceptions import ConvergenceWarning

from panlearn.core.map_reduce import map_reduce
from panlearn.core.memory import require_memory
from panlearn.core.sources import ArrayRows, Rows, StreamRows
from panlearn.core.statistics import Moments, RootMoments
from panlearn.core.warning import warn

# Cholesky on second moments loses eps / RCOND of the coefficients: at most 1e-9.
RCOND = 1e-7
# Above this many columns a sparse X is solved by LSQR, which never forms a d x d matrix.
SPARSE_COLUMNS = 2000
EPS = np.finfo(float).eps


@dataclass(frozen=True)
class Solution:
    """Coefficients and what is known of the design matrix."""

    coef: np.ndarray  # (d, t)
    intercept: np.ndarray  # (t,)
    singular: np.ndarray | None
    rank: int | None
    statistic: Moments | RootMoments | None


def root_of(X: Any, y: Any, weight: Any) -> RootMoments:
    """Summarise a block in square-root form."""
    return RootMoments.of(X, y, weight=weight)


def moments_of(X: Any, y: Any, weight: Any) -> Moments:
    """Summarise a block by its moments."""
    return Moments.of(X, y, weight=weight)


def fit(rows: Rows, alpha: np.ndarray, *, fit_intercept: bool) -> Solution:
    """Solve from rows of any source, by the cheapest route that keeps the digits."""
    d = rows.n_features
    if isinstance(rows, ArrayRows):
        if sparse.issparse(rows.X) and d > SPARSE_COLUMNS:
            return _iterative(rows, alpha, fit_intercept)
        if rows.X.shape[0] <= d:
            rows.reject_non_finite()
            root = root_of(rows.X, rows.y, rows.weight)
            wide = from_root(root, d, alpha, fit_intercept=fit_intercept)
            return replace(wide, statistic=None)
    if isinstance(rows, StreamRows) and not rows.repeatable:
        root = map_reduce(root_of, rows)
        return from_root(root, d, alpha, fit_intercept=fit_intercept)
    require_memory((d, d), "the matrix of second moments", "use fewer features, or Lasso")
    moments = map_reduce(moments_of, rows, require_finite=False)
    solution = None
    if moments.is_finite:  # else the squares overflow, and the root may not
        solution = from_moments(moments, d, alpha, fit_intercept=fit_intercept)
    if solution is None:
        root = map_reduce(root_of, rows)
        solution = from_root(root, d, alpha, fit_intercept=fit_intercept)
    return solution


def from_moments(
    moments: Moments, d: int, alpha: np.ndarray, *, fit_intercept: bool
) -> Solution | None:
    """Solve (S + alpha I) W = S_xy by Cholesky, or give None if it would lose digits."""
    second = moments.scatter if fit_intercept else moments.raw
    gram, cross = second[:d, :d], second[:d, d:]
    live = varies(np.sqrt(np.maximum(np.diag(gram), 0)), moments)
    if moments.weight <= d or not live.any():
        return None
    alpha = per_target(alpha, cross.shape[1])
    solved = _solve_each(gram[np.ix_(live, live)], cross[live], alpha)
    if solved is None:
        return None
    coef = np.zeros_like(cross)
    coef[live] = solved
    singular = np.sqrt(np.maximum(np.linalg.eigvalsh(gram)[::-1], 0))
    singular[live.sum() :] = 0
    intercept = intercept_of(moments, coef, fit_intercept)
    return Solution(coef, intercept, singular, int(live.sum()), moments)


def _solve_each(gram: np.ndarray, cross: np.ndarray, alpha: np.ndarray) -> np.ndarray | None:
    """Solve (G + alpha_t I) w_t = c_t for every target, or give None if it would lose digits."""
    if (alpha == alpha[0]).all():
        return _cholesky_solve(gram, cross, alpha[0])
    solved = np.empty_like(cross)
    for value in np.unique(alpha):
        part = _cholesky_solve(gram, cross[:, alpha == value], value)
        if part is None:
            return None
        solved[:, alpha == value] = part
    return solved


def _cholesky_solve(gram: np.ndarray, cross: np.ndarray, alpha: float) -> np.ndarray | None:
    penalised = gram + alpha * np.eye(len(gram))
    scale = 1 / np.sqrt(np.diag(penalised))  # conditioning should not depend on units
    penalised *= scale[:, None] * scale
    # LAPACK's own: on small matrices the checks of SciPy cost more than the solution
    factor, wrong = dpotrf(penalised)
    if wrong:
        return None
    norm = np.abs(penalised).sum(axis=0).max()
    if dpocon(factor, norm)[0] < RCOND:
        return None
    return scale[:, None] * dpotrs(factor, scale[:, None] * cross)[0]


def centred_root(
    root: RootMoments, d: int, *, fit_intercept: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Rows with the scatter, or the moments about zero, of what was seen: of X and of y."""
    rows = root.root
    if not fit_intercept:
        rows = np.vstack([rows, np.sqrt(root.weight) * root.mean])
    return rows[:, :d], rows[:, d:]


def from_root(root: RootMoments, d: int, alpha: np.ndarray, *, fit_intercept: bool) -> Solution:
    """Solve from the square root of the moments: by its singular values, or the dual if wide."""
    design, targets = centred_root(root, d, fit_intercept=fit_intercept)
    alpha = per_target(alpha, targets.shape[1])
    if len(design) < d and (solved := _dual(design, targets, alpha)) is not None:
        dual, values = solved
        known = None if values is None else int(np.count_nonzero(values))
        return Solution(dual, intercept_of(root, dual, fit_intercept), values, known, root)
    left, singular, right = linalg.svd(design, full_matrices=False)
    rank = int((singular > _cut(singular, design)).sum())
    coef, live = None, varies(np.abs(design).max(axis=0, initial=0.0), root)
    if not alpha.any():
        coef = _solve_in_own_units(design, targets, live)
    if coef is not None:
        rank = int(live.sum())
    else:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # s / (s^2 + alpha), with no square to overflow or vanish
            gain = 1 / (singular[:, None] + alpha / singular[:, None])
        gain[rank:] = 0
        coef = right.T @ (gain * (left.T @ targets))
    return Solution(coef, intercept_of(root, coef, fit_intercept), singular, rank, root)


def _dual(
    design: np.ndarray, targets: np.ndarray, alpha: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None] | None:
    """W = X^T (X X^T + alpha I)^-1 Y for fewer rows than columns; None if it would lose digits."""
    with np.errstate(over="ignore"):
        kernel = design @ design.T
    if not np.isfinite(kernel).all():
        return None
    if alpha.min() > 0 and (weights := _solve_each(kernel, targets, alpha)) is not None:
        return design.T @ weights, None
    values, vectors = linalg.eigh(kernel)
    null = values <= _cut(values, design)  # orthogonal to the rows: such a direction adds nothing
    if not (null | (values + alpha.min() > RCOND * values.max(initial=0.0))).all():
        return None
    values[null] = 0.0
    gain = np.zeros_like(targets)
    gain[~null] = 1 / (values[~null, None] + alpha)
    coef = design.T @ (vectors @ (gain * (vectors.T @ targets)))
    return coef, np.sqrt(values[::-1])


def varies(size: np.ndarray, statistic: Any) -> np.ndarray:
    """Which columns are more than the rounding of their mean; the others are constant, weight 0."""
    noise = 4 * EPS * np.abs(statistic.mean[: len(size)])
    return size > np.sqrt(statistic.weight) * noise


def _solve_in_own_units(
    design: np.ndarray, targets: np.ndarray, live: np.ndarray
) -> np.ndarray | None:
    """Solve with columns scaled to one size, or give None if there is more than one solution."""
    if len(design) < live.sum() or not live.any():
        return None
    size = np.abs(design[:, live]).max(axis=0)
    left, singular, right = linalg.svd(design[:, live] / size, full_matrices=False)
    if singular[-1] <= _cut(singular, design):
        return None
    coef = np.zeros((len(live), targets.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):  # coefficients beyond the floats show later
        coef[live] = right.T @ ((left.T @ targets) / singular[:, None]) / size[:, None]
    return coef


def _cut(singular: np.ndarray, rows: np.ndarray) -> float:
    """What counts as zero among singular values: a few roundings of the largest."""
    return max(64, *rows.shape) * EPS * singular.max(initial=0.0)


def per_target(alpha: np.ndarray, n_targets: int) -> np.ndarray:
    """The penalty of each target."""
    if alpha.ndim and alpha.size not in (1, n_targets):
        raise ValueError(
            f"alpha has {alpha.size} values and y has {n_targets} targets; give one number, or "
            "one a target"
        )
    return np.broadcast_to(alpha, n_targets)


def intercept_of(statistic: Any, coef: np.ndarray, fit_intercept: bool) -> np.ndarray:
    """The intercepts that go with coefficients (d, t): those of the means."""
    d = len(coef)
    if not fit_intercept:
        return np.zeros(coef.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        return statistic.mean[d:] - statistic.mean[:d] @ coef


def _iterative(rows: ArrayRows, alpha: np.ndarray, fit_intercept: bool) -> Solution:
    """LSQR on the centred sparse rows, which stay sparse: the mean is subtracted from products."""
    rows.reject_non_finite()
    X, y = rows.X, np.asarray(rows.y, dtype=float).reshape(rows.X.shape[0], -1)
    weight = np.ones(len(y)) if rows.weight is None else rows.weight.astype(float)
    root, total, zero = np.sqrt(weight), weight.sum(), not fit_intercept
    x_mean = np.zeros(X.shape[1]) if zero else (weight @ X) / total
    y_mean = np.zeros(y.shape[1]) if zero else (weight @ y) / total
    operator = LinearOperator(
        X.shape,
        matvec=lambda v: root * (X @ v.ravel() - x_mean @ v.ravel()),
        rmatvec=lambda u: X.T @ (root * u.ravel()) - x_mean * (root @ u.ravel()),
        dtype=float,
    )
    damping = np.sqrt(np.broadcast_to(alpha, y.shape[1]))
    limit = 10 * min(X.shape)
    results = [
        lsqr(operator, root * (target - mean), damp, 1e-14, 1e-14, conlim=0, iter_lim=limit)
        for target, mean, damp in zip(y.T, y_mean, damping, strict=True)
    ]
    if any(status == 7 for _, status, *_ in results):
        warn(
            f"LSQR stopped at its limit of {limit} iterations; scale the columns, for example with "
            "sklearn.preprocessing.MaxAbsScaler, or raise alpha",
            ConvergenceWarning,
        )
    coef = np.column_stack([solution for solution, *_ in results])
    return Solution(coef, y_mean - x_mean @ coef, None, None, None)
