"""Stochastic gradient steps of word vectors: what a word tells about the words around it.

An example is an input vector h and an output word w. For skip-gram h is the vector of a context
word and w the word in the middle; for the continuous bag of words h is the mean of the vectors of
the context. Rows of `inputs` and `outputs` are changed in place. All kernels take float32 or
float64.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from panlearn.core.jit import jit
from panlearn.core.splitmix import uniforms

SHARE = 4  # examples in a row that are held against the same negative words
FAST = {"reassoc", "contract", "nsz"}  # sums may be vectorised; NaN and infinity keep their meaning


class Noise(NamedTuple):
    """Words, the sums of their shares from that before the first, and where to draw in these sums.

    There is a row of `places` for each `SHARE` examples, with one for each negative word.
    """

    words: np.ndarray
    cumulated: np.ndarray
    places: np.ndarray

    @classmethod
    def of(
        cls, words: np.ndarray, cumulated: np.ndarray, examples: int, negative: int, seed: int
    ) -> Noise:
        """Draw for so many examples."""
        shape, low, high = (-(-examples // SHARE), negative), cumulated[0], cumulated[-1]
        coins = uniforms(seed, shape[0] * negative).reshape(shape)
        return cls(words, cumulated, low + coins * (high - low))


@jit(_nrt=False)
def draw_negatives(noise: Noise, row: int, negatives: np.ndarray) -> None:
    """Words by their share of the noise."""
    for j in range(len(negatives)):
        first, last = 0, len(noise.words) - 1  # NumPy's own search is compiled for long
        while first < last:
            middle = (first + last) // 2
            if noise.cumulated[middle + 1] > noise.places[row, j]:
                last = middle
            else:
                first = middle + 1
        negatives[j] = noise.words[first]


@jit(fastmath=FAST, _nrt=False, error_model="numpy")
def _contrast(
    h: np.ndarray,
    error: np.ndarray,
    outputs: np.ndarray,
    word: int,
    negatives: np.ndarray,
    scores: np.ndarray,
    rate: float,
) -> float:
    r"""One step on -log σ(h·z_w) - Σ log σ(-h·z_n): changes the rows z, adds that of h to `error`.

    Returns the loss before the step. A negative word that is the word itself is left out.
    """
    d, k = len(h), len(negatives)
    for j in range(k + 1):
        row, score = word if j == 0 else negatives[j - 1], h.dtype.type(0)
        for f in range(d):
            score += h[f] * outputs[row, f]
        scores[j] = score
    # -log σ(s) = max(-s, 0) + log(1 + e^-|s|), with one logarithm of the product for all
    loss, product = 0.0, 1.0
    for j in range(k + 1):
        if j > 0 and negatives[j - 1] == word:
            scores[j] = 0
            continue
        margin = float(scores[j]) if j == 0 else -float(scores[j])
        e = math.exp(-margin if margin > 0 else margin)
        loss -= margin if margin < 0 else 0.0
        product *= 1 + e
        short = (e if margin > 0 else 1.0) / (1 + e)  # 1 - σ(margin)
        scores[j] = rate * (short if j == 0 else -short)
    for j in range(k + 1):
        row, step = word if j == 0 else negatives[j - 1], scores[j]
        for f in range(d):
            old = outputs[row, f]
            error[f] += step * old
            outputs[row, f] = old + step * h[f]
    return loss + math.log(product)


@jit(fastmath=FAST, _nrt=False, error_model="numpy")
def classify(
    h: np.ndarray,
    error: np.ndarray,
    outputs: np.ndarray,
    word: int,
    scores: np.ndarray,
    rate: float,
) -> float:
    r"""One step on -log softmax(Z h)_w over all words; returns the loss before the step."""
    d, top = len(h), -np.inf
    for u in range(len(outputs)):
        score = h.dtype.type(0)
        for f in range(d):
            score += h[f] * outputs[u, f]
        scores[u] = score
        top = score if score > top else top
    loss, total = top - scores[word], 0.0
    for u in range(len(outputs)):
        scores[u] = math.exp(scores[u] - top)
        total += scores[u]
    for u in range(len(outputs)):
        step = h.dtype.type(rate * ((u == word) - scores[u] / total))
        for f in range(d):
            old = outputs[u, f]
            error[f] += step * old
            outputs[u, f] = old + step * h[f]
    return loss + math.log(total)


def _memory(inputs: np.ndarray, outputs: np.ndarray, negative: int) -> tuple[np.ndarray, ...]:
    """For the work on an example: scores of outputs, the error of an input, an input, negatives.

    It is taken from Python, since the compiler takes long over it.
    """
    d, dtype = inputs.shape[1], inputs.dtype
    scores = np.empty(negative + 1 if negative else len(outputs), dtype)
    return scores, np.empty(d, dtype), np.empty(d, dtype), np.empty(negative, np.uint32)


def skip_gram(
    context: np.ndarray,
    middle: np.ndarray,
    inputs: np.ndarray,
    outputs: np.ndarray,
    noise_words: np.ndarray,
    noise: np.ndarray,
    negative: int,
    rate: float,
    seed: int,
) -> float:
    """One step for each pair of words; `negative=0` is the full softmax. Returns the sum of losses.

    The negative words are drawn anew every `SHARE` pairs, so that their vectors stay at hand.
    """
    scores, error, _, negatives = _memory(inputs, outputs, negative)
    given = context, middle, inputs, outputs, scores, error, rate
    if not negative:  # by itself, so that a fit compiles the one that it needs
        return _classify_pairs(*given)
    drawn = Noise.of(noise_words, noise, len(context), negative, seed)
    return _contrast_pairs(*given, negatives, drawn)


@jit(fastmath=FAST, _nrt=False)
def _classify_pairs(
    context: np.ndarray,
    middle: np.ndarray,
    inputs: np.ndarray,
    outputs: np.ndarray,
    scores: np.ndarray,
    error: np.ndarray,
    rate: float,
) -> float:
    total = 0.0
    for i in range(len(context)):
        x = inputs[context[i]]
        for f in range(len(x)):
            error[f] = 0
        total += classify(x, error, outputs, middle[i], scores, rate)
        for f in range(len(x)):
            x[f] += error[f]
    return total


@jit(fastmath=FAST, _nrt=False)
def _contrast_pairs(
    context: np.ndarray,
    middle: np.ndarray,
    inputs: np.ndarray,
    outputs: np.ndarray,
    scores: np.ndarray,
    error: np.ndarray,
    rate: float,
    negatives: np.ndarray,
    noise: Noise,
) -> float:
    total = 0.0
    for i in range(len(context)):
        x = inputs[context[i]]
        for f in range(len(x)):
            error[f] = 0
        if i % SHARE == 0:
            draw_negatives(noise, i // SHARE, negatives)
        total += _contrast(x, error, outputs, middle[i], negatives, scores, rate)
        for f in range(len(x)):
            x[f] += error[f]
    return total


def bag_of_words(
    words: np.ndarray,
    ends: np.ndarray,
    reach: np.ndarray,
    inputs: np.ndarray,
    outputs: np.ndarray,
    noise_words: np.ndarray,
    noise: np.ndarray,
    negative: int,
    rate: float,
    seed: int,
) -> tuple[float, int]:
    """One step for the mean of each context; returns the sum of losses and how many there were."""
    memory = _memory(inputs, outputs, negative)
    drawn = Noise.of(noise_words, noise, len(words), negative, seed)
    return _learn_bags(words, ends, reach, inputs, outputs, *memory, rate, drawn)


@jit(fastmath=FAST, _nrt=False)
def _learn_bags(
    words: np.ndarray,
    ends: np.ndarray,
    reach: np.ndarray,
    inputs: np.ndarray,
    outputs: np.ndarray,
    scores: np.ndarray,
    error: np.ndarray,
    h: np.ndarray,
    negatives: np.ndarray,
    rate: float,
    noise: Noise,
) -> tuple[float, int]:
    total, n = 0.0, 0
    for doc in range(len(ends) - 1):
        for t in range(ends[doc], ends[doc + 1]):
            first, last = max(ends[doc], t - reach[t]), min(ends[doc + 1], t + reach[t] + 1)
            size = last - first - 1
            if size == 0:
                continue
            for f in range(len(h)):
                h[f], error[f] = 0, 0
            share = h.dtype.type(1 / size)
            for u in range(first, last):
                if u != t:
                    x = inputs[words[u]]
                    for f in range(len(h)):
                        h[f] += share * x[f]
            if len(negatives) > 0:
                if n % SHARE == 0:
                    draw_negatives(noise, n // SHARE, negatives)
                total += _contrast(h, error, outputs, words[t], negatives, scores, rate)
            else:
                total += classify(h, error, outputs, words[t], scores, rate)
            n += 1
            # the gradient of the mean would share the error out; the whole of it to each word, as
            # word2vec and gensim do, makes up for the smaller gradient of a mean
            for u in range(first, last):
                if u != t:
                    x = inputs[words[u]]
                    for f in range(len(h)):
                        x[f] += error[f]
    return total, n
