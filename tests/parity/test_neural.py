"""The same network and the same steps as scikit-learn, skorch and PyTorch."""

import warnings

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier as TheirClassifier
from sklearn.neural_network import MLPRegressor as TheirRegressor

torch = pytest.importorskip("torch")

from panlearn.neural import MLPClassifier, MLPRegressor, train  # noqa: E402
from panlearn.neural._layers import MLP  # noqa: E402
from panlearn.neural._objectives import logistic_loss, softmax_loss  # noqa: E402
from panlearn.neural._random import seeded  # noqa: E402

ACTIVATIONS = ("identity", "logistic", "tanh", "relu")


def copied(theirs, model):
    """Our model with scikit-learn's weights."""
    values = [a for pair in zip(theirs.coefs_, theirs.intercepts_, strict=True) for a in pair]
    shaped = [v.T.copy() if v.ndim == 2 else v for v in values]
    model.weights_ = dict(zip(model.weights_, shaped, strict=True))
    return model


def quietly(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("k", [2, 4])
def test_scikit_learns_weights_give_its_probabilities(rng, activation, k):
    X = rng.normal(size=(60, 3))
    y = np.argsort(np.argsort(X[:, 0])) * k // 60
    theirs = quietly(TheirClassifier((6, 5), activation, max_iter=20, random_state=0), X, y)
    ours = MLPClassifier((6, 5), activation, standardize=False, max_epochs=1).fit(X, y)
    ours = copied(theirs, ours)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_scikit_learns_weights_give_its_predictions(rng, activation):
    X = rng.normal(size=(60, 3))
    Y = np.c_[X[:, 0], X[:, 1] ** 2]
    theirs = quietly(
        TheirRegressor(hidden_layer_sizes=(7,), activation=activation, max_iter=20, random_state=0),
        X,
        Y,
    )
    ours = MLPRegressor(7, activation, standardize=False, max_epochs=1).fit(X, Y)
    ours.target_mean_, ours.target_scale_ = np.zeros(2), np.ones(2)
    np.testing.assert_allclose(copied(theirs, ours).predict(X), theirs.predict(X), atol=1e-12)


def test_skorch_takes_the_same_steps(rng):
    skorch = pytest.importorskip("skorch")
    X = rng.normal(size=(40, 3)).astype(np.float32)
    y = (X[:, 0] > 0).astype(np.int64)
    with seeded(0):
        module = MLP((3, 8, 2))
    start = {k: v.clone() for k, v in module.state_dict().items()}
    net = skorch.NeuralNetClassifier(
        lambda: module,
        criterion=torch.nn.CrossEntropyLoss,
        optimizer=torch.optim.SGD,
        lr=0.1,
        batch_size=8,
        max_epochs=3,
        train_split=None,
        verbose=0,
    ).fit(X, y)
    twin = MLP((3, 8, 2))
    twin.load_state_dict(start)
    settings = dict(optimizer="sgd", learning_rate=0.1, batch_size=8, max_epochs=3, order="given")
    run = train(twin, softmax_loss(), (X, y), **settings)
    for ours, theirs in zip(twin.parameters(), module.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6)
    expected = [row["train_loss"] for row in net.history]
    np.testing.assert_allclose(run.history["loss"], expected, rtol=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_smoothed_losses_are_pytorchs(rng, smoothing):
    with seeded(0):
        module = MLP((3, 4, 5)).double()
    X, y = torch.tensor(rng.normal(size=(20, 3))), torch.tensor(rng.integers(5, size=20))
    theirs = torch.nn.CrossEntropyLoss(label_smoothing=smoothing)(module(X), y)
    torch.testing.assert_close(softmax_loss(smoothing)(module, (X, y)).mean(), theirs)
    labels = torch.tensor(rng.integers(2, size=(20, 5)).astype(float))
    soft = labels * (1 - smoothing) + smoothing / 2
    by_label = torch.nn.BCEWithLogitsLoss(reduction="none")(module(X), soft).sum(1)
    torch.testing.assert_close(logistic_loss(smoothing)(module, (X, labels)), by_label)
