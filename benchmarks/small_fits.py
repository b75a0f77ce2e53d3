"""What a newcomer feels: the time to fit 200 rows of 10 features, many times a round.

The classes are those of `predictions`, each beside scikit-learn's.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.harness import Workload
from benchmarks.predictions import Pair, pairs, training

ROUND = 0.03  # seconds of a round at least, as far as `MOST` calls take that long
MOST = 30


def calls_of(pair: Pair) -> int:
    """How many fits of the peer fill a round."""
    data = training(pair.data)
    pair.theirs.fit(*data)
    start = time.perf_counter()
    pair.theirs.fit(*data)
    return max(1, min(MOST, int(ROUND / (time.perf_counter() - start))))


def prepared(pair: Pair) -> tuple[Any, ...]:
    return *training(pair.data), calls_of(pair)


def fitted(model: Any) -> Any:
    """What a contender does: it learns the same rows so many times."""

    def run(data: tuple[Any, ...]) -> Any:
        X, y, calls = data
        for _ in range(calls):
            model.fit(X, y)
        return model

    return run


def quality(data: tuple[Any, ...], model: Any) -> dict[str, float]:
    X, y, calls = data
    found = {"fits": float(calls)}
    if hasattr(model, "score"):
        return found | {"score": float(model.score(X, y))}
    return found | {"error": float(getattr(model, "reconstruction_err_", 0.0))}


def workloads() -> Iterator[Workload]:
    for pair in pairs():
        name = type(pair.ours).__name__
        yield Workload(
            f"{name} on 200 x 10",
            name,
            functools.partial(prepared, pair),
            {"panlearn": fitted(pair.ours), "scikit-learn": fitted(pair.theirs)},
            quality,
        )
