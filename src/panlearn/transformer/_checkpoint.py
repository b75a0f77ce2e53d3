"""Weights in the folders of Hugging Face: GPT-2 and Llama, read and written, safetensors alone.

Each family is a list of `Entry`: the name here, the names there, and what lies between them. A
folder holds ``config.json``, and ``model.safetensors`` or shards of it with an index.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_safetensors

from panlearn.core.files import write_file
from panlearn.transformer._decoder import GPTConfig, shapes

_WEIGHTS, _INDEX = "model.safetensors", "model.safetensors.index.json"
# tables that old files hold beside the weights
_BUFFERS = (".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq")


class CheckpointError(ValueError):
    """A folder does not hold weights that can be read, or a model fits no known layout."""


@dataclass(frozen=True)
class Entry:
    """One tensor: its name here, the names there whose rows follow each other, their sizes."""

    ours: str
    theirs: tuple[str, ...]
    sizes: tuple[int, ...] = ()
    transposed: bool = False


def read(folder: str | os.PathLike[str]) -> tuple[GPTConfig, dict[str, np.ndarray], dict[str, Any]]:
    """Read a folder: the shape of the decoder, its weights by our names, and ``config.json``."""
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder at {folder}")
    facts = read_json(folder / "config.json")
    kind = facts.get("model_type")
    if kind not in _READERS:
        raise CheckpointError(
            f"{folder} holds a model of type {kind!r}; can be read: {', '.join(_READERS)}"
        )
    try:
        config = _READERS[kind](facts)
        n_tokens = int(facts["vocab_size"])
    except KeyError as missing:
        raise CheckpointError(f"{folder}/config.json lacks {missing}") from None
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{folder}/config.json: {error}") from error
    found = _tensors(folder)
    if kind == "gpt2" and "wte.weight" in found:  # the first files have no prefix
        found = {f"transformer.{name}": array for name, array in found.items()}
    wanted, weights = shapes(config, n_tokens), {}
    for entry in _LAYOUTS[kind](config):
        if absent := [name for name in entry.theirs if name not in found]:
            raise CheckpointError(f"{folder} lacks the tensor {absent[0]!r}")
        parts = [found.pop(name) for name in entry.theirs]
        array = np.concatenate([p.T if entry.transposed else p for p in parts])
        if array.shape != wanted[entry.ours]:
            raise CheckpointError(
                f"{folder}: {' + '.join(entry.theirs)} has shape {array.shape}, but config.json "
                f"asks for {wanted[entry.ours]}"
            )
        weights[entry.ours] = np.ascontiguousarray(array)
    tied = {"lm_head.weight"} if config.tied else set()
    if more := [n for n in found if n not in tied and not n.endswith(_BUFFERS)]:
        raise CheckpointError(
            f"{folder} holds tensors that this decoder has no place for: {', '.join(more[:3])}"
        )
    return config, weights, facts


def write(
    folder: str | os.PathLike[str],
    config: GPTConfig,
    weights: dict[str, np.ndarray],
    **facts: Any,
) -> None:
    """Write weights and ``config.json`` as the transformers package reads them."""
    kind = _kind(config)
    tensors = {}
    for entry in _LAYOUTS[kind](config):
        array = weights[entry.ours]
        if entry.transposed:
            array = array.T
        parts = np.split(array, np.cumsum(entry.sizes[:-1], dtype=int))
        for name, part in zip(entry.theirs, parts, strict=True):
            tensors[name] = np.ascontiguousarray(part)
    n_tokens = len(weights["tokens.weight"])
    content = {**_WRITERS[kind](config), "vocab_size": n_tokens, "dtype": "float32", **facts}
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / _WEIGHTS, to_safetensors(tensors, {"format": "pt"}))
    write_file(folder / "config.json", json.dumps(content, indent=2).encode())


def read_json(path: Path) -> dict[str, Any]:
    """Read an object from a JSON file."""
    if not path.is_file():
        raise CheckpointError(f"{path.parent} has no {path.name}")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CheckpointError(f"{path} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{path} does not hold a JSON object")
    return content


def _tensors(folder: Path) -> dict[str, np.ndarray]:
    """All tensors of a folder, in single precision."""
    if (folder / _INDEX).is_file():
        places = read_json(folder / _INDEX).get("weight_map")
        if not isinstance(places, dict) or not all(isinstance(f, str) for f in places.values()):
            raise CheckpointError(f"{folder / _INDEX} has no weight_map")
        files = sorted(set(places.values()))
    elif (folder / _WEIGHTS).is_file():
        files = [_WEIGHTS]
    else:
        pickled = any(folder.glob("*.bin")) or any(folder.glob("*.pt"))
        why = "; pickled weights are not read, save them as safetensors" if pickled else ""
        raise CheckpointError(f"{folder} has no {_WEIGHTS}{why}")
    tensors = {}
    for file in files:
        if Path(file).name != file or not (folder / file).is_file():
            raise CheckpointError(f"{folder} lacks the shard {file!r} that its index names")
        try:
            with safe_open(folder / file, framework="pt") as shard:
                for name in shard.keys():
                    tensors[name] = shard.get_tensor(name).float().numpy()
        except (SafetensorError, OSError, ValueError) as error:
            raise CheckpointError(f"{folder / file} is damaged: {error}") from error
    return tensors


def _gpt2_layout(config: GPTConfig) -> Iterator[Entry]:
    yield Entry("tokens.weight", ("transformer.wte.weight",))
    yield Entry("positions.weight", ("transformer.wpe.weight",))
    names = {
        "attention_norm": "ln_1",
        "attention.project": "attn.c_attn",
        "attention.output": "attn.c_proj",
        "feed_forward_norm": "ln_2",
        "feed_forward.up": "mlp.c_fc",
        "feed_forward.down": "mlp.c_proj",
    }
    for i in range(config.n_layers):
        for ours, theirs in names.items():
            for part in ("weight", "bias"):
                # GPT-2 keeps its matrices as (inputs, outputs)
                turned = part == "weight" and "norm" not in ours
                name = f"transformer.h.{i}.{theirs}.{part}"
                yield Entry(f"blocks.{i}.{ours}.{part}", (name,), transposed=turned)
    yield Entry("norm.weight", ("transformer.ln_f.weight",))
    yield Entry("norm.bias", ("transformer.ln_f.bias",))
    if not config.tied:
        yield Entry("head.weight", ("lm_head.weight",))


def _llama_layout(config: GPTConfig) -> Iterator[Entry]:
    keys = (config.n_key_heads or config.n_heads) * config.head_size
    names = {
        "attention.project": ("self_attn", ("q_proj", "k_proj", "v_proj")),
        "attention.output": ("self_attn", ("o_proj",)),
        "feed_forward.up": ("mlp", ("gate_proj", "up_proj")),
        "feed_forward.down": ("mlp", ("down_proj",)),
    }
    sizes = {
        "attention.project": (config.n_heads * config.head_size, keys, keys),
        "feed_forward.up": (config.hidden_size, config.hidden_size),
    }
    norms = {"attention_norm": "input_layernorm", "feed_forward_norm": "post_attention_layernorm"}
    yield Entry("tokens.weight", ("model.embed_tokens.weight",))
    for i in range(config.n_layers):
        layer = f"model.layers.{i}"
        for ours, theirs in norms.items():
            yield Entry(f"blocks.{i}.{ours}.weight", (f"{layer}.{theirs}.weight",))
        for ours, (group, parts) in names.items():
            for kind in ("weight", "bias") if config.bias else ("weight",):
                theirs_names = tuple(f"{layer}.{group}.{part}.{kind}" for part in parts)
                yield Entry(f"blocks.{i}.{ours}.{kind}", theirs_names, sizes.get(ours, ()))
    yield Entry("norm.weight", ("model.norm.weight",))
    if not config.tied:
        yield Entry("head.weight", ("lm_head.weight",))


_LAYOUTS: dict[str, Callable[[GPTConfig], Iterator[Entry]]] = {
    "gpt2": _gpt2_layout,
    "llama": _llama_layout,
}


def _require(facts: dict[str, Any], **wanted: tuple[Any, ...]) -> None:
    """Refuse a model of the family that does something else; a fact not stated is the first."""
    for name, allowed in wanted.items():
        if (value := facts.get(name, allowed[0])) not in allowed:
            raise ValueError(f"{name}={value!r} is not supported; only {allowed}")


def _gpt2_config(facts: dict[str, Any]) -> GPTConfig:
    _require(
        facts,
        activation_function=("gelu_new", "gelu_pytorch_tanh", "relu"),
        scale_attn_weights=(True,),
        scale_attn_by_inverse_layer_idx=(False,),
        add_cross_attention=(False,),
    )
    return GPTConfig(
        facts["n_layer"],
        facts["n_embd"],
        facts["n_head"],
        facts["n_positions"],
        hidden=facts.get("n_inner"),
        norm_epsilon=facts.get("layer_norm_epsilon", 1e-5),
        activation="relu" if facts.get("activation_function") == "relu" else "gelu",
        tied=facts.get("tie_word_embeddings", True),
    )


def _llama_config(facts: dict[str, Any]) -> GPTConfig:
    _require(facts, hidden_act=("silu",), mlp_bias=(facts.get("attention_bias", False),))
    rope = facts.get("rope_parameters") or facts.get("rope_scaling") or {}
    _require({"rope_type": rope.get("rope_type", rope.get("type"))}, rope_type=("default", None))
    return GPTConfig.llama(
        n_layers=facts["num_hidden_layers"],
        width=facts["hidden_size"],
        n_heads=facts["num_attention_heads"],
        context=facts["max_position_embeddings"],
        n_key_heads=facts.get("num_key_value_heads"),
        head_width=facts.get("head_dim"),
        hidden=facts["intermediate_size"],
        rotary_base=rope.get("rope_theta", facts.get("rope_theta", 10_000.0)),
        norm_epsilon=facts.get("rms_norm_eps", 1e-6),
        bias=facts.get("attention_bias", False),
        tied=facts.get("tie_word_embeddings", False),
    )


_READERS: dict[str, Callable[[dict[str, Any]], GPTConfig]] = {
    "gpt2": _gpt2_config,
    "llama": _llama_config,
}


def _kind(config: GPTConfig) -> str:
    """The family whose files can hold this decoder."""
    style = (config.positions, config.norm)
    if style == ("rotary", "rms") and config.activation == "swiglu":
        return "llama"
    grouped = config.n_key_heads not in (None, config.n_heads)
    heads = config.head_size * config.n_heads == config.width and not grouped
    if style == ("learned", "layer") and config.activation != "swiglu" and config.bias and heads:
        return "gpt2"
    raise CheckpointError(
        "files of GPT-2 hold learned positions, layer norms, gelu or relu, constants and no groups "
        "of heads, files of Llama rotary positions, RMS norms and swiglu; this decoder is neither: "
        "use panlearn.save"
    )


def _gpt2_facts(config: GPTConfig) -> dict[str, Any]:
    return {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "n_layer": config.n_layers,
        "n_embd": config.width,
        "n_head": config.n_heads,
        "n_positions": config.context,
        "n_inner": config.hidden,
        "activation_function": "relu" if config.activation == "relu" else "gelu_new",
        "layer_norm_epsilon": config.norm_epsilon,
        "tie_word_embeddings": config.tied,
        **dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), config.dropout),
    }


def _llama_facts(config: GPTConfig) -> dict[str, Any]:
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "num_hidden_layers": config.n_layers,
        "hidden_size": config.width,
        "num_attention_heads": config.n_heads,
        "num_key_value_heads": config.n_key_heads or config.n_heads,
        "head_dim": config.head_size,
        "intermediate_size": config.hidden_size,
        "max_position_embeddings": config.context,
        "hidden_act": "silu",
        "rms_norm_eps": config.norm_epsilon,
        "rope_theta": config.rotary_base,
        "attention_bias": config.bias,
        "mlp_bias": config.bias,
        "tie_word_embeddings": config.tied,
    }


_WRITERS: dict[str, Callable[[GPTConfig], dict[str, Any]]] = {
    "gpt2": _gpt2_facts,
    "llama": _llama_facts,
}
