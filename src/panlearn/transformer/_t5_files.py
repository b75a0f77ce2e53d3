"""T5 in the folders of Hugging Face: read, safetensors alone."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from panlearn.transformer._facts import Reader
from panlearn.transformer._folder import CheckpointError, Folder, check_folder, read_json
from panlearn.transformer._t5 import T5Config

_ACTIVATIONS = {"relu": "relu", "gated-gelu": "geglu"}
# What says nothing about the function that a T5 computes, beside what `Reader` knows.
_IRRELEVANT = (
    *("n_positions", "initializer_factor", "output_past", "classifier_dropout", "is_decoder"),
    *("is_gated_act", "dense_act_fn", "tokenizer_class", "gradient_checkpointing"),
)


def read(folder: str | os.PathLike[str]) -> tuple[T5Config, dict[str, np.ndarray], float]:
    """Read a folder: the shape, the weights by our names, and the dropout.

    Names and shapes are looked at before a tensor is read: what does not fit takes no memory.
    """
    path = check_folder(folder)
    facts = read_json(path / "config.json")
    if (kind := facts.get("model_type")) != "t5":
        raise CheckpointError(f"{path} holds a model of type {kind!r}; can be read: t5")
    found = Folder(path)
    try:
        config, dropout = _config(facts, tied="lm_head.weight" not in found.shapes)
    except KeyError as missing:
        raise CheckpointError(f"{path}/config.json lacks {missing}") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise CheckpointError(f"{path}/config.json: {error}") from error
    found.check_count(config.n_layers, config.n_decoder_layers)
    names = _names(config)
    for theirs, shape in names.values():
        found.check(theirs, shape)
    copies = {f"{side}.embed_tokens.weight" for side in ("encoder", "decoder")}
    used = {theirs for theirs, _ in names.values()} | copies
    # old files hold a table in which no distance is looked up
    used.add("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight")
    if more := sorted(set(found.shapes) - used):
        raise CheckpointError(
            f"{path} holds tensors that this model has no place for: {', '.join(more[:3])}"
        )
    weights = {ours: found.read(theirs).float().numpy() for ours, (theirs, _) in names.items()}
    return config, weights, dropout


def _config(facts: dict[str, Any], *, tied: bool) -> tuple[T5Config, float]:
    reader = Reader(facts)
    for name in _IRRELEVANT:
        reader.take(name, None)
    form = reader.only("feed_forward_proj", *_ACTIVATIONS)
    n_layers = reader.take("num_layers")
    scaled = reader.take("tie_word_embeddings", True) is not False
    end = facts.get("eos_token_id", 1)
    config = T5Config(
        facts["vocab_size"],
        reader.take("d_model"),
        n_layers,
        reader.take("num_decoder_layers", n_layers),
        n_heads=reader.take("num_heads"),
        head_width=reader.take("d_kv"),
        hidden=reader.take("d_ff"),
        activation=_ACTIVATIONS[form],  # type: ignore[arg-type]
        n_buckets=reader.take("relative_attention_num_buckets", 32),
        max_distance=reader.take("relative_attention_max_distance", 128),
        norm_epsilon=reader.take("layer_norm_epsilon", 1e-6),
        scaled=bool(reader.take("scale_decoder_outputs", scaled)),
        tied=tied,
        start=reader.take("decoder_start_token_id", facts.get("pad_token_id") or 0),
        end=end[0] if isinstance(end, list) else end,
    )
    dropout = float(reader.take("dropout_rate", 0.1))
    reader.finish()
    return config, dropout


def _names(config: T5Config) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The name there and the shape of each tensor, by its name here."""
    width, inner = config.width, config.n_heads * config.head_width
    up, down = (config.hidden, width), (width, config.hidden)
    look = {"query": ("q", (inner, width)), "key": ("k", (inner, width))}
    look |= {"value": ("v", (inner, width)), "output": ("o", (width, inner))}
    forward = {"up": ("wi", up), "down": ("wo", down)}
    if config.activation == "geglu":
        forward = {"gate": ("wi_0", up), "up": ("wi_1", up), "down": ("wo", down)}
    names: dict[str, tuple[str, tuple[int, ...]]] = {
        "tokens.weight": ("shared.weight", (config.n_tokens, width))
    }
    if not config.tied:
        names["head.weight"] = ("lm_head.weight", (config.n_tokens, width))
    sides = {"encoder": config.n_layers, "decoder": config.n_decoder_layers}
    for side, n_layers in sides.items():
        parts = {"attention": ("SelfAttention", look), "cross": ("EncDecAttention", look)}
        parts["feed_forward"] = ("DenseReluDense", forward)
        if side == "encoder":
            del parts["cross"]
        table = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        names[f"{side}.distances.weight"] = (table, (config.n_buckets, config.n_heads))
        names[f"{side}.norm.weight"] = (f"{side}.final_layer_norm.weight", (width,))
        for i in range(n_layers):
            for k, (ours, (theirs, tensors)) in enumerate(parts.items()):
                here, there = f"{side}.blocks.{i}", f"{side}.block.{i}.layer.{k}"
                names[f"{here}.norms.{k}.weight"] = (f"{there}.layer_norm.weight", (width,))
                for name, (short, shape) in tensors.items():
                    names[f"{here}.{ours}.{name}.weight"] = (
                        f"{there}.{theirs}.{short}.weight",
                        shape,
                    )
    return names
