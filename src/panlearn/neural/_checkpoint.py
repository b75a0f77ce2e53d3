"""Checkpoints: the whole state of a run in one safetensors file, written all or nothing.

A state is made of dictionaries, lists, numbers, strings and tensors. The tensors are those of the
file; the rest is JSON in its metadata, with a SHA-256 digest over both. Nothing in a file is run.
Tensors go to the disk one by one, so that writing takes no memory to speak of.
"""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from panlearn.core.tensors import Part, digest, write_tensors

NAME = "checkpoint.safetensors"
_FORMAT = "panlearn checkpoint 2"
_TYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}


class CheckpointError(ValueError):
    """A checkpoint is damaged, foreign, or of another run."""


def write(folder: Path, state: dict[str, Any], *, keep: int = 1, step: int = 0) -> None:
    """Write beside the old checkpoint, then rename over it: a kill leaves one of the two, whole.

    Of those before, `keep` - 1 stay under names with their steps.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tensors: dict[str, torch.Tensor] = {}
    structure = json.dumps(_pack(state, tensors, {}))
    parts = _parts(tensors)
    metadata = {"format": _FORMAT, "state": structure, "sha256": digest(structure, parts)}
    for left in folder.glob(f".{NAME}.*"):  # of a process that was killed while writing
        left.unlink(missing_ok=True)
    write_tensors(folder / NAME, metadata, parts)
    if keep > 1:
        _keep(folder, keep, step)


def _keep(folder: Path, keep: int, step: int) -> None:
    """Give the newest checkpoint a second name with its step, and remove those that are too old."""
    stem, _, ending = NAME.partition(".")
    named = folder / f"{stem}-{step:09d}.{ending}"
    named.unlink(missing_ok=True)
    os.link(folder / NAME, named)
    for old in sorted(folder.glob(f"{stem}-*.{ending}"))[:-keep]:
        old.unlink()


def _parts(tensors: dict[str, torch.Tensor]) -> list[Part]:
    return [
        Part(
            name,
            str(tensor.dtype),
            _TYPES[tensor.dtype],
            tuple(tensor.shape),
            tensor.nbytes,
            functools.partial(_bytes, tensor),
        )
        for name, tensor in tensors.items()
    ]


def _bytes(tensor: torch.Tensor) -> Any:
    """The memory of a tensor, copied only if it is not on the CPU or has gaps."""
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().data if flat.numel() else b""


def read(folder: Path) -> dict[str, Any] | None:
    """Read the state in a folder, or None if there is no checkpoint."""
    path = folder / NAME
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}
    except Exception as error:
        raise CheckpointError(f"{path} is no checkpoint: {error}") from error
    structure = metadata.get("state", "")
    if metadata.get("format") != _FORMAT:
        raise CheckpointError(f"{path} was not written by neural.train")
    if metadata.get("sha256") != digest(structure, _parts(tensors)):
        raise CheckpointError(f"{path} is damaged: its contents do not match its checksum")
    return _unpack(json.loads(structure), tensors)


def _pack(value: Any, tensors: dict[str, torch.Tensor], seen: dict[Any, str]) -> Any:
    """JSON for a state; its tensors gather in `tensors`, those that share memory once."""
    if isinstance(value, torch.Tensor):
        key = (value.data_ptr(), value.dtype, tuple(value.shape), value.stride())
        if key not in seen or not value.numel():
            seen[key] = str(len(tensors))
            tensors[seen[key]] = value.detach()
        return {"tensor": seen[key]}
    if isinstance(value, dict):
        return {"dict": [[k, _pack(v, tensors, seen)] for k, v in value.items()]}
    if isinstance(value, list | tuple):
        items = [_pack(v, tensors, seen) for v in value]
        return {"tuple": items} if isinstance(value, tuple) else items
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"cannot write a {type(value).__name__} to a checkpoint")


def _unpack(code: Any, tensors: dict[str, torch.Tensor]) -> Any:
    if isinstance(code, list):
        return [_unpack(c, tensors) for c in code]
    if not isinstance(code, dict):
        return code
    if "tensor" in code:
        return tensors[code["tensor"]]
    if "tuple" in code:
        return tuple(_unpack(c, tensors) for c in code["tuple"])
    return {k: _unpack(v, tensors) for k, v in code["dict"]}
