"""FastText: hashes, features, gradients, weights and what it tells apart."""

import numpy as np
import pytest
from scipy.special import log_softmax

from panlearn.text import FastTextClassifier
from panlearn.text._documents import tokenize
from panlearn.text._fasttext_kernels import classify_epoch, hashes, subwords


def fnv(text):
    """FNV-1a on signed bytes in plain Python."""
    h = 2166136261
    for byte in text.encode():
        signed = byte - 256 if byte > 127 else byte
        h = ((h ^ (signed & 0xFFFFFFFF)) * 16777619) & 0xFFFFFFFF
    return h


def buffer(*words):
    parts = [f"<{w}>".encode() for w in words]
    return np.frombuffer(b"".join(parts), np.uint8), np.cumsum([0, *map(len, parts)])


def test_hashes_of_words_and_of_their_n_grams():
    text, ends = buffer("cat", "Küste")
    signed = [h - 2**32 if h >= 2**31 else h for h in map(fnv, ("cat", "Küste"))]
    assert hashes(text, ends).tolist() == signed
    found, offsets = subwords(text, ends, 1, 3, 1000)
    for i, word in enumerate(("<cat>", "<Küste>")):
        grams = [word[a : a + n] for a in range(len(word)) for n in (1, 2, 3) if a + n <= len(word)]
        expected = [fnv(g) % 1000 for g in grams if g not in "<>"]
        assert found[offsets[i] : offsets[i + 1]].tolist() == expected


def test_features_are_words_parts_and_n_grams_that_were_met():
    model = FastTextClassifier(2, minn=3, maxn=3, word_ngrams=2, bucket=10**6, random_state=0)
    model.fit([["ab", "cd"], ["cd", "ef"]], [0, 1])
    assert model.words_.tolist() == ["cd", "ab", "ef"]
    signed = [h - 2**32 if h >= 2**31 else h for h in map(fnv, ("ab", "cd", "ef"))]
    pairs = [(signed[i] * 116049371 + signed[i + 1]) % 2**64 % 10**6 for i in (0, 1)]
    parts = [fnv(g) % 10**6 for g in ("<ab", "ab>", "<cd", "cd>", "<ef", "ef>")]
    assert model.buckets_.tolist() == sorted(pairs + parts)
    row = {b: 3 + i for i, b in enumerate(model.buckets_.tolist())}
    features, offsets = model._features(tokenize([["cd", "cdx"], ["never"]]))
    # the known word, its two parts, "<cd" of the new word
    assert features.tolist() == [0, row[parts[2]], row[parts[3]], row[parts[2]]]
    assert offsets.tolist() == [0, 4, 4]


def slope(function, at, step=1e-6):
    gradient = np.empty_like(at)
    for i in np.ndindex(at.shape):
        move = np.zeros_like(at)
        move[i] = step
        gradient[i] = (function(at + move) - function(at - move)) / (2 * step)
    return gradient


def test_a_step_is_the_gradient(rng):
    Z, W = rng.normal(size=(6, 4)), rng.normal(size=(3, 4))
    features = np.array([1, 4, 4, 0], dtype=np.uint32)

    def loss(Z, W):
        return -log_softmax(W @ Z[features].mean(axis=0))[2]

    moved = Z.copy(), W.copy()
    document = features, np.array([0, 4]), np.array([2]), np.ones(1), np.array([0]), np.ones(1)
    scratch = np.empty(4), np.empty(4), np.empty(3)
    assert classify_epoch(*document, *moved, *scratch) == pytest.approx(loss(Z, W), rel=1e-13)
    # central differences of a smooth loss: step² plus rounding / step
    np.testing.assert_allclose(Z - moved[0], slope(lambda Z: loss(Z, W), Z), atol=1e-8)
    np.testing.assert_allclose(W - moved[1], slope(lambda W: loss(Z, W), W), atol=1e-8)


def corpus(n=300, seed=0):
    """Documents on three subjects; each has words of its own, and all share others."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    own = 10 * y[:, None] + rng.integers(10, size=(n, 3))
    shared = 30 + rng.integers(30, size=(n, 7))
    return [[f"w{i}" for i in row] for row in np.hstack([own, shared])], np.array(list("xyz"))[y]


def test_subjects_are_told_apart_and_the_loss_falls():
    X, y = corpus()
    model = FastTextClassifier(10, lr=0.5, epoch=10, random_state=0).fit(X, y)
    new, labels = corpus(seed=1)
    assert model.score(new, labels) > 0.97
    assert model.classes_.tolist() == ["x", "y", "z"]
    losses = model.history_["loss"]
    assert losses[0] < np.log(3) + 0.01  # even probabilities at the start
    assert np.all(np.diff(losses) < 0)


def test_parts_of_words_know_words_that_are_new():
    rng = np.random.default_rng(0)
    endings, y = np.array(["ing", "ful"]), rng.integers(2, size=400)
    words = ["".join(rng.choice(list("abcdefgh"), 4)) + endings[c] for c in y]
    given = {"lr": 0.5, "epoch": 10, "random_state": 0}
    whole = FastTextClassifier(10, **given).fit(words[:300], y[:300])
    parts = FastTextClassifier(10, minn=2, maxn=4, **given).fit(words[:300], y[:300])
    assert parts.score(words[300:], y[300:]) == 1
    assert whole.score(words[300:], y[300:]) < 0.8


def test_pairs_of_words_know_their_order():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    texts = [("not good" if c else "good not") + f" word{rng.integers(5)}" for c in y]
    given = {"lr": 1.0, "epoch": 10, "random_state": 0}
    assert FastTextClassifier(5, word_ngrams=2, **given).fit(texts, y).score(texts, y) == 1
    assert FastTextClassifier(5, **given).fit(texts, y).score(texts, y) < 0.7


def test_a_document_without_known_words_has_even_probabilities():
    X, y = corpus(30)
    model = FastTextClassifier(4, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba([["never"], []]), np.full((2, 3), 1 / 3))


def test_weights_move_the_decision():
    X, y = [["a"]] * 10 + [["a", "a"]] * 10, [0] * 10 + [1] * 10
    heavy = np.where(np.array(y) == 1, 9.0, 1.0)
    model = FastTextClassifier(4, lr=1.0, epoch=200, random_state=0)
    assert model.fit(X, y).predict_proba([["a"]])[0, 1] == pytest.approx(0.5, abs=0.1)
    weighted = model.fit(X, y, sample_weight=heavy).predict_proba([["a"]])[0, 1]
    assert weighted == pytest.approx(0.9, abs=0.05)  # the share of the weight


@pytest.mark.parametrize(
    ("y", "says"), [(None, "requires y"), ([1, 1], "one class"), ([0.5, 1.5], "Unknown label type")]
)
def test_labels_that_are_none_are_refused(y, says):
    with pytest.raises(ValueError, match=says):
        FastTextClassifier().fit(["one text", "another text"], y)


def test_settings_that_do_not_go_together_are_refused():
    with pytest.raises(ValueError, match="minn=4 is above maxn=3"):
        FastTextClassifier(minn=4, maxn=3).fit(["one", "two"], [0, 1])
    with pytest.raises(ValueError, match="lower min_count"):
        FastTextClassifier(min_count=9).fit(["one", "two"], [0, 1])
    with pytest.raises(ValueError, match="lower lr"):
        FastTextClassifier(lr=1e38, epoch=30).fit(*corpus(50))
