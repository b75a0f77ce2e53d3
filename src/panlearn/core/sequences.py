"""Reading sequences: one sequence is one sample, whatever it comes in.

A sequence is a (T, d) array of vectors or a (T,) list or array of symbols; several are a list of
them, of any lengths. Larger than memory, they come in a stream of lists, or in a Dask bag.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import _check_sample_weight, validate_data

from panlearn.core.boundary import LEAST_TOTAL, check_weights
from panlearn.core.extras import require
from panlearn.core.lists import delayed_blocks, open_bags, open_stream
from panlearn.core.sources import (
    Batches,
    Block,
    DaskRows,
    Rows,
    SequenceRows,
    Sequences,
    StreamRows,
    is_dask,
)
from panlearn.core.validation import FLOATS, reject_hidden

Kind = Literal["vectors", "symbols"]


def read_sequences(
    estimator: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    kind: Kind,
    reset: bool = True,
    repeatable: bool = False,
    n_states: int = 0,
) -> Rows:
    """Validate sequences of any source; those of vectors leave their features on the estimator.

    Parameters
    ----------
    estimator : Estimator
        Receives ``n_features_in_`` and ``feature_names_in_``, if a step is a vector.
    X, y, sample_weight
        One sequence or a list of them, with known states and weights alike; a stream of lists or of
        tuples ``(list, y, sample_weight)``; or a Dask bag of sequences.
    kind : {"vectors", "symbols"}
        What a step is.
    reset : bool
        False when a fitted model sees more data: the features must be the same.
    repeatable : bool
        Whether the sequences are walked more than once.
    n_states : int
        y holds states below this number, or -1; with 0 it is not looked at.

    Returns
    -------
    Rows
        Blocks of `Sequences`: floats, or symbols as they came. y is flat, of integers.
    """
    options: dict[str, Any] = {
        "kind": kind,
        "allow_nan": estimator.capabilities.missing,
        "n_states": n_states,
    }
    if isinstance(X, Batches | Iterator):
        return _stream(estimator, X, y, sample_weight, reset, repeatable, options)
    if is_dask(X):
        return _bag(estimator, X, y, sample_weight, reset, options)
    items, _ = as_list(X, kind)
    options |= _features(estimator, items, kind, reset)
    block = check_block(Block(X, y, sample_weight), **options)
    if not len(block.X):
        raise ValueError("sample_weight is zero for every sequence: there is nothing to learn from")
    return SequenceRows(*block)


def as_list(X: Any, kind: Kind) -> tuple[list[Any], bool]:
    """Give the sequences as a list, and say whether X was a single one."""
    if isinstance(X, list | tuple) and not X:
        return [], False
    depth = _depth(X)
    if isinstance(X, str | bytes | dict | set) or depth == 0:
        raise ValueError(f"X must be a sequence or a list of sequences; got {type(X).__name__}")
    if kind == "symbols":
        if isinstance(X, np.ndarray) and X.ndim == 2:
            if X.shape[1] != 1:
                raise ValueError(
                    f"a sequence of symbols has shape (T,) or (T, 1); got {X.shape}: several come "
                    "as a list, list(X)"
                )
            return [X], True
        return (list(X), False) if depth > 1 else ([X], True)
    if isinstance(X, list | tuple) and getattr(X[0], "ndim", None) == 1:
        raise ValueError(
            "X is a list of one-dimensional arrays: for one sequence of vectors give np.vstack(X), "
            "for several sequences of numbers [x.reshape(-1, 1) for x in X]"
        )
    return (list(X), False) if depth > 2 else ([X], True)


def _depth(thing: Any) -> int:
    """How often it can be indexed: lists by their first items, arrays by their dimensions."""
    if isinstance(thing, list | tuple) or (
        isinstance(thing, np.ndarray) and thing.dtype == object and thing.ndim == 1
    ):
        return 1 + (_depth(thing[0]) if len(thing) else 0)
    return int(getattr(thing, "ndim", 0))


def _features(estimator: Any, items: list[Any], kind: Kind, reset: bool) -> dict[str, Any]:
    """How many numbers a step has, and their names: those of the first sequence."""
    if not items:
        raise ValueError("the list holds no sequence, so there is nothing to learn from")
    if kind == "symbols":
        return {"n_features": 1, "names": None}
    if _depth(items[0]) != 2:
        raise ValueError(
            f"a sequence of vectors must be 2D, of shape (T, d); got {_depth(items[0])} dimensions:"
            " reshape a series of single numbers with X.reshape(-1, 1)"
        )
    validate_data(estimator, items[0], reset=reset, skip_check_array=True)
    names = getattr(estimator, "feature_names_in_", None)
    return {"n_features": estimator.n_features_in_, "names": names}


def check_block(
    block: Block, *, kind: Kind, n_features: int, names: Any, allow_nan: bool, n_states: int
) -> Block:
    """Lay the sequences of a block one after the other, checked, with their states and weights."""
    items, single = as_list(block.X, kind)
    weight, y = _weights(block.weight, len(items)), block.y
    if weight is not None and not weight.all():  # a weight of zero is an absent sequence
        kept = np.flatnonzero(weight)
        y = None if y is None else [([y] if single else y)[i] for i in kept]
        items, weight, single = [items[i] for i in kept], weight[kept], False
    arrays = [_checked(i, item, kind, n_features, names, allow_nan) for i, item in enumerate(items)]
    lengths = [len(a) for a in arrays]
    if kind == "vectors":
        empty = np.zeros((0, n_features))
        values = arrays[0] if len(arrays) == 1 else np.concatenate(arrays or [empty])
        finite: Any = "allow-nan" if allow_nan else True
        if len(values):
            values = check_array(values, dtype=FLOATS, ensure_all_finite=finite, input_name="X")
    else:
        values = _joined(arrays)
    sequences = Sequences(values, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))
    states = _states(y, sequences, single, n_states) if n_states else None
    return Block(sequences, states, weight)


def _checked(
    i: int, item: Any, kind: Kind, n_features: int, names: Any, allow_nan: bool
) -> np.ndarray:
    """One sequence as an array; an error says which."""
    try:
        reject_hidden(X=item)
        columns = getattr(item, "columns", None)
        if names is not None and columns is not None and list(columns) != list(names):
            raise ValueError(f"has columns {list(columns)}; the first had {list(names)}")
        if kind == "symbols":
            array = symbols_of(item)
        elif type(item) is np.ndarray and item.ndim == 2 and item.dtype in FLOATS:
            array = item  # looked at once, with all the others
        else:
            finite: Any = "allow-nan" if allow_nan else True
            array = check_array(
                item, dtype=FLOATS, ensure_all_finite=finite, input_name="X", ensure_min_samples=0
            )
        if kind == "vectors" and array.shape[1] != n_features:
            raise ValueError(f"has {array.shape[1]} features, and {n_features} are expected")
        if not len(array):
            raise ValueError("0 samples: it is empty; drop it from the list")
    except (TypeError, ValueError) as error:
        kind_of = TypeError if isinstance(error, TypeError) else ValueError
        raise kind_of(f"sequence {i}: {error}") from error
    return array


def symbols_of(item: Any) -> np.ndarray:
    """One sequence of labels, of one type or as objects."""
    if hasattr(item, "to_numpy"):
        item = item.to_numpy()
    if isinstance(item, np.ndarray):
        array = item[:, 0] if item.ndim == 2 and item.shape[1] == 1 else item
    elif isinstance(item, list | tuple):
        one_type = len({type(x) for x in item}) == 1 and isinstance(item[0], str | int | float)
        array = np.array(item) if one_type else _objects(item)
    else:
        raise ValueError(f"a sequence of symbols is a list or an array; got {type(item).__name__}")
    if array.ndim != 1 or array.dtype.kind not in "biufUO":
        raise ValueError(f"symbols have shape (T,); got {array.shape} of {array.dtype}")
    if array.dtype.kind == "f" and np.isinf(array).any():
        raise ValueError("infinity is no symbol")
    return array


def _objects(items: Any) -> np.ndarray:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _joined(arrays: list[np.ndarray]) -> np.ndarray:
    """Labels of all sequences: of one type if they are, else as objects."""
    texts = {a.dtype.kind == "U" for a in arrays}
    if not arrays or (len(texts) == 1 and not any(a.dtype.kind == "O" for a in arrays)):
        return np.concatenate(arrays) if arrays else np.zeros(0)
    return np.concatenate([_objects(a.tolist()) for a in arrays])


def _states(y: Any, X: Sequences, single: bool, n_states: int) -> np.ndarray | None:
    """The known states of every step, flat; -1 where none is known."""
    if y is None:
        return None
    parts = [y] if single else list(y)
    if [np.shape(p) for p in parts] != [(n,) for n in X.lengths]:
        raise ValueError(
            f"y must hold one state a step, as X does: sequences of lengths {X.lengths[:5]}; got "
            f"{[np.shape(p) for p in parts[:5]]}"
        )
    flat = np.concatenate([np.asarray(p) for p in parts] or [np.zeros(0)])
    if flat.dtype.kind not in "iuf" or not np.isin(flat, np.arange(-1, n_states)).all():
        raise ValueError(
            f"y must hold states 0 to {n_states - 1}, or -1 where none is known; got "
            f"{np.unique(flat)[:5]}"
        )
    return flat.astype(np.int64)


def _weights(weight: Any, n: int) -> np.ndarray | None:
    if weight is None or not n:
        return None
    check_weights(weight, LEAST_TOTAL)
    return _check_sample_weight(
        weight, np.empty((n, 1)), ensure_non_negative=True, allow_all_zero_weights=True
    )


def map_blocks(rows: Rows, function: Callable[[Block], Block]) -> Rows:
    """The sequences with a function applied to each block: once in memory, else as they pass."""
    if isinstance(rows, SequenceRows):
        return SequenceRows(*function(Block(rows.X, rows.y, rows.weight)))
    if isinstance(rows, DaskRows):
        delayed = require("dask").delayed
        return replace(rows, parts=[delayed(function)(part) for part in rows.parts])
    assert isinstance(rows, StreamRows)
    check = rows.check
    return replace(rows, first=function(rows.first), check=lambda block: function(check(block)))


def _stream(
    estimator: Any, X: Any, y: Any, weight: Any, reset: bool, repeatable: bool, options: Any
) -> StreamRows:
    stream, first, rest = open_stream(
        estimator, X, y, weight, repeatable=repeatable, of="sequences"
    )
    items, _ = as_list(first.X, options["kind"])
    options |= _features(estimator, items, options["kind"], reset)
    check: Any = functools.partial(check_block, **options)
    return StreamRows(stream, check(first), rest, check)


def _bag(estimator: Any, X: Any, y: Any, weight: Any, reset: bool, options: Any) -> DaskRows:
    parts = open_bags(X, y, weight, of="sequences")
    first = X.take(1, npartitions=-1)
    options |= _features(estimator, list(first), options["kind"], reset)
    check: Any = functools.partial(check_block, **options)
    made = delayed_blocks(parts, check)
    return DaskRows(made, options["n_features"], np.dtype(float), 1)
