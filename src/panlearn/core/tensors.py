"""Named arrays in one safetensors file, with a digest over them and over what describes them."""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from panlearn.core.files import replacing

# safetensors' names for the types that both have; it writes the low byte first
_CODES = {
    "BOOL": "?",
    **{f"{name}{8 * size}": f"<{name.lower()}{size}" for name in "IU" for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": f"<f{size}" for size in (2, 4, 8)},
}


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


def array_part(name: str, array: np.ndarray) -> Part:
    """An array as a part of a file; its memory is given as it is if it has no gaps."""
    code = next(code for code, kind in _CODES.items() if np.dtype(kind) == array.dtype)
    flat = array.reshape(-1).view(np.uint8)
    return Part(name, array.dtype.str, code, array.shape, array.nbytes, lambda: flat)


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


def read_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Read the metadata and the arrays of a file; a ValueError says why it is no such file.

    Nothing is made that the file has not the bytes for, and each array is read once, to where it
    stays: a file that another process cuts short meanwhile is an error, where mapping it to memory
    would end this process.
    """
    with open(path, "rb") as file:
        left = os.fstat(file.fileno()).st_size - 8
        (length,) = struct.unpack("<Q", file.read(8)) if left >= 0 else (left + 1,)
        if length > left:
            raise ValueError("it is too short for its header")
        header = json.loads(file.read(length))
        metadata = header.pop("__metadata__", {})
        place, arrays = 0, {}
        for name, facts in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
            if facts["dtype"] not in _CODES:
                raise ValueError(f"tensor {name} is of type {facts['dtype']}")
            kind, shape = np.dtype(_CODES[facts["dtype"]]), tuple(facts["shape"])
            if len(shape) > 64 or any(type(n) is not int or not 0 <= n < 1 << 62 for n in shape):
                raise ValueError(f"tensor {name} has a shape that no array has")
            end = place + math.prod(shape) * kind.itemsize
            if facts["data_offsets"] != [place, end] or end > left - length:
                raise ValueError(f"tensor {name} does not lie where its shape says")
            array = np.empty(shape, kind)
            if file.readinto(array.reshape(-1).view(np.uint8).data) != array.nbytes:
                raise ValueError("it was cut short")
            arrays[name], place = array, end
        if place != left - length:
            raise ValueError("it goes on after its last tensor")
    return metadata, arrays
