"""Text to pieces of words: normalising, cutting into words, and the longest known beginnings."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from itertools import chain

PREFIX = "##"  # marks a piece that goes on with a word
_KEPT = 1 << 17  # words whose pieces are remembered
_CHINESE = (
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF)),
    *((0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F)),
)


class _Table(dict[int, str]):
    """What each character becomes, worked out when it is first seen: for `str.translate`."""

    def __init__(self, rule: Callable[[str], str]) -> None:
        super().__init__()
        self._rule = rule

    def __missing__(self, code: int) -> str:
        made = self[code] = self._rule(chr(code))
        return made


class Cutter:
    """Text to words, as BERT does it: cleaned, ideographs and punctuation each a word.

    The order is that of the original: control characters, ideographs, accents, case, spaces and
    punctuation. ASCII takes all steps in one.
    """

    def __init__(self, clean: bool, chinese: bool, strip: bool, lower: bool) -> None:
        self._strip = strip
        self._first = _Table(lambda c: _tidied(c, clean, chinese))
        self._last = _Table(lambda c: _spaced(c, strip, lower))
        self._ascii = {i: chr(i).translate(self._first).translate(self._last) for i in range(128)}

    def __call__(self, text: str) -> list[str]:
        """Give the words of a text, with empty ones between them."""
        if text.isascii():
            return text.translate(self._ascii).split(" ")
        text = text.translate(self._first)
        if self._strip:
            text = unicodedata.normalize("NFD", text)
        return text.translate(self._last).split(" ")


def _tidied(character: str, clean: bool, chinese: bool) -> str:
    if clean:
        other = unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs")
        if character == "\ufffd" or (other and character not in "\t\n\r"):
            return ""
        if _is_space(character):
            return " "
    if chinese and any(low <= ord(character) <= high for low, high in _CHINESE):
        return f" {character} "
    return character


def _spaced(character: str, strip: bool, lower: bool) -> str:
    if strip and unicodedata.category(character) == "Mn":
        return ""
    made = character.lower() if lower else character
    return "".join(" " if _is_space(c) else f" {c} " if _is_punctuation(c) else c for c in made)


def _is_space(character: str) -> bool:
    """White space of Unicode; Python counts four separators of old files besides."""
    return character.isspace() and not "\x1c" <= character <= "\x1f"


def _is_punctuation(character: str) -> bool:
    """Punctuation of Unicode, and the signs of ASCII such as ``$``."""
    sign = character.isascii() and character.isprintable() and not character.isalnum()
    return (sign and character != " ") or unicodedata.category(character)[0] == "P"


class Pieces(dict[str, tuple[int, ...]]):
    """The ids of each word that was seen: its longest known beginning, again and again.

    A word of which a part is not known, or that is longer than `longest_word`, is unknown as a
    whole; of the empty word there is nothing.
    """

    def __init__(self, vocab: dict[str, int], unknown: int, longest_word: int) -> None:
        super().__init__()
        self._vocab, self._unknown, self._longest_word = vocab, (unknown,), longest_word
        self._longest = max(map(len, vocab), default=0)  # of a piece, its mark included

    def of(self, words: Iterable[str]) -> list[int]:
        """Give the ids of words, one after the other."""
        return list(chain.from_iterable(map(self.__getitem__, words)))

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= _KEPT:
            self.clear()
        made = self[word] = self._cut(word)
        return made

    def _cut(self, word: str) -> tuple[int, ...]:
        if len(word) > self._longest_word:
            return self._unknown
        ids, start = [], 0
        while start < len(word):
            mark = PREFIX if start else ""
            for end in range(min(len(word), start + self._longest), start, -1):
                found = self._vocab.get(mark + word[start:end])
                if found is not None:
                    break
            else:
                return self._unknown
            ids.append(found)
            start = end
        return tuple(ids)
