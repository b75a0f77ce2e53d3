"""What a tree learns, in the form that the kernels read; and how one is grown on it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from math import ceil
from numbers import Integral
from typing import Annotated, Any, Literal

import numpy as np

from panlearn.core.parameters import Bounds, NonNegative, Positive
from panlearn.tree._features import NO_SIGN, Features
from panlearn.tree._grow import grow, is_of_numbers, microseconds
from panlearn.tree._growth import make_growth
from panlearn.tree._pruning import pruned
from panlearn.tree._sampling import Part
from panlearn.tree._split import (
    ABSOLUTE_ERROR,
    ENTROPY,
    GINI,
    POISSON,
    SQUARED_ERROR,
    Limits,
    Targets,
)
from panlearn.tree._structure import Tree

AtLeastTwo = Annotated[int, Bounds(2, closed_low=True)]
BetweenZeroAndOne = Annotated[float, Bounds(0, 1)]
UpToHalf = Annotated[float, Bounds(0, 0.5, closed_low=True, closed_high=True)]
MaxFeatures = Literal["sqrt", "log2"] | None | Positive[int] | Part
NumberCriterion = Literal["squared_error", "friedman_mse", "absolute_error", "poisson"]
LabelCriterion = Literal["gini", "entropy", "log_loss"]

CRITERIA = {
    "gini": GINI,
    "entropy": ENTROPY,
    "log_loss": ENTROPY,
    "squared_error": SQUARED_ERROR,
    "friedman_mse": SQUARED_ERROR,  # the same split: its score is a multiple of the decrease
    "absolute_error": ABSOLUTE_ERROR,
    "poisson": POISSON,
}
# Of the heaviest row: lighter ones count as this, so that no sum of squares underflows.
LIGHTEST = 2.0**-500


@dataclass(eq=False, repr=False)
class GrowthParameters:
    """How far a tree grows; abstract."""

    _: KW_ONLY
    max_depth: Positive[int] | None = None
    min_samples_split: AtLeastTwo | BetweenZeroAndOne = 2
    min_samples_leaf: Positive[int] | BetweenZeroAndOne = 1
    min_weight_fraction_leaf: UpToHalf = 0.0
    max_features: MaxFeatures = None
    max_leaf_nodes: AtLeastTwo | None = None
    min_impurity_decrease: NonNegative[float] = 0.0
    ccp_alpha: NonNegative[float] = 0.0
    monotonic_cst: np.ndarray | None = None


@dataclass(frozen=True)
class Problem:
    """Targets and weights of rows.

    code : (n_outputs, n), or (0, n) for numbers. y : (n_outputs, n), or (0, n) for labels, in units
    and from an origin that keep their digits. order : (n_outputs, n), rows by y for the absolute
    error, else (0, n). A prediction v means (v spread + origin) unit, an impurity I means I scale.
    """

    criterion: int
    weight: np.ndarray
    n_components: int
    code: np.ndarray
    y: np.ndarray
    order: np.ndarray
    unit: float = 1.0
    spread: float = 1.0
    origin: np.ndarray | float = 0.0
    scale: float = 1.0


def label_problem(
    codes: np.ndarray, sizes: list[int], weight: np.ndarray, criterion: str
) -> Problem:
    """Each row adds its weight to the sum of its class, for each output, codes (n_outputs, n)."""
    n = codes.shape[1]
    starts = np.cumsum([0, *sizes[:-1]])
    return Problem(
        CRITERIA[criterion],
        weight,
        sum(sizes),
        np.ascontiguousarray(codes + starts[:, None], dtype=np.int32),
        np.empty((0, n)),
        np.empty((0, n), np.int32),
    )


def number_problem(y: np.ndarray, weight: np.ndarray, criterion: str) -> Problem:
    """Each row adds its weighted targets, y (n, n_outputs).

    Centred and scaled targets keep their digits at an offset and do not overflow when squared.
    """
    kind, n, k = CRITERIA[criterion], *y.shape
    y = y.T.astype(np.float64)
    unit = float(np.abs(y).max()) or 1.0
    y = y / unit
    origin, spread = np.zeros(k), 1.0
    if kind == POISSON:
        if (y < 0).any():
            raise ValueError("criterion='poisson' is for counts; y has negative values")
        if not y.sum() > 0:
            raise ValueError("criterion='poisson' needs a positive mean; y is zero throughout")
    else:
        relative = weight / weight.max()
        origin = (y * relative).sum(axis=1) / relative.sum()
        y = y - origin[:, None]
        spread = float(np.abs(y).max()) or 1.0
        y = y / spread
    scale = unit * spread * (unit * spread if kind == SQUARED_ERROR else 1.0)
    scale = scale if y.any() else 1.0
    if not np.isfinite(scale) or (kind == SQUARED_ERROR and scale < np.finfo(np.float64).tiny):
        error = "squared" if kind == SQUARED_ERROR else "absolute"
        raise ValueError(
            f"the largest y is {unit:.3g}, and its {error} errors are beyond the floats; divide y "
            "by it"
        )
    ordered = y if kind == ABSOLUTE_ERROR else y[:0]
    order = np.argsort(ordered, axis=1, kind="stable").astype(np.int32)
    code = np.empty((0, n), np.int32)
    y = np.ascontiguousarray(y)
    return Problem(kind, weight, k, code, y, order, unit, spread, origin, scale)


def grow_tree(
    p: GrowthParameters,
    features: Features,
    count: np.ndarray,
    problem: Problem,
    dtype: Any,
    seed: int,
) -> Tree:
    """Grow a tree by the parameters of p on rows that count so often, zero for an absent one."""
    d = features.columns.bins.shape[1]
    count, one = normalised(count)
    relative, exponent = normalised(problem.weight)
    weight, other = normalised(count * relative)
    rows = np.flatnonzero(weight).astype(np.int32)
    order = problem.order
    if len(rows) < len(weight):
        order = order[weight[order] > 0].reshape(len(order), len(rows))
    targets = Targets(problem.code, problem.y * weight, weight, np.ascontiguousarray(order))
    limits = limits_of(p, len(weight), len(rows), d, problem.scale, weight.sum())
    growth = make_growth(
        features.columns, rows, targets, problem.n_components, problem.criterion, limits, seed
    )
    n_nodes = grow(growth)
    nodes = growth.nodes[:n_nodes]
    value = (growth.value[:n_nodes] * problem.spread + problem.origin) * problem.unit
    feature = nodes["feature"].copy()
    tree = Tree(
        d,
        nodes["left"].copy(),
        nodes["right"].copy(),
        feature,
        features.thresholds(feature, nodes["low"], nodes["high"]),
        nodes["missing_left"].copy(),
        nodes["impurity"] * problem.scale,
        nodes["size"].copy(),
        np.ldexp(nodes["weight"], one + other + exponent),
        value.astype(dtype),
    )
    return pruned(tree, p.ccp_alpha) if p.ccp_alpha > 0 else tree


def normalised(weight: np.ndarray) -> tuple[np.ndarray, int]:
    """Weights times a power of two, the largest from a half to one; and minus the power."""
    exponent = int(np.frexp(weight.max())[1])
    scaled = np.ldexp(weight, -exponent)
    return np.where(weight > 0, np.maximum(scaled, LIGHTEST), 0.0), exponent


def expect_trees(p: GrowthParameters, trees: int, problem: Problem, d: int) -> None:
    """Say that trees are to come, to read or compile the kernel at once if they are not small."""
    n, k, kind = len(problem.weight), problem.n_components, problem.criterion
    signs = 0 if p.monotonic_cst is None else d
    of_numbers = is_of_numbers(kind, k, n, signs, p.max_leaf_nodes or 0)
    grow.expect(trees * microseconds(n, feature_count(p.max_features, d), kind, of_numbers))


def limits_of(
    p: GrowthParameters, n: int, present: int, d: int, scale: float, weight: float
) -> Limits:
    """The limits of a tree on so many of n rows, as the kernels read them."""
    leaf, split = p.min_samples_leaf, p.min_samples_split
    least = int(leaf) if isinstance(leaf, Integral) else ceil(leaf * n)
    fewest = int(split) if isinstance(split, Integral) else max(2, ceil(split * n))
    return Limits(
        present if p.max_depth is None else min(int(p.max_depth), present),
        min(fewest, present + 1),
        min(least, present),
        feature_count(p.max_features, d),
        0 if p.max_leaf_nodes is None else min(int(p.max_leaf_nodes), present + 1),
        float(p.min_impurity_decrease) / scale,
        float(p.min_weight_fraction_leaf) * weight,
    )


def feature_count(max_features: Any, d: int) -> int:
    """How many of d features a node looks at."""
    if max_features is None:
        return d
    if max_features == "sqrt":
        return max(1, int(np.sqrt(d)))
    if max_features == "log2":
        return max(1, int(np.log2(d)))
    if isinstance(max_features, Integral):
        return min(int(max_features), d)
    return max(1, int(max_features * d))


def monotone_signs(p: GrowthParameters, d: int, problem: Problem) -> np.ndarray:
    """What ``monotonic_cst`` says, as the kernels read it: of the first component."""
    if p.monotonic_cst is None:
        return NO_SIGN
    signs = np.asarray(p.monotonic_cst)
    if signs.shape != (d,):
        raise ValueError(f"monotonic_cst has shape {signs.shape}; X has {d} features")
    if not np.isin(signs, (-1, 0, 1)).all():
        raise ValueError(f"monotonic_cst must hold -1, 0 or 1; got {np.unique(signs)}")
    if len(problem.code) + len(problem.y) > 1:
        raise ValueError("monotonic_cst is for one output; fit a model for each")
    if problem.criterion == ABSOLUTE_ERROR:
        raise ValueError("monotonic_cst is not for criterion='absolute_error'")
    if problem.criterion in (GINI, ENTROPY):
        if problem.n_components > 2:
            raise ValueError("monotonic_cst is for two classes; there are more")
        signs = -signs  # that the second class rises is that the first falls
    return signs.astype(np.int8)
