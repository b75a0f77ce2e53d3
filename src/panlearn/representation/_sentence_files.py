"""Folders of sentence-transformers, read and written: safetensors and JSON, never pickle."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from panlearn.core.files import write_file
from panlearn.representation import _mpnet_files
from panlearn.representation._sentence_module import MARKS, POOLINGS
from panlearn.text import WordPieceTokenizer
from panlearn.transformer import _bert_files
from panlearn.transformer._bert import BERTConfig
from panlearn.transformer._folder import CheckpointError, check_folder, read_json

_KINDS = ("Transformer", "Pooling", "Normalize")
_LEGACY = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
_PLAIN = [("", "Transformer"), ("", "Pooling")]  # a folder of transformers: the mean of its states


@dataclass(frozen=True)
class Content:
    """What a folder holds."""

    family: str
    config: BERTConfig
    tokenizer: WordPieceTokenizer
    weights: dict[str, np.ndarray]
    pooling: tuple[str, ...]
    normalize: bool
    max_length: int


def read(folder: str | os.PathLike[str]) -> Content:
    """Read an encoder of BERT's or MPNet's shape and what is made of its states."""
    path = check_folder(folder)
    modules = _modules(path)
    inner = path / modules[0][0]
    family = read_json(inner / "config.json").get("model_type")
    if family == "bert":
        config, weights, _, _ = _bert_files.read(inner)
        weights = {k: v for k, v in weights.items() if k.startswith("encoder.")}
    elif family == "mpnet":
        config, weights = _mpnet_files.read(inner)
    else:
        raise CheckpointError(
            f"{inner} holds a model of type {family!r}; can be read: {', '.join(MARKS)}"
        )
    tokenizer = WordPieceTokenizer.from_huggingface(inner / "tokenizer.json")
    if lacking := [mark for mark in MARKS[family] if mark not in tokenizer.special_tokens_]:
        raise CheckpointError(f"{inner}/tokenizer.json has no special token {lacking[0]!r}")
    settings = _facts(inner / "sentence_bert_config.json")
    if settings.get("do_lower_case") and not tokenizer.lowercase:
        raise CheckpointError(f"{inner} asks for lower case, and its tokenizer keeps case")
    most = settings.get("max_seq_length")  # later versions leave it to the tokenizer
    most = most or _facts(inner / "tokenizer_config.json").get("model_max_length")
    _refuse_prompt(path)
    return Content(
        family,
        config,
        tokenizer,
        weights,
        _pooling(path / modules[1][0]),
        normalize=len(modules) > 2,
        max_length=int(min(most or config.context, config.context)),
    )


def _facts(file: Path) -> dict[str, Any]:
    return read_json(file) if file.is_file() else {}


def _modules(path: Path) -> list[tuple[str, str]]:
    """Folders and kinds of the modules, in order."""
    if not (path / "modules.json").is_file():
        return _PLAIN
    try:
        listed = json.loads((path / "modules.json").read_text("utf-8"))
        modules = [(str(m["path"]), str(m["type"]).rpartition(".")[2]) for m in listed]
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path}/modules.json does not list modules: {error!r}") from error
    kinds = tuple(kind for _, kind in modules)
    if kinds not in (_KINDS, _KINDS[:2]):
        raise CheckpointError(
            f"{path}/modules.json lists {', '.join(kinds)}; can be read: {', '.join(_KINDS)}, the "
            "last of which may be left out"
        )
    for inner, _ in modules:
        if not (path / inner).resolve().is_relative_to(path.resolve()):
            raise CheckpointError(f"{path}/modules.json leads out of the folder, to {inner!r}")
    return modules


def _pooling(path: Path) -> tuple[str, ...]:
    if not (path / "config.json").is_file():
        raise CheckpointError(f"{path} has no config.json, which says how states are pooled")
    facts = read_json(path / "config.json")
    named = facts.get("pooling_mode")
    if named is None:
        named = [mode for key, mode in _LEGACY.items() if facts.get(key)]
    modes = (named,) if isinstance(named, str) else tuple(named)
    if unknown := [mode for mode in modes if mode not in POOLINGS]:
        raise CheckpointError(f"{path} pools by {unknown[0]!r}; can be read: {', '.join(POOLINGS)}")
    return modes or ("mean",)


def _refuse_prompt(path: Path) -> None:
    """A prompt that is put before every text changes all vectors."""
    file = path / "config_sentence_transformers.json"
    if name := _facts(file).get("default_prompt_name"):
        raise CheckpointError(f"{file} puts the prompt {name!r} before each text; none is put here")


def write(folder: str | os.PathLike[str], content: Content) -> None:
    """Write a folder that sentence-transformers and `read` read."""
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    special, (first, end) = content.tokenizer.special_tokens_, MARKS[content.family]
    pad = "[PAD]" if content.family == "bert" else "<pad>"
    if content.family == "bert":
        absent = ("pooler", "words", "order")
        known = {"pad_token_id": special[pad]}
        _bert_files.write(path, content.config, content.weights, absent, **known)
    else:
        _mpnet_files.write(path, content.config, content.weights)
    content.tokenizer.to_huggingface(path / "tokenizer.json")
    if content.family == "mpnet":  # which puts other marks around a text
        document = read_json(path / "tokenizer.json")
        document["post_processor"] = {
            "type": "RobertaProcessing",
            **{"sep": [end, special[end]], "cls": [first, special[first]]},
            **{"trim_offsets": True, "add_prefix_space": False},
        }
        _write_json(path / "tokenizer.json", document)
    marks = {"pad_token": pad, "cls_token": first, "sep_token": end}
    _write_json(
        path / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": content.max_length,
            "unk_token": content.tokenizer.unk_token,
            **marks,
        },
    )
    kinds = _KINDS if content.normalize else _KINDS[:2]
    folders = ["", *(f"{i}_{kind}" for i, kind in enumerate(kinds[1:], start=1))]
    modules = [
        {"idx": i, "name": str(i), "path": inner, "type": f"sentence_transformers.models.{kind}"}
        for i, (inner, kind) in enumerate(zip(folders, kinds, strict=True))
    ]
    for inner in folders[1:]:
        (path / inner).mkdir(exist_ok=True)
    modes: dict[str, Any] = {key: mode in content.pooling for key, mode in _LEGACY.items()}
    if content.pooling != tuple(mode for mode in POOLINGS if mode in content.pooling):
        modes = {"pooling_mode": content.pooling}  # an order that only later versions can say
    width = {"word_embedding_dimension": content.config.width}
    _write_json(path / folders[1] / "config.json", width | modes)
    _write_json(
        path / "sentence_bert_config.json",
        {"max_seq_length": content.max_length, "do_lower_case": False},
    )
    _write_json(path / "config_sentence_transformers.json", {"similarity_fn_name": "cosine"})
    _write_json(path / "modules.json", modules)


def _write_json(path: Path, content: Any) -> None:
    write_file(path, json.dumps(content, indent=2).encode())
