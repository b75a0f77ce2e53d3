"""Vision transformers in the folders of Hugging Face, read and written, safetensors alone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save as to_safetensors

from panlearn.core.files import write_file
from panlearn.transformer._folder import WEIGHTS, CheckpointError, Folder, check_folder, read_json

_ACTIVATIONS = {"gelu": "gelu", "gelu_new": "gelu_tanh", "relu": "relu"}
_BLOCK = {
    "attention.norm": ["layernorm_before"],
    "attention.branch.project": [
        f"attention.attention.{part}" for part in ("query", "key", "value")
    ],
    "attention.branch.output": ["attention.output.dense"],
    "feed_forward.norm": ["layernorm_after"],
    "feed_forward.branch.up": ["intermediate.dense"],
    "feed_forward.branch.down": ["output.dense"],
}


def read(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """What a folder holds: settings of the module, weights, labels, mean and scale of pixels."""
    path = check_folder(folder)
    facts = read_json(path / "config.json")
    if (kind := facts.get("model_type")) != "vit":
        raise CheckpointError(f"{path} holds a model of type {kind!r}; can be read: vit")
    for name, allowed in {"hidden_act": tuple(_ACTIVATIONS), "qkv_bias": (True,)}.items():
        if (value := facts.get(name, allowed[0])) not in allowed:
            raise CheckpointError(
                f"{path}/config.json: {name}={value!r} is not supported; only {allowed}"
            )
    try:
        width, n_layers = int(facts["hidden_size"]), int(facts["num_hidden_layers"])
        size, channels = int(facts["image_size"]), int(facts.get("num_channels", 3))
        patch, hidden = int(facts["patch_size"]), int(facts["intermediate_size"])
        n_heads = int(facts["num_attention_heads"])
    except KeyError as missing:
        raise CheckpointError(f"{path}/config.json lacks {missing}") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise CheckpointError(f"{path}/config.json: {error}") from error
    if min(width, n_layers, size, channels, patch, hidden, n_heads) < 1:
        raise CheckpointError(f"{path}/config.json: sizes must be at least 1")
    if width % n_heads:
        raise CheckpointError(f"{path}/config.json: {width} is not a multiple of {n_heads} heads")
    tensors = Folder(path)
    tensors.check_count(n_layers)
    if "classifier.weight" not in tensors.shapes:
        raise CheckpointError(
            f"{path} lacks the tensor 'classifier.weight': it holds no classifier"
        )
    n_classes = tensors.shapes["classifier.weight"][0]
    shapes: dict[str, tuple[int, ...]] = {
        "first": (1, 1, width),
        "positions": (1, 1 + (size // patch) ** 2, width),
        "patches.weight": (width, channels, patch, patch),
        "patches.bias": (width,),
        "head.weight": (n_classes, width),
        "head.bias": (n_classes,),
        "norm.weight": (width,),
        "norm.bias": (width,),
    }
    rows: dict[str, tuple[int, ...]] = {
        "attention.branch.project": (3 * width, width),
        "attention.branch.output": (width, width),
        "feed_forward.branch.up": (hidden, width),
        "feed_forward.branch.down": (width, hidden),
    }
    for i in range(n_layers):
        for ours in _BLOCK:
            shape = rows.get(ours, (width,))
            shapes[f"blocks.{i}.{ours}.weight"] = shape
            shapes[f"blocks.{i}.{ours}.bias"] = shape[:1]
    weights, left = {}, set(tensors.shapes)
    for ours, theirs_names in _names(n_layers).items():
        shape = (shapes[ours][0] // len(theirs_names), *shapes[ours][1:])
        for name in theirs_names:
            tensors.check(name, shape)
            left.discard(name)
        parts = [tensors.read(name).float().numpy() for name in theirs_names]
        weights[ours] = np.concatenate(parts)
    if more := sorted(name for name in left if not name.startswith("vit.pooler.")):
        raise CheckpointError(
            f"{path} holds tensors that this encoder has no place for: {', '.join(more[:3])}"
        )
    labels = facts.get("id2label") or {}
    classes = [str(labels.get(str(i), f"LABEL_{i}")) for i in range(n_classes)]
    pixels = path / "preprocessor_config.json"
    given = read_json(pixels) if pixels.is_file() else {}
    factor = given.get("rescale_factor", 1 / 255) if given.get("do_rescale", True) else 1.0
    centred = given.get("do_normalize", True)
    mean = np.array(given.get("image_mean", [0.5] * channels) if centred else [0.0] * channels)
    scale = np.array(given.get("image_std", [0.5] * channels) if centred else [1.0] * channels)
    return {
        "weights": weights,
        "classes": np.array(classes),
        "image_shape": (channels, size, size),
        "mean": mean / factor,
        "scale": scale / factor,
        "fields": {
            **{"patch_size": patch, "n_layers": n_layers, "width": width, "n_heads": n_heads},
            **{"hidden": hidden, "norm_epsilon": float(facts.get("layer_norm_eps", 1e-12))},
            "activation": _ACTIVATIONS[facts.get("hidden_act", "gelu")],
            "dropout": float(facts.get("hidden_dropout_prob", 0.0)),
        },
    }


def _names(n_layers: int) -> dict[str, tuple[str, ...]]:
    """The names there of what becomes each tensor here."""
    names: dict[str, tuple[str, ...]] = {
        "first": ("vit.embeddings.cls_token",),
        "positions": ("vit.embeddings.position_embeddings",),
    }
    outside = {
        "patches": "vit.embeddings.patch_embeddings.projection",
        "head": "classifier",
        "norm": "vit.layernorm",
    }
    for part in ("weight", "bias"):
        names |= {f"{ours}.{part}": (f"{theirs}.{part}",) for ours, theirs in outside.items()}
        for i in range(n_layers):
            for ours, theirs in _BLOCK.items():
                names[f"blocks.{i}.{ours}.{part}"] = tuple(
                    f"vit.encoder.layer.{i}.{t}.{part}" for t in theirs
                )
    return names


def write(
    folder: str | os.PathLike[str],
    weights: dict[str, np.ndarray],
    classes: np.ndarray,
    image_shape: tuple[int, int, int],
    mean: np.ndarray,
    scale: np.ndarray,
    fields: dict[str, Any],
) -> None:
    """Write weights and the two files of facts as the transformers package reads them."""
    channels, height, width = image_shape
    patch = fields["patch_size"]
    if height != width or patch > height or height % patch:
        raise CheckpointError(
            f"files of Hugging Face hold square images that patches fill; these are {height} x "
            f"{width} with patches of {patch}: use panlearn.save"
        )
    tensors = {}
    for ours, theirs in _names(fields["n_layers"]).items():
        for name, rows in zip(theirs, np.split(weights[ours], len(theirs)), strict=True):
            tensors[name] = np.ascontiguousarray(rows)
    labels = [str(label) for label in classes]
    facts = {
        "model_type": "vit",
        "architectures": ["ViTForImageClassification"],
        "hidden_size": fields["width"],
        "num_hidden_layers": fields["n_layers"],
        "num_attention_heads": fields["n_heads"],
        "intermediate_size": fields["hidden"],
        "hidden_act": {v: k for k, v in reversed(_ACTIVATIONS.items())}[fields["activation"]],
        **dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), fields["dropout"]),
        "layer_norm_eps": fields["norm_epsilon"],
        "image_size": height,
        "patch_size": patch,
        "num_channels": channels,
        "qkv_bias": True,
        "id2label": dict(enumerate(labels)),
        "label2id": {label: i for i, label in enumerate(labels)},
        "dtype": "float32",
    }
    pixels = {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": True,
        "size": {"height": height, "width": width},
        "do_rescale": False,  # the mean and the deviation are in the unit of the pixels
        "do_normalize": True,
        "image_mean": np.asarray(mean, dtype=float).tolist(),
        "image_std": np.asarray(scale, dtype=float).tolist(),
    }
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    write_file(path / WEIGHTS, to_safetensors(tensors, {"format": "pt"}))
    for name, content in {"config.json": facts, "preprocessor_config.json": pixels}.items():
        write_file(path / name, json.dumps(content, indent=2).encode())
