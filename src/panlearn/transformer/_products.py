"""Products of a few rows with the matrices of a model, in compiled loops.

A row of a matrix is read once and multiplied with all rows while it is at hand. Up to how many rows
that is quicker than BLAS was measured (decision 0015); the rule looks at nothing but sizes, since
the two are rounded differently and the same seed has to give the same text again.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from types import FunctionType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from panlearn.core import crew
from panlearn.core.jit import jit
from panlearn.core.threads import n_threads

_PART = 1 << 15  # bytes of a matrix that are worth sharing: 1.5 microseconds to read
_PATIENCE = 300  # looks at the board, some 0.1 ms: as long as to wake
_JOB = 8  # numbers that describe a product
CONTRACTED = {"reassoc", "contract"}  # sums in any order, so that they are made of vectors


class Matrix:
    """A matrix and a constant as arrays; they share their memory with the module that they are of.

    A matrix in bfloat16 stands as its bits, the upper halves of single precision.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        # products read them by their addresses: of single precision or halves, without gaps
        weight = weight.detach().contiguous()
        constant = torch.zeros(len(weight)) if bias is None else bias.detach()
        self.constant = constant.float().contiguous().numpy()
        self.halves = weight.dtype == torch.bfloat16
        self.numbers = (weight.view(torch.uint16) if self.halves else weight.float()).numpy()

    @classmethod
    def of(cls, module: Any) -> Matrix:
        """Those of a linear layer."""
        return cls(module.weight, getattr(module, "bias", None))


class Products:
    """x W' + b for a few rows x, on the threads that PyTorch was given."""

    def __init__(self) -> None:
        plain = isinstance(_help.entry, FunctionType)  # where compilation is switched off
        n_helpers = 0 if plain else min(n_threads(), torch.get_num_threads()) - 1
        self._board = crew.board(_JOB)
        # its threads start when there is work
        self._pool = ThreadPoolExecutor(max(1, n_helpers))
        self._helpers: list[Future | None] = [None] * n_helpers

    def __call__(self, x: np.ndarray, matrix: Matrix) -> np.ndarray:
        """Give the product, (n_rows, n_outputs)."""
        x = np.ascontiguousarray(x, dtype=np.float32)
        made = np.empty((len(x), len(matrix.numbers)), dtype=np.float32)
        shared = matrix.numbers.nbytes * -(-len(x) // 4) >= _PART  # four rows share what is read
        for i, helper in enumerate(self._helpers):
            if shared and (helper is None or helper.done()):
                self._helpers[i] = self._pool.submit(_help, self._board)
        if shared and self._helpers:
            _multiply_together(self._board, x, matrix.numbers, matrix.constant, made)
        else:
            multiply: Any = _multiply_halves if matrix.halves else _multiply
            multiply(x, matrix.numbers, matrix.constant, made, 0, made.shape[1])
        return made


def suits(n_rows: int, width: int) -> bool:
    """Whether loops are quicker than BLAS, for matrices of so many columns."""
    return n_rows <= (16 if width <= 512 else 12)


@jit(fastmath=CONTRACTED)
def _multiply_together(
    board: np.ndarray, x: np.ndarray, weight: np.ndarray, bias: np.ndarray, made: np.ndarray
) -> None:
    """All columns of x weight' + bias, with the help of those who look at the board."""
    job = board[crew.HEAD :]
    job[0], job[1] = x.shape
    job[2], job[3] = weight.shape[0], weight.itemsize
    job[4], job[5] = x.ctypes.data, weight.ctypes.data
    job[6], job[7] = bias.ctypes.data, made.ctypes.data
    crew.offer(board)
    while crew.unfinished(board):
        if not _take_part(board):
            crew.rest()


@jit(fastmath=CONTRACTED)
def _help(board: np.ndarray) -> None:
    """Take part in products until there have been none for a while."""
    idle = 0
    while idle < _PATIENCE:
        if _take_part(board):
            idle = 0
        else:
            idle += 1
            crew.rest()


@jit(fastmath=CONTRACTED)
def _take_part(board: np.ndarray) -> bool:
    """Work out some columns of the product that the board describes, if there are any left."""
    share = crew.take(board)
    if share < 0:
        return False
    job = board[crew.HEAD :]
    n_rows, n_inputs, n_outputs = job[0], job[1], job[2]
    x = crew.carray(crew.pointer(job[4]), (n_rows, n_inputs), np.float32)
    bias = crew.carray(crew.pointer(job[6]), (n_outputs,), np.float32)
    made = crew.carray(crew.pointer(job[7]), (n_rows, n_outputs), np.float32)
    place, shape = crew.pointer(job[5]), (n_outputs, n_inputs)
    low, high = share * n_outputs // crew.SHARES, (share + 1) * n_outputs // crew.SHARES
    if job[3] == 2:
        _multiply_halves(x, crew.carray(place, shape, np.uint16), bias, made, low, high)
    else:
        _multiply(x, crew.carray(place, shape, np.float32), bias, made, low, high)
    crew.finish(board)
    return True


@jit(fastmath=CONTRACTED)
def _multiply(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, made: np.ndarray, low: int, high: int
) -> None:
    """Columns of x weight' + bias."""
    for j in range(low, high):
        _dots(x, weight[j], bias[j], made, j)


@jit(fastmath=CONTRACTED)
def _multiply_halves(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, made: np.ndarray, low: int, high: int
) -> None:
    """Columns of x weight' + bias, of a weight whose bits are the upper halves of numbers."""
    row = np.empty(weight.shape[1], np.float32)
    bits = row.view(np.uint32)
    for j in range(low, high):
        if len(x) > 1:
            for k in range(len(row)):
                bits[k] = np.uint32(weight[j, k]) << np.uint32(16)
            _dots(x, row, bias[j], made, j)
        else:
            made[0, j] = _dot_halves(x[0], weight[j]) + bias[j]


@jit(fastmath=CONTRACTED)
def _dot_halves(x: np.ndarray, w: np.ndarray) -> Any:
    total = np.float32(0)
    for k in range(len(x)):
        total += x[k] * np.uint32(np.uint32(w[k]) << np.uint32(16)).view(np.float32)
    return total


@jit(fastmath=CONTRACTED)
def _dots(x: np.ndarray, w: np.ndarray, bias: Any, made: np.ndarray, j: int) -> None:
    """Products of all rows with one row of the weights; four of them share what is read."""
    n_rows, n = x.shape
    shared = n_rows - n_rows % 4
    for i in range(0, shared, 4):
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        s0 = s1 = s2 = s3 = np.float32(0)
        for k in range(n):
            s0 += x0[k] * w[k]
            s1 += x1[k] * w[k]
            s2 += x2[k] * w[k]
            s3 += x3[k] * w[k]
        made[i, j], made[i + 1, j] = s0 + bias, s1 + bias
        made[i + 2, j], made[i + 3, j] = s2 + bias, s3 + bias
    for i in range(shared, n_rows):
        x0, s0 = x[i], np.float32(0)
        for k in range(n):
            s0 += x0[k] * w[k]
        made[i, j] = s0 + bias


def widened(bits: np.ndarray) -> np.ndarray:
    """Numbers in single precision of the upper halves of their bits."""
    return (bits.astype(np.uint32) << 16).view(np.float32)
