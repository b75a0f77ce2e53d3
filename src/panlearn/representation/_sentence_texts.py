"""Examples of one text or several, checked and cut into columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from panlearn.transformer._bert_texts import read_pairs


def columns_of(X: Any, allowed: tuple[int, ...], who: str) -> list[list[Any]]:
    """The first texts of all examples, their second ones, and so on."""
    if getattr(X, "ndim", 1) == 2 and X.shape[1] in (2, 3):
        X = [tuple(row) for row in (X.values if hasattr(X, "columns") else X).tolist()]
    documents = read_pairs(X)
    if not documents:
        raise ValueError("there is no document, so nothing to learn from")
    sizes = [_size(document) for document in documents]
    for i, size in enumerate(sizes):
        if size != sizes[0]:
            raise ValueError(f"example {i} has {_texts(size)}, and example 0 has {sizes[0]}")
    if sizes[0] not in allowed:
        wanted = " or ".join(map(str, allowed))
        raise ValueError(f"{who} takes examples of {wanted} texts; a document has {sizes[0]}")
    if sizes[0] == 1:
        return [documents]
    return [list(column) for column in zip(*documents, strict=True)]


def _size(document: Any) -> int:
    return len(document) if isinstance(document, tuple) else 1


def _texts(size: int) -> str:
    return f"{size} text" + "s" * (size != 1)


def single_texts(X: Any) -> list[Any]:
    """Texts that are no pairs."""
    documents = read_pairs(X)
    for i, document in enumerate(documents):
        if isinstance(document, tuple):
            raise ValueError(
                f"document {i} is a tuple; each text has a vector of its own: give single texts"
            )
    return documents


def as_vectors(model: Any, X: Any) -> np.ndarray:
    """Vectors of length one, of texts or of their vectors; zeros stay zeros."""
    given = isinstance(X, np.ndarray) and X.dtype.kind == "f"
    found = X if given else model.transform(X)
    if found.ndim != 2 or found.shape[1] != model._n_features_out:
        raise ValueError(
            f"X has shape {found.shape}; vectors of this model are (n, {model._n_features_out})"
        )
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    return found / np.where(lengths > 0, lengths, 1)
