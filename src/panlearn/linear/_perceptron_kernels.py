"""One pass of the perceptron over rows, for several binary problems at once."""

from __future__ import annotations

import numpy as np

from panlearn.core.jit import jit


@jit
def dense_pass(
    X: np.ndarray,
    y: np.ndarray,
    order: np.ndarray,
    signs: np.ndarray,
    active: np.ndarray,
    coef: np.ndarray,
    intercept: np.ndarray,
    learn_intercept: bool,
) -> np.ndarray:
    """Walk the rows; where sign * score <= 0 add sign * row. Returns the mistakes of each problem.

    Scores are in float64, in which products of any two float32 numbers are finite.

    signs : (n_classes, n_problems), the side of a class in a problem, 0 if it takes no part.
    """
    mistakes = np.zeros(coef.shape[0], np.int64)
    for i in order:
        for c in range(coef.shape[0]):
            sign = signs[y[i], c]
            if sign == 0 or not active[c]:
                continue
            score = np.float64(intercept[c])
            for j in range(X.shape[1]):
                score += np.float64(coef[c, j]) * X[i, j]
            if not sign * score > 0:  # so that an overflow does not pass for the right side
                mistakes[c] += 1
                for j in range(X.shape[1]):
                    coef[c, j] += sign * X[i, j]
                if learn_intercept:
                    intercept[c] += sign
    return mistakes


@jit
def sparse_pass(
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    y: np.ndarray,
    order: np.ndarray,
    signs: np.ndarray,
    active: np.ndarray,
    coef: np.ndarray,
    intercept: np.ndarray,
    learn_intercept: bool,
) -> np.ndarray:
    """The same for rows of a CSR matrix; a row costs its stored entries."""
    mistakes = np.zeros(coef.shape[0], np.int64)
    for i in order:
        for c in range(coef.shape[0]):
            sign = signs[y[i], c]
            if sign == 0 or not active[c]:
                continue
            score = np.float64(intercept[c])
            for at in range(indptr[i], indptr[i + 1]):
                score += np.float64(coef[c, indices[at]]) * data[at]
            if not sign * score > 0:
                mistakes[c] += 1
                for at in range(indptr[i], indptr[i + 1]):
                    coef[c, indices[at]] += sign * data[at]
                if learn_intercept:
                    intercept[c] += sign
    return mistakes
