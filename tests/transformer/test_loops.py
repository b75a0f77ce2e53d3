import numpy as np
import pytest
import torch

from panlearn.core.jit import jit
from panlearn.transformer import _halves, _loops


@jit
def exponentials(values, made):
    for k in range(len(values)):
        made[k] = _loops.exponential(values[k])


@jit
def columns(x, weight, bias, made, low, high):
    _loops.multiply(x, weight, bias, made, low, high)


@jit
def store(values, bits):
    for k in range(len(values)):
        bits[k] = _halves.stored(values[k], bits[k])


def test_exponentials_are_those_of_double_precision():
    values = np.concatenate([np.linspace(-87, 88, 5001), [0, -0.0, 1e-30]]).astype(np.float32)
    made = np.empty_like(values)
    exponentials(values, made)
    np.testing.assert_allclose(made, np.exp(values.astype(float)), rtol=2**-23)


def test_exponentials_beyond_single_precision_are_its_ends():
    values, made = np.array([-np.inf, -1e30, -88, 1e30, np.inf], dtype=np.float32), np.empty(5)
    exponentials(values, made)
    np.testing.assert_allclose(made, [0, 0, 0, np.exp(88), np.exp(88)], rtol=1e-6)


@pytest.mark.parametrize("n_rows", [1, 3, 4, 9])
@pytest.mark.parametrize("halves", [False, True])
def test_columns_of_a_product_in_parts_of_any_size(n_rows, halves, rng):
    """Tiles, what is left beside them, and blocks that are not full."""
    x = rng.normal(size=(n_rows, 21)).astype(np.float32)
    weight = rng.normal(size=(41, 21)).astype(np.float32)
    bits = (weight.view(np.uint32) >> 16).astype(np.uint16)
    weight = (bits.astype(np.uint32) << 16).view(np.float32) if halves else weight
    bias = rng.normal(size=41).astype(np.float32)
    made = np.full((n_rows, 41), np.nan, dtype=np.float32)
    for low, high in [(0, 3), (3, 9), (9, 10)]:  # of each of four quarters
        columns(x, bits if halves else weight, bias, made, low, high)
    np.testing.assert_allclose(made, x @ weight.T + bias, atol=1e-5)


def test_halves_are_rounded_as_pytorch_rounds(rng):
    values = np.concatenate([rng.normal(size=1000), [0, 1 + 2**-8, 1 + 3 * 2**-8, 1e38, -np.inf]])
    values = values.astype(np.float32)
    bits, kept = np.empty(len(values), np.uint16), np.empty_like(values)
    store(values, bits)
    expected = torch.from_numpy(values).bfloat16().view(torch.uint16).numpy()
    np.testing.assert_array_equal(bits, expected)
    store(values, kept)  # others stand as they are
    np.testing.assert_array_equal(kept, values)
