"""Classification and regression trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

from panlearn.core.estimator import fitting
from panlearn.tree._base import (
    OutputsClassifier,
    OutputsRegressor,
    encode_outputs,
    read_training,
    row_class_weights,
    set_classes,
)
from panlearn.tree._problem import (
    LabelCriterion,
    NumberCriterion,
    label_problem,
    number_problem,
)
from panlearn.tree._single_tree import SingleTree


@dataclass(eq=False, repr=False)
class DecisionTreeClassifier(SingleTree, OutputsClassifier):
    r"""A classification tree (CART): each split asks whether one feature exceeds a threshold.

    .. math::
        \max_{j, t} \; I(S) - \frac{W_L}{W} I(\{x \in S : x_j \le t\})
        - \frac{W_R}{W} I(\{x \in S : x_j > t\}), \qquad
        I = 1 - \sum_k p_k^2 \;\text{(Gini)} \;\text{ or }\; -\sum_k p_k \log_2 p_k

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        The impurity I that splits decrease; "log_loss" is another name of "entropy".
    class_weight : dict, list of dicts or "balanced", default=None
        Weights of the classes, by label, or a list of such for several outputs; "balanced" makes
        them inverse to their frequency. With several outputs they are multiplied.

    Attributes
    ----------
    tree_ : Tree
        The nodes as flat arrays, under scikit-learn's names.
    classes_ : ndarray of shape (n_classes,) or list of such
        The labels, sorted; a list if y has several columns.
    n_classes_ : int or list of int
        How many they are.
    n_outputs_ : int
        Columns of y.
    max_features_ : int
        Features that a node looks at.
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
    the node in training, to the side with more rows. A row of weight zero is an absent row, and ten
    times the weights is the same tree.

    With several columns of y the impurity is the mean over them, and a leaf predicts them all. X
    may be sparse: the tree is that of the dense rows, and while it grows it keeps eight bytes an
    entry, zeros included; if these do not fit there is an error before they are made.

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
    criterion: LabelCriterion = "gini"
    class_weight: Mapping | list | Literal["balanced"] | None = None

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree on training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; NaN is a missing value.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        DecisionTreeClassifier
            The model itself.
        """
        X, y, weight = read_training(self, X, y, sample_weight, "labels")
        classes, codes = encode_outputs(y)
        set_classes(self, classes)
        weight = weight * row_class_weights(self.class_weight, classes, codes, weight)
        sizes = [len(labels) for labels in classes]
        self._grow(X, label_problem(codes, sizes, weight, self.criterion))
        return self


@dataclass(eq=False, repr=False)
class DecisionTreeRegressor(SingleTree, OutputsRegressor):
    r"""A regression tree (CART): constant in boxes that splits along the axes cut out.

    .. math::
        \min_{j, t} \; \sum_{x_{ij} \le t} s_i (y_i - \bar y_L)^2
        + \sum_{x_{ij} > t} s_i (y_i - \bar y_R)^2

    Parameters
    ----------
    criterion : str, default="squared_error"
        What splits decrease: the squared error around the mean, of which "friedman_mse" is another
        name; "absolute_error", around the median, which is then predicted; or "poisson", half the
        deviance around the mean, for targets that are not negative.

    Attributes
    ----------
    tree_ : Tree
        The nodes as flat arrays, under scikit-learn's names.
    n_outputs_ : int
        Columns of y.
    max_features_ : int
        Features that a node looks at.
    feature_importances_ : ndarray of shape (n_features,)
        How much of the decrease of squared error each feature brought; they sum to one.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    Grown as `DecisionTreeClassifier` is, with the same thresholds, ties and missing values. Targets
    are centred and scaled inside, so that an offset of y costs no digits. A level of the tree costs
    :math:`O(n d)` after one sort of the features, :math:`O(d \, n \log n)`.

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

    _: KW_ONLY
    criterion: NumberCriterion = "squared_error"

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree on training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; NaN is a missing value.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        DecisionTreeRegressor
            The model itself.
        """
        X, y, weight = read_training(self, X, y, sample_weight, "numbers")
        y = y.reshape(len(y), -1)
        self.n_outputs_ = y.shape[1]
        self._grow(X, number_problem(y, weight, self.criterion))
        return self
