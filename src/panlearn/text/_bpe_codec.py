"""Text to ids and back by given tokens and merges: what a fitted BPETokenizer computes with."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from panlearn.core.threads import threads
from panlearn.text._bpe_characters import Characters, Normal, written
from panlearn.text._bpe_encoding import MOST, Memory, empty_memory, encode, merge_table
from panlearn.text._piece_counts import Texts, to_utf8
from panlearn.text._pretokenize import PATTERNS, character_classes
from panlearn.text._word_table import insert_words

_BLOCK_CHARACTERS = 1 << 18

# GPT-2 writes bytes as printable characters: themselves where they are, else those from U+0100 on.
_PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
BYTE_ORDER = [*_PRINTABLE, *(b for b in range(256) if b not in _PRINTABLE)]
"""The bytes in the order of the characters that stand for them."""
_CHARACTERS = {
    byte: chr(byte if byte in _PRINTABLE else 256 + i - len(_PRINTABLE))
    for i, byte in enumerate(BYTE_ORDER)
}
_BYTES = {character: byte for byte, character in _CHARACTERS.items()}


def spell(token: bytes) -> str:
    """Write bytes in GPT-2's printable characters."""
    return "".join([_CHARACTERS[byte] for byte in token])


def unspell(token: str) -> bytes:
    """Read GPT-2's printable characters; a KeyError if there are others."""
    return bytes([_BYTES[character] for character in token])


def spellings_of(token: str) -> list[bytes]:
    """The bytes of a special token, and those of an ordinary one that had its name."""
    named = all(character in _BYTES for character in token)
    return [to_utf8(token), *([unspell(token)] if named else [])]


class Codec:
    """Encodes and decodes.

    Parameters
    ----------
    vocab : dict of {str: int}
        Tokens in GPT-2's printable characters; among them are all single bytes. With an alphabet of
        characters, tokens as they are.
    merges : list of (str, str)
        In the order of their ranks.
    special : dict of {str: int}
        Tokens that stand for themselves and are never merged.
    pattern : {"gpt2", "llama3"}
        How text is cut into pieces.
    whole : bool
        Whether a piece that is a token is taken as it is, whatever the merges say.
    alphabet : {"bytes", "characters"}
        What merges begin with.
    normal : Normal
        What is done to a text before.
    """

    def __init__(
        self,
        vocab: dict[str, int],
        merges: list[tuple[str, str]],
        special: dict[str, int],
        pattern: str,
        whole: bool,
        alphabet: str,
        normal: Normal,
    ) -> None:
        read = unspell if alphabet == "bytes" else written
        self.tokens = {number: read(token) for token, number in vocab.items()}
        self.normal = normal
        self.texts = self.tokens | {number: to_utf8(token) for token, number in special.items()}
        self.special = special
        longest_first = sorted(special, key=len, reverse=True)
        self._special_pattern = re.compile(f"({'|'.join(map(re.escape, longest_first))})")
        self._characters = Characters(vocab, merges) if alphabet == "characters" else None
        if self._characters is None:
            byte_ids = np.array([vocab[spell(bytes([byte]))] for byte in range(256)])
            ids = [(vocab[a], vocab[b], vocab[a + b]) for a, b in merges]
            self._merges = merge_table(np.array(ids, dtype=np.int64).reshape(-1, 3), byte_ids)
        self._pattern, self._whole = PATTERNS[pattern], whole
        self._memories: list[Memory] = []  # a thread takes one and puts it back

    def encode(self, documents: list[Any], special: str) -> list[np.ndarray]:
        """The ids of each document, a string or a list of strings; many of them on threads."""
        parts = list(blocks(documents))
        if len(parts) == 1:  # a short text is encoded sooner than threads are made ready
            return self._encode_block(parts[0], special)
        with threads() as run:
            done = list(run(lambda block: self._encode_block(block, special), parts))
        return [ids for block in done for ids in block]

    def encode_strings(self, texts: Texts, pattern: int) -> tuple[np.ndarray, np.ndarray]:
        """The ids of all strings, one after the other, and where those of each end."""
        if self._characters is not None:
            return self._characters.encode(texts)
        memory = self._memories.pop() if self._memories else self._new_memory()
        ids, ends, memory = encode(
            texts.text, texts.offsets, pattern, character_classes(), self._merges, memory
        )
        if memory.table.sizes[0] < MOST:
            self._memories.append(memory)
        return ids, ends

    def _encode_block(self, documents: list[Any], special: str) -> list[np.ndarray]:
        if special == "text" or not self.special:
            texts = Texts.of([self.normal.document(document) for document in documents])
            ids, ends = self.encode_strings(texts, self._pattern)
            bounds = ends[texts.documents]
        else:
            split, after, marks = self._split(documents, special)
            texts = Texts.of(split)
            ids, ends = self.encode_strings(texts, self._pattern)
            ids = np.insert(ids, ends[after + 1], marks)
            bounds = ends[texts.documents] + np.searchsorted(after, texts.documents)
        return [ids[start:stop] for start, stop in pairwise(bounds.tolist())]

    def _split(
        self, documents: list[Any], special: str
    ) -> tuple[list[list[str]], np.ndarray, np.ndarray]:
        """The strings between special tokens, after which of them one comes, and its id."""
        split: list[list[str]] = []
        after: list[int] = []
        marks: list[int] = []
        n_strings = 0
        for document in documents:
            strings: list[str] = []
            for text in [document] if isinstance(document, str) else document:
                parts = self._special_pattern.split(text)
                if special == "refuse" and len(parts) > 1:
                    raise ValueError(
                        f"a text holds the special token {parts[1]!r}; special='atomic' gives its "
                        "id, special='text' encodes its letters"
                    )
                after += range(n_strings + len(strings), n_strings + len(strings) + len(parts) // 2)
                marks += [self.special[mark] for mark in parts[1::2]]
                strings += [self.normal(part, i == 0) for i, part in enumerate(parts[::2])]
            split.append(strings)
            n_strings += len(strings)
        return split, np.array(after, dtype=np.int64), np.array(marks, dtype=np.int32)

    def _new_memory(self) -> Memory:
        memory = empty_memory()
        if not self._whole:
            return memory
        words = list(self.tokens.values())
        offsets = np.cumsum([0, *map(len, words)], dtype=np.int64)
        letters = np.frombuffer(b"".join(words), dtype=np.uint8)
        ids = np.fromiter(self.tokens, np.int64)
        return memory._replace(table=insert_words(memory.table, letters, offsets, ids))

    def decode(self, ids: Iterable[int], skip_special_tokens: bool) -> Iterator[bytes]:
        """The bytes of each token."""
        left_out = set(self.special.values()) if skip_special_tokens else ()
        numbers = ids.tolist() if isinstance(ids, np.ndarray) else ids
        for number in numbers:
            if number not in left_out:
                try:
                    yield self.texts[number]
                except (KeyError, TypeError):
                    raise ValueError(
                        f"{number!r:.40} is no id of this tokenizer, which has {len(self.texts)}"
                    ) from None


def blocks(documents: list[Any]) -> Iterator[list[Any]]:
    """Documents in runs that are worth a thread: a function of the documents alone."""
    block: list[Any] = []
    size = 0
    for document in documents:
        block.append(document)
        size += len(document)
        if size > _BLOCK_CHARACTERS:
            yield block
            block, size = [], 0
    if block:
        yield block


def decode_bytes(content: bytes, errors: str) -> str:
    """Decode UTF-8 with the surrogates that `to_utf8` lets through; else as `errors` says."""
    return content.decode("utf-8", lenient(errors))


def lenient(errors: str) -> str:
    """Name the way to treat errors that lets surrogates through and does the rest as `errors`."""
    name, otherwise = f"panlearn-surrogates-{errors}", codecs.lookup_error(errors)

    def handle(error: Any) -> Any:
        try:
            return codecs.lookup_error("surrogatepass")(error)
        except UnicodeError:
            return otherwise(error)

    codecs.register_error(name, handle)
    return name
