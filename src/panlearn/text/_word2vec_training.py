"""The schedule of word vectors: what is trained side by side so that threads change no bit.

The corpus is walked in chunks. In each the words are dealt into groups at random, and the pairs
(context, middle) sorted into blocks by the groups of their two words. Blocks on a diagonal share no
row of either matrix: they run side by side, on whatever thread, and one diagonal follows the other.
A block draws its negative words from its own group of middles. Since the groups are dealt anew for
each chunk, over the chunks any word may be held against any other, by its share of the noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from panlearn.core.threads import OrderedMap
from panlearn.text._word2vec_kernels import bag_of_words, skip_gram
from panlearn.text._word2vec_pairs import A_REACH, A_WORD, pairs, subsample

SHARD = 1 << 15  # tokens of which the pairs are made at once; a longer document is cut there
GROUPS = 8


@dataclass(frozen=True)
class Trainer:
    """A corpus, the two matrices that it trains in place, and how."""

    ids: np.ndarray
    offsets: np.ndarray
    inputs: np.ndarray
    outputs: np.ndarray
    keep: np.ndarray  # the probability that an occurrence of a word stays
    mass: np.ndarray  # the expected occurrences of each word that stay
    noise: np.ndarray  # the distribution of negative words
    window: int
    negative: int
    skip_gram: bool
    deterministic: bool

    def expect(self, epochs: int) -> None:
        """Say how much text is to come, for the kernels to be compiled at once if it is long."""
        subsample.expect(epochs * A_WORD * len(self.ids))
        if self.skip_gram:
            mean_reach = (1 + self.window) / 2
            pairs.expect(epochs * A_REACH * self.mass.sum() * mean_reach)

    def epoch(
        self, rate: Callable[[float], float], rng: np.random.Generator, run: OrderedMap
    ) -> tuple[float, int]:
        """One pass: the sum of the losses that were met, and how many.

        `rate` gives the learning rate at a share of the pass.
        """
        blocked = self._blocked()
        # dealing out the words is little work beside a shard; without it, shards are short, so
        # that the rate falls in small steps
        size = max(SHARD, len(self.noise)) if blocked else SHARD // 8
        shards = list(self._shards(size))
        seeds = rng.integers(2**62, size=(len(shards), 2))
        work = [
            (shard, rate(i / len(shards)), seed)
            for i, (shard, seed) in enumerate(zip(shards, seeds, strict=True))
        ]
        results: Iterable[tuple[float, int]]
        if blocked:
            results = (
                self._diagonals(blocks, run)
                for start in range(0, len(work), GROUPS)
                for blocks in list(run(self._sort, work[start : start + GROUPS]))
            )
        else:
            words, sums = np.arange(len(self.noise), dtype=np.uint32), _sums(self.noise)
            race: OrderedMap = map if self.deterministic else run
            results = race(lambda w: self._walk(w, words, sums), work)
        losses, counts = zip(*results, strict=True)
        return sum(losses), sum(counts)

    def _blocked(self) -> bool:
        """Whether the corpus is worth blocks: it depends on the corpus alone, not on threads."""
        many = len(self.ids) > GROUPS * SHARD and len(self.noise) > 100 * GROUPS
        return self.deterministic and self.skip_gram and self.negative > 0 and many

    def _shards(self, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Stretches of tokens, and where documents end in each."""
        n = len(self.ids)
        for start in range(0, n, size):
            stop = min(start + size, n)
            first, last = np.searchsorted(self.offsets, (start, stop), side="right")
            inner = self.offsets[first:last]
            yield self.ids[start:stop], np.concatenate([[start], inner, [stop]]) - start

    def _walk(self, work: Any, words: np.ndarray, sums: np.ndarray) -> tuple[float, int]:
        """All examples of a shard in the order of the text."""
        shard, rate, seed = work
        text, ends, reach = self._text(shard, seed)
        rest: Any = (self.inputs, self.outputs, words, sums, self.negative, rate, seed[1])
        if not self.skip_gram:
            return bag_of_words(text, ends, reach, *rest)
        context, middle, _ = pairs(text, ends, reach, np.zeros(len(self.noise), np.int64), 1)
        return skip_gram(context, middle, *rest), len(context)

    def _text(self, shard: tuple[np.ndarray, np.ndarray], seed: np.ndarray) -> Any:
        """The words that stay, where documents end, and the reach of each window."""
        ids, offsets = shard
        return subsample(ids, offsets, self.keep, self.window, seed[0])

    def _sort(self, work: Any) -> _Blocks:
        """Deal the words into groups, and the pairs of a shard into blocks."""
        shard, rate, seed = work
        order = np.random.default_rng(seed).permutation(len(self.mass)).astype(np.uint32)
        share = np.cumsum(self.mass[order])  # groups with about as many occurrences
        edges = np.searchsorted(share, share[-1] * np.arange(GROUPS + 1) / GROUPS)
        edges[-1] = len(order)
        group = np.empty(len(order), dtype=np.int64)
        group[order] = np.repeat(np.arange(GROUPS), np.diff(edges))
        words = np.split(order, edges[1:-1])
        text, ends, reach = self._text(shard, seed)
        context, middle, edges = pairs(text, ends, reach, group, GROUPS)
        sums = [_sums(self.noise[members]) for members in words]
        return _Blocks(context, middle, edges, words, sums, rate, int(seed[1]))

    def _diagonals(self, blocks: _Blocks, run: OrderedMap) -> tuple[float, int]:
        """All pairs of a shard, the blocks of a diagonal side by side."""

        def train(block: tuple[int, int]) -> float:
            row, column = block
            at = row * GROUPS + column
            part = slice(blocks.edges[at], blocks.edges[at + 1])
            return skip_gram(
                blocks.context[part],
                blocks.middle[part],
                self.inputs,
                self.outputs,
                blocks.words[column],
                blocks.sums[column],
                self.negative,
                blocks.rate,
                blocks.seed + at,
            )

        total = 0.0
        for shift in range(GROUPS):
            diagonal = [(row, (row + shift) % GROUPS) for row in range(GROUPS)]
            total += sum(run(train, diagonal))
        return total, len(blocks.context)


class _Blocks(NamedTuple):
    """The pairs of a shard by blocks, and the words of each group with the sums of their noise."""

    context: np.ndarray
    middle: np.ndarray
    edges: np.ndarray
    words: list[np.ndarray]
    sums: list[np.ndarray]
    rate: float
    seed: int


def _sums(noise: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(noise)])
