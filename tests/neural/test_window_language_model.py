"""WindowLanguageModel: laws that sum to one, perplexity, unknown words, draws."""

import itertools

import numpy as np
import pytest
import torch

from panlearn.neural import WindowLanguageModel
from panlearn.text import WordTokenizer

TEXTS = ["the cat sat on the mat", "the dog sat on the rug", "a dog ran"] * 3


def _model(**more):
    return WindowLanguageModel(
        2, **{"max_epochs": 40, "learning_rate": 0.02, "random_state": 0, **more}
    )


@pytest.fixture(scope="module")
def model():
    return _model().fit(TEXTS)


def test_the_law_after_a_window_is_learned(model):
    assert model.probability("sat", ["the", "cat"]) > 0.9
    assert model.probability("cat", ["the"]) > 0.3  # of two documents of three
    assert model.probability("</s>", ["dog", "ran"]) > 0.9
    # only the last two words count
    assert model.probability("on", ["rug", "cat", "sat"]) == model.probability("on", ["cat", "sat"])


def test_laws_sum_to_one_and_are_those_of_the_module(model):
    words = [*model.words_.tolist(), "</s>", "<unk>"]
    for context in ([], ["the"], ["dog", "sat"], ["zebra", "sat"]):
        law = np.array([model.probability(word, context) for word in words])
        np.testing.assert_allclose(law.sum(), 1, rtol=1e-12)
        window = torch.from_numpy(model._context(context)[None])
        expected = model.module_(window).softmax(dim=1)[0].detach()
        np.testing.assert_allclose(law, expected, rtol=0, atol=1e-6)


def test_scores_are_products_over_words_and_the_end(model):
    text = ["the", "cat", "ran"]
    steps = [model.probability(w, text[:i]) for i, w in enumerate([*text, "</s>"])]
    np.testing.assert_allclose(model.score_samples([text])[0], np.log(steps).sum(), rtol=1e-12)
    np.testing.assert_allclose(model.perplexity([text]), np.prod(steps) ** (-1 / 4), rtol=1e-12)
    several = [text, ["a"], [], ["dog", "sat"]]
    alone = [model.score_samples([t])[0] for t in several]
    np.testing.assert_allclose(model.score_samples(several), alone, rtol=1e-12)
    total = sum(len(t) + 1 for t in several)
    np.testing.assert_allclose(model.perplexity(several), np.exp(-sum(alone) / total), rtol=1e-12)


def test_short_documents_have_probabilities_that_sum_below_one(model):
    """Over all documents of up to two words; the rest is that of longer ones."""
    words = [*model.words_.tolist(), "<unk>"]
    texts = [list(t) for n in range(3) for t in itertools.product(words, repeat=n)]
    mass = np.exp(model.score_samples(texts)).sum()
    longer = sum(
        np.exp(model.score_samples([[*t]])[0])
        / model.probability("</s>", t)
        * (1 - model.probability("</s>", t))
        for t in texts
        if len(t) == 2
    )
    np.testing.assert_allclose(mass + longer, 1, rtol=1e-9)


def test_untrained_it_is_uniform_and_training_lowers_the_loss():
    model = _model(max_epochs=1, learning_rate=1e-12).fit(TEXTS)
    np.testing.assert_allclose(model.perplexity(TEXTS), len(model.words_) + 2, rtol=1e-6)
    trained = _model().fit(TEXTS)
    assert trained.perplexity(TEXTS) < 2
    assert trained.history_["loss"][-1] < trained.history_["loss"][0]


def test_rare_words_are_learned_as_the_unknown_one():
    model = _model(min_count=2).fit([*TEXTS, "the zebra sat"])
    assert "zebra" not in model.words_
    assert model.probability("<unk>", ["the"]) > 0.02
    assert model.probability("zebra", ["the"]) == model.probability("<unk>", ["the"])


def test_draws_follow_the_law_and_the_seed(model):
    drawn = model.sample(2000, random_state=1)
    assert drawn == model.sample(2000, random_state=1)
    first = np.mean([bool(d) and d[0] == "the" for d in drawn])
    # four deviations of 2000 draws
    assert abs(first - model.probability("the")) < 4 * np.sqrt(0.25 / 2000)
    after = model.sample(5, random_state=0, context=["the", "cat"], max_length=1)
    assert all(len(d) <= 1 for d in after)
    assert ["sat"] in after


def test_characters_are_words_too():
    model = WindowLanguageModel(
        3, tokenizer=WordTokenizer(pattern="(?s)."), max_epochs=60, random_state=0
    ).fit(["abcabcabcabc"] * 4)
    assert "".join(model.sample(1, random_state=0, context=list("abc"), max_length=3)[0]) == "abc"


def test_a_single_str_is_no_context(model):
    with pytest.raises(ValueError, match="list of words"):
        model.probability("cat", "the")
    with pytest.raises(ValueError, match="no document"):
        model.perplexity([])
