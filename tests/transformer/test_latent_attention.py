import math

import pytest
import torch

from panlearn.transformer import GPTConfig, LatentAttention, LatentConfig, RotaryScaling
from panlearn.transformer._cache import Cache
from panlearn.transformer._decoder import Decoder
from panlearn.transformer.attention import rotary_positions

SHAPES = {
    "usual": LatentConfig(8, 12, 6, 4, 5),
    "halves": LatentConfig(8, 12, 6, 4, 6, adjacent=False),
    "queries of tokens": LatentConfig(7, None, 3, 2, 4),
}


@pytest.fixture(params=SHAPES.values(), ids=SHAPES)
def layer(request):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        made = LatentAttention(16, 3, request.param, sharpness=1.3)
        for parameter in made.parameters():
            parameter.data.normal_(std=0.5)
    return made


def inputs(n=9):
    return torch.randn(2, n, 16, generator=torch.Generator().manual_seed(1))


def turn(vector, place, config):
    """Rotate pairs one by one, by hand."""
    width, made = len(vector), vector.clone()
    for i in range(width // 2):
        a, b = (2 * i, 2 * i + 1) if config.adjacent else (i, i + width // 2)
        angle = place * 10000.0 ** (-2 * i / width)
        made[a] = vector[a] * math.cos(angle) - vector[b] * math.sin(angle)
        made[b] = vector[a] * math.sin(angle) + vector[b] * math.cos(angle)
    return made


def by_hand(layer, x):
    """One head, one query, one key at a time, from the formula."""
    config, rows = layer.config, []
    d, r, v = config.head_width, config.rotary_width, config.value_width
    for tokens in x:
        packed = tokens @ layer.compress.weight.T
        latent = packed[:, : config.rank]
        latent = latent / (latent.square().mean(1, keepdim=True) + 1e-6).sqrt() * layer.norm.weight
        keys = [turn(key, t, config) for t, key in enumerate(packed[:, config.rank :])]
        out = []
        for t in range(len(tokens)):
            query, heads = layer.query(tokens[t]).view(layer.n_heads, d + r), []
            for h in range(layer.n_heads):
                matrix = layer.expand.weight[h * (d + v) : (h + 1) * (d + v)]
                turned = turn(query[h, d:], t, config)
                scores = torch.stack(
                    [
                        query[h, :d] @ (matrix[:d] @ latent[j]) + turned @ keys[j]
                        for j in range(t + 1)
                    ]
                )
                weights = (layer.sharpness * scores / math.sqrt(d + r)).softmax(0)
                heads.append(sum(w * matrix[d:] @ latent[j] for j, w in enumerate(weights)))
            out.append(layer.output(torch.cat(heads)))
        rows.append(torch.stack(out))
    return torch.stack(rows)


@pytest.mark.parametrize("absorbed", [False, True], ids=["explicit", "absorbed"])
def test_both_forms_are_the_formula(layer, absorbed):
    layer, x = layer.double(), inputs().double()
    turned = rotary_positions(torch.arange(9), layer.config.rotary_width).double()
    found = layer(x, causal=True, rotation=turned, absorbed=absorbed)
    # cosines are kept in single precision
    torch.testing.assert_close(found, by_hand(layer, x), rtol=0, atol=1e-5)


def test_the_two_forms_agree(layer):
    x = inputs()
    rotation = rotary_positions(torch.arange(9), layer.config.rotary_width)
    explicit, absorbed = (
        layer(x, causal=True, rotation=rotation, absorbed=form) for form in (False, True)
    )
    torch.testing.assert_close(explicit, absorbed, rtol=0, atol=1e-5 * explicit.abs().max().item())
    precise = [
        layer.double()(x.double(), causal=True, rotation=rotation, absorbed=form)
        for form in (False, True)
    ]
    torch.testing.assert_close(*precise, rtol=0, atol=1e-12)
    weights = layer.weights(x.double(), rotation=rotation)
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))


def test_what_is_kept_has_the_bytes_of_the_formula():
    config = GPTConfig.deepseek(
        n_layers=3, width=32, n_heads=4, context=16, latent=LatentConfig(8, 12, 6, 4, 5)
    )
    decoder = Decoder(config, 11)
    cache = Cache(decoder, [0, 0], 10)
    assert cache.memory.nbytes == 3 * 2 * 10 * (8 + 4) * 4
    usual = Decoder(GPTConfig.llama(n_layers=3, width=32, n_heads=4, context=16), 11)
    assert Cache(usual, [0, 0], 10).memory.nbytes == 3 * 2 * 10 * (2 * 4 * 8) * 4


def test_one_key_is_shared_by_all_heads(layer):
    x = inputs()
    rotation = rotary_positions(torch.arange(9), layer.config.rotary_width)
    query, key, value = layer.explain(*layer.latents(x, rotation))
    config = layer.config
    assert query.shape == key.shape == (2, 3, 9, config.head_width + config.rotary_width)
    assert value.shape == (2, 3, 9, config.value_width)
    shared = key[..., config.head_width :]
    assert torch.equal(shared, shared[:, :1].expand_as(shared))
    own = query[..., config.head_width :]
    assert not torch.allclose(own[:, 0], own[:, 1])


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"latent": LatentConfig(), "positions": "learned"}, "latent"),
        ({"latent": LatentConfig(), "positions": "rotary", "window": 4}, "window"),
    ],
)
def test_what_does_not_go_together(wrong, named):
    with pytest.raises(ValueError, match=named):
        GPTConfig(**wrong)
    with pytest.raises(ValueError, match="rotary_width"):
        LatentConfig(rotary_width=3)
    with pytest.raises(ValueError, match="high"):
        RotaryScaling(low=4.0, high=1.0)
