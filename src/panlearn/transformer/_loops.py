"""What the jobs of a step do, in compiled loops: norm, product, attention, activation.

Each takes a part of its rows, columns or heads, so that threads share it, and gives the same bits
however many there are: no sum runs over two parts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from panlearn.core.jit import jit
from panlearn.transformer import _halves

CONTRACTED = {"reassoc", "contract"}  # sums in any order, so that they are made of vectors
_BLOCK = 4  # rows of each quarter that stay in the cache while all rows of tokens pass


@jit(fastmath={"contract"})
def exponential(v: Any) -> Any:
    """e^v to a unit in the last place; zero below -87, e^88 above 88.

    As 2^n e^r with a polynomial in r (Cephes' expf), which loops work out eight at a time; the C
    library's is a call for each.
    """
    given, v = v, min(max(v, np.float32(-87)), np.float32(88))
    n = np.int32(np.int32(v * np.float32(1.44269504) + np.float32(128.5)) - np.int32(128))
    whole = np.float32(n)
    # log 2 in two parts, of which the first times n is exact
    r = v - whole * np.float32(0.693359375) + whole * np.float32(2.12194440e-4)
    p = np.float32(1.9875691500e-4)
    p = p * r + np.float32(1.3981999507e-3)
    p = p * r + np.float32(8.3334519073e-3)
    p = p * r + np.float32(4.1665795894e-2)
    p = p * r + np.float32(1.6666665459e-1)
    p = p * r + np.float32(5.0000001201e-1)
    p = p * r * r + r + np.float32(1)
    p = np.float32(0) if given < np.float32(-87) else p
    return p * np.int32(np.int32(n + np.int32(127)) << np.int32(23)).view(np.float32)


@jit(fastmath=CONTRACTED)
def multiply(
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
    made: np.ndarray,
    low: int,
    high: int,
) -> None:
    """Columns of x weight' + bias: those of each quarter from `low` to `high`.

    Rows of the matrix that are multiplied together stand far from each other. A core fetches ahead
    in several places at once: from four it reads half as much again as from one. What is left of
    four quarters belongs to the end of the last.
    """
    apart, fours = len(weight) // 4, len(x) - len(x) % 4
    for first in range(low, min(high, apart), _BLOCK):
        last = min(first + _BLOCK, high)
        for i in range(0, fours, 4):
            for j in range(first, last):
                _multiply_tile(x, weight, bias, made, i, j, j + 2 * apart)
                _multiply_tile(x, weight, bias, made, i, j + apart, j + 3 * apart)
        for i in range(fours, len(x)):
            for j in range(first, last):
                _multiply_one(x[i], weight, bias, made[i], j)
    if high >= apart:
        for j in range(4 * apart, len(weight)):
            for i in range(len(x)):
                made[i, j] = _dot(x[i], weight[j]) + bias[j]


@jit(fastmath=CONTRACTED)
def _multiply_one(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, made: np.ndarray, j: int
) -> None:
    """One row with four of the weights."""
    apart = len(weight) // 4
    j1, j2, j3 = j + apart, j + 2 * apart, j + 3 * apart
    w0, w1, w2, w3 = weight[j], weight[j1], weight[j2], weight[j3]
    s0 = s1 = s2 = s3 = np.float32(0)
    for k in range(len(x)):
        s0 += x[k] * _halves.number(w0[k])
        s1 += x[k] * _halves.number(w1[k])
        s2 += x[k] * _halves.number(w2[k])
        s3 += x[k] * _halves.number(w3[k])
    made[j], made[j1] = s0 + bias[j], s1 + bias[j1]
    made[j2], made[j3] = s2 + bias[j2], s3 + bias[j3]


@jit(fastmath=CONTRACTED)
def _multiply_tile(
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
    made: np.ndarray,
    i: int,
    j0: int,
    j1: int,
) -> None:
    """Four rows with two of the weights.

    Eight sums hide how long an addition takes, and with the six vectors that they are made of they
    fit into the sixteen registers.
    """
    x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
    w0, w1 = weight[j0], weight[j1]
    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = np.float32(0)
    for k in range(len(w0)):
        a, b = _halves.number(w0[k]), _halves.number(w1[k])
        a0 += x0[k] * a
        a1 += x1[k] * a
        a2 += x2[k] * a
        a3 += x3[k] * a
        b0 += x0[k] * b
        b1 += x1[k] * b
        b2 += x2[k] * b
        b3 += x3[k] * b
    made[i, j0], made[i, j1] = a0 + bias[j0], b0 + bias[j1]
    made[i + 1, j0], made[i + 1, j1] = a1 + bias[j0], b1 + bias[j1]
    made[i + 2, j0], made[i + 2, j1] = a2 + bias[j0], b2 + bias[j1]
    made[i + 3, j0], made[i + 3, j1] = a3 + bias[j0], b3 + bias[j1]


@jit(fastmath=CONTRACTED)
def _dot(x: np.ndarray, w: np.ndarray) -> Any:
    total = np.float32(0)
    for k in range(len(x)):
        total += x[k] * _halves.number(w[k])
    return total


@jit(fastmath=CONTRACTED, error_model="numpy")
def norm_row(
    row: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
    epsilon: Any,
    rms: bool,
    made: np.ndarray,
) -> None:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias; with `rms` zero is the mean."""
    n, mean, square = len(row), np.float32(0), np.float32(0)
    if not rms:
        for k in range(n):
            mean += row[k]
        mean /= np.float32(n)
    for k in range(n):
        square += (row[k] - mean) * (row[k] - mean)
    scale = np.float32(1) / np.sqrt(square / np.float32(n) + epsilon)
    for k in range(n):
        made[k] = (row[k] - mean) * scale * weight[k] + bias[k]


@jit(fastmath=CONTRACTED)
def normed(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, epsilon: Any, rms: bool
) -> np.ndarray:
    """Norms of rows."""
    made = np.empty_like(x)
    for i in range(len(x)):
        norm_row(x[i], weight, bias, epsilon, rms, made[i])
    return made


@jit
def turn(head: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> None:
    """Turn the two halves of a head by angles."""
    half = len(cos)
    for k in range(half):
        a, b = head[k], head[k + half]
        head[k] = a * cos[k] - b * sin[k]
        head[k + half] = a * sin[k] + b * cos[k]


@jit(fastmath=CONTRACTED)
def score(query: np.ndarray, keys: np.ndarray, scores: np.ndarray) -> None:
    """Products of a query with keys, divided by the root of their size."""
    scale = np.float32(1 / math.sqrt(len(query)))
    for t in range(len(keys)):
        scores[t] = _dot(query, keys[t]) * scale


@jit(fastmath=CONTRACTED, error_model="numpy")
def softmax(scores: np.ndarray) -> None:
    """Numbers in proportion to the exponentials of scores, of sum one."""
    highest, total = np.float32(-np.inf), np.float32(0)
    for score in scores:
        highest = max(highest, score)
    for t in range(len(scores)):
        scores[t] = exponential(scores[t] - highest)
        total += scores[t]
    for t in range(len(scores)):
        scores[t] /= total


@jit(fastmath=CONTRACTED)
def average(weights: np.ndarray, values: np.ndarray, made: np.ndarray) -> None:
    """The sum of values times their weights."""
    made[:] = np.float32(0)
    fours = len(values) - len(values) % 4
    for t in range(0, fours, 4):  # what is made is read and written once for four
        w0, w1, w2, w3 = weights[t], weights[t + 1], weights[t + 2], weights[t + 3]
        v0, v1, v2, v3 = values[t], values[t + 1], values[t + 2], values[t + 3]
        for k in range(len(made)):
            near = w0 * _halves.number(v0[k]) + w1 * _halves.number(v1[k])
            made[k] += near + w2 * _halves.number(v2[k]) + w3 * _halves.number(v3[k])
    for t in range(fours, len(values)):
        w0, v0 = weights[t], values[t]
        for k in range(len(made)):
            made[k] += w0 * _halves.number(v0[k])


@jit(fastmath=CONTRACTED, error_model="numpy")
def gelu_row(x: np.ndarray, made: np.ndarray) -> None:
    """X sigma(sqrt(8 / pi) (x + 0.044715 x^3)), which is the approximation by tanh."""
    linear, cubic = np.float32(math.sqrt(8 / math.pi)), np.float32(0.044715)
    for k in range(len(made)):
        v = x[k]
        made[k] = v / (np.float32(1) + exponential(-linear * (v + cubic * v * v * v)))


@jit
def relu_row(x: np.ndarray, made: np.ndarray) -> None:
    """The positive part."""
    for k in range(len(made)):
        made[k] = max(x[k], np.float32(0))


@jit(fastmath=CONTRACTED, error_model="numpy")
def swiglu_row(x: np.ndarray, made: np.ndarray) -> None:
    """The first half, through silu, times the second."""
    half = len(made)
    for k in range(half):
        made[k] = x[k] / (np.float32(1) + exponential(-x[k])) * x[half + k]
