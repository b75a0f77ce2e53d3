"""What trees and their ensembles share: reading of data, and how they predict."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import (
    assert_all_finite,
    check_array,
    check_consistent_length,
    column_or_1d,
    get_tags,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from panlearn.core.capabilities import Capabilities
from panlearn.core.estimator import Estimator
from panlearn.core.labels import class_weights, encode_labels
from panlearn.core.parameters import Bounds
from panlearn.core.plain import known_rows
from panlearn.core.short_rows import first_largest
from panlearn.core.sources import ArrayRows
from panlearn.core.validation import read_rows, reject_hidden

MemberCount = Annotated[int, Bounds(0, 10**5, closed_high=True)]


class RowsPredictor(Estimator):
    """A model that predicts from rows in memory, each of which may lack values; abstract."""

    capabilities = Capabilities(missing=True)

    def _rows(self, X: Any) -> Any:
        """Check new rows: in the order of C, or sparse by rows."""
        self._require_fitted()
        tags = get_tags(self).input_tags
        formats = "csr" if tags.sparse else False
        X = known_rows(self, X, accept_sparse=formats, allow_nan=tags.allow_nan)
        return X if sparse.issparse(X) else np.ascontiguousarray(X)


class ProbabilityPredictor(ClassifierMixin, RowsPredictor):
    """A classifier that predicts probabilities; abstract."""

    classes_: Any

    @abstractmethod
    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            With several outputs a list of such arrays, one an output.
        """

    def predict_log_proba(self, X: Any) -> Any:
        """Predict the logarithm of the probability of each class, minus infinity for zero.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            With several outputs a list of such arrays, one an output.
        """
        probabilities = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            if isinstance(probabilities, list):
                return [np.log(part) for part in probabilities]
            return np.log(probabilities)


class ProbabilisticClassifier(ProbabilityPredictor):
    """A classifier that predicts the label of highest probability; abstract."""

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
        return self.classes_[first_largest(self.predict_proba(X))]


class OutputsClassifier(ProbabilityPredictor):
    """A classifier of one or more outputs whose trees give parts of the classes; abstract."""

    n_outputs_: int

    @abstractmethod
    def _values(self, X: Any) -> np.ndarray:
        """What the tree or the mean of the trees predicts, (n, n_components)."""

    def predict_proba(self, X: Any) -> Any:
        """Predict the part of each class among the training rows in the same leaf.

        Of several trees it is the mean of theirs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            With several outputs a list of such arrays, one an output.
        """
        return split_outputs(self, self._values(X))

    @abstractmethod
    def _distinct_values(self, X: Any) -> tuple[np.ndarray, Any]:
        """Values that rows may share, (m, n_components), and which of them each row has."""

    def predict(self, X: Any) -> np.ndarray:
        """Predict the label of each row: the likeliest class, the first of equal ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        values, place = self._distinct_values(X)
        if self.n_outputs_ == 1:
            return self.classes_[first_largest(values)][place]
        pairs = zip(self.classes_, split_outputs(self, values), strict=True)
        return np.stack([labels[first_largest(part)] for labels, part in pairs], axis=1)[place]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class OutputsRegressor(RegressorMixin, RowsPredictor):
    """A regressor of one or more outputs; abstract."""

    n_outputs_: int

    @abstractmethod
    def _values(self, X: Any) -> np.ndarray:
        """What the tree or the mean of the trees predicts, (n, n_outputs)."""

    def predict(self, X: Any) -> np.ndarray:
        """Predict the mean, or the median, of the training rows in the same leaf.

        Of several trees it is the mean of theirs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        values = self._values(X)
        return values if self.n_outputs_ > 1 else values[:, 0]


def read_training(
    estimator: Any, X: Any, y: Any, sample_weight: Any, targets: Literal["numbers", "labels"]
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Check training data; X, y and the weights in float64, rows of zero weight left out.

    X is sparse by rows if it was sparse; y is (n,), or (n, n_outputs) if it had several columns.
    """
    tags = get_tags(estimator)
    # a list of lists would be taken for several outputs only where there may be several
    several = tags.target_tags.multi_output and columns_of(y) > 1
    rows = read_rows(
        estimator,
        X,
        None if several and targets == "labels" else y,
        targets="none" if several and targets == "labels" else targets,
        accept_sparse=tags.input_tags.sparse,
    )
    assert isinstance(rows, ArrayRows)  # no other source is declared
    X, y = rows.X, rows.y if targets == "numbers" or not several else y
    if several and targets == "labels":
        y = check_array(y, dtype=None, input_name="y")
        check_consistent_length(X, y)
        check_classification_targets(y)
    elif not several and not (type(y) is np.ndarray and y.ndim == 1):
        # which in its first call looks through all packages for kinds of data frames
        y = column_or_1d(y, warn=True)
    values = X.data if sparse.issparse(X) else X
    if np.isinf(values).any():
        raise ValueError("X contains infinity; a missing value is NaN")
    if not tags.input_tags.allow_nan:
        assert_all_finite(values, input_name="X")
    if not sparse.issparse(X) and np.isnan(X).all():
        raise ValueError("X holds nothing but NaN, so there is nothing to learn from")
    reject_hidden(sample_weight=sample_weight)
    # in float64 whatever X is: trees count in units of the largest, so that any level is right
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    kept = weight > 0
    return (X, y, weight) if kept.all() else (X[kept], y[kept], weight[kept])


def columns_of(y: Any) -> int:
    """How many columns targets have, one if they are no matrix."""
    shape = getattr(y, "shape", None)
    if shape is None and isinstance(y, list | tuple) and len(y) and not isinstance(y[0], str):
        return len(y[0]) if hasattr(y[0], "__len__") else 1
    return shape[1] if shape is not None and len(shape) == 2 else 1


def encode_outputs(y: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """The labels of each output, sorted, and the places of the rows' labels, (n_outputs, n)."""
    if y.ndim == 1:
        classes, codes = encode_labels(y)
        return [classes], codes[None]
    pairs = [np.unique(column, return_inverse=True) for column in y.T]
    return [classes for classes, _ in pairs], np.array([codes for _, codes in pairs], np.int32)


def row_class_weights(
    given: Any, classes: list[np.ndarray], codes: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """The weight of each row by its classes, the product over the outputs.

    `given` is what ``class_weight`` says, for several outputs also a list of mappings; "balanced"
    is inverse to the summed weights of the rows.
    """
    result = np.ones(codes.shape[1])
    if given is None:
        return result
    if isinstance(given, list):
        if len(given) != len(classes):
            raise ValueError(f"class_weight has {len(given)} entries for {len(classes)} outputs")
        if not all(isinstance(one, Mapping | str | None) for one in given):
            raise ValueError(f"class_weight must be a list of mappings; got {given!r}")
    elif len(classes) > 1 and not isinstance(given, str):
        raise ValueError(
            "class_weight of several outputs is a list of mappings, or 'balanced'; got one mapping"
        )
    each = given if isinstance(given, list) else [given] * len(classes)
    for one, labels, code in zip(each, classes, codes, strict=True):
        count = np.bincount(code, weight, minlength=len(labels))
        count[count == 0] = 1.0  # of a class that is not in the sample
        result *= class_weights(one, labels, count)[code]
    return result


def set_classes(model: Any, classes: list[np.ndarray]) -> None:
    """Set ``classes_``, ``n_classes_`` and ``n_outputs_``: lists if there are several outputs."""
    several = len(classes) > 1
    model.n_outputs_ = len(classes)
    model.classes_ = classes if several else classes[0]
    model.n_classes_ = [len(c) for c in classes] if several else len(classes[0])


def split_outputs(model: Any, values: np.ndarray) -> Any:
    """Probabilities of all outputs side by side as one array, or as a list of them."""
    if model.n_outputs_ == 1:
        return values
    return np.split(values, np.cumsum(model.n_classes_)[:-1], axis=1)
