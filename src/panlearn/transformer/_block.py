"""A block, and what a configuration makes it of."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from panlearn.neural._step import drop
from panlearn.transformer._config import GPTConfig
from panlearn.transformer._feed_forward import FeedForward
from panlearn.transformer.attention import MultiHeadAttention
from panlearn.transformer.latent_attention import LatentAttention
from panlearn.transformer.mixture_of_experts import MixtureOfExperts


class Block(nn.Module):
    """x + mixer(norm(x)), then x + feedforward(norm(x)).

    A mixer lets tokens look at each other. It takes (x, causal, rotation, mask, remember), and
    its ``memory`` says what it keeps of a token for those that follow: kinds of vectors, how many
    of each, and their width. ``remember`` takes new ones and gives all.
    """

    def __init__(
        self, norms: list[nn.Module], mixer: nn.Module, feed_forward: nn.Module, dropout: float
    ) -> None:
        super().__init__()
        self.attention_norm, self.attention = norms[0], mixer
        self.feed_forward_norm, self.feed_forward = norms[1], feed_forward
        self.dropout = dropout

    def forward(self, x: Tensor, **look: Any) -> Tensor:
        x = x + self.drop(self.attention(self.attention_norm(x), causal=True, **look))
        return x + self.drop(self.feed_forward(self.feed_forward_norm(x)))

    def drop(self, x: Tensor) -> Tensor:
        return drop(x, self.dropout, self.training)


def block_of(config: GPTConfig, layer: int) -> Block:
    """Make the block of a layer."""
    mixer, feed_forward = mixer_of(config), feed_forward_of(config, layer)
    return Block([norm_of(config), norm_of(config)], mixer, feed_forward, config.dropout)


def mixer_of(config: GPTConfig) -> nn.Module:
    """Make what lets tokens look at each other."""
    if config.latent is not None:
        scaling = config.rotary_scaling
        sharpness = 1.0 if scaling is None else scaling.sharpness
        return LatentAttention(
            config.width,
            config.n_heads,
            config.latent,
            sharpness=sharpness,
            dropout=config.dropout,
        )
    return MultiHeadAttention(
        config.width,
        config.n_heads,
        n_key_heads=config.n_key_heads,
        head_width=config.head_width,
        bias=config.bias if config.query_bias is None else config.query_bias,
        output_bias=config.bias,
        window=config.window,
        norm_epsilon=config.norm_epsilon if config.key_norm else None,
        dropout=config.dropout,
    )


def feed_forward_of(config: GPTConfig, layer: int) -> nn.Module:
    """Make what each token goes through by itself."""
    if config.experts is not None and layer >= config.experts.n_dense:
        return MixtureOfExperts(config.width, config.experts)
    return FeedForward(config.width, config.hidden_size, config.activation, bias=config.bias)


def norm_of(config: GPTConfig) -> nn.Module:
    """Make a norm of tokens."""
    kind = nn.LayerNorm if config.norm == "layer" else nn.RMSNorm
    return kind(config.width, eps=config.norm_epsilon)
