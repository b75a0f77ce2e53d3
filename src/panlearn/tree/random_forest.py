"""Random forests: trees on bootstrap samples that look at few features in each node."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.metrics import accuracy_score, r2_score

from panlearn.core.estimator import fitting
from panlearn.core.labels import class_weights, encode_labels
from panlearn.core.parameters import Jobs, NonNegative, Positive, RandomState
from panlearn.core.random import generator
from panlearn.core.threads import threads
from panlearn.tree._base import (
    AtLeastTwo,
    MaxFeatures,
    MemberCount,
    ProbabilisticClassifier,
    Problem,
    RowsPredictor,
    RowsRegressor,
    UpToHalf,
    grow_tree,
    label_problem,
    number_problem,
    read_training,
)
from panlearn.tree._features import bin_features
from panlearn.tree._sampling import Part, row_sampler, sample_size
from panlearn.tree._structure import Tree
from panlearn.tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor


@dataclass(eq=False, repr=False)
class Forest(RowsPredictor):
    """Trees that are averaged; abstract."""

    n_estimators: MemberCount = 100
    _: KW_ONLY
    max_depth: Positive[int] | None = None
    min_samples_split: AtLeastTwo = 2
    min_samples_leaf: Positive[int] = 1
    min_weight_fraction_leaf: UpToHalf = 0.0
    max_features: MaxFeatures = None
    min_impurity_decrease: NonNegative[float] = 0.0
    bootstrap: bool = True
    max_samples: Positive[int] | Part | None = None
    oob_score: bool = False
    n_jobs: Jobs = None
    random_state: RandomState = None

    @abstractmethod
    def _tree(self) -> Any:
        """A tree with the parameters of the forest, to hold one that was grown."""

    def _mean(self, X: Any) -> np.ndarray:
        """The mean of the trees' values, (n, n_outputs), summed in their order."""
        X = self._rows(X)
        trees = [model.tree_ for model in self.estimators_]
        total = np.zeros((len(X), trees[0].value.shape[1]))
        with threads(self.n_jobs) as run:
            for values in run(lambda tree: tree.predict(X), trees):
                total += values
        return (total / len(trees)).astype(trees[0].value.dtype)

    def _grow(self, X: np.ndarray, problem: Problem, weight: np.ndarray) -> np.ndarray:
        """Grow the trees; return the mean of the values out of bag, NaN where there is none."""
        if not self.bootstrap and (self.oob_score or self.max_samples is not None):
            name = "oob_score" if self.oob_score else "max_samples"
            raise ValueError(f"{name} needs bootstrap=True: else every tree has all rows")
        n, d = X.shape
        features = bin_features(X, weight, self.n_jobs)
        X = np.ascontiguousarray(X)
        draw, size = row_sampler(weight), sample_size(self.max_samples, weight)

        def grow(seed: int) -> tuple[Tree, np.ndarray, np.ndarray]:
            rng = np.random.default_rng(seed)
            count = weight
            if self.bootstrap:
                count = np.bincount(draw(rng, size), minlength=n).astype(np.float64)
            tree = grow_tree(self, features, count, problem, X.dtype, int(rng.integers(2**63)))
            outside = np.flatnonzero(count == 0) if self.oob_score else np.arange(0)
            return tree, outside, tree.predict(X[outside])

        seeds = generator(self.random_state).integers(2**63, size=self.n_estimators)
        self.estimators_: list[Any] = []
        total, times = np.zeros((n, problem.n_codes)), np.zeros(n)
        with threads(self.n_jobs) as run:
            for tree, outside, values in run(grow, seeds.tolist()):
                model = self._tree()
                model.tree_, model.n_features_in_ = tree, d
                self.estimators_.append(model)
                total[outside] += values
                times[outside] += 1
        importances = np.mean([m.feature_importances_ for m in self.estimators_], axis=0)
        self.feature_importances_ = importances / (importances.sum() or 1.0)
        with np.errstate(invalid="ignore"):
            return total / times[:, None]

    def _tree_parameters(self) -> dict[str, Any]:
        names = "max_depth min_samples_split min_samples_leaf min_weight_fraction_leaf max_features"
        return {name: getattr(self, name) for name in [*names.split(), "min_impurity_decrease"]}


@dataclass(eq=False, repr=False)
class RandomForestClassifier(ProbabilisticClassifier, Forest):
    r"""A random forest: trees on bootstrap samples, each node looks at a few random features.

    .. math:: p(y = k \mid x) = \frac{1}{M} \sum_{m=1}^{M} p_m(k \mid x)

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees M, 100,000 at most.
    max_depth : int, default=None
        The most splits between the root and a leaf; None for no limit.
    min_samples_split : int, default=2
        A node with fewer different rows is a leaf.
    min_samples_leaf : int, default=1
        A split leaves at least so many different rows on each side.
    min_weight_fraction_leaf : float, default=0.0
        And at least this part of the weight of the tree's rows, 0.5 at most.
    max_features : int, float, {"sqrt", "log2"}, default="sqrt"
        Features that each node looks at: a number, a part of them, or a function of their number;
        None for all. More are drawn until one can be split.
    min_impurity_decrease : float, default=0.0
        A split that decreases the impurity, weighted by the node's part of all rows, by less is
        not made.
    bootstrap : bool, default=True
        Grow each tree on n rows drawn with replacement, or on all.
    max_samples : int or float, default=None
        Rows that are drawn for each tree, or their part of all; None for as many as there are.
    oob_score : bool, default=False
        Score the forest on each row by the trees that were grown without it.
    n_jobs : int, default=None
        Threads: None for one, -1 for one a core. The result is the same.
    random_state : int, Generator or RandomState, default=None
        Seeds the samples and the features.
    criterion : {"gini", "entropy"}, default="gini"
        The impurity that splits decrease.
    class_weight : dict or "balanced", default=None
        Weights of the classes, by label; "balanced" makes them inverse to their frequency.

    Attributes
    ----------
    estimators_ : list of DecisionTreeClassifier
        The trees.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    feature_importances_ : ndarray of shape (n_features,)
        How much of the decrease of impurity each feature brought, averaged over the trees.
    oob_score_ : float
        Accuracy out of bag, if asked for.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Probabilities out of bag, if asked for; NaN for a row that every tree was grown on. Rows of
        weight zero are left out.
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

    Rows are drawn with chances in proportion to their weights. Weights that are whole numbers stand
    for repeated rows: as many rows are drawn as there are with the repetitions. A missing value
    (NaN) has a bin of its own, which goes to the side that decreases the impurity more; if none was
    missing at the node in training, to the side with more rows.

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
    criterion: Literal["gini", "entropy"] = "gini"
    class_weight: Mapping | Literal["balanced"] | None = None

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the forest on training data.

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
        RandomForestClassifier
            The model itself.
        """
        X, y, weight = read_training(self, X, y, sample_weight, "labels")
        self.classes_, codes = encode_labels(y)
        count = np.bincount(codes, weight)
        value = class_weights(self.class_weight, self.classes_, count)[codes]
        problem = label_problem(codes, len(self.classes_), value, self.criterion)
        outside = self._grow(X, problem, weight)
        if self.oob_score:
            seen = ~np.isnan(outside[:, 0])
            self.oob_decision_function_ = outside
            self.oob_score_ = float(accuracy_score(codes[seen], outside[seen].argmax(axis=1)))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict the probability of each class: the mean over the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._mean(X)

    def _tree(self) -> DecisionTreeClassifier:
        model = DecisionTreeClassifier(criterion=self.criterion, **self._tree_parameters())
        model.classes_ = self.classes_
        return model


@dataclass(eq=False, repr=False)
class RandomForestRegressor(RowsRegressor, Forest):
    r"""A random forest of regression trees on bootstrap samples.

    .. math:: \hat y(x) = \frac{1}{M} \sum_{m=1}^{M} \hat y_m(x)

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees M, 100,000 at most.
    max_depth : int, default=None
        The most splits between the root and a leaf; None for no limit.
    min_samples_split : int, default=2
        A node with fewer different rows is a leaf.
    min_samples_leaf : int, default=1
        A split leaves at least so many different rows on each side.
    min_weight_fraction_leaf : float, default=0.0
        And at least this part of the weight of the tree's rows, 0.5 at most.
    max_features : int, float, {"sqrt", "log2"}, default=1.0
        Features that each node looks at: a number, a part of them, or a function of their number;
        None for all. More are drawn until one can be split.
    min_impurity_decrease : float, default=0.0
        A split that decreases the mean squared error, weighted by the node's part of all rows, by
        less is not made.
    bootstrap : bool, default=True
        Grow each tree on n rows drawn with replacement, or on all.
    max_samples : int or float, default=None
        Rows that are drawn for each tree, or their part of all; None for as many as there are.
    oob_score : bool, default=False
        Score the forest on each row by the trees that were grown without it.
    n_jobs : int, default=None
        Threads: None for one, -1 for one a core. The result is the same.
    random_state : int, Generator or RandomState, default=None
        Seeds the samples and the features.

    Attributes
    ----------
    estimators_ : list of DecisionTreeRegressor
        The trees.
    feature_importances_ : ndarray of shape (n_features,)
        How much of the decrease of squared error each feature brought, averaged over the trees.
    oob_score_ : float
        Coefficient of determination out of bag, if asked for.
    oob_prediction_ : ndarray of shape (n_samples,)
        Predictions out of bag, if asked for; NaN for a row that every tree was grown on. Rows of
        weight zero are left out.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    Grown as `RandomForestClassifier` is, on binned features.

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

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the forest on training data.

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
        RandomForestRegressor
            The model itself.
        """
        X, y, weight = read_training(self, X, y, sample_weight, "numbers")
        outside = self._grow(X, number_problem(y, np.ones(len(y))), weight)[:, 0]
        if self.oob_score:
            seen = ~np.isnan(outside)
            self.oob_prediction_ = outside
            self.oob_score_ = float(r2_score(y[seen], outside[seen]))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the mean of the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._mean(X)[:, 0]

    def _tree(self) -> DecisionTreeRegressor:
        return DecisionTreeRegressor(**self._tree_parameters())
