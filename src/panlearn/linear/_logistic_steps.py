r"""Logistic regression in parts: a quadratic stands for the rows that were seen.

With :math:`\theta_t` the minimum after part t and :math:`H_t` the Hessian there,

.. math::
    \theta_{t+1} = \arg\min_\theta \; L_{t+1}(\theta)
        + \tfrac12 (\theta - \theta_t)^\top H_t (\theta - \theta_t), \qquad
    H_{t+1} = H_t + \nabla^2 L_{t+1}(\theta_{t+1})

where :math:`L_t` is the log loss of part t and :math:`H_0` the penalty. In the language of Bayes it
is Laplace's approximation, renewed with every part (Spiegelhalter and Lauritzen 1990).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from panlearn.core.columns import ColumnMap, Columns, mapped
from panlearn.core.map_reduce import map_reduce
from panlearn.core.sources import Rows
from panlearn.core.value import Value
from panlearn.linear._logistic_labels import Labels
from panlearn.linear._logistic_loss import Loss, LossAndCurvature
from panlearn.linear._logistic_problem import _encoded
from panlearn.linear._quasi_newton import SmoothModel
from panlearn.linear._row_span import columns_of

ABSENT = 1.0  # precision of the intercepts while a class has not come: that of some rows


@dataclass(frozen=True)
class Surrogate(Value):
    """The quadratic that stands for the rows seen, in columns ``(x - mean) / scale``.

    Attributes
    ----------
    point : ndarray of shape (k, d + 1)
        Its minimum: the weights of these columns, and last the intercept.
    hessian : ndarray of shape (k, d + 1, k, d + 1)
    mean, scale : ndarray of shape (d,)
    alpha : float
        The penalty of a column that comes later.
    """

    point: np.ndarray
    hessian: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    alpha: float

    def __post_init__(self) -> None:
        k, d = self.point.shape
        right = self.hessian.shape == (k, d, k, d)
        if not right or self.mean.shape != (d - 1,) or self.scale.shape != (d - 1,):
            raise ValueError("the parts of the quadratic do not go together")

    @classmethod
    def start(cls, rows: Rows, labels: Labels, *, alpha: float, fit_intercept: bool) -> Surrogate:
        """The penalty alone, in columns scaled by these rows."""
        seen: Columns = map_reduce(columns_of, rows)
        mean = seen.mean if fit_intercept else np.zeros_like(seen.mean)
        scale = np.sqrt(seen.squares / seen.weight + (seen.mean - mean) ** 2)
        scale = np.where(scale > 0, scale, 1.0)
        k, d = labels.n_scores, len(mean) + 1
        last = ABSENT if (labels.count == 0).any() else 0.0
        ridge = np.tile(np.append(alpha / scale**2, last), k)
        hessian = np.diag(ridge).reshape(k, d, k, d)
        return cls(np.zeros((k, d)), hessian, mean, scale, alpha)

    @classmethod
    def after_fit(
        cls, model: Any, rows: Rows, labels: Labels, *, alpha: float, fit_intercept: bool
    ) -> Surrogate:
        """The quadratic of a fit whose rows are gone: these rows stand for them.

        The Hessian of the log loss hangs on the rows and not on their labels, so that rows of the
        same kind tell it, at the weight of those of the fit.
        """
        start = cls.start(rows, labels, alpha=alpha, fit_intercept=fit_intercept)
        coef = np.asarray(model.coef_, dtype=float)
        point = np.column_stack([coef * start.scale, model.intercept_ + coef @ start.mean])
        part = Part(start, rows, labels, fit_intercept)
        curvature = part.hessian(point.ravel()) - start.hessian
        hessian = start.hessian + model.weight_seen_ / part.total * curvature
        return cls(point, hessian, start.mean, start.scale, alpha)


@mapped.register
def _(statistic: Surrogate, by: ColumnMap) -> Surrogate:
    """In columns that were rescaled the same point has the same standard coordinates."""
    k = len(statistic.point)
    size = len(by.shift)
    place = np.append(by.place, size)
    point = np.zeros((k, size + 1))
    point[:, place] = statistic.point
    mean, scale = by.shift.copy(), np.ones(size)
    mean[by.place] += by.scale * statistic.mean
    scale[by.place] = by.scale * statistic.scale
    new = np.ones(size + 1, dtype=bool)
    new[place] = False
    hessian = np.einsum("ij,kl->ikjl", np.eye(k), np.diag(statistic.alpha * new))
    classes = np.arange(k)
    hessian[np.ix_(classes, place, classes, place)] = statistic.hessian
    return Surrogate(point, hessian, mean, scale, statistic.alpha)


class Part:
    """The log loss of some rows and the quadratic of those before, for `minimise`."""

    def __init__(self, seen: Surrogate, rows: Rows, labels: Labels, fit_intercept: bool) -> None:
        self.seen, self.fit_intercept = seen, fit_intercept
        self._rows, self._labels, self._dtype = rows, labels, rows.dtype
        self.k, self._width = seen.point.shape
        self.penalty = np.zeros(seen.point.size)
        self.epsilon = 64 * float(np.finfo(rows.dtype).eps)
        self.patience = 1.0
        self.total = float(labels.count.sum()) or 1.0

    def _coefficients(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = x.reshape(self.k, self._width)
        return x[:, :-1] / self.seen.scale, x[:, -1]

    def _sum(self, summary: Any) -> Any:
        return map_reduce(
            functools.partial(_encoded, summary, self._labels, None),
            self._rows,
            require_finite=False,
        )

    def evaluate(
        self, x: np.ndarray, curved: bool = False
    ) -> tuple[float, np.ndarray, np.ndarray | None]:
        """Value, gradient and Hessian of the mean objective."""
        coef, intercept = self._coefficients(x)
        at = dict(coef=coef.astype(self._dtype), intercept=intercept, centre=self.seen.mean)
        found = self._sum(functools.partial(Loss.of, **at))
        away = x - self.seen.point.ravel()
        pull = self.seen.hessian.reshape(x.size, x.size) @ away
        gradient = found.gradient.copy()
        gradient[:, :-1] /= self.seen.scale
        gradient += pull.reshape(gradient.shape)
        if not self.fit_intercept:
            gradient[:, -1] = 0.0
        value = (found.loss + 0.5 * away @ pull) / self.total
        curvature = self._definite(self.hessian(x)) if curved else None
        return float(value), gradient.ravel() / self.total, curvature

    def hessian(self, x: np.ndarray) -> np.ndarray:
        """The Hessian of the objective, (k, d + 1, k, d + 1)."""
        coef, intercept = self._coefficients(x)
        found = self._sum(
            functools.partial(
                LossAndCurvature.of,
                coef=coef.astype(self._dtype),
                intercept=intercept,
                mean=self.seen.mean,
                scale=self.seen.scale,
                stride=1,
                centre=self.seen.mean,
            )
        )
        return self.seen.hessian + found.hessian.reshape(self.seen.hessian.shape)

    def _definite(self, hessian: np.ndarray) -> np.ndarray:
        """The mean Hessian with what leaves steps as they are and makes it definite."""
        curvature = hessian.reshape(self.penalty.size, -1) / self.total
        if self.k > 1:  # no gradient points where all intercepts shift alike
            shift = np.zeros(self._width)
            shift[-1] = np.trace(curvature) / len(curvature)
            curvature = curvature + np.kron(np.full((self.k, self.k), 1 / self.k), np.diag(shift))
        if not self.fit_intercept:
            fixed = np.arange(self._width - 1, len(curvature), self._width)
            curvature[fixed] = curvature[:, fixed] = 0.0
            curvature[fixed, fixed] = 1.0
        return curvature

    def model(self, curvature: np.ndarray) -> SmoothModel:
        """Nothing but a linear solve: there is no l1 norm."""
        return SmoothModel(curvature)

    def attributes(self, x: np.ndarray) -> dict[str, Any]:
        """The fitted attributes of an estimator at x."""
        coef, intercept = self._coefficients(x)
        intercept = intercept - coef @ self.seen.mean
        if not self.fit_intercept:
            intercept = np.zeros(self.k)
        elif self.k > 1:
            intercept = intercept - intercept.mean()
        return {
            "classes_": self._labels.classes,
            "coef_": coef.astype(self._dtype, copy=False),
            "intercept_": intercept.astype(self._dtype, copy=False),
        }

    def absorbed(self, x: np.ndarray) -> Surrogate:
        """The quadratic that stands for these rows, too."""
        seen = self.seen
        point = x.reshape(seen.point.shape)
        return Surrogate(point, self.hessian(x), seen.mean, seen.scale, seen.alpha)
