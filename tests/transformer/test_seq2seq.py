"""Seq2Seq: masks, caches, the search against all answers, and what it learns."""

import itertools

import numpy as np
import pytest
import torch

import panlearn
from panlearn.transformer import Seq2Seq
from panlearn.transformer._seq2seq import Decoding, EncoderDecoder, search
from panlearn.transformer.seq2seq import inverse_root


def a_module(n_targets=3, seed=3, **options):
    with torch.random.fork_rng():
        torch.default_generator.manual_seed(seed)
        module = EncoderDecoder(4, n_targets, 8, 2, 16, 2, **options).double().eval()
        with torch.no_grad():
            module.head.weight *= 3  # far from uniform
    return module.requires_grad_(False)


SOURCES = torch.tensor([[0, 1, 2, 3], [3, 2, 0, 0], [1, 0, 0, 0]])
LENGTHS = torch.tensor([4, 2, 1])


@pytest.mark.parametrize("norm_before", [False, True])
def test_step_by_step_gives_what_all_at_once_gives(norm_before):
    module, target = a_module(norm_before=norm_before), torch.tensor([[0, 2, 1, 1, 2]] * 3)
    whole = module(SOURCES, LENGTHS, target)
    decoding, last = Decoding(module, SOURCES, LENGTHS), torch.full((3,), 3)
    for t in range(5):
        torch.testing.assert_close(decoding.step(last), whole[:, t], rtol=0, atol=1e-12)
        last = target[:, t]


def test_padding_changes_nothing_and_later_symbols_change_nothing():
    module, target = a_module(), torch.tensor([[0, 2, 1], [1, 1, 0], [2, 0, 0]])
    together = module(SOURCES, LENGTHS, target)
    for i, n in enumerate(LENGTHS.tolist()):
        alone = module(SOURCES[i : i + 1, :n], LENGTHS[i : i + 1], target[i : i + 1])
        torch.testing.assert_close(alone[0], together[i], rtol=0, atol=1e-12)
    other = target.clone()
    other[:, 1] = 2 - other[:, 1]
    moved = (module(SOURCES, LENGTHS, other) - together).abs().amax(dim=(0, 2))
    assert moved[:2].max() == 0
    assert moved[2] > 1e-6


def log_probability(module, i, answer):
    target = torch.tensor([[*answer, module.end]])
    scores = module(SOURCES[i : i + 1, : LENGTHS[i]], LENGTHS[i : i + 1], target)
    return float(scores.log_softmax(-1)[0, torch.arange(len(answer) + 1), target[0]].sum())


@pytest.mark.parametrize("seed", range(4))
def test_a_wide_beam_finds_the_best_of_all_answers(seed):
    """All answers of up to three symbols, with their probabilities, against the search."""
    module = a_module(n_targets=2, seed=seed)
    for i in range(3):
        chances = {
            answer: log_probability(module, i, answer)
            for size in range(4)
            for answer in itertools.product(range(2), repeat=size)
        }
        for penalty in (0.0, 0.3, 0.6, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0):
            worth = {a: p / ((6 + len(a)) / 6) ** penalty for a, p in chances.items()}
            found = search(module, SOURCES[i : i + 1], LENGTHS[i : i + 1], 16, 3, penalty)[0]
            assert tuple(found) == max(worth, key=worth.get)


def test_one_beam_takes_the_best_symbol_each_time():
    module = a_module(n_targets=5)
    found = search(module, SOURCES, LENGTHS, 1, 12, 0.0)
    for i in range(3):
        answer = []
        while len(answer) < 12:
            target = torch.tensor([[*answer, 0]])
            scores = module(SOURCES[i : i + 1, : LENGTHS[i]], LENGTHS[i : i + 1], target)
            best = int(scores[0, -1].argmax())
            if best == module.end:
                break
            answer.append(best)
        assert found[i] == answer


def test_answers_do_not_depend_on_the_batch():
    module = a_module(n_targets=5)
    together = search(module, SOURCES, LENGTHS, 3, 9, 0.6)
    for i, n in enumerate(LENGTHS.tolist()):
        alone = search(module, SOURCES[i : i + 1, :n], LENGTHS[i : i + 1], 3, 9, 0.6)
        assert alone == [together[i]]


def test_the_schedule_rises_to_one_and_falls_with_the_root():
    assert inverse_root(99, 100) == 1.0
    np.testing.assert_allclose(inverse_root(np.arange(4), 8), np.arange(1, 5) / 8)
    np.testing.assert_allclose(inverse_root(399, 100), 0.5)


def words(seed, n=300, longest=5):
    rng = np.random.default_rng(seed)
    return [rng.choice(list("abc"), size=rng.integers(1, longest)) for _ in range(n)]


@pytest.fixture(scope="module")
def reverser():
    options = {"learning_rate": 1e-2, "max_epochs": 25, "warmup": 50, "random_state": 0}
    sources = words(0)
    model = Seq2Seq(32, n_layers=1, n_heads=2, dropout=0.0, **options)
    return model.fit(sources, [word[::-1] for word in sources])


def test_words_are_turned_round_and_it_looks_where_it_should(reverser, tmp_path):
    new = words(1, 60)
    assert reverser.score(new, [word[::-1] for word in new]) > 0.9
    assert reverser.predict(new[0]).tolist() == reverser.predict([new[0]])[0].tolist()
    looks = reverser.alignment([list("abca")], [list("acba")])[0]
    assert looks.shape == (5, 4)
    np.testing.assert_allclose(looks.sum(1), 1, atol=1e-5)
    # a decoder may look one step aside, since states know their neighbours
    assert np.corrcoef(looks[:4].argmax(1), np.arange(4))[0, 1] < -0.8
    reverser.set_params(beam_width=3)
    assert reverser.score(new, [word[::-1] for word in new]) > 0.9
    panlearn.save(reverser, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model")
    for one, other in zip(loaded.predict(new), reverser.predict(new), strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="even"):
        Seq2Seq(33, n_heads=3).fit([["a"]], [["b"]])
    with pytest.raises(ValueError, match="multiple"):
        Seq2Seq(32, n_heads=3).fit([["a"]], [["b"]])
    with pytest.raises(ValueError, match="2 sources"):
        Seq2Seq(8).fit([["a"], ["b"]], [["b"]])
    with pytest.raises(ValueError, match="y is None"):
        Seq2Seq(8).fit([["a"]], None)
    model = Seq2Seq(8, max_epochs=1).fit([["a"], ["b"]], [["b"], ["a"]])
    with pytest.raises(ValueError, match="symbols"):
        model.predict([["z"]])


def test_a_weight_of_zero_is_an_absent_pair():
    sources = [list("ab"), list("ba"), list("aab")]
    options = {"max_epochs": 2, "random_state": 0}
    one = Seq2Seq(8, **options).fit(sources, sources, [1, 1, 0])
    other = Seq2Seq(8, **options).fit(sources[:2], sources[:2])
    for name, value in other.weights_.items():
        np.testing.assert_array_equal(one.weights_[name], value)
