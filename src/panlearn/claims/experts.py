"""DeepSeek: latent attention, mixtures of experts, prediction of several tokens."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from panlearn.claims.claim import Evidence, at_least, claim, equal
from panlearn.core.extras import require

torch: Any = require("torch")

from panlearn.transformer import (  # noqa: E402
    ExpertsConfig,
    GPTConfig,
    LatentAttention,
    LatentConfig,
    MixtureOfExperts,
    MultiTokenPrediction,
)
from panlearn.transformer._block import Block  # noqa: E402
from panlearn.transformer._cache import Cache  # noqa: E402
from panlearn.transformer._decoder import Decoder  # noqa: E402
from panlearn.transformer.attention import rotary_positions  # noqa: E402


def _latent(n_heads: int = 3) -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        layer = LatentAttention(16, n_heads, LatentConfig(8, 12, 6, 4, 5)).double()
        for parameter in layer.parameters():
            parameter.data.normal_(std=0.5)
    return layer.requires_grad_(False)


def _tokens(n: int = 7, width: int = 16) -> Any:
    rng = torch.Generator().manual_seed(1)
    return torch.randn(1, n, width, generator=rng, dtype=torch.float64)


@claim("B167")
def absorbed_attention_is_the_explicit() -> Iterator[Evidence]:
    """In latent attention W^UK can be drawn into the query and W^UV into the output: per head
    q'k = (W^UK' q)' c, the output is sum_h W^O_h W^UV_h sum_j a_j c_j, the rotary term q^R k^R is
    added, and the scale is sqrt(d_h + d_h^R). The texts transpose W^UK twice and leave the sum
    over heads out; in this form it holds.
    """
    layer, x = _latent(), _tokens()
    rotation = rotary_positions(torch.arange(7), 4).double()
    look = {"causal": True, "rotation": rotation}
    explicit = layer(x, absorbed=False, **look)
    yield equal("the two forms", layer(x, absorbed=True, **look), explicit, 1e-12)
    query, latent = layer.latents(x, rotation)
    full, keys, _ = layer.explain(query, latent)
    scores = full @ keys.transpose(-1, -2)
    parts = layer.expand.weight.view(3, 11, 8)
    still = torch.einsum("hqd,hdc,kc->hqk", query[0, ..., :6], parts[:, :6], latent[0, 0, :, :8])
    turned = query[0, ..., 6:] @ latent[0, 0, :, 8:].T
    yield equal("scores by hand", scores[0], still + turned, 1e-12)
    weights = (scores[0] / math.sqrt(6 + 4) + torch.full((7, 7), -torch.inf).triu(1)).softmax(-1)
    yield equal("weights", layer.weights(x, rotation=rotation)[0], weights, 1e-12)
    means = weights @ latent[0, 0, :, :8]
    outputs = layer.output.weight.view(16, 3, 5)
    by_hand = torch.einsum("ohv,hvc,hnc->no", outputs, parts[:, 6:], means)
    yield equal("output by hand", explicit[0], by_hand, 1e-12)


@claim("B168")
def latent_cache_is_short() -> Iterator[Evidence]:
    """Attention keeps 2 n_h d_h l numbers a token, latent attention (d_c + d_h^R) l: with n_h =
    d_h = 128, d_c = 512, d_h^R = 64 it is 32768 and 576 a layer.
    """
    n_layers, tokens = 3, 5
    latent = LatentConfig(8, 12, 6, 4, 5)
    sizes = {"n_layers": n_layers, "width": 32, "n_heads": 4, "context": 8}
    small = Decoder(GPTConfig.deepseek(**sizes, latent=latent), 7)
    kept = Cache(small, [0], tokens).memory.numel() / tokens
    yield equal("latent, a token", kept, (8 + 4) * n_layers)
    usual = Decoder(GPTConfig.llama(**sizes), 7)
    kept = Cache(usual, [0], tokens).memory.numel() / tokens
    yield equal("attention, a token", kept, 2 * 4 * 8 * n_layers)
    with torch.device("meta"):
        wide = Decoder(GPTConfig.deepseek(n_layers=1, n_ahead=0), 7)
        plain = Decoder(GPTConfig.llama(n_layers=1, width=7168, n_heads=128, head_width=128), 7)
    yield equal("DeepSeek V3", math.prod(wide.mixers[0].memory), 576)
    yield equal("attention of its size", math.prod(plain.mixers[0].memory), 32768)


@claim("B169")
def rotary_key_is_shared() -> Iterator[Evidence]:
    """The part of the key that is turned is the same for all heads, that of the query is each
    head's own, and keys have d_h + d_h^R coordinates.
    """
    layer, x = _latent(), _tokens()
    rotation = rotary_positions(torch.arange(7), 4).double()
    query, key, _ = layer.explain(*layer.latents(x, rotation))
    yield equal("shape of keys", key.shape, (1, 3, 7, 6 + 4))
    for head in (1, 2):
        yield equal(f"turned keys of head {head}", key[0, head, :, 6:], key[0, 0, :, 6:])
        apart = (query[0, head, :, 6:] - query[0, 0, :, 6:]).abs().max()
        yield at_least(f"turned queries of head {head} and the first", apart, 0.1)


def _router(scores: list[float], balance: list[float]) -> Any:
    """A layer whose scores for the token 1 are given."""
    config = ExpertsConfig(len(scores), 2, 3, gate="sigmoid", balance_rate=0.01)
    layer = MixtureOfExperts(1, config).double().requires_grad_(False)
    layer.router.weight[:, 0] = torch.tensor(scores, dtype=torch.float64)
    layer.balance.copy_(torch.tensor(balance, dtype=torch.float64))
    return layer


def _gates(layer: Any) -> np.ndarray:
    chosen, weights = layer.choose(torch.ones(1, 1, dtype=torch.float64))
    return torch.zeros(1, 4, dtype=torch.float64).scatter(1, chosen, weights)[0].numpy()


@claim("B170")
def gates_of_the_chosen_sum_to_one() -> Iterator[Evidence]:
    """Gates are s = sigmoid(u'e_i), of which the K highest are kept and scaled to sum to one, the
    others exactly zero: scores (2, 1, 0, -1) with K = 2 give (0.546449, 0.453551, 0, 0).
    """
    gates = _gates(_router([2, 1, 0, -1], [0, 0, 0, 0]))
    yield equal("gates", gates, [0.546449, 0.453551, 0, 0], 1e-6)
    yield equal("those not chosen", gates[2:], [0, 0])
    yield equal("sum", gates.sum(), 1, 1e-12)


@claim("B171")
def balance_changes_the_choice_alone() -> Iterator[Evidence]:
    """A bias for balance has a part in the choice and none in the gates: with b = (0, -0.3, 0, 0)
    the first and third experts are chosen with gates (0.637890, 0, 0.362110, 0). That of an expert
    with too many tokens falls by gamma, that of one with too few rises by it.
    """
    layer = _router([2, 1, 0, -1], [0, -0.3, 0, 0])
    yield equal("gates", _gates(layer), [0.637890, 0, 0.362110, 0], 1e-6)
    layer.rebalance(torch.tensor([9, 3, 4, 0]))
    yield equal("biases after a step", layer.balance, [-0.01, -0.29, 0, 0.01], 1e-12)


@claim("B172")
def empty_experts_leave_the_token() -> Iterator[Evidence]:
    """A block gives u + sum of shared experts + sum of g_i times routed ones: u itself if all are
    zero. Shared experts act on every token.
    """
    config = ExpertsConfig(4, 2, 5, n_shared=1, gate="sigmoid")
    layer: Any = MixtureOfExperts(16, config).double().requires_grad_(False)
    block = Block([torch.nn.Identity(), torch.nn.Identity()], _Nothing(), layer, 0.0)
    x = _tokens()
    before = layer.experts_down.clone()
    layer.experts_down.zero_()
    shared = layer.shared.down.weight.clone()
    yield equal("routed ones empty", block(x), x + layer.shared(x))
    layer.shared.down.weight.zero_()
    yield equal("all empty", block(x), x)
    layer.shared.down.weight.copy_(shared)
    layer.experts_down.copy_(before)
    moved = layer.shared(x).abs().amax(dim=-1)
    yield at_least("least that shared experts add to a token", moved.min(), 1e-6)


class _Nothing(torch.nn.Module):
    """A mixer that says nothing."""

    def forward(self, x: Any, causal: bool = True) -> Any:
        return torch.zeros_like(x)


@claim("B173")
def depths_predict_one_token_further() -> Iterator[Evidence]:
    """Depth k joins norm(h_i^(k-1)) and norm(E t_(i+k)) by M_k of d x 2d and predicts t_(i+k+1):
    of t_1..t_4 comes t_5, and with the embeddings of t_2..t_5 t_6. What RMSNorm gives has a mean
    square of one.
    """
    config = GPTConfig.deepseek(n_layers=2, width=16, n_heads=2, context=8)
    depth = MultiTokenPrediction(config).double().requires_grad_(False)
    yield equal("M_k", depth.project.weight.shape, (16, 32))
    x = _tokens()
    square = depth.state_norm(x).square().mean(dim=-1)
    yield equal("mean squares", square, torch.ones_like(square), 1e-5)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        decoder = Decoder(config, 11).double().eval().requires_grad_(False)
    for parameter in decoder.parameters():
        parameter.mul_(8 if parameter.dim() > 1 else 1)
    ids = torch.tensor([[3, 1, 4, 1, 5, 9]])  # t_1 to t_6
    one = {"rotation": decoder.rotation(torch.arange(4), x)}
    state = decoder.ahead[0](decoder.states(ids[:, :4]), decoder.tokens(ids[:, 1:5]), **one)
    law = (decoder.ahead[0].norm(state) @ decoder.projection.T).log_softmax(dim=-1)
    main = decoder.losses(ids[:, :5], ids[:, 1:])
    both = decoder.losses_ahead(ids[:, :5], ids[:, 1:])
    found = (both - main)[0, 3] / (config.ahead_weight * 5 / 4)
    yield equal("-log p(t_6) at the fourth place", found, -law[0, 3, 9], 1e-9)
    yield equal("nothing is ahead of the last", both[0, 4], main[0, 4])
