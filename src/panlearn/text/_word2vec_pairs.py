"""What word vectors are learned from: the words of a text that are kept, and pairs of them."""

from __future__ import annotations

import numpy as np

from panlearn.core.jit import jit
from panlearn.core.splitmix import next_uniform

A_WORD, A_REACH = 5, 4  # microseconds that Python takes to draw a word, and to pair it a word away


@jit(_nrt=False)
def uniform(state: np.ndarray) -> float:
    """A number in [0, 1); the state of the generator, one number in an array, goes on."""
    state[0], number = next_uniform(state[0])
    return number


@jit(plain=lambda ids, *rest: A_WORD * len(ids))
def subsample(
    ids: np.ndarray, offsets: np.ndarray, keep: np.ndarray, window: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The words that stay, each with probability `keep`, where documents end, and their windows.

    The window of a word reaches a number of words to either side that is drawn from 1 to `window`.
    """
    state = np.array([seed], dtype=np.uint64)
    words, reach = np.empty(len(ids), np.uint32), np.empty(len(ids), np.int64)
    ends = np.zeros(len(offsets), np.int64)
    m = 0
    for doc in range(len(offsets) - 1):
        for t in range(offsets[doc], offsets[doc + 1]):
            if keep[ids[t]] >= 1.0 or uniform(state) < keep[ids[t]]:
                words[m], reach[m] = ids[t], 1 + int(uniform(state) * window)
                m += 1
        ends[doc + 1] = m
    return words[:m], ends, reach[:m]


@jit(plain=lambda words, ends, reach, *rest: A_REACH * float(reach.sum()))
def pairs(
    words: np.ndarray, ends: np.ndarray, reach: np.ndarray, group: np.ndarray, n_groups: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Context words and words in the middle, sorted by the pair of their groups, and its edges."""
    edges = np.zeros(n_groups * n_groups + 1, np.int64)
    at = np.zeros(0, np.int64)
    context, middle = np.empty(0, np.uint32), np.empty(0, np.uint32)
    for counted in (False, True):  # a counting sort: how many pairs a block has, then the pairs
        if counted:
            at = np.empty(n_groups * n_groups, np.int64)
            for block in range(len(at)):
                at[block] = edges[block]
                edges[block + 1] += edges[block]
            context, middle = np.empty(edges[-1], np.uint32), np.empty(edges[-1], np.uint32)
        for doc in range(len(ends) - 1):
            for t in range(ends[doc], ends[doc + 1]):
                to = group[words[t]]
                for u in range(max(ends[doc], t - reach[t]), min(ends[doc + 1], t + reach[t] + 1)):
                    if u == t:
                        continue
                    block = group[words[u]] * n_groups + to
                    if counted:
                        context[at[block]], middle[at[block]] = words[u], words[t]
                        at[block] += 1
                    else:
                        edges[block + 1] += 1
    return context, middle, edges
