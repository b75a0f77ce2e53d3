r"""Design matrices seen through their weighted, centred columns, without a centred copy.

With weights :math:`w` and weighted column means :math:`\bar x`, the rows
:math:`\sqrt{w_i}\,(x_i - \bar x)` form the matrix :math:`Z` of an intercept-free problem. A design
gives what a working-set solver needs of it: :math:`Z^\top v` for all columns, and the quadratic
form :math:`Z_T^\top Z_T` of the columns T that were taken so far. Dense columns are centred as they
are taken, so that an offset costs no digits, and their quadratic is a Gram matrix that grows;
sparse ones stay sparse, and their quadratic is two products.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from panlearn.core.map_reduce import map_reduce
from panlearn.core.memory import require_memory
from panlearn.core.sources import ArrayRows, Rows
from panlearn.core.threads import OrderedMap, n_threads
from panlearn.linear._least_squares import moments_of
from panlearn.linear._quadratic import GramQuadratic, Quadratic, SparseQuadratic

_BLOCK = 1 << 22  # entries of a row block: large enough for BLAS, small beside X
_RESERVE = 4000  # columns to reserve at once; pages that are not written cost nothing
_DIVIDE = 1 << 20  # multiplications below which a second thread costs more than it does


_FEW_FEATURES = 256  # the Gram matrix of all costs no more than a few products with X
_REMEDY = "raise alpha, so that fewer features are selected"


def product(run: OrderedMap, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A @ B, the rows of A divided among the threads.

    Those of BLAS itself wait for each other by spinning: on a machine with other work, a loop of
    short products then takes ten times as long.
    """
    if A.size * (B.shape[1] if B.ndim == 2 else 1) < _DIVIDE:
        return A @ B
    result = np.empty((A.shape[0], *B.shape[1:]), dtype=A.dtype)
    edges = np.linspace(0, A.shape[0], n_threads() + 1, dtype=int)
    parts = [slice(*pair) for pair in pairwise(edges)]
    list(run(lambda part: np.matmul(A[part], B, out=result[part]), parts))
    return result


class DenseDesign:
    """The weighted, centred columns of an array."""

    def __init__(
        self, X: np.ndarray, root_weight: np.ndarray, mean: np.ndarray, run: OrderedMap
    ) -> None:
        self._product = partial(product, run)
        # BLAS would copy a strided X at each product: copy it once instead
        contiguous = X.flags.f_contiguous or X.flags.c_contiguous
        self._X = X if contiguous else np.asfortranarray(X)
        self._root_weight, self._mean = root_weight, mean
        self.shape, self.dtype = X.shape, X.dtype
        self._taken = 0
        self._columns = np.empty((X.shape[0], 0), dtype=X.dtype, order="F")
        self._gram = np.empty((0, 0), dtype=X.dtype)

    def wants_all(self, count: int) -> bool:
        """Whether the Gram matrix of all columns is the cheaper one."""
        return 2 * count > self.shape[1]

    def correlations(self, v: np.ndarray) -> np.ndarray:
        """All of Zᵀv."""
        v = self._root_weight * v
        return self._product(self._X.T, v) - self._mean * v.sum()

    def take(self, features: np.ndarray) -> GramQuadratic:
        """Append columns to those taken and return their quadratic."""
        start, stop = self._taken, self._taken + len(features)
        self._reserve(stop)
        new = self._columns[:, start:stop]
        np.subtract(self._X[:, features], self._mean[features], out=new)
        new *= self._root_weight[:, None]
        block = self._product(self._columns[:, :stop].T, new)
        self._gram[:stop, start:stop] = block
        self._gram[start:stop, :start] = block[:start].T
        self._taken = stop
        return GramQuadratic(self._gram[:stop, :stop], self._product)

    def _reserve(self, needed: int) -> None:
        """Make room: at first for what a lasso mostly needs, then for twice what is needed."""
        if needed <= len(self._gram):
            return
        n, p = self.shape
        room = min(p // 2, max(2 * needed, min(2 * n, _RESERVE)))
        require_memory((room, room), "the Gram matrix", _REMEDY, self.dtype.itemsize)
        columns, gram = self._columns[:, : self._taken], self._gram[: self._taken, : self._taken]
        self._columns = np.empty((n, room), dtype=self.dtype, order="F")
        self._columns[:, : self._taken] = columns
        self._gram = np.empty((room, room), dtype=self.dtype)
        self._gram[: self._taken, : self._taken] = gram

    def fitted(self, coef: np.ndarray) -> np.ndarray:
        """Z_T coef for coefficients of the columns taken."""
        return self._product(self._columns[:, : self._taken], coef)

    def gram(self) -> np.ndarray:
        """All of ZᵀZ, by blocks of rows; forgets the columns taken."""
        self._columns, self._gram, self._taken = self._columns[:, :0], self._gram[:0, :0], 0
        p = self.shape[1]
        require_memory((p, p), "the Gram matrix", _REMEDY, self.dtype.itemsize)
        total = np.zeros((p, p), dtype=self.dtype)
        for block in self._blocks():
            total += self._product(block.T, block)
        return total

    def fitted_by_all(self, coef: np.ndarray) -> np.ndarray:
        """Z coef for coefficients of all columns."""
        return np.concatenate([self._product(block, coef) for block in self._blocks()])

    def _blocks(self) -> Iterator[np.ndarray]:
        """Z by blocks of rows, centred before anything is multiplied."""
        n, p = self.shape
        step = max(_BLOCK // p, 1)
        for i in range(0, n, step):
            rows = slice(i, i + step)
            yield (self._X[rows] - self._mean) * self._root_weight[rows, None]


class SparseDesign:
    """The weighted, centred columns of a sparse matrix; centring is a rank-one correction."""

    def __init__(self, X: Any, root_weight: np.ndarray, mean: np.ndarray) -> None:
        unweighted = bool(np.all(root_weight == 1))
        self._X = X if unweighted else sparse.csc_array(sparse.diags_array(root_weight) @ X)
        self._root_weight, self._mean = root_weight, mean
        self.shape, self.dtype = X.shape, X.dtype
        self._taken = np.empty(0, dtype=np.intp)
        self._columns: Any = self._X[:, :0]

    def wants_all(self, count: int) -> bool:
        """Never: no Gram matrix is formed."""
        return False

    def correlations(self, v: np.ndarray) -> np.ndarray:
        """All of Zᵀv."""
        return self._X.T @ v - self._mean * (self._root_weight @ v)

    def take(self, features: np.ndarray) -> SparseQuadratic:
        """Append columns to those taken and return their quadratic."""
        self._columns = sparse.hstack([self._columns, self._X[:, features]], format="csc")
        self._taken = np.concatenate([self._taken, features])
        total = float(self._root_weight @ self._root_weight)
        return SparseQuadratic(self._columns, self._mean[self._taken], total)

    def fitted(self, coef: np.ndarray) -> np.ndarray:
        """Z_T coef for coefficients of the columns taken."""
        return self._columns @ coef - self._root_weight * (self._mean[self._taken] @ coef)


class MomentDesign:
    """What is known of the columns when only the moments of the rows are: the Gram matrix."""

    def __init__(self, second: np.ndarray) -> None:
        self._second = second
        self.shape, self.dtype = second.shape, second.dtype

    def wants_all(self, count: int) -> bool:
        """There is no other way."""
        return True

    def gram(self) -> np.ndarray:
        """All of ZᵀZ."""
        return self._second


Design = DenseDesign | SparseDesign | MomentDesign


class WorkingSet:
    """A growing list of features and the quadratic form of their columns.

    Once most features of a dense X are wanted, all are taken.
    """

    def __init__(self, design: Design) -> None:
        self.design: Any = design  # what it can do is settled by wants_all
        self.features = np.empty(0, dtype=np.intp)
        self.inside = np.zeros(design.shape[1], dtype=bool)
        self.quadratic: Quadratic = GramQuadratic(np.empty((0, 0), dtype=design.dtype))
        self.complete = False  # whether the Gram matrix of all features is known

    def __len__(self) -> int:
        return len(self.features)

    def add(self, features: np.ndarray | Sequence[int]) -> None:
        """Take features in, leaving out those that are inside already."""
        features = np.asarray(features, dtype=np.intp)
        features = features[~self.inside[features]]
        if len(features) == 0:
            return
        if self.design.wants_all(len(self) + len(features)):
            self.features = np.concatenate([self.features, np.flatnonzero(~self.inside)])
            gram = self.design.gram()[np.ix_(self.features, self.features)]
            self.quadratic, self.complete = GramQuadratic(gram), True
        else:
            self.features = np.concatenate([self.features, features])
            self.quadratic = self.design.take(features)
        self.inside[self.features] = True

    def fitted(self, coef: np.ndarray) -> np.ndarray:
        """Z coef, for coefficients that are zero outside the set."""
        if self.complete:
            return self.design.fitted_by_all(coef)
        return self.design.fitted(coef[self.features])


@dataclass(frozen=True)
class Problem:
    """Least squares without an intercept: Z by a working set, and the targets, one a row."""

    working_set: WorkingSet
    targets: np.ndarray | None  # (t, n), None where the rows are known by their moments
    xy: np.ndarray  # (t, p): Zᵀy
    yy: np.ndarray  # (t,): ‖y‖²
    weight: float
    x_mean: np.ndarray
    y_mean: np.ndarray


def centre(rows: Rows, run: OrderedMap, *, fit_intercept: bool) -> Problem:
    """Centre and weigh rows of any source, by their moments where that is cheap or the only way."""
    p = rows.n_features
    if not isinstance(rows, ArrayRows) or p <= _FEW_FEATURES:
        require_memory((p, p), "the Gram matrix", "give X as an array")
        return _from_moments(rows, fit_intercept)
    rows.reject_non_finite()
    X, dtype = rows.X, rows.dtype
    targets = np.asarray(rows.y).reshape(X.shape[0], -1).T
    ones = np.ones(X.shape[0], dtype=dtype)
    weight = ones if rows.weight is None else rows.weight.astype(dtype)
    total = float(weight.sum(dtype=float))
    x_mean, y_mean = np.zeros(p, dtype=dtype), np.zeros(len(targets), dtype=dtype)
    if fit_intercept:
        raw = X.T @ weight if sparse.issparse(X) else product(run, X.T, weight)
        x_mean, y_mean = raw / dtype.type(total), targets @ weight / dtype.type(total)
    root = np.sqrt(weight)
    design: Design
    if sparse.issparse(X):
        design = SparseDesign(sparse.csc_array(X), root, x_mean)
    else:
        design = DenseDesign(X, root, x_mean, run)
    with np.errstate(over="ignore", invalid="ignore"):
        targets = root * (targets - y_mean[:, None])
        xy = np.stack([design.correlations(target) for target in targets])
        yy = np.square(targets, dtype=float).sum(axis=1)
    if not (np.isfinite(xy).all() and np.isfinite(yy).all()):
        raise ValueError("the products of X and y overflow; rescale them")
    return Problem(WorkingSet(design), targets, xy, yy, total, x_mean, y_mean)


def _from_moments(rows: Rows, fit_intercept: bool) -> Problem:
    p, moments = rows.n_features, map_reduce(moments_of, rows)
    if moments.weight == 0:
        raise ValueError("sample_weight is zero for every row, so there is nothing to learn from")
    second, mean = moments.scatter, moments.mean
    if not fit_intercept:
        second, mean = moments.raw, np.zeros_like(mean)
    working_set = WorkingSet(MomentDesign(second[:p, :p]))
    working_set.add(range(p))
    yy = np.diag(second)[p:]
    return Problem(working_set, None, second[p:, :p], yy, moments.weight, mean[:p], mean[p:])
