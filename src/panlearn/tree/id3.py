"""ID3: a tree with one branch for each category."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from panlearn.core.estimator import fitting
from panlearn.core.jit import jit
from panlearn.core.labels import encode_labels
from panlearn.core.parameters import NonNegative, Positive
from panlearn.core.validation import reject_hidden
from panlearn.tree._base import ProbabilisticClassifier
from panlearn.tree._split import TIE
from panlearn.tree._structure import CategoricalTree

CATEGORY = str | int | float | np.generic | None
MISSING = "missing", np.nan


@dataclass(eq=False, repr=False)
class ID3Classifier(ProbabilisticClassifier):
    r"""A tree for categorical attributes: a node has one branch for each value of an attribute.

    .. math::
        \max_A \; \mathrm{Gain}(S, A) = H(S) - \sum_v \frac{|S_v|}{|S|} H(S_v), \qquad
        H(S) = -\sum_k p_k \log_2 p_k

    Parameters
    ----------
    max_depth : int, default=None
        The most questions between the root and a leaf; None for no limit.
    min_gain : float, default=0.0
        A node whose best attribute gains less, in bits, is a leaf. At 0 a node is split also if no
        attribute alone gains anything, as in an exclusive or.

    Attributes
    ----------
    tree_ : CategoricalTree
        The nodes as flat arrays in preorder, and the categories of each attribute.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_features_in_ : int
        Number of attributes.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    X is a data frame or an array of strings, booleans or numbers; each different value is a
    category, and a missing value (NaN) is one too. An attribute is asked at most once on a path. Of
    equal gains the first attribute is taken. A node costs :math:`O(n d)`.

    A category that did not occur at a node in training has no branch there, whether or not it
    occurred elsewhere: such a row gets the classes of the node, so its majority. Numbers with many
    different values fit the training rows and nothing else: cut them into intervals first, or use
    `DecisionTreeClassifier`.

    References
    ----------
    J. R. Quinlan (1986). Induction of decision trees. Machine Learning 1(1).
    doi:10.1007/BF00116251

    Examples
    --------
    >>> from panlearn.tree import ID3Classifier, export_text
    >>> X = [["sunny", "high"], ["sunny", "low"], ["rain", "high"], ["rain", "low"]]
    >>> model = ID3Classifier().fit(X, ["no", "yes", "yes", "yes"])
    >>> print(export_text(model, feature_names=["outlook", "humidity"]))
    |--- outlook = rain
    |   |--- class: yes
    |--- outlook = sunny
    |   |--- humidity = high
    |   |   |--- class: no
    |   |--- humidity = low
    |   |   |--- class: yes
    """

    _: KW_ONLY
    max_depth: Positive[int] | None = None
    min_gain: NonNegative[float] = 0.0

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree on training data.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The categories: strings, booleans or numbers; NaN is a missing value.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        ID3Classifier
            The model itself.
        """
        reject_hidden(X=X, y=y, sample_weight=sample_weight)
        X, y = validate_data(self, X, y, dtype=None, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        if X.dtype.kind == "f" and np.isnan(X).all():
            raise ValueError("X holds nothing but NaN, so there is nothing to learn from")
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        self.classes_, codes = encode_labels(y)
        categories = OrdinalEncoder().fit(X).categories_
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        self.tree_ = self._grow(encode(X, categories), categories, codes, weight, dtype)
        return self

    def _grow(
        self,
        X: np.ndarray,
        categories: list[np.ndarray],
        codes: np.ndarray,
        weight: np.ndarray,
        dtype: type,
    ) -> CategoricalTree:
        """Grow depth first; each node is a set of rows and of the attributes not asked above it."""
        n_categories = np.array([len(c) for c in categories])
        k, deepest = len(self.classes_), X.shape[1] if self.max_depth is None else self.max_depth
        feature: list[int] = []
        start: list[int] = []
        branches: list[int] = []
        impurity, samples, weights, values = [], [], [], []
        stack: list[tuple[np.ndarray, np.ndarray, int, int]] = [
            (np.arange(len(X)), np.ones(X.shape[1], dtype=bool), 0, -1)
        ]
        while stack:
            rows, free, depth, branch = stack.pop()
            node = len(feature)
            if branch >= 0:
                branches[branch] = node
            sums = np.bincount(codes[rows], weight[rows], minlength=k)
            gains, total = attribute_gains(X, rows, codes, weight, n_categories, free, sums)
            feature.append(-2)
            start.append(len(branches))
            impurity.append(total)
            samples.append(len(rows))
            weights.append(sums.sum())
            values.append(sums / sums.sum())
            best = int(np.argmax(gains >= gains.max() - TIE * (1 + total)))
            if total <= 0 or depth >= deepest or gains[best] < self.min_gain:
                continue
            feature[node] = best
            branches += [-1] * n_categories[best]
            left = free.copy()
            left[best] = False
            for category in np.unique(X[rows, best])[::-1]:
                inside = rows[X[rows, best] == category]
                stack.append((inside, left, depth + 1, start[node] + int(category)))
        return CategoricalTree(
            categories,
            np.array(feature, dtype=np.int32),
            np.array(start, dtype=np.int32),
            np.array(branches, dtype=np.int32),
            np.array(impurity),
            np.array(samples, dtype=np.int32),
            np.array(weights),
            np.array(values, dtype=dtype),
        )

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict the part of each class among the training rows at the same node.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The categories; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        nodes = self.apply(X)
        return self.tree_.value[nodes]

    def apply(self, X: Any) -> np.ndarray:
        """Find the node of each row: a leaf, or where its category has no branch.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The categories; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples,)
            Indices of nodes of ``tree_``.
        """
        self._require_fitted()
        X = validate_data(self, X, reset=False, dtype=None, ensure_all_finite="allow-nan")
        return self.tree_.apply(encode(X, self.tree_.categories))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.classifier_tags.poor_score = True  # on numbers, of which each is a category
        return tags


def encode(X: np.ndarray, categories: list[np.ndarray]) -> np.ndarray:
    """The place of each value among the categories of its attribute, -1 if it is not there."""
    result = np.empty(X.shape, dtype=np.int32)
    for j, known in enumerate(categories):
        # NaN equals nothing, so it gets a key of its own
        places = {MISSING if c != c else c: i for i, c in enumerate(known.tolist())}
        column = X[:, j].tolist()
        if strange := [v for v in column if not isinstance(v, CATEGORY)]:
            raise TypeError(
                f"X holds a {type(strange[0]).__name__} object in column {j}; a category is a "
                "string, a number, a boolean, None or NaN"
            )
        result[:, j] = [places.get(MISSING if v != v else v, -1) for v in column]
    return result


@jit(plain=lambda X, rows, *rest: 2 * len(rows) * X.shape[1])
def attribute_gains(
    X: np.ndarray,
    rows: np.ndarray,
    codes: np.ndarray,
    weight: np.ndarray,
    n_categories: np.ndarray,
    free: np.ndarray,
    sums: np.ndarray,
) -> tuple[np.ndarray, float]:
    """The gain of each attribute in bits, -inf if it is asked above or has one value; entropy.

    From tables of weights by category and class: H(S) - sum_v W_v / W H(S_v).
    """
    k, total = len(sums), total_of(sums)
    table = np.zeros((n_categories.max(), k))
    gains = np.full(len(n_categories), -np.inf)
    impurity = entropy(sums, total)
    for j in range(len(n_categories)):
        first = X[rows[0], j]
        differs = False
        for r in rows:
            if X[r, j] != first:
                differs = True
                break
        if not free[j] or not differs:
            continue
        table[: n_categories[j]] = 0.0
        for r in rows:
            table[X[r, j], codes[r]] += weight[r]
        gains[j] = impurity
        for v in range(n_categories[j]):
            mass = total_of(table[v])
            if mass > 0:
                gains[j] -= mass / total * entropy(table[v], mass)
        gains[j] = max(gains[j], 0.0)
    return gains, impurity


@jit
def total_of(values: np.ndarray) -> float:
    """Sum one after the other, as NumPy does not."""
    result = 0.0
    for value in values:
        result += value
    return result


@jit
def entropy(sums: np.ndarray, total: float) -> float:
    """Minus the sum of p log2 p, zero for one class."""
    result = 0.0
    for s in sums:
        if 0 < s < total:
            result -= s / total * math.log2(s / total)
    return result
