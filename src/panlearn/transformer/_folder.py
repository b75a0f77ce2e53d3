"""A folder of safetensors: names and shapes at once, tensors when they are asked for."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
_DTYPES = ("F32", "BF16", "F16", "F64")


class CheckpointError(ValueError):
    """A folder does not hold weights that can be read, or a model fits no known layout."""


class Folder:
    """The tensors of a folder.

    Attributes
    ----------
    path : Path
    shapes : dict of {str: tuple of int}
        The shape of each tensor; none has been read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.shapes: dict[str, tuple[int, ...]] = {}
        self._places: dict[str, tuple[Path, str]] = {}
        self._kinds: dict[str, str] = {}
        for file in _files(path):
            try:
                with safe_open(file, framework="pt") as shard:
                    for name in shard.keys():
                        part = shard.get_slice(name)
                        self.shapes[name] = tuple(part.get_shape())
                        self._places[name] = file, name
                        self._kinds[name] = part.get_dtype()
            except (SafetensorError, OSError, ValueError) as error:
                raise CheckpointError(
                    f"{file} is damaged, or no file of safetensors: {error}"
                ) from error

    def prefixed(self, prefix: str) -> Folder:
        """The same with longer names."""
        made = copy.copy(self)
        made.shapes = {prefix + name: shape for name, shape in self.shapes.items()}
        made._places = {prefix + name: place for name, place in self._places.items()}
        made._kinds = {prefix + name: kind for name, kind in self._kinds.items()}
        return made

    def check_count(self, *counts: int) -> None:
        """Refuse more layers, experts or the like than there are tensors, before any is named."""
        if max(counts) > len(self.shapes):
            raise CheckpointError(
                f"{self.path} lacks the tensors of {max(counts)} layers that config.json asks for"
            )

    def check(self, name: str, shape: tuple[int, ...]) -> None:
        """Refuse a tensor that is not there, has another shape, or holds no fractions."""
        if name not in self.shapes:
            raise CheckpointError(f"{self.path} lacks the tensor {name!r}")
        if self.shapes[name] != shape:
            raise CheckpointError(
                f"{self.path}: {name} has shape {self.shapes[name]}, but config.json asks for "
                f"{shape}"
            )
        if (kind := self._kinds[name]) not in _DTYPES:
            raise CheckpointError(f"{self.path} holds {name!r} as {kind}; can be read: {_DTYPES}")

    def read(self, name: str) -> torch.Tensor:
        """Read a tensor."""
        file, stored = self._places[name]
        with safe_open(file, framework="pt") as shard:
            tensor = shard.get_tensor(stored)
        if not tensor.isfinite().all():
            raise CheckpointError(f"{self.path}: {name} holds numbers that are NaN or infinite")
        return tensor


def check_folder(path: str | os.PathLike[str]) -> Path:
    """Refuse what is no folder."""
    if not Path(path).is_dir():
        raise FileNotFoundError(f"no folder at {path}")
    return Path(path)


def read_json(path: Path) -> dict[str, Any]:
    """Read an object from a JSON file."""
    if not path.is_file():
        raise CheckpointError(f"{path.parent} has no {path.name}")
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{path} does not hold a JSON object")
    return content


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _files(folder: Path) -> list[Path]:
    """The files that hold the weights."""
    if (folder / INDEX).is_file():
        places = read_json(folder / INDEX).get("weight_map")
        if not isinstance(places, dict) or not all(isinstance(f, str) for f in places.values()):
            raise CheckpointError(f"{folder / INDEX} has no weight_map")
        files = sorted(set(places.values()))
    elif (folder / WEIGHTS).is_file():
        files = [WEIGHTS]
    else:
        pickled = any(folder.glob("*.bin")) or any(folder.glob("*.pt"))
        why = "; pickled weights are not read, save them as safetensors" if pickled else ""
        raise CheckpointError(f"{folder} has no {WEIGHTS}{why}")
    for file in files:
        if Path(file).name != file or not (folder / file).is_file():
            raise CheckpointError(f"{folder} lacks the shard {file!r} that its index names")
    return [folder / file for file in files]
