"""Random forests: trees on bootstrap samples that look at few features in each node."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.metrics import accuracy_score, r2_score

from panlearn.core.estimator import fitting
from panlearn.core.parameters import NonNegative, Positive, RandomState
from panlearn.core.random import generator
from panlearn.tree._base import (
    MaxFeatures,
    ProbabilisticClassifier,
    RowsPredictor,
    RowsRegressor,
    TreeCount,
    encode_labels,
    feature_count,
    label_targets,
    number_targets,
    read_training,
)
from panlearn.tree._binned import bin_features, grow_binned
from panlearn.tree._grow import ENTROPY, GINI, SQUARED_ERROR, Limits, Targets
from panlearn.tree._structure import Tree
from panlearn.tree.decision_tree import AtLeastTwo

Jobs = None | Positive[int] | Literal[-1]


class Forest(RowsPredictor):
    """Trees that are averaged; abstract."""

    trees_: list[Tree]
    n_jobs: Jobs

    @abstractmethod
    def predict(self, X: Any) -> np.ndarray:
        """Predict from the mean of the trees."""

    def _mean(self, X: Any) -> np.ndarray:
        """The mean of the trees' values, (n, n_outputs), summed in their order."""
        X = self._rows(X)
        dtype = self.trees_[0].value.dtype
        total = np.zeros((len(X), self.trees_[0].value.shape[1]))
        for values in _threads(self.n_jobs, lambda tree: tree.predict(X), self.trees_):
            total += values
        return (total / len(self.trees_)).astype(dtype)

    def _grow(
        self, X: np.ndarray, targets: Targets, n_codes: int, criterion: int, scale: Any = (1.0, 0.0)
    ) -> np.ndarray:
        """Grow the trees; return the mean of the values out of bag, NaN where there is none."""
        p: Any = self
        if p.oob_score and not p.bootstrap:
            raise ValueError("oob_score=True needs bootstrap=True: else no row is out of bag")
        n, d = X.shape
        unit, origin = scale
        limits = Limits(
            n if p.max_depth is None else min(p.max_depth, n),
            min(p.min_samples_split, n + 1),
            min(p.min_samples_leaf, n),
            feature_count(p.max_features, d),
            float(p.min_impurity_decrease) / unit / unit,
            0.0,
        )
        codes, thresholds = bin_features(X)
        X = np.ascontiguousarray(X)
        everyone = np.arange(n)

        def grow(seed: int) -> tuple[Tree, np.ndarray, np.ndarray]:
            rng = np.random.default_rng(seed)
            count = np.ones(n)
            if p.bootstrap:
                count = np.bincount(rng.integers(n, size=n), minlength=n).astype(float)
            rows = np.flatnonzero(count).astype(np.int32)
            bag = Targets(targets.code, count * targets.value, count * targets.weight)
            arrays = grow_binned(
                *(codes, thresholds, rows, bag, n_codes, criterion, limits),
                int(rng.integers(2**63)),
            )
            tree = Tree(d, *arrays)
            value = (tree.value * unit + origin).astype(X.dtype)
            tree = replace(tree, value=value, impurity=tree.impurity * unit * unit)
            outside = everyone[count == 0] if p.oob_score else everyone[:0]
            return tree, outside, tree.predict(X[outside])

        seeds = generator(p.random_state).integers(2**63, size=p.n_estimators)
        self.trees_ = []
        total, times = np.zeros((n, n_codes)), np.zeros(n)
        for tree, outside, values in _threads(p.n_jobs, grow, seeds.tolist()):
            self.trees_.append(tree)
            total[outside] += values
            times[outside] += 1
        self.feature_importances_ = np.mean([t.importances() for t in self.trees_], axis=0)
        if self.feature_importances_.sum() > 0:
            self.feature_importances_ /= self.feature_importances_.sum()
        with np.errstate(invalid="ignore"):
            return total / times[:, None]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags


def _threads(n_jobs: Any, function: Callable[[Any], Any], items: list[Any]) -> Any:
    """Results in the order of the items, whatever the number of threads."""
    workers = effective_n_jobs(n_jobs)
    if workers == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(function, items)


@dataclass(eq=False, repr=False)
class RandomForestClassifier(ProbabilisticClassifier, Forest):
    r"""A random forest: trees on bootstrap samples, each node looks at a few random features.

    .. math:: p(y = k \mid x) = \frac{1}{M} \sum_{m=1}^{M} p_m(k \mid x)

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees M, 100,000 at most.
    criterion : {"gini", "entropy"}, default="gini"
        The impurity that splits decrease.
    max_depth : int, default=None
        The most splits between the root and a leaf; None for no limit.
    min_samples_split : int, default=2
        A node with fewer different rows is a leaf.
    min_samples_leaf : int, default=1
        A split leaves at least so many different rows on each side.
    max_features : int, float, {"sqrt", "log2"}, default="sqrt"
        Features that each node looks at: a number, a part of them, or a function of their number;
        None for all. More are drawn until one can be split.
    min_impurity_decrease : float, default=0.0
        A split that decreases the impurity, weighted by the node's part of all rows, by less is
        not made.
    bootstrap : bool, default=True
        Grow each tree on n rows drawn with replacement, or on all.
    oob_score : bool, default=False
        Score the forest on each row by the trees that were grown without it.
    n_jobs : int, default=None
        Threads: None for one, -1 for one a core. The result is the same.
    random_state : int, Generator or RandomState, default=None
        Seeds the samples and the features.

    Attributes
    ----------
    trees_ : list of Tree
        The trees.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    feature_importances_ : ndarray of shape (n_features,)
        How much of the decrease of impurity each feature brought, averaged over the trees.
    oob_score_ : float
        Accuracy out of bag, if asked for.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Probabilities out of bag, if asked for; NaN for a row that every tree was grown on.
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

    n_estimators: TreeCount = 100
    _: KW_ONLY
    criterion: Literal["gini", "entropy"] = "gini"
    max_depth: Positive[int] | None = None
    min_samples_split: AtLeastTwo = 2
    min_samples_leaf: Positive[int] = 1
    max_features: MaxFeatures = "sqrt"
    min_impurity_decrease: NonNegative[float] = 0.0
    bootstrap: bool = True
    oob_score: bool = False
    n_jobs: Jobs = None
    random_state: RandomState = None

    @fitting
    def fit(self, X: Any, y: Any) -> Self:
        """Grow the forest on training data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels.

        Returns
        -------
        RandomForestClassifier
            The model itself.
        """
        X, y, weight = read_training(self, X, y, None, "labels")
        self.classes_, codes = encode_labels(y)
        criterion = {"gini": GINI, "entropy": ENTROPY}[self.criterion]
        outside = self._grow(X, label_targets(codes, weight), len(self.classes_), criterion)
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
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._mean(X)


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
    max_features : int, float, {"sqrt", "log2"}, default=1.0
        Features that each node looks at: a number, a part of them, or a function of their number;
        None for all. More are drawn until one can be split.
    min_impurity_decrease : float, default=0.0
        A split that decreases the mean squared error, weighted by the node's part of all rows, by
        less is not made.
    bootstrap : bool, default=True
        Grow each tree on n rows drawn with replacement, or on all.
    oob_score : bool, default=False
        Score the forest on each row by the trees that were grown without it.
    n_jobs : int, default=None
        Threads: None for one, -1 for one a core. The result is the same.
    random_state : int, Generator or RandomState, default=None
        Seeds the samples and the features.

    Attributes
    ----------
    trees_ : list of Tree
        The trees.
    feature_importances_ : ndarray of shape (n_features,)
        How much of the decrease of squared error each feature brought, averaged over the trees.
    oob_score_ : float
        Coefficient of determination out of bag, if asked for.
    oob_prediction_ : ndarray of shape (n_samples,)
        Predictions out of bag, if asked for; NaN for a row that every tree was grown on.
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

    n_estimators: TreeCount = 100
    _: KW_ONLY
    max_depth: Positive[int] | None = None
    min_samples_split: AtLeastTwo = 2
    min_samples_leaf: Positive[int] = 1
    max_features: MaxFeatures = 1.0
    min_impurity_decrease: NonNegative[float] = 0.0
    bootstrap: bool = True
    oob_score: bool = False
    n_jobs: Jobs = None
    random_state: RandomState = None

    @fitting
    def fit(self, X: Any, y: Any) -> Self:
        """Grow the forest on training data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The targets.

        Returns
        -------
        RandomForestRegressor
            The model itself.
        """
        X, y, weight = read_training(self, X, y, None, "numbers")
        targets, origin, unit = number_targets(y, weight)
        outside = self._grow(X, targets, 1, SQUARED_ERROR, (unit, origin))[:, 0]
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
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._mean(X)[:, 0]
