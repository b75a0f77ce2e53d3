"""Checkpoints: the whole state of a run in one safetensors file, written all or nothing.

A state is made of dictionaries, lists, numbers, strings and tensors. The tensors are those of the
file; the rest is JSON in its metadata, with a SHA-256 digest over both. Nothing in a file is run.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save

from panlearn.core.files import write_file

NAME = "checkpoint.safetensors"
_FORMAT = "panlearn checkpoint 1"


class CheckpointError(ValueError):
    """A checkpoint is damaged, foreign, or of another run."""


def write(folder: Path, state: dict[str, Any]) -> None:
    """Write beside the old checkpoint, then rename over it: a kill leaves one of the two, whole."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors: dict[str, torch.Tensor] = {}
    structure = json.dumps(_pack(state, tensors, {}))
    metadata = {"format": _FORMAT, "state": structure, "sha256": _digest(structure, tensors)}
    content = save(tensors or {"empty": torch.zeros(1)}, metadata)
    for left in folder.glob(f".{NAME}.*"):  # of a process that was killed while writing
        left.unlink(missing_ok=True)
    write_file(folder / NAME, content)


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
    tensors.pop("empty", None)
    if metadata.get("sha256") != _digest(structure, tensors):
        raise CheckpointError(f"{path} is damaged: its contents do not match its checksum")
    return _unpack(json.loads(structure), tensors)


def _pack(value: Any, tensors: dict[str, torch.Tensor], seen: dict[Any, str]) -> Any:
    """JSON for a state; its tensors gather in `tensors`, those that share memory once."""
    if isinstance(value, torch.Tensor):
        key = (value.data_ptr(), value.dtype, tuple(value.shape), value.stride())
        if key not in seen or not value.numel():
            seen[key] = str(len(tensors))
            tensors[seen[key]] = value.detach().cpu().contiguous().clone()
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


def _digest(structure: str, tensors: dict[str, torch.Tensor]) -> str:
    digest = hashlib.sha256(structure.encode())
    for name in sorted(tensors):
        tensor = tensors[name].contiguous()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} ".encode())
        if tensor.numel():
            digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
