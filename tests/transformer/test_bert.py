"""BERT: what is hidden and what is lost, vectors of texts, and fine-tuning."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_score

import panlearn
from panlearn.neural._draws import Share
from panlearn.neural._processes import Processes
from panlearn.neural._step import Step, Whole
from panlearn.text import WordPieceTokenizer
from panlearn.transformer import (
    BERT,
    BERTClassifier,
    BERTConfig,
    BERTRegressor,
    BERTTagger,
)
from panlearn.transformer import _bert_training as training
from panlearn.transformer._bert_texts import frame
from panlearn.transformer._folder import CheckpointError

SMALL = BERTConfig(1, 16, 2, 32, dropout=0.0)
CORPUS = ["the cat sat on the mat", "a dog ran in a park", "rain fell on the green hill"] * 4


def a_step(n, number=0, batch=None):
    """A step of n rows."""
    device = torch.device("cpu")
    more = {"processes": Processes("ddp", device), "whole": Whole(batch), "epoch": 0}
    return Step(Share(0, n, n), seed=1, number=number, device=device, **more)


@pytest.fixture(scope="module")
def model():
    return BERT(SMALL, max_epochs=3, learning_rate=1e-2, random_state=0).fit(CORPUS)


def test_fifteen_in_a_hundred_are_chosen_and_of_ten_eight_hidden_one_changed_one_kept():
    n, width = 2000, 100
    ids = torch.randint(10, 1000, (n, width), generator=torch.Generator().manual_seed(0))
    ordinary = torch.ones_like(ids, dtype=torch.bool)
    ordinary[:, [0, 50, 99]] = False
    seen, chosen = training.mask_words(ids, ordinary, 4, 10**6, a_step(n), width)
    assert (chosen.sum(1) == round(0.15 * 97)).all()
    assert not (chosen & ~ordinary).any()
    assert torch.equal(seen[~chosen], ids[~chosen])
    hidden, kept = (seen[chosen] == 4).float().mean(), (seen[chosen] == ids[chosen]).float().mean()
    # 30,000 draws: deviations of 0.0023 and 0.0017
    assert abs(hidden - 0.8) < 0.01
    assert abs(kept - 0.1) < 0.01
    other, _ = training.mask_words(ids, ordinary, 4, 10**6, a_step(n, 1), width)
    assert not torch.equal(other, seen)


def test_a_row_of_one_word_has_it_hidden():
    ids, ordinary = torch.tensor([[2, 9, 3]]), torch.tensor([[False, True, False]])
    _, chosen = training.mask_words(ids, ordinary, 4, 20, a_step(1), 8)
    assert chosen.tolist() == [[False, True, False]]


class _Known(torch.nn.Module):
    """States that are the tokens seen; scores that the test sets."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def forward(self, ids, segments, lengths):
        self.calls.append((ids, segments, lengths))
        return torch.nn.functional.one_hot(ids, 60).float()

    def words(self, states):
        return states * 3

    def order(self, states):
        return torch.tensor([[0.0, 1.0]]).expand(len(states), 2)


def test_pairs_are_two_pieces_of_one_document_or_of_two():
    special = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}
    documents = [list(range(10 + 10 * d, 17 + 10 * d)) for d in range(4)]
    pieces, owners, starts = training.cut(documents, 11, follow=True)
    assert [t for piece in pieces for t in piece] == [t for ids in documents for t in ids]
    assert len(pieces) == 8
    objective = training.Pretraining(pieces, owners, special, 60, follow=True)
    module, together = _Known(), []
    for number in range(50):
        batch = (torch.from_numpy(starts),)
        loss = objective(module, batch, a_step(len(starts), number, batch))
        assert loss.shape == (len(starts),)
        ids, segments, lengths = module.calls[-1]
        for row in range(len(ids)):
            text, kind = ids[row, : lengths[row]], segments[row, : lengths[row]]
            assert text[0] == 2
            assert text[-1] == 3
            end = int((text == 3).nonzero()[0])
            assert kind.tolist() == [0] * (end + 1) + [1] * (len(text) - end - 1)
            here = [{int(t) // 10 for t in part if t > 9} for part in (text[:end], text[end:])]
            together.append(bool(here[0] & here[1]))
    # half of 200 pairs; words that were changed may bring a few together by chance
    assert 0.35 < np.mean(together) < 0.75


class _Told(_Known):
    """Scores that favour one token at some places."""

    def __init__(self, at):
        super().__init__()
        self.at = at

    def forward(self, *batch):
        states = super().forward(*batch)
        states[..., 0] += 5.0 * self.at
        return states


def test_what_is_said_of_words_that_are_not_hidden_changes_no_loss():
    special = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}
    objective = training.Pretraining([list(range(10, 30))], np.zeros(1), special, 60, follow=False)
    ids, ordinary = torch.tensor([[2, *range(10, 30), 3]]), torch.ones(1, 22, dtype=torch.bool)
    ordinary[:, [0, -1]] = False
    _, chosen = training.mask_words(ids, ordinary, 4, 60, a_step(1), 43)
    plain, aside, there = (
        objective(module, (torch.tensor([0]),), a_step(1, batch=(torch.tensor([0]),)))
        for module in (_Known(), _Told(~chosen), _Told(chosen))
    )
    assert torch.equal(plain, aside)
    assert not torch.equal(plain, there)


def test_batched_vectors_are_those_of_each_text_alone(model):
    texts = ["the cat", "a", "", "the dog sat on the hill in the rain " * 9, ("the cat", "a dog")]
    together = model.transform(texts)
    alone = np.concatenate([model.transform([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    assert not np.allclose(together[0], model.transform([("the", "cat")])[0], atol=1e-3)


def test_pooling_and_length_of_vectors(model):
    rows = frame(model.tokenizer_, ["the cat", "a dog ran"], 32)
    with torch.inference_mode():
        states = [model.module_(*rows.batch([i]))[0].numpy() for i in range(2)]
    changed = clone(model).set_params(pooling="first")
    for name in ("config_", "tokenizer_", "n_tokens_", "lacking_", "weights_"):
        setattr(changed, name, getattr(model, name))
    texts = ["the cat", "a dog ran"]
    means = np.stack([s.mean(0) for s in states])
    np.testing.assert_allclose(model.transform(texts), means, atol=1e-6)
    firsts = np.stack([s[0] for s in states])
    np.testing.assert_allclose(changed.transform(texts), firsts, atol=1e-6)
    changed.set_params(pooling="mean", normalize=True)
    unit = means / np.linalg.norm(means, axis=1, keepdims=True)
    np.testing.assert_allclose(changed.transform(texts), unit, atol=1e-6)
    changed.set_params(max_length=3)
    np.testing.assert_allclose(changed.transform(["the cat"]), changed.transform(["the"]))


def test_it_fills_gaps(model):
    assert {"word_loss", "order_accuracy"} <= model.history_.keys()
    assert model.follows([("the cat sat", "on the mat")]).shape == (1,)
    config = BERTConfig(2, 32, 2, 32, dropout=0.0)
    options = {"max_epochs": 100, "learning_rate": 1e-2, "random_state": 0}
    model = BERT(config, next_sentence=False, **options).fit(CORPUS)
    assert model.fill_mask("the [MASK] sat on the mat", 1)[0][0][0] == "cat"
    several = model.fill_mask(["a [MASK] ran in a [MASK]", "rain [MASK] on"], top_k=3)
    assert [len(found) for found in several] == [2, 1]
    assert several[0][0][0][0] == "dog"
    shares = [p for _, p in several[0][0]]
    assert shares == sorted(shares, reverse=True)
    assert model.history_["word_loss"][-1] < 0.5 * model.history_["word_loss"][0]
    with pytest.raises(ValueError, match="next_sentence=True"):
        model.follows([("the cat sat", "on the mat")])
    maps = model.attention_maps("the cat sat")
    assert maps.shape == (2, 2, 5, 5)
    np.testing.assert_allclose(maps.sum(-1), 1, atol=1e-6)
    with pytest.raises(ValueError, match="no \\[MASK\\]"):
        model.fill_mask("the cat")
    with pytest.raises(ValueError, match="top_k"):
        model.fill_mask("the [MASK]", top_k=0)


@pytest.mark.parametrize("follow", [True, False])
def test_a_seed_gives_the_same_bits_whatever_the_pieces(follow):
    """Texts of several lengths, of which entries are left out: pieces draw what the whole does."""
    config = dataclasses.replace(SMALL, dropout=0.3)
    texts = [*CORPUS, "a cat", "the dog sat in the green park on a hill in the rain", "a mat"]
    how = {"next_sentence": follow, "max_epochs": 2, "random_state": 3, "optimizer": "sgd"}
    fitted = [
        BERT(config, accumulate=pieces, **how, learning_rate=0.1).fit(texts) for pieces in (1, 1, 3)
    ]
    for name, value in fitted[0].weights_.items():
        np.testing.assert_array_equal(fitted[1].weights_[name], value)
        # the same noise; sums of pieces differ in the last digits
        np.testing.assert_allclose(fitted[2].weights_[name], value, rtol=0, atol=1e-5)


def test_what_cannot_be_learned_from_is_said():
    with pytest.raises(ValueError, match="next_sentence=False"):
        BERT(SMALL).fit(["one document only"])
    BERT(SMALL, next_sentence=False, max_epochs=1).fit(["one document only"])
    with pytest.raises(ValueError, match="empty"):
        BERT(SMALL, WordPieceTokenizer(50), next_sentence=False).fit(["", " "])
    with pytest.raises(ValueError, match="MASK"):
        BERT(
            SMALL, WordPieceTokenizer(50, special_tokens=("[PAD]", "[UNK]", "[CLS]", "[SEP]"))
        ).fit(CORPUS)
    with pytest.raises(ValueError, match="multiple"):
        BERTConfig(1, 10, 3)


def test_the_longer_text_of_a_pair_is_cut():
    tokenizer = WordPieceTokenizer(60).fit(["a b c d e f g h i j"])

    def size(*texts):
        return int(frame(tokenizer, [texts], 11).second[0]) - 2

    assert size("a b c d e f g h i", "a b") == 6
    assert size("a b", "a b c d e f g h i") == 2
    assert size("a b c d e f g h", "a b c d e f g h") == 4
    assert size("a b c d", "a b c d") == 4
    ids = frame(tokenizer, [("a b c d e f g h i", "a b"), "a b c d e f g h i j"], 11)
    assert np.diff(ids.offsets).tolist() == [11, 11]
    assert ids.ids[10] == ids.ids[21] == tokenizer.vocab_["[SEP]"]


def test_a_folder_gives_the_model_back_and_broken_ones_are_refused(model, tmp_path):
    model.save_pretrained(tmp_path)
    again = BERT.from_pretrained(tmp_path)
    np.testing.assert_array_equal(again.transform(CORPUS[:3]), model.transform(CORPUS[:3]))
    assert again.fill_mask("the [MASK]") == model.fill_mask("the [MASK]")
    facts = json.loads((tmp_path / "config.json").read_text())
    for change, says in [
        ({"model_type": "gpt2"}, "gpt2"),
        ({"hidden_act": "swish"}, "swish"),
        ({"position_embedding_type": "relative_key"}, "relative_key"),
        ({"hidden_size": 32}, "shape"),
        ({"num_hidden_layers": 2}, "lacks the tensor"),
        ({"vocab_size": 10**9}, "shape"),
    ]:
        (tmp_path / "config.json").write_text(json.dumps(facts | change))
        with pytest.raises(CheckpointError, match=says):
            BERT.from_pretrained(tmp_path)
    del facts["vocab_size"]
    (tmp_path / "config.json").write_text(json.dumps(facts))
    with pytest.raises(CheckpointError, match="vocab_size"):
        BERT.from_pretrained(tmp_path)


def test_training_goes_on_from_a_folder(model, tmp_path):
    model.save_pretrained(tmp_path)
    again = BERT.from_pretrained(tmp_path).set_params(max_epochs=1, learning_rate=1e-9)
    again.set_params(random_state=0).fit(CORPUS)
    for name, value in model.weights_.items():
        np.testing.assert_allclose(again.weights_[name], value, atol=1e-6)


TEXTS = ["warm sun", "cold ice", "hot sand", "white snow"] * 6
LABELS = ["summer", "winter"] * 12


def test_classes_are_told_from_texts_and_from_pairs():
    model = BERTClassifier(config=SMALL, learning_rate=1e-2, random_state=0).fit(TEXTS, LABELS)
    assert model.score(TEXTS, LABELS) == 1.0
    np.testing.assert_allclose(model.predict_proba(TEXTS[:3]).sum(1), 1, rtol=1e-6)
    order = [("a", "b"), ("b", "a")] * 12
    paired = BERTClassifier(config=SMALL, learning_rate=1e-2, max_epochs=60, random_state=0)
    assert paired.fit(order, [0, 1] * 12).score(np.array(order), [0, 1] * 12) == 1.0


def test_weights_scale_losses_and_zero_leaves_out():
    conflict, labels = ["x"] * 20, [0, 1] * 10
    options = {"config": SMALL, "learning_rate": 1e-2, "max_epochs": 30, "random_state": 0}
    weight = np.where(np.array(labels) == 1, 3.0, 1.0)
    share = BERTClassifier(**options).fit(conflict, labels, weight).predict_proba(["x"])[0, 1]
    assert abs(share - 0.75) < 0.05
    kept = BERTClassifier(**options).fit(TEXTS[:8], LABELS[:8])
    more = BERTClassifier(**options).fit(
        [*TEXTS[:8], "odd text"], [*LABELS[:8], "summer"], [1] * 8 + [0]
    )
    np.testing.assert_array_equal(kept.decision_function(TEXTS), more.decision_function(TEXTS))


def test_numbers_keep_their_scale():
    y = 1e6 + 10.0 * np.array([1, -1, 1, -1] * 6)
    model = BERTRegressor(config=SMALL, learning_rate=1e-2, max_epochs=40, random_state=0)
    assert model.fit(TEXTS, y).score(TEXTS, y) > 0.95
    flat = BERTRegressor(config=SMALL, max_epochs=1, random_state=0).fit(TEXTS, np.full(24, 7.0))
    assert np.isfinite(flat.predict(TEXTS)).all()
    with pytest.raises(ValueError, match="NaN"):
        BERTRegressor().fit(["a", "b"], [1.0, np.nan])


def test_tags_depend_on_both_sides_and_long_texts_are_tagged_in_stretches():
    # the tag of x is that of the word after it
    texts = ["x a", "x b"] * 12
    tags = [["A", "A"], ["B", "B"]] * 12
    model = BERTTagger(config=SMALL, learning_rate=1e-2, max_epochs=40, random_state=0)
    model.fit(texts, tags)
    assert model.score(texts, tags) == 1.0
    assert model.predict([["x", "a"]])[0].tolist() == ["A", "A"]
    long = model.predict([" ".join(["a b"] * 40), "", "\u200b a"])
    assert [len(found) for found in long] == [80, 0, 2]
    with pytest.raises(ValueError, match="2 words and y"):
        model.fit(["x a"], [["A"]])
    with pytest.raises(ValueError, match="one tag a word"):
        model.fit(["x a"], ["A"])


def test_fine_tuning_starts_from_the_weights_of_the_encoder(model, tmp_path):
    slow = {"learning_rate": 1e-9, "max_epochs": 1, "weight_decay": 0.0, "random_state": 0}
    model.save_pretrained(tmp_path)
    for encoder in (model, str(tmp_path), tmp_path, FrozenEstimator(model)):
        tuned = BERTClassifier(encoder, **slow).fit(TEXTS, LABELS)
        for name, value in model.weights_.items():
            if name.startswith(("encoder.", "pooler.")):
                np.testing.assert_allclose(tuned.weights_[name], value, atol=1e-6, err_msg=name)
    with pytest.raises(ValueError, match="FrozenEstimator"):
        clone(BERTClassifier(model)).fit(TEXTS, LABELS)
    scores = cross_val_score(BERTClassifier(tmp_path, **slow), TEXTS, LABELS, cv=2)
    assert scores.shape == (2,)


@pytest.mark.parametrize("cls", [BERTClassifier, BERTRegressor, BERTTagger])
def test_saved_models_give_the_same_bits(cls, tmp_path):
    y = {"BERTRegressor": np.arange(24.0), "BERTTagger": [["a", "b"]] * 24}.get(
        cls.__name__, LABELS
    )
    model = cls(config=SMALL, max_epochs=1, random_state=0).fit(TEXTS, y)
    panlearn.save(model, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(TEXTS), model.predict(TEXTS))
