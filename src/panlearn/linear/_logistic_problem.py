r"""Penalised logistic regression as a problem for `_quasi_newton.minimise`.

The walk takes place in coordinates that centre and scale the columns of X, in which the curvature
is well conditioned and data of any offset and scale keep their digits; the rows themselves are
never changed. Few rows of many columns are walked in coordinates of what they span.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from panlearn.core.map_reduce import map_reduce
from panlearn.core.memory import SMALL, available, require_memory
from panlearn.core.sources import ArrayRows, Rows
from panlearn.core.statistics import Moments, Statistic
from panlearn.linear._logistic_columns import ColumnDesign
from panlearn.linear._logistic_labels import Labels
from panlearn.linear._logistic_loss import Loss, LossAndCurvature, rescale, standard
from panlearn.linear._quasi_newton import LassoModel, Model, SmoothModel
from panlearn.linear._row_span import RowSpan, columns_of, spanned

# A curvature is a square matrix of this many rows at most; beyond, it is a diagonal.
DENSE = 2000
# Rows of a sampled curvature for each unknown of a class.
SAMPLE = 100
# A multiplication in a product of two matrices takes this share of one in a pass over the rows.
PRODUCT = 1 / 64
# A Hessian that costs more passes than this is known by its products alone, with so many columns
# at most, of whose scatter the eigenvalues are needed.
DEAR, WIDE = 2, 500


def _encoded(summary: Callable, labels: Labels, columns: Any, X: Any, y: Any, weight: Any) -> Any:
    codes, weight = labels.encode(y, weight)
    return summary(X if columns is None else X[:, columns], codes, weight)


def _sampled_moments(X: Any, y: Any, weight: Any, *, stride: int) -> Moments:
    return Moments.of(X[::stride], weight=None if weight is None else weight[::stride])


class LogisticProblem:
    r"""The mean log loss, :math:`\frac12 \alpha \|w\|^2` and the weights of :math:`\|w\|_1`.

    The unknowns are a flat array of shape (k, d + 1): ``scale * coef`` and the intercept at the
    mean of the columns, which does not move if there is none to learn.
    """

    def __init__(
        self, rows: Rows, labels: Labels, *, C: float, l1_ratio: float, fit_intercept: bool
    ) -> None:
        self.labels, self.fit_intercept = labels, fit_intercept
        self.k, self.d, self.dtype = labels.n_scores, rows.n_features, rows.dtype
        n, self._encode = 0, True
        if isinstance(rows, ArrayRows):  # in memory: encode once, not once a pass
            codes, weight = labels.encode(rows.y, rows.weight)
            weight = None if weight is None else weight.astype(rows.dtype, copy=False)
            rows = replace(rows, y=codes, weight=weight)
            n, self._encode = rows.X.shape[0], False
        self._rows = rows
        self._restriction: np.ndarray | None = None
        self.total = float(labels.count.sum())
        strength = 1 / (C * self.total) if C * self.total > 0 else np.inf
        if not np.isfinite(strength):
            raise ValueError(
                f"C={C:.3g} times the total weight of the rows, {self.total:.3g}, is too small for "
                "the floats; give larger weights"
            )
        self.alpha, self.l1 = (1 - l1_ratio) * strength, l1_ratio * strength
        self.epsilon = 64 * float(np.finfo(rows.dtype).eps)
        self._span = self._narrowed()
        self.dense = self.k * (self.d + 1) <= DENSE
        unknowns = self.d * (1 if self.k == 1 else self.k // 2)
        self._stride = max(1, n // (SAMPLE * unknowns))
        self._describe()

    def _narrowed(self) -> RowSpan | None:
        """Put coordinates in the place of the columns, if few rows have many."""
        rows = self._rows
        if self.l1 or self.alpha == 0:
            return None
        most = max(DENSE // self.k - 1, WIDE)
        span = spanned(rows, centred=self.fit_intercept, most=most)
        if span is not None:
            self._rows, self.d = span.rows(rows), len(span.coordinates)
        return span

    def _describe(self) -> None:
        """One pass for the mean and the scale of each column."""
        columns = self._sum(columns_of, require_finite=True)
        mean = columns.mean if self.fit_intercept else np.zeros(self.d)
        spread = columns.squares / columns.weight + (columns.mean - mean) ** 2
        p = self.labels.count / self.total
        self._between = np.diag(p) - np.outer(p, p) if self.k > 1 else np.full((1, 1), p[0] * p[1])
        self._spread = spread
        # With the penalty inside, no coordinate has a large curvature, not even of a tiny column.
        scale = np.sqrt(spread + 4 * self.alpha)
        self.mean, self.scale = mean, np.where(scale > 0, scale, 1.0)
        self.penalty = np.tile(np.append(self.l1 / self.scale, 0.0), self.k)
        # at a large offset the rows are centred before anything is multiplied
        self._far = bool((np.abs(mean) > 100 * self.scale).any())

    @property
    def patience(self) -> float:
        """The cost of a curvature in passes; a stream waits for its rows, not for products."""
        if not self.dense:
            return np.inf
        return 0 if self._encode else PRODUCT * self.d * (self.k + 1) / 2 / self._stride

    def restricted(self, chosen: np.ndarray) -> LogisticProblem:
        """The same problem with a subset of the columns, and a matrix of curvatures."""
        require_memory(
            (self.k * (len(chosen) + 1),) * 2,
            "the curvature of the columns that l1 keeps",
            "lower C, so that fewer columns stay",
        )
        part = copy.copy(self)
        part.d, part.mean, part.scale = len(chosen), self.mean[chosen], self.scale[chosen]
        part._spread = self._spread[chosen]
        part.penalty = np.tile(np.append(self.l1 / part.scale, 0.0), self.k)
        if isinstance(self._rows, ArrayRows):
            part._rows = replace(self._rows, X=self._rows.X[:, chosen])
        part._restriction, part._stride, part.dense = chosen, 1, True
        return part

    @property
    def by_products(self) -> bool:
        """Whether products tell the curvature sooner, and the rows may be in memory once more.

        Without a penalty nothing bounds the number of products that a step takes.
        """
        rows = self._rows
        if self.k == 1 or self.l1 or self.alpha == 0:
            return False
        if not isinstance(rows, ArrayRows) or sparse.issparse(rows.X):
            return False
        n = rows.X.shape[0]
        needed = 16 * n * (self.d + 8 + self.k)
        fits = needed <= SMALL or needed < available()
        return self.patience > DEAR and self.d <= min(WIDE, n) and fits

    def single_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows as the unknowns weigh them, and their shares of the mean, in single precision.

        Columns of zeros fill them up to a width that is multiplied faster.
        """
        rows = self._rows
        assert isinstance(rows, ArrayRows)  # by_products was asked
        n, width = rows.X.shape[0], self.d + 1
        X = np.zeros((n, width + -width % 8), np.float32)
        X[:, :width] = standard(rows.X, self.mean, self.scale)
        if not self.fit_intercept:
            X[:, self.d] = 0
        weight = np.ones(n) if rows.weight is None else rows.weight
        return X, (weight / self.total).astype(np.float32)

    @property
    def by_columns(self) -> bool:
        """Whether two classes are in memory, and their columns may be there once more."""
        rows = self._rows
        if self.k > 1 or not isinstance(rows, ArrayRows):
            return False
        return sparse.issparse(rows.X) or 32 * rows.X.size < available()

    def columns(self) -> ColumnDesign:
        """The rows by columns."""
        assert isinstance(self._rows, ArrayRows)  # by_columns was asked
        return ColumnDesign.of(self._rows, self.mean, fit_intercept=self.fit_intercept)

    def sampled(self) -> LogisticProblem | None:
        """The same problem on a sample of the rows in memory, if it has enough of every class."""
        rows, stride = self._rows, self._stride
        if not isinstance(rows, ArrayRows) or rows.y is None or stride < 8 or not self.dense:
            return None
        weight = None if rows.weight is None else rows.weight[::stride]
        count = np.bincount(rows.y[::stride], weight, minlength=len(self.labels.classes))
        if count.min() < 20:
            return None
        X = rows.X[::stride]
        X = X if sparse.issparse(X) else np.ascontiguousarray(X)
        part = copy.copy(self)
        part._rows, part._stride = ArrayRows(X, rows.y[::stride], weight), 1
        part.total = float(count.sum())
        return part

    def _sum(self, summary: Callable[..., Statistic], require_finite: bool = False) -> Any:
        if self._encode:
            summary = functools.partial(_encoded, summary, self.labels, self._restriction)
        return map_reduce(summary, self._rows, require_finite=require_finite)

    def start(self, coef: np.ndarray | None = None, intercept: Any = None) -> np.ndarray:
        """The unknowns of given coefficients, or of the best constant prediction."""
        x = np.zeros((self.k, self.d + 1))
        if coef is not None:
            if self._span is not None:
                coef, intercept = self._span.inside(coef, intercept)
            x[:, :-1] = coef * self.scale
            x[:, -1] = intercept + coef @ self.mean
        elif self.fit_intercept:
            share = np.log(self.labels.count)
            x[:, -1] = share[1] - share[0] if self.k == 1 else share
        if self.k > 1 and not self.l1:  # scores are defined up to a constant
            x -= x.mean(axis=0)
        return x.ravel()

    def coefficients(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights (k, d) and intercepts (k,) for the columns as they are."""
        x = x.reshape(self.k, self.d + 1)
        coef = x[:, :-1] / self.scale
        return coef, x[:, -1] - coef @ self.mean

    def attributes(self, x: np.ndarray) -> dict[str, Any]:
        """The fitted attributes of an estimator at x."""
        coef, intercept = self.coefficients(x)
        if self._span is not None:
            coef, intercept = self._span.outside(coef, intercept)
        if not self.fit_intercept:
            intercept = np.zeros(self.k)
        elif self.k > 1:
            intercept = intercept - intercept.mean()
        return {
            "classes_": self.labels.classes,
            "coef_": coef.astype(self.dtype, copy=False),
            "intercept_": intercept.astype(self.dtype, copy=False),
        }

    def evaluate(
        self, x: np.ndarray, curved: bool = False
    ) -> tuple[float, np.ndarray, np.ndarray | None]:
        """Value and gradient of the smooth part, and its Hessian if asked."""
        coef, intercept = self.coefficients(x)
        at: dict[str, Any] = dict(coef=coef.astype(self.dtype), intercept=intercept)
        if self._far:
            at |= dict(intercept=x.reshape(self.k, -1)[:, -1], centre=self.mean)
        curvature = None
        if curved:
            at |= dict(mean=self.mean, scale=self.scale, stride=self._stride)
            found = self._sum(functools.partial(LossAndCurvature.of, **at))
            whole = np.append(self._spread / self.scale**2, 1.0)
            scaled = rescale(found.hessian, found.squares, whole, self._between)
            curvature = self._finish(scaled)
            self._stride = max(1, self._stride // 4)  # the next one, if there is, has to be better
        else:
            found = self._sum(functools.partial(Loss.of, **at))
        gradient = found.gradient / self.total
        if not self._far:
            gradient[:, :-1] -= self.mean * gradient[:, -1:]
        gradient[:, :-1] /= self.scale
        gradient[:, :-1] += self.alpha * coef / self.scale
        if not self.fit_intercept:
            gradient[:, -1] = 0.0
        shrunk = np.sqrt(self.alpha) * coef  # coef of separable classes may have no square
        value = found.loss / self.total + 0.5 * float(np.sum(shrunk * shrunk))
        return value, gradient.ravel(), curvature

    def model(self, curvature: np.ndarray) -> Model:
        """Solve without an l1 norm, descend along coordinates with one."""
        return LassoModel(curvature, self.penalty) if self.l1 else SmoothModel(curvature)

    def constant_curvature(self) -> np.ndarray:
        """The Hessian at the best constant prediction: (diag p - p p') kron the scatter of X."""
        if not self.dense:
            return self._finish(np.outer(np.diag(self._between), np.ones(self.d + 1)))
        return self._finish(np.kron(self._between, self.scatter()))

    def scatter(self) -> np.ndarray:
        """The mean product of the columns, scaled, and of one of ones; of a sample of the rows."""
        sample = self._sum(functools.partial(_sampled_moments, stride=self._stride))
        second = sample.scatter if self.fit_intercept else sample.raw
        within = np.eye(self.d + 1)
        within[:-1, :-1] = rescale(second, np.diag(second), self._spread, np.eye(1))
        within[:-1, :-1] /= np.outer(self.scale, self.scale)
        return within

    @property
    def ridge(self) -> np.ndarray:
        """The curvature of the penalty for the unknowns of a class."""
        return np.append(self.alpha / self.scale**2, 0.0)

    def _finish(self, curvature: np.ndarray) -> np.ndarray:
        """Add the penalty, and what leaves every step as it is but makes the matrix definite."""
        ridge = np.tile(self.ridge, self.k)
        if not self.dense:
            return curvature.ravel() + ridge
        curvature[np.diag_indices(len(ridge))] += ridge
        if self.k > 1:
            # no gradient points where all scores shift alike
            shift = np.full(self.d + 1, np.trace(curvature) / len(ridge))
            if self.l1:
                shift[:-1] = 0.0
            curvature += np.kron(np.full((self.k, self.k), 1 / self.k), np.diag(shift))
        if not self.fit_intercept:
            fixed = np.arange(self.d, len(ridge), self.d + 1)
            curvature[fixed] = curvature[:, fixed] = 0.0
            curvature[fixed, fixed] = 1.0
        return curvature
