"""Layers: their shapes are PyTorch's, their words are checked, their errors say where."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from panlearn.neural.layers import Conv, Dropout, Linear, Pool, Residual, network, shapes, stack


@pytest.mark.parametrize(
    "layer",
    [
        Conv(4, 3),
        Conv(2, (3, 5), stride=(2, 1), padding=(0, 2)),
        Conv(3, 4, stride=3, padding=2),
        Pool(2),
        Pool((3, 2), stride=1, padding=1, kind="mean"),
        Residual(3),
        Residual(5, stride=2),
        Dropout(0.5),
        *("relu", "tanh", "sigmoid", "gelu", "batch_norm", "flatten", "global_pool"),
    ],
    ids=str,
)
def test_the_shape_is_that_of_what_the_module_gives(layer):
    for image in ((3, 9, 12), (1, 8, 8), (2, 5, 31)):
        module = stack([layer], image, 7)
        inner = module[0](torch.zeros(2, *image))
        assert [tuple(inner.shape[1:])] == shapes([layer], image)
        assert module(torch.zeros(2, *image)).shape == (2, 7)


@pytest.mark.parametrize(
    ("name", "image", "parameters"),
    # LeNet with dense connections between its maps: 156 + 2416 + 48120 + 10164 + 850; the residual
    # network of 18 layers has a bias more in its first convolution than the published one
    [("lenet", (1, 32, 32), 61_706), ("resnet", (3, 224, 224), 11_689_512 - 513_000 + 5130 + 64)],
)
def test_networks_have_their_published_sizes(name, image, parameters):
    module = stack(network(name), image, 10)
    assert sum(p.numel() for p in module.parameters()) == parameters


def test_the_residual_block_adds_its_input():
    block = Residual(3).build((3, 6, 6)).eval()
    with torch.no_grad():
        block.second_norm.weight.zero_()
        x = torch.rand(2, 3, 6, 6)
        torch.testing.assert_close(block(x), x)  # F is zero and x is positive


def test_convolution_is_the_sum_that_the_docstring_writes(rng):
    x, layer = rng.normal(size=(2, 7, 6)), Conv(3, (3, 2), stride=2, padding=1)
    module = layer.build((2, 7, 6)).double()
    w, b = (p.detach().numpy() for p in (module.weight, module.bias))
    padded = np.pad(x, [(0, 0), (1, 1), (1, 1)])
    expected = np.empty(layer.shape((2, 7, 6)))
    for m, i, j in np.ndindex(*expected.shape):
        window = padded[:, 2 * i : 2 * i + 3, 2 * j : 2 * j + 2]
        expected[m, i, j] = b[m] + (w[m] * window).sum()
    found = module(torch.as_tensor(x)[None])[0].detach().numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    direct = F.conv2d(torch.as_tensor(x)[None], module.weight, module.bias, stride=2, padding=1)
    np.testing.assert_array_equal(found, direct[0].detach().numpy())


def test_gradients_of_a_stack_are_finite_differences(rng):
    layers = [Conv(2, 3), "tanh", Pool(2, kind="mean"), Residual(3), "flatten", Linear(4), "gelu"]
    module = stack(layers, (1, 6, 6), 2).double().eval()
    x = torch.as_tensor(rng.normal(size=(2, 1, 6, 6)))
    names, values = zip(*module.named_parameters(), strict=True)

    def output(*weights):
        return torch.func.functional_call(module, dict(zip(names, weights, strict=True)), x)

    assert torch.autograd.gradcheck(output, values, fast_mode=True)


@pytest.mark.parametrize(
    ("layers", "says"),
    [
        ([Conv(2, 3), "rleu"], r"layers\[1\] = 'rleu'|layers\[1\], 'rleu'"),
        ([("conv", 3)], "a layer is one of"),
        ([Pool(2), Pool(2), Pool(2), Pool(2)], "smaller than the window of 2 x 2"),
        ([Linear(3)], "flatten"),
        (["flatten", Conv(2, 3)], "takes maps"),
    ],
)
def test_a_stack_that_does_not_fit_says_where(layers, says):
    with pytest.raises(ValueError, match=says):
        shapes(layers, (1, 8, 8))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Conv(0, 3),
        lambda: Conv(2.5, 3),
        lambda: Conv(2, (3, 3, 3)),
        lambda: Conv(2, 3, padding=-1),
        lambda: Conv(2, 3, stride=0),
        lambda: Pool(2, kind="median"),
        lambda: Pool(2, padding=2),
        lambda: Linear(True),
        lambda: Dropout(1.0),
        lambda: network("vgg"),
    ],
)
def test_numbers_that_make_no_layer_are_refused(make):
    with pytest.raises(ValueError, match=r"must|most|called"):
        make()
