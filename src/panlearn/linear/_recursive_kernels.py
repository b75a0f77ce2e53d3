"""The walk of recursive least squares over the rows of a block."""

from __future__ import annotations

import numpy as np

from panlearn.core.jit import jit

# Squares between these neither overflow nor lose digits to underflow.
SMALL, LARGE = 1e-280, 1e280


@jit(error_model="numpy", fastmath={"contract"})
def absorb(triangle, X, y, noise, past) -> None:  # noqa: ANN001
    r"""Rotate rows, one after the other, into a triangular system, in place.

    The system R u = z, of the shape (D, D + t) with R in its first columns and z in the others,
    has the least squares solution of all rows so far. Before each row it is weighed by the root
    of the past; then Givens rotations of R with the row :math:`(x^\top, y) / \sqrt r` make the
    entries of the latter zero from left to right, which keeps :math:`R^\top R` and
    :math:`R^\top z` the sums that they are.

    X is (n, D), y is (n, t), noise r and past f are (n,). A row of infinite noise changes nothing.
    """
    size, width = triangle.shape
    row = np.empty(width)
    for i in range(X.shape[0]):
        if noise[i] == np.inf:
            continue
        if past[i] != 1.0:
            triangle *= np.sqrt(past[i])
        deviation = np.sqrt(noise[i])
        for k in range(size):
            row[k] = X[i, k] / deviation
        for k in range(size, width):
            row[k] = y[i, k - size] / deviation
        for j in range(size):
            below = row[j]
            if below == 0.0:
                continue
            above = triangle[j, j]
            square = above * above + below * below
            length = np.sqrt(square) if SMALL < square < LARGE else np.hypot(above, below)
            cosine, sine = above / length, below / length
            triangle[j, j] = length
            for k in range(j + 1, width):
                upper = triangle[j, k]
                triangle[j, k] = cosine * upper + sine * row[k]
                row[k] = cosine * row[k] - sine * upper
