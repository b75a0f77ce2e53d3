"""What the jobs of a step do, in compiled loops: norm, product, attention, activation.

Each takes a part of its rows, columns or heads, so that threads share it, and gives the same bits
however many there are: no sum runs over two parts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from panlearn.core.jit import jit

CONTRACTED = {"reassoc", "contract"}  # sums in any order, so that they are made of vectors
_BLOCK = 16  # rows of a matrix that stay in the cache while all rows of tokens pass


@jit(fastmath={"contract"})
def exponential(v: Any) -> Any:
    """e^v to a unit in the last place from -87 to 88, and their values beyond (Cephes' expf).

    As 2^n e^r with a polynomial in r, which loops work out eight at a time; the C library's is a
    call for each.
    """
    v = min(max(v, np.float32(-87)), np.float32(88))
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
    return p * np.int32(np.int32(n + np.int32(127)) << np.int32(23)).view(np.float32)


@jit(fastmath=CONTRACTED)
def multiply(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, made: np.ndarray, low: int, high: int
) -> None:
    """Columns of x weight' + bias."""
    for first in range(low, high, _BLOCK):
        last = min(first + _BLOCK, high)
        _multiply_block(x, weight[first:last], bias, made, first)


@jit(fastmath=CONTRACTED)
def multiply_halves(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, made: np.ndarray, low: int, high: int
) -> None:
    """Columns of x weight' + bias, of a weight whose bits are the upper halves of numbers."""
    if len(x) == 1:
        for j in range(low, high):
            made[0, j] = _dot_halves(x[0], weight[j]) + bias[j]
        return
    wide = np.empty((_BLOCK, weight.shape[1]), np.float32)
    for first in range(low, high, _BLOCK):
        n = min(_BLOCK, high - first)
        for j in range(n):
            widen(weight[first + j], wide[j])
        _multiply_block(x, wide[:n], bias, made, first)


@jit(fastmath=CONTRACTED)
def _multiply_block(
    x: np.ndarray, w: np.ndarray, bias: np.ndarray, made: np.ndarray, first: int
) -> None:
    """Products of all rows with some rows of the weights, for columns from `first` on."""
    fours, pairs = len(x) - len(x) % 4, len(w) - len(w) % 2
    for i in range(0, fours, 4):
        for j in range(0, pairs, 2):
            _multiply_tile(x, w, bias, made, i, j, first)
    for i in range(len(x)):
        for j in range(pairs if i < fours else 0, len(w)):
            made[i, first + j] = _dot(x[i], w[j]) + bias[first + j]


@jit(fastmath=CONTRACTED)
def _multiply_tile(
    x: np.ndarray, w: np.ndarray, bias: np.ndarray, made: np.ndarray, i: int, j: int, first: int
) -> None:
    """Four rows with two of the weights.

    Eight sums hide how long an addition takes, and with the six vectors that they are made of they
    fit into the sixteen registers.
    """
    x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
    w0, w1 = w[j], w[j + 1]
    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = np.float32(0)
    for k in range(len(w0)):
        a0 += x0[k] * w0[k]
        a1 += x1[k] * w0[k]
        a2 += x2[k] * w0[k]
        a3 += x3[k] * w0[k]
        b0 += x0[k] * w1[k]
        b1 += x1[k] * w1[k]
        b2 += x2[k] * w1[k]
        b3 += x3[k] * w1[k]
    j += first
    made[i, j], made[i, j + 1] = a0 + bias[j], b0 + bias[j + 1]
    made[i + 1, j], made[i + 1, j + 1] = a1 + bias[j], b1 + bias[j + 1]
    made[i + 2, j], made[i + 2, j + 1] = a2 + bias[j], b2 + bias[j + 1]
    made[i + 3, j], made[i + 3, j + 1] = a3 + bias[j], b3 + bias[j + 1]


@jit(fastmath=CONTRACTED)
def _dot(x: np.ndarray, w: np.ndarray) -> Any:
    total = np.float32(0)
    for k in range(len(x)):
        total += x[k] * w[k]
    return total


@jit(fastmath=CONTRACTED)
def _dot_halves(x: np.ndarray, w: np.ndarray) -> Any:
    total = np.float32(0)
    for k in range(len(x)):
        total += x[k] * np.uint32(np.uint32(w[k]) << np.uint32(16)).view(np.float32)
    return total


@jit
def widen(halves: np.ndarray, made: np.ndarray) -> None:
    """Numbers of the upper halves of their bits."""
    bits = made.view(np.uint32)
    for k in range(len(halves)):
        bits[k] = np.uint32(halves[k]) << np.uint32(16)


@jit
def halve(numbers: np.ndarray, made: np.ndarray) -> None:
    """The upper halves of the bits of numbers, rounded to the nearest, to even if two are near."""
    bits = numbers.view(np.uint32)
    for k in range(len(bits)):
        odd = (bits[k] >> np.uint32(16)) & np.uint32(1)
        made[k] = (bits[k] + np.uint32(0x7FFF) + odd) >> np.uint32(16)


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


@jit(fastmath=CONTRACTED, error_model="numpy")
def mean_of_values(
    query: np.ndarray, keys: np.ndarray, values: np.ndarray, weights: np.ndarray, made: np.ndarray
) -> None:
    """Attention of one query to keys; `weights` is room for one number each."""
    n, size = keys.shape
    scale, highest = np.float32(1 / math.sqrt(size)), np.float32(-np.inf)
    for t in range(n):
        weights[t] = _dot(query, keys[t]) * scale
        highest = max(highest, weights[t])
    total = np.float32(0)
    for t in range(n):
        weights[t] = exponential(weights[t] - highest)
        total += weights[t]
    made[:] = np.float32(0)
    for t in range(n):
        w, value = weights[t] / total, values[t]
        for k in range(size):
            made[k] += w * value[k]


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
