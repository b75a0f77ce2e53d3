"""The best split of a node among its features, on sorted rows or on bins; compiled."""

from __future__ import annotations

import numpy as np

from panlearn.core.jit import jit
from panlearn.core.splitmix import next_below
from panlearn.tree._bin_split import best_bin_split
from panlearn.tree._growth import Columns
from panlearn.tree._rows import SMALL, sort_by_bin
from panlearn.tree._split import (
    ABSOLUTE_ERROR,
    MISSING,
    TOP,
    Limits,
    Node,
    Targets,
    Work,
    best_split,
)


@jit(error_model="numpy", _nrt=False)
def search(
    columns: Columns,
    inside: np.ndarray,
    targets: Targets,
    local: Targets,
    node: Node,
    criterion: int,
    limits: Limits,
    work: Work,
    candidates: np.ndarray,
    state: np.ndarray,
) -> tuple[float, int, int, int, bool]:
    """The best split of the rows of a node: its score, feature, ends of sides, missing values left.

    `candidates` are the features in any order, and `state` is that of their drawing.
    """
    d, size, start = len(candidates), len(inside), node.start
    presorted = columns.order.shape[1] > 0
    medians = criterion == ABSOLUTE_ERROR
    # the rows of a node of bins are side by side in `local`, from where the node begins
    own = targets if presorted or medians else local
    if medians:
        for o in range(len(targets.order)):
            for i in range(size):
                work.ranks[o, targets.order[o, start + i]] = i
    best, feature, low, high, missing_left = -np.inf, -2, -1, -1, False
    split_seen = False
    for drawn in range(d):
        if drawn >= limits.max_features and split_seen:
            break
        if limits.max_features < d:  # the next of a random permutation
            state[0], swap = next_below(state[0], d - drawn)
            swap += drawn
            candidates[drawn], candidates[swap] = candidates[swap], candidates[drawn]
        j = candidates[drawn]
        sign = columns.sign[j] if len(columns.sign) > 0 else 0
        if not presorted and not medians and size > SMALL:
            score, below, above, to_left = best_bin_split(
                columns.bins[:, j],
                inside,
                local,
                node,
                sign,
                criterion,
                limits,
                work.sides,
                work.histogram,
                work.counts,
                work.line,
            )
            if below == -2:
                continue
        else:
            keys, rows = work.keys, work.places[:size]
            if presorted:
                keys, rows = columns.ranks[j], columns.order[j, start : start + size]
            else:
                sort_by_bin(columns.bins[:, j], inside, start, keys, rows, work.counts)
                for i in range(size if medians else 0):
                    rows[i] = inside[rows[i] - start]
                    b = columns.bins[rows[i], j]
                    keys[rows[i]] = b if b < MISSING else TOP
            if keys[rows[0]] == keys[rows[-1]]:
                continue
            score, place, to_left = best_split(
                keys,
                rows,
                own,
                node,
                sign,
                criterion,
                limits,
                work.sides,
                work.line,
                work.ranks,
                work.errors,
            )
            below, above = -1, -1
            if place >= 0:
                last = place + 1 == size or keys[rows[place + 1]] == TOP
                below = rows[place] if presorted else keys[rows[place]]
                if not last:
                    above = rows[place + 1] if presorted else keys[rows[place + 1]]
        split_seen = True
        if score > best + node.slack:
            best, feature, low, high, missing_left = score, j, below, above, to_left
    return best, feature, low, high, missing_left
