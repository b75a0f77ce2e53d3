"""A tree as text."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted


def export_text(
    model: Any,
    *,
    feature_names: Any = None,
    class_names: Any = None,
    max_depth: int = 10,
    decimals: int = 2,
) -> str:
    r"""Write the rules of a fitted tree, one line a branch.

    .. math:: x_j \le t \;\text{ takes the first branch, }\; x_j > t \;\text{ the second}

    or, in a tree of categories, :math:`x_j = v` takes the branch of v.

    Parameters
    ----------
    model : DecisionTreeClassifier, DecisionTreeRegressor or ID3Classifier
        A fitted tree.
    feature_names : sequence of str, default=None
        A name for each feature; None for those that the model was fitted with, or x0, x1 and so on.
    class_names : sequence of str, default=None
        A name for each class; None for its label.
    max_depth : int, default=10
        A branch that goes deeper ends in dots.
    decimals : int, default=2
        Digits of thresholds and means.

    Returns
    -------
    str
        The text.

    Notes
    -----
    It costs :math:`O(m)` for m nodes.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen and C. Stone (1984). Classification and Regression Trees.
    doi:10.1201/9781315139470

    Examples
    --------
    >>> from panlearn.tree import DecisionTreeClassifier, export_text
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], ["no", "yes", "yes"])
    >>> print(export_text(model, feature_names=["dose"]))
    |--- dose <= 0.50
    |   |--- class: no
    |--- dose > 0.50
    |   |--- class: yes
    """
    check_is_fitted(model)
    tree, names = model.tree_, names_of_features(model, feature_names)
    lines, stack = [], [(0, 0, "")]
    while stack:
        node, depth, branch = stack.pop()
        if branch:
            lines.append("|   " * (depth - 1) + f"|--- {branch}")
        indent = "|   " * depth + "|--- "
        if tree.is_leaf[node]:
            lines.append(indent + leaf_text(model, node, class_names, decimals))
        elif depth >= max_depth:
            lines.append(indent + "...")
        else:
            name = names[tree.feature[node]]
            below = zip(tree.children(node), tree.conditions(node, decimals), strict=True)
            for child, condition in reversed(list(below)):
                stack.append((child, depth + 1, f"{name} {condition}"))
    return "\n".join(lines)


def names_of_features(model: Any, given: Any = None) -> list[str]:
    """The names given, or those of the fit, or x0, x1, ..."""
    default = [f"x{j}" for j in range(model.n_features_in_)]
    names = getattr(model, "feature_names_in_", default) if given is None else given
    if len(names) != model.n_features_in_:
        raise ValueError(f"{len(names)} feature_names for {model.n_features_in_} features")
    return [str(name) for name in names]


def leaf_text(model: Any, node: int, class_names: Any = None, decimals: int = 2) -> str:
    """What a node predicts."""
    value, several = model.tree_.value[node], getattr(model, "n_outputs_", 1) > 1
    if not is_classifier(model):
        means = [f"{mean:.{decimals}f}" for mean in value]
        return f"value: [{', '.join(means)}]" if several else f"value: {means[0]}"
    names = model.classes_ if class_names is None else class_names
    if not several:
        return f"class: {names[value.argmax()]}"
    parts = zip(names, np.split(value, np.cumsum(model.n_classes_)[:-1]), strict=True)
    return f"class: [{', '.join(str(labels[part.argmax()]) for labels, part in parts)}]"
