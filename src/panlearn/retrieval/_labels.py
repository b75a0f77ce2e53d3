"""Ids of documents: any labels, kept in order, so that equal scores are ranked by id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np


class Hits(NamedTuple):
    """What a search found, best first; documents of equal score in the order of their ids.

    Attributes
    ----------
    ids : ndarray of shape (n_hits,)
        The ids of the documents.
    scores : ndarray of shape (n_hits,)
        Their scores.
    """

    ids: np.ndarray
    scores: np.ndarray


def as_labels(ids: Any, n: int | None = None) -> np.ndarray:
    """Give different labels as an array: of int64 if they are integers, else of objects."""
    _reject_text(ids)
    items = [i.item() if isinstance(i, np.generic) else i for i in ids]
    if n is not None and len(items) != n:
        raise ValueError(f"ids must be one label a document, {n} in all; got {len(items)}")
    for item in items:
        if item is None or item != item:
            raise ValueError(f"{item!r} is no id; give each document a label of its own")
    try:
        if len(set(items)) != len(items):
            twice = Counter(items).most_common(1)[0][0]
            raise ValueError(f"the id {twice!r} is given to more than one document")
    except TypeError:
        raise TypeError("an id must be hashable, such as a number, a string or a tuple") from None
    if all(type(i) is int and -(2**63) <= i < 2**63 for i in items):
        return np.array(items, dtype=np.int64)
    labels = np.empty(len(items), dtype=object)
    labels[:] = items
    return labels


def _reject_text(ids: Any) -> None:
    if isinstance(ids, str | bytes):
        raise TypeError(f"ids come in a list; got {ids!r}: give [{ids!r}]")


def next_labels(labels: np.ndarray, n: int) -> np.ndarray:
    """Give the numbers that follow the ids so far, for documents that come without."""
    if labels.dtype == object:
        raise ValueError("the documents so far have ids that are no numbers: give ids to these too")
    first = int(labels.max(initial=-1)) + 1
    return np.arange(first, first + n)


def ranks(labels: np.ndarray) -> np.ndarray:
    """Sort labels: the order of numbers, or of strings; labels of several types go by type."""
    if labels.dtype != object:
        return np.argsort(labels, kind="stable")
    items = labels.tolist()
    try:
        order = sorted(range(len(items)), key=items.__getitem__)
    except TypeError:
        order = sorted(range(len(items)), key=lambda i: (type(items[i]).__name__, items[i]))
    return np.array(order, dtype=np.int64)


def joined(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Put labels after labels: numbers stay numbers if all are."""
    if one.dtype == other.dtype:
        return np.concatenate([one, other])
    return np.concatenate([one.astype(object), other.astype(object)])


def positions(labels: np.ndarray, wanted: Iterable[Any]) -> np.ndarray:
    """Where the wanted ids are among the labels; an id that is not there is an error."""
    _reject_text(wanted)
    place = {label: i for i, label in enumerate(labels.tolist())}
    items = wanted.tolist() if isinstance(wanted, np.ndarray) else list(wanted)
    try:
        return np.array([place[item] for item in items], dtype=np.int64)
    except KeyError as missing:
        raise KeyError(f"there is no document with the id {missing.args[0]!r}") from None


def as_mask(allowed: Any, labels: np.ndarray) -> np.ndarray:
    """Turn allowed ids, or a mask in the order of the ids, into a mask."""
    if allowed is None:
        return np.ones(len(labels), dtype=bool)
    _reject_text(allowed)
    values = allowed if isinstance(allowed, np.ndarray) else list(allowed)
    if isinstance(values, list) and values and all(isinstance(v, bool | np.bool_) for v in values):
        values = np.array(values)
    if isinstance(values, np.ndarray) and values.dtype == bool:
        if len(values) != len(labels):
            raise ValueError(f"allowed is a mask of {len(values)} for {len(labels)} documents")
        return values
    mask = np.zeros(len(labels), dtype=bool)
    mask[positions(labels, values)] = True
    return mask


def split_hits(labels: np.ndarray, places: np.ndarray, scores: np.ndarray) -> list[Hits]:
    """One `Hits` a row of places; a place beyond the labels is none."""
    found = places < len(labels)
    ids, values = labels[places[found]], scores[found]
    ends = [0, *np.cumsum(found.sum(axis=1)).tolist()]
    return [Hits(ids[start:end], values[start:end]) for start, end in pairwise(ends)]


def check_k(k: Any) -> int:
    """How many documents are wanted."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"k must be an int of at least 1; got {k!r}")
    return int(k)
