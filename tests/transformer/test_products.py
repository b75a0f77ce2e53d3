"""Products of few rows with a matrix, in compiled loops that threads share."""

from concurrent.futures import Future

import numpy as np
import pytest
import torch

from panlearn.transformer import _jobs, _products


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_product_waits_for_no_thread_that_sleeps(dtype, monkeypatch, rng):
    """Helpers that never come leave all of it to the thread that asks."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    monkeypatch.setattr(_jobs, "n_threads", lambda: 3)
    product = _products.Products(dtype)
    monkeypatch.setattr(product._crew._pool, "submit", lambda *_: Future())
    weight, bias = torch.from_numpy(rng.normal(size=(301, 200))).to(dtype), torch.ones(301)
    x = rng.normal(size=(5, 200)).astype(np.float32)
    found = product(x, _products.Matrix(weight, bias))
    wanted = x.astype(float) @ weight.double().numpy().T + 1
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-4)  # sums of 200 in single precision


def test_products_of_rows_with_gaps_and_of_other_precisions_are_products():
    """They are read by their addresses, where a gap or a double would be other numbers."""
    wide = torch.randn(300, 400, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x = np.random.default_rng(0).normal(size=(3, 400))[:, ::2]
    weight, bias = wide[:, ::2], wide[:, 1]
    found = _products.Products()(x, _products.Matrix(weight, bias))
    np.testing.assert_allclose(found, x @ weight.numpy().T + bias.numpy(), atol=1e-4)
