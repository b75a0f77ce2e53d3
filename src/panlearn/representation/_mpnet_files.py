"""MPNet in the folders of Hugging Face, read and written, safetensors alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save as to_safetensors

from panlearn.core.files import write_file
from panlearn.representation._mpnet import BUCKETS, FIRST, MPNetEncoder
from panlearn.transformer._bert import BERTConfig
from panlearn.transformer._folder import WEIGHTS, CheckpointError, Folder, read_json

_ACTIVATIONS = {"gelu": "gelu", "gelu_new": "gelu_tanh", "relu": "relu"}
_BLOCK = {
    "attention.branch.project": [f"attention.attn.{part}" for part in "qkv"],
    "attention.branch.output": ["attention.attn.o"],
    "attention.norm": ["attention.LayerNorm"],
    "feed_forward.branch.up": ["intermediate.dense"],
    "feed_forward.branch.down": ["output.dense"],
    "feed_forward.norm": ["output.LayerNorm"],
}
_OUTSIDE = {
    "tokens": "embeddings.word_embeddings",
    "positions": "embeddings.position_embeddings",
    "distances": "encoder.relative_attention_bias",
    "norm": "embeddings.LayerNorm",
}
# parts that make no vectors, and a table that old files hold
_BESIDE = ("pooler.", "lm_head.", "embeddings.position_ids")


def read(path: Path) -> tuple[BERTConfig, dict[str, np.ndarray]]:
    """The shape of an encoder and its weights."""
    facts = read_json(path / "config.json")
    config, n_tokens = _config(path, facts)
    tensors = Folder(path)
    prefix = "mpnet." if any(name.startswith("mpnet.") for name in tensors.shapes) else ""
    with torch.device("meta"):
        expected = MPNetEncoder(config, n_tokens).state_dict()
    weights, used = {}, set()
    for ours, theirs in _names(expected).items():
        shape = tuple(expected[ours].shape)
        rows = (shape[0] // len(theirs), *shape[1:])
        stored = [prefix + name for name in theirs]
        for name in stored:
            tensors.check(name, rows)
        weights[f"encoder.{ours}"] = np.concatenate(
            [tensors.read(n).float().numpy() for n in stored]
        )
        used.update(stored)
    left = [n for n in tensors.shapes if n not in used]
    if more := [n for n in left if not n.removeprefix(prefix).startswith(_BESIDE)]:
        raise CheckpointError(
            f"{path} holds tensors that this encoder has no place for: {', '.join(more[:3])}"
        )
    return config, weights


def write(path: Path, config: BERTConfig, weights: dict[str, np.ndarray]) -> None:
    """Write weights and ``config.json`` as the transformers package reads them."""
    own = {k.removeprefix("encoder."): v for k, v in weights.items()}
    tensors = {}
    for ours, theirs in _names(own).items():
        for name, rows in zip(theirs, np.split(own[ours], len(theirs)), strict=True):
            tensors[name] = np.ascontiguousarray(rows)
    content = {
        "model_type": "mpnet",
        "architectures": ["MPNetModel"],
        "vocab_size": len(own["tokens.weight"]),
        "hidden_size": config.width,
        "num_hidden_layers": config.n_layers,
        "num_attention_heads": config.n_heads,
        "intermediate_size": config.hidden_size,
        "max_position_embeddings": config.context + FIRST,
        "relative_attention_num_buckets": BUCKETS,
        "layer_norm_eps": config.norm_epsilon,
        "hidden_act": {v: k for k, v in _ACTIVATIONS.items()}[config.activation],
        **dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), config.dropout),
        "dtype": "float32",
    }
    write_file(path / WEIGHTS, to_safetensors(tensors, {"format": "pt"}))
    write_file(path / "config.json", json.dumps(content, indent=2).encode())


def _config(path: Path, facts: dict[str, Any]) -> tuple[BERTConfig, int]:
    allowed = {"hidden_act": tuple(_ACTIVATIONS), "relative_attention_num_buckets": (BUCKETS,)}
    for name, values in allowed.items():
        if (value := facts.get(name, values[0])) not in values:
            raise CheckpointError(
                f"{path}/config.json: {name}={value!r} is not supported; only {values}"
            )
    try:
        config = BERTConfig(
            facts["num_hidden_layers"],
            facts["hidden_size"],
            facts["num_attention_heads"],
            facts["max_position_embeddings"] - FIRST,
            hidden=facts["intermediate_size"],
            norm_epsilon=facts.get("layer_norm_eps", 1e-12),
            activation=_ACTIVATIONS[facts.get("hidden_act", "gelu")],  # type: ignore[arg-type]
            dropout=facts.get("hidden_dropout_prob", 0.1),
        )
        return config, int(facts["vocab_size"])
    except KeyError as missing:
        raise CheckpointError(f"{path}/config.json lacks {missing}") from None
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{path}/config.json: {error}") from error


def _names(ours: Any) -> dict[str, tuple[str, ...]]:
    """Names here and those there whose rows follow each other."""
    made: dict[str, tuple[str, ...]] = {}
    for name in ours:
        stem, _, kind = name.rpartition(".")
        if stem in _OUTSIDE:
            made[name] = (f"{_OUTSIDE[stem]}.{kind}",)
        else:
            _, number, part = stem.split(".", 2)
            made[name] = tuple(f"encoder.layer.{number}.{t}.{kind}" for t in _BLOCK[part])
    return made
