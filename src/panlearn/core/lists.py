"""Lists of things that are not rows, such as sequences and documents, in streams and Dask bags."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from panlearn.core.capabilities import require_weighing
from panlearn.core.extras import require
from panlearn.core.sources import Batches, Block


def open_stream(
    estimator: Any, X: Any, y: Any, weight: Any, *, repeatable: bool, of: str
) -> tuple[Batches, Block, Iterator[Block]]:
    """Open a stream of lists of things such as "documents": it, its first block, and the rest."""
    stream = X if isinstance(X, Batches) else Batches(X)
    if y is not None or weight is not None:
        raise ValueError(
            f"with a stream, y and sample_weight come in the batches: give tuples (list of {of}, "
            "y, sample_weight)"
        )
    if repeatable and not stream.repeatable:
        raise ValueError(
            f"{type(estimator).__name__} walks the {of} several times and this iterator can be "
            "walked once; give panlearn.Batches(function that returns a fresh iterator)"
        )
    rest = iter(stream)
    first = next(rest, None)
    if first is None:
        raise ValueError("the stream of batches is empty, so there is nothing to learn from")
    require_weighing(estimator, first.weight)
    return stream, first, rest


def open_bags(X: Any, y: Any, weight: Any, *, of: str) -> list[tuple[Any, ...]]:
    """Open Dask bags of things such as "documents": the delayed X, y and weight a partition."""
    if hasattr(X, "chunks") or hasattr(X, "columns"):
        raise ValueError(
            f"X is a Dask {type(X).__name__}, which does not say where one of the {of} ends; give "
            f"a dask.bag of {of}"
        )
    bags = [X, y, weight]
    if any(b is not None and not hasattr(b, "npartitions") for b in bags):
        raise ValueError("X is a Dask bag, so y and sample_weight must be bags too")
    if len({b.npartitions for b in bags if b is not None}) > 1:
        raise ValueError("X, y and sample_weight have different partitions; repartition them alike")
    columns = [[None] * X.npartitions if b is None else b.to_delayed() for b in bags]
    return list(zip(*columns, strict=True))


def delayed_blocks(parts: list[tuple[Any, ...]], check: Callable[[Block], Block]) -> list[Any]:
    """One delayed block for each of the `parts` that `open_bags` gives."""
    make = require("dask").delayed(
        lambda *part: check(Block(*(None if column is None else list(column) for column in part)))
    )
    return [make(*part) for part in parts]
