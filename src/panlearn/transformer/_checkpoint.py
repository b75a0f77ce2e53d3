"""Weights in the folders of Hugging Face, read and written, safetensors alone.

A folder holds ``config.json``, and ``model.safetensors`` or shards of it with an index. Names and
shapes are looked at before a tensor is read: what does not fit takes no memory.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save as to_safetensors

from panlearn.core.files import write_file
from panlearn.transformer._arrays import Room, to_tensor
from panlearn.transformer._config import GPTConfig
from panlearn.transformer._decoder import shapes
from panlearn.transformer._families import FAMILIES, Family
from panlearn.transformer._folder import (
    INDEX,
    WEIGHTS,
    CheckpointError,
    Folder,
    check_folder,
    read_json,
)

__all__ = ["CheckpointError", "read", "read_json", "write"]

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
_SHARD = 1 << 32  # bytes of a file that is written
# tables that old files hold beside the weights, and copies of what all depths share
_BESIDE = re.compile(
    r".*\.attn\.(masked_)?bias|.*\.rotary_emb\.inv_freq|.*\.shared_head\.head\.weight"
    r"|model\.layers\.\d+\.embed_tokens\.weight"
)


@dataclass(frozen=True)
class Entry:
    """One tensor: its name here, those there as a table (experts, parts), and the parts' shapes."""

    ours: str
    theirs: tuple[tuple[str, ...], ...]
    parts: tuple[tuple[int, ...], ...]
    stacked: bool
    transposed: bool
    swapped: bool


def read(
    folder: str | os.PathLike[str], *, dtype: str = "float32"
) -> tuple[GPTConfig, dict[str, np.ndarray], dict[str, Any]]:
    """Read a folder: the shape of the decoder, its weights by our names, and ``config.json``."""
    if dtype not in (*DTYPES, "auto"):
        raise ValueError(f"dtype must be one of {[*DTYPES, 'auto']}; got {dtype!r}")
    folder = check_folder(folder)
    facts = read_json(folder / "config.json")
    kind = facts.get("model_type")
    if kind not in FAMILIES:
        raise CheckpointError(
            f"{folder} holds a model of type {kind!r}; can be read: {', '.join(FAMILIES)}"
        )
    family = FAMILIES[kind]
    try:
        config = family.read(facts)
        n_tokens = int(facts["vocab_size"])
    except KeyError as missing:
        raise CheckpointError(f"{folder}/config.json lacks {missing}") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise CheckpointError(f"{folder}/config.json: {error}") from error
    found = Folder(folder)
    if kind == "gpt2" and "wte.weight" in found.shapes:  # the first files have no prefix
        found = found.prefixed("transformer.")
    config = _with_depths_of(config, facts, found)
    entries = _plan(family, config, n_tokens, found)
    weights, room = {}, Room()
    for entry in entries:
        tensor = _join(entry, found)
        if dtype != "auto":
            tensor = tensor.to(DTYPES[dtype])
        weights[entry.ours] = room.keep(tensor)
    return config, weights, facts


def _with_depths_of(config: GPTConfig, facts: dict[str, Any], found: Folder) -> GPTConfig:
    """Say that tokens further ahead are predicted, if the file can: many name it and do not."""
    n_ahead = facts.get("num_nextn_predict_layers") or 0
    there = any(".eh_proj." in name for name in found.shapes)
    return replace(config, n_ahead=n_ahead) if there else config


def _plan(family: Family, config: GPTConfig, n_tokens: int, found: Folder) -> list[Entry]:
    """Say which tensors become what, after a look at the names and shapes of all."""
    experts = 0 if config.experts is None else config.experts.n_experts
    found.check_count(config.n_layers, experts, config.n_ahead)
    try:
        entries = list(_entries(family, config, n_tokens))
    except (RuntimeError, TypeError, OverflowError) as error:
        raise CheckpointError(f"{found.path}/config.json asks for absurd sizes: {error}") from error
    used: set[str] = set()
    for entry in entries:
        for row in entry.theirs:
            for name, shape in zip(row, entry.parts, strict=True):
                found.check(name, shape[::-1] if entry.transposed else shape)
                used.add(name)
    if config.tied:
        used.add("lm_head.weight")
    if more := [n for n in found.shapes if n not in used and not _BESIDE.fullmatch(n)]:
        raise CheckpointError(
            f"{found.path} holds tensors that this decoder has no place for: {', '.join(more[:3])}"
        )
    return entries


def _entries(family: Family, config: GPTConfig, n_tokens: int) -> Iterator[Entry]:
    """What becomes what, of all tensors of a decoder."""
    for ours, shape in shapes(config, n_tokens).items():
        module, _, leaf = _numbered(ours, config.n_layers).rpartition(".")
        layer = re.search(r"blocks\.(\d+)", module)
        number = layer[1] if layer else ""
        pattern = re.sub(r"blocks\.\d+", "blocks.#", module)
        ending = f".{leaf}"
        if pattern not in family.names:  # a tensor that has a name of its own
            pattern, ending = f"{pattern}.{leaf}", ""
        theirs = [name.replace("#", number) + ending for name in family.names[pattern]]
        stacked = "*" in theirs[0]
        each = shape[1:] if stacked else shape
        rows = [[t.replace("*", str(i)) for t in theirs] for i in range(shape[0] if stacked else 1)]
        yield Entry(
            ours,
            tuple(map(tuple, rows)),
            tuple((n, *each[1:]) for n in _split(config, len(theirs), each[0])),
            stacked,
            # GPT-2 keeps the matrices of its blocks as (inputs, outputs)
            transposed=family.transposed and len(each) == 2 and bool(layer),
            # files have the part of the token first
            swapped=theirs[0].endswith("eh_proj.weight"),
        )


def _numbered(name: str, n_layers: int) -> str:
    """The name of a tensor in what predicts further ahead, as that of a layer after the last."""
    return re.sub(
        r"^ahead\.(\d+)\.(block\.)?", lambda found: f"blocks.{n_layers + int(found[1])}.", name
    )


def _split(config: GPTConfig, n_parts: int, n_rows: int) -> Sequence[int]:
    """How many rows each part has: queries, keys and values, or equal halves."""
    if n_parts == 3:
        keys = (config.n_key_heads or config.n_heads) * config.head_size
        return n_rows - 2 * keys, keys, keys
    return [n_rows // n_parts] * n_parts


def _join(entry: Entry, found: Folder) -> torch.Tensor:
    """Read what becomes one tensor here."""
    rows = []
    for row in entry.theirs:
        parts = [found.read(name) for name in row]
        if entry.transposed:
            parts = [part.T for part in parts]
        rows.append(parts[0] if len(parts) == 1 else torch.cat(parts))
    tensor = torch.stack(rows) if entry.stacked else rows[0]
    return _swap(tensor) if entry.swapped else tensor.contiguous()


def _swap(tensor: torch.Tensor) -> torch.Tensor:
    return torch.cat(tensor.chunk(2, dim=1)[::-1], dim=1)


def write(
    folder: str | os.PathLike[str],
    config: GPTConfig,
    weights: dict[str, np.ndarray],
    **facts: Any,
) -> None:
    """Write weights and ``config.json`` as the transformers package reads them."""
    family = _family(config)
    n_tokens, precision = len(weights["tokens.weight"]), to_tensor(weights["tokens.weight"]).dtype
    content = {
        "model_type": family.kind,
        "architectures": [family.architecture],
        **family.facts(config),
        "vocab_size": n_tokens,
        "dtype": str(precision).removeprefix("torch."),
        **facts,
    }
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    entries = list(_entries(family, config, n_tokens))
    sizes = np.array([weights[entry.ours].nbytes for entry in entries])
    shares = _shares(entries, sizes)
    places: dict[str, str] = {}
    for i, share in enumerate(shares, 1):
        name = WEIGHTS if len(shares) == 1 else f"model-{i:05d}-of-{len(shares):05d}.safetensors"
        _write_file(folder / name, share, weights)
        places |= {n: name for entry in share for row in entry.theirs for n in row}
    if len(shares) > 1:
        index = {"metadata": {"total_size": int(sizes.sum())}, "weight_map": places}
        write_file(folder / INDEX, json.dumps(index, indent=2).encode())
    write_file(folder / "config.json", json.dumps(content, indent=2).encode())


def _shares(entries: list[Entry], sizes: np.ndarray) -> list[list[Entry]]:
    """Entries in runs, each of which is a file."""
    places = np.cumsum(sizes) // _SHARD
    return [
        [entry for entry, place in zip(entries, places, strict=True) if place == number]
        for number in np.unique(places)
    ]


def _write_file(path: Path, entries: list[Entry], weights: dict[str, np.ndarray]) -> None:
    tensors = {}
    for entry in entries:
        tensor = to_tensor(weights[entry.ours])
        tensor = _swap(tensor) if entry.swapped else tensor
        sizes = [part[0] for part in entry.parts]
        for row, table in zip(entry.theirs, tensor if entry.stacked else [tensor], strict=True):
            for name, part in zip(row, table.split(sizes), strict=True):
                tensors[name] = (part.T if entry.transposed else part).contiguous()
    write_file(path, to_safetensors(tensors, {"format": "pt"}))


def _family(config: GPTConfig) -> Family:
    """The family whose files can hold this decoder."""
    for family in FAMILIES.values():
        if family.holds(config):
            return family
    raise CheckpointError(
        f"files of {', '.join(FAMILIES)} hold decoders of their own kind, and this one mixes what "
        "none of them has: use panlearn.save"
    )
