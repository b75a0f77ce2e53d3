"""Files of word vectors: word2vec's text and binary formats, GloVe's text, plain or in gzip.

A header, ``number of words, length of a vector``, stands on the first line, unless it is left out.
Of text each further line is a word and its numbers; of a binary file a word, a blank and the floats
of four bytes, and a line break or none. Nothing is allocated that the file does not hold.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from panlearn.core.files import replacing

# a reader ends a line at these; surrogates are no UTF-8
_BREAKS = {" ", "\n", "\r", *map(chr, range(0xD800, 0xE000))}
_LONGEST_WORD = 1 << 16
_LONGEST_VECTOR = 10**6
_CHUNK = 1 << 20


def write_vectors(
    path: str | os.PathLike[str],
    words: np.ndarray,
    vectors: np.ndarray,
    *,
    binary: bool,
    header: bool,
) -> None:
    """Write a file whole; one that ends in .gz is compressed."""
    if broken := [w for w in words if not w or not _BREAKS.isdisjoint(w)]:
        raise ValueError(
            f"the format separates by spaces and lines, and the word {broken[0]!r} holds one "
            "or a surrogate, or is empty; save the model with panlearn.save"
        )
    if binary and not header:
        raise ValueError("a binary file needs its header, or nobody knows how long a vector is")
    with replacing(path) as temporary, _open(temporary, "wb", os.fspath(path)) as file:
        if header:
            file.write(f"{len(words)} {vectors.shape[1]}\n".encode())
        for word, vector in zip(words, vectors, strict=True):
            if binary:
                file.write(f"{word} ".encode() + vector.astype("<f4").tobytes())
            else:
                file.write(f"{word} {' '.join(map(str, vector))}\n".encode())


def read_vectors(
    path: str | os.PathLike[str], *, binary: bool, header: bool, limit: int | None
) -> tuple[list[str], np.ndarray]:
    """Words and vectors of a file, the first `limit` of them; an error says where it is broken."""
    if binary and not header:
        raise ValueError("a binary file has a header; set binary=False or no_header=False")
    words: list[str] = []
    rows: list[Any] = []
    n: int | None = None
    with _open(path, "rb", os.fspath(path)) as file:
        try:
            size = None
            if header:
                n, size = _header(file.readline(_LONGEST_WORD))
            found = _binary_rows(file, n, size) if binary else _text_rows(file, size)
            for word, row in found:
                if limit is not None and len(words) == limit:
                    break
                words.append(word.decode())
                rows.append(row)
            if not words or len(set(words)) < len(words):
                raise ValueError(f"{len(set(words))} different words")
            if n is not None and len(words) != (n if limit is None else min(limit, n)):
                raise ValueError(f"{len(words)} words, and the first line says {n}")
        except (ValueError, EOFError, gzip.BadGzipFile, zlib.error) as error:
            kind = "binary" if binary else "text"
            place = f"word {len(words) + 1}" if binary else f"line {len(words) + 1 + bool(n)}"
            raise ValueError(
                f"{os.fspath(path)} holds no word vectors as {kind}, or is cut off: {place}: "
                f"{error}"
            ) from error
    if binary:
        flat = np.frombuffer(b"".join(rows), "<f4").astype(np.float32)
        return words, flat.reshape(len(words), -1)
    return words, np.array(rows)


def _open(path: Any, mode: Any, name: str) -> Any:
    return gzip.open(path, mode) if name.endswith(".gz") else open(path, mode)


def _header(line: bytes) -> tuple[int, int]:
    numbers = [int(part) for part in line.split()]
    if len(numbers) != 2 or not numbers[0] > 0 or not 0 < numbers[1] <= _LONGEST_VECTOR:
        raise ValueError(
            f"the first line must be the number of words and the length of a vector, up to "
            f"{_LONGEST_VECTOR}; got {line!r:.60}"
        )
    return numbers[0], numbers[1]


def _text_rows(file: Any, size: int | None) -> Iterator[tuple[bytes, np.ndarray]]:
    """A word and its numbers a line; without a header the first line says how many."""
    for line in file:
        word, *numbers = line.rstrip(b" \r\n").split(b" ")
        if size is None and 0 < len(numbers) <= _LONGEST_VECTOR:
            size = len(numbers)
        if len(numbers) != size:
            raise ValueError(f"a line of {len(numbers)} numbers, where {size} are expected")
        yield word, np.array(numbers, dtype=np.float32)


def _binary_rows(file: Any, n: Any, size: Any) -> Iterator[tuple[bytes, bytes]]:
    """A word and the bytes of its numbers, read a chunk at a time."""
    buffer, at, length = b"", 0, 4 * size
    for _ in range(n):
        while (blank := buffer.find(b" ", at)) < 0 or len(buffer) < blank + 1 + length:
            if blank < 0 and len(buffer) - at > _LONGEST_WORD:
                raise ValueError(f"no blank in {_LONGEST_WORD} bytes")
            more = file.read(max(_CHUNK, length))
            if not more:
                raise ValueError(f"the file ends, and the first line says {n} words")
            buffer, at = buffer[at:] + more, 0
        end = blank + 1 + length
        yield buffer[at:blank].lstrip(b"\n"), buffer[blank + 1 : end]
        at = end
    if (buffer[at:] + file.read(_CHUNK)).strip(b"\n"):
        raise ValueError(f"more than the {n} words that the first line says")
