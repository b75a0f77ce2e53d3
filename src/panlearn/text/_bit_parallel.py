r"""Edit distances of texts to many patterns at once, a bit for each letter of a pattern.

Column by column of the dynamic programme, the differences of neighbours down a column are kept as
two words of bits, those that are +1 and those that are -1, and 64 rows are updated at once. The
patterns of a block lie side by side, so that the loop over them runs in vector registers.

References
----------
H. Hyyrö (2003). A bit-vector algorithm for computing Levenshtein and Damerau edit distances.
Nordic Journal of Computing 10(1).

H. Hyyrö (2004). Bit-parallel LCS-length computation revisited. AWOCA 15.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from panlearn.core.jit import jit

UNIT, INDEL, SWAPS = 0, 1, 2
_ONE, _TOP = np.uint64(1), np.uint64(63)


class Strings(NamedTuple):
    """Strings of letters 0, 1, ...: string s is ``letters[offsets[s] : offsets[s + 1]]``."""

    letters: np.ndarray
    offsets: np.ndarray


class Block(NamedTuple):
    """Some of the patterns, in bits.

    Attributes
    ----------
    columns : ndarray of shape (n_patterns,)
        Which patterns they are.
    rows : ndarray of shape (n_letters,)
        The row of `matches` of each letter; row 0, of letters in no pattern, is zero.
    matches : ndarray of uint64, shape (n_rows, n_words, n_patterns)
        The places where each pattern has the letter.
    masks : ndarray of uint64, shape (n_words, n_patterns)
        The places that each pattern has.
    """

    columns: np.ndarray
    rows: np.ndarray
    matches: np.ndarray
    masks: np.ndarray


@jit(plain=lambda patterns, columns, *rest: 5 * len(patterns.letters))
def make_block(patterns: Strings, columns: np.ndarray, n_letters: int) -> Block:
    """Write some patterns as bits."""
    rows, n_rows, longest = np.zeros(n_letters, np.int64), 1, 1
    for column in columns:
        start, stop = patterns.offsets[column], patterns.offsets[column + 1]
        longest = max(longest, stop - start)
        for letter in patterns.letters[start:stop]:
            if rows[letter] == 0:
                rows[letter] = n_rows
                n_rows += 1
    n_words = (longest + 63) // 64
    matches = np.zeros((n_rows, n_words, len(columns)), np.uint64)
    masks = np.zeros((n_words, len(columns)), np.uint64)
    for k in range(len(columns)):
        start = patterns.offsets[columns[k]]
        for at in range(patterns.offsets[columns[k] + 1] - start):
            bit = _ONE << np.uint64(at % 64)
            matches[rows[patterns.letters[start + at]], at // 64, k] |= bit
            masks[at // 64, k] |= bit
    return Block(columns, rows, matches, masks)


@jit(plain=lambda texts, first, last, block, *rest: 3 * len(texts.letters) * block.masks.size)
def distances(
    texts: Strings,
    first: int,
    last: int,
    block: Block,
    kind: int,
    scale: float,
    cutoff: float,
    out: np.ndarray,
) -> None:
    """Write the distances of the texts from `first` to `last` to the patterns of a block.

    With unit costs, also for swaps of neighbours, or of insertions and deletions alone; times
    `scale`. What is above `cutoff` is given as one more than that.
    """
    found = np.empty(len(block.columns), np.int64)
    for t in range(first, last):
        text = texts.letters[texts.offsets[t] : texts.offsets[t + 1]]
        if kind == INDEL:
            _indel(text, block, found)
        elif kind == SWAPS:
            _alignment(text, block, found)
        else:
            _levenshtein(text, block, found)
        for k in range(len(found)):
            value = scale * found[k]
            out[t, block.columns[k]] = value if value <= cutoff else cutoff + 1


@jit
def _levenshtein(text: np.ndarray, block: Block, out: np.ndarray) -> None:
    up, down = np.empty_like(block.masks), np.zeros_like(block.masks)
    up[:] = ~down
    raised, lowered = np.empty_like(up[0]), np.empty_like(up[0])
    for letter in text:
        match = block.matches[block.rows[letter]]
        if len(up) == 1:
            _only_word(match[0], up[0], down[0])
            continue
        raised[:] = 1  # the first row of the programme grows by one a letter
        lowered[:] = 0
        for word in range(len(up)):
            _next_word(match[word], up[word], down[word], raised, lowered)
    _add_up(len(text), up, down, block.masks, out)


@jit
def _add_up(
    size: int, up: np.ndarray, down: np.ndarray, masks: np.ndarray, out: np.ndarray
) -> None:
    """The last entry of the last column: the first, and the differences down the column."""
    out[:] = size
    for word in range(len(up)):
        for k in range(len(out)):
            mask = masks[word, k]
            out[k] += _ones(up[word, k] & mask) - _ones(down[word, k] & mask)


@jit
def _alignment(text: np.ndarray, block: Block, out: np.ndarray) -> None:
    """Unit costs, and neighbours that are not edited otherwise may be swapped."""
    up, down = np.empty_like(block.masks), np.zeros_like(block.masks)
    up[:] = ~down
    diagonal, carries = np.zeros_like(up), np.empty((3, up.shape[1]), np.uint64)
    before = block.matches[0]
    for letter in text:
        match = block.matches[block.rows[letter]]
        carries[:] = 0
        carries[0] = 1
        for word in range(len(up)):
            _swap_word(match[word], before[word], up[word], down[word], diagonal[word], carries)
        before = match
    _add_up(len(text), up, down, block.masks, out)


@jit
def _swap_word(
    match: np.ndarray,
    before: np.ndarray,
    up: np.ndarray,
    down: np.ndarray,
    diagonals: np.ndarray,
    carries: np.ndarray,
) -> None:
    """As `_next_word`, with the places where this letter and the one before are swapped."""
    carry_up, carry_down, carry_swap = carries[0], carries[1], carries[2]
    for k in range(len(match)):
        p, n, low = up[k], down[k], carry_down[k]
        x, new = match[k] | low, ~diagonals[k] & match[k]
        swap = (new << _ONE | carry_swap[k]) & before[k]
        diagonal = (((x & p) + p) ^ p) | x | n | swap
        raised, lowered = n | ~(diagonal | p), diagonal & p
        shifted = raised << _ONE | carry_up[k]
        carry_up[k], carry_down[k], carry_swap[k] = raised >> _TOP, lowered >> _TOP, new >> _TOP
        up[k] = lowered << _ONE | low | ~(diagonal | shifted)
        down[k], diagonals[k] = shifted & diagonal, diagonal


@jit
def _only_word(match: np.ndarray, up: np.ndarray, down: np.ndarray) -> None:
    for k in range(len(match)):
        x, p, n = match[k], up[k], down[k]
        diagonal = (((x & p) + p) ^ p) | x | n
        raised = (n | ~(diagonal | p)) << _ONE | _ONE
        up[k] = (diagonal & p) << _ONE | ~(diagonal | raised)
        down[k] = raised & diagonal


@jit
def _next_word(
    match: np.ndarray,
    up: np.ndarray,
    down: np.ndarray,
    carry_up: np.ndarray,
    carry_down: np.ndarray,
) -> None:
    """One of several words, with the differences along the row above it."""
    for k in range(len(match)):
        p, n, low = up[k], down[k], carry_down[k]
        x = match[k] | low
        diagonal = (((x & p) + p) ^ p) | x | n
        raised, lowered = n | ~(diagonal | p), diagonal & p
        shifted = raised << _ONE | carry_up[k]
        carry_up[k], carry_down[k] = raised >> _TOP, lowered >> _TOP
        up[k] = lowered << _ONE | low | ~(diagonal | shifted)
        down[k] = shifted & diagonal


@jit
def _indel(text: np.ndarray, block: Block, out: np.ndarray) -> None:
    r"""Distances :math:`|a| + |b| - 2 \, \text{LCS}(a, b)`."""
    state, carry = ~np.zeros_like(block.masks), np.empty_like(block.masks[0])
    for letter in text:
        match = block.matches[block.rows[letter]]
        carry[:] = 0
        for word in range(len(state)):
            _next_common_word(match[word], state[word], carry)
    out[:] = len(text)
    for word in range(len(state)):
        for k in range(len(out)):
            mask = block.masks[word, k]
            out[k] += _ones(mask) - 2 * _ones(~state[word, k] & mask)


@jit
def _next_common_word(match: np.ndarray, state: np.ndarray, carry: np.ndarray) -> None:
    for k in range(len(match)):
        s = state[k]
        total = s + (s & match[k])
        overflow = np.uint64(total < s)
        carried = total + carry[k]
        carry[k] = overflow | np.uint64(carried < total)
        state[k] = carried | (s & ~match[k])


@jit
def _ones(bits: Any) -> Any:
    """How many bits are set."""
    x = bits - ((bits >> _ONE) & np.uint64(0x5555555555555555))
    pairs = np.uint64(0x3333333333333333)
    x = (x & pairs) + ((x >> np.uint64(2)) & pairs)
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))
