"""Sentence encoders: learning from pairs, folders, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import panlearn
from panlearn.representation import (
    CosineSimilarity,
    MultipleNegativesRanking,
    PairSoftmax,
    SentenceEncoder,
    TripletMargin,
)
from panlearn.representation._sentence_module import pool
from panlearn.retrieval import HybridRetriever
from panlearn.transformer import BERT, BERTConfig
from panlearn.transformer.attention import attention, attention_weights

PAIRS = [
    ("a cat sat", "the feline rested"),
    ("it rains", "water falls from clouds"),
    ("we eat bread", "they have a meal"),
    ("he runs fast", "she is quick on foot"),
]
FAST = {"learning_rate": 1e-2, "max_epochs": 25, "random_state": 0}


@pytest.fixture(scope="module")
def model():
    return SentenceEncoder(**FAST).fit(PAIRS)


def test_partners_find_each_other_and_texts_do_so_after_any_way_to_give_them(model):
    one, other = zip(*PAIRS, strict=True)
    assert model.similarity(one, other).argmax(1).tolist() == [0, 1, 2, 3]
    assert model.history_["accuracy"][-1] == 1.0
    frame = pd.DataFrame(PAIRS, columns=["one", "other"])
    for same in (frame, frame.to_numpy(), np.array(PAIRS), iter(PAIRS)):
        again = SentenceEncoder(**FAST).fit(same)
        np.testing.assert_array_equal(again.transform(one), model.transform(one))


def test_similarity_is_the_cosine_of_texts_or_of_their_vectors(model):
    texts = ["a cat sat", "it rains", ""]
    vectors = model.transform(texts).astype(float)
    lengths = np.linalg.norm(vectors, axis=1)
    expected = vectors @ vectors.T / np.outer(lengths, lengths)
    np.testing.assert_allclose(model.similarity(texts), expected, atol=1e-6)
    np.testing.assert_allclose(model.similarity(vectors[:1], texts), expected[:1], atol=1e-6)
    with pytest.raises(ValueError, match=r"\(n, 32\)"):
        model.similarity(np.ones((2, 3)))


def test_a_third_text_is_kept_away():
    triples = [(a, b, PAIRS[(i + 1) % 4][1]) for i, (a, b) in enumerate(PAIRS)]
    for loss in (MultipleNegativesRanking(), TripletMargin(), TripletMargin(0.5, "cosine")):
        model = SentenceEncoder(loss=loss, **FAST).fit(triples)
        one, near, far = (model.transform(texts) for texts in zip(*triples, strict=True))
        closer = np.linalg.norm(one - near, axis=1) < np.linalg.norm(one - far, axis=1)
        assert closer.all(), loss


def test_cosines_are_learned():
    one = [a for a, _ in PAIRS]
    pairs = [(a, b) for a in one for b in one if a < b]
    y = np.linspace(-0.6, 0.9, len(pairs))
    model = SentenceEncoder(loss=CosineSimilarity(), normalize=True, **FAST | {"max_epochs": 60})
    model.fit(pairs, y)
    found = [model.similarity([a], [b])[0, 0] for a, b in pairs]
    assert np.corrcoef(found, y)[0, 1] > 0.95
    np.testing.assert_allclose(np.linalg.norm(model.transform(one), axis=1), 1, rtol=1e-5)


def test_pairs_are_classified_and_the_layer_is_saved_with_the_model(tmp_path):
    pairs = [(a, b) for a, b in PAIRS] + [(PAIRS[i][0], PAIRS[i - 1][1]) for i in range(4)]
    y = ["same"] * 4 + ["other"] * 4
    model = SentenceEncoder(loss=PairSoftmax(), **FAST | {"max_epochs": 40}).fit(pairs, y)
    assert model.classes_.tolist() == ["other", "same"]
    assert model.predict(pairs).tolist() == y
    share = model.predict_proba(pairs)
    np.testing.assert_allclose(share.sum(1), 1, rtol=1e-5)
    panlearn.save(model, tmp_path / "model")
    np.testing.assert_array_equal(panlearn.load(tmp_path / "model").predict_proba(pairs), share)
    assert not hasattr(SentenceEncoder(), "predict")
    u, v = (model.transform(texts).astype(float) for texts in zip(*pairs, strict=True))
    scores = np.hstack([u, v, np.abs(u - v)]) @ model.weights_["head.weight"].T
    scores = np.exp(scores + model.weights_["head.bias"])
    np.testing.assert_allclose(share, scores / scores.sum(1, keepdims=True), rtol=1e-4)


def test_texts_alone_are_spread_by_dropout():
    texts = [text for pair in PAIRS for text in pair]
    none = SentenceEncoder(config=BERTConfig(dropout=0.1), random_state=0, learning_rate=1e-12)
    learned = SentenceEncoder(config=BERTConfig(dropout=0.1), **FAST)
    away = [m.fit(texts).similarity(texts)[~np.eye(8, dtype=bool)].mean() for m in (none, learned)]
    assert away[1] < away[0] - 0.1
    assert learned.history_["accuracy"][-1] == 1.0


def test_folders_and_starts(model, tmp_path):
    texts = [text for pair in PAIRS for text in pair]
    model.save_pretrained(tmp_path / "folder")
    again = SentenceEncoder.from_pretrained(tmp_path / "folder")
    np.testing.assert_array_equal(again.transform(texts), model.transform(texts))
    assert again.get_params()["warm_start"]
    still = {"learning_rate": 1e-12, "max_epochs": 1, "random_state": 0, "weight_decay": 0.0}
    starts = [tmp_path / "folder", str(tmp_path / "folder"), model, FrozenEstimator(model)]
    for start in starts:
        tuned = SentenceEncoder(start, **still).fit(PAIRS)
        np.testing.assert_allclose(tuned.transform(texts), model.transform(texts), atol=1e-5)
    copy = clone(SentenceEncoder(FrozenEstimator(model), **still)).fit(PAIRS)
    np.testing.assert_allclose(copy.transform(texts), model.transform(texts), atol=1e-5)
    with pytest.raises(ValueError, match="not fitted"):
        clone(SentenceEncoder(model)).fit(PAIRS)
    with pytest.raises(ValueError, match="no folder"):
        SentenceEncoder(tmp_path / "gone").fit(PAIRS)
    with pytest.raises(ValueError, match="a folder; got a Logistic"):
        SentenceEncoder(FrozenEstimator(LogisticRegression())).fit(PAIRS)
    bert = BERT(next_sentence=False, max_epochs=1, random_state=0, pooling="first").fit(texts)
    from_bert = SentenceEncoder(bert, **still).fit(PAIRS)
    np.testing.assert_allclose(from_bert.transform(texts), bert.transform(texts), atol=1e-5)
    assert from_bert.pooling_ == ("cls",)
    asked = SentenceEncoder(model, pooling=["max", "mean"], normalize=True, max_length=3, **still)
    asked.fit(PAIRS)
    assert (asked.pooling_, asked.normalize_, asked.max_length_) == (("max", "mean"), True, 3)
    assert asked.transform(texts).shape == (8, 64)
    np.testing.assert_array_equal(
        asked.transform(["we eat"]),
        asked.transform(["we rest"]) * 0 + asked.transform(["we eat bread"]),
    )


@pytest.mark.parametrize(
    ("file", "change", "says"),
    [
        ("modules.json", [{"path": "", "type": "x.Dense"}], "lists Dense"),
        ("modules.json", [{"type": "x.Transformer"}], "path"),
        (
            "modules.json",
            [{"path": "..", "type": "Transformer"}, {"path": "", "type": "Pooling"}],
            "leads out",
        ),
        ("1_Pooling/config.json", {"pooling_mode": "median"}, "median"),
        ("config.json", {"model_type": "roberta"}, "roberta"),
        ("config_sentence_transformers.json", {"default_prompt_name": "query"}, "prompt"),
    ],
)
def test_folders_that_are_others_are_refused(model, tmp_path, file, change, says):
    model.save_pretrained(tmp_path)
    (tmp_path / file).write_text(json.dumps(change))
    with pytest.raises(ValueError, match=says):
        SentenceEncoder.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("loss", "X", "y", "says"),
    [
        (None, [("a", "b", "c", "d")], None, "takes examples of 1 or 2 or 3"),
        (None, [("a", "b"), ("a", "b", "c")], None, "example 1 has 3 texts"),
        (TripletMargin(), PAIRS, None, "TripletMargin takes examples of 3"),
        (CosineSimilarity(), PAIRS, None, "requires y"),
        (CosineSimilarity(), PAIRS, [0, 1, 2, 0], "pair 2 is 2.0"),
        (CosineSimilarity(), PAIRS, [0, np.nan, 0, 0], "pair 1 is nan"),
        (CosineSimilarity(), PAIRS, ["a"] * 4, "number for each pair"),
        (CosineSimilarity(), PAIRS, [0.1], "4 pairs and y 1"),
        (PairSoftmax(), PAIRS, ["a"] * 4, "class"),
    ],
)
def test_examples_that_do_not_fit_are_named(loss, X, y, says):
    with pytest.raises(ValueError, match=says):
        SentenceEncoder(loss=loss).fit(X, y)


def test_other_refusals(model):
    with pytest.raises(ValueError, match="single texts"):
        model.transform(PAIRS)
    with pytest.raises(ValueError, match="pooling="):
        SentenceEncoder(pooling=("mean", "mean")).fit(PAIRS)


def test_it_stands_in_pipelines_and_retrievers(model):
    texts = [text for pair in PAIRS for text in pair]
    probe = make_pipeline(FrozenEstimator(model), LogisticRegression(C=100))
    assert probe.fit(texts, [0, 0, 1, 1, 2, 2, 3, 3]).score(texts, [0, 0, 1, 1, 2, 2, 3, 3]) == 1
    found = HybridRetriever(encoder=FrozenEstimator(model)).fit([b for _, b in PAIRS])
    assert found.search("it rains", k=1).ids.tolist() == [1]
    assert model.get_feature_names_out()[0] == "sentenceencoder0"


def test_pooling_does_not_see_padding(rng):
    states, lengths = torch.tensor(rng.normal(size=(2, 5, 3))), torch.tensor([5, 2])
    for mode, expected in {
        "cls": lambda x: x[0],
        "max": lambda x: x.max(0),
        "mean": lambda x: x.mean(0),
        "mean_sqrt_len_tokens": lambda x: x.sum(0) / np.sqrt(len(x)),
        "weightedmean": lambda x: np.average(x, axis=0, weights=range(1, len(x) + 1)),
        "lasttoken": lambda x: x[-1],
    }.items():
        found = pool(states, lengths, mode).numpy()
        for i, n in enumerate(lengths):
            np.testing.assert_allclose(found[i], expected(states[i, :n].numpy()), err_msg=mode)


def test_attention_with_a_bias_on_its_scores(rng):
    q, k, v = (torch.tensor(rng.normal(size=(2, 3, 4, 5))) for _ in range(3))
    bias, mask = (
        torch.tensor(rng.normal(size=(3, 4, 4))),
        torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1]]),
    )
    mask = mask.bool()[:, None, None]
    scores = (q.numpy() @ k.numpy().swapaxes(2, 3)) / np.sqrt(5) + bias.numpy()
    shares = np.exp(scores) * mask.numpy()
    shares /= shares.sum(3, keepdims=True)
    weights = attention_weights(q, k, mask=mask, score_bias=bias)
    np.testing.assert_allclose(weights, shares, rtol=1e-10)
    found = attention(q, k, v, mask=mask, score_bias=bias)
    np.testing.assert_allclose(found, shares @ v.numpy(), rtol=1e-10)
    lower = np.exp(scores) * np.tri(4)
    lower /= lower.sum(3, keepdims=True)
    causal = attention(q, k, v, score_bias=bias, causal=True)
    np.testing.assert_allclose(causal, lower @ v.numpy(), rtol=1e-10)
    last = attention(q[:, :, 3:], k, v, score_bias=bias[:, 3:], causal=True, window=2)
    shares = np.exp(scores)[:, :, 3:] * (np.arange(4) > 1)
    expected = shares / shares.sum(3, keepdims=True) @ v.numpy()
    np.testing.assert_allclose(last, expected, rtol=1e-10)
