"""Convolutional and recurrent networks against skorch and against loops written in PyTorch."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch.nn import functional as F

from panlearn.neural import ConvNetClassifier, RecurrentClassifier
from panlearn.neural.layers import Conv, Linear, Pool

skorch = pytest.importorskip("skorch")


def _started(model, X, y, monkeypatch):
    """A fit, and the weights that it started from."""
    start = {}
    build = type(model)._initial

    def spy(self, rng):
        module = build(self, rng)
        start.update({k: v.clone() for k, v in module.state_dict().items()})
        return module

    monkeypatch.setattr(type(model), "_initial", spy)
    return model.fit(X, y), start


def test_a_convolutional_network_takes_the_steps_of_skorch(monkeypatch):
    X, y = load_digits(return_X_y=True)
    X, y = X[:200], y[:200]
    layers = [Conv(4, 3), "relu", Pool(2), "flatten", Linear(16), "tanh"]
    plain = {"batch_size": 200, "max_epochs": 8, "optimizer": "sgd", "learning_rate": 0.1}
    plain |= {"schedule": "constant", "label_smoothing": 0}
    model, start = _started(ConvNetClassifier(layers, random_state=0, **plain), X, y, monkeypatch)

    module = torch.nn.Sequential(
        *(torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2)),
        *(torch.nn.Flatten(), torch.nn.Linear(64, 16), torch.nn.Tanh(), torch.nn.Linear(16, 10)),
    )
    module.load_state_dict(
        {k.replace("head", "6"): v for k, v in start.items()}
    )  # names are places
    peer = skorch.NeuralNetClassifier(
        module, criterion=torch.nn.CrossEntropyLoss, optimizer=torch.optim.SGD, lr=0.1,
        max_epochs=8, batch_size=200, train_split=None, verbose=0,
    )  # fmt: skip
    scaled = ((X - X.mean()) / X.std()).reshape(-1, 1, 8, 8).astype(np.float32)
    peer.fit(scaled, y)
    # the same steps on rows in another order, in float32
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(scaled), atol=1e-4)
    np.testing.assert_allclose(
        model.history_["loss"], [row["train_loss"] for row in peer.history], rtol=1e-4
    )


@pytest.mark.parametrize("cell", ["elman", "lstm", "gru"])
def test_a_recurrent_network_takes_the_steps_of_a_packed_loop(cell, monkeypatch, rng):
    X = [rng.normal(size=(rng.integers(1, 9), 3)) for _ in range(40)]
    y = [int(x.sum() > 0) for x in X]
    plain = {"batch_size": 40, "max_epochs": 10, "optimizer": "sgd", "learning_rate": 0.2}
    network = RecurrentClassifier(6, cell=cell, clip_norm=None, random_state=0, **plain)
    model, start = _started(network, X, y, monkeypatch)

    peer = {"elman": torch.nn.RNN, "lstm": torch.nn.LSTM, "gru": torch.nn.GRU}[cell](3, 6)
    head = torch.nn.Linear(6, 2)
    peer.load_state_dict({k[9:]: v for k, v in start.items() if k.startswith("layers.0")})
    head.load_state_dict({k[5:]: v for k, v in start.items() if k.startswith("head")})
    steps = [torch.tensor((x - model.mean_) / model.scale_, dtype=torch.float32) for x in X]
    packed = torch.nn.utils.rnn.pack_sequence(steps, enforce_sorted=False)
    optimizer = torch.optim.SGD([*peer.parameters(), *head.parameters()], lr=0.2)

    def scores():
        last = peer(packed)[1]
        return head((last[0] if isinstance(last, tuple) else last)[0])

    losses = []
    for _ in range(10):
        loss = F.cross_entropy(scores(), torch.tensor(y))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    np.testing.assert_allclose(model.history_["loss"], losses, rtol=1e-4)
    expected = scores().softmax(dim=1).detach()
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-4)
