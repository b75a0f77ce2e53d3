"""The structure of a fitted tree: flat arrays, one entry a node."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy import sparse

from panlearn.core.derived import derived
from panlearn.core.value import Value
from panlearn.tree._features import dense_blocks
from panlearn.tree._walk import Walk, lay_out


@dataclass(frozen=True, eq=False)
class Tree(Value):
    """A binary tree as arrays: node 0 is the root, a child comes after its parent.

    The nodes are in preorder, unless a bound on the leaves let the best of them grow first.

    Parameters
    ----------
    n_features : int
        Number of features.
    children_left, children_right : ndarray of shape (node_count,)
        The children of each node, -1 for a leaf.
    feature : ndarray of shape (node_count,)
        The feature that a node splits on, -2 for a leaf.
    threshold : ndarray of shape (node_count,)
        A row goes left if its value does not exceed this.
    missing_go_to_left : ndarray of shape (node_count,)
        Whether a row goes left if its value is NaN.
    impurity : ndarray of shape (node_count,)
        The criterion at the node.
    n_node_samples, weighted_n_node_samples : ndarray of shape (node_count,)
        Training rows at the node, and the sum of their weights.
    value : ndarray of shape (node_count, n_components)
        What the node predicts: the parts of the classes, of one output after the other, or the
        target of each output.
    """

    n_features: int
    children_left: np.ndarray
    children_right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing_go_to_left: np.ndarray
    impurity: np.ndarray
    n_node_samples: np.ndarray
    weighted_n_node_samples: np.ndarray
    value: np.ndarray

    def __post_init__(self) -> None:
        # compiled code follows these indices without looking, so a file must not make them up
        arrays = [getattr(self, f.name) for f in fields(self)[1:]]
        kinds = "iiifbfiff"
        if not all(isinstance(a, np.ndarray) for a in arrays):
            raise ValueError("a tree is made of arrays")
        shapes = [a.shape[: 2 if i == 8 else 1] for i, a in enumerate(arrays)]
        count, at = len(self.feature), np.arange(len(self.feature))
        left, right = self.children_left, self.children_right
        inner = left >= 0
        if (
            count == 0
            or any(a.dtype.kind != kind for a, kind in zip(arrays, kinds, strict=True))
            or any(a.ndim != (2 if a is self.value else 1) for a in arrays)
            or any(shape[0] != count for shape in shapes)
            or ((right >= 0) != inner).any()
            or any(((c <= at) | (c >= count))[inner].any() for c in (left, right))
            or (np.bincount(np.r_[0, left[inner], right[inner]], minlength=count) != 1).any()
            or ((self.feature < 0) | (self.feature >= self.n_features))[inner].any()
        ):
            raise ValueError("these arrays do not describe a tree")

    @property
    def node_count(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def is_leaf(self) -> np.ndarray:
        """Whether each node is a leaf."""
        return self.children_left < 0

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(self.is_leaf.sum())

    @property
    def depths(self) -> np.ndarray:
        """How many splits lie above each node."""
        depths = np.zeros(self.node_count, dtype=int)
        for node in np.flatnonzero(~self.is_leaf):  # a parent is done before its children
            depths[[self.children_left[node], self.children_right[node]]] = depths[node] + 1
        return depths

    def apply(self, X: Any) -> np.ndarray:
        """The leaf that each row of checked data, dense or sparse, ends in."""
        if X.shape[1] != self.n_features:
            raise ValueError(f"X has {X.shape[1]} features and the tree {self.n_features}")
        leaves = np.empty((X.shape[0], 1), dtype=np.int64)
        for part, rows in dense_blocks(X):
            self._walk.find_leaves(rows, leaves[part])
        return leaves[:, 0]

    def predict(self, X: Any, n_jobs: int | None = 1) -> np.ndarray:
        """The value of the leaf of each row, (n, n_components)."""
        total = self._walk.sum_values(X, n_jobs)
        return total.astype(self.value.dtype, copy=False)

    @derived("children_left", "value")
    def _walk(self) -> Walk:
        return lay_out([self])

    def paths(self, leaves: np.ndarray) -> sparse.csr_array:
        """Which nodes lie on the way to each of some leaves, (len(leaves), node_count)."""
        above = [[0]] * self.node_count
        for node in np.flatnonzero(~self.is_leaf).tolist():
            for child in self.children(node):
                above[child] = [*above[node], child]
        lengths = np.array([len(path) for path in above])[leaves]
        indices = np.concatenate([above[leaf] for leaf in leaves.tolist()])
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        shape = len(leaves), self.node_count
        return sparse.csr_array(
            (np.ones(len(indices), dtype=np.int64), indices, indptr), shape=shape
        )

    def children(self, node: int) -> list[int]:
        """The nodes below a node; none for a leaf."""
        pair = [int(self.children_left[node]), int(self.children_right[node])]
        return pair if pair[0] >= 0 else []

    def conditions(self, node: int, decimals: int) -> list[str]:
        """What the feature has to fulfil for a row to go to each child."""
        return [f"{sign} {self.threshold[node]:.{decimals}f}" for sign in ("<=", ">")]

    def question(self, node: int, name: str) -> str:
        """What a node asks, given the name of its feature."""
        return f"{name} ≤ {self.threshold[node]:.4g}"

    def answers(self, node: int) -> list[str]:
        """The answer that leads to each child."""
        return ["yes", "no"]

    def importances(self) -> np.ndarray:
        """The decrease of impurity that each feature brings, as parts of their sum."""
        mass = self.weighted_n_node_samples / self.weighted_n_node_samples[0] * self.impurity
        inner = ~self.is_leaf
        left, right = self.children_left[inner], self.children_right[inner]
        decrease = np.maximum(mass[inner] - mass[left] - mass[right], 0)
        result = np.bincount(self.feature[inner], decrease, minlength=self.n_features)
        return result / result.sum() if result.sum() > 0 else result


@dataclass(frozen=True, eq=False)
class CategoricalTree(Value):
    """A tree whose nodes have a branch for each category, in preorder.

    Parameters
    ----------
    categories : list of ndarrays
        The categories of each attribute.
    feature : ndarray of shape (node_count,)
        The attribute that a node asks for, -2 for a leaf.
    start : ndarray of shape (node_count,)
        Where the branches of a node begin.
    child : ndarray of shape (n_branches,)
        The child of each category of each node, -1 for a category that did not occur there.
    impurity : ndarray of shape (node_count,)
        The entropy at the node in bits.
    n_node_samples, weighted_n_node_samples : ndarray of shape (node_count,)
        Training rows at the node, and the sum of their weights.
    value : ndarray of shape (node_count, n_classes)
        The part of each class.
    """

    categories: list[np.ndarray]
    feature: np.ndarray
    start: np.ndarray
    child: np.ndarray
    impurity: np.ndarray
    n_node_samples: np.ndarray
    weighted_n_node_samples: np.ndarray
    value: np.ndarray

    def __post_init__(self) -> None:
        arrays = [getattr(self, f.name) for f in fields(self)[1:]]
        if not all(isinstance(a, np.ndarray) for a in [*arrays, *self.categories]):
            raise ValueError("a tree is made of arrays")
        count, inner = len(self.feature), self.feature >= 0
        sizes = np.array([len(c) for c in self.categories])
        if (
            count == 0
            or any(a.dtype.kind != kind for a, kind in zip(arrays, "iiififf", strict=True))
            or any(a.ndim != (2 if a is self.value else 1) for a in arrays)
            or any(len(a) != count for a in arrays if a is not self.child)
            or (self.feature >= len(sizes)).any()
        ):
            raise ValueError("these arrays do not describe a tree")
        widths = sizes[self.feature[inner]]
        parents = np.repeat(np.flatnonzero(inner), widths)
        if (
            len(self.child) != len(parents)
            or (self.start[inner] != np.cumsum(widths) - widths).any()
            or ((self.child >= 0) & ((self.child <= parents) | (self.child >= count))).any()
        ):
            raise ValueError("these arrays do not describe a tree")

    @property
    def node_count(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def is_leaf(self) -> np.ndarray:
        """Whether each node is a leaf."""
        return self.feature < 0

    @property
    def depths(self) -> np.ndarray:
        """How many questions lie above each node."""
        depths = np.zeros(self.node_count, dtype=int)
        for node in np.flatnonzero(~self.is_leaf):  # preorder: a parent is done before its children
            depths[self.children(int(node))] = depths[node] + 1
        return depths

    def _present(self, node: int) -> tuple[np.ndarray, np.ndarray]:
        """The children of a node and the labels of their categories."""
        labels, start = self.categories[self.feature[node]], self.start[node]
        children = self.child[start : start + len(labels)]
        return children[children >= 0], labels[children >= 0]

    def children(self, node: int) -> list[int]:
        """The nodes below a node; none for a leaf."""
        return self._present(node)[0].tolist() if self.feature[node] >= 0 else []

    def conditions(self, node: int, decimals: int) -> list[str]:
        """What the attribute has to be for a row to go to each child."""
        return [f"= {answer}" for answer in self.answers(node)]

    def question(self, node: int, name: str) -> str:
        """What a node asks, given the name of its attribute."""
        return f"{name}?"

    def answers(self, node: int) -> list[str]:
        """The category that leads to each child."""
        return [str(label) for label in self._present(node)[1]]

    def apply(self, X: np.ndarray) -> np.ndarray:
        """The node of each row of categories by number, -1 for an unknown one."""
        nodes = np.zeros(len(X), dtype=np.int64)
        rows = np.arange(len(X))
        while len(rows):
            feature = self.feature[nodes[rows]]
            rows, feature = rows[feature >= 0], feature[feature >= 0]
            category = X[rows, feature]
            known = category >= 0
            rows, category = rows[known], category[known]
            below = self.child[self.start[nodes[rows]] + category]
            rows, below = rows[below >= 0], below[below >= 0]
            nodes[rows] = below
        return nodes
