"""A tree while it grows: what it is grown on, its nodes so far, and memory for work; compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from panlearn.tree._split import MISSING, Limits, Targets, Work


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


class Nodes(NamedTuple):
    """The nodes of a tree, and what is needed of them while it grows.

    low, high : the last row, or bin, that goes left, and the first that goes right, -1 if only
    missing values do. start, middle, stop : where their rows lie. bounds : (capacity, 2), between
    what they predict. between : the middle of what their children do.
    """

    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    low: np.ndarray
    high: np.ndarray
    missing_left: np.ndarray
    impurity: np.ndarray
    size: np.ndarray
    weight: np.ndarray
    value: np.ndarray
    start: np.ndarray
    middle: np.ndarray
    stop: np.ndarray
    depth: np.ndarray
    decrease: np.ndarray
    bounds: np.ndarray
    between: np.ndarray


class Growth(NamedTuple):
    """A tree that grows: what it is grown on, its nodes so far, and memory for the work.

    Both `rows` and ``columns.order`` are left partitioned by node; the targets of `local` are in
    the order of the rows, so that a node reads its own side by side.
    """

    columns: Columns
    rows: np.ndarray
    targets: Targets
    local: Targets
    criterion: int
    limits: Limits
    nodes: Nodes
    work: Work
    sums: np.ndarray
    goes_left: np.ndarray
    integers: np.ndarray
    floats: np.ndarray
    candidates: np.ndarray
    state: np.ndarray


@njit(cache=True, nogil=True, error_model="numpy")
def make_nodes(capacity: int, n: int, n_components: int) -> Nodes:
    """Room for so many nodes; the first is the root of n rows."""
    nodes = Nodes(
        np.full(capacity, -1, np.int32),
        np.full(capacity, -1, np.int32),
        np.full(capacity, -2, np.int32),
        np.full(capacity, -1, np.int32),
        np.full(capacity, -1, np.int32),
        np.zeros(capacity, np.bool_),
        np.empty(capacity),
        np.empty(capacity, np.int32),
        np.empty(capacity),
        np.empty((capacity, n_components)),
        np.zeros(capacity, np.int32),
        np.zeros(capacity, np.int32),
        np.full(capacity, n, np.int32),
        np.zeros(capacity, np.int32),
        np.zeros(capacity),
        np.empty((capacity, 2)),
        np.zeros(capacity),
    )
    nodes.bounds[0] = -np.inf, np.inf
    return nodes


@njit(cache=True, nogil=True, error_model="numpy")
def make_work(n: int, n_components: int, n_medians: int, n_rows: int) -> Work:
    """Memory for the search in n of so many rows."""
    m, k = n if n_medians else 0, n_components
    return Work(
        np.empty(k),
        np.empty(k),
        np.zeros((MISSING + 1, k + 1)),
        np.zeros(MISSING + 1, np.int64),
        np.empty((5, MISSING)),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty((n_medians, n_rows), np.int32),
        np.empty(m, np.int32),
        np.empty((2, m + 1)),
        np.empty((2, m + 1)),
    )


@njit(cache=True, nogil=True, error_model="numpy")
def in_order(targets: Targets, rows: np.ndarray) -> Targets:
    """The targets of some rows, in their order; but what is by target stays so."""
    code = np.empty((len(targets.code), len(rows)), np.int32)
    value = np.empty((len(targets.value), len(rows)))
    for o in range(len(code)):
        code[o] = targets.code[o][rows]
    for o in range(len(value)):
        value[o] = targets.value[o][rows]
    return Targets(code, value, targets.weight[rows], targets.order)
