"""Vision transformers in the folders of Hugging Face: read, safetensors alone."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from panlearn.transformer._folder import CheckpointError, Folder, check_folder, read_json

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
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{path}/config.json: {error}") from error
    tensors = Folder(path)
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
    names: dict[str, tuple[str, ...]] = {
        "first": ("vit.embeddings.cls_token",),
        "positions": ("vit.embeddings.position_embeddings",),
    }
    outside = {
        "patches": "vit.embeddings.patch_embeddings.projection",
        "head": "classifier",
        "norm": "vit.layernorm",
    }
    rows: dict[str, tuple[int, ...]] = {
        "attention.branch.project": (3 * width, width),
        "attention.branch.output": (width, width),
        "feed_forward.branch.up": (hidden, width),
        "feed_forward.branch.down": (width, hidden),
    }
    for part in ("weight", "bias"):
        names |= {f"{ours}.{part}": (f"{theirs}.{part}",) for ours, theirs in outside.items()}
        for i in range(n_layers):
            for ours, theirs in _BLOCK.items():
                name = f"blocks.{i}.{ours}.{part}"
                names[name] = tuple(f"vit.encoder.layer.{i}.{t}.{part}" for t in theirs)
                shape = rows.get(ours, (width,))
                shapes[name] = shape if part == "weight" else shape[:1]
    weights, left = {}, set(tensors.shapes)
    for ours, theirs_names in names.items():
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
