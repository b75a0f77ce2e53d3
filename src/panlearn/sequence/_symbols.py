"""Symbols of any kind as codes 0, 1, ..., and -1 where one is missing."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from panlearn.core.labels import missing
from panlearn.core.map_reduce import map_reduce
from panlearn.core.sequences import map_blocks
from panlearn.core.sources import Block, Rows, Sequences
from panlearn.core.statistics import LabelCounts


def label_counts(X: Sequences, y: Any = None, weight: Any = None) -> LabelCounts:
    """Count the symbols that are there."""
    values = X.values
    present = values if values.dtype.kind in "biuU" else values[~missing(values)]
    try:
        return LabelCounts.of(present)
    except TypeError as error:
        raise ValueError(f"symbols of one type sort, these do not: {error}") from error


def categories_of(rows: Rows | None, given: Any, name: str) -> np.ndarray:
    """The symbols: those that the parameter `name` gives, in its order, or all that occur."""
    if given is None:
        assert rows is not None
        found = map_reduce(label_counts, rows).labels
        if not len(found):
            raise ValueError("every symbol of X is missing (NaN), so there is nothing to learn")
        return found
    try:
        labels = list(given)
    except TypeError:
        raise ValueError(f"{name} must be a list of labels; got {given!r}") from None
    array = np.array(labels) if len({type(x) for x in labels}) == 1 else None
    if array is None or array.ndim != 1 or array.dtype.kind not in "biufU":
        array = np.empty(len(labels), dtype=object)
        array[:] = labels
    try:
        different = len(set(labels))
    except TypeError:
        raise ValueError(f"{name} must hold labels that can be keys; got {labels[:5]}") from None
    if not labels or different != len(labels) or missing(array).any():
        raise ValueError(f"{name} must hold different labels, none of them missing; got {given!r}")
    return array


def encode_rows(rows: Rows, categories: np.ndarray, name: str) -> Rows:
    """The same sequences with codes for symbols."""
    return map_blocks(rows, functools.partial(_encode_block, categories=categories, name=name))


def _encode_block(block: Block, categories: np.ndarray, name: str) -> Block:
    codes = encode(block.X.values, categories, name)
    return Block(Sequences(codes, block.X.offsets), block.y, block.weight)


def encode(values: np.ndarray, categories: np.ndarray, name: str) -> np.ndarray:
    """Places of symbols among the categories; an unknown one is refused by name."""
    absent = missing(values)
    if values.dtype.kind == "O" or categories.dtype.kind == "O" or _mixed(values, categories):
        place = {label: i for i, label in enumerate(categories.tolist())}
        codes = np.array([place.get(v, -1) for v in values.tolist()], dtype=np.int64)
    elif values.dtype.kind in "iu" and categories.dtype.kind in "iu" and _dense(categories):
        # a table: searching sorted labels takes longer than a step of the recursions
        values = values.astype(np.int64, copy=False)
        low, high = int(categories.min()), int(categories.max())
        table = np.full(high - low + 1, -1, dtype=np.int64)
        table[categories - low] = np.arange(len(categories))
        codes = np.take(table, values - low, mode="clip")
        if len(values) and (values.min() < low or values.max() > high):
            codes[(values < low) | (values > high)] = -1
    else:
        order = np.argsort(categories)
        found = np.minimum(np.searchsorted(categories, values, sorter=order), len(order) - 1)
        codes = order[found]
        codes[categories[codes] != values] = -1
    unknown = (codes < 0) & ~absent
    if unknown.any():
        shown = categories[:8].tolist()
        raise ValueError(
            f"{values[unknown].tolist()[0]!r} is not among the {len(categories)} symbols {shown}; "
            f"name every symbol that may come in {name}"
        )
    return codes


def _dense(categories: np.ndarray) -> bool:
    return int(categories.max()) - int(categories.min()) < 8 * len(categories) + 1024


def _mixed(values: np.ndarray, categories: np.ndarray) -> bool:
    return (values.dtype.kind == "U") != (categories.dtype.kind == "U")
