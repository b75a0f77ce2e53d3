"""The best items of users."""

from __future__ import annotations

from typing import Any

import numpy as np

from panlearn.core.jit import jit
from panlearn.core.threads import OrderedMap
from panlearn.latent._row_blocks import row_blocks

USERS = 64  # whose scores of all items are formed at once


def best_items(
    users: np.ndarray,
    items: np.ndarray,
    offset: np.ndarray,
    hidden: Any,
    n: int,
    share: OrderedMap,
) -> tuple[np.ndarray, np.ndarray]:
    """Columns and scores of the n items with the largest user · item + offset.

    `hidden` is a CSR matrix whose entries are passed over; where it leaves fewer than n, hidden
    items with the score NaN fill the row. Equal scores go by the number of the item.
    """
    top = np.empty((len(users), n), dtype=np.int64)
    scores = np.empty((len(users), n), dtype=users.dtype)

    def part(block: tuple[slice, Any]) -> None:
        rows, factors = block
        products = factors @ items.T
        products += offset
        indptr = hidden.indptr[rows.start : rows.stop + 1]
        _select(products, indptr, hidden.indices, top[rows], scores[rows])

    list(share(part, row_blocks(users, USERS)))
    scores[np.isneginf(scores)] = np.nan
    return top, scores


@jit
def _select(
    scores: np.ndarray,
    indptr: np.ndarray,
    hidden: np.ndarray,
    top: np.ndarray,
    best: np.ndarray,
) -> None:
    """Keep the n largest of each row in falling order, by insertion."""
    n = top.shape[1]
    for i in range(len(scores)):
        row = scores[i]
        for at in range(indptr[i], indptr[i + 1]):
            row[hidden[at]] = -np.inf
        found = 0
        for j in range(len(row)):
            score = row[j]
            if found == n and score <= best[i, n - 1]:
                continue
            place = found if found < n else n - 1
            while place > 0 and best[i, place - 1] < score:
                best[i, place], top[i, place] = best[i, place - 1], top[i, place - 1]
                place -= 1
            best[i, place], top[i, place] = score, j
            found = min(found + 1, n)
