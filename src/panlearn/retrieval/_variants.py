r"""The forms of BM25: how rare a word is, and how its count saturates.

A word t that a document D holds f times adds :math:`\mathrm{idf}(t)\, s(f, \ell)` to its score,
where :math:`\ell = 1 - b + b |D| / \overline{|D|}` is the relative length of the document.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Name = Literal["lucene", "robertson", "atire", "bm25l", "bm25+", "bm25okapi"]


def _plain(f: Any, length: Any, k1: float, delta: float) -> Any:
    """Tends to 1: f / (f + k1 l)."""
    return f / (f + k1 * length)


def _scaled(f: Any, length: Any, k1: float, delta: float) -> Any:
    """Tends to k1 + 1: (k1 + 1) f / (f + k1 l)."""
    return (k1 + 1) * f / (f + k1 * length)


def _shifted(f: Any, length: Any, k1: float, delta: float) -> Any:
    """(k1 + 1) (f / l + delta) / (k1 + f / l + delta): long documents lose less."""
    relative = f / length + delta
    return (k1 + 1) * relative / (k1 + relative)


def _shift(k1: float, delta: float) -> float:
    """(k1 + 1) delta / (k1 + delta), of f = 0."""
    return (k1 + 1) * delta / (k1 + delta) if delta else 0.0


def _raised(f: Any, length: Any, k1: float, delta: float) -> Any:
    """(k1 + 1) f / (f + k1 l) + delta."""
    return _scaled(f, length, k1, delta) + delta


def _odds(df: np.ndarray, n: int) -> np.ndarray:
    return (n - df + 0.5) / (df + 0.5)


def _idf_okapi(df: np.ndarray, n: int, epsilon: float) -> np.ndarray:
    """ln((N - df + 1/2) / (df + 1/2)); where negative, a fraction of the mean of all words."""
    idf = np.log(_odds(df, n))
    return np.where(idf < 0, epsilon * idf.mean() if len(idf) else 0.0, idf)


@dataclass(frozen=True)
class Variant:
    """One form: its idf, its saturation, the delta of its paper, and s(0), for a word not there."""

    idf: Callable[[np.ndarray, int, float], np.ndarray]
    saturation: Callable[[Any, Any, float, float], Any]
    delta: float = 0.0
    absent: Callable[[float, float], float] = lambda k1, delta: 0.0


VARIANTS: dict[str, Variant] = {
    "lucene": Variant(lambda df, n, _: np.log1p(_odds(df, n)), _plain),
    "robertson": Variant(lambda df, n, _: np.log(np.maximum(_odds(df, n), 1)), _plain),
    "atire": Variant(lambda df, n, _: np.log(n / df), _scaled),
    "bm25l": Variant(lambda df, n, _: np.log((n + 1) / (df + 0.5)), _shifted, 0.5, _shift),
    "bm25+": Variant(lambda df, n, _: np.log((n + 1) / df), _raised, 1.0, lambda k1, delta: delta),
    "bm25okapi": Variant(_idf_okapi, _scaled),
}
