import math

import pytest
import torch

from panlearn.transformer import attention as A


@pytest.fixture
def torch_rng():
    return torch.Generator().manual_seed(20261116)


def tensors(torch_rng, *shapes, dtype=torch.float64):
    return [torch.randn(shape, generator=torch_rng, dtype=dtype) for shape in shapes]


def by_hand(query, key, value, allowed):
    """One query at a time, from the formula."""
    out = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
    group = query.shape[1] // key.shape[1]
    for b in range(query.shape[0]):
        for h in range(query.shape[1]):
            for i in range(query.shape[2]):
                seen = allowed[b, i].nonzero()[:, 0]
                if len(seen):
                    q, k = query[b, h, i], key[b, h // group, seen]
                    weights = ((k @ q) / math.sqrt(len(q))).softmax(0)
                    out[b, h, i] = weights @ value[b, h // group, seen]
    return out


@pytest.mark.parametrize("n_key_heads", [1, 2, 4])
@pytest.mark.parametrize(("n", "m"), [(5, 5), (3, 5), (1, 5), (1, 1)])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_attention_is_the_formula(torch_rng, n_key_heads, n, m, causal, padded):
    query, key, value = tensors(
        torch_rng, (2, 4, n, 6), (2, n_key_heads, m, 6), (2, n_key_heads, m, 3)
    )
    allowed = torch.ones(2, n, m, dtype=torch.bool)
    if causal:
        allowed &= torch.tensor([[j <= i + m - n for j in range(m)] for i in range(n)])
    mask = A.padding_mask([m, 0], m) if padded else None
    if padded:
        allowed[1] = False  # a query that may look at nothing gives zeros
    expected = by_hand(query, key, value, allowed)
    found = A.attention(query, key, value, mask=mask, causal=causal)
    torch.testing.assert_close(found, expected)
    weights = A.attention_weights(query, key, mask=mask, causal=causal)
    shared = value.repeat_interleave(4 // n_key_heads, dim=1)
    torch.testing.assert_close(weights @ shared, expected)
    assert not weights[:, :, ~allowed[0]][0].any()


def test_masks():
    assert A.causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True] * 3]
    assert A.padding_mask([1, 3], 3)[:, 0, 0].tolist() == [[True, False, False], [True] * 3]
    assert A.padding_mask([1], 3, left=True)[0, 0, 0].tolist() == [False, False, True]
    for lengths in ([4], [-1]):
        with pytest.raises(ValueError, match="lengths"):
            A.padding_mask(lengths, 3)


def test_later_tokens_change_nothing_before_them(torch_rng):
    layer = A.MultiHeadAttention(8, 4, n_key_heads=2).double()
    (x,) = tensors(torch_rng, (1, 6, 8))
    changed = x.clone()
    changed[:, 4:] += 100
    before, after = layer(x, causal=True), layer(changed, causal=True)
    assert torch.equal(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])
    gradient = torch.autograd.functional.jacobian(lambda x: layer(x, causal=True)[0, 2], x)
    assert not gradient[:, 0, 3:].any()
    assert gradient[:, 0, :3].abs().amax(dim=(0, 2)).min() > 0


def test_cross_attention_reads_the_memory_alone(torch_rng):
    layer = A.MultiHeadAttention(8, 2, n_key_heads=1, head_width=6).double()
    x, memory = tensors(torch_rng, (2, 3, 8), (2, 5, 8))
    query, key, value = layer.heads(x, memory)
    expected = layer.output(A.attention(query, key, value).transpose(1, 2).flatten(2))
    torch.testing.assert_close(layer(x, memory), expected)
    torch.testing.assert_close(layer(x, x), layer(x))
    mask = A.padding_mask([5, 2], 5)
    short = layer(x[1:], memory[1:, :2])
    torch.testing.assert_close(layer(x, memory, mask=mask)[1:], short)


@pytest.mark.parametrize("adjacent", [False, True])
def test_rotation_keeps_lengths_and_sees_distances_alone(torch_rng, adjacent):
    query, key = tensors(torch_rng, (8,), (8,))

    def turned(x, place):
        angles = A.rotary_positions(torch.tensor([place]), 8).double()
        return A.rotate(x[None], angles, adjacent=adjacent)[0]

    # single precision of the table
    torch.testing.assert_close(turned(query, 7).norm(), query.norm(), rtol=1e-6, atol=0)
    one, other = turned(query, 3) @ turned(key, 8), turned(query, 10) @ turned(key, 15)
    torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
    assert torch.equal(turned(query, 0), query)


def test_the_two_ways_to_pair_differ_by_a_permutation(torch_rng):
    (x,) = tensors(torch_rng, (5, 8))
    angles = A.rotary_positions(torch.arange(5), 8)
    pairs = torch.arange(8).view(2, 4).t().flatten()  # 0 4 1 5 ...
    apart = A.rotate(x, angles)
    torch.testing.assert_close(apart[:, pairs], A.rotate(x[:, pairs], angles, adjacent=True))


def test_sinusoids():
    table = A.sinusoidal_positions(50, 6)
    for t in (0, 1, 49):
        for i in range(3):
            angle = t / 10_000 ** (2 * i / 6)
            assert table[t, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-7)
            assert table[t, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-7)


def test_what_does_not_fit_is_named():
    with pytest.raises(ValueError, match="not a multiple"):
        A.MultiHeadAttention(10, 4)
    with pytest.raises(ValueError, match="does not divide"):
        A.MultiHeadAttention(8, 4, n_key_heads=3)
    with pytest.raises(ValueError, match="evenly"):
        A.attention(*(torch.zeros(1, heads, 2, 4) for heads in (3, 2, 2)))
    with pytest.raises(ValueError, match="even width"):
        A.sinusoidal_positions(3, 5)


def test_dropout_is_for_training_alone(torch_rng):
    layer = A.MultiHeadAttention(8, 2, dropout=0.9)
    (x,) = tensors(torch_rng, (1, 6, 8), dtype=torch.float32)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))
