"""Files as passages: which files hold text, what it says, and the words of it."""

from __future__ import annotations

import functools
import html
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from panlearn.core.errors import DataError
from panlearn.retrieval._answers import GRAMMAR, stem

LARGEST = 20_000_000  # bytes of a file that is read
_LEFT_OUT = {"__pycache__", "node_modules"}
_HTML = {".html", ".htm", ".xhtml"}
# what is not closed goes on to the end; a tag ends before the next, so that no text is read twice
_TAG = re.compile(r"(?is)<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s*>|\Z)|<[!?/a-z][^<>]*>")
_PIECE = re.compile(r"[^\W\d_]+|\d+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def discover(
    paths: Iterable[str], unread: Callable[[OSError], None]
) -> Iterator[tuple[str, os.stat_result]]:
    """Walk files and folders, in order: every regular file once, without what is hidden.

    `unread` is told of folders that cannot be read.
    """
    seen: set[tuple[int, int]] = set()
    for path in paths:
        if not os.path.exists(path):
            raise DataError(f"no file or folder at {path}")
        names = _walk(path, unread) if os.path.isdir(path) else [path]
        for name in names:
            try:
                status = os.stat(name)
            except OSError:  # gone in the meantime, or a link to nothing
                continue
            if stat.S_ISREG(status.st_mode) and (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                yield name, status


def _walk(folder: str, unread: Callable[[OSError], None]) -> Iterator[str]:
    for root, folders, files in os.walk(folder, onerror=unread):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _LEFT_OUT)
        for file in sorted(files):
            if not file.startswith("."):
                yield os.path.join(root, file)


def read_text(path: str) -> str | None:
    """Read the text of a file, line by line where it stands; None if it holds none."""
    with open(path, "rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        return None
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = content.decode("utf-16", errors="replace")
    elif b"\0" in content:
        return None
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            if sum(byte < 9 or 13 < byte < 32 for byte in content[:4096]) > 40:
                return None
            text = content.decode("latin-1")
    text = "\n".join(re.split(r"\r\n?|\n", text))
    return without_tags(text) if Path(path).suffix.lower() in _HTML else text


def without_tags(text: str) -> str:
    """Take the tags out of HTML; each line stays on its line."""
    plain = _TAG.sub(lambda tag: "\n" * tag[0].count("\n") or " ", text)
    return "\n".join(re.sub(r"[\r\n]", " ", html.unescape(row)) for row in plain.split("\n"))


def chunks(n_lines: int, lines: int, overlap: int) -> Iterator[tuple[int, int]]:
    """First and last lines, from 1, of passages that overlap."""
    first = 1
    while True:
        last = min(first + lines - 1, n_lines)
        yield first, last
        if last >= n_lines:
            return
        first += lines - overlap


def words(text: str) -> list[str]:
    """Stems of the words of a text, or of code: names are cut at underscores and capitals."""
    return [word for match in _PIECE.finditer(text) for word in _stems(match[0])]


def places(text: str, asked: set[str]) -> list[tuple[int, int]]:
    """Where words with the asked stems stand in a text."""
    return [m.span() for m in _PIECE.finditer(text) if not asked.isdisjoint(_stems(m[0]))]


@functools.lru_cache(maxsize=1 << 17)
def _stems(piece: str) -> tuple[str, ...]:
    """A word, or the words of a name such as ReadMe and the name as one."""
    parts = _HUMP.split(piece)
    whole = (stem(piece.lower()),)
    return whole if len(parts) == 1 else (*(stem(part.lower()) for part in parts), *whole)


def query_words(query: str) -> list[str]:
    """Stems of a query without its grammar, unless there is nothing else."""
    content = [w for w in _PIECE.findall(query) if w.lower() not in GRAMMAR]
    return words(" ".join(content) or query)
