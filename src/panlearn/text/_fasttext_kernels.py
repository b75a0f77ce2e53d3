"""Hashed n-grams of characters and of words, and the steps of a linear classifier of low rank."""

from __future__ import annotations

import numpy as np

from panlearn.core.jit import jit
from panlearn.text._word2vec_kernels import FAST, classify


@jit
def fnv1a(text: np.ndarray, start: int, stop: int) -> np.uint32:
    """The hash FNV-1a of some bytes, read as signed, as fastText does."""
    h = np.uint32(2166136261)
    for i in range(start, stop):
        h = np.uint32(np.uint32(h ^ np.uint32(np.int8(text[i]))) * np.uint32(16777619))
    return h


@jit(plain=lambda text, offsets: 3 * len(text))
def hashes(text: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The hash of each word, without the marks < and > at its ends, as a signed number."""
    out = np.empty(len(offsets) - 1, np.int32)
    for w in range(len(out)):
        out[w] = np.int32(fnv1a(text, offsets[w] + 1, offsets[w + 1] - 1))
    return out


@jit(plain=lambda text, offsets, minn, maxn, bucket: 2 * len(text) * maxn * maxn)
def subwords(
    text: np.ndarray, offsets: np.ndarray, minn: int, maxn: int, bucket: int
) -> tuple[np.ndarray, np.ndarray]:
    """The buckets of the n-grams of minn to maxn characters of each word in UTF-8, and offsets.

    A single mark < or > is no n-gram.
    """
    found, ends = np.empty(max(maxn, 0) * len(text), np.int64), np.zeros(len(offsets), np.int64)
    m = 0
    for w in range(len(offsets) - 1):
        start, stop = offsets[w], offsets[w + 1]
        for i in range(start, stop):
            if text[i] & 0xC0 == 0x80:  # inside a character
                continue
            j, n = i, 1
            while j < stop and n <= maxn:
                j += 1
                while j < stop and text[j] & 0xC0 == 0x80:
                    j += 1
                if n >= minn and not (n == 1 and (i == start or j == stop)):
                    found[m] = np.int64(fnv1a(text, i, j)) % bucket
                    m += 1
                n += 1
        ends[w + 1] = m
    return found[:m].copy(), ends


@jit(plain=lambda ids, offsets, number, parts, *rest: 10 * len(ids))
def assemble(
    ids: np.ndarray,
    offsets: np.ndarray,
    number: np.ndarray,
    parts: np.ndarray,
    part_offsets: np.ndarray,
    hashed: np.ndarray,
    word_ngrams: int,
    bucket: int,
    n_words: int,
) -> tuple[np.ndarray, np.ndarray]:
    """The features of each document: known words, then n_words + the buckets of n-grams."""
    size = 0
    for t in range(len(ids)):
        size += 1 + part_offsets[ids[t] + 1] - part_offsets[ids[t]]
    size += len(ids) * (word_ngrams - 1)
    found, ends = np.empty(size, np.int64), np.zeros(len(offsets), np.int64)
    m = 0
    for doc in range(len(offsets) - 1):
        for t in range(offsets[doc], offsets[doc + 1]):
            if number[ids[t]] >= 0:
                found[m] = number[ids[t]]
                m += 1
            for p in range(part_offsets[ids[t]], part_offsets[ids[t] + 1]):
                found[m] = n_words + parts[p]
                m += 1
        for t in range(offsets[doc], offsets[doc + 1] if word_ngrams > 1 else offsets[doc]):
            h = np.uint64(np.int64(hashed[ids[t]]))
            for u in range(t + 1, min(offsets[doc + 1], t + word_ngrams)):
                h = h * np.uint64(116049371) + np.uint64(np.int64(hashed[ids[u]]))
                found[m] = n_words + np.int64(h % np.uint64(bucket))
                m += 1
        ends[doc + 1] = m
    return found[:m].copy(), ends


@jit(fastmath=FAST, _nrt=False, error_model="numpy")
def classify_epoch(
    features: np.ndarray,
    offsets: np.ndarray,
    labels: np.ndarray,
    weight: np.ndarray,
    order: np.ndarray,
    rates: np.ndarray,
    inputs: np.ndarray,
    outputs: np.ndarray,
    hidden: np.ndarray,
    error: np.ndarray,
    scores: np.ndarray,
) -> float:
    """Steps on -log softmax(W h)_y for the mean h of the rows of each document, in a given order.

    A document takes as many steps of its rate as its weight says, the last one a part of a step.
    Returns the sum of weight times loss. `hidden`, `error` and `scores` are memory.
    """
    d, total = len(hidden), 0.0
    for j in range(len(order)):
        i = order[j]
        start, stop, left = offsets[i], offsets[i + 1], weight[i]
        share = inputs.dtype.type(1 / (stop - start))
        while left > 0:
            for f in range(d):
                hidden[f], error[f] = 0, 0
            for t in range(start, stop):
                row = features[t]
                for f in range(d):
                    hidden[f] += share * inputs[row, f]
            size = rates[j] * (left if left < 1 else 1.0)
            loss = classify(hidden, error, outputs, labels[i], scores, size)
            if left == weight[i]:
                total += left * loss
            for t in range(start, stop):
                row = features[t]
                for f in range(d):
                    inputs[row, f] += share * error[f]
            left -= 1
    return total
