"""CLIP in the folders of Hugging Face, read and written, safetensors alone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save as to_safetensors

from panlearn.core.files import write_file
from panlearn.representation._clip import Tower, Towers
from panlearn.representation._preparation import Preparation
from panlearn.representation.clip_tokenizer import END, START, CLIPTokenizer
from panlearn.transformer._folder import (
    WEIGHTS,
    CheckpointError,
    Folder,
    check_folder,
    read_json,
)

_ACTIVATIONS = {"quick_gelu": "quick_gelu", "gelu": "gelu", "relu": "relu"}
_ACTIVATIONS |= {"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh"}
_RESAMPLE = {2: "bilinear", 3: "bicubic"}
_BLOCK = {
    "attention.branch.project": [f"self_attn.{part}_proj" for part in "qkv"],
    "attention.branch.output": ["self_attn.out_proj"],
    "attention.norm": ["layer_norm1"],
    "feed_forward.branch.up": ["mlp.fc1"],
    "feed_forward.branch.down": ["mlp.fc2"],
    "feed_forward.norm": ["layer_norm2"],
}
# what a file leaves out is as in the first model
_TEXT = {"vocab_size": 49408, "hidden_size": 512, "intermediate_size": 2048}
_TEXT |= {"num_hidden_layers": 12, "num_attention_heads": 8, "max_position_embeddings": 77}
_VISION = {"image_size": 224, "patch_size": 32, "num_channels": 3, "hidden_size": 768}
_VISION |= {"intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12}
_MEAN, _DEVIATION = [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]


def read(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """What a folder holds: fields of the estimator, and what it has learned."""
    path = check_folder(folder)
    facts = read_json(path / "config.json")
    if (kind := facts.get("model_type")) != "clip":
        raise CheckpointError(f"{path} holds a model of type {kind!r}; can be read: clip")
    text = _part(path, facts, "text_config", _TEXT)
    vision = _part(path, facts, "vision_config", _VISION)
    whole = _part(path, {"": facts}, "", {"projection_dim": 512})
    fields = {"n_components": whole["projection_dim"], "patch_size": vision["patch_size"]}
    fields |= {"context": text["max_position_embeddings"]}
    fields |= {"vision": _tower(path, vision), "text": _tower(path, text)}
    side, channels = vision["image_size"], vision["num_channels"]
    tokenizer = CLIPTokenizer.from_pretrained(path)
    if tokenizer.n_tokens > text["vocab_size"]:
        raise CheckpointError(
            f"{path}: the tokenizer has ids to {tokenizer.n_tokens - 1}, and config.json says "
            f"vocab_size={text['vocab_size']}"
        )
    # files from before 2023 say 2, whatever the tokenizer says
    if (end := text.get("eos_token_id", 49407)) not in (2, tokenizer.vocab[END]):
        raise CheckpointError(
            f"{path}: config.json says eos_token_id={end}; the tokenizer's is "
            f"{tokenizer.vocab[END]}"
        )
    tensors = Folder(path)
    for tower, given in (("text_model", text), ("vision_model", vision)):
        last = f"{tower}.encoder.layers.{given['num_hidden_layers'] - 1}.layer_norm1.weight"
        tensors.check(last, (given["hidden_size"],))  # before so many layers are made
    shape = (channels, side, side)
    with torch.device("meta"):  # shapes alone, without memory for the numbers
        module = Towers.of(image_shape=shape, n_tokens=text["vocab_size"], **fields)
    shapes = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    return {
        "fields": fields | {"tokenizer": tokenizer},
        "image_shape": shape,
        "n_tokens": text["vocab_size"],
        "weights": _weights(tensors, shapes),
        **_pixels(path, channels, side),
    }


def _part(path: Path, facts: Any, name: str, known: dict[str, int]) -> dict[str, Any]:
    """A part of a configuration over what is known, with counts that can be tried."""
    given = facts.get(name) or {}
    if not isinstance(given, dict):
        raise CheckpointError(f"{path}/config.json: {name} must be an object; got {given!r:.40}")
    made = known | given
    for key in known:
        if type(made[key]) is not int or not 0 < made[key] <= 10**6:
            raise CheckpointError(
                f"{path}/config.json: {key} must be a number from 1 to 1000000; got "
                f"{made[key]!r:.40}"
            )
    return made


_OUTSIDE = {
    "log_scale": "logit_scale",
    "image.first": "vision_model.embeddings.class_embedding",
    "image.positions": "vision_model.embeddings.position_embedding.weight",
    "image.patches": "vision_model.embeddings.patch_embedding",
    "image.first_norm": "vision_model.pre_layrnorm",
    "image.norm": "vision_model.post_layernorm",
    "image.head": "visual_projection",
    "text.tokens": "text_model.embeddings.token_embedding",
    "text.positions": "text_model.embeddings.position_embedding",
    "text.norm": "text_model.final_layer_norm",
    "text.head": "text_projection",
}


def theirs(name: str) -> tuple[str, ...]:
    """The names there whose rows, one after the other, are those of a name here."""
    if name in _OUTSIDE:
        return (_OUTSIDE[name],)
    outer, _, part = name.rpartition(".")
    if outer in _OUTSIDE:
        return (f"{_OUTSIDE[outer]}.{part}",)
    side, _, number, inner = outer.split(".", 3)
    tower = "vision_model" if side == "image" else "text_model"
    return tuple(f"{tower}.encoder.layers.{number}.{n}.{part}" for n in _BLOCK[inner])


def _weights(tensors: Folder, shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    weights, left = {}, set(tensors.shapes)
    for name, shape in shapes.items():
        names = theirs(name)
        stored = shape
        if name in ("image.first", "image.positions"):  # they have no axis for images there
            stored = shape[2:] if name == "image.first" else shape[1:]
        elif len(names) > 1:
            stored = (shape[0] // len(names), *shape[1:])
        for one in names:
            tensors.check(one, stored)
            left.discard(one)
        parts = [tensors.read(one).float().numpy() for one in names]
        whole = np.concatenate(parts) if len(parts) > 1 else parts[0]
        weights[name] = whole.reshape(shape)
    if more := sorted(name for name in left if not name.endswith(".position_ids")):
        raise CheckpointError(
            f"{tensors.path} holds tensors that CLIP has no place for: {', '.join(more[:3])}"
        )
    return weights


def _tower(path: Path, facts: dict[str, Any]) -> Tower:
    name = facts.get("hidden_act", "quick_gelu")
    if name not in _ACTIVATIONS:
        raise CheckpointError(
            f"{path}/config.json: hidden_act={name!r} is not supported; only {list(_ACTIVATIONS)}"
        )
    try:
        return Tower(
            facts["num_hidden_layers"],
            facts["hidden_size"],
            facts["num_attention_heads"],
            hidden=facts["intermediate_size"],
            norm_epsilon=facts.get("layer_norm_eps", 1e-5),
            activation=_ACTIVATIONS[name],  # type: ignore[arg-type]
        )
    except ValueError as error:
        raise CheckpointError(f"{path}/config.json: {error}") from error


def _pixels(path: Path, channels: int, side: int) -> dict[str, Any]:
    """How images are brought to size, and centred."""
    given: dict[str, Any] = {}
    if (path / "preprocessor_config.json").is_file():
        given = read_json(path / "preprocessor_config.json")
    elif (path / "processor_config.json").is_file():
        given = read_json(path / "processor_config.json").get("image_processor") or {}
    size, crop = given.get("size", side), given.get("crop_size", side)
    shortest = size.get("shortest_edge") if isinstance(size, dict) else size
    cut = crop if isinstance(crop, dict) else {"height": crop, "width": crop}
    resample = given.get("resample", 3)
    if (cut.get("height"), cut.get("width")) != (side, side) or not shortest:
        raise CheckpointError(
            f"{path}: images are cut to {crop} after a resize to {size}; only a shortest_edge and "
            f"a crop to image_size={side} can be read"
        )
    if resample not in _RESAMPLE:
        raise CheckpointError(f"{path}: resample={resample!r} cannot be read; only {_RESAMPLE}")
    factor = given.get("rescale_factor", 1 / 255) if given.get("do_rescale", True) else 1.0
    mean, scale = np.zeros(channels), np.ones(channels)
    if given.get("do_normalize", True):
        mean = np.resize(given.get("image_mean", _MEAN), channels)
        scale = np.resize(given.get("image_std", _DEVIATION), channels)
    preparation = Preparation(channels, side, side, shortest, _RESAMPLE[resample])  # type: ignore
    return {"mean": mean / factor, "scale": scale / factor, "preparation": preparation}


def write(
    folder: str | os.PathLike[str],
    fields: dict[str, Any],
    weights: dict[str, np.ndarray],
    tokenizer: CLIPTokenizer,
    preparation: Preparation,
    pixels: tuple[np.ndarray, np.ndarray],
) -> None:
    """Write weights, ``config.json``, tokenizer and how images are prepared."""
    if preparation.height != preparation.width:
        raise CheckpointError(
            f"images of {preparation.height} x {preparation.width} pixels: the transformers "
            "package reads models of square ones alone; panlearn.save keeps any"
        )
    patch = min(fields["patch_size"], preparation.height)
    vision, text = fields["vision"], fields["text"]
    marks = {"bos_token_id": tokenizer.vocab[START], "eos_token_id": tokenizer.vocab[END]}
    size = {"image_size": preparation.height, "patch_size": patch}
    content = {
        "model_type": "clip",
        "architectures": ["CLIPModel"],
        "projection_dim": fields["n_components"],
        "text_config": {
            **{"model_type": "clip_text_model", "vocab_size": len(weights["text.tokens.weight"])},
            **{"max_position_embeddings": fields["context"], **marks},
            **_facts(text),
            "pad_token_id": tokenizer.vocab[END],
        },
        "vision_config": {
            **{"model_type": "clip_vision_model", "num_channels": preparation.channels, **size},
            **_facts(vision),
        },
        "dtype": "float32",
    }
    side = preparation.height
    numbers = {v: k for k, v in _RESAMPLE.items()}
    mean, scale = pixels
    given = {
        **{"image_processor_type": "CLIPImageProcessor", "do_convert_rgb": True},
        **dict.fromkeys(("do_resize", "do_center_crop", "do_rescale", "do_normalize"), True),
        **{"size": {"shortest_edge": preparation.shortest}, "rescale_factor": 1 / 255},
        **{"crop_size": {"height": side, "width": side}},
        "resample": numbers[preparation.resample],
        "image_mean": (mean / 255).tolist(),
        "image_std": (np.where(scale > 0, scale, 1.0) / 255).tolist(),
    }
    tensors = {}
    for name, weight in weights.items():
        names = theirs(name)
        plain = weight.reshape(weight.shape[-1:]) if name == "image.first" else weight
        plain = plain[0] if name == "image.positions" else plain
        parts = [plain] if len(names) == 1 else np.split(plain, len(names))
        for one, rows in zip(names, parts, strict=True):
            tensors[one] = np.array(rows, order="C")
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    write_file(path / WEIGHTS, to_safetensors(tensors, {"format": "pt"}))
    write_file(path / "config.json", json.dumps(content, indent=2).encode())
    write_file(path / "preprocessor_config.json", json.dumps(given, indent=2).encode())
    tokenizer.save_pretrained(path)


def _facts(tower: Tower) -> dict[str, Any]:
    return {
        "hidden_size": tower.width,
        "intermediate_size": tower.hidden_size,
        "num_hidden_layers": tower.n_layers,
        "num_attention_heads": tower.n_heads,
        "hidden_act": {v: k for k, v in reversed(_ACTIVATIONS.items())}[tower.activation],
        "layer_norm_eps": tower.norm_epsilon,
    }
