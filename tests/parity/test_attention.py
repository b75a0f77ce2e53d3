"""Attention beside PyTorch's own."""

import pytest
import torch
import torch.nn.functional as F

from panlearn.transformer import attention as A


@pytest.mark.parametrize("causal", [False, True])
def test_multi_head_attention_is_that_of_pytorch(causal):
    theirs = torch.nn.MultiheadAttention(24, 3, batch_first=True).double()
    ours = A.MultiHeadAttention(24, 3).double()
    ours.project.weight.data, ours.project.bias.data = theirs.in_proj_weight, theirs.in_proj_bias
    ours.output.load_state_dict(theirs.out_proj.state_dict())
    random = torch.Generator().manual_seed(0)
    x, memory = (torch.randn(2, n, 24, generator=random, dtype=torch.float64) for n in (7, 5))
    forbidden = ~A.causal_mask(7) if causal else None
    found, weights = theirs(x, x, x, attn_mask=forbidden, average_attn_weights=False)
    torch.testing.assert_close(ours(x, causal=causal), found)
    query, key, _ = ours.heads(x)
    torch.testing.assert_close(A.attention_weights(query, key, causal=causal), weights)
    torch.testing.assert_close(ours(x, memory), theirs(x, memory, memory)[0])
    padding = A.padding_mask([5, 3], 5)
    expected = theirs(x, memory, memory, key_padding_mask=~padding[:, 0, 0])[0]
    torch.testing.assert_close(ours(x, memory, mask=padding), expected)


@pytest.mark.parametrize("n_key_heads", [1, 2, 4])
def test_groups_are_those_of_pytorch(n_key_heads):
    random = torch.Generator().manual_seed(1)
    query = torch.randn(2, 4, 6, 8, generator=random)
    key, value = torch.randn(2, 2, n_key_heads, 6, 8, generator=random)
    expected = F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
    torch.testing.assert_close(A.attention(query, key, value, causal=True), expected)
