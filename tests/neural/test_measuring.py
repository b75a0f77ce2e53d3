"""What a run must not do: measure with dropout, draw a mask twice, forget how long it waited."""

import numpy as np
import pytest
import torch
from torch import nn

from panlearn.neural import Hook, train
from panlearn.neural._random import seeded
from panlearn.neural._step import Dropout


def network(seed=0, dropout=0.0):
    with seeded(seed):
        layers = nn.Sequential(
            nn.Linear(3, 8), nn.Tanh(), nn.Dropout(dropout), nn.LayerNorm(8), nn.Linear(8, 2)
        )
    return layers.double()


def squares(module, batch):
    x, y = batch
    return ((module(x) - y) ** 2).sum(1)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(50, 3))
    return X, np.stack([X @ [1.0, -2.0, 0.5], np.sin(X[:, 0])], axis=1)


def weights(module):
    return np.concatenate([p.detach().numpy().ravel() for p in module.parameters()])


def trained(data, module=None, **settings):
    module = network() if module is None else module
    settings = {"max_epochs": 3, "batch_size": 16, "random_state": 1, **settings}
    return train(module, squares, data, **settings)


def test_validation_and_early_stopping_see_the_network_without_dropout(data):
    module, seen = network(dropout=0.5), []

    class Watch(Hook):
        def on_epoch(self, run):
            fresh = network()
            fresh.load_state_dict(run.module.state_dict())
            with torch.no_grad():
                loss = squares(fresh.eval(), tuple(map(torch.from_numpy, data))).mean()
            seen.append(loss.item())

    run = trained(data, module, validation=data, patience=3, max_epochs=6, hooks=[Watch()])
    np.testing.assert_allclose(run.history["validation_loss"], seen, rtol=1e-12)
    final = squares(module, tuple(map(torch.from_numpy, data))).mean().item()
    assert final == pytest.approx(min(seen), rel=1e-12)


@pytest.mark.parametrize("layer", [nn.Dropout(0.5), Dropout(0.5)], ids=["torch", "ours"])
def test_every_step_leaves_out_other_entries(layer):
    masks = []

    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(()))
            self.layer = layer

        def forward(self, x):
            masks.append(self.layer(torch.ones(8, 8)) > 0)
            return self.scale * x

    train(Masked(), lambda m, b: m(b[0]), (torch.ones(8, 1),), max_epochs=6, random_state=0)
    assert len({mask.numpy().tobytes() for mask in masks}) == 6
    again, masks = masks, []
    train(Masked(), lambda m, b: m(b[0]), (torch.ones(8, 1),), max_epochs=6, random_state=0)
    assert all(torch.equal(a, b) for a, b in zip(again, masks, strict=True))


def test_the_average_leaves_no_trace_in_what_learns(data):
    class Path(Hook):
        def __init__(self):
            self.weights = []

        def on_step(self, run):
            self.weights.append(weights(run.module))

    plain, averaged = Path(), Path()
    trained(data, hooks=[plain])
    trained(data, hooks=[averaged], ema_decay=0.9, validation=data, patience=99)
    np.testing.assert_array_equal(averaged.weights, plain.weights)


def test_patience_is_remembered_by_a_run_that_is_resumed(data, tmp_path):
    X, y = data
    shifted = (X[:20], y[:20] + 5)  # learning the first makes the second worse, sooner or later
    settings = dict(validation=shifted, patience=4, learning_rate=0.05, max_epochs=500)
    whole = trained(data, **settings)
    best = int(np.argmin(whole.history["validation_loss"]))
    module = network()
    for epochs in range(best + 1, whole.epoch + 1):  # a stop after each epoch that is no better
        module = network()
        run = trained(data, module, checkpoint=tmp_path, resume=True,
                      **{**settings, "max_epochs": epochs})  # fmt: skip
    assert run.epoch == whole.epoch
    assert run.stopped == "patience"
    np.testing.assert_array_equal(weights(module), weights(whole.module))
