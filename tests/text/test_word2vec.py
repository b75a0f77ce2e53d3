"""Word vectors: the gradients, the pairs, the schedule, and what the vectors know."""

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy.special import log_expit, log_softmax

import panlearn
from panlearn.core.jit import folders, jit
from panlearn.text import Word2Vec
from panlearn.text import _word2vec_training as training
from panlearn.text._word2vec_kernels import (
    SHARE,
    Noise,
    _contrast,
    bag_of_words,
    classify,
    draw_negatives,
    skip_gram,
)
from panlearn.text._word2vec_pairs import pairs, subsample


def contrastive_loss(h, Z, word, negatives):
    """-log σ(h·z_w) - Σ log σ(-h·z_n)."""
    return -log_expit(h @ Z[word]) - log_expit(-Z[negatives] @ h).sum()


def softmax_loss(h, Z, word):
    return -log_softmax(Z @ h)[word]


def slope(loss, at, step=1e-6):
    """Central differences of a loss in every entry of an array."""
    gradient = np.empty_like(at)
    for i in np.ndindex(at.shape):
        there = at.copy()
        there[i] += step
        up = loss(there)
        there[i] -= 2 * step
        gradient[i] = (up - loss(there)) / (2 * step)
    return gradient


@pytest.fixture
def layer(rng):
    """A hidden vector, six output vectors, and their scratch."""
    return rng.normal(size=4), rng.normal(size=(6, 4))


def test_a_contrastive_step_is_the_gradient(layer):
    h, Z = layer
    negatives, error, moved = np.array([0, 3, 5], dtype=np.uint32), np.zeros(4), Z.copy()
    loss = _contrast(h, error, moved, 2, negatives, np.empty(4), 1.0)
    assert loss == pytest.approx(contrastive_loss(h, Z, 2, negatives), rel=1e-14)
    # central differences of a smooth loss: an error of the order of step² plus rounding / step
    expected = slope(lambda h: contrastive_loss(h, Z, 2, negatives), h)
    np.testing.assert_allclose(-error, expected, atol=1e-8)
    expected = slope(lambda Z: contrastive_loss(h, Z, 2, negatives), Z)
    np.testing.assert_allclose(Z - moved, expected, atol=1e-8)


def test_a_negative_word_that_is_the_word_itself_is_left_out(layer):
    h, Z = layer
    loss = _contrast(h, np.zeros(4), Z.copy(), 2, np.array([2], np.uint32), np.empty(2), 1.0)
    assert loss == pytest.approx(-log_expit(h @ Z[2]), rel=1e-14)


def test_a_softmax_step_is_the_gradient(layer):
    h, Z = layer
    error, moved = np.zeros(4), Z.copy()
    loss = classify(h, error, moved, 2, np.empty(6), 1.0)
    assert loss == pytest.approx(softmax_loss(h, Z, 2), rel=1e-14)
    np.testing.assert_allclose(-error, slope(lambda h: softmax_loss(h, Z, 2), h), atol=1e-8)
    np.testing.assert_allclose(Z - moved, slope(lambda Z: softmax_loss(h, Z, 2), Z), atol=1e-8)


def test_losses_of_scores_beyond_the_range_of_exp_are_finite():
    h, Z = np.array([1e3]), np.array([[-1.0], [1.0]])
    loss = _contrast(h, np.zeros(1), Z.copy(), 0, np.array([1], np.uint32), np.empty(2), 1.0)
    assert loss == 2000
    assert classify(h, np.zeros(1), Z.copy(), 0, np.empty(2), 1.0) == 2000


@pytest.mark.parametrize("negative", [0, 3])
def test_skip_gram_makes_one_step_a_pair(rng, negative):
    n, words, rate, seed = 20, np.arange(7, dtype=np.uint32), 0.1, 5
    context, middle = rng.integers(7, size=(2, n)).astype(np.uint32)
    X, Z, noise = rng.normal(size=(7, 4)), rng.normal(size=(7, 4)), rng.random(7)
    sums = np.concatenate([[0], np.cumsum(noise)])
    ours, theirs = (X.copy(), Z.copy()), (X.copy(), Z.copy())
    total = skip_gram(context, middle, *ours, words, sums, negative, rate, seed)
    given, drawn = Noise.of(words, sums, n, negative, seed), np.empty(negative, np.uint32)
    expected = 0.0
    for i, (c, w) in enumerate(zip(context, middle, strict=True)):
        x, Z = theirs[0][c], theirs[1]
        if negative:
            if i % SHARE == 0:
                draw_negatives(given, i // SHARE, drawn)
            expected += contrastive_loss(x, Z, w, drawn[drawn != w])
            gain = np.concatenate([[1.0], np.zeros(negative)])
            rows = np.concatenate([[w], drawn])
            gain -= 1 / (1 + np.exp(-Z[rows] @ x))
            gain[1:][drawn == w] = 0
        else:
            expected += softmax_loss(x, Z, w)
            rows = np.arange(7)
            gain = (rows == w) - np.exp(log_softmax(Z @ x))
        error = np.zeros(4)
        for row, share in zip(rows, rate * gain, strict=True):  # one may have been drawn twice
            error += share * Z[row]
            Z[row] += share * x
        x += error
    assert total == pytest.approx(expected, rel=1e-12)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_the_bag_of_words_moves_every_word_of_the_window_by_the_error_of_the_mean(rng):
    words, ends, reach = np.array([3, 1, 2], np.uint32), np.array([0, 3]), np.array([1, 1, 1])
    X, Z = rng.normal(size=(4, 5)), rng.normal(size=(4, 5))
    noise_words, sums = np.arange(1, dtype=np.uint32), np.array([0.0, 1.0])
    one = (noise_words, sums, 0, 1e-7, 1)
    inputs = X.copy()
    total, n = bag_of_words(words, ends, reach, inputs, Z.copy(), *one)
    windows = [([1], 3), ([3, 2], 1), ([1], 2)]
    assert n == 3
    expected = sum(softmax_loss(X[c].mean(axis=0), Z, w) for c, w in windows)
    assert total == pytest.approx(expected, rel=1e-5)  # the rate is small, and not zero
    moves = np.zeros_like(X)
    for c, w in windows:
        moves[c] -= slope(lambda h, w=w: softmax_loss(h, Z, w), X[c].mean(axis=0))
    np.testing.assert_allclose((inputs - X) / 1e-7, moves, atol=1e-5)


def test_pairs_are_those_of_the_windows_sorted_by_blocks(rng):
    ids, offsets = rng.integers(9, size=50).astype(np.uint32), np.array([0, 20, 20, 21, 50])
    words, ends, reach = subsample(ids, offsets, np.ones(9), 4, 3)
    np.testing.assert_array_equal(words, ids)
    assert set(reach) == {1, 2, 3, 4}
    group = np.arange(9) % 3
    context, middle, edges = pairs(words, ends, reach, group, 3)
    expected = Counter(
        (ids[u], ids[t])
        for a, b in itertools.pairwise(offsets)
        for t in range(a, b)
        for u in range(max(a, t - reach[t]), min(b, t + reach[t] + 1))
        if u != t
    )
    assert Counter(zip(context, middle, strict=True)) == expected
    blocks = np.repeat(np.arange(9), np.diff(edges))
    np.testing.assert_array_equal(group[context] * 3 + group[middle], blocks)


def test_frequent_words_are_thinned_out():
    ids, keep = np.zeros(10_000, np.uint32), np.array([0.3])
    words, ends, _ = subsample(ids, np.array([0, 10_000]), keep, 5, 1)
    assert abs(len(words) - 3000) < 5 * np.sqrt(10_000 * 0.3 * 0.7)  # five standard deviations
    assert ends[-1] == len(words)


@pytest.mark.parametrize("sample", [0.0, 0.02, 0.3])
def test_frequent_words_of_a_text_stay_as_often_as_the_formula_says(sample, monkeypatch):
    """Each occurrence stays with probability sqrt(s / f) + s / f, and the others are as neighbours.

    With windows of one, words that "the" stands between are neighbours only where it was left out.
    """
    rng, seen = np.random.default_rng(0), []
    words = [f"w{i}" for i in range(60)]
    texts = [[w for i in rng.integers(60, size=20) for w in ("the", words[i])] for _ in range(100)]
    recorded = training.skip_gram

    def record(context, middle, *rest):
        seen.append(np.column_stack([context, middle]))
        return recorded(context, middle, *rest)

    monkeypatch.setattr(training, "skip_gram", record)
    model = Word2Vec(4, window=1, min_count=1, sample=sample, epochs=1, random_state=0).fit(texts)
    assert model.words_[0] == "the"
    least = max(sample, 1 / 61)
    stay = min(1.0, np.sqrt(least / 0.5) + least / 0.5) if sample else 1.0  # "the" is half of all
    context, middle = np.concatenate(seen).T
    n_middle = (middle == 0).sum()
    # nearly every "the" that stays has a neighbour on either side
    error = 5 * np.sqrt(2000 * stay * (1 - stay)) * 2 + 4 * 100
    assert abs(n_middle - 2 * 2000 * stay) < error
    straight = ((context > 0) & (middle > 0)).mean()  # a word next to a word
    gaps = 2 * 1900 * (1 - stay)
    assert abs(straight * len(context) - gaps) < 5 * np.sqrt(4 * 1900 * stay * (1 - stay)) + 200


def test_negative_words_follow_the_noise():
    noise, drawn = np.array([0.1, 0.0, 0.6, 0.3]), np.empty(10_000, np.uint32)
    sums = np.concatenate([[0], np.cumsum(noise)]) + 2.0  # a part of longer sums
    words = np.array([4, 5, 6, 7], np.uint32)
    draw_negatives(Noise.of(words, sums, 1, len(drawn), seed=1), 0, drawn)
    counts = np.bincount(drawn, minlength=8)[4:] / len(drawn)
    np.testing.assert_allclose(counts, noise, atol=5 * 0.5 / 100)  # five standard deviations


def family_tree(n_sentences=6000, seed=0):
    """Sentences on who did what; each person is a pair of a house and a rank, as king to queen."""
    rng = np.random.default_rng(seed)
    texts = []
    for house, rank in rng.integers([5, 4], size=(n_sentences, 2)):
        near = [f"house{house}_{rng.integers(4)}" for _ in range(2)]
        near += [f"rank{rank}_{rng.integers(4)}" for _ in range(2)]
        rng.shuffle(near)
        texts.append([*near[:2], f"person{house}_{rank}", *near[2:]])
    return texts


def analogies(model):
    """The share of right answers to a is to b as c is to ?"""
    right = []
    for h, i in itertools.permutations(range(5), 2):
        for r, s in itertools.permutations(range(4), 2):
            asked = f"person{h}_{r}", f"person{h}_{s}", f"person{i}_{r}"
            right.append(model.analogy(*asked)[0][0] == f"person{i}_{s}")
    return np.mean(right)


@pytest.mark.parametrize("options", [{}, {"sg": 0, "alpha": 0.1}, {"negative": 0}])
def test_planted_analogies_are_found(options):
    given = {"sample": 0, "epochs": 10, "random_state": 0, **options}
    model = Word2Vec(20, **given).fit(family_tree())
    assert analogies(model) > 0.95
    losses = model.history_["loss"]
    assert len(losses) == 10
    assert losses[-1] < losses[0]


def blocked(monkeypatch, **options):
    """A corpus that is cut into blocks: many words, and shards of few."""
    monkeypatch.setattr(training, "SHARD", 1 << 10)
    rng = np.random.default_rng(0)
    # a word is followed by words of its own hundred
    topics = rng.integers(10, size=2000)
    texts = [[f"w{i}" for i in 100 * t + rng.integers(100, size=10)] for t in topics]
    given = {"min_count": 1, "random_state": 0, "sample": 0.0, "epochs": 6, **options}
    return Word2Vec(16, **given).fit(texts)


def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    one, three = (blocked(monkeypatch, n_jobs=n) for n in (1, 3))
    np.testing.assert_array_equal(one.vectors_, three.vectors_)
    np.testing.assert_array_equal(one.context_vectors_, three.context_vectors_)
    assert one.history_ == three.history_


@pytest.mark.parametrize("deterministic", [True, False])
def test_topics_are_found_in_blocks_and_in_a_race(monkeypatch, deterministic):
    model = blocked(monkeypatch, n_jobs=2, deterministic=deterministic)
    topic = np.array([int(w[1:]) // 100 for w in model.words_])
    unit = model.vectors_ / np.linalg.norm(model.vectors_, axis=1, keepdims=True)
    cosines = unit @ unit.T - 2 * np.eye(len(unit), dtype=np.float32)
    assert (topic[cosines.argmax(axis=1)] == topic).mean() > 0.95


class Begun(Exception):
    """The first pass begins."""


@pytest.fixture
def nothing_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    folders.cache_clear()
    yield
    folders.cache_clear()


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("epochs", [80, 90, 190, 210])
@pytest.mark.parametrize("sg", [0, 1])
def test_kernels_are_compiled_before_a_text_that_is_long_for_python(monkeypatch, sg, epochs):
    def begin(*arguments):
        raise Begun

    kernels = {name: jit(getattr(training, name).py_func) for name in ("subsample", "pairs")}
    for name, kernel in kernels.items():
        monkeypatch.setattr(training, name, kernel)
    monkeypatch.setattr(training.Trainer, "epoch", begin)
    with pytest.raises(Begun):
        Word2Vec(2, sample=0, epochs=epochs, sg=sg, random_state=0).fit([list("abcde")] * 200)
    # of 1000 words with a mean reach of 3, in milliseconds an epoch; a kernel waits for a second
    cost = {"subsample": 5, "pairs": 12 * sg}
    compiled = {name for name, kernel in kernels.items() if kernel.spent == np.inf}
    assert compiled == {name for name in cost if epochs * cost[name] > 1000}


def test_the_loss_is_that_of_the_formula():
    # at a rate of nearly zero the context vectors stay zero, and every score is even
    texts, still = family_tree(500), {"alpha": 1e-30, "min_alpha": 0.0, "random_state": 0}
    exact = Word2Vec(5, negative=0, min_count=1, **still).fit(texts)
    assert exact.history_["loss"][0] == pytest.approx(np.log(len(exact.words_)), rel=1e-12)
    close = Word2Vec(5, negative=4, min_count=1, **still).fit(texts)
    # a negative word that is the word itself is left out, once in about fifty
    assert 5 * np.log(2) * 0.97 < close.history_["loss"][0] < 5 * np.log(2)


def test_words_are_counted_and_rare_ones_left_out():
    model = Word2Vec(2, min_count=2, random_state=0).fit([["b", "a", "b", "c"], ["a", "b", "d"]])
    assert model.words_.tolist() == ["b", "a"]
    assert model.counts_.tolist() == [3, 2]


def test_questions_about_words():
    model = Word2Vec(2)
    model.words_ = np.array(["east", "north", "west", "none"], dtype=object)
    model.vectors_ = np.array([[2, 0], [0, 3], [-1, 0], [0, 0]], dtype=np.float32)
    assert model.similarity("east", "north") == 0
    assert model.similarity("east", "west") == -1
    assert model.similarity("east", "none") == 0
    assert model.most_similar("east", topn=1) == [("north", 0.0)]
    assert [w for w, _ in model.most_similar(negative="east", topn=9)] == ["west", "north", "none"]
    assert model.most_similar(["north", "east"], topn=0) == []
    np.testing.assert_array_equal(model.vectors(["west"]), [[-1, 0]])
    means = model.transform([["east", "north", "never"], [], ["never"]])
    np.testing.assert_array_equal(means, [[1, 1.5], [0, 0], [0, 0]])
    with pytest.raises(ValueError, match="'south' was not learned"):
        model.analogy("east", "west", "south")
    with pytest.raises(ValueError, match="at least one word"):
        model.most_similar()


def test_the_text_format_keeps_every_bit(tmp_path):
    model = Word2Vec(3, min_count=1, random_state=0).fit(family_tree(50))
    model.save_word2vec_format(tmp_path / "vectors.txt")
    again = Word2Vec.load_word2vec_format(tmp_path / "vectors.txt")
    assert again.words_.tolist() == model.words_.tolist()
    np.testing.assert_array_equal(again.vectors_, model.vectors_)
    assert list(tmp_path.iterdir()) == [tmp_path / "vectors.txt"]


@pytest.mark.parametrize("content", ["", "2 2\na 1 2\n", "1 2\na 1\n", "1 1\na 1\nb 2\n", "x y\n"])
def test_a_file_that_is_no_table_of_vectors_is_refused(tmp_path, content):
    (tmp_path / "vectors.txt").write_text(content)
    with pytest.raises(ValueError, match="holds no word vectors as text, or is cut off: line"):
        Word2Vec.load_word2vec_format(tmp_path / "vectors.txt")


@pytest.mark.parametrize("word", ["New York", "New\nYork", "\ud800"])
def test_a_word_with_a_space_cannot_be_written_as_text(tmp_path, word):
    model = Word2Vec(2, min_count=1).fit([[word, "city"]])
    with pytest.raises(ValueError, match="' holds one or a surrogate"):
        model.save_word2vec_format(tmp_path / "vectors.txt")


def test_spaces_that_are_no_blank_are_letters_of_the_text_format(tmp_path):
    words, path = ["New\u00a0York", "a\u3000b", "c\u0085d", "e\x1cf"], tmp_path / "vectors.txt"
    Word2Vec(2, min_count=1).fit([words]).save_word2vec_format(path)
    assert sorted(Word2Vec.load_word2vec_format(path).words_) == sorted(words)
    keyed = pytest.importorskip("gensim.models").KeyedVectors
    assert sorted(keyed.load_word2vec_format(str(path)).index_to_key) == sorted(words)


def test_a_stream_and_a_bag_give_the_fit_of_the_list():
    texts, model = family_tree(100), Word2Vec(3, random_state=0)
    vectors = model.fit(texts).vectors_
    batches = [texts[:30], texts[30:]]
    np.testing.assert_array_equal(model.fit(panlearn.Batches(batches)).vectors_, vectors)
    bag = pytest.importorskip("dask.bag").from_sequence(texts, npartitions=3)
    np.testing.assert_array_equal(model.fit(bag).vectors_, vectors)


def test_a_corpus_without_frequent_words_or_neighbours_is_refused():
    with pytest.raises(ValueError, match="no word occurs 5 times; lower min_count"):
        Word2Vec().fit(["some words that occur once"])
    with pytest.raises(ValueError, match="no word a neighbour"):
        Word2Vec(min_count=1).fit(["one", "word", "each"])


def test_a_rate_that_is_too_large_is_named():
    with pytest.raises(ValueError, match="lower alpha"):
        Word2Vec(5, alpha=1e30, random_state=0).fit(family_tree(500))
