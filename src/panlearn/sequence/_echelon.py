"""Lower echelon forms: triangular factors of covariances that may be singular."""

from __future__ import annotations

import numpy as np

from panlearn.core.jit import jit

# What is left of a row, beside the numbers that it was made of, is rounding if it is less.
ROUNDING = 1e-13


@jit(_nrt=False)
def triangularise(A: np.ndarray, rows: int, columns: int, scale: np.ndarray) -> None:
    """Bring A[:rows, :columns] to lower echelon form by reflections of its columns, in place.

    Each row takes the next column for its pivot, which is positive; or none if what the rows above
    leave of it is rounding, beside its entry of `scale`: that is then zero.
    """
    place = 0
    for i in range(rows):
        if place == columns:
            return
        tail = 0.0
        for c in range(place + 1, columns):
            tail += A[i, c] * A[i, c]
        head = A[i, place]
        norm = np.sqrt(head * head + tail)
        if norm <= ROUNDING * scale[i]:
            for c in range(place, columns):
                A[i, c] = 0.0
            continue
        if tail > 0.0:
            # v = row + sign(head) norm e_i, so that nothing cancels
            pivot = head + norm if head >= 0.0 else head - norm
            factor = 2.0 / (tail + pivot * pivot)
            for r in range(i + 1, rows):
                dot = A[r, place] * pivot
                for c in range(place + 1, columns):
                    dot += A[r, c] * A[i, c]
                dot *= factor
                A[r, place] -= dot * pivot
                for c in range(place + 1, columns):
                    A[r, c] -= dot * A[i, c]
            A[i, place] = -norm if head >= 0.0 else norm
            for c in range(place + 1, columns):
                A[i, c] = 0.0
        if A[i, place] < 0.0:
            for r in range(i, rows):
                A[r, place] = -A[r, place]
        place += 1


@jit(_nrt=False)
def clear(A: np.ndarray, rows: int, first: int, place: int, scale: np.ndarray) -> None:
    """Empty rows from `first` on, right of `place`, where all that is left there is rounding.

    A row without a pivot may still have such numbers below the pivots of others, and what depends
    on that row alone would take them for its own.
    """
    for i in range(first, first + rows):
        total = 0.0
        for c in range(place, place + rows):
            total += A[i, c] * A[i, c]
        if np.sqrt(total) <= ROUNDING * scale[i]:
            for c in range(place, place + rows):
                A[i, c] = 0.0


@jit(_nrt=False)
def rank_of(A: np.ndarray, rows: int) -> int:
    """How many of the first rows of an echelon form have a pivot."""
    rank = 0
    for i in range(rows):
        if A[i, rank] > 0.0:
            rank += 1
    return rank


@jit(_nrt=False)
def sizes(S: np.ndarray, out: np.ndarray) -> None:
    """The norms of the rows of a lower triangular factor: standard deviations."""
    for i in range(len(S)):
        total = 0.0
        for j in range(i + 1):
            total += S[i, j] * S[i, j]
        out[i] = np.sqrt(total)


@jit(_nrt=False)
def divide(B: np.ndarray, S: np.ndarray, C: np.ndarray, pivots: np.ndarray) -> None:
    """Solve C S = B, with S in echelon form; columns of C without a pivot are zero.

    `pivots` is memory for the rows of S that have one.
    """
    n, rank = len(S), 0
    for i in range(n):
        if S[i, rank] > 0.0:
            pivots[rank] = i
            rank += 1
    for i in range(len(C)):
        for j in range(n):
            C[i, j] = 0.0
        for j in range(rank - 1, -1, -1):
            value = B[i, j]
            for k in range(j + 1, rank):
                value -= C[i, pivots[k]] * S[pivots[k], j]
            C[i, pivots[j]] = value / S[pivots[j], j]
