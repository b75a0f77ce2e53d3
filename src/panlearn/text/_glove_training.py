"""AdaGrad on the logarithms of counts, the same for any number of threads.

Words are dealt into groups at random, and the entries of the matrix of counts sorted into blocks by
the groups of their two words. Blocks on a diagonal share no row of either side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from panlearn.core.jit import jit
from panlearn.core.threads import OrderedMap
from panlearn.text._word2vec_training import GROUPS

FEW = 50_000  # entries that are sooner done than handed to threads


def importance(counts: np.ndarray, n_max: float, alpha: float) -> np.ndarray:
    """The weight min(1, (n / n_max)^alpha) of each count."""
    return np.minimum(1, (counts / n_max) ** alpha)


@dataclass(frozen=True)
class Sides:
    """Vectors, biases in the last column, of words and of contexts, and their squared gradients."""

    words: np.ndarray
    contexts: np.ndarray
    word_squares: np.ndarray
    context_squares: np.ndarray

    @staticmethod
    def random(n: int, size: int, rng: np.random.Generator) -> Sides:
        """Small vectors on both sides."""
        first = (rng.random((2, n, size + 1), dtype=np.float32) - np.float32(0.5)) / size
        squares = np.ones_like(first)
        return Sides(first[0], first[1], squares[0], squares[1])


class Entries:
    """The entries of a matrix of counts, in an order drawn at random, by blocks."""

    def __init__(
        self, counts: sparse.csr_array, n_max: float, alpha: float, rng: np.random.Generator
    ) -> None:
        entries, n = counts.tocoo(), counts.shape[0]
        self.count = GROUPS if entries.nnz > FEW else 1
        group = rng.permutation(n) % self.count
        row, column = entries.coords
        order = rng.permutation(entries.nnz)
        block = (group[row] * self.count + group[column]).astype(np.uint8)[order]
        order = order[np.argsort(block, kind="stable")]
        self.edges = np.concatenate([[0], np.cumsum(np.bincount(block, minlength=self.count**2))])
        self.row, self.column = row[order].astype(np.uint32), column[order].astype(np.uint32)
        self.target = np.log(entries.data[order]).astype(np.float32)
        self.weight = importance(entries.data[order], n_max, alpha).astype(np.float32)

    def epoch(self, sides: Sides, rate: float, run: OrderedMap) -> float:
        """One step an entry, in place; returns the mean of the losses that were met."""

        def train(block: tuple[int, int]) -> float:
            at = block[0] * self.count + block[1]
            part = slice(self.edges[at], self.edges[at + 1])
            return adagrad(
                self.row[part],
                self.column[part],
                self.target[part],
                self.weight[part],
                sides.words,
                sides.contexts,
                sides.word_squares,
                sides.context_squares,
                rate,
            )

        total = 0.0
        for shift in range(self.count):
            diagonal = [(i, (i + shift) % self.count) for i in range(self.count)]
            total += sum(run(train, diagonal))
        return total / len(self.row)


@jit(fastmath={"reassoc", "contract"})
def adagrad(
    row: np.ndarray,
    column: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    words: np.ndarray,
    contexts: np.ndarray,
    word_squares: np.ndarray,
    context_squares: np.ndarray,
    rate: float,
) -> float:
    """Steps -rate g / sqrt(sum of squares) on ½ f (x·z + b + c - log n)²; the sum of these."""
    d, total = words.shape[1] - 1, 0.0
    eta = words.dtype.type(rate)
    for at in range(len(row)):
        x, z = words[row[at]], contexts[column[at]]
        xs, zs = word_squares[row[at]], context_squares[column[at]]
        error = x[d] + z[d] - target[at]
        for f in range(d):
            error += x[f] * z[f]
        g = weight[at] * error
        total += 0.5 * g * error
        for f in range(d):
            gx, gz = g * z[f], g * x[f]
            x[f] -= eta * gx / math.sqrt(xs[f])
            z[f] -= eta * gz / math.sqrt(zs[f])
            xs[f] += gx * gx
            zs[f] += gz * gz
        x[d] -= eta * g / math.sqrt(xs[d])
        z[d] -= eta * g / math.sqrt(zs[d])
        xs[d] += g * g
        zs[d] += g * g
    return total
