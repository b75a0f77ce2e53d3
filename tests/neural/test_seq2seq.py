"""RecurrentSeq2Seq: reversing, copying, attention that follows, a beam that is a search."""

import itertools

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError

import panlearn
from panlearn.neural import RecurrentSeq2Seq
from panlearn.neural._attention import EncoderDecoder, search


def _words(seed, n=300, longest=6):
    rng = np.random.default_rng(seed)
    return [rng.choice(list("abcd"), size=rng.integers(1, longest)) for _ in range(n)]


@pytest.fixture(scope="module")
def reverser():
    words = _words(0)
    model = RecurrentSeq2Seq(
        32, max_epochs=20, learning_rate=0.02, schedule="cosine", random_state=0
    )
    return model.fit(words, [word[::-1] for word in words])


def test_words_are_turned_round(reverser):
    new = _words(1, n=100)
    assert reverser.score(new, [word[::-1] for word in new]) > 0.95
    assert reverser.predict(new[0]).tolist() == reverser.predict([new[0]])[0].tolist()


def test_attention_runs_backwards_over_the_source(reverser):
    weights = reverser.alignment(list("abcda"))
    assert weights.shape == (6, 5)
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=0, atol=1e-5)
    looked = weights[:5].argmax(axis=1)
    # a decoder may look one step aside, since states know their neighbours
    assert np.corrcoef(looked, np.arange(5))[0, 1] < -0.8
    given = reverser.alignment([list("abc")], [list("cba")])[0]
    assert given.shape == (4, 3)


def test_answers_do_not_depend_on_the_batch(reverser):
    new = _words(2, n=30)
    together = reverser.predict(new)
    for word, answer in zip(new, together, strict=True):
        np.testing.assert_array_equal(reverser.predict(word), answer)


def test_a_wide_beam_finds_the_most_probable_answer():
    """All answers of up to three symbols, with their probabilities, against the search."""
    with torch.random.fork_rng():
        torch.default_generator.manual_seed(3)
        module = EncoderDecoder("gru", 3, 2, 4, 6).double().eval()
        with torch.no_grad():
            module.head.weight *= 4  # far from uniform
    source, lengths = torch.tensor([[0, 1, 2], [2, 1, 0]]), torch.tensor([3, 2])
    found = search(module, source, lengths, 64, 3)
    greedy = search(module, source, lengths, 1, 3)
    for row in range(2):
        best, value = None, -np.inf
        for length in range(4):
            for answer in itertools.product(range(2), repeat=length):
                closed = [*answer, 2][:3]  # at three symbols the search stops without an end
                batch = source[row : row + 1], lengths[row : row + 1], torch.tensor([closed])
                logs = module(*batch)[0][0].detach().log_softmax(dim=-1)
                total = float(logs[torch.arange(len(closed)), torch.tensor(closed)].sum())
                if total > value:
                    best, value = list(answer), total
        assert found[row] == best
        first = module(source[row : row + 1], lengths[row : row + 1], torch.tensor([[0]]))[0]
        step = int(first[0, 0].argmax())
        assert (greedy[row][:1] or [2]) == [step]


def test_the_loss_of_an_epoch_is_that_of_the_symbols():
    """With one batch and no step to speak of: the mean over symbols and ends, weighted."""
    sources, targets = [list("ab"), list("b"), list("aba")], [[1, 2, 3], [2], [3, 3]]
    weight = [1.0, 2.0, 0.0]
    model = RecurrentSeq2Seq(8, max_epochs=1, learning_rate=1e-12, random_state=0)
    model.fit(sources, targets, sample_weight=weight)
    losses, weights = [], []
    for source, target, w in zip(sources, targets, weight, strict=True):
        codes = torch.tensor([[ord(s) - ord("a") for s in source]])
        wanted = torch.tensor([[*(t - 1 for t in target), 3]])
        logs = (
            model.module_(codes, torch.tensor([len(source)]), wanted)[0][0]
            .detach()
            .log_softmax(dim=-1)
        )
        losses += [-float(logs[i, c]) for i, c in enumerate(wanted[0])]
        weights += [w] * len(wanted[0])
    np.testing.assert_allclose(
        model.history_["loss"][0], np.average(losses, weights=weights), rtol=1e-5
    )


@pytest.mark.parametrize("cell", ["elman", "lstm"])
def test_other_cells_learn_and_are_saved(cell, tmp_path):
    words = _words(0, n=100, longest=3)
    model = RecurrentSeq2Seq(24, cell=cell, max_epochs=15, learning_rate=0.02, random_state=0)
    model.fit(words, [["x", *word] for word in words])
    assert model.score(words, [["x", *word] for word in words]) > 0.9
    panlearn.save(model, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model")
    for a, b in zip(loaded.predict(words), model.predict(words), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("X", "y", "says"),
    [
        ([list("ab")], None, "target y is None"),
        ([list("ab")], [list("a"), list("b")], "1 sources and y 2 targets"),
        ([list("ab"), []], [list("a"), list("b")], "sequence 1.*empty"),
        ([list("ab"), list("a")], [list("a"), []], "targets y: sequence 1"),
        ([list("ab")], [["a", None]], "targets y: y holds a missing"),
        ([np.ones((3, 2))], [list("a")], "symbols"),
    ],
)
def test_what_is_no_pair_is_refused(X, y, says):
    with pytest.raises(ValueError, match=says):
        RecurrentSeq2Seq().fit(X, y)


def test_before_fit_and_beyond_the_symbols():
    with pytest.raises(NotFittedError):
        RecurrentSeq2Seq().predict([list("ab")])
    model = RecurrentSeq2Seq(4, max_epochs=1).fit([list("ab"), list("b")], [[1], [2]])
    with pytest.raises(ValueError, match="'z'"):
        model.predict([list("az")])


def test_threads_do_not_change_a_bit():
    words, before, found = _words(0, n=20), torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(RecurrentSeq2Seq(64, max_epochs=1, random_state=0).fit(words, words))
    finally:
        torch.set_num_threads(before)
    for name, value in found[0].weights_.items():
        np.testing.assert_array_equal(value, found[1].weights_[name], err_msg=name)
