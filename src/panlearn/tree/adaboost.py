"""Boosting of small trees by reweighting of the rows."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.special import softmax

from panlearn.core.estimator import fitting
from panlearn.core.parameters import Positive
from panlearn.tree._base import (
    ProbabilisticClassifier,
    TreeCount,
    encode_labels,
    label_targets,
    presort,
    read_training,
)
from panlearn.tree._grow import GINI, Limits, grow
from panlearn.tree._structure import Tree


@dataclass(eq=False, repr=False)
class AdaBoostClassifier(ProbabilisticClassifier):
    r"""AdaBoost for any number of classes (SAMME): each tree attends to the mistakes before it.

    .. math::
        F(x) = \sum_m \alpha_m\, e_{h_m(x)}, \qquad
        \alpha_m = \eta \Bigl( \log \frac{1 - \epsilon_m}{\epsilon_m} + \log (K - 1) \Bigr), \qquad
        w_i \leftarrow w_i\, e^{\alpha_m [h_m(x_i) \ne y_i]}

    Parameters
    ----------
    n_estimators : int, default=50
        The most trees, 100,000 at most.
    learning_rate : float, default=1.0
        The factor :math:`\eta` of each tree's weight.
    max_depth : int, default=1
        Depth of the trees; 1 for stumps, one question each.

    Attributes
    ----------
    trees_ : list of Tree
        The trees, in order.
    estimator_weights_ : ndarray of shape (n_trees,)
        Their weights :math:`\alpha`.
    estimator_errors_ : ndarray of shape (n_trees,)
        Their errors :math:`\epsilon` under the weights that they were grown with.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    feature_importances_ : ndarray of shape (n_features,)
        Those of the trees, averaged with their weights.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    The features are sorted once for all trees, so a stump costs one walk over the sorted rows,
    :math:`O(n d)`. With two classes and learning rate 1, a tree's error under the weights that it
    leaves to the next is exactly one half. Boosting stops early at a tree without error, which then
    decides alone with what came before, and before a tree that is no better than chance; if
    the first is, it is kept alone.

    References
    ----------
    Y. Freund and R. E. Schapire (1997). A decision-theoretic generalization of on-line learning and
    an application to boosting. Journal of Computer and System Sciences 55(1).
    doi:10.1006/jcss.1997.1504

    J. Zhu, H. Zou, S. Rosset and T. Hastie (2009). Multi-class AdaBoost. Statistics and Its
    Interface 2(3). doi:10.4310/SII.2009.v2.n3.a8

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from panlearn.tree import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=20).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.92
    True
    """

    n_estimators: TreeCount = 50
    _: KW_ONLY
    learning_rate: Positive[float] = 1.0
    max_depth: Positive[int] = 1

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Boost on training data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is a missing value.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights that the boosting starts from.

        Returns
        -------
        AdaBoostClassifier
            The model itself.
        """
        X, y, weight = read_training(self, X, y, sample_weight, "labels")
        X = np.ascontiguousarray(X)
        self.classes_, codes = encode_labels(y)
        k, (n, d) = len(self.classes_), X.shape
        limits = Limits(min(self.max_depth, n), 2, 1, d, 0.0, 0.0)
        columns, order = presort(X)
        trees: list[Tree] = []
        alphas, errors = [], []
        weight = weight / weight.sum()
        for _ in range(self.n_estimators):
            # only the root of a stump walks the orders, so they stay as they are
            sorted_rows = order if limits.max_depth == 1 else order.copy()
            targets = label_targets(codes, weight)
            tree = Tree(d, *grow(columns, sorted_rows, targets, k, GINI, limits, 0))
            wrong = tree.value.argmax(axis=1)[tree.apply(X)] != codes
            error = float(weight[wrong].sum())
            if error >= 1 - 1 / k and trees:
                break
            alpha = 1.0
            if 0 < error < 1 - 1 / k:
                alpha = float(
                    self.learning_rate * (np.log1p(-error) - np.log(error) + np.log(k - 1))
                )
            trees.append(replace(tree, value=tree.value.astype(X.dtype)))
            alphas.append(alpha)
            errors.append(error)
            if not 0 < error < 1 - 1 / k:
                break
            # relative to the heaviest, so that a large alpha does not overflow
            weight = weight * np.where(wrong, 1.0, np.exp(-alpha))
            weight = np.maximum(weight / weight.sum(), np.finfo(float).tiny)
        self.trees_ = trees
        self.estimator_weights_, self.estimator_errors_ = np.array(alphas), np.array(errors)
        importances = np.average([t.importances() for t in trees], axis=0, weights=alphas)
        self.feature_importances_ = importances
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Score each row by the weighted votes of the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            At most 1; with two classes their difference, and a positive score stands for
            ``classes_[1]``.
        """
        X = self._rows(X)
        k, at = len(self.classes_), np.arange(len(X))
        votes = np.full((len(X), k), -1.0 / (k - 1)) * self.estimator_weights_.sum()
        for tree, alpha in zip(self.trees_, self.estimator_weights_, strict=True):
            votes[at, tree.value.argmax(axis=1)[tree.apply(X)]] += alpha * k / (k - 1)
        votes /= self.estimator_weights_.sum()
        votes = votes.astype(self.trees_[0].value.dtype)
        return votes[:, 1] - votes[:, 0] if k == 2 else votes

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict the probability of each class: the softmax of its score.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return softmax(np.column_stack([-scores, scores]) / 2, axis=1)
        return softmax(scores / (len(self.classes_) - 1), axis=1)
