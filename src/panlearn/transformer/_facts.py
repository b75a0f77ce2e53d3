"""The facts of a ``config.json``: each is understood, known to be of no matter, or refused."""

from __future__ import annotations

import math
from typing import Any

from panlearn.transformer._positions import RotaryScaling

Facts = dict[str, Any]

# What says nothing about the function that a model computes.
_IRRELEVANT = {
    *("model_type", "architectures", "transformers_version", "_name_or_path", "dtype"),
    *("torch_dtype", "use_cache", "initializer_range", "vocab_size", "task_specific_params"),
    *("bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id", "output_attentions"),
    *("output_hidden_states", "return_dict", "attention_dropout", "resid_pdrop", "embd_pdrop"),
    *("attn_pdrop", "pretraining_tp", "output_router_logits", "router_aux_loss_coef", "auto_map"),
    *("router_jitter_noise", "summary_activation", "summary_first_dropout", "summary_type"),
    *("summary_proj_to_labels", "summary_use_proj", "n_ctx", "aux_loss_alpha", "seq_aux"),
    *("ep_size", "max_window_layers", "num_nextn_predict_layers", "rope_theta", "rope_scaling"),
    *("rope_parameters", "qk_head_dim", "_attn_implementation_autoset", "id2label", "label2id"),
    *("chunk_size_feed_forward", "is_encoder_decoder", "problem_type", "bos_token", "eos_token"),
}


class Reader:
    """The facts of a ``config.json``, each of which somebody must ask for."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._left = {k for k, v in facts.items() if v is not None and k not in _IRRELEVANT}

    def take(self, name: str, *default: Any) -> Any:
        """Give a fact; without a default it must be there."""
        self._left.discard(name)
        value = self.facts.get(name)
        if value is None and not default:
            raise KeyError(name)
        return default[0] if value is None else value

    def only(self, name: str, *allowed: Any) -> Any:
        """Give a fact that must be one of these; one not stated is the first."""
        if (value := self.take(name, allowed[0])) not in allowed:
            raise ValueError(f"{name}={value!r} is not supported; only {allowed}")
        return value

    def finish(self) -> None:
        """Refuse facts that nobody asked for."""
        if self._left:
            name = min(self._left)
            raise ValueError(f"{name}={self.facts[name]!r:.80} is not known here")


def rotary(reader: Reader, *, latent: bool) -> tuple[float, RotaryScaling | None]:
    """The base of rotary positions, and how they are slowed down."""
    facts = reader.facts
    told = facts.get("rope_parameters") or facts.get("rope_scaling") or {}
    rope = Reader({"rope_theta": facts.get("rope_theta"), **told})
    base = float(told.get("rope_theta") or facts.get("rope_theta") or 10_000.0)
    kind = rope.take("rope_type", rope.take("type", "default"))
    if kind not in _KINDS:
        raise ValueError(f"rope_type={kind!r} is not supported; only {_KINDS}")
    scaling = None
    if kind != "default":
        factor = float(rope.take("factor"))
        context = rope.take("original_max_position_embeddings", facts["max_position_embeddings"])
        more: dict[str, float] = {}
        if kind == "llama3":
            more = {"low": rope.take("low_freq_factor"), "high": rope.take("high_freq_factor")}
        elif kind == "yarn":
            more = {"low": rope.take("beta_slow", 1), "high": rope.take("beta_fast", 32)}
            more |= _loudness(rope, factor, latent=latent)
        scaling = RotaryScaling(kind, factor, context, **{k: float(v) for k, v in more.items()})
    rope.finish()
    return base, scaling


_KINDS = ("default", "linear", "llama3", "yarn")


def _loudness(rope: Reader, factor: float, *, latent: bool) -> dict[str, float]:
    """What YaRN multiplies waves and scores by."""
    rope.only("truncate", True)
    part, whole = rope.take("mscale", 0.0), rope.take("mscale_all_dim", 0.0)
    usual = _growth(factor, part) / _growth(factor, whole) if part and whole else _growth(factor, 1)
    amplitude = rope.take("attention_factor", usual)
    return {"amplitude": amplitude, "sharpness": _growth(factor, whole) ** 2 if latent else 1.0}


def _growth(factor: float, scale: float) -> float:
    return 0.1 * scale * math.log(factor) + 1.0 if factor > 1 else 1.0


def rotary_facts(scaling: RotaryScaling | None) -> Facts | None:
    """What a ``config.json`` says of a scaling."""
    if scaling is None:
        return None
    facts: Facts = {"rope_type": scaling.kind, "factor": scaling.factor}
    if scaling.kind == "linear":
        return facts
    facts["original_max_position_embeddings"] = scaling.context
    if scaling.kind == "llama3":
        return facts | {"low_freq_factor": scaling.low, "high_freq_factor": scaling.high}
    facts |= {"beta_slow": scaling.low, "beta_fast": scaling.high}
    facts["attention_factor"] = scaling.amplitude
    if scaling.sharpness != 1:
        facts["mscale_all_dim"] = (math.sqrt(scaling.sharpness) - 1) / (
            0.1 * math.log(scaling.factor)
        )
    return facts
