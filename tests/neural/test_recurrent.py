"""Recurrent estimators: labels of sequences and steps, forecasts, weights, truncation, errors."""

import pickle

import numpy as np
import pytest
import torch
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

import panlearn
from panlearn.neural import RecurrentClassifier, RecurrentForecaster, RecurrentTagger

CELLS = ("elman", "lstm", "gru")


def _words(rng, n=200, longest=9):
    return [rng.choice(["a", "b", "c"], size=rng.integers(1, longest)) for _ in range(n)]


def _vectors(rng, n=40):
    return [rng.normal(size=(rng.integers(2, 9), 3)) for _ in range(n)]


KINDS = {"sequence": RecurrentClassifier, "steps": RecurrentTagger, "next": RecurrentForecaster}


def _net(kind="sequence", **more):
    return KINDS[kind](16, **{"random_state": 0, "max_epochs": 12, "learning_rate": 0.02, **more})


@pytest.mark.parametrize("cell", CELLS)
def test_the_first_symbol_is_remembered(cell, rng):
    words = _words(rng)
    first = [w[0] for w in words]
    model = _net(cell=cell).fit(words, first)
    new = _words(np.random.default_rng(1), n=100)
    assert model.score(new, [w[0] for w in new]) > 0.9
    assert model.predict(new).shape == (100,)
    np.testing.assert_allclose(model.predict_proba(new).sum(axis=1), 1, rtol=1e-12)
    assert model.predict(words[0]).shape == (1,)


@pytest.mark.parametrize("cell", CELLS)
def test_steps_are_tagged_by_what_came_before(cell, rng):
    """Whether the last step was an a: one label a step, and the first has none before it."""
    words = _words(rng)
    tags = [["after a" if t and w[t - 1] == "a" else "no" for t in range(len(w))] for w in words]
    model = _net("steps", cell=cell).fit(words, tags)
    assert model.score(words, tags) > 0.98
    found = model.predict(words)
    assert [len(f) for f in found] == [len(w) for w in words]
    shares = model.predict_proba(words)
    assert shares[3].shape == (len(words[3]), 2)
    np.testing.assert_allclose(model.predict_proba(words[3]), shares[3], rtol=0, atol=1e-6)


def test_the_next_symbol_is_learned():
    X = [list("abcdabcdabcd"[i : i + 7]) for i in range(4)] * 5
    model = _net("next", max_epochs=40).fit(X)
    assert model.score(X) == 1.0
    assert "".join(model.predict(list("dabc"))) == "abcd"
    assert "".join(model.forecast(list("dabc"), 6)) == "dabcda"
    assert model.predict_proba(X)[0].shape == (7, 4)


def test_the_next_vector_is_learned(rng):
    """A turn by a fixed angle: linear, so that a small network comes close."""
    angle = 0.4
    start = rng.uniform(0, 2 * np.pi, size=60)
    X = [np.c_[np.cos(s + angle * np.arange(9)), np.sin(s + angle * np.arange(9))] for s in start]
    model = _net("next", max_epochs=30, cell="gru").fit(X)
    assert model.score(X) > 0.98
    after = np.array([np.cos(1 + angle * 5), np.sin(1 + angle * 5)])
    seen = np.c_[np.cos(1 + angle * np.arange(5)), np.sin(1 + angle * np.arange(5))]
    np.testing.assert_allclose(model.predict(seen)[-1], after, atol=0.15)
    assert not hasattr(model, "predict_proba")
    ahead = model.forecast(seen, 3)
    assert ahead.shape == (3, 2)
    np.testing.assert_allclose(ahead[0], model.predict(seen)[-1], rtol=0, atol=1e-6)
    second = model.predict(np.vstack([seen, ahead[:1]]))[-1]  # its own step is given back to it
    np.testing.assert_allclose(ahead[1], second, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["sequence", "steps", "next"])
def test_a_list_gives_what_its_sequences_give(kind, rng):
    X = _vectors(rng)
    y = {
        "sequence": [int(x[0, 0] > 0) for x in X],
        "steps": [(x[:, 0] > 0).astype(int) for x in X],
        "next": None,
    }[kind]
    model = _net(kind, max_epochs=2, n_layers=2, dropout=0.2).fit(X, y)
    names = ["predict_proba", "predict"] if kind != "next" else ["predict"]
    for name in names:
        for x, value in zip(X, getattr(model, name)(X), strict=True):
            alone = getattr(model, name)(x)
            alone = alone[0] if kind == "sequence" else alone
            # the same numbers in batches of other shapes, in float32
            np.testing.assert_allclose(value, alone, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["sequence", "steps", "next"])
def test_the_loss_of_an_epoch_is_that_of_the_outputs(kind, rng):
    """With one batch and no step to speak of, the recorded loss is the mean over true steps."""
    X = _words(rng, n=30)
    X = [x for x in X if len(x) > 1]
    y = {
        "sequence": [x[0] for x in X],
        "steps": [[s == "a" for s in x] for x in X],
        "next": None,
    }[kind]
    weight = rng.integers(0, 4, size=len(X)).astype(float)
    model = _net(kind, max_epochs=1, batch_size=100, learning_rate=1e-12).fit(X, y, weight)
    logs = model.predict_log_proba(X)
    losses, weights = [], []
    for i, x in enumerate(X):
        if kind == "sequence":
            pairs = [(logs[i], y[i])]
        elif kind == "steps":
            pairs = list(zip(logs[i], y[i], strict=True))
        else:
            pairs = list(zip(logs[i][:-1], x[1:], strict=True))
        for row, label in pairs:
            labels = model.symbols_ if kind == "next" else model.classes_
            losses.append(-row[np.flatnonzero(labels == label)[0]])
            weights.append(weight[i])
    np.testing.assert_allclose(
        model.history_["loss"][0], np.average(losses, weights=weights), rtol=1e-5
    )


def test_outputs_are_those_of_torch(rng):
    """The same weights in PyTorch's own LSTM over one packed batch."""
    X = _vectors(rng)
    model = _net(max_epochs=2).fit(X, [int(x[-1, 0] > 0) for x in X])
    peer = torch.nn.LSTM(3, 16, batch_first=True)
    weights = {k.removeprefix("layers.0."): torch.tensor(v) for k, v in model.weights_.items()}
    peer.load_state_dict({k: v for k, v in weights.items() if not k.startswith("head")})
    scaled = [torch.tensor((x - model.mean_) / model.scale_, dtype=torch.float32) for x in X]
    packed = torch.nn.utils.rnn.pack_sequence(scaled, enforce_sorted=False)
    _, (last, _) = peer(packed)
    scores = last[0] @ weights["head.weight"].T + weights["head.bias"]
    np.testing.assert_allclose(
        model.predict_log_proba(X), log_softmax(scores.detach().numpy(), axis=1), atol=1e-5
    )


def test_a_weight_of_zero_is_an_absent_sequence(rng):
    X = _words(rng, n=40)
    y = np.array([w[0] for w in X])
    weight = np.arange(40) % 2
    symbols = ["a", "b", "c"]
    full = {"batch_size": 40, "max_epochs": 3, "symbols": symbols}
    weighted = _net(**full).fit(X, y, sample_weight=weight)
    kept = [x for x, w in zip(X, weight, strict=True) if w]
    absent = _net(**full).fit(kept, y[weight == 1])
    np.testing.assert_allclose(weighted.predict_proba(X), absent.predict_proba(X), atol=1e-4)


def test_truncation_trains_on_long_sequences(rng):
    X = [rng.choice(["a", "b"], size=60) for _ in range(30)]
    tags = [np.concatenate([x[:1], x[:-1]]) for x in X]
    model = _net("steps", truncation=5, max_epochs=10).fit(X, tags)
    assert model.score(X, tags) > 0.95
    whole = _net("steps", truncation=60, max_epochs=2).fit(X, tags)
    np.testing.assert_allclose(
        whole.predict_proba(X)[0],
        _net("steps", max_epochs=2).fit(X, tags).predict_proba(X)[0],
        atol=1e-5,
    )


def test_seeds_copies_and_files_give_the_same_network(rng, tmp_path):
    X = _words(rng, n=40)
    y = [w[0] for w in X]
    model = _net(max_epochs=2, dropout=0.3, n_layers=2).fit(X, y)
    state = torch.random.get_rng_state()
    again = clone(model).fit(X, y)
    assert torch.equal(torch.random.get_rng_state(), state)
    panlearn.save(model, tmp_path / "net")
    for other in (again, pickle.loads(pickle.dumps(model)), panlearn.load(tmp_path / "net")):
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))


def test_cross_validation_splits_sequences(rng):
    X = _words(rng, n=60)
    scores = cross_val_score(_net(), X, [w[0] for w in X], cv=3, error_score="raise")
    assert scores.shape == (3,)
    tags = [[s == "a" for s in w] for w in X]
    assert cross_val_score(_net("steps"), X, tags, cv=3, error_score="raise").min() > 0.9


@pytest.mark.parametrize(
    ("X", "says"),
    [
        ("text", "list of sequences"),
        ([], "no sequence"),
        (None, "list of sequences"),
        ([["a", "b"], []], "sequence 1.*empty"),
        ([["a", "b"], ["b", None]], "missing"),
        ([[0.5, 1.5], [2.5, 1.0]], r"shape \(T, 1\)"),
        ([["a"], ["b"]], "no sequence has two"),
        ([np.ones((3, 2)), np.ones((3, 1))], "sequence 1: has 1 features"),
        ([np.full((3, 2), np.nan)], "NaN"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(X, says):
    with pytest.raises(ValueError, match=says):
        RecurrentForecaster().fit(X)


@pytest.mark.parametrize(
    ("kind", "X", "y", "says"),
    [
        ("sequence", [["a", "b"], ["b"]], [0], "2 sequences and y 1"),
        ("steps", [["a", "b"], ["b", "a"]], [[0, 1], [1]], r"y\[1\] has 1 labels.*2 steps"),
        ("steps", [["a", "b"], ["b", "a"]], [[0, 1], 1], "labels and lists"),
        ("sequence", [["a", "b"], ["b", "a"]], [0.5, 1.7], "continuous"),
        ("sequence", [["a", "b"], ["b", "a"]], [0.0, np.nan], "NaN"),
        ("sequence", [["a", "b"], ["b", "a"]], [[0, 1], [1, 0]], "RecurrentTagger"),
        ("steps", [["a", "b"], ["b", "a"]], [0, 1], "RecurrentClassifier"),
    ],
)
def test_labels_that_do_not_fit_are_refused(kind, X, y, says):
    with pytest.raises(ValueError, match=says):
        _net(kind).fit(X, y)


def test_weights_scale_the_vectors_and_huge_ones_do_not_overflow(rng):
    X = [x * 1e200 for x in _vectors(rng, n=20)]
    weight = np.arange(20) % 3
    model = _net("next", max_epochs=1).fit(X, sample_weight=weight)
    rows = np.concatenate([np.tile(x / 1e200, (int(w), 1)) for x, w in zip(X, weight, strict=True)])
    np.testing.assert_allclose(model.mean_ / 1e200, rows.mean(axis=0), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.scale_ / 1e200, rows.std(axis=0), rtol=1e-9)


def test_new_sequences_must_be_like_those_of_fit(rng):
    model = _net("next", max_epochs=1).fit([list("abc"), list("ba")])
    with pytest.raises(ValueError, match=r"'z'.* is not among the 3 symbols"):
        model.predict([list("az")])
    with pytest.raises(ValueError, match="sequences of symbols"):
        model.predict([np.ones((3, 2))])
    with pytest.raises(NotFittedError):
        RecurrentForecaster().predict([list("a")])
    named = _net("next", max_epochs=1, symbols=list("abcz")).fit([list("abc"), list("ba")])
    assert named.predict_proba([list("az")])[0].shape == (2, 4)
    with pytest.raises(ValueError, match="goes on with one sequence"):
        model.forecast([list("ab"), list("ba")], 2)
