"""A decision tree as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from panlearn.core.extras import require
from panlearn.tree.text import leaf_text, names_of_features

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class TreeDisplay:
    r"""The upper levels of a decision tree: a question at each node, an answer at each leaf.

    .. math:: x_j \le t \;\text{ goes left, }\; x_j > t \;\text{ goes right}

    A tree of categories has an edge for each that occurs.

    A leaf has the colour of its class, paler the more mixed it is, or of its mean, and says how
    many training rows it holds. An edge is as wide as its part of the rows.

    Parameters
    ----------
    model : DecisionTreeClassifier, DecisionTreeRegressor or ID3Classifier
        A fitted tree.
    feature_names, class_names : sequence of str, optional
        Names in place of those that the model was fitted with.
    max_depth : int
        What lies deeper is folded into a node with dots.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the tree was drawn.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from panlearn.plot import TreeDisplay
    >>> from panlearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = TreeDisplay.from_estimator(DecisionTreeClassifier(max_depth=2).fit(X, y))
    >>> display.ax_.texts[0].get_text()
    'petal length (cm) ≤ 2.45'
    """

    def __init__(
        self,
        model: Any,
        *,
        feature_names: Any | None = None,
        class_names: Any | None = None,
        max_depth: int = 3,
    ) -> None:
        check_is_fitted(model)
        if not hasattr(model, "tree_"):
            raise ValueError(f"{type(model).__name__} has no tree_ to draw")
        self.model, self.class_names, self.max_depth = model, class_names, max_depth
        self.feature_names = names_of_features(model, feature_names)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: Any | None = None,
        class_names: Any | None = None,
        max_depth: int = 3,
        ax: Axes | None = None,
    ) -> Self:
        """Draw a fitted tree."""
        names = dict(feature_names=feature_names, class_names=class_names)
        return cls(estimator, **names, max_depth=max_depth).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw on the axes, or on a new figure that is wide enough for the leaves."""
        places = self._places()
        columns = max(x for x, _ in places.values()) + 1
        if ax is None:
            size = (max(4.0, 1.7 * columns), 1.2 * (self.max_depth + 1.5))
            ax = require("matplotlib.pyplot").subplots(figsize=size, layout="constrained")[1]
        self.ax_, self.figure_ = ax, ax.figure
        tree, colours = self.model.tree_, self._colours()
        for node, (x, y) in sorted(places.items()):
            box = {"boxstyle": "round,pad=0.35", "fc": colours[node], "ec": "0.4", "lw": 0.8}
            ax.text(x, y, self._label(node, places), ha="center", va="center", fontsize=9, bbox=box)
        for node, (x, y) in places.items():
            below = tree.children(node)
            for child, answer in zip(below, tree.answers(node) if below else [], strict=True):
                if child in places:
                    self._edge((x, y), places[child], tree.n_node_samples[child], answer)
        depth = min(y for _, y in places.values())
        ax.set(xlim=(-0.6, columns - 0.4), ylim=(depth - 0.45, 0.45))
        ax.set_axis_off()
        return self

    def _places(self) -> dict[int, tuple[float, float]]:
        """Leaves stand side by side in their order, a parent above the middle of its children."""
        tree, depths = self.model.tree_, self.model.tree_.depths
        shown = [n for n in range(tree.node_count) if depths[n] <= self.max_depth]
        places: dict[int, tuple[float, float]] = {}
        ends = [n for n in shown if tree.is_leaf[n] or depths[n] == self.max_depth]
        for column, node in enumerate(ends):
            places[node] = (float(column), -float(depths[node]))
        for node in reversed(shown):  # preorder: children are placed before their parent
            if node not in places:
                below = [places[child][0] for child in tree.children(node)]
                places[node] = ((below[0] + below[-1]) / 2, -float(depths[node]))
        return places

    def _label(self, node: int, places: dict[int, tuple[float, float]]) -> str:
        tree = self.model.tree_
        if not tree.is_leaf[node] and tree.children(node)[0] in places:
            return tree.question(node, self.feature_names[tree.feature[node]])
        answer = leaf_text(self.model, node, self.class_names).partition(": ")[2]
        rows = tree.n_node_samples[node]
        return (
            f"{answer}\n{rows} row"
            + ("s" if rows > 1 else "")
            + ("" if tree.is_leaf[node] else " …")
        )

    def _edge(self, above: Any, below: Any, rows: int, answer: str) -> None:
        part = rows / self.model.tree_.n_node_samples[0]
        x, y = np.transpose([above, below])
        self.ax_.plot(x, y, color="0.6", lw=0.6 + 5 * part, zorder=0, solid_capstyle="round")
        self.ax_.annotate(
            answer, (x.mean(), y.mean()), fontsize=7, color="0.3", ha="center", va="center",
            bbox={"fc": "w", "ec": "none", "pad": 0.8},
        )  # fmt: skip

    def _colours(self) -> np.ndarray:
        tree = self.model.tree_
        inner = ~tree.is_leaf & (tree.depths < self.max_depth)
        value = tree.value.astype(float)  # of several outputs, the first gives the colour
        if getattr(self.model, "n_outputs_", 1) > 1:
            value = value[:, : self.model.n_classes_[0] if is_classifier(self.model) else 1]
        if is_classifier(self.model):
            likeliest, k = value.argmax(axis=1), value.shape[1]
            palette = require("matplotlib").colormaps["tab10" if k <= 10 else "tab20"]
            colours = np.array(palette(likeliest % palette.N))[:, :3]
            purity = (value.max(axis=1) - 1 / k) / (1 - 1 / k)
            colours = 1 - (0.1 + 0.55 * purity[:, None]) * (1 - colours)
        else:
            low, high = value.min(), value.max()
            palette = require("matplotlib").colormaps["viridis"]
            colours = np.array(palette((value[:, 0] - low) / ((high - low) or 1.0)))[:, :3]
            colours = 1 - 0.5 * (1 - colours)
        colours[inner] = 1.0
        return colours
