"""Weights of Mamba in the folders of Hugging Face, read and written, safetensors alone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import save as to_safetensors

from panlearn.core.files import write_file
from panlearn.statespace._mamba import MambaConfig
from panlearn.transformer._arrays import Room, to_tensor
from panlearn.transformer._checkpoint import DTYPES
from panlearn.transformer._folder import WEIGHTS, CheckpointError, Folder, check_folder, read_json

_MIXER = {
    "project.weight": "in_proj.weight",
    "project.bias": "in_proj.bias",
    "filter": "conv1d.weight",
    "filter_bias": "conv1d.bias",
    "select.weight": "x_proj.weight",
    "step.weight": "dt_proj.weight",
    "step.bias": "dt_proj.bias",
    "log_rate": "A_log",
    "D": "D",
    "output.weight": "out_proj.weight",
    "output.bias": "out_proj.bias",
}
# What says nothing about the function that a model computes.
_IRRELEVANT = {
    *("model_type", "architectures", "transformers_version", "_name_or_path", "dtype"),
    *("torch_dtype", "use_cache", "vocab_size", "bos_token_id", "eos_token_id", "pad_token_id"),
    *("initializer_range", "rescale_prenorm_residual", "residual_in_fp32", "use_mambapy"),
    *("time_step_scale", "time_step_min", "time_step_max", "time_step_init_scheme"),
    *("time_step_floor", "use_associative_scan", "fused_add_norm", "pad_vocab_size_multiple"),
    *("rms_norm", "ssm_cfg", "d_model", "n_layer", "d_inner", "output_hidden_states", "id2label"),
    *("output_attentions", "return_dict", "label2id", "chunk_size_feed_forward", "problem_type"),
    *("is_encoder_decoder", "bos_token", "eos_token", "auto_map"),
}
_MATRICES = tuple(
    f"{part}.weight" for part in ("tokens", "project", "select", "step", "output", "head")
)
_UNDERSTOOD = {
    *("num_hidden_layers", "hidden_size", "state_size", "expand", "intermediate_size"),
    *("conv_kernel", "time_step_rank", "use_bias", "use_conv_bias", "layer_norm_epsilon"),
    *("tie_word_embeddings", "hidden_act"),
}


def read(
    folder: str | os.PathLike[str], *, dtype: str = "float32"
) -> tuple[MambaConfig, dict[str, np.ndarray], dict[str, Any]]:
    """Read a folder: the shape, the weights by our names, and ``config.json``.

    Names and shapes are looked at before a tensor is read: what does not fit takes no memory.
    Matrices have the precision that is asked for; what decides on the state is in single.
    """
    if dtype not in (*DTYPES, "auto"):
        raise ValueError(f"dtype must be one of {[*DTYPES, 'auto']}; got {dtype!r}")
    folder = check_folder(folder)
    facts = read_json(folder / "config.json")
    if facts.get("model_type") != "mamba":
        raise CheckpointError(
            f"{folder} holds a model of type {facts.get('model_type')!r}; can be read: mamba"
        )
    try:
        config, n_tokens = _config(facts), int(facts["vocab_size"])
    except KeyError as missing:
        raise CheckpointError(f"{folder}/config.json lacks {missing}") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise CheckpointError(f"{folder}/config.json: {error}") from error
    found = Folder(folder)
    found.check_count(config.n_layers)
    names = _names(config)
    for ours, shape in shapes(config, n_tokens).items():
        found.check(names[ours], _stored(ours, shape))
    used = {*names.values(), *(["lm_head.weight"] if config.tied else [])}
    if more := [name for name in found.shapes if name not in used]:
        raise CheckpointError(
            f"{folder} holds tensors that this model has no place for: {', '.join(more[:3])}"
        )
    weights, room = {}, Room()
    for ours, shape in shapes(config, n_tokens).items():
        tensor = found.read(names[ours]).reshape(shape)
        if not ours.endswith(_MATRICES):
            tensor = tensor.float()
        elif dtype != "auto":
            tensor = tensor.to(DTYPES[dtype])
        weights[ours] = room.keep(tensor)
    return config, weights, facts


def write(
    folder: str | os.PathLike[str],
    config: MambaConfig,
    weights: dict[str, np.ndarray],
    **marks: Any,
) -> None:
    """Write weights and ``config.json`` as the transformers package reads them."""
    names = _names(config)
    precision = to_tensor(weights["tokens.weight"]).dtype
    tensors = {
        names[ours]: to_tensor(array).reshape(_stored(ours, array.shape)).to(precision).contiguous()
        for ours, array in weights.items()
    }
    content = {
        "model_type": "mamba",
        "architectures": ["MambaForCausalLM"],
        "num_hidden_layers": config.n_layers,
        "hidden_size": config.width,
        "state_size": config.state_size,
        "expand": config.expand,
        "intermediate_size": config.channels,
        "conv_kernel": config.conv_size,
        "time_step_rank": config.rank,
        "use_bias": config.bias,
        "use_conv_bias": config.conv_bias,
        "layer_norm_epsilon": config.norm_epsilon,
        "tie_word_embeddings": config.tied,
        "hidden_act": "silu",
        "vocab_size": len(weights["tokens.weight"]),
        "dtype": str(precision).removeprefix("torch."),
        "pad_token_id": marks.get("eos_token_id"),
        **marks,
    }
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / WEIGHTS, to_safetensors(tensors, {"format": "pt"}))
    write_file(folder / "config.json", json.dumps(content, indent=2).encode())


def shapes(config: MambaConfig, n_tokens: int) -> dict[str, tuple[int, ...]]:
    """Name every parameter and give its shape, without making it."""
    width, channels, size = config.width, config.channels, config.state_size
    mixer: dict[str, tuple[int, ...]] = {
        "project.weight": (2 * channels, width),
        "filter": (channels, config.conv_size),
        "select.weight": (config.rank + 2 * size, channels),
        "step.weight": (channels, config.rank),
        "step.bias": (channels,),
        "log_rate": (channels, size),
        "D": (channels,),
        "output.weight": (width, channels),
    }
    if config.bias:
        mixer |= {"project.bias": (2 * channels,), "output.bias": (width,)}
    if config.conv_bias:
        mixer["filter_bias"] = (channels,)
    named: dict[str, tuple[int, ...]] = {"tokens.weight": (n_tokens, width)}
    for i in range(config.n_layers):
        named[f"blocks.{i}.norm.weight"] = (width,)
        named |= {f"blocks.{i}.mixer.{name}": shape for name, shape in mixer.items()}
    named["norm.weight"] = (width,)
    if not config.tied:
        named["head.weight"] = (n_tokens, width)
    return named


def _names(config: MambaConfig) -> dict[str, str]:
    """The names there, by those here."""
    names = {
        "tokens.weight": "backbone.embeddings.weight",
        "norm.weight": "backbone.norm_f.weight",
        "head.weight": "lm_head.weight",
    }
    for i in range(config.n_layers):
        names[f"blocks.{i}.norm.weight"] = f"backbone.layers.{i}.norm.weight"
        for ours, theirs in _MIXER.items():
            names[f"blocks.{i}.mixer.{ours}"] = f"backbone.layers.{i}.mixer.{theirs}"
    return names


def _stored(ours: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape in a file: a filter has one input channel there."""
    return (shape[0], 1, shape[1]) if ours.endswith(".filter") else tuple(shape)


def _config(facts: dict[str, Any]) -> MambaConfig:
    """The shape that a ``config.json`` asks for; what it holds beyond that is refused by name."""
    stated = {name: value for name, value in facts.items() if value is not None}
    if unknown := sorted(set(stated) - _UNDERSTOOD - _IRRELEVANT):
        raise ValueError(f"{unknown[0]}={facts[unknown[0]]!r:.80} is not known here")
    if (activation := stated.get("hidden_act", "silu")) not in ("silu", "swish"):
        raise ValueError(f"hidden_act={activation!r} is not supported; only 'silu'")
    rank = stated.get("time_step_rank", "auto")
    config = MambaConfig(
        facts["num_hidden_layers"],
        facts["hidden_size"],
        state_size=stated.get("state_size", 16),
        expand=stated.get("expand", 2),
        conv_size=stated.get("conv_kernel", 4),
        step_rank=None if rank == "auto" else rank,
        bias=stated.get("use_bias", False),
        conv_bias=stated.get("use_conv_bias", True),
        norm_epsilon=stated.get("layer_norm_epsilon", 1e-5),
        tied=stated.get("tie_word_embeddings", True),
    )
    if stated.get("intermediate_size", config.channels) != config.channels:
        raise ValueError(
            f"intermediate_size={stated['intermediate_size']} is not expand * hidden_size = "
            f"{config.channels}"
        )
    return config
