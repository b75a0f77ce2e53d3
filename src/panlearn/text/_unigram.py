"""Words cut into the pieces whose probabilities have the highest product."""

from __future__ import annotations

import math
from itertools import chain

from panlearn.text._bpe_characters import BYTES
from panlearn.text._piece_counts import to_utf8

_PENALTY = 10.0  # of an unknown character, below the least probable piece
_KEPT, _LONG = 1 << 17, 64  # words whose pieces are remembered, and the most characters of one


class Lattice(dict[str, tuple[int, ...]]):
    r"""The ids of each word that was seen: the best path through all ways to cut it.

    .. math:: b_j = \max_{i < j,\ w_{i:j} \in V} \bigl(b_i + \log p(w_{i:j})\bigr), \qquad b_0 = 0

    Of equal paths to a place the one whose last piece begins first is taken.

    Parameters
    ----------
    pieces : dict of {str: (int, float)}
        The id and the logarithm of the probability of each piece.
    least : float
        The lowest of these.
    unknown : int
        The id of what is unknown; neighbours that are become one.
    byte_fallback : bool
        Whether what is unknown is spelt in bytes.
    """

    def __init__(
        self, pieces: dict[str, tuple[int, float]], least: float, unknown: int, byte_fallback: bool
    ) -> None:
        super().__init__()
        self._pieces, self._least, self._unknown = pieces, least - _PENALTY, unknown
        self._longest = max(map(len, pieces), default=0)
        self._byte_fallback = byte_fallback

    def of(self, words: list[str]) -> list[int]:
        """Give the ids of words, one after the other."""
        return list(chain.from_iterable(map(self.__getitem__, words)))

    def __missing__(self, word: str) -> tuple[int, ...]:
        made = self._cut(word)
        if len(word) <= _LONG:
            if len(self) >= _KEPT:
                self.clear()
            self[word] = made
        return made

    def _cut(self, word: str) -> tuple[int, ...]:
        n, pieces, longest = len(word), self._pieces, self._longest
        best, starts = [0.0] + [-math.inf] * n, [0] * (n + 1)
        known = [True] * (n + 1)
        for start in range(n):
            here = best[start]
            for end in range(start + 1, min(n, start + longest) + 1):
                found = pieces.get(word[start:end])
                if found is not None and here + found[1] > best[end]:
                    best[end], starts[end], known[end] = here + found[1], start, True
            alone = start + 1
            if word[start] not in pieces and here + self._least > best[alone]:
                best[alone], starts[alone], known[alone] = here + self._least, start, False
        made: list[tuple[int, ...]] = []
        end = n
        while end:
            start = starts[end]
            if known[end]:
                made.append((pieces[word[start:end]][0],))
            else:
                while start and not known[start]:
                    start = starts[start]
                made.append(self._spelt(word[start:end]))
            end = start
        return tuple(chain.from_iterable(reversed(made)))

    def _spelt(self, text: str) -> tuple[int, ...]:
        """The ids of characters that are unknown."""
        if text in self._pieces:
            return (self._pieces[text][0],)
        spelt = [BYTES[byte] for byte in to_utf8(text)]
        if self._byte_fallback and all(token in self._pieces for token in spelt):
            return tuple(self._pieces[token][0] for token in spelt)
        return (self._unknown,)
