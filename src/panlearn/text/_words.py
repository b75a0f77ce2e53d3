"""Sorted words as arrays, and how two lists of them merge."""

from __future__ import annotations

from typing import Any

import numpy as np


def union(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Merge sorted words, and give the places of both; a batch that brings no new word is quick."""
    words, known = one, set(one.tolist())
    if new := [word for word in other.tolist() if word not in known]:
        words = as_objects(sorted([*one.tolist(), *new]))  # two sorted runs, which merge
    index = {word: i for i, word in enumerate(words.tolist())}
    first, second = (
        np.array([index[word] for word in part.tolist()], dtype=np.int64) for part in (one, other)
    )
    return words, (first, second)


def as_objects(words: Any) -> np.ndarray:
    """Words as an array of objects: NumPy's own strings are padded and lose NULs at the end."""
    array = np.empty(len(words), dtype=object)
    array[:] = words
    return array
