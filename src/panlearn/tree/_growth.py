"""A tree while it grows: what it is grown on, its nodes so far, and memory for work."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from panlearn.tree._split import ABSOLUTE_ERROR, MISSING, Limits, Targets, Work


class Columns(NamedTuple):
    """The features as keys: the larger the value, the larger the key; those of equal values equal.

    ranks : (d, n), TOP for a missing value, or (d, 0) for bins. order : (d, n), the rows by each
    feature, missing ones last, or (d, 0) for bins. bins : (n, d), or (0, d) for ranks. sign : (d,),
    1 for a feature in which predictions may not fall, -1 if they may not rise; or (0,).
    """

    ranks: np.ndarray
    order: np.ndarray
    bins: np.ndarray
    sign: np.ndarray


# A node, and what is needed of it while the tree grows. low, high : the last row, or bin, that goes
# left, and the first that goes right, -1 if only missing values do. start, middle, stop : where its
# rows lie. lower, upper : between what it predicts. between : the middle of what its children do.
# waiting : whether it may be split later. One array, for each that is handed over costs time.
NODE = np.dtype(
    [
        ("left", np.int32),
        ("right", np.int32),
        ("feature", np.int32),
        ("low", np.int32),
        ("high", np.int32),
        ("size", np.int32),
        ("start", np.int64),
        ("middle", np.int64),
        ("stop", np.int64),
        ("depth", np.int32),
        ("impurity", np.float64),
        ("weight", np.float64),
        ("decrease", np.float64),
        ("lower", np.float64),
        ("upper", np.float64),
        ("between", np.float64),
        ("missing_left", np.bool_),
        ("waiting", np.bool_),
    ],
    align=True,
)


class Growth(NamedTuple):
    """A tree that grows: what it is grown on, its nodes so far, and memory for the work.

    Both `rows` and ``columns.order`` are left partitioned by node; the targets of `local` are in
    the order of the rows, so that a node reads its own side by side. value : (capacity,
    n_components), what the nodes predict.
    """

    columns: Columns
    rows: np.ndarray
    targets: Targets
    local: Targets
    criterion: int
    limits: Limits
    nodes: np.ndarray
    value: np.ndarray
    work: Work
    sums: np.ndarray
    goes_left: np.ndarray
    integers: np.ndarray
    floats: np.ndarray
    candidates: np.ndarray
    state: np.ndarray
    unborn: np.ndarray


def make_growth(
    columns: Columns,
    rows: np.ndarray,
    targets: Targets,
    n_components: int,
    criterion: int,
    limits: Limits,
    seed: int,
) -> Growth:
    """A tree on some rows, all of them if the features are presorted, before it has a node."""
    n, most = len(rows), limits.max_leaf_nodes
    capacity = 2 * n - 1
    if limits.max_depth < 40:
        capacity = min(capacity, 2 ** (limits.max_depth + 1) - 1)
    if most > 0:
        capacity = min(capacity, 2 * most - 1)
    code, value, weight, order = targets
    sorted_rows = columns.order.shape[1] > 0 or criterion == ABSOLUTE_ERROR
    return Growth(
        columns,
        rows,
        targets,
        # in the order of C, for which the kernels are compiled
        Targets(np.take(code, rows, 1), np.take(value, rows, 1), weight[rows], order),
        criterion,
        limits,
        np.empty(capacity, NODE),
        np.empty((capacity, n_components)),
        make_work(n, n_components, len(order), len(weight), max(n if sorted_rows else 0, MISSING)),
        np.empty(n_components),
        np.empty(len(weight), np.bool_),
        np.empty(n, np.int32),
        np.empty(n),
        np.arange(columns.bins.shape[1]),
        np.array([seed], np.uint64),
        np.empty(capacity + 1, np.int64),
    )


def make_work(n: int, n_components: int, n_medians: int, n_rows: int, n_places: int) -> Work:
    """Memory for the search in n of so many rows, with so many places between them."""
    m = n if n_medians else 0
    return Work(
        np.empty((2, n_components)),
        np.zeros((MISSING + 1, n_components + 1)),
        np.zeros(MISSING + 1, np.int64),
        np.empty((5, n_places)),
        np.empty(n_rows, np.int32),
        np.empty(n, np.int32),
        np.empty((n_medians + 1, n_rows if n_medians else 0), np.int32),
        np.empty((4, m + 1)),
    )
