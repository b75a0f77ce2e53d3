"""Attention in blocks is attention, and so are its gradients."""

import pytest
import torch
import torch.nn.functional as F

from panlearn.transformer import _causal
from panlearn.transformer._causal import causal_attention
from panlearn.transformer.attention import attention


def inputs(*lead, n=7, width=3, of_values=5, dtype=torch.float64):
    g = torch.Generator().manual_seed(0)
    sizes = (width, width, of_values)
    return tuple(torch.randn(*lead, n, size, generator=g, dtype=dtype) for size in sizes)


@pytest.mark.parametrize("n", [2, 63, 64, 65, 200])
@pytest.mark.parametrize("lead", [(2,), (2, 3)])
def test_blocks_give_what_the_fused_kernel_gives(n, lead):
    tensors = [t.requires_grad_() for t in inputs(*lead, n=n, of_values=3)]
    outer = torch.randn(*lead, n, 3, generator=torch.Generator().manual_seed(1)).double()
    found = attention(*tensors, causal=True)
    wanted = F.scaled_dot_product_attention(*tensors, is_causal=True)
    assert "Causal" in str(found.grad_fn.next_functions)
    torch.testing.assert_close(found, wanted)
    gradients = (torch.autograd.grad(mean, tensors, outer) for mean in (found, wanted))
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_numerical_derivatives_agree(monkeypatch):
    monkeypatch.setattr(_causal, "_BLOCK", 3)
    tensors = [t.requires_grad_() for t in inputs(2, n=7)]
    assert torch.autograd.gradcheck(causal_attention, tensors)
    assert torch.autograd.gradgradcheck(causal_attention, tensors)


def test_gradients_of_each_sample(monkeypatch):
    monkeypatch.setattr(_causal, "_BLOCK", 3)
    tensors = inputs(4, 2)
    gradient = torch.func.grad(lambda *t: attention(*t, causal=True).square().sum())
    each = torch.func.vmap(gradient)(*tensors)
    alone = torch.stack([gradient(*(t[i] for t in tensors)) for i in range(4)])
    torch.testing.assert_close(each, alone)


def test_who_goes_by_the_fused_kernel():
    query, key, _ = inputs(2, n=600)
    assert not _causal.suits(query, key)  # too long
    query, key, _ = inputs(2)
    assert _causal.suits(query, key)
    assert not _causal.suits(query[:, 1:], key)
    assert not _causal.suits(query.bfloat16(), key.bfloat16())
    with torch.no_grad():
        assert not _causal.suits(query, key)
