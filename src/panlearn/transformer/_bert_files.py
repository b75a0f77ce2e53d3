"""BERT in the folders of Hugging Face, read and written, safetensors alone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save as to_safetensors

from panlearn.core.files import write_file
from panlearn.transformer._bert import BERTConfig
from panlearn.transformer._folder import (
    WEIGHTS,
    CheckpointError,
    Folder,
    check_folder,
    read_json,
)

Names = dict[str, tuple[str, ...]]
"""Names here and those there whose rows follow each other."""

_ACTIVATIONS = {"gelu": "gelu", "gelu_new": "gelu_tanh", "relu": "relu"}
_ACTIVATIONS |= {"gelu_pytorch_tanh": "gelu_tanh"}
_BLOCK = {
    "attention.branch.project": [f"attention.self.{part}" for part in ("query", "key", "value")],
    "attention.branch.output": ["attention.output.dense"],
    "attention.norm": ["attention.output.LayerNorm"],
    "feed_forward.branch.up": ["intermediate.dense"],
    "feed_forward.branch.down": ["output.dense"],
    "feed_forward.norm": ["output.LayerNorm"],
}
_PARTS = {
    "pooler": {"pooler": "bert.pooler.dense"},
    "words": {
        "transform": "cls.predictions.transform.dense",
        "transform_norm": "cls.predictions.transform.LayerNorm",
    },
    "order": {"follows": "cls.seq_relationship"},
}
# copies of tensors that have another name too, and tables that old files hold
_BESIDE = (
    *("cls.predictions.decoder.weight", "cls.predictions.decoder.bias"),
    "bert.embeddings.position_ids",
)


def read(
    folder: str | os.PathLike[str],
) -> tuple[BERTConfig, dict[str, np.ndarray], tuple[str, ...], dict[str, Any]]:
    """The shape of an encoder, its weights, the parts that the folder lacks, and all facts."""
    path = check_folder(folder)
    facts = read_json(path / "config.json")
    config = _config(path, facts)
    tensors = Folder(path)
    tensors.check_count(config.n_layers)
    if not any(name.startswith("bert.") for name in tensors.shapes):
        tensors = tensors.prefixed("bert.")
    known = {_modern(name): name for name in tensors.shapes}
    weights: dict[str, np.ndarray] = {}
    expected = _shapes(config, int(facts["vocab_size"]))

    def take(names: Names) -> None:
        for ours, theirs in names.items():
            shape = expected[ours]
            rows = (shape[0] // len(theirs), *shape[1:])
            stored = [known.pop(name, name) for name in theirs]
            for name in stored:
                tensors.check(name, rows)
            weights[ours] = np.concatenate([tensors.read(n).float().numpy() for n in stored])

    take(_encoder_names(config))
    lacking = []
    for part, names in _part_names().items():
        if any(theirs[0] in known for theirs in names.values()):
            take(names)
        else:
            lacking.append(part)
    if more := [name for name in known if name not in _BESIDE]:
        raise CheckpointError(
            f"{path} holds tensors that this encoder has no place for: {', '.join(more[:3])}"
        )
    return config, weights, tuple(lacking), facts


def write(
    folder: str | os.PathLike[str],
    config: BERTConfig,
    weights: dict[str, np.ndarray],
    lacking: tuple[str, ...],
    **facts: Any,
) -> None:
    """Write weights and ``config.json`` as the transformers package reads them."""
    names = _encoder_names(config)
    for part, more in _part_names().items():
        names |= {} if part in lacking else more
    whole = "words" not in lacking and "order" not in lacking
    tensors = {}
    for ours, theirs in names.items():
        for name, rows in zip(theirs, np.split(weights[ours], len(theirs)), strict=True):
            tensors[name if whole else name.removeprefix("bert.")] = np.ascontiguousarray(rows)
    content = {
        "model_type": "bert",
        "architectures": ["BertForPreTraining" if whole else "BertModel"],
        "vocab_size": len(weights["encoder.tokens.weight"]),
        "hidden_size": config.width,
        "num_hidden_layers": config.n_layers,
        "num_attention_heads": config.n_heads,
        "intermediate_size": config.hidden_size,
        "max_position_embeddings": config.context,
        "type_vocab_size": config.n_segments,
        "layer_norm_eps": config.norm_epsilon,
        "hidden_act": {v: k for k, v in reversed(_ACTIVATIONS.items())}[config.activation],
        **dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), config.dropout),
        "dtype": "float32",
        **facts,
    }
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    write_file(path / WEIGHTS, to_safetensors(tensors, {"format": "pt"}))
    write_file(path / "config.json", json.dumps(content, indent=2).encode())


def _config(path: Path, facts: dict[str, Any]) -> BERTConfig:
    if (kind := facts.get("model_type")) != "bert":
        raise CheckpointError(f"{path} holds a model of type {kind!r}; can be read: bert")
    for name, allowed in {
        "hidden_act": tuple(_ACTIVATIONS),
        "position_embedding_type": ("absolute",),
        "is_decoder": (False,),
        "add_cross_attention": (False,),
        "tie_word_embeddings": (True,),
    }.items():
        if (value := facts.get(name, allowed[0])) not in allowed:
            raise CheckpointError(
                f"{path}/config.json: {name}={value!r} is not supported; only {allowed}"
            )
    try:
        int(facts["vocab_size"])
        return BERTConfig(
            facts["num_hidden_layers"],
            facts["hidden_size"],
            facts["num_attention_heads"],
            facts["max_position_embeddings"],
            hidden=facts["intermediate_size"],
            n_segments=facts.get("type_vocab_size", 2),
            norm_epsilon=facts.get("layer_norm_eps", 1e-12),
            activation=_ACTIVATIONS[facts.get("hidden_act", "gelu")],  # type: ignore[arg-type]
            dropout=facts.get("hidden_dropout_prob", 0.1),
        )
    except KeyError as missing:
        raise CheckpointError(f"{path}/config.json lacks {missing}") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise CheckpointError(f"{path}/config.json: {error}") from error


def _encoder_names(config: BERTConfig) -> Names:
    tables = {"tokens": "word", "positions": "position", "segments": "token_type"}
    names: Names = {
        f"encoder.{ours}.weight": (f"bert.embeddings.{theirs}_embeddings.weight",)
        for ours, theirs in tables.items()
    }
    for kind in ("weight", "bias"):
        names[f"encoder.norm.{kind}"] = (f"bert.embeddings.LayerNorm.{kind}",)
        for i in range(config.n_layers):
            for ours, theirs in _BLOCK.items():
                names[f"encoder.blocks.{i}.{ours}.{kind}"] = tuple(
                    f"bert.encoder.layer.{i}.{name}.{kind}" for name in theirs
                )
    return names


def _part_names() -> dict[str, Names]:
    """The names of the parts that a folder may lack."""
    made: dict[str, Names] = {
        part: {
            f"{ours}.{kind}": (f"{theirs}.{kind}",)
            for ours, theirs in layers.items()
            for kind in ("weight", "bias")
        }
        for part, layers in _PARTS.items()
    }
    made["words"]["word_bias"] = ("cls.predictions.bias",)
    return made


def _shapes(config: BERTConfig, n_tokens: int) -> dict[str, tuple[int, ...]]:
    """The shape of every weight, worked out without memory for them."""
    width, hidden = config.width, config.hidden_size
    made: dict[str, tuple[int, ...]] = {
        "encoder.tokens.weight": (n_tokens, width),
        "encoder.positions.weight": (config.context, width),
        "encoder.segments.weight": (config.n_segments, width),
        "word_bias": (n_tokens,),
    }
    layers = {"pooler": (width, width), "transform": (width, width), "follows": (2, width)}
    norms = ["encoder.norm", "transform_norm"]
    for i in range(config.n_layers):
        block = f"encoder.blocks.{i}"
        layers[f"{block}.attention.branch.project"] = (3 * width, width)
        layers[f"{block}.attention.branch.output"] = (width, width)
        layers[f"{block}.feed_forward.branch.up"] = (hidden, width)
        layers[f"{block}.feed_forward.branch.down"] = (width, hidden)
        norms += [f"{block}.attention.norm", f"{block}.feed_forward.norm"]
    made |= {f"{name}.weight": shape for name, shape in layers.items()}
    made |= {f"{name}.bias": shape[:1] for name, shape in layers.items()}
    made |= {f"{name}.{kind}": (width,) for name in norms for kind in ("weight", "bias")}
    return made


def _modern(name: str) -> str:
    """The name of a tensor; old files call the weight of a norm gamma and its bias beta."""
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace(
        "LayerNorm.beta", "LayerNorm.bias"
    )


def read_pooling(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """How sentence-transformers makes one vector of a text, if the folder says so."""
    path = Path(folder)
    found: dict[str, Any] = {}
    if (path / "modules.json").is_file():
        modules = json.loads((path / "modules.json").read_text("utf-8"))
        kinds = {str(module.get("type", "")).rpartition(".")[2] for module in modules}
        found["normalize"] = "Normalize" in kinds
    if (path / "1_Pooling" / "config.json").is_file():
        facts = read_json(path / "1_Pooling" / "config.json")
        first = facts.get("pooling_mode_cls_token") or facts.get("pooling_mode") == "cls"
        found["pooling"] = "first" if first else "mean"
    if (path / "sentence_bert_config.json").is_file():
        found["max_length"] = read_json(path / "sentence_bert_config.json").get("max_seq_length")
    return found
