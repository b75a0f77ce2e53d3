"""Classifiers and regressors of sequences, on S4 and on Mamba."""

import numpy as np
import pytest
import torch

import panlearn
from panlearn.statespace import MambaClassifier, MambaRegressor, S4Classifier, S4Regressor

CLASSIFIERS = {
    "S4D": lambda **more: S4Classifier(8, n_layers=1, state_size=8, **more),
    "S4": lambda **more: S4Classifier(8, n_layers=1, state_size=8, form="nplr", **more),
    "Mamba": lambda **more: MambaClassifier(8, n_layers=1, state_size=4, **more),
}
REGRESSORS = {
    "S4": lambda **more: S4Regressor(8, n_layers=1, state_size=8, **more),
    "Mamba": lambda **more: MambaRegressor(8, n_layers=1, state_size=4, **more),
}
QUICK = {"max_epochs": 2, "batch_size": 8, "random_state": 0}


def series(rng, n=24, d=2):
    return [rng.normal(size=(rng.integers(1, 30), d)) for _ in range(n)]


def each(makers):
    return pytest.mark.parametrize("make", makers.values(), ids=makers)


@each(CLASSIFIERS)
@pytest.mark.parametrize("pooling", ["mean", "last"])
def test_a_batch_gives_what_its_sequences_give_one_by_one(make, pooling, rng):
    X = series(rng)
    model = make(pooling=pooling, **QUICK).fit(X, np.arange(len(X)) % 3)
    together = model.predict_proba(X)
    alone = np.concatenate([model.predict_proba([x]) for x in X])
    np.testing.assert_allclose(together, alone, rtol=0, atol=2e-6)
    np.testing.assert_allclose(together.sum(axis=1), 1.0, atol=1e-12)


@each(CLASSIFIERS)
def test_padding_does_not_reach_the_gradient(make, rng):
    """One step on sequences of several lengths is the step on the mean of their gradients."""
    X, y = series(rng, 4), np.array([0, 1, 0, 1])
    options = {"max_steps": 1, "optimizer": "sgd", "clip_norm": None, "random_state": 0}
    together = make(batch_size=4, learning_rate=0.01, **options).fit(X, y)
    start = make(batch_size=4, learning_rate=1e-30, **options).fit(X, y)
    moved = dict.fromkeys(start.weights_, 0.0)
    for x, label in zip(X, y, strict=True):
        module = start._with_weights()
        inputs = torch.from_numpy(((x - start.mean_) / start.scale_).astype(np.float32))[None]
        scores = module.last(inputs, torch.tensor([len(x)]))
        torch.nn.functional.cross_entropy(scores, torch.tensor([label])).backward()
        for name, parameter in module.named_parameters():
            moved[name] = moved[name] - 0.01 * parameter.grad.numpy() / 4
    for name, step in moved.items():
        found = together.weights_[name] - start.weights_[name]
        np.testing.assert_allclose(found, step, rtol=0, atol=1e-5 * max(1, np.abs(step).max()))


@each(CLASSIFIERS)
def test_symbols_and_labels_may_be_words(make, rng):
    words = [rng.choice(["a", "b", "c"], size=rng.integers(1, 7)) for _ in range(80)]
    y = np.where([w[-1] == "a" for w in words], "yes", "no")
    model = make(pooling="last", max_epochs=15, batch_size=16, random_state=0).fit(words, y)
    assert model.score(words, y) > 0.95
    assert list(model.predict([["b", "c", "a"], ["a"]])) == ["yes", "yes"]
    assert list(model.classes_) == ["no", "yes"]
    with pytest.raises(ValueError, match="symbols"):
        model.predict([[0.5, 1.5]])


@each(REGRESSORS)
def test_numbers_are_told_in_the_unit_of_the_targets(make, rng):
    X = [rng.normal(size=(rng.integers(5, 15), 1)) for _ in range(100)]
    y = np.array([1e4 + 100 * x.mean() for x in X])
    model = make(max_epochs=20, batch_size=20, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8
    assert model.predict(X).shape == (100,)
    assert model.predict(X[0]).shape == (1,)
    both = make(**QUICK).fit(X, np.stack([y, -y], axis=1))
    assert both.predict(X[:3]).shape == (3, 2)
    assert np.abs(both.predict(X[:3]).mean(axis=0) - [1e4, -1e4]).max() < 500


@each(REGRESSORS)
def test_precision_of_what_goes_in_comes_out(make, rng):
    X = series(rng, 8)
    y = rng.normal(size=8)
    for dtype in (np.float32, np.float64):
        model = make(**QUICK).fit([x.astype(dtype) for x in X], y)
        assert model.predict([x.astype(dtype) for x in X]).dtype == dtype


@each(REGRESSORS)
def test_a_weight_of_zero_leaves_a_sequence_out(make, rng):
    X, y = series(rng, 6), rng.normal(size=6)
    weight = np.array([1, 1, 1, 1, 0, 0])
    model = make(max_steps=3, batch_size=6, random_state=0).fit(X, y, sample_weight=weight)
    X[4] = X[4] + 1e6
    y[5] = 1e6
    again = make(max_steps=3, batch_size=6, random_state=0).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.predict(X[:4]), again.predict(X[:4]), rtol=1e-6)


@pytest.mark.parametrize(
    ("y", "says"),
    [
        ([1.0, 2.0], "3 sequences and y 2"),
        ([1.0, np.nan, 2.0], "NaN"),
        ([1.0, np.inf, 2.0], "infinity"),
        (["a", "b", "c"], "y"),
    ],
)
def test_targets_that_cannot_be(y, says, rng):
    with pytest.raises(ValueError, match=says):
        S4Regressor(4, **QUICK).fit(series(rng, 3), y)


def test_going_on_needs_as_many_targets(rng):
    X = series(rng, 4)
    model = MambaRegressor(4, warm_start=True, **QUICK).fit(X, np.arange(4.0))
    with pytest.raises(ValueError, match="1 targets"):
        model.fit(X, np.ones((4, 2)))


@each({"S4": CLASSIFIERS["S4"], "Mamba": REGRESSORS["Mamba"]})
def test_saved_and_loaded_it_gives_the_same_bits(make, rng, tmp_path):
    X = series(rng, 8)
    model = make(**QUICK).fit(X, np.arange(8) % 2)
    panlearn.save(model, tmp_path / "model")
    np.testing.assert_array_equal(panlearn.load(tmp_path / "model").predict(X), model.predict(X))


def test_dropout_is_drawn_from_the_seed(rng):
    X, y = series(rng, 8), np.arange(8) % 2
    one, same = (S4Classifier(8, dropout=0.5, **QUICK).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.predict_proba(X), same.predict_proba(X))
    none = S4Classifier(8, **QUICK).fit(X, y)
    assert np.abs(one.predict_proba(X) - none.predict_proba(X)).max() > 1e-6
