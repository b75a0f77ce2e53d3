"""CLIP: pairs find each other, what is kept, images of any size, bad data, files."""

import json
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch

import panlearn
from panlearn.representation import CLIP, CLIPTokenizer, Tower
from panlearn.representation._clip import TextEncoder
from panlearn.representation._preparation import Preparation

TEXTS = ["bright above", "bright below"]
SMALL = dict(
    n_components=8, vision=Tower(1, 16), text=Tower(1, 16), context=8, batch_size=20, random_state=0
)


def halves(rng, n=40, side=6):
    """Images that are bright above or below, and what says so."""
    y = np.arange(n) % 2
    X = 0.5 * rng.normal(size=(n, side, side))
    X[y == 0, : side // 2] += 2
    X[y == 1, side // 2 :] += 2
    return X, [TEXTS[i] for i in y]


@pytest.fixture(scope="module")
def fitted():
    X, texts = halves(np.random.default_rng(0))
    return CLIP(**SMALL, max_epochs=15, learning_rate=3e-3).fit(X, texts)


def test_an_image_that_was_not_seen_finds_its_text(fitted, rng):
    X, _ = halves(rng)
    scores = fitted.similarity(X, TEXTS)
    assert (scores.argmax(axis=1) == np.arange(40) % 2).mean() > 0.9
    assert fitted.history_["loss"][-1] < fitted.history_["loss"][0]
    assert {"scale", "spread", "rank"} <= set(fitted.history_)


def test_similarities_are_scaled_cosines_of_unit_vectors(fitted, rng):
    X, _ = halves(rng, 4)
    one, other = fitted.encode_image(X), fitted.encode_text(["bright", "sky above", ""])
    for vectors in (one, other):
        assert vectors.dtype == np.float32
        np.testing.assert_allclose((vectors**2).sum(axis=1), 1, rtol=1e-5)
    scale = np.exp(fitted.weights_["log_scale"])
    found = fitted.similarity(X, ["bright", "sky above", ""])
    np.testing.assert_allclose(found, scale * one @ other.T, rtol=1e-5)
    np.testing.assert_array_equal(fitted.transform(X), one)
    assert list(fitted.get_feature_names_out())[:2] == ["clip0", "clip1"]


def test_the_scale_stays_below_a_hundred(rng):
    X, texts = halves(rng, 8)
    model = CLIP(**SMALL, max_epochs=1, temperature=0.001).fit(X, texts)
    assert model.logit_scale_ == pytest.approx(100)
    assert model.history_["scale"] == pytest.approx([100])


def test_a_text_sees_nothing_after_its_end():
    torch.manual_seed(0)
    encoder = TextEncoder(Tower(2, 16), 30, 9, 4)
    ids = torch.randint(30, (3, 9))
    last = torch.tensor([2, 5, 8])
    found = encoder(ids, last)
    for i, end in enumerate(last.tolist()):
        alone = encoder(ids[i : i + 1, : end + 1], last[i : i + 1])
        torch.testing.assert_close(alone[0], found[i])
    ids[:, 0] = (ids[:, 0] + 1) % 30  # and all before it
    assert (encoder(ids, last) - found).abs().amax(dim=1).min() > 1e-3


def test_the_end_of_a_long_text_is_not_seen_but_its_mark_is(fitted):
    words = "above " * 20
    kept = fitted.tokenizer_.encode(words, fitted.context)
    assert len(kept) == 8
    assert kept[-1] == fitted.tokenizer_.vocab["<|endoftext|>"]
    one, other = fitted.encode_text([words, words + " below"])
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_images_of_other_sizes_are_resized_and_cut(fitted, rng):
    X, _ = halves(rng, 2)
    wide = np.kron(X[0], np.ones((3, 3)))
    wide = np.concatenate([wide[:, :3], wide, wide[:, -3:]], axis=1)  # 18 x 24: the sides are lost
    found = fitted.transform([wide, X[1]])
    assert found.shape == (2, 8)
    assert found[0] @ fitted.transform(X[:1])[0] > 0.95
    np.testing.assert_allclose(found[1], fitted.transform(X[1:])[0], atol=1e-6)
    flat = fitted.transform(X.reshape(2, 36))
    np.testing.assert_allclose(flat, fitted.transform(X), atol=1e-6)


def test_fit_on_images_of_many_sizes(rng):
    X = [rng.integers(0, 256, (int(h), 9, 3), dtype=np.uint8) for h in rng.integers(8, 20, 6)]
    model = CLIP(**SMALL, image_size=8, patch_size=4, max_epochs=1).fit(X, ["a", "b"] * 3)
    assert model.image_shape_ == (3, 8, 8)
    grey = X[0][..., 0]
    np.testing.assert_array_equal(
        model.transform([grey]), model.transform([np.stack([grey] * 3, axis=2)])
    )
    opaque = np.concatenate([X[1], np.full((*X[1].shape[:2], 1), 7, np.uint8)], axis=2)
    np.testing.assert_array_equal(model.transform([opaque]), model.transform([X[1]]))
    first = np.moveaxis(X[2], 2, 0)
    np.testing.assert_array_equal(model.transform([first]), model.transform([X[2]]))


def test_a_picture_that_shrinks_is_averaged():
    ramp = np.arange(12.0)[None].repeat(12, axis=0)
    (found,) = Preparation(1, 4, 4, 4, "bilinear")([ramp])
    # a triangle three pixels wide on either side of each centre; by symmetry the middle is exact
    np.testing.assert_allclose(found[0, 0, 1:3], [4.0, 7.0], atol=1e-12)
    (whole,) = Preparation(1, 4, 4, 4)([(20 * ramp).astype(np.uint8)])
    assert whole.dtype == np.uint8
    constant = Preparation(1, 5, 5, 5)([np.full((7, 11), 3.0)])
    np.testing.assert_allclose(constant, 3.0, rtol=1e-12)


def test_the_middle_is_cut_out():
    image = np.arange(4 * 8).reshape(4, 8).astype(np.uint8)
    (found,) = Preparation(1, 4, 4, 4)([image])
    np.testing.assert_array_equal(found[0], image[:, 2:6])


def test_pieces_of_a_batch_change_nothing(rng):
    X, texts = halves(rng, 24)
    whole = CLIP(**SMALL, max_epochs=2).fit(X, texts).transform(X)
    pieces = CLIP(**SMALL, max_epochs=2, accumulate=3).fit(X, texts).transform(X)
    np.testing.assert_allclose(pieces, whole, rtol=0, atol=1e-5)  # float32


def test_save_load_and_folders_give_the_same(fitted, rng, tmp_path):
    X, _ = halves(rng, 4)
    expected = fitted.similarity(X, TEXTS)
    panlearn.save(fitted, tmp_path / "model")
    np.testing.assert_array_equal(panlearn.load(tmp_path / "model").similarity(X, TEXTS), expected)
    fitted.save_pretrained(tmp_path / "folder")
    again = CLIP.from_pretrained(tmp_path / "folder")
    np.testing.assert_allclose(again.similarity(X, TEXTS), expected, rtol=1e-5, atol=1e-5)
    more = again.set_params(max_epochs=1, learning_rate=1e-6, batch_size=4).fit(X, TEXTS * 2)
    np.testing.assert_allclose(more.similarity(X, TEXTS), expected, atol=0.01)  # it goes on


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (dict(y=None), "requires y"),
        (dict(y=["a"] * 39), "40 images and y 39 texts"),
        (dict(y=["a"] * 39 + [None]), "row 39 is None"),
        (dict(y="a" * 40), "must hold one target a row"),
        (dict(y=np.arange(40)), "row 0 is"),
        (dict(X=np.full((40, 6, 6), np.nan)), "NaN"),
        (dict(X=[np.ones((3, 3)), np.ones((2, 5))] * 20), "inhomogeneous|shape"),
    ],
)
def test_bad_pairs_are_named(rng, change, says):
    X, texts = halves(rng)
    given = {"X": X, "y": texts} | change
    with pytest.raises(ValueError, match=says):
        CLIP(**SMALL, max_epochs=1).fit(**given)


@pytest.mark.parametrize(
    ("image", "says"),
    [
        (np.ones((2, 2, 2, 2)), "image 1 has shape"),
        (np.array([["a", "b"]]), "image 1 has shape"),
        (np.ones((7, 9, 3)), "image 1 has 3 channels; the model knows 1"),
    ],
)
def test_what_is_no_image_is_named(fitted, image, says):
    with pytest.raises(ValueError, match=says):
        fitted.transform([np.ones((6, 6)), image])


def test_batches_and_towers_that_cannot_be():
    with pytest.raises(ValueError, match="must be at least 2"):
        CLIP(batch_size=1).fit(np.ones((4, 4, 4)), ["a"] * 4)
    with pytest.raises(ValueError, match="width=10 is not a multiple of n_heads=4"):
        Tower(1, 10, 4)


def test_folders_that_do_not_fit_are_refused(fitted, tmp_path):
    fitted.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())

    def changed(part, **values):
        other = json.loads(json.dumps(config))
        (other if part is None else other[part]).update(values)
        (tmp_path / "config.json").write_text(json.dumps(other))

    for part, values, says in [
        (None, {"model_type": "bert"}, "type 'bert'; can be read: clip"),
        ("text_config", {"hidden_act": "swish"}, "hidden_act='swish'"),
        ("text_config", {"hidden_size": 24}, "has shape"),
        ("text_config", {"num_hidden_layers": 2}, "lacks the tensor"),
        ("vision_config", {"num_hidden_layers": 10**6}, "lacks the tensor"),  # and at once
        ("text_config", {"vocab_size": 3}, "the tokenizer has ids to"),
        ("text_config", {"eos_token_id": 5}, "eos_token_id=5"),
        ("vision_config", {"num_attention_heads": 5}, "not a multiple"),
        ("vision_config", {"patch_size": "8"}, "patch_size must be a number from 1 to 1000000"),
        ("vision_config", {"image_size": 10**9}, "image_size must be a number from 1"),
        (None, {"projection_dim": 0}, "projection_dim must be a number"),
        (None, {"text_config": [1]}, "text_config must be an object"),
        ("vision_config", {"image_size": 7}, "crop to image_size=7"),  # as many patches
    ]:
        changed(part, **values)
        with pytest.raises(ValueError, match=says):
            CLIP.from_pretrained(tmp_path)
    changed(None)
    (tmp_path / "vocab.json").unlink()
    with pytest.raises(ValueError, match=r"neither tokenizer\.json nor vocab\.json"):
        CLIP.from_pretrained(tmp_path)


def test_a_folder_for_others_holds_square_images(rng, tmp_path):
    model = CLIP(**SMALL, max_epochs=1).fit(rng.normal(size=(6, 4, 6)), ["a", "b"] * 3)
    with pytest.raises(ValueError, match="4 x 6 pixels"):
        model.save_pretrained(tmp_path)


# -- the tokenizer ---------------------------------------------------------------------------------


def counted(words, n_merges):
    """Byte pairs by the book: count all pairs, merge the first of the most frequent."""
    tokenizer = CLIPTokenizer.learn([""], 514)
    ids = dict(tokenizer.vocab)
    words = {(*w[:-1], w[-1] + "</w>"): n for w, n in Counter(words).items()}
    merges = []
    for _ in range(n_merges):
        pairs = Counter()
        for word, n in words.items():
            for pair in pairwise(word):
                pairs[pair] += n
        best = min(pairs, key=lambda p: (-pairs[p], ids[p[0]], ids[p[1]]))
        merges.append(best)
        ids["".join(best)] = 600 + len(merges)
        joined = Counter()
        for word, n in words.items():
            made, i = [], 0
            while i < len(word):
                two = word[i : i + 2] == best
                made.append("".join(word[i : i + 1 + two]))
                i += 1 + two
            joined[tuple(made)] += n
        words = joined
    return merges


def test_merges_are_those_of_the_counts():
    text = "low lower lowest slow slower low low newest newer news newer"
    tokenizer = CLIPTokenizer.learn([text.upper()], 514 + 9)
    assert tokenizer.merges == counted(text.split(), 9)
    assert tokenizer.n_tokens == 523
    assert tokenizer.tokens(tokenizer.encode("LOW  low"))[1:-1] == ["low</w>", "low</w>"]


def test_every_text_is_encoded_and_decoded():
    tokenizer = CLIPTokenizer.learn([""], 600)
    assert tokenizer.n_tokens == 514
    text = "ünïcode 日本 🙂 42"
    assert tokenizer.decode(tokenizer.encode(text)) == "ünïcode 日本 🙂 4 2"
    marks = [tokenizer.vocab[m] for m in ("<|startoftext|>", "<|endoftext|>")]
    assert tokenizer.encode("<|endoftext|>")[:1] == marks[:1]
    assert marks[1] not in tokenizer.encode("<|endoftext|>")[1:-1]  # letters like others


def test_tokenizers_that_cannot_be():
    with pytest.raises(ValueError, match="too small"):
        CLIPTokenizer.learn(["a"], 100)
    with pytest.raises(ValueError, match="has no token"):
        CLIPTokenizer({"<|startoftext|>": 0}, [])
    with pytest.raises(ValueError, match="dict of tokens to ids"):
        CLIPTokenizer(["a"], [])
    with pytest.raises(ValueError, match="two tokens that make a third"):
        CLIPTokenizer({"<|startoftext|>": 0, "<|endoftext|>": 1}, [(1, 2)])
    with pytest.raises(ValueError, match="one id"):
        CLIPTokenizer({"<|startoftext|>": 0, "<|endoftext|>": 0}, [])
    with pytest.raises(ValueError, match="two tokens that make a third"):
        CLIPTokenizer({"<|startoftext|>": 0, "<|endoftext|>": 1}, [("a", "b")])
    with pytest.raises(ValueError, match="no id"):
        CLIPTokenizer.learn(["a"], 600).decode([10**6])
