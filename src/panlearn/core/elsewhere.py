"""Answers where the rows are: of a Dask collection a Dask collection, of a stream a stream."""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from panlearn.core.capabilities import source_of
from panlearn.core.extras import require
from panlearn.core.sources import Batches, as_batches, is_dask, partitions

Answer = Callable[[Any], Any]


def answers_elsewhere(model: Any, name: str, X: Any) -> Any:
    """The answer to rows that are not in memory, or None if they are.

    Parameters
    ----------
    model : Estimator
        A fitted model.
    name : str
        The method that was called with X alone.
    X : object
        A Dask array or frame, if the class learns from Dask: the answer is one too, and nothing is
        computed yet. A stream of batches, if it learns from streams and transforms: a stream of
        transformed batches, whose targets and weights go along.
    """
    sources = model.capabilities.sources
    if is_dask(X):
        rows = hasattr(X, "chunks") or hasattr(X, "columns")
        return _lazily(model, name, X) if rows and "dask" in sources else None
    if name != "transform" or "stream" not in sources:
        return None
    stream = as_batches(X) if source_of(model, X) == "stream" else None
    return None if stream is None else _streamed(getattr(_frozen(model), name), stream)


def anywhere(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method of rows answer where they are."""

    @functools.wraps(method)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) + len(kwargs) == 1:
            X = args[0] if args else kwargs.get("X")
            if (found := answers_elsewhere(self, method.__name__, X)) is not None:
                return found
        return method(self, *args, **kwargs)

    return run


def _frozen(model: Any) -> Any:
    """The model as it is now: what is answered later must not follow a later fit."""
    return copy.copy(model)


def _streamed(answer: Answer, stream: Batches) -> Batches:
    def walk() -> Iterator[tuple[Any, Any, Any]]:
        for block in stream:
            yield answer(block.X), block.y, block.weight

    if stream.repeatable:
        return Batches(walk)
    batches = iter(stream)
    first = next(batches, None)
    if first is not None and np.ndim(first.X) < 2:
        raise ValueError(
            "a batch is a 2D table of rows, and the stream gives single rows; give np.vstack(rows)"
        )
    rest = batches if first is None else itertools.chain([first], batches)
    return Batches((answer(block.X), block.y, block.weight) for block in rest)


def _lazily(model: Any, name: str, X: Any) -> Any:
    """One task a partition; width and type of the answer are those for a row that is made up."""
    da, delayed = require("dask.array"), require("dask").delayed
    model._require_fitted()
    answer = getattr(_frozen(model), name)
    parts = partitions(X)
    rows = X.chunks[0] if hasattr(X, "chunks") else (np.nan,) * len(parts)
    example = _example(answer, X, parts)
    run = delayed(_answer_block, pure=False)
    blocks = [run(answer, part, example[:0]) for part in parts]
    if hasattr(example, "iloc"):
        return require("dask.dataframe").from_delayed(blocks, meta=example.iloc[:0])
    width = example.shape[1:]
    arrays = [
        da.from_delayed(block, (n, *width), meta=example[:0])
        for block, n in zip(blocks, rows, strict=True)
    ]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)


def _example(answer: Answer, X: Any, parts: list[Any]) -> Any:
    """An answer to some row: one of zeros, or where that is none, the first that there is."""
    try:
        if hasattr(X, "columns"):
            return answer(X._meta_nonempty)
        return answer(np.zeros((1, X.shape[1]), X.dtype))
    except (TypeError, ValueError):
        for part in parts:
            first = part.compute()[:1]
            if first.shape[0]:
                return answer(first)
        raise


def _answer_block(answer: Answer, block: Any, nothing: Any) -> Any:
    """The answer to a partition, which may be empty."""
    if not block.shape[0]:
        return nothing
    found = answer(block)
    return found.tocsr() if sparse.issparse(found) else found
