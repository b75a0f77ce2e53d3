"""What forests of labels and of numbers share: bags, growth, and the mean of the trees."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from panlearn.core.capabilities import Capabilities
from panlearn.core.derived import derived
from panlearn.core.documentation import inherit_documentation
from panlearn.core.learned import shapes
from panlearn.core.parameters import Jobs, Positive, RandomState
from panlearn.core.random import generator
from panlearn.core.threads import threads
from panlearn.core.warning import warn
from panlearn.tree._base import MemberCount, RowsPredictor
from panlearn.tree._features import bin_features, dense_blocks
from panlearn.tree._problem import (
    GrowthParameters,
    Problem,
    expect_trees,
    grow_tree,
    monotone_signs,
)
from panlearn.tree._sampling import Part, out_of_bag_mean, row_sampler, sample_size
from panlearn.tree._structure import Tree
from panlearn.tree._walk import Walk, lay_out

Bag = Callable[[np.random.Generator], np.ndarray]
"""How often each row counts in a tree."""


@dataclass(eq=False, repr=False)
class Grove:
    """So many trees; abstract, and apart, for this is the first parameter of a forest."""

    n_estimators: MemberCount = 100


@dataclass(eq=False, repr=False)
class Forest(GrowthParameters, Grove, RowsPredictor):
    """Trees that are averaged; abstract.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees M, 100,000 at most.
    max_depth : int, default=None
        The most splits between the root and a leaf; None for no limit.
    min_samples_split : int or float, default=2
        A node with fewer different rows is a leaf; a float is a part of all rows, rounded up.
    min_samples_leaf : int or float, default=1
        A split leaves at least so many different rows on each side; a float is a part of all rows,
        rounded up.
    min_weight_fraction_leaf : float, default=0.0
        And at least this part of the weight of the tree's rows, 0.5 at most.
    max_features : int, float, {"sqrt", "log2"}, default="sqrt"
        Features that each node looks at: a number, a part of them, or a function of their number;
        None for all. More are drawn until one can be split.
    max_leaf_nodes : int, default=None
        The most leaves of a tree: the nodes whose splits decrease the impurity most are split
        first.
    min_impurity_decrease : float, default=0.0
        A split that decreases the impurity, weighted by the node's part of all rows, by less is
        not made.
    ccp_alpha : float, default=0.0
        The price of a leaf, by which each tree is pruned, as in `DecisionTreeClassifier`.
    monotonic_cst : array-like of shape (n_features,), default=None
        1 for a feature in which the prediction (of ``classes_[1]``) may not fall, -1 if it may not
        rise, 0 for any. For one output, and two classes at most.
    bootstrap : bool, default=True
        Grow each tree on n rows drawn with replacement, or on all.
    max_samples : int or float, default=None
        Rows that are drawn for each tree, or their part of all; None for as many as there are.
    n_jobs : int, default=None
        Threads: None for one, -1 for one a core. The result is the same.
    random_state : int, Generator or RandomState, default=None
        Seeds the samples and the features.
    warm_start : bool, default=False
        Keep the trees of the last fit, and grow those that n_estimators has more. With the same
        integer random_state they are the trees that one fit would have grown.
    """

    learned = shapes(
        feature_importances_="(n_features,)",
        oob_decision_function_="(n_samples, n_classes) or n_outputs of (n_samples, *)",
        oob_prediction_="(n_samples,) or (n_samples, n_outputs)",
    )

    capabilities = Capabilities(missing=True, sparse=True)

    _: KW_ONLY
    bootstrap: bool = True
    max_samples: Positive[int] | Part | None = None
    oob_score: bool | Callable = False
    n_jobs: Jobs = None
    random_state: RandomState = None
    warm_start: bool = False

    def __init_subclass__(cls, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        inherit_documentation(cls, Forest)

    @abstractmethod
    def _tree(self) -> Any:
        """A tree with the parameters of the forest, to hold one that was grown."""

    def apply(self, X: Any) -> np.ndarray:
        """Find the leaf of each row in each tree.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_estimators)
            Indices of nodes of the trees.
        """
        X = self._rows(X)
        leaves = np.empty((X.shape[0], len(self.estimators_)), dtype=np.int64)
        for part, rows in dense_blocks(X):
            self._walk.find_leaves(rows, leaves[part])
        return leaves

    def decision_path(self, X: Any) -> tuple[sparse.csr_array, np.ndarray]:
        """Find the nodes that each row passes in each tree.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        indicator : sparse array of shape (n_samples, n_nodes)
            One where the row passes the node; the nodes of all trees, side by side.
        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            Where the nodes of each tree begin.
        """
        leaves = self.apply(X).T
        trees = [model.tree_ for model in self.estimators_]
        paths = [tree.paths(at) for tree, at in zip(trees, leaves, strict=True)]
        ends = np.cumsum([0, *(tree.node_count for tree in trees)])
        return sparse.hstack(paths, format="csr"), ends

    def _values(self, X: Any) -> np.ndarray:
        """The mean of the trees' values, (n, n_components), summed in their order."""
        X, walk = self._rows(X), self._walk
        total = walk.sum_values(X, self.n_jobs)
        total /= len(self.estimators_)
        return total.astype(walk.value.dtype, copy=False)

    def _distinct_values(self, X: Any) -> tuple[np.ndarray, slice]:
        return self._values(X), slice(None)  # leaves meet in as many ways as there are rows

    @property
    def _trees(self) -> tuple[Tree, ...]:
        return tuple(model.tree_ for model in self.estimators_)

    @derived("_trees")
    def _walk(self) -> Walk:
        return lay_out(self._trees)

    def _bag(self, weight: np.ndarray) -> Bag:
        """What draws the rows of a tree."""
        if not self.bootstrap:
            if self.oob_score or self.max_samples is not None:
                name = "oob_score" if self.oob_score else "max_samples"
                raise ValueError(f"{name} needs bootstrap=True: else every tree has all rows")
            return lambda rng: weight
        n, draw, size = len(weight), row_sampler(weight), sample_size(self.max_samples, len(weight))
        return lambda rng: np.bincount(draw(rng, size), minlength=n).astype(np.float64)

    def _grow(
        self,
        X: Any,
        problem: Problem,
        weight: np.ndarray,
        problem_of: Callable[[Problem, np.ndarray], Problem],
    ) -> None:
        """Grow the trees that are not there yet; `problem_of` is what one learns on its bag."""
        d, bag = X.shape[1], self._bag(weight)
        old = list(getattr(self, "estimators_", []))
        if old and old[0].tree_.n_features != d:
            raise ValueError(f"warm_start: X has {d} features and the trees have others")
        if old and old[0].tree_.value.shape[1] != problem.n_components:
            raise ValueError("warm_start: y has other classes or outputs than the trees")
        if len(old) > self.n_estimators:
            raise ValueError(
                f"warm_start: n_estimators={self.n_estimators} is less than the {len(old)} trees"
            )
        if old and len(old) == self.n_estimators:
            warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
                UserWarning,
            )
        features = bin_features(
            X, weight / weight.max(), self.n_jobs, monotone_signs(self, d, problem)
        )

        def grow(seed: int) -> Tree:
            rng = np.random.default_rng(seed)
            count = bag(rng)
            own = problem_of(problem, count)
            return grow_tree(self, features, count, own, X.dtype, int(rng.integers(2**63)))

        # the same seeds whether or not some trees are there
        seeds = generator(self.random_state).integers(2**63, size=self.n_estimators)[len(old) :]
        expect_trees(self, len(seeds), problem, d)
        with threads(self.n_jobs) as run:
            for seed, tree in zip(seeds.tolist(), run(grow, seeds.tolist()), strict=True):
                model = self._tree().set_params(random_state=seed)
                model.tree_, model.n_features_in_ = tree, d
                old.append(model)
        self.estimators_ = old
        importances = np.mean([m.feature_importances_ for m in self.estimators_], axis=0)
        self.feature_importances_ = importances / (importances.sum() or 1.0)

    def _out_of_bag(self, X: Any, weight: np.ndarray) -> np.ndarray:
        """The mean value of the trees that were grown without a row, NaN where there is none."""
        bag, n = self._bag(weight), X.shape[0]
        X = X if sparse.issparse(X) else np.ascontiguousarray(X)
        total, times = np.zeros((n, self.estimators_[0].tree_.value.shape[1])), np.zeros(n)
        with threads(self.n_jobs) as run:
            for outside, values in run(partial(_outside, X, bag), self.estimators_):
                total[outside] += values
                times[outside] += 1
        return out_of_bag_mean(total, times)

    def _tree_parameters(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(GrowthParameters)}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _outside(X: Any, bag: Bag, model: Any) -> tuple[np.ndarray, np.ndarray]:
    """The rows that a tree was not grown on, and what it says of them."""
    outside = np.flatnonzero(bag(np.random.default_rng(model.random_state)) == 0)
    return outside, model.tree_.predict(X[outside])
