"""Which family's files can hold a decoder."""

from __future__ import annotations

from panlearn.transformer._config import GPTConfig


def gpt2_holds(config: GPTConfig) -> bool:
    style = (config.positions, config.norm, config.latent, config.experts, config.window)
    grouped = config.n_key_heads not in (None, config.n_heads)
    heads = config.head_size * config.n_heads == config.width and not grouped
    bias = config.bias and config.query_bias in (None, True)
    plain = config.activation != "swiglu" and not config.key_norm and not config.n_ahead
    return style == ("learned", "layer", None, None, None) and heads and bias and plain


def llama_holds(
    config: GPTConfig, *, window: bool = False, key_norm: bool = False, query_bias: bool = False
) -> bool:
    """Whether it is a Llama with nothing but these changes."""
    biased = config.bias if config.query_bias is None else config.query_bias
    return (
        (config.positions, config.norm, config.activation) == ("rotary", "rms", "swiglu")
        and (config.latent, config.experts, config.n_ahead) == (None, None, 0)
        and (config.window is not None, config.key_norm) == (window, key_norm)
        and (not config.bias and biased if query_bias else biased == config.bias)
        and not (config.bias and (window or key_norm))
    )


def mixtral_holds(config: GPTConfig) -> bool:
    experts = config.experts
    if experts is None or config.latent is not None:
        return False
    rest = (experts.n_shared, experts.n_groups, experts.n_dense, experts.scale, experts.gate)
    style = (config.positions, config.norm, config.key_norm, config.bias, config.n_ahead)
    return (
        rest == (0, 1, 0, 1.0, "softmax")
        and experts.normalise
        and style == ("rotary", "rms", False, False, 0)
        and not config.query_bias
    )


def deepseek_holds(config: GPTConfig) -> bool:
    experts = config.experts
    style = (config.norm, config.activation, config.bias)
    return (
        config.latent is not None
        and experts is not None
        and (experts.gate, experts.n_shared > 0) == ("sigmoid", True)
        and style == ("rms", "swiglu", False)
    )
