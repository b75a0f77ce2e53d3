r"""Compiled search: the k best documents for each of many queries.

A document's score is the sum of the impacts of the words that it shares with the query. Short lists
of postings are added up in full. The lists of frequent words are long and their impacts small: once
k documents have more than all words that are left could add, no new document can come in, and those
found so far look the rest up in bit maps.
"""

from __future__ import annotations

import numpy as np

from panlearn.core.jit import jit

ONE = np.uint64(1)
LOOK = 2048
STRETCH = 128  # scores that are compared at once: in vector registers, and few have a good one


@jit
def fill_bitmaps(
    indptr: np.ndarray,
    docs: np.ndarray,
    words: np.ndarray,
    bits: np.ndarray,
    before: np.ndarray,
) -> None:
    """Mark the documents of each word in 64-bit pieces, and count the marks before each piece."""
    for row in range(len(words)):
        for j in range(indptr[words[row]], indptr[words[row] + 1]):
            bits[row, docs[j] >> 6] |= ONE << np.uint64(docs[j] & 63)
        total = np.int64(0)
        for piece in range(bits.shape[1]):
            before[row, piece] = total
            total += _ones(bits[row, piece])


@jit(inline="always")
def _ones(x: np.uint64) -> np.int64:
    """How many bits are set: sums of neighbouring pairs, fours and eights."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@jit
def _push(scores: np.ndarray, docs: np.ndarray, k: int, score: float, doc: int) -> None:
    """Put a document in the place of the worst of the heap, if it is better: (score, -doc)."""
    if score < scores[0] or (score == scores[0] and doc > docs[0]):
        return
    i = 0
    while True:
        child = 2 * i + 1
        if child >= k:
            break
        right = child + 1
        if right < k and (
            scores[right] < scores[child]
            or (scores[right] == scores[child] and docs[right] > docs[child])
        ):
            child = right
        if scores[child] > score or (scores[child] == score and docs[child] < doc):
            break
        scores[i], docs[i] = scores[child], docs[child]
        i = child
    scores[i], docs[i] = score, doc


@jit
def push_rows(products: np.ndarray, first: int, docs: np.ndarray, scores: np.ndarray) -> None:
    """Put the scores of documents first, first + 1, ... into the heap of each row."""
    k, n = docs.shape[1], products.shape[1]
    for q in range(len(products)):
        row, least = products[q], scores[q, 0]
        for start in range(0, n, STRETCH):
            stop = min(start + STRETCH, n)
            better = np.uint8(0)
            for j in range(start, stop):
                better = np.uint8(better | np.uint8(row[j] > least))
            for j in range(start, stop if better else start):
                if row[j] > least:  # documents come in order: an equal score comes too late
                    _push(scores[q], docs[q], k, row[j], first + j)
                    least = scores[q, 0]


@jit(fastmath={"reassoc", "contract"})
def search_lists(
    queries: np.ndarray,
    probed: np.ndarray,
    order: np.ndarray,
    listed: np.ndarray,
    offsets: np.ndarray,
    allowed: np.ndarray,
    places: np.ndarray,
    scores: np.ndarray,
) -> None:
    """Put into the heap of each query the vectors of the lists that it looks into.

    List j is ``listed[offsets[j] : offsets[j + 1]]``; `allowed` is a mask of these, or empty.
    `order` goes through the entries of `probed` list by list, so that a list is fetched once for
    all queries that look into it.
    """
    k = places.shape[1]
    for entry in order:
        q = entry // probed.shape[1]
        query, number, least = queries[q], probed[q, entry % probed.shape[1]], scores[q, 0]
        for i in range(offsets[number], offsets[number + 1]):
            if len(allowed) and not allowed[i]:
                continue
            vector, product = listed[i], queries.dtype.type(0)
            for t in range(len(query)):
                product += query[t] * vector[t]
            if product > least:  # places come in order: an equal product comes too late
                _push(scores[q], places[q], k, product, i)
                least = scores[q, 0]


@jit
def search(
    indptr: np.ndarray,
    docs: np.ndarray,
    impacts: np.ndarray,
    peaks: np.ndarray,
    rows: np.ndarray,
    bits: np.ndarray,
    before: np.ndarray,
    allowed: np.ndarray,
    terms: np.ndarray,
    weights: np.ndarray,
    offsets: np.ndarray,
    best_docs: np.ndarray,
    best_scores: np.ndarray,
) -> None:
    """Fill the heaps `best_docs`, `best_scores` of each query; a place left over has doc = n.

    `rows` gives the bit map of a word, or -1 if its list is short. Query q asks for
    ``terms[offsets[q] : offsets[q + 1]]``, each with a weight.
    """
    n, k = len(allowed), best_docs.shape[1]
    # one array says all of a document: -inf not met yet, NaN not allowed, else its score so far
    score = np.where(allowed, -np.inf, np.nan).astype(impacts.dtype)
    found = np.empty(n, dtype=np.int32)
    for q in range(len(offsets) - 1):
        own, weight = terms[offsets[q] : offsets[q + 1]], weights[offsets[q] : offsets[q + 1]]
        bound = np.empty(len(own))
        for i in range(len(own)):
            bound[i] = max(peaks[own[i]] * weight[i], 0.0)
            if rows[own[i]] < 0:  # added up in any case: first
                bound[i] += 1e300
        order = np.argsort(-bound)
        rest = np.zeros(len(own) + 1)  # the most that words i, i + 1, ... can add
        for i in range(len(own) - 1, -1, -1):
            rest[i] = rest[i + 1] + bound[order[i]] * (1 + 1e-6)
        heap_docs, heap_scores = best_docs[q], best_scores[q]
        count, done, floor = 0, 0, -np.inf
        while done < len(own) and not rest[done] < floor:
            term, times = own[order[done]], weight[order[done]]
            for j in range(indptr[term], indptr[term + 1]):
                doc = docs[j]
                before_this = score[doc]
                if before_this > -np.inf:
                    score[doc] = before_this + impacts[j] * times
                elif before_this == -np.inf:
                    score[doc] = impacts[j] * times
                    found[count] = doc
                    count += 1
            done += 1
            if done < len(own) and rest[done] < 1e300 and count >= k:
                heap_docs[:], heap_scores[:] = n, -np.inf
                for c in range(min(count, LOOK)):
                    _push(heap_scores, heap_docs, k, score[found[c]], found[c])
                floor = heap_scores[0]
        heap_docs[:], heap_scores[:] = n, -np.inf
        for c in range(count):
            doc = found[c]
            total = score[doc]
            score[doc] = -np.inf
            least = max(floor, heap_scores[0])
            for i in range(done, len(own)):
                if total + rest[i] < least:
                    break
                row, piece = rows[own[order[i]]], doc >> 6
                mark = ONE << np.uint64(doc & 63)
                if bits[row, piece] & mark:
                    at = before[row, piece] + _ones(bits[row, piece] & (mark - ONE))
                    total += impacts[indptr[own[order[i]]] + at] * weight[order[i]]
            if total >= least:
                _push(heap_scores, heap_docs, k, total, doc)
