"""Named arrays in one safetensors file, with a digest over them and over what describes them."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from panlearn.core.files import replacing


class Part(NamedTuple):
    """One array of a file.

    Attributes
    ----------
    name : str
        Under which it is found again.
    kind : str
        Its type, as the digest counts it.
    code : str
        Its type, as safetensors calls it.
    shape : tuple of int
    nbytes : int
    data : callable
        Gives its memory, row after row, when it is needed.
    """

    name: str
    kind: str
    code: str
    shape: tuple[int, ...]
    nbytes: int
    data: Callable[[], Any]


def digest(structure: str, parts: Iterable[Part]) -> str:
    """SHA-256 of a description and of the arrays beside it, in the order of their names."""
    found = hashlib.sha256(structure.encode())
    for part in sorted(parts, key=lambda part: part.name):
        shape = part.shape or (1,)  # a single number counts as one entry
        found.update(f"{part.name} {part.kind} {shape} ".encode())
        found.update(part.data())
    return found.hexdigest()


def write_tensors(
    path: str | os.PathLike[str], metadata: dict[str, str], parts: list[Part]
) -> None:
    """Write a file whole, one array after the other, so that it takes no memory to speak of."""
    header: dict[str, Any] = {"__metadata__": metadata}
    place = 0
    for part in parts:
        end = place + part.nbytes
        header[part.name] = {
            "dtype": part.code,
            "shape": list(part.shape),
            "data_offsets": [place, end],
        }
        place = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for part in parts:
            file.write(part.data())
