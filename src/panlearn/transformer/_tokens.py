"""Loops around a token: the row that stands for it, and which one is chosen from scores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from panlearn.core.jit import jit
from panlearn.transformer import _halves
from panlearn.transformer._loops import CONTRACTED, exponential

_SUMMED = 64  # exponentials that are summed in single precision


@jit
def embed(row: np.ndarray, added: np.ndarray, made: np.ndarray) -> None:
    """The row of a token, and of its place if there is one."""
    for k in range(len(made)):
        made[k] = _halves.number(row[k])
    for k in range(len(added)):
        made[k] += added[k]


@jit
def highest(scores: np.ndarray) -> int:
    """The first of the highest scores; what is no number is the highest, as NumPy has it."""
    best, found = np.float32(-np.inf), 0
    for k in range(len(scores)):
        if not scores[k] <= best:
            best, found = scores[k], k
            if best != best:
                break
    return found


@jit(fastmath=CONTRACTED, error_model="numpy")
def draw(scores: np.ndarray, temperature: Any, uniform: float) -> tuple[int, float]:
    """The token up to which probabilities sum to a share, and its log-probability.

    Numbers in proportion to probabilities are summed by blocks, and one by one in that in which the
    token is: in the order of the vocabulary, where rounding moves borders and swaps no tokens.
    """
    n, most, total = len(scores), np.float32(-np.inf), np.float64(0)
    sums = np.empty(-(-n // _SUMMED), np.float32)
    for score in scores:
        most = max(most, score)
    for b in range(len(sums)):
        part = np.float32(0)
        for k in range(b * _SUMMED, min((b + 1) * _SUMMED, n)):
            part += exponential((scores[k] - most) / temperature)
        sums[b] = part
        total += part
    left, block = uniform * total, 0
    for b in range(len(sums)):
        if sums[b] > 0:
            block = b
            if left < sums[b]:
                break
            left -= sums[b]
    last = 0
    for k in range(block * _SUMMED, min((block + 1) * _SUMMED, n)):
        weight = exponential((scores[k] - most) / temperature)
        if weight > 0:  # the last of them even if rounding leaves something
            last = k
            if left < weight:
                break
            left -= weight
    return last, (scores[last] - most) / temperature - math.log(total)


@jit(fastmath=CONTRACTED, error_model="numpy")
def draw_each(
    scores: np.ndarray, temperature: Any, uniform: np.ndarray, chosen: np.ndarray, log: np.ndarray
) -> None:
    """Draw a token for each row of scores."""
    for i in range(len(scores)):
        chosen[i], log[i] = draw(scores[i], temperature, uniform[i])
