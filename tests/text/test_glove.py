"""GloVe: gradients, the order of steps, and what the vectors know."""

import numpy as np
import pytest
from scipy import sparse

from panlearn.text import GloVe
from panlearn.text import _glove_training as training
from panlearn.text._glove_training import Entries, adagrad, importance


def loss(n, x, z, n_max=20, alpha=0.75):
    """½ f (x·z + b + c - log n)², biases last."""
    error = x[:-1] @ z[:-1] + x[-1] + z[-1] - np.log(n)
    return 0.5 * importance(n, n_max, alpha) * error**2


def slope(function, at, step=1e-6):
    moves = step * np.eye(len(at))
    return np.array([(function(at + m) - function(at - m)) / (2 * step) for m in moves])


def test_a_step_is_the_gradient_over_the_root_of_the_squares(rng):
    x, z = rng.normal(size=(2, 1, 4))
    squares = rng.random((2, 1, 4)) + 1
    sides = x.copy(), z.copy(), squares[0].copy(), squares[1].copy()
    n, one = 7.0, np.zeros(1, dtype=np.uint32)
    weight = np.array([importance(n, 20, 0.75)])
    total = adagrad(one, one, np.array([np.log(n)]), weight, *sides, 0.1)
    assert total == pytest.approx(loss(n, x[0], z[0]), rel=1e-13)
    # central differences of a polynomial of low degree: rounding / step
    gx = slope(lambda x: loss(n, x, z[0]), x[0])
    gz = slope(lambda z: loss(n, x[0], z), z[0])
    np.testing.assert_allclose(sides[0][0], x[0] - 0.1 * gx / np.sqrt(squares[0, 0]), atol=1e-8)
    np.testing.assert_allclose(sides[1][0], z[0] - 0.1 * gz / np.sqrt(squares[1, 0]), atol=1e-8)
    np.testing.assert_allclose(sides[2][0], squares[0, 0] + gx**2, atol=1e-7)
    np.testing.assert_allclose(sides[3][0], squares[1, 0] + gz**2, atol=1e-7)


def test_every_pair_gets_one_step_in_its_block(rng, monkeypatch):
    monkeypatch.setattr(training, "FEW", 10)
    counts = sparse.random_array((30, 30), density=0.4, rng=rng, format="csr")
    counts.data += 1
    entries = Entries(counts, 2.0, 0.5, rng)
    assert entries.count == training.GROUPS
    again = sparse.csr_array((np.exp(entries.target), (entries.row, entries.column)), (30, 30))
    np.testing.assert_allclose(again.toarray(), counts.toarray(), rtol=1e-6)  # in float32
    np.testing.assert_allclose(
        entries.weight, np.minimum(1, np.sqrt(np.exp(entries.target) / 2)), rtol=1e-6
    )
    for shift in range(8):  # no row of either side is in two blocks of a diagonal
        for side in (entries.row, entries.column):
            at = [i * 8 + (i + shift) % 8 for i in range(8)]
            parts = [set(side[entries.edges[a] : entries.edges[a + 1]].tolist()) for a in at]
            assert sum(map(len, parts)) == len(set().union(*parts))


def test_any_number_of_threads_gives_the_same_bits(monkeypatch, rng):
    monkeypatch.setattr(training, "FEW", 10)
    texts = [[f"w{i}" for i in rng.integers(60, size=12)] for _ in range(80)]
    one, three = (GloVe(5, n_jobs=n, random_state=0).fit(texts) for n in (1, 3))
    np.testing.assert_array_equal(one.word_factors_, three.word_factors_)
    assert one.history_ == three.history_


def test_the_loss_is_that_of_the_formula():
    texts = [["a", "b", "a", "c"]] * 9
    still = GloVe(3, min_count=1, learning_rate=1e-30, epochs=1, random_state=0).fit(texts)
    assert still.words_.tolist() == ["a", "b", "c"]
    counts = {(0, 0): 18, (0, 1): 18, (1, 0): 18, (0, 2): 18, (2, 0): 18, (1, 2): 9, (2, 1): 9}
    x, z = still.word_factors_.astype(float), still.context_factors_.astype(float)
    losses = [loss(n, x[v], z[w], n_max=100) for (v, w), n in counts.items()]
    assert still.history_["loss"][0] == pytest.approx(np.mean(losses), rel=1e-5)  # float32
    np.testing.assert_array_equal(
        still.vectors_, (still.word_factors_ + still.context_factors_)[:, :-1]
    )


def test_the_loss_falls_to_zero_if_the_rank_is_full():
    rng = np.random.default_rng(0)
    texts = [[f"w{i}" for i in rng.integers(12, size=8)] for _ in range(100)]
    model = GloVe(30, epochs=400, learning_rate=0.2, random_state=0).fit(texts)
    assert model.history_["loss"][-1] < 1e-4 * model.history_["loss"][0]


def test_topics_are_told_apart():
    rng = np.random.default_rng(0)
    texts = [
        [f"w{i}" for i in 20 * t + rng.integers(20, size=10)] for t in rng.integers(5, size=400)
    ]
    # words of different topics never meet, which is no pair: some words of all topics tie them
    texts = [[*t, *(f"all{i}" for i in rng.integers(5, size=4))] for t in texts]
    model = GloVe(10, n_max=10, random_state=0).fit(texts)
    near = {w: model.most_similar(w, topn=1)[0][0] for w in model.words_ if w[0] == "w"}
    right = [int(a[1:]) // 20 == int(b[1:]) // 20 for a, b in near.items() if b[0] == "w"]
    assert np.mean(right) > 0.9


def test_words_that_never_meet_are_refused():
    with pytest.raises(ValueError, match="no two words that occur 5 times"):
        GloVe().fit(["one", "word", "each"] * 9)
    with pytest.raises(ValueError, match="lower learning_rate"):
        GloVe(3, learning_rate=1e30, random_state=0).fit([["a", "b"]] * 9)
