"""CLIP against transformers: scores, loss, tokens, pixels and folders, with the same weights."""

import json
import pydoc_data.topics
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.datasets import load_sample_images

from panlearn.representation import CLIP, CLIPTokenizer
from panlearn.representation._objectives import paired_losses

transformers = pytest.importorskip("transformers")

CAPTIONS = ["a photo of a cat", "", "Dogs, running & barking " * 5, "naïve CAFÉ 42", "x"]
HARD = [
    *("", "  ", "Hello   World's don't I'LL we've!!!", "''s '' 'S", "  'tis", "_under_score_ a_b"),
    *("naïve café ΣΊΣΥΦΟΣ İstanbul", "a\u0301 e\u0301 \u212b", "ﬁ Ⓐ ſ ß ẞ ǅ", "İI ıi ﷽ ؟"),
    *(
        "日本語のテキスト 123 4½ ² Ⅷ ٣ 〇一",
        "🙂🙃 👩‍👩‍👧",
        "\x1c \x1f tab\there\n",
        "a\u00a0b\u3000c",
    ),
    *("\u200b\ufeff zero", "x" * 300, "\ud7ff \x00 \x7f", "http://a.b/c?d=1,000.50"),
    *list(pydoc_data.topics.topics.values())[:6],
]


@pytest.fixture(scope="module")
def tokenizer():
    return CLIPTokenizer.learn([*HARD[-3:], "a photo of a cat, a dog"], 900)


@pytest.fixture(scope="module")
def folder(tokenizer, tmp_path_factory):
    """A model with random weights, as the peer saves it."""
    path = tmp_path_factory.mktemp("clip")
    torch.manual_seed(0)
    marks = [tokenizer.vocab[m] for m in ("<|startoftext|>", "<|endoftext|>")]
    shape = {"num_hidden_layers": 2, "num_attention_heads": 4}
    config = transformers.CLIPConfig(
        text_config={
            **{"hidden_size": 32, "intermediate_size": 48, "max_position_embeddings": 12},
            **{"vocab_size": tokenizer.n_tokens + 3, "hidden_act": "gelu", **shape},
            **{"bos_token_id": marks[0], "eos_token_id": marks[1]},
        },
        vision_config={
            **{"hidden_size": 40, "intermediate_size": 56, "image_size": 24, "patch_size": 8},
            **shape,
        },
        projection_dim=16,
    )
    model = transformers.CLIPModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    size = {"shortest_edge": 24}, {"height": 24, "width": 24}
    processor(size=size[0], crop_size=size[1]).save_pretrained(path)
    return path, model


def processor(**options):
    module = transformers.models.clip.image_processing_pil_clip
    return module.CLIPImageProcessorPil(**options)


def test_tokens_are_those_of_transformers(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path)
    theirs = transformers.CLIPTokenizer.from_pretrained(tmp_path)
    for text in HARD:
        ids = theirs(text)["input_ids"]
        assert tokenizer.encode(text) == ids, text[:40]
        assert (
            tokenizer.encode(text, 20) == theirs(text, truncation=True, max_length=20)["input_ids"]
        )
    plain = "a photo of a cat , a dog"
    assert tokenizer.decode(tokenizer.encode(plain)) == plain
    assert theirs.decode(tokenizer.encode(plain), skip_special_tokens=True) == plain
    (tmp_path / "vocab.json").unlink()  # and the one file that the peer writes
    theirs.save_pretrained(tmp_path)
    again = CLIPTokenizer.from_pretrained(tmp_path)
    assert [again.encode(text) for text in HARD] == [tokenizer.encode(text) for text in HARD]


def test_what_has_no_token_is_what_transformers_makes_of_it(tmp_path):
    letters = {"a": 0, "b": 1, "b</w>": 2, "ab</w>": 3, "<|startoftext|>": 4, "<|endoftext|>": 5}
    ours = CLIPTokenizer(letters, [("a", "b</w>")])
    ours.save_pretrained(tmp_path)
    theirs = transformers.CLIPTokenizer.from_pretrained(tmp_path)
    for text in ("ab", "aab b", "abc", "ça b"):
        assert ours.encode(text) == theirs(text)["input_ids"]


def test_a_tokenizer_of_another_kind_is_refused(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path)
    transformers.CLIPTokenizer.from_pretrained(tmp_path).save_pretrained(tmp_path)
    document = json.loads((tmp_path / "tokenizer.json").read_text())
    document["normalizer"]["normalizers"].pop()
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match="not as CLIP does"):
        CLIPTokenizer.from_pretrained(tmp_path)
    document["model"]["end_of_word_suffix"] = None
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match="none of CLIP"):
        CLIPTokenizer.from_pretrained(tmp_path)


def test_scores_and_loss_are_those_of_transformers(folder):
    path, theirs = folder
    ours = CLIP.from_pretrained(path)
    images = np.random.default_rng(0).integers(0, 256, (5, 3, 24, 24), dtype=np.uint8)
    tokens = transformers.CLIPTokenizer.from_pretrained(path)(
        CAPTIONS, padding=True, truncation=True, max_length=12, return_tensors="pt"
    )
    pixels = processor(do_resize=False, do_center_crop=False)(images=list(images))["pixel_values"]
    with torch.inference_mode():
        expected = theirs(pixel_values=torch.tensor(np.stack(pixels)), return_loss=True, **tokens)
    np.testing.assert_allclose(
        ours.similarity(images, CAPTIONS), expected.logits_per_image, rtol=0, atol=1e-4
    )
    np.testing.assert_allclose(ours.encode_image(images), expected.image_embeds, atol=1e-5)
    np.testing.assert_allclose(ours.encode_text(CAPTIONS), expected.text_embeds, atol=1e-5)
    vectors = torch.tensor(ours.encode_image(images)), torch.tensor(ours.encode_text(CAPTIONS))
    whole = SimpleNamespace(share=SimpleNamespace(idle=False, low=0), gather=lambda rows: rows)
    losses = paired_losses(*vectors, theirs.logit_scale.detach(), whole)
    assert float(losses.mean()) == pytest.approx(float(expected.loss), abs=1e-5)


def test_the_folder_that_is_written_is_read_by_transformers(folder, tmp_path):
    path, theirs = folder
    CLIP.from_pretrained(path).save_pretrained(tmp_path)
    again = transformers.CLIPModel.from_pretrained(tmp_path)
    for name, weight in theirs.state_dict().items():
        torch.testing.assert_close(again.state_dict()[name], weight, rtol=0, atol=0)
    for part in ("text_config", "vision_config"):
        ours, given = (getattr(m.config, part).to_dict() for m in (again, theirs))
        for name in ("hidden_act", "hidden_size", "layer_norm_eps", "num_attention_heads"):
            assert ours[name] == given[name]
    made = transformers.CLIPTokenizer.from_pretrained(tmp_path)
    assert made("a photo")["input_ids"] == CLIP.from_pretrained(path).tokenizer_.encode("a photo")
    facts = json.loads((tmp_path / "preprocessor_config.json").read_text())
    given = json.loads((path / "preprocessor_config.json").read_text())
    for name in ("size", "crop_size", "resample", "image_mean", "image_std", "rescale_factor"):
        assert facts[name] == pytest.approx(given[name]), name


@pytest.mark.parametrize("resample", [2, 3])
def test_pixels_are_those_of_transformers_to_one_level(folder, tmp_path, resample):
    path, _ = folder
    CLIP.from_pretrained(path).save_pretrained(tmp_path)
    size = {"shortest_edge": 30}, {"height": 24, "width": 24}
    theirs = processor(size=size[0], crop_size=size[1], resample=resample)
    theirs.save_pretrained(tmp_path)
    ours = CLIP.from_pretrained(tmp_path)
    photographs = [image[::3, ::4] for image in load_sample_images().images]
    tall = np.moveaxis(photographs[0], 0, 1)
    images = [*photographs, tall, photographs[1][:20, :25], photographs[0][:30, :100]]
    expected = np.stack(theirs(images=images)["pixel_values"])
    found = ours._scaled(ours._read(images, reset=False))
    level = 1.01 / ours.scale_.min()  # of 256, and the rounding of the rest
    np.testing.assert_allclose(found, expected, rtol=0, atol=level)
    assert (np.abs(found - expected) > 1e-5).mean() < 0.01
