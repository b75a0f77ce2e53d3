"""Single paths through a hidden chain: the most probable one, how often it steps, and draws."""

from __future__ import annotations

import numpy as np

from panlearn.core.jit import jit


@jit
def viterbi_steps(
    value: np.ndarray,
    begun: bool,
    transition: np.ndarray,
    density: np.ndarray,
    pointer: np.ndarray,
) -> None:
    """Move value_j = log b_tj + max_i (value_i + log P_ij) over steps; pointer_tj is the best i."""
    k = transition.shape[0]
    turned = transition.T.copy()
    best = np.empty(k)
    for t in range(len(density)):
        for j in range(k):
            if t > 0 or begun:
                top, where = value[0] + turned[j, 0], 0
                for i in range(1, k):
                    candidate = value[i] + turned[j, i]
                    where = i if candidate > top else where  # two selects, and no jump
                    top = candidate if candidate > top else top
                pointer[t, j] = where
            else:
                top = value[j]
            best[j] = top + density[t, j]
        for j in range(k):
            value[j] = best[j]


@jit
def trace_back(last: int, pointer: np.ndarray, path: np.ndarray) -> None:
    """Follow the pointers from the last state to the first."""
    path[-1] = last
    for t in range(len(path) - 1, 0, -1):
        path[t - 1] = pointer[t, path[t]]


@jit(plain=lambda first, transition, density, *rest: len(transition) * density.size)
def viterbi(
    first: np.ndarray,
    transition: np.ndarray,
    density: np.ndarray,
    offsets: np.ndarray,
    pointer: np.ndarray,
    path: np.ndarray,
    log_probability: np.ndarray,
) -> None:
    """The most probable path of each sequence, and the logarithm of its probability."""
    for s in range(len(offsets) - 1):
        a, b = offsets[s], offsets[s + 1]
        value = first.copy()
        viterbi_steps(value, False, transition, density[a:b], pointer[a:b])
        last = int(np.argmax(value))
        log_probability[s] = value[last]
        trace_back(last, pointer[a:b], path[a:b])


@jit(plain=lambda path, *rest: len(path))
def count_path(path: np.ndarray, offsets: np.ndarray, weight: np.ndarray, step: np.ndarray) -> None:
    """Add the weights of the sequences at the steps that their paths take."""
    for s in range(len(offsets) - 1):
        for t in range(offsets[s] + 1, offsets[s + 1]):
            step[path[t - 1], path[t]] += weight[s]


@jit(plain=lambda state, cumulative, uniform, path: 5 * len(path))
def draw_path(state: int, cumulative: np.ndarray, uniform: np.ndarray, path: np.ndarray) -> None:
    """Walk the chain from a state, one uniform number a step."""
    path[0] = state
    for t in range(1, len(path)):
        row = cumulative[path[t - 1]]
        path[t] = min(np.searchsorted(row, uniform[t] * row[-1], side="right"), len(row) - 1)
