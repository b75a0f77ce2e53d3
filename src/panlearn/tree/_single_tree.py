"""What trees of labels and of numbers share."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import Bunch

from panlearn.core.capabilities import Capabilities
from panlearn.core.documentation import inherit_documentation
from panlearn.core.parameters import RandomState
from panlearn.core.random import generator
from panlearn.tree._base import RowsPredictor
from panlearn.tree._features import presort
from panlearn.tree._problem import (
    GrowthParameters,
    Problem,
    feature_count,
    grow_tree,
    monotone_signs,
)
from panlearn.tree._pruning import weakest_links


@dataclass(eq=False, repr=False)
class SingleTree(GrowthParameters, RowsPredictor):
    """An estimator whose ``tree_`` is one tree; abstract.

    Parameters
    ----------
    max_depth : int, default=None
        The most splits between the root and a leaf; None for no limit.
    min_samples_split : int or float, default=2
        A node with fewer rows is a leaf; a float is a part of all rows, rounded up.
    min_samples_leaf : int or float, default=1
        A split leaves at least so many rows on each side; a float is a part of all rows, rounded
        up.
    min_weight_fraction_leaf : float, default=0.0
        And at least this part of the weight of all rows, 0.5 at most.
    max_features : int, float, {"sqrt", "log2"}, default=None
        Features that each node looks at, drawn at random: a number, a part of them, or a function
        of their number; None for all. More are drawn until one can be split.
    max_leaf_nodes : int, default=None
        The most leaves: the nodes whose splits decrease the impurity most are split first.
    min_impurity_decrease : float, default=0.0
        A split that decreases the impurity, weighted by the node's part of all rows, by less is
        not made.
    ccp_alpha : float, default=0.0
        The price of a leaf: of the subtrees of the full tree, the smallest that minimises the
        impurity of its leaves plus this for each of them is kept.
    monotonic_cst : array-like of shape (n_features,), default=None
        1 for a feature in which the prediction (of ``classes_[1]``) may not fall, -1 if it may not
        rise, 0 for any. For one output, and two classes at most.
    random_state : int, Generator or RandomState, default=None
        Seeds the drawing of features; without it nothing is random.
    """

    capabilities = Capabilities(missing=True, sparse=True)

    _: KW_ONLY
    random_state: RandomState = None

    def __init_subclass__(cls, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        inherit_documentation(cls, SingleTree)

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
        X = self._rows(X)
        return self.tree_.apply(X)

    def decision_path(self, X: Any) -> sparse.csr_array:
        """Find the nodes that each row passes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        sparse array of shape (n_samples, node_count)
            One where the row passes the node, the root and its leaf included.
        """
        leaves = self.apply(X)
        return self.tree_.paths(leaves)

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Find the values of ccp_alpha at which the full tree loses a subtree.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; NaN is a missing value.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The labels or targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        Bunch
            ``ccp_alphas``, rising, and ``impurities``, those of the leaves that are left.
        """
        full = clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight)
        path = weakest_links(full.tree_)
        return Bunch(ccp_alphas=np.array(path.alphas), impurities=np.array(path.impurities))

    def _values(self, X: Any) -> np.ndarray:
        return self.tree_.predict(self._rows(X), n_jobs=-1)

    def _distinct_values(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        return self.tree_.value, self.apply(X)

    def _grow(self, X: Any, problem: Problem) -> None:
        d, seed = X.shape[1], 0
        self.max_features_ = feature_count(self.max_features, d)
        if self.max_features_ < d:
            seed = int(generator(self.random_state).integers(2**63))
        features = presort(X, monotone_signs(self, d, problem))
        self.tree_ = grow_tree(self, features, np.ones(X.shape[0]), problem, X.dtype, seed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
