"""The training loop against a loop by hand, and perceptrons against scikit-learn's and skorch's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier as TheirMLP
from torch import nn

from benchmarks.harness import Workload
from panlearn.neural import MLPClassifier, train
from panlearn.neural._random import seeded


def classes(n, d, k=10):
    """Rows whose class is the largest of k random projections."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    return X, (X @ rng.normal(size=(d, k)).astype(np.float32)).argmax(1)


def network(*sizes):
    with seeded(0):
        layers = [m for a, b in zip(sizes, sizes[1:]) for m in (nn.Linear(a, b), nn.ReLU())]  # noqa: B905, RUF007
    return nn.Sequential(*layers[:-1])


def cross_entropy(module, batch):
    return nn.functional.cross_entropy(module(batch[0]), batch[1], reduction="none")


def by_the_loop(data, sizes, epochs):
    module = network(*sizes)
    train(module, cross_entropy, data, batch_size=128, max_epochs=epochs, random_state=0)
    return module


def by_hand(data, sizes, epochs, fused):
    """What a person writes; `fused` if they know the option."""
    module = network(*sizes)
    X, y = map(torch.from_numpy, data)
    step = torch.optim.AdamW(module.parameters(), lr=1e-3, weight_decay=0.0, fused=fused)
    for _ in range(epochs):
        for rows in torch.randperm(len(X)).split(128):
            step.zero_grad()
            loss = nn.functional.cross_entropy(module(X[rows]), y[rows])
            loss.backward()
            step.step()
            loss.item()
    return module


def training_accuracy(data, module):
    with torch.no_grad():
        found = module(torch.from_numpy(data[0])).argmax(1).numpy()
    return {"accuracy": np.mean(found == data[1])}


def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split((X / 16).astype(np.float32), y, random_state=0, stratify=y)


def ours(data):
    """Every contender has as few epochs as reach 97 percent of the test rows, in steps of five."""
    return MLPClassifier(max_epochs=10, random_state=0).fit(data[0], data[2])


def scikit_learn(data):
    """With its own learning rate, 0.001."""
    return TheirMLP(max_iter=60, n_iter_no_change=60, random_state=0).fit(data[0], data[2])


def scikit_learn_tuned(data):
    """With the learning rate of the others, 0.01."""
    settings = {"learning_rate_init": 0.01, "max_iter": 15, "n_iter_no_change": 15}
    return TheirMLP(**settings, random_state=0).fit(data[0], data[2])


def skorch(data):
    from skorch import NeuralNetClassifier

    net = NeuralNetClassifier(
        partial(network, 64, 100, 10),
        criterion=nn.CrossEntropyLoss,
        optimizer=torch.optim.AdamW,
        lr=0.01,
        batch_size=200,
        max_epochs=15,
        train_split=None,
        iterator_train__shuffle=True,
        verbose=0,
    )
    return net.fit(data[0], data[2])


def test_accuracy(data, model):
    return {"test accuracy": model.score(data[1], data[3])}


def workloads() -> Iterator[Workload]:
    for name, d, sizes, epochs in (
        ("small net, 20,000 rows, batches of 128", 32, (32, 64, 10), 3),
        ("net of 0.6e6 weights, 10,000 rows, batches of 128", 64, (64, 512, 512, 512, 10), 1),
    ):
        yield Workload(
            f"training loop: {name}",
            "train",
            partial(classes, 20_000 if epochs == 3 else 10_000, d),
            {
                "panlearn": partial(by_the_loop, sizes=sizes, epochs=epochs),
                "by hand": partial(by_hand, sizes=sizes, epochs=epochs, fused=False),
                "by hand, fused": partial(by_hand, sizes=sizes, epochs=epochs, fused=True),
            },
            training_accuracy,
            bar=0.95,
        )
    yield Workload(
        "MLP on digits to 97 percent",
        "MLPClassifier",
        digits,
        {
            "panlearn": ours,
            "scikit-learn": scikit_learn,
            "scikit-learn, tuned": scikit_learn_tuned,
            "skorch": skorch,
        },
        test_accuracy,
    )
