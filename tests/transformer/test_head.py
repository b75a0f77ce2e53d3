"""The loss of the last layer is cross-entropy, and so are its gradients."""

import pytest
import torch
import torch.nn.functional as F

from panlearn.transformer import _head
from panlearn.transformer._head import linear_cross_entropy


@pytest.fixture(autouse=True)
def _pieces(monkeypatch):
    monkeypatch.setattr(_head, "_BUFFER", 40)  # four rows of ten scores at once


def inputs(n=13, dtype=torch.float64, scale=1.0):
    g = torch.Generator().manual_seed(0)
    x = scale * torch.randn(n, 6, generator=g, dtype=dtype)
    weight = torch.randn(10, 6, generator=g, dtype=dtype)
    return x.requires_grad_(), weight.requires_grad_(), torch.randint(10, (n,), generator=g)


def plain(x, weight, targets):
    return F.cross_entropy(F.linear(x, weight), targets, reduction="none")


@pytest.mark.parametrize("reduce", [torch.sum, torch.mean, lambda v: (v * torch.arange(13)).sum()])
def test_losses_and_gradients_are_those_of_the_table_of_scores(reduce):
    x, weight, targets = inputs()
    found, wanted = linear_cross_entropy(x, weight, targets), plain(x, weight, targets)
    torch.testing.assert_close(found, wanted)
    pairs = zip(
        torch.autograd.grad(reduce(found), (x, weight)),
        torch.autograd.grad(reduce(wanted), (x, weight)),
        strict=True,
    )
    for ours, theirs in pairs:
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("told", [True, False], ids=["told", "not told"])
def test_weights_that_are_told_beforehand_give_the_same_gradient_at_once(told, monkeypatch):
    x, weight, targets = inputs()
    emphasis = torch.arange(13, dtype=torch.float64) % 3
    calls = []
    real = _head._work_out

    def count(*args, **more):
        calls.append(1)
        return real(*args, **more)

    monkeypatch.setattr(_head, "_work_out", count)
    losses = linear_cross_entropy(x, weight, targets, emphasis if told else None)
    found = torch.autograd.grad((losses * emphasis).sum() / emphasis.sum(), (x, weight))
    assert len(calls) == (1 if told else 2)
    wanted = plain(x, weight, targets)
    theirs = torch.autograd.grad((wanted * emphasis).sum() / emphasis.sum(), (x, weight))
    for ours, other in zip(found, theirs, strict=True):
        torch.testing.assert_close(ours, other)
    # and weights that turn out to be others are honoured
    losses = linear_cross_entropy(x, weight, targets, emphasis)
    other = torch.linspace(1, 2, 13, dtype=torch.float64)
    (ours,) = torch.autograd.grad((losses * other).sum(), (x,))
    (theirs,) = torch.autograd.grad((plain(x, weight, targets) * other).sum(), (x,))
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("emphasis", [None, torch.arange(5.0).double()])
def test_numerical_derivatives_agree(emphasis):
    x, weight, targets = inputs(5)

    def losses(x, weight):
        return linear_cross_entropy(x, weight, targets, emphasis)

    assert torch.autograd.gradcheck(losses, (x, weight))
    assert torch.autograd.gradgradcheck(losses, (x, weight))


def test_large_scores_do_not_overflow():
    x, weight, targets = inputs(scale=1e4)
    torch.testing.assert_close(
        linear_cross_entropy(x, weight, targets), plain(x, weight, targets), rtol=1e-12, atol=0
    )


def test_without_a_gradient_the_losses_are_the_same():
    x, weight, targets = inputs()
    with torch.inference_mode():
        alone = linear_cross_entropy(x, weight, targets)
    assert torch.equal(alone, linear_cross_entropy(x, weight, targets))


def test_half_precision_goes_the_plain_way():
    x, weight, targets = inputs(dtype=torch.bfloat16)
    scores = (x @ weight.T).float()  # the sum over the vocabulary is of single precision
    expected = torch.nn.functional.cross_entropy(scores, targets, reduction="none")
    assert torch.equal(linear_cross_entropy(x, weight, targets), expected)
    with torch.autocast("cpu", torch.bfloat16):
        x, weight, targets = inputs(dtype=torch.float32)
        assert torch.equal(linear_cross_entropy(x, weight, targets), plain(x, weight, targets))


def test_no_rows():
    x, weight, targets = inputs(0)
    linear_cross_entropy(x, weight, targets).sum().backward()
    assert x.grad.shape == (0, 6)
    assert not weight.grad.any()


def test_a_target_out_of_range_is_an_error():
    x, weight, targets = inputs()
    with pytest.raises((IndexError, RuntimeError), match="out of bounds"):
        linear_cross_entropy(x, weight, targets + 10)
