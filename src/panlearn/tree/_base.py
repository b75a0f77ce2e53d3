"""What trees and their ensembles share: reading of data, targets for the kernels, predictions."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from numbers import Integral
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import assert_all_finite, column_or_1d, get_tags
from sklearn.utils.validation import validate_data

from panlearn.core.estimator import Estimator
from panlearn.core.parameters import Bounds, Positive
from panlearn.core.sources import ArrayRows
from panlearn.core.validation import FLOATS, read_rows
from panlearn.tree._grow import Features, grow
from panlearn.tree._sampling import Part
from panlearn.tree._split import ENTROPY, GINI, SQUARED_ERROR, Limits, Targets
from panlearn.tree._structure import Tree

AtLeastTwo = Annotated[int, Bounds(2, closed_low=True)]
UpToHalf = Annotated[float, Bounds(0, 0.5, closed_low=True, closed_high=True)]
MaxFeatures = Literal["sqrt", "log2"] | None | Positive[int] | Part
MemberCount = Annotated[int, Bounds(0, 10**5, closed_high=True)]


class RowsPredictor(Estimator):
    """A model that predicts from rows in memory, each of which may lack values; abstract."""

    def _rows(self, X: Any) -> np.ndarray:
        """Check new rows."""
        self._require_fitted()
        missing: Any = "allow-nan" if get_tags(self).input_tags.allow_nan else True
        X = validate_data(self, X, reset=False, dtype=FLOATS, ensure_all_finite=missing)
        return np.ascontiguousarray(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class ProbabilisticClassifier(ClassifierMixin, RowsPredictor):
    """A classifier that predicts the label of highest probability; abstract."""

    classes_: np.ndarray

    @abstractmethod
    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """

    def predict(self, X: Any) -> np.ndarray:
        """Predict the label of each row: the likeliest class, the first of equal ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]


class RowsRegressor(RegressorMixin, RowsPredictor):
    """A regressor of one target; abstract."""

    @abstractmethod
    def predict(self, X: Any) -> np.ndarray:
        """Predict the target of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples,)
        """


def read_training(
    estimator: Any, X: Any, y: Any, sample_weight: Any, targets: Literal["numbers", "labels"]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Check training data; X, y and the weights in float64, rows of zero weight left out."""
    rows = read_rows(estimator, X, y, sample_weight, targets=targets, accept_sparse=False)
    if not isinstance(rows, ArrayRows):
        raise ValueError(
            f"{type(estimator).__name__} looks at all rows together, so it takes an array or a "
            "data frame, not batches or a Dask collection; give it a sample of the rows"
        )
    X, y = rows.X, column_or_1d(rows.y, warn=True)
    if np.isinf(X).any():
        raise ValueError("X contains infinity; a missing value is NaN")
    if not get_tags(estimator).input_tags.allow_nan:
        assert_all_finite(X, input_name="X")
    if np.isnan(X).all():
        raise ValueError("X holds nothing but NaN, so there is nothing to learn from")
    if rows.weight is None:
        return X, y, np.ones(len(X))
    weight = rows.weight.astype(np.float64)
    kept = weight > 0
    if not kept.any():
        raise ValueError("sample_weight is zero for every row")
    return (X, y, weight) if kept.all() else (X[kept], y[kept], weight[kept])


@dataclass(frozen=True)
class Problem:
    """What a tree learns: targets in units and from an origin that keep the digits of numbers."""

    targets: Targets
    n_codes: int
    criterion: int
    unit: float = 1.0
    origin: float = 0.0


def label_problem(codes: np.ndarray, n_classes: int, weight: np.ndarray, criterion: str) -> Problem:
    """Each row adds its weight to the sum of its class."""
    kind = {"gini": GINI, "entropy": ENTROPY}[criterion]
    return Problem(Targets(codes, weight, weight), n_classes, kind)


def number_problem(y: np.ndarray, weight: np.ndarray) -> Problem:
    """Each row adds its weighted target.

    Centred and scaled targets keep their digits at an offset and do not overflow when squared.
    """
    y = y.astype(np.float64)
    unit = float(np.abs(y).max()) or 1.0
    origin = float(np.average(y / unit, weights=weight)) * unit
    centred = y / unit - origin / unit
    spread = float(np.abs(centred).max()) or 1.0
    value = weight * (centred / spread)
    targets = Targets(np.zeros(len(y), dtype=np.int32), value, weight)
    return Problem(targets, 1, SQUARED_ERROR, spread * unit, origin)


def grow_tree(
    p: Any,
    features: Features,
    count: np.ndarray,
    problem: Problem,
    dtype: Any,
    seed: int,
) -> Tree:
    """Grow a tree by the parameters of p on rows that count so often, zero for an absent one."""
    d, unit = len(features.columns), problem.unit
    code, value, weight = problem.targets
    targets = Targets(code, count * value, count * weight)
    rows = np.flatnonzero(count).astype(np.int32)
    n = len(rows)
    limits = Limits(
        n if p.max_depth is None else min(p.max_depth, n),
        min(p.min_samples_split, n + 1),
        min(p.min_samples_leaf, n),
        feature_count(p.max_features, d),
        float(p.min_impurity_decrease) / unit / unit,
        float(p.min_weight_fraction_leaf) * targets.weight.sum(),
    )
    tree = grow(features, rows, targets, problem.n_codes, problem.criterion, limits, seed)
    left, right, feature, threshold, missing, impurity, size, weights, values = tree
    values = (values * unit + problem.origin).astype(dtype)
    impurity = impurity * unit * unit
    return Tree(d, left, right, feature, threshold, missing, impurity, size, weights, values)


def feature_count(max_features: Any, d: int) -> int:
    """How many of d features a node looks at."""
    if max_features is None:
        return d
    if max_features == "sqrt":
        return max(1, int(np.sqrt(d)))
    if max_features == "log2":
        return max(1, int(np.log2(d)))
    if isinstance(max_features, Integral):
        return min(int(max_features), d)
    return max(1, int(max_features * d))
