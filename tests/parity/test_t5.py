"""T5 against the package transformers."""

import json

import numpy as np
import pytest
import torch

import panlearn
from panlearn.transformer import Seq2Seq, T5Config
from panlearn.transformer._folder import CheckpointError
from panlearn.transformer._t5 import buckets

transformers = pytest.importorskip("transformers")
SMALL = {"d_model": 16, "d_kv": 6, "d_ff": 24, "num_heads": 2, "num_layers": 2, "vocab_size": 40}
SMALL |= {"decoder_start_token_id": 0, "num_decoder_layers": 3, "dropout_rate": 0.0}
STYLES = {
    "first": {"feed_forward_proj": "relu"},
    "1.1": {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
}
SOURCES = [[5, 9, 22, 1], [7, 1], [3, 30, 31, 32, 33, 34, 35, 36, 2, 12, 13, 14, 15, 1]]


@pytest.fixture(params=STYLES)
def pair(request, tmp_path):
    torch.manual_seed(0)
    peer = transformers.T5ForConditionalGeneration(
        transformers.T5Config(**SMALL, **STYLES[request.param])
    ).eval()
    with torch.no_grad():
        for name, weight in peer.named_parameters():
            if "relative" in name or "layer_norm" in name:  # that they matter, and differ
                weight.add_(torch.randn_like(weight), alpha=0.5)
            elif "shared" not in name:  # else a token is followed by itself
                weight.mul_(3)
    peer.save_pretrained(tmp_path)
    return peer, tmp_path


def padded(rows):
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
    return ids, torch.tensor([len(row) for row in rows])


def test_scores(pair):
    peer, folder = pair
    model = Seq2Seq.from_pretrained(folder)
    ids, lengths = padded(SOURCES)
    targets = torch.tensor([[8, 4, 2, 39], [11, 6, 5, 3], [0, 9, 9, 38]])
    mask = torch.arange(ids.shape[1]) < lengths[:, None]
    with torch.no_grad():
        expected = peer(input_ids=ids, attention_mask=mask, labels=targets).logits
        codes = torch.where(targets > 1, targets - 1, targets)  # 1 is the end, and comes last
        found = model.module_(ids, lengths, codes)
    order = [0, *range(2, 40), 1]
    torch.testing.assert_close(found, expected[..., order], rtol=0, atol=1e-4)
    looks = model.alignment(SOURCES, [row.tolist() for row in targets])
    with torch.no_grad():
        shifted = torch.nn.functional.pad(targets, (1, 0))  # from the start, and so the end too
        attention = peer.set_attn_implementation("eager") or peer(
            input_ids=ids, attention_mask=mask, decoder_input_ids=shifted, output_attentions=True
        )
    for row, weights in enumerate(looks):
        theirs = attention.cross_attentions[-1][row].mean(0)[:, : lengths[row]]
        np.testing.assert_allclose(weights, theirs, atol=1e-5)


def test_greedy_and_beam(pair):
    peer, folder = pair
    ids, lengths = padded(SOURCES)
    mask = torch.arange(ids.shape[1]) < lengths[:, None]
    how = {"input_ids": ids, "attention_mask": mask, "do_sample": False, "max_new_tokens": 13}
    how["use_cache"] = False  # its cache has as many layers as the encoder
    # what comes second in a target is the end from now on: random weights seldom come to their own
    end = peer.config.eos_token_id = int(peer.generate(**how)[0, 2])
    peer.save_pretrained(folder)
    ended = 0
    for width in (1, 4):
        model = Seq2Seq.from_pretrained(folder, max_length=12)
        model.set_params(beam_width=width)
        with torch.no_grad():
            made = peer.generate(**how, num_beams=width, length_penalty=0.0, eos_token_id=end)
        for found, row in zip(model.predict(SOURCES), made[:, 1:].tolist(), strict=True):
            if end in row:  # what has not ended by then, the package leaves without an end
                assert found.tolist() == row[: row.index(end)]
                ended += row.index(end) > 0
            elif width == 1:
                assert found.tolist() == row[: len(found)]
    assert ended


def test_it_learns_on_and_is_saved(pair, tmp_path):
    _, folder = pair
    model = Seq2Seq.from_pretrained(folder, max_length=6)
    model.set_params(max_epochs=30, learning_rate=1e-2, schedule="constant", random_state=0)
    targets = [[20, 21], [4], [6, 6, 6]]
    model.fit(SOURCES, targets)
    assert model.history_["loss"][-1] < model.history_["loss"][0] / 3  # smoothing has a floor
    panlearn.save(model, tmp_path / "model")
    again = panlearn.load(tmp_path / "model")
    for one, other in zip(model.predict(SOURCES), again.predict(SOURCES), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("both", [True, False])
def test_buckets(both):
    from transformers.models.t5.modeling_t5 import T5Attention

    far = torch.arange(-300, 300)
    found = buckets(far, T5Config(), both=both)
    assert torch.equal(found, T5Attention._relative_position_bucket(far, both))


@pytest.mark.parametrize(
    ("fact", "says"),
    [
        ({"num_layers": 10**9}, "lacks the tensors of 1000000000"),
        ({"vocab_size": float("inf")}, "Infinity is no number"),
        ({"d_model": 17}, "has shape"),
        ({"feed_forward_proj": "gated-silu"}, "gated-silu"),
        ({"new_thing": 3}, "new_thing=3 is not known here"),
        ({"model_type": "bart"}, "bart"),
        ({"eos_token_id": 99}, "among 40 tokens"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(pair, fact, says):
    _, folder = pair
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | fact))
    with pytest.raises(CheckpointError, match=says):
        Seq2Seq.from_pretrained(folder)


def test_a_folder_with_its_tokenizer_takes_texts(pair, tmp_path):
    """Texts in, texts out, as the package reads them; the vocabulary is padded in the model."""
    _, folder = pair
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0)]
    pieces += [(letter, -3.0) for letter in "abcdefghijklmno"] + [("▁a", -4.0), ("ab", -4.5)]
    tokenizer = transformers.T5Tokenizer(vocab=pieces, extra_ids=0)
    tokenizer.save_pretrained(folder)
    texts = ["a cab", "deaf no", "aé\n\tb"]
    model = Seq2Seq.from_pretrained(folder, max_length=8)
    ids = [tokenizer(text)["input_ids"] for text in texts]
    assert [model.tokenizer_.encode(t, add_special_tokens=True) for t in texts] == ids
    for found, row in zip(model.predict(texts), model.predict(ids), strict=True):
        known = [int(i) for i in row if i < len(tokenizer)]
        assert found == tokenizer.decode(known, skip_special_tokens=True)
    assert isinstance(model.predict(texts[0]), str)
    looks = model.alignment(texts, ["ab", "", "c"])
    assert [look.shape[1] for look in looks] == [len(row) for row in ids]
    model.set_params(max_epochs=150, learning_rate=5e-3, schedule="constant", random_state=0)
    model.fit(texts, ["ab", "no", "a cab"])
    assert model.predict(texts) == ["ab", "no", "a cab"]
    assert model.score(texts, ["ab", "no", "a deaf"]) == pytest.approx(2 / 3)
    panlearn.save(model, tmp_path / "model")
    assert panlearn.load(tmp_path / "model").predict(texts) == model.predict(texts)
    wide = Seq2Seq.from_pretrained(folder, tokenizer=None)
    assert wide.tokenizer_ is None
