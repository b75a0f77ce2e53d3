"""Convolutional networks on digits against skorch: the same layers, epochs and optimiser."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from skorch import NeuralNetClassifier

from benchmarks.harness import Workload
from panlearn.neural import Augmentation, ConvNetClassifier
from panlearn.neural.layers import Conv, Dropout, Linear, Pool

SMALL = [Conv(16, 3), "relu", Pool(2), Conv(32, 3), "relu", "flatten", Linear(64), "relu"]
LARGE = [
    *(Conv(32, 3), "relu", Conv(32, 3), "relu", Pool(2), Conv(64, 3), "relu"),
    *("flatten", Dropout(0.3), Linear(128), "relu"),
]
EPOCHS, RATE = 10, 2e-3


def digits():
    """Three quarters to learn from, pixels from 0 to 16."""
    X, y = load_digits(return_X_y=True)
    return train_test_split(X.reshape(-1, 8, 8), y, test_size=0.25, stratify=y, random_state=0)


def ours(data):
    X, _, y, _ = data
    options = {"max_epochs": EPOCHS, "batch_size": 64, "learning_rate": RATE, "random_state": 0}
    options |= {"schedule": "constant", "label_smoothing": 0}
    return ConvNetClassifier(SMALL, optimizer="adam", **options).fit(X, y)


def peer(data):
    X, _, y, _ = data
    module = torch.nn.Sequential(
        *(torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2)),
        *(torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten()),
        *(torch.nn.Linear(512, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)),
    )
    model = NeuralNetClassifier(
        module, criterion=torch.nn.CrossEntropyLoss, optimizer=torch.optim.Adam, lr=RATE,
        max_epochs=EPOCHS, batch_size=64, train_split=None, verbose=0, iterator_train__shuffle=True,
    )  # fmt: skip
    return model.fit(_images(X), y)


def _images(X):
    return ((X - 4.9) / 6.0)[:, None].astype(np.float32)


def best(data):
    X, _, y, _ = data
    return ConvNetClassifier(
        LARGE,
        augment=Augmentation(shift=1, rotate=8),
        max_epochs=25,
        learning_rate=RATE,
        schedule="cosine",
        weight_decay=0.01,
        random_state=0,
    ).fit(X, y)


def accuracy(data, model):
    _, new, _, answers = data
    shown = new if isinstance(model, ConvNetClassifier) else _images(new)
    return {"accuracy on new digits": float((model.predict(shown) == answers).mean())}


def workloads():
    yield Workload(
        f"digits, two convolutions, {EPOCHS} epochs",
        "neural.ConvNetClassifier",
        digits,
        {"panlearn": ours, "skorch": peer},
        accuracy,
    )
    yield Workload(
        "digits, three convolutions and augmentation, 25 epochs",
        "neural.ConvNetClassifier",
        digits,
        {"panlearn": best},
        accuracy,
    )
