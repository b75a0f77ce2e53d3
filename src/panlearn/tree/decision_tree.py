"""Classification and regression trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np

from panlearn.core.estimator import fitting
from panlearn.core.labels import class_weights, encode_labels
from panlearn.core.parameters import NonNegative, Positive, RandomState
from panlearn.core.random import generator
from panlearn.tree._base import (
    AtLeastTwo,
    MaxFeatures,
    ProbabilisticClassifier,
    Problem,
    RowsPredictor,
    RowsRegressor,
    UpToHalf,
    feature_count,
    grow_tree,
    label_problem,
    number_problem,
    read_training,
)
from panlearn.tree._features import presort


@dataclass(eq=False, repr=False)
class SingleTree(RowsPredictor):
    """An estimator whose ``tree_`` is one tree; abstract."""

    _: KW_ONLY
    max_depth: Positive[int] | None = None
    min_samples_split: AtLeastTwo = 2
    min_samples_leaf: Positive[int] = 1
    min_weight_fraction_leaf: UpToHalf = 0.0
    max_features: MaxFeatures = None
    random_state: RandomState = None
    min_impurity_decrease: NonNegative[float] = 0.0

    @property
    def feature_importances_(self) -> np.ndarray:
        """How much of the decrease of impurity each feature brought; they sum to one."""
        self._require_fitted()
        return self.tree_.importances()

    def get_depth(self) -> int:
        """The most splits between the root and a leaf."""
        self._require_fitted()
        return int(self.tree_.depths.max())

    def get_n_leaves(self) -> int:
        """The number of leaves."""
        self._require_fitted()
        return self.tree_.n_leaves

    def apply(self, X: Any) -> np.ndarray:
        """Find the leaf of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples,)
            Indices of nodes of ``tree_``.
        """
        return self.tree_.apply(self._rows(X))

    def _grow(self, X: np.ndarray, problem: Problem) -> None:
        seed = 0
        if feature_count(self.max_features, X.shape[1]) < X.shape[1]:
            seed = int(generator(self.random_state).integers(2**63))
        self.tree_ = grow_tree(self, presort(X), np.ones(len(X)), problem, X.dtype, seed)


@dataclass(eq=False, repr=False)
class DecisionTreeClassifier(ProbabilisticClassifier, SingleTree):
    r"""A classification tree (CART): each split asks whether one feature exceeds a threshold.

    .. math::
        \max_{j, t} \; I(S) - \frac{W_L}{W} I(\{x \in S : x_j \le t\})
        - \frac{W_R}{W} I(\{x \in S : x_j > t\}), \qquad
        I = 1 - \sum_k p_k^2 \;\text{(Gini)} \;\text{ or }\; -\sum_k p_k \log_2 p_k

    Parameters
    ----------
    max_depth : int, default=None
        The most splits between the root and a leaf; None for no limit.
    min_samples_split : int, default=2
        A node with fewer rows is a leaf.
    min_samples_leaf : int, default=1
        A split leaves at least so many rows on each side.
    min_weight_fraction_leaf : float, default=0.0
        And at least this part of the weight of all rows, 0.5 at most.
    max_features : int, float, {"sqrt", "log2"}, default=None
        Features that each node looks at, drawn at random: a number, a part of them, or a function
        of their number; None for all. More are drawn until one can be split.
    random_state : int, Generator or RandomState, default=None
        Seeds the drawing of features; without it nothing is random.
    min_impurity_decrease : float, default=0.0
        A split that decreases the impurity, weighted by the node's part of all rows, by less is
        not made.
    criterion : {"gini", "entropy"}, default="gini"
        The impurity I that splits decrease.
    class_weight : dict or "balanced", default=None
        Weights of the classes, by label; "balanced" makes them inverse to their frequency.

    Attributes
    ----------
    tree_ : Tree
        The nodes as flat arrays in preorder, under scikit-learn's names.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    feature_importances_ : ndarray of shape (n_features,)
        How much of the decrease of impurity each feature brought; they sum to one.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    Every feature is sorted once; a node walks its rows in the order of each feature, and a split
    divides these orders stably, so a level of the tree costs :math:`O(n d)` after
    :math:`O(d\, n \log n)`. A threshold is the midpoint of two neighbouring values. Of equally
    good splits the first is taken: the lowest feature, then the lowest threshold (with fewer
    features than all, the feature that was drawn first); scikit-learn draws the features in random
    order even then, so its ties depend on the seed. Any two different numbers can be split, also
    below the 1e-7 that scikit-learn takes for equal, and float64 is not rounded to float32.

    A missing value (NaN) goes to the side that decreases the impurity more; if none was missing at
    the node in training, to the side with more rows. A row of weight zero is an absent row.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen and C. Stone (1984). Classification and Regression Trees.
    doi:10.1201/9781315139470

    Examples
    --------
    >>> from panlearn.tree import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> model.get_depth(), model.predict([[0, 1], [1, 1]])
    (2, array([1, 0]))
    """

    _: KW_ONLY
    criterion: Literal["gini", "entropy"] = "gini"
    class_weight: Mapping | Literal["balanced"] | None = None

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree on training data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is a missing value.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        DecisionTreeClassifier
            The model itself.
        """
        X, y, weight = read_training(self, X, y, sample_weight, "labels")
        self.classes_, codes = encode_labels(y)
        count = np.bincount(codes, weight)
        weight = weight * class_weights(self.class_weight, self.classes_, count)[codes]
        problem = label_problem(codes, len(self.classes_), weight, self.criterion)
        self._grow(X, problem)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict the part of each class among the training rows in the same leaf.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        X = self._rows(X)
        return self.tree_.predict(X)


@dataclass(eq=False, repr=False)
class DecisionTreeRegressor(RowsRegressor, SingleTree):
    r"""A regression tree (CART): constant in boxes that splits along the axes cut out.

    .. math::
        \min_{j, t} \; \sum_{x_{ij} \le t} s_i (y_i - \bar y_L)^2
        + \sum_{x_{ij} > t} s_i (y_i - \bar y_R)^2

    Parameters
    ----------
    max_depth : int, default=None
        The most splits between the root and a leaf; None for no limit.
    min_samples_split : int, default=2
        A node with fewer rows is a leaf.
    min_samples_leaf : int, default=1
        A split leaves at least so many rows on each side.
    min_weight_fraction_leaf : float, default=0.0
        And at least this part of the weight of all rows, 0.5 at most.
    max_features : int, float, {"sqrt", "log2"}, default=None
        Features that each node looks at, drawn at random: a number, a part of them, or a function
        of their number; None for all. More are drawn until one can be split.
    random_state : int, Generator or RandomState, default=None
        Seeds the drawing of features; without it nothing is random.
    min_impurity_decrease : float, default=0.0
        A split that decreases the mean squared error, weighted by the node's part of all rows, by
        less is not made.

    Attributes
    ----------
    tree_ : Tree
        The nodes as flat arrays in preorder, under scikit-learn's names.
    feature_importances_ : ndarray of shape (n_features,)
        How much of the decrease of squared error each feature brought; they sum to one.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    Grown as `DecisionTreeClassifier` is, with the same thresholds, ties and missing values. Targets
    are centred and scaled inside, so that an offset of y costs no digits.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen and C. Stone (1984). Classification and Regression Trees.
    doi:10.1201/9781315139470

    Examples
    --------
    >>> from panlearn.tree import DecisionTreeRegressor
    >>> model = DecisionTreeRegressor(max_depth=1).fit([[0], [1], [2], [3]], [1.0, 1.0, 5.0, 7.0])
    >>> model.predict([[0.5], [2.5]]), model.tree_.threshold[0]
    (array([1., 6.]), np.float64(1.5))
    """

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree on training data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is a missing value.
        y : array-like of shape (n_samples,)
            The targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        DecisionTreeRegressor
            The model itself.
        """
        X, y, weight = read_training(self, X, y, sample_weight, "numbers")
        self._grow(X, number_problem(y, weight))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the mean target of the training rows in the same leaf.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        X = self._rows(X)
        return self.tree_.predict(X)[:, 0]
