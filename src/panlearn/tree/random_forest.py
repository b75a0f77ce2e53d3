"""Random forests: trees on bootstrap samples that look at few features in each node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.metrics import r2_score

from panlearn.core.estimator import fitting
from panlearn.tree._base import (
    OutputsClassifier,
    OutputsRegressor,
    encode_outputs,
    read_training,
    row_class_weights,
    set_classes,
    split_outputs,
)
from panlearn.tree._forest import Forest
from panlearn.tree._problem import (
    LabelCriterion,
    MaxFeatures,
    NumberCriterion,
    Problem,
    label_problem,
    number_problem,
)
from panlearn.tree._sampling import scored
from panlearn.tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor


@dataclass(eq=False, repr=False)
class RandomForestClassifier(Forest, OutputsClassifier):
    r"""A random forest: trees on bootstrap samples, each node looks at a few random features.

    .. math:: p(y = k \mid x) = \frac{1}{M} \sum_{m=1}^{M} p_m(k \mid x)

    Parameters
    ----------
    oob_score : bool or callable, default=False
        Score the forest on each row by the trees that were grown without it: by the accuracy, or
        by a function of the targets and the predictions.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        The impurity that splits decrease; "log_loss" is another name of "entropy".
    class_weight : dict, list of dicts, "balanced" or "balanced_subsample", default=None
        Weights of the classes, by label, or a list of such for several outputs; "balanced" makes
        them inverse to their frequency, "balanced_subsample" to that among the rows of each tree.

    Attributes
    ----------
    estimators_ : list of DecisionTreeClassifier
        The trees.
    classes_ : ndarray of shape (n_classes,) or list of such
        The labels, sorted; a list if y has several columns.
    n_classes_ : int or list of int
        How many they are.
    n_outputs_ : int
        Columns of y.
    feature_importances_ : ndarray of shape (n_features,)
        How much of the decrease of impurity each feature brought, averaged over the trees.
    oob_score_ : float
        Score out of bag, if asked for: of several outputs, the part of rows that are right in all.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes) or list of such
        Probabilities out of bag, if asked for; NaN, with a warning, for a row that every tree was
        grown on. Rows of weight zero are left out.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    Values are put into at most 255 bins a feature, once for all trees: one a distinct value where
    these are few, which makes the search exact, else of about equally many rows. A large node
    counts the classes in each bin, a small one sorts its rows. Each tree has a seed of its own and
    the trees are summed in their order, so that any number of threads gives the same bits.

    Rows are drawn with chances in proportion to their weights, which are relative: as many rows are
    drawn as there are with a weight above zero, however large the weights, so that ten times the
    weights is the same forest, and takes as long. A row of weight two is two copies of it in every
    respect but this number: exactly so, for the same seed, if ``max_samples`` is a whole number or
    without ``bootstrap``. scikit-learn draws as many; but it counts rows of weight zero, and its
    ``max_samples`` as a part is of the summed weights.

    X may be sparse; what a forest keeps of it while it grows is one byte an entry, zeros included.
    A missing value (NaN) has a bin of its own, which goes to the side that decreases the impurity
    more; if none was missing at the node in training, to the side with more rows. The bins cost
    :math:`O(d \, n \log n)` once, a level of a tree about :math:`O(m n)` for m features that a node
    looks at.

    References
    ----------
    L. Breiman (2001). Random forests. Machine Learning 45. doi:10.1023/A:1010933404324

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from panlearn.tree import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(30, oob_score=True, random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.9
    True
    """

    _: KW_ONLY
    max_features: MaxFeatures = "sqrt"
    criterion: LabelCriterion = "gini"
    class_weight: Mapping | list | Literal["balanced", "balanced_subsample"] | None = None

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the forest on training data.

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
        RandomForestClassifier
            The model itself.
        """
        X, y, weight = read_training(self, X, y, sample_weight, "labels")
        classes, codes = encode_outputs(y)
        set_classes(self, classes)
        sizes = [len(labels) for labels in classes]
        subsample = self.class_weight == "balanced_subsample"
        given = "balanced" if subsample else self.class_weight
        class_weight = row_class_weights(given, classes, codes, weight)

        def of_bag(problem: Problem, count: np.ndarray) -> Problem:
            if not subsample:
                return problem
            return replace(problem, weight=row_class_weights(given, classes, codes, count))

        problem = label_problem(codes, sizes, class_weight, self.criterion)
        self._grow(X, problem, weight, of_bag)
        if self.oob_score:
            outside = self._out_of_bag(X, weight)
            seen = ~np.isnan(outside[:, 0])
            self.oob_decision_function_ = split_outputs(self, outside)
            parts = np.split(outside[seen], np.cumsum(sizes)[:-1], axis=1)
            best = [c[p.argmax(axis=1)] for c, p in zip(classes, parts, strict=True)]
            predicted = np.stack(best, axis=1).reshape(y[seen].shape)
            score = self.oob_score if callable(self.oob_score) else part_right
            self.oob_score_ = scored(score, y[seen], predicted)
        return self

    def _tree(self) -> DecisionTreeClassifier:
        model = DecisionTreeClassifier(criterion=self.criterion, **self._tree_parameters())
        model.classes_, model.n_classes_ = self.classes_, self.n_classes_
        model.n_outputs_ = self.n_outputs_
        return model


@dataclass(eq=False, repr=False)
class RandomForestRegressor(Forest, OutputsRegressor):
    r"""A random forest of regression trees on bootstrap samples.

    .. math:: \hat y(x) = \frac{1}{M} \sum_{m=1}^{M} \hat y_m(x)

    Parameters
    ----------
    oob_score : bool or callable, default=False
        Score the forest on each row by the trees that were grown without it: by the coefficient of
        determination, or by a function of the targets and the predictions.
    criterion : str, default="squared_error"
        What splits decrease, as in `DecisionTreeRegressor`.

    Attributes
    ----------
    estimators_ : list of DecisionTreeRegressor
        The trees.
    n_outputs_ : int
        Columns of y.
    feature_importances_ : ndarray of shape (n_features,)
        How much of the decrease of squared error each feature brought, averaged over the trees.
    oob_score_ : float
        Score out of bag, if asked for.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Predictions out of bag, if asked for; NaN, with a warning, for a row that every tree was
        grown on. Rows of weight zero are left out.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    Grown as `RandomForestClassifier` is, on binned features. A level of a tree costs about
    :math:`O(m n)` for m features that a node looks at.

    References
    ----------
    L. Breiman (2001). Random forests. Machine Learning 45. doi:10.1023/A:1010933404324

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from panlearn.tree import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RandomForestRegressor(30, oob_score=True, random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.3
    True
    """

    _: KW_ONLY
    max_features: MaxFeatures = 1.0
    criterion: NumberCriterion = "squared_error"

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the forest on training data.

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
        RandomForestRegressor
            The model itself.
        """
        X, y, weight = read_training(self, X, y, sample_weight, "numbers")
        columns = y.reshape(len(y), -1)
        self.n_outputs_ = columns.shape[1]
        problem = number_problem(columns, np.ones(len(y)), self.criterion)
        self._grow(X, problem, weight, lambda problem, count: problem)
        if self.oob_score:
            outside = self._out_of_bag(X, weight).reshape(y.shape)
            seen = ~np.isnan(outside.reshape(len(y), -1)[:, 0])
            self.oob_prediction_ = outside
            score = self.oob_score if callable(self.oob_score) else r2_score
            self.oob_score_ = scored(score, y[seen], outside[seen])
        return self

    def _tree(self) -> DecisionTreeRegressor:
        model = DecisionTreeRegressor(criterion=self.criterion, **self._tree_parameters())
        model.n_outputs_ = self.n_outputs_
        return model


def part_right(y: np.ndarray, predicted: np.ndarray) -> float:
    """The part of rows that are predicted in all outputs."""
    return (y == predicted).reshape(len(y), -1).all(axis=1).mean()
