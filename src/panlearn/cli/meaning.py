"""Vectors of passages: the encoder of an index, search by meaning, and what is near a question."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from panlearn.cli.corpus import query_words
from panlearn.core.errors import DataError
from panlearn.retrieval import IVF, DenseIndex, reciprocal_rank_fusion
from panlearn.retrieval._answers import BY_VECTORS, BY_WORDS, Cosines, Words
from panlearn.retrieval._labels import Hits

LEAST = 0.2  # the cosine of a passage with a query below which it is no hit
_MARK = "The encoder of an index is known by its vector of this text."


def load_encoder(folder: str | os.PathLike[str]) -> Any:
    """Load a sentence encoder."""
    from panlearn.representation import SentenceEncoder

    try:
        return SentenceEncoder.from_pretrained(folder)
    except (ValueError, FileNotFoundError) as error:
        raise DataError(f"no sentence encoder: {error}") from None


def encoder_of(index: Any) -> Any:
    """The encoder that an index was made with, from its folder."""
    folder = index.settings_["encoder"]
    encoder = load_encoder(folder)
    if not is_its_own(index, encoder):
        raise DataError(f"the encoder in {folder} is another one now; run panlearn index again")
    return encoder


def mark_of(encoder: Any) -> np.ndarray:
    """What tells an encoder from others."""
    return encoder.transform([_MARK])[0]


def is_its_own(index: Any, encoder: Any) -> bool:
    """Whether an index was made with this encoder."""
    mark = mark_of(encoder)
    return mark.shape == index.mark_.shape and np.allclose(mark, index.mark_, atol=1e-4)


def brought_up(
    known: DenseIndex | None,
    encoder: Any,
    ids: list[Any],
    pages: list[str],
    old: list[Any],
    approximate: bool,
) -> DenseIndex:
    """Take the vectors of old passages out and put those of new ones in."""
    if known is None:
        made = DenseIndex(approximation=IVF() if approximate else None)
        return made.fit(encoder.transform(pages), ids=ids)
    if old:
        known.remove(old)
    return known.add(encoder.transform(pages), ids=ids) if ids else known


def ranked(index: Any, asked: list[str], query: str, depth: int, encoder: Any) -> Hits:
    """The passages of an index by words, by meaning or by both, as it was made."""
    if encoder is None:
        return index.search([asked], depth)[0]
    found = index.vectors_.search(encoder.transform([query]), depth)[0]
    near = found.scores >= LEAST
    by_meaning = Hits(found.ids[near], found.scores[near])
    if index.settings_["by"] == "meaning":
        return by_meaning
    return reciprocal_rank_fusion([index.search([asked], depth)[0], by_meaning], n=depth)


def nearness(index: Any, encoder: Any) -> tuple[Any, float]:
    """Say how near texts are to a question, and what the least is that counts.

    By their words, their vectors, or the nearer of both, on the scale of vectors.
    """
    counts = np.diff(index.postings_.counts.indptr).tolist()
    held = Counter(dict(zip(index.postings_.words, counts, strict=True)))
    words = Words(held, len(index.ids_), query_words)
    if encoder is None:
        return words, BY_WORDS
    cosines = Cosines(encoder)
    if index.settings_["by"] == "meaning":
        return cosines, BY_VECTORS

    def nearer(question: str, texts: Sequence[str]) -> np.ndarray:
        by_words = words(question, texts) * (BY_VECTORS / BY_WORDS)
        return np.maximum(by_words, cosines(question, texts))

    return nearer, BY_VECTORS
