"""Attention: convex means, masks, heads, positions, and the cache of keys and values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.core.extras import require

torch: Any = require("torch")

from panlearn.transformer import attention as A  # noqa: E402


def _draw(seed: int, *shape: int) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _layer(width: int, n_heads: int, seed: int = 0, **settings: Any) -> Any:
    layer = A.MultiHeadAttention(width, n_heads, **settings).double()
    for i, parameter in enumerate(layer.parameters()):
        parameter.data = _draw(seed + i, *parameter.shape) / math.sqrt(width)
    return layer.requires_grad_(False)


def _moves(function: Any, x: Any) -> np.ndarray:
    """Which output token moves with which input token, shape (n_outputs, n_inputs)."""
    gradient = torch.autograd.functional.jacobian(lambda rows: function(rows[None])[0], x)
    return gradient.abs().amax(dim=(1, 3)).numpy() > 0


def _convex() -> Iterator[Evidence]:
    query, key, value = _draw(0, 1, 1, 9, 4), _draw(1, 1, 1, 7, 4), _draw(2, 1, 1, 7, 3)
    weights, mean = A.attention_weights(query, key)[0, 0], A.attention(query, key, value)[0, 0]
    yield equal("sums of rows", weights.sum(dim=1), np.ones(9), 1e-12)
    yield true("weights are in [0, 1]", ((weights >= 0) & (weights <= 1)).all())
    low, high = value[0, 0].min(dim=0).values, value[0, 0].max(dim=0).values
    inside = (mean >= low - 1e-12) & (mean <= high + 1e-12)
    yield true("each coordinate is between those of the values", inside.all())
    yield equal("the weights times the values", weights @ value[0, 0], mean, 1e-12)
    yield equal("shape of the means", mean.shape, (9, 3))


@claim("A114")
def output_is_a_convex_mean() -> Iterator[Evidence]:
    """With P = softmax by rows of Q K'/sqrt(d_k) + M, rows of P sum to one and are in [0, 1], so
    that each output lies in the convex hull of the values; P is not symmetric in general. The text
    calls the product q.k itself the score, where its softmax is meant.
    """
    yield from _convex()
    x = _draw(3, 1, 1, 6, 4)
    weights = A.attention_weights(x, x)[0, 0]
    yield at_least("asymmetry of P", (weights - weights.T).abs().max(), 0.01)


@claim("B139")
def attention_mixes_values() -> Iterator[Evidence]:
    """Attention(Q, K, V) = softmax(Q K'/sqrt(d_k)) V, with the softmax along each row and d_k the
    width of a head; rows of weights sum to one and outputs are convex combinations of value rows.
    One text writes the softmax entry by entry and scales by the width of the model.
    """
    yield from _convex()


def _causal() -> Iterator[Evidence]:
    layer, x = _layer(8, 2), _draw(4, 1, 6, 8)
    query, key, _ = layer.heads(x)
    weights = A.attention_weights(query, key, causal=True)
    yield equal("weights above the diagonal", weights.triu(1), torch.zeros_like(weights))
    changed = x.clone()
    changed[:, 4:] += _draw(5, 1, 2, 8)
    before, after = layer(x, causal=True), layer(changed, causal=True)
    yield equal("outputs before a changed token", before[:, :4], after[:, :4])
    yield at_least("outputs after it", (before - after)[:, 4:].abs().max(), 0.01)
    lower = np.tril(np.ones((6, 6)))
    yield equal("who moves whom", _moves(lambda r: layer(r, causal=True), x[0]), lower)


@claim("A115")
def causal_mask_hides_the_future() -> Iterator[Evidence]:
    """With minus infinity for j > i, output i does not depend on inputs j > i, and the weights are
    lower triangular.
    """
    yield from _causal()


@claim("B141")
def causal_weights_are_triangular() -> Iterator[Evidence]:
    """The mask that is 0 for j <= i and minus infinity beyond makes the weights lower triangular,
    and output i stays when tokens after i change. The text calls it cross-attention, which it is
    not, and writes Q'K for QK'.
    """
    yield from _causal()


@claim("A116")
def scaling_keeps_the_variance() -> Iterator[Evidence]:
    """For independent queries and keys of unit variance the variance of q.k / sqrt(d_k) is one for
    every d_k, which keeps the softmax from saturating.

    The difference of the logarithms of two weights is that of their scores, of variance two. What
    attention gives for values that are the unit vectors is its weights, the same by every way that
    the library takes.
    """
    n, part = 100_000, 10_000
    for width in (4, 64, 256):
        generator, found = torch.Generator().manual_seed(width), []
        for _ in range(n // part):
            query = torch.randn(part, 1, 1, width, generator=generator)
            key = torch.randn(part, 1, 2, width, generator=generator)
            weights = A.attention_weights(query, key)
            found.append(weights.log().diff(dim=-1).flatten())
        yield equal(f"variance for d_k = {width}", torch.cat(found).var() / 2, 1.0, 0.03)
        query, key, weights = query[:100], key[:100], weights[:100]
        values, twice = torch.eye(2).expand(100, 1, 2, 2), query.expand(-1, 1, 2, -1)
        for name, mean in {
            "one query": A.attention(query, key, values),
            "fused": A.attention(twice, key, values),
            "causal": A.attention(twice, key, values, causal=True),
        }.items():
            yield equal(f"weights, {name}", mean[:, :, -1:], weights, 1e-5)


@claim("B140")
def products_have_the_variance_of_the_width() -> Iterator[Evidence]:
    """For unit-variance q and k the variance of q.k is d_k, and of q.k / sqrt(d_k) it is 1. The
    text divides by 1/sqrt(d_k), where it has to multiply.
    """
    query, key = _draw(1, 30_000, 64), _draw(2, 30_000, 64)
    scores = (query * key).sum(dim=1)
    yield equal("variance of q.k over 64", scores.var() / 64, 1.0, 0.06)
    one = A.attention_weights(query[:1, None, None, :], key[None, None, :5, :])[0, 0, 0]
    yield equal(
        "weights are of the scaled products", one, (key[:5] @ query[0] / 8).softmax(0), 1e-12
    )


@claim("A117")
def heads_stand_side_by_side() -> Iterator[Evidence]:
    """Head h is softmax(X W_Q W_K' X'/sqrt(D_K)) X W_V with matrices of its own; the heads are put
    side by side and multiplied by W_O. One head and W_O = I give single attention. The text loses
    the X' inside the softmax and the index of the head.
    """
    layer, x = _layer(12, 3, bias=False), _draw(6, 1, 5, 12)
    heads = []
    for h in range(3):
        query, key, value = (
            x[0] @ layer.project.weight[12 * part + 4 * h : 12 * part + 4 * h + 4].T
            for part in range(3)
        )
        heads.append((query @ key.T / 2).softmax(dim=1) @ value)
    expected = torch.cat(heads, dim=1) @ layer.output.weight.T
    yield equal("a loop over heads", layer(x)[0], expected, 1e-12)
    yield from _single_head()


def _single_head() -> Iterator[Evidence]:
    single, x = _layer(12, 1, bias=False), _draw(7, 1, 5, 12)
    single.output.weight.data = torch.eye(12, dtype=torch.float64)
    mean = A.attention(*single.heads(x))[0, 0]
    yield equal("one head and W_O = I", single(x)[0], mean, 1e-12)


@claim("B143")
def one_head_is_plain_attention() -> Iterator[Evidence]:
    """Multi-head attention with h = 1 and W^O = I is single-head attention."""
    yield from _single_head()


@claim("B142")
def heads_share_the_width() -> Iterator[Evidence]:
    """With heads of width d/h (512/8 = 64), their concatenation times W^O has width d again, and
    there are 4 d^2 parameters without constants; PyTorch's layer with the same weights agrees.
    """
    layer = A.MultiHeadAttention(512, 8, bias=False)
    yield equal("width of a head", layer.head_width, 64)
    yield equal("parameters", sum(p.numel() for p in layer.parameters()), 4 * 512**2)
    ours, x = _layer(32, 4), _draw(8, 2, 6, 32)
    theirs = torch.nn.MultiheadAttention(32, 4, batch_first=True).double()
    theirs.in_proj_weight.data, theirs.in_proj_bias.data = ours.project.weight, ours.project.bias
    theirs.out_proj.load_state_dict(ours.output.state_dict())
    yield equal("PyTorch's layer", ours(x), theirs(x, x, x)[0].detach(), 1e-6)


@claim("B144")
def groups_lie_between_many_heads_and_one() -> Iterator[Evidence]:
    """Grouped-query attention with as many groups as heads is multi-head attention, and with one
    group multi-query attention; a multi-head layer whose key heads are equal within groups gives
    the same; keys and values to keep shrink by h/g.
    """
    query, x = _draw(9, 1, 8, 5, 4), _draw(10, 1, 1, 5, 4)
    for groups in (1, 2, 8):
        key, value = (_draw(seed, 1, groups, 5, 4) for seed in (11, 12))
        full = [t.repeat_interleave(8 // groups, dim=1) for t in (key, value)]
        grouped = A.attention(query, key, value, causal=True)
        expected = A.attention(query, *full, causal=True)
        yield equal(f"{groups} groups and tied heads", grouped, expected, 1e-12)
        yield equal("ratio of what is kept", full[0].numel() / key.numel(), 8 / groups)
    one = A.attention(query, x, x)
    each = torch.cat([A.attention(query[:, h : h + 1], x, x) for h in range(8)], dim=1)
    yield equal("one key head serves all", one, each, 1e-12)


def _equivariant() -> Iterator[Evidence]:
    layer, x = _layer(8, 2), _draw(13, 1, 6, 8)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    yield equal("SA(PX) and P SA(X)", layer(x[:, order]), layer(x)[:, order], 1e-12)
    weights = A.attention_weights(*layer.heads(x)[:2])
    turned = A.attention_weights(*layer.heads(x[:, order])[:2])
    yield equal("A' = P A P'", turned, weights[:, :, order][:, :, :, order], 1e-12)
    places = A.sinusoidal_positions(6, 8).double()
    shift = layer(x[:, order] + places) - layer(x + places)[:, order]
    yield at_least("difference with positions", shift.abs().max(), 0.01)
    shift = layer(x[:, order], causal=True) - layer(x, causal=True)[:, order]
    yield at_least("difference with a causal mask", shift.abs().max(), 0.01)


@claim("A118")
def attention_does_not_know_order() -> Iterator[Evidence]:
    """Self-attention without positions is permutation equivariant, SA(PX) = P SA(X); positional
    encodings or a causal mask break it.
    """
    yield from _equivariant()


@claim("B145")
def permuted_tokens_permute_outputs() -> Iterator[Evidence]:
    """Without mask and positions Attn(PX) = P Attn(X) and the weights become P A P'; positions
    break it. The text says invariant where it is equivariant.
    """
    yield from _equivariant()


@claim("B146")
def sinusoids_have_known_values() -> Iterator[Evidence]:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)) and PE(pos, 2i+1) is its cosine; for d = 4 position 0
    is (0, 1, 0, 1) and position 1 is (0.841471, 0.540302, 0.00999983, 0.99995).
    """
    table = A.sinusoidal_positions(2, 4)
    yield equal("position 0", table[0], [0, 1, 0, 1])
    yield equal("position 1", table[1], [0.841470985, 0.540302306, 0.009999833, 0.99995], 1e-7)


def _turn(x: Any, place: int) -> Any:
    angles = place * 10_000.0 ** (-torch.arange(0, len(x), 2, dtype=torch.float64) / len(x))
    rotation = torch.stack([angles.cos(), angles.sin()])[:, None]
    return A.rotate(x[None], rotation, adjacent=True)[0]


@claim("B147")
def rotary_positions_rotate() -> Iterator[Evidence]:
    """Rotary positions turn the pair (2k, 2k+1) by i times alpha_k, alpha_k = 10000^(-2k/d):
    lengths stay, turning back is the transpose, and two turns add up. The text speaks of two
    halves of the vector but pairs neighbours; the two differ by a fixed permutation.
    """
    x = _draw(14, 8)
    yield equal("length", _turn(x, 5).norm(), x.norm(), 1e-12)
    turn = torch.stack([_turn(row, 5) for row in torch.eye(8, dtype=torch.float64)]).T
    back = torch.stack([_turn(row, -5) for row in torch.eye(8, dtype=torch.float64)]).T
    yield equal("the transpose turns back", turn.T, back, 1e-12)
    yield equal("turns add up", _turn(_turn(x, 2), 3), _turn(x, 5), 1e-12)
    angles = A.rotary_positions(torch.tensor([5]), 8)  # in single precision
    yield equal(
        "the library's table", A.rotate(x[None], angles, adjacent=True)[0], _turn(x, 5), 1e-6
    )
    halves = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7])
    yield equal("two halves", A.rotate(x[None, halves], angles)[0], _turn(x, 5)[halves], 1e-6)


@claim("B148")
def rotary_scores_see_the_distance() -> Iterator[Evidence]:
    """The product of a turned query and a turned key depends on the distance alone: positions (3,
    8) and (10, 15) give the same. Values are not turned.
    """
    query, key = _draw(15, 8), _draw(16, 8)
    near, far = _turn(query, 3) @ _turn(key, 8), _turn(query, 10) @ _turn(key, 15)
    yield equal("scores of (3, 8) and (10, 15)", near, far, 1e-12)
    yield equal("score of the difference", query @ _turn(key, 5), near, 1e-12)
    layer, x = _layer(8, 2), _draw(17, 1, 4, 8)
    rotation = A.rotary_positions(torch.arange(4), 4)
    yield equal("values", layer.heads(x, rotation=rotation)[2], layer.heads(x)[2])


@claim("B150")
def cross_attention_has_the_length_of_its_queries() -> Iterator[Evidence]:
    """Cross-attention takes queries from the decoder and keys and values from the encoder: the
    output has as many rows as there are queries.
    """
    layer, x, memory = _layer(8, 2), _draw(18, 1, 3, 8), _draw(19, 1, 7, 8)
    yield equal("shape", layer(x, memory).shape, (1, 3, 8))
    rows = _moves(lambda rows: layer(rows, memory), x[0])
    yield equal("queries do not see each other", rows, np.eye(3))


@claim("A123")
def one_layer_sees_the_whole_picture() -> Iterator[Evidence]:
    """After one attention layer every output token depends on every patch of a picture, while a
    convolution of 3 x 3 sees a neighbourhood of 3 x 3 alone.
    """
    layer, patches = _layer(8, 2), _draw(20, 25, 8)
    yield true("every token on every patch", _moves(layer, patches).all())
    kernel, picture = _draw(21, 1, 1, 3, 3), _draw(22, 1, 1, 5, 5).requires_grad_()
    torch.nn.functional.conv2d(picture, kernel, padding=1)[0, 0, 2, 2].backward()
    seen = np.zeros((5, 5))
    seen[1:4, 1:4] = 1
    yield equal("support of a convolution", picture.grad[0, 0] != 0, seen)


@claim("A128")
def mean_pooling_forgets_order() -> Iterator[Evidence]:
    """A classification head reads a special token or the mean of the tokens; the mean of an
    encoder without positions does not depend on the order of the tokens.
    """
    layer, x = _layer(8, 2), _draw(23, 1, 6, 8)
    order = torch.tensor([5, 2, 0, 4, 1, 3])
    yield equal("mean of tokens", layer(x[:, order]).mean(dim=1), layer(x).mean(dim=1), 1e-12)
    first = layer(x[:, order])[:, 0] - layer(x)[:, 0]
    yield at_least("one token, by contrast", first.abs().max(), 0.01)


@claim("B154")
def keys_and_values_of_the_example() -> Iterator[Evidence]:
    """The text's example: tokens (1,2), (3,4), (5,6), W^Q = I, W^K = [[1,2],[0,1]] and W^V =
    [[0.5,-0.5],[1,0.5]] give keys (1,4), (3,10), (5,16) and values (2.5,0.5), (5.5,0.5),
    (8.5,0.5). A fourth token, once it is known, (7,8), has key (7,22), value (11.5,0.5) and the
    scores 27.577, 71.418, 115.258, 159.099. The text lets an unknown token ask: the query is the
    last known one's.
    """
    layer = A.MultiHeadAttention(2, 1, bias=False).double()
    W = [torch.eye(2), torch.tensor([[1.0, 2], [0, 1]]), torch.tensor([[0.5, -0.5], [1, 0.5]])]
    layer.project.weight.data = torch.cat([w.T for w in W]).double()
    x = torch.tensor([[[1.0, 2], [3, 4], [5, 6], [7, 8]]]).double()
    query, key, value = (t.detach()[0, 0] for t in layer.heads(x))
    yield equal("keys", key, [[1, 4], [3, 10], [5, 16], [7, 22]])
    yield equal("values", value, [[2.5, 0.5], [5.5, 0.5], [8.5, 0.5], [11.5, 0.5]])
    scores = query[3] @ key.T / math.sqrt(2)
    yield equal("scores", scores, [27.577, 71.418, 115.258, 159.099], 1e-3)
    weights = A.attention_weights(query[None, None], key[None, None], causal=True)[0, 0, 3]
    yield equal("weights", weights, scores.softmax(dim=0), 1e-12)


@claim("B156")
def cache_saves_a_power() -> Iterator[Evidence]:
    """To read n tokens one by one takes sum i^2 = n(n+1)(2n+1)/6 products without a cache and sum
    i = n(n+1)/2 with one (14 and 6 for n = 3); the memory is linear in length and batch.
    """
    for n in (3, 40):
        without = with_cache = 0
        for i in range(1, n + 1):
            x = torch.zeros(1, 1, i, 1)
            without += A.attention_weights(x, x).numel()
            with_cache += A.attention_weights(x[:, :, -1:], x).numel()
        yield equal(f"without, n = {n}", without, n * (n + 1) * (2 * n + 1) / 6)
        yield equal(f"with, n = {n}", with_cache, n * (n + 1) / 2)
    from panlearn.transformer._cache import Cache
    from panlearn.transformer._decoder import Decoder, GPTConfig

    decoder = Decoder(GPTConfig(2, 8, 2, 64, n_key_heads=1), 5)
    size = {(b, n): Cache(decoder, [0] * b, n).memory.numel() for b in (1, 2) for n in (10, 30)}
    yield equal("three times the length", size[1, 30] / size[1, 10], 3)
    yield equal("twice the batch", size[2, 10] / size[1, 10], 2)
    yield at_most("numbers kept a token", size[1, 10] / 10, 2 * 2 * 1 * 4)
