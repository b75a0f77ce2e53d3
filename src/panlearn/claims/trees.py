"""Decision trees: impurity, gain and splits along the axes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.tree import DecisionTreeClassifier


@claim("A60")
def trees_split_along_the_axes() -> Iterator[Evidence]:
    """A node of a decision tree asks whether one feature exceeds a threshold.

    So a strictly increasing change of any feature leaves the predictions on the training rows as
    they are, and a tree of full depth makes no error on distinct rows.
    """
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(3, size=200)
    full = DecisionTreeClassifier().fit(X, y)
    yield equal("training error of the full tree", 1 - full.score(X, y), 0.0)
    limits = DecisionTreeClassifier(max_depth=4, min_samples_leaf=5).fit(X, y)
    for name, changed in {"x^3": X**3, "exp": np.exp(X)}.items():
        other = DecisionTreeClassifier(max_depth=4, min_samples_leaf=5).fit(changed, y)
        yield equal(f"predictions after {name}", other.predict(changed), limits.predict(X))
    root, x = full.tree_, X[:, full.tree_.feature[0]]
    right = np.isin(full.apply(X), np.arange(root.children_right[0], root.node_count))
    yield true(
        "the root sends right what exceeds its threshold", (right == (x > root.threshold[0])).all()
    )


def entropy_of(labels: np.ndarray) -> float:
    """The entropy of the root of a tree that is grown on these labels."""
    X = np.arange(len(labels))[:, None]
    return float(DecisionTreeClassifier(criterion="entropy").fit(X, labels).tree_.impurity[0])


@claim("B222")
def entropy_of_a_node() -> Iterator[Evidence]:
    """The entropy of nine positive and five negative rows is 0.940286 bits.

    It is 0 for rows of one class, as 0 log 0 = 0, and 1 for as many of either; between these for
    two classes that both occur.
    """
    yield equal("entropy of 9 and 5", entropy_of(np.repeat([1, 0], [9, 5])), 0.9402860, 1e-6)
    yield equal("entropy of 7 and 7", entropy_of(np.repeat([1, 0], 7)), 1.0, 1e-12)
    tree = DecisionTreeClassifier(criterion="entropy").fit([[0], [1], [1]], [0, 1, 1]).tree_
    yield equal("entropy of pure leaves", tree.impurity[tree.is_leaf], [0.0, 0.0])
    between = [entropy_of(np.repeat([1, 0], [k, 20 - k])) for k in range(1, 10)]
    yield at_least("least entropy of a mixed node", min(between), 1e-9)
    yield at_most("largest entropy of an uneven node", max(between), 1 - 1e-9)


@claim("B223")
def gain_is_mutual_information() -> Iterator[Evidence]:
    """The gain of a split is the mutual information of attribute and label.

    Gain(S, A) = H(S) - sum |S_v| / |S| H(S_v) is never negative, and it is H(S) for an attribute
    that separates the classes. Measured on binary attributes, at the root of a tree.
    """
    rng = np.random.default_rng(1)
    worst, least = 0.0, np.inf
    for _ in range(30):
        a, y = rng.integers(2, size=40), rng.integers(2, size=40)
        model = DecisionTreeClassifier(criterion="entropy", max_depth=1).fit(a[:, None], y)
        tree = model.tree_
        below = tree.weighted_n_node_samples[1:] @ tree.impurity[1:] / 40
        gain = tree.impurity[0] - below
        joint = np.histogram2d(a, y, bins=2)[0] / 40
        product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        seen = joint > 0
        information = np.sum(joint[seen] * np.log2(joint[seen] / product[seen]))
        worst, least = max(worst, abs(gain - information)), min(least, gain)
    yield at_most("|gain - mutual information|", worst, 1e-12)
    yield at_least("least gain", least, -1e-12)
    y = rng.integers(2, size=40)
    perfect = DecisionTreeClassifier(criterion="entropy", max_depth=1).fit(y[:, None], y).tree_
    yield equal("entropy left by a perfect split", perfect.impurity[1:], [0.0, 0.0])
