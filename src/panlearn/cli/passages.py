"""An index of the passages of files: built, brought up to date, and asked."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import panlearn
from panlearn.cli.corpus import LARGEST, chunks, discover, places, query_words, read_text, words
from panlearn.cli.meaning import (
    brought_up,
    encoder_of,
    is_its_own,
    load_encoder,
    mark_of,
    ranked,
)
from panlearn.core.errors import DataError
from panlearn.core.persistence import ModelFileError
from panlearn.retrieval import BM25

RECENT = 2_000_000_000  # nanoseconds within which a file may change twice under one time stamp


@dataclass
class Update:
    """What an update of an index did."""

    files: int = 0
    passages: int = 0
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    recall: float | None = None

    def unread(self, error: OSError) -> None:
        """Note a file or a folder that cannot be read."""
        self.left_out.append(f"{error.filename}: {error.strerror}")

    def of(self, index: Any, files: dict[str, Any]) -> Update:
        """Count what the index holds."""
        self.files, self.passages = len(files), len(index.ids_)
        self.recall = getattr(getattr(index, "vectors_", None), "recall_", None)
        return self


@dataclass(frozen=True)
class Passage:
    """A passage that answers a query."""

    file: str
    line: int
    first: int
    last: int
    score: float
    text: str
    matches: list[tuple[int, int]]


def update_index(
    paths: Iterable[str],
    output: str | os.PathLike[str],
    *,
    lines: int = 30,
    overlap: int = 10,
    encoder: str | os.PathLike[str] | None = None,
    by: str = "both",
    approximate: bool = False,
    watch: Callable[[int, int], None] = lambda done, total: None,
) -> Update:
    """Make the index at `output` that of the files under `paths`; unchanged files are not read.

    With the folder of an `encoder` passages have vectors, too, and are searched `by` "meaning" or
    by "both". The file at `output` is the old index until the new one is complete.
    """
    if not 0 <= overlap < lines:
        raise DataError(f"the overlap of {overlap} lines must be below the {lines} of a passage")
    settings: dict[str, Any] = {"lines": lines, "overlap": overlap}
    meaning = None
    if encoder is not None:
        meaning = load_encoder(encoder)
        settings |= {"encoder": os.path.abspath(encoder), "by": by, "approximate": approximate}
    index, began = _opened(output, settings, meaning), time.time_ns()
    known, update, kept = index.files_ if index else {}, Update(), {}
    found = [f for f in discover(paths, update.unread) if not _is(f[0], output)]
    fresh: dict[str, str] = {}
    for done, (path, status) in enumerate(found):
        watch(done, len(found))
        stamp = (status.st_size, status.st_mtime_ns)
        before = known.get(path)
        if before and before["stamp"] == stamp and stamp[1] < before["read"] - RECENT:
            kept[path] = before
            continue
        text = _text(path, status.st_size, update)
        if text is None:
            continue
        kept[path] = {"stamp": stamp, "read": began, "text": text}
        if before and before["text"] == text:
            continue
        fresh[path] = text
        (update.changed if before else update.new).append(path)
    watch(len(found), len(found))
    update.gone = [path for path in known if path not in kept]
    if not kept:
        raise DataError(f"no text in {' '.join(map(str, paths))}")
    if index is not None and kept == known:
        return update.of(index, kept)
    index = _brought_up(index, fresh, {*update.changed, *update.gone}, settings, meaning)
    index.files_, index.settings_ = kept, settings
    panlearn.save(index, output)
    return update.of(index, kept)


def _opened(output: str | os.PathLike[str], settings: dict[str, Any], meaning: Any) -> Any:
    """The index so far, if there is one with the same passages and vectors."""
    if not os.path.exists(output):
        return None
    index = open_index(output)
    same = index.settings_ == settings and (meaning is None or is_its_own(index, meaning))
    return index if same else None


def open_index(path: str | os.PathLike[str]) -> Any:
    """Load an index that `update_index` wrote."""
    try:
        index = panlearn.load(path)
    except ModelFileError as error:
        raise DataError(str(error)) from None
    if not isinstance(index, BM25) or not hasattr(index, "files_"):
        raise DataError(f"{path} holds a {type(index).__name__}, not an index of `panlearn index`")
    return index


def _is(path: str, output: str | os.PathLike[str]) -> bool:
    """Whether a file is the index itself."""
    return os.path.exists(output) and os.path.samefile(path, output)


def _text(path: str, size: int, update: Update) -> str | None:
    try:
        text = read_text(path)
    except OSError as error:
        update.unread(error)
        return None
    if text is None:
        reason = "too large" if size > LARGEST else "no text"
        update.left_out.append(f"{path}: {reason}")
    return text


def _brought_up(
    index: Any, fresh: dict[str, str], stale: set[str], settings: dict[str, Any], meaning: Any
) -> BM25:
    """Take the passages of stale files out and put those of fresh ones in."""
    ids, texts, pages = [], [], []
    for path, text in fresh.items():
        rows = text.split("\n")
        # a file is about what its name says: the name counts in each of its passages
        name = words(Path(path).stem) + words(path)
        for first, last in chunks(len(rows), settings["lines"], settings["overlap"]):
            ids.append((path, first, last))
            pages.append("\n".join(rows[first - 1 : last]))
            texts.append(words(pages[-1]) + name)
    old = [] if index is None else [i for i in index.ids_.tolist() if i[0] in stale]
    if meaning is not None:
        known = None if index is None else index.vectors_
        vectors = brought_up(known, meaning, ids, pages, old, settings["approximate"])
    if index is None:
        index = BM25().fit(texts, ids=ids)
    else:
        index = index.remove(old) if old else index
        index = index.add(texts, ids=ids) if ids else index
    if meaning is not None:
        index.vectors_, index.mark_ = vectors, mark_of(meaning)
    return index


def find(
    index: Any, query: str, k: int = 10, per_file: int = 1, encoder: Any = None
) -> list[Passage]:
    """Give the best k passages for a query, at most `per_file` of each file.

    The `encoder` of an index with vectors is loaded from its folder if it is not given.
    """
    asked = query_words(query)
    n, rarity = max(len(index.ids_), 1), _rarity(index, asked)
    if encoder is None and "encoder" in index.settings_:
        encoder = encoder_of(index)
    for depth in (min(50 * k * per_file, n), n):  # all, if the first many are of too few files
        hits = ranked(index, asked, query, depth, encoder)
        taken: Counter[str] = Counter()
        found: list[Passage] = []
        places_and_scores = zip(hits.ids.tolist(), hits.scores.tolist(), strict=True)
        for (file, first, last), score in places_and_scores:
            if taken[file] < per_file and len(found) < k:
                taken[file] += 1
                found.append(_passage(index, rarity, file, first, last, score))
        if len(found) == k or len(hits.ids) < depth:
            break
    return found


def _rarity(index: Any, asked: list[str]) -> dict[str, float]:
    """How rare each word of a query is among the passages."""
    scored = index.scores([[word] for word in asked])
    held = {word: (row > 0).sum() for word, row in zip(asked, scored, strict=True)}
    return {word: float(np.log1p(scored.shape[1] / n)) for word, n in held.items() if n}


def _passage(
    index: Any, rarity: dict[str, float], file: str, first: int, last: int, score: float
) -> Passage:
    """The passage with its best line: the one with the rarest words of the query."""
    rows = index.files_[file]["text"].split("\n")[first - 1 : last]
    worth = [sum(rarity.get(word, 0.0) for word in set(words(row))) for row in rows]
    text, best = "\n".join(rows), int(np.argmax(worth))
    return Passage(file, first + best, first, last, score, text, places(text, set(rarity)))
