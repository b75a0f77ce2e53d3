"""Multilayer perceptrons: the network they compute, and how they are trained."""

import itertools

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from torch import nn

import panlearn
from panlearn.neural import MLPClassifier, MLPRegressor
from panlearn.neural._layers import MLP, initialize
from panlearn.neural._perceptrons import moments, sparse_moments
from panlearn.neural._random import seeded

PHI = {
    "identity": lambda z: z,
    "logistic": lambda z: 1 / (1 + np.exp(-z)),
    "tanh": np.tanh,
    "relu": lambda z: np.maximum(z, 0),
    "leaky_relu": lambda z: np.where(z > 0, z, 0.01 * z),
    "elu": lambda z: np.where(z > 0, z, np.expm1(z)),
    "softplus": lambda z: np.log1p(np.exp(z)),
    "silu": lambda z: z / (1 + np.exp(-z)),
}


@pytest.fixture
def rows(rng):
    X = 3 * rng.normal(size=(80, 3)) + 5
    return X, X[:, 0] * X[:, 1] - X[:, 2]


@pytest.mark.parametrize("activation", PHI)
def test_the_forward_pass_is_the_formula(rows, activation):
    X, y = rows
    model = MLPRegressor((7, 5), activation, max_epochs=2, random_state=0).fit(X, y)
    v = (X - X.mean(0)) / X.std(0)
    *hidden, (last, bias) = zip(model.coefs_, model.intercepts_, strict=True)
    for W, b in hidden:
        v = PHI[activation](v @ W + b)
    expected = (v @ last + bias)[:, 0] * y.std() + y.mean()
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-10)


def test_xor_with_the_weights_of_the_texts():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    model = MLPRegressor(2, standardize=False, max_epochs=1, random_state=0)
    model.fit(X, [-1.0, 1.0, 1.0, -1.0])
    names = list(model.weights_)
    model.weights_ = dict(
        zip(
            names,
            [np.ones((2, 2)), np.array([0.0, -1.0]), np.array([[2.0, -4.0]]), np.array([-1.0])],
            strict=True,
        )
    )
    np.testing.assert_array_equal(model.predict(X), [-1, 1, 1, -1])
    assert sum(w.size for w in model.weights_.values()) == 9


def test_xor_is_learned():
    X, y = [[0, 0], [1, 0], [0, 1], [1, 1]], ["no", "yes", "yes", "no"]
    model = MLPClassifier(16, max_epochs=200, random_state=0).fit(X, y)
    assert model.predict(X).tolist() == y


def test_probabilities_of_two_and_of_more_classes(rng):
    X = rng.normal(size=(90, 2))
    for k in (2, 3):
        y = np.array(["a", "b", "c"])[np.argsort(np.argsort(X[:, 0])) * k // 90]
        model = MLPClassifier(random_state=0).fit(X, y)
        p = model.predict_proba(X)
        assert p.shape == (90, k)
        np.testing.assert_allclose(p.sum(1), 1, rtol=1e-12)
        assert (model.classes_[p.argmax(1)] == model.predict(X)).all()
        assert model.score(X, y) > 0.95
        assert model.n_outputs_ == (1 if k == 2 else 3)


def test_several_labels_a_row(rng):
    X = rng.normal(size=(120, 2))
    Y = (X > 0).astype(int)
    model = MLPClassifier(max_epochs=100, random_state=0).fit(X, Y)
    assert model.predict(X).shape == (120, 2)
    assert accuracy_score(Y, model.predict(X)) > 0.9
    np.testing.assert_array_equal(model.predict(X), (model.predict_proba(X) > 0.5).astype(int))
    with pytest.raises(ValueError, match="indicator matrix in one call"):
        model.partial_fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="zeros and ones"):
        MLPClassifier().fit(X, Y + np.arange(2))


def test_several_targets(rng):
    X = rng.normal(size=(100, 2))
    Y = np.c_[X.sum(1), 1e4 * X[:, 0] + 1e6]
    model = MLPRegressor(max_epochs=100, random_state=0).fit(X, Y)
    assert model.predict(X).shape == (100, 2)
    assert model.score(X, Y) > 0.98  # whatever their units
    column = MLPRegressor(random_state=0).fit(X, Y[:, :1])
    assert column.predict(X).shape == (100, 1)


@pytest.mark.parametrize("normalization", [None, "batch", "layer", "rms"])
@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_norms_and_dropout_learn_and_predict_alone(rows, normalization, dropout):
    X, y = rows
    model = MLPRegressor(
        (20, 20), normalization=normalization, dropout=dropout, max_epochs=60, random_state=0
    ).fit(X, y)
    assert model.score(X, y) > 0.7
    # in evaluation a row does not depend on its companions, nor on chance
    together = model.predict(X)
    alone = np.concatenate([model.predict(x[None]) for x in X[:5]])
    np.testing.assert_allclose(alone, together[:5], rtol=1e-9)


def test_batch_norm_meets_no_batch_of_one_row(rows):
    X, y = rows
    MLPRegressor(4, normalization="batch", batch_size=79, max_epochs=2).fit(X, y)
    with pytest.raises(ValueError, match="two rows"):
        MLPRegressor(4, normalization="batch").fit(X[:1], y[:1])


@pytest.mark.parametrize("k", [2, 3])
def test_smoothing_keeps_probabilities_from_the_ends(rng, k):
    y = np.repeat(np.arange(k), 20)
    X = rng.normal(size=(20 * k, 2)) + 8 * np.c_[y == 0, y == 1]
    model = MLPClassifier(label_smoothing=0.2, max_epochs=150, random_state=0).fit(X, y)
    hard = MLPClassifier(max_epochs=150, random_state=0).fit(X, y)
    assert hard.predict_proba(X).max(1).mean() > 0.99
    # the best that can be predicted is the smoothed label, 1 - e + e / K
    assert model.predict_proba(X).max(1).mean() == pytest.approx(0.8 + 0.2 / k, abs=0.03)


@pytest.mark.parametrize(
    ("scheme", "variance"),
    [
        ("glorot_uniform", 2 / 700),
        ("glorot_normal", 2 / 700),
        ("he_uniform", 2 / 400),
        ("he_normal", 2 / 400),
        ("lecun_uniform", 1 / 400),
        ("lecun_normal", 1 / 400),
    ],
)
def test_weights_begin_with_the_variance_of_the_scheme(scheme, variance):
    layer = nn.Linear(400, 300)
    with seeded(0):
        initialize(layer, "relu", scheme)
    values = layer.weight.detach().numpy()
    # 120,000 draws: the variance to a percent or so
    assert values.var() == pytest.approx(variance, rel=0.02)
    assert abs(values.mean()) < 4 * np.sqrt(variance / values.size)
    assert not layer.bias.detach().any()
    if scheme.endswith("uniform"):
        assert np.abs(values).max() <= np.sqrt(3 * variance) * (1 + 1e-6)


def test_orthogonal_weights_keep_lengths():
    layer = nn.Linear(30, 50)
    with seeded(0):
        initialize(layer, "tanh", "orthogonal")
    W = layer.weight.detach().numpy()
    np.testing.assert_allclose(W.T @ W, np.eye(30), atol=1e-5)


def test_early_stopping_holds_rows_out_and_keeps_the_best(rng):
    X = rng.normal(size=(150, 5))
    y = (X[:, 0] + rng.normal(size=150) > 0).astype(int)
    model = MLPClassifier(
        (64, 64), patience=5, max_epochs=300, schedule="constant", random_state=0
    ).fit(X, y)
    losses = model.history_["validation_loss"]
    assert model.n_iter_ == len(losses) < 300
    assert model.n_iter_ == int(np.argmin(losses)) + 1 + 5
    assert model.converged_
    with pytest.raises(ValueError, match="validation_fraction"):
        MLPClassifier(patience=5, validation_fraction=0.001).fit(X, y)


def test_partial_fit_is_a_plain_loop_of_adamw(rng):
    X = rng.normal(size=(40, 3))
    y = X @ [1.0, 2.0, -1.0]
    model = MLPRegressor(6, "tanh", standardize=False, random_state=0)
    model.partial_fit(X, y)
    theirs = MLP((3, 6, 1), "tanh").double()
    model_start = MLPRegressor(6, "tanh", standardize=False, random_state=0, learning_rate=1e-300)
    model_start.partial_fit(X, y)
    theirs.load_state_dict({k: torch.tensor(v) for k, v in model_start.weights_.items()})
    matrices, vectors = [], []
    for p in theirs.parameters():
        (matrices if p.ndim > 1 else vectors).append(p)
    step = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.01}, {"params": vectors, "weight_decay": 0.0}],
        lr=0.01,
    )
    target = torch.tensor((y - y.mean()) / y.std())[:, None]
    for call in range(3):
        step.zero_grad()
        (0.5 * (theirs(torch.tensor(X)) - target) ** 2).mean().backward()
        step.step()
        if call:
            model.partial_fit(X, y)
        expected = theirs(torch.tensor(X)).detach().numpy()[:, 0] * y.std() + y.mean()
        np.testing.assert_allclose(model.predict(X), expected, rtol=0, atol=1e-8)
    assert model.n_iter_ == 3
    assert len(model.history_["loss"]) == 3


def test_partial_fit_wants_the_labels_it_knows(rng):
    X = rng.normal(size=(20, 2))
    model = MLPClassifier(random_state=0).partial_fit(X, [0, 1] * 10, classes=[0, 1, 2])
    assert model.predict_proba(X).shape == (20, 3)
    with pytest.raises(ValueError, match="not among"):
        model.partial_fit(X, [0, 7] * 10)
    with pytest.raises(ValueError, match="first call"):
        model.partial_fit(X, [0, 1] * 10, classes=[0, 1])


def test_the_module_is_made_from_the_weights(rows, tmp_path):
    X, y = rows
    model = MLPRegressor(4, max_epochs=2, random_state=0).fit(X, y)
    module = model.module_
    assert model.module_ is module
    assert not module.training
    panlearn.save(model, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model")
    for ours, theirs in itertools.zip_longest(module.parameters(), loaded.module_.parameters()):
        assert torch.equal(ours, theirs)
    model.weights_["layers.2.bias"] += 1.0  # the arrays are the module's memory
    np.testing.assert_allclose(
        model.predict(X), loaded.predict(X) + model.target_scale_, rtol=1e-10
    )


def test_float32_is_computed_in_float32(rows):
    X, y = (a.astype(np.float32) for a in rows)
    model = MLPRegressor(5, max_epochs=2, random_state=0).fit(X, y)
    assert {w.dtype for w in model.weights_.values()} == {np.dtype(np.float32)}
    assert model.predict(X).dtype == np.float32


def test_pytorchs_generator_and_threads_are_left_alone(rows):
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    MLPRegressor(5, dropout=0.5, max_epochs=2, random_state=0).fit(*rows).predict(rows[0])
    assert torch.equal(state, torch.get_rng_state())
    assert torch.get_num_threads() == threads


def test_scales_of_columns(rng):
    X = np.c_[rng.normal(size=50) * 3 + 1, np.full(50, 0.1), rng.normal(size=50) * 1e200]
    mean, scale = moments(X, None)
    np.testing.assert_allclose(mean[:2], [X[:, 0].mean(), 0.1], rtol=1e-12)
    np.testing.assert_allclose(scale[0], X[:, 0].std(), rtol=1e-12)
    assert scale[1] == 1.0
    assert np.isfinite(scale).all()


def test_digits():
    A, B, a, b = train_test_split(*load_digits(return_X_y=True), random_state=0)
    model = MLPClassifier(max_epochs=30, random_state=0).fit(A.astype(np.float32), a)
    assert model.score(B.astype(np.float32), b) > 0.96


def test_a_learning_rate_that_is_too_large_says_so(rows):
    X, y = rows
    with pytest.raises(ValueError, match="learning_rate"):
        MLPRegressor(optimizer="sgd", learning_rate=1e6, schedule="constant", random_state=0).fit(
            X, y
        )


@pytest.mark.parametrize("scale", [1.0, 1e200, 1e-200])
def test_sparse_columns_of_any_size_have_the_moments_of_dense_ones(rng, scale):
    X = scale * rng.normal(size=(50, 4)) * (rng.random((50, 4)) < 0.5)
    X[:, 3] = 0.0
    weight = rng.integers(0, 3, size=50).astype(float)
    there = np.repeat(X, weight.astype(int), axis=0) / scale
    mean, spread = sparse_moments(sparse.csr_array(X), weight)
    np.testing.assert_allclose(mean / scale, there.mean(axis=0), atol=1e-14)
    np.testing.assert_allclose(spread[:3] / scale, there.std(axis=0)[:3], rtol=1e-12)
    assert spread[3] == 1.0
