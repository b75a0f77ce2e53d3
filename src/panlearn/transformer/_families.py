"""Families of checkpoints: a table of names each, and what its ``config.json`` says."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from panlearn.transformer._config import ExpertsConfig, GPTConfig, LatentConfig
from panlearn.transformer._facts import Facts, Reader, rotary, rotary_facts
from panlearn.transformer._names import DEEPSEEK, GPT2, LLAMA, MIXTRAL
from panlearn.transformer._styles import deepseek_holds, gpt2_holds, llama_holds, mixtral_holds


@dataclass(frozen=True)
class Family:
    """One kind of checkpoint."""

    kind: str
    architecture: str
    names: dict[str, tuple[str, ...]]
    config: Callable[[Reader], GPTConfig]
    facts: Callable[[GPTConfig], Facts]
    holds: Callable[[GPTConfig], bool]
    transposed: bool = False

    def read(self, facts: Facts) -> GPTConfig:
        """Give the configuration that facts describe."""
        reader = Reader(facts)
        config = self.config(reader)
        reader.finish()
        return config


def _gpt2_config(reader: Reader) -> GPTConfig:
    kinds = ("gelu_new", "gelu_pytorch_tanh", "relu")
    activation = reader.only("activation_function", *kinds)
    reader.only("scale_attn_weights", True)
    reader.only("scale_attn_by_inverse_layer_idx", False)
    reader.only("reorder_and_upcast_attn", False, True)  # of rounding alone
    reader.only("add_cross_attention", False)
    return GPTConfig(
        *(reader.take(name) for name in ("n_layer", "n_embd", "n_head", "n_positions")),
        hidden=reader.take("n_inner", None),
        norm_epsilon=reader.take("layer_norm_epsilon", 1e-5),
        activation="relu" if activation == "relu" else "gelu",
        tied=reader.take("tie_word_embeddings", True),
    )


def _gpt2_facts(config: GPTConfig) -> Facts:
    return {
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


def _common(reader: Reader, **changes: Any) -> GPTConfig:
    """What all relatives of Llama say, with what one of them says besides."""
    reader.only("hidden_act", "silu")
    base, scaling = rotary(reader, latent="latent" in changes)
    said = {
        "n_layers": reader.take("num_hidden_layers"),
        "width": reader.take("hidden_size"),
        "n_heads": reader.take("num_attention_heads"),
        "context": reader.take("max_position_embeddings"),
        "n_key_heads": reader.take("num_key_value_heads", None),
        "head_width": reader.take("head_dim", None),
        "hidden": reader.take("intermediate_size"),
        "rotary_base": base,
        "rotary_scaling": scaling,
        "norm_epsilon": reader.take("rms_norm_eps", 1e-6),
        "tied": reader.take("tie_word_embeddings", False),
    }
    return GPTConfig.llama(**{**said, **changes})


def _llama_config(reader: Reader) -> GPTConfig:
    biased = reader.take("attention_bias", False)
    reader.only("mlp_bias", biased)
    return _common(reader, bias=biased)


def _mistral_config(reader: Reader) -> GPTConfig:
    return _common(reader, window=reader.take("sliding_window", None))


def _qwen_config(reader: Reader, **style: Any) -> GPTConfig:
    reader.only("attention_bias", False)
    slides = reader.take("use_sliding_window", False)
    window = reader.take("sliding_window", None)
    kinds = set(reader.take("layer_types", ["full_attention"]))
    if (slides and window is not None) or kinds != {"full_attention"}:
        raise ValueError(
            f"use_sliding_window={slides} with layer_types {sorted(kinds)} is not supported"
        )
    return _common(reader, **style)


def _mixtral_config(reader: Reader) -> GPTConfig:
    experts = ExpertsConfig(
        reader.take("num_local_experts"),
        reader.take("num_experts_per_tok"),
        reader.take("intermediate_size"),
    )
    return _common(reader, window=reader.take("sliding_window", None), experts=experts)


def _deepseek_config(reader: Reader) -> GPTConfig:
    reader.only("attention_bias", False)
    reader.only("scoring_func", "sigmoid")
    reader.only("topk_method", "noaux_tc")
    reader.only("moe_layer_freq", 1)
    latent = LatentConfig(
        reader.take("kv_lora_rank"),
        reader.take("q_lora_rank", None),
        reader.take("qk_nope_head_dim"),
        reader.take("qk_rope_head_dim"),
        reader.take("v_head_dim"),
        reader.take("rope_interleave", True),
    )
    experts = ExpertsConfig(
        reader.take("n_routed_experts"),
        reader.take("num_experts_per_tok"),
        reader.take("moe_intermediate_size"),
        n_shared=reader.take("n_shared_experts", 0),
        gate="sigmoid",
        normalise=reader.take("norm_topk_prob", True),
        scale=float(reader.take("routed_scaling_factor", 1.0)),
        n_groups=reader.take("n_group", 1),
        n_chosen_groups=reader.take("topk_group", 1),
        n_dense=reader.take("first_k_dense_replace", 0),
        balance_rate=1e-3,
    )
    reader.take("head_dim", None)
    alike = {"head_width": None, "n_key_heads": None}
    return _common(reader, latent=latent, experts=experts, **alike)


def _facts(config: GPTConfig) -> Facts:
    """What all relatives of Llama are told."""
    return {
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
        "rope_scaling": rotary_facts(config.rotary_scaling),
        "tie_word_embeddings": config.tied,
    }


def _llama_facts(config: GPTConfig) -> Facts:
    return {**_facts(config), "attention_bias": config.bias, "mlp_bias": config.bias}


def _mistral_facts(config: GPTConfig) -> Facts:
    return {**_facts(config), "sliding_window": config.window}


def _mixtral_facts(config: GPTConfig) -> Facts:
    experts = config.experts
    assert experts is not None
    return {
        **_mistral_facts(config),
        "intermediate_size": experts.hidden,
        "num_local_experts": experts.n_experts,
        "num_experts_per_tok": experts.n_chosen,
    }


def _deepseek_facts(config: GPTConfig) -> Facts:
    latent, experts = config.latent, config.experts
    assert latent is not None
    assert experts is not None
    facts = _facts(config)
    del facts["head_dim"]  # heads have three widths
    return {
        **facts,
        "kv_lora_rank": latent.rank,
        "q_lora_rank": latent.query_rank,
        "qk_nope_head_dim": latent.head_width,
        "qk_rope_head_dim": latent.rotary_width,
        "v_head_dim": latent.value_width,
        "rope_interleave": latent.adjacent,
        "n_routed_experts": experts.n_experts,
        "num_experts_per_tok": experts.n_chosen,
        "moe_intermediate_size": experts.hidden,
        "n_shared_experts": experts.n_shared,
        "norm_topk_prob": experts.normalise,
        "routed_scaling_factor": experts.scale,
        "n_group": experts.n_groups,
        "topk_group": experts.n_chosen_groups,
        "first_k_dense_replace": experts.n_dense,
        "num_nextn_predict_layers": config.n_ahead,
    }


FAMILIES = {
    family.kind: family
    for family in (
        Family("gpt2", "GPT2LMHeadModel", GPT2, _gpt2_config, _gpt2_facts, gpt2_holds, True),
        Family("llama", "LlamaForCausalLM", LLAMA, _llama_config, _llama_facts, llama_holds),
        Family(
            "mistral",
            "MistralForCausalLM",
            LLAMA,
            _mistral_config,
            _mistral_facts,
            functools.partial(llama_holds, window=True),
        ),
        Family(
            "qwen2",
            "Qwen2ForCausalLM",
            LLAMA,
            functools.partial(_qwen_config, query_bias=True),
            _facts,
            functools.partial(llama_holds, query_bias=True),
        ),
        Family(
            "qwen3",
            "Qwen3ForCausalLM",
            LLAMA,
            functools.partial(_qwen_config, key_norm=True),
            _facts,
            functools.partial(llama_holds, key_norm=True),
        ),
        Family(
            "mixtral",
            "MixtralForCausalLM",
            MIXTRAL,
            _mixtral_config,
            _mixtral_facts,
            mixtral_holds,
        ),
        Family(
            "deepseek_v3",
            "DeepseekV3ForCausalLM",
            DEEPSEEK,
            _deepseek_config,
            _deepseek_facts,
            deepseek_holds,
        ),
    )
}
