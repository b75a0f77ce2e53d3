"""Attacks on networks: modules, panlearn's estimators, and what they must not touch."""

import numpy as np
import pytest
import torch

from panlearn.neural import ConvNetClassifier, MLPClassifier
from panlearn.neural._random import seeded
from panlearn.trust import attacks


@pytest.fixture
def net():
    with seeded(0):
        return torch.nn.Sequential(torch.nn.Linear(5, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))


def test_module(net, rng):
    X = rng.normal(size=(40, 5)).astype(np.float32)
    y = net(torch.from_numpy(X)).argmax(1).numpy()
    found = attacks.pgd(net, X, y, 0.5, bounds=None, steps=20, random_state=0)
    assert found.adversarial.dtype == np.float32
    again = net(torch.from_numpy(found.adversarial)).argmax(1).numpy()
    np.testing.assert_array_equal(found.success, again != y)
    assert found.success_rate > 0.6
    assert found.linf.max() <= 0.5 * (1 + 1e-6)
    assert all(p.grad is None for p in net.parameters())
    by_scores = attacks.fgsm(net, X, y, 0.1, bounds=None)
    x = torch.from_numpy(X).requires_grad_()
    torch.nn.functional.cross_entropy(net(x), torch.from_numpy(y), reduction="sum").backward()
    np.testing.assert_allclose(by_scores.adversarial, X + 0.1 * np.sign(x.grad.numpy()), atol=1e-6)


def test_one_output_and_many_batches(rng):
    with seeded(1):
        module = torch.nn.Linear(3, 1).double()
    X = rng.normal(size=(600, 3))  # more than two batches
    z = X @ module.weight.detach().numpy()[0] + module.bias.item()
    y = (z > 0).astype(int)
    found = attacks.fgsm(module, X, y, 0.2, bounds=None)
    step = 0.2 * np.sign(module.weight.detach().numpy()[0])
    np.testing.assert_allclose(found.adversarial, X - np.where(y, 1, -1)[:, None] * step)


@pytest.mark.parametrize("kind", ["mlp", "convnet"])
def test_estimators_have_exact_gradients(kind, rng):
    if kind == "mlp":
        X = rng.normal(3, 2, size=(80, 4))
        y = np.array(["no", "yes"])[(X[:, 0] > 3).astype(int)]
        model = MLPClassifier(8, max_epochs=20, random_state=0).fit(X, y)
    else:
        X = rng.random(size=(60, 6, 6)).astype(np.float32)
        y = (X[:, :3].mean(axis=(1, 2)) > 0.5).astype(int)
        model = ConvNetClassifier(max_epochs=3, random_state=0).fit(X, y)
    exact = attacks.l2_step(model, X[:8], y[:8], 0.1, bounds=None)
    asked = attacks.l2_step(
        model, X[:8], y[:8], 0.1, bounds=None, gradient="differences", difference=1e-2
    )
    moves = [(r.adversarial - X[:8]).reshape(8, -1) for r in (exact, asked)]
    cosine = (moves[0] * moves[1]).sum(axis=1) / 0.01
    assert np.median(cosine) > 0.98
    assert exact.queries == 16
    np.testing.assert_array_equal(exact.success, model.predict(exact.adversarial) != y[:8])
