"""Byte pair encoding against tokenizers and tiktoken, and edit distances against rapidfuzz.

The corpus is 20 MB of short phrases, from the texts of pydoc and the docstrings of the standard
library, shuffled. All encode with the same merges.
"""

import ast
import sysconfig
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
import tiktoken
from rapidfuzz import process
from rapidfuzz.distance import DamerauLevenshtein, Indel, Levenshtein
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from benchmarks.harness import Workload
from panlearn.text import BPETokenizer, edit_distances

SIZE, VOCABULARY = 20_000_000, 8000
GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def docstrings():
    """What the modules of the standard library say of themselves."""
    library = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted([*library.glob("*.py"), *library.glob("*/*.py")]):
        if {"site-packages", "idlelib"} & set(path.parts) or "test" in path.parent.name:
            continue
        try:
            tree = ast.parse(path.read_text("utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        for node in ast.walk(tree):
            if isinstance(node, documented) and (text := ast.get_docstring(node)):
                yield text


def corpus():
    """Chunks of 200 phrases of eight words."""
    words = " \n ".join([*topics.values(), *docstrings()]).split(" ")
    words = [word for word in words if word]
    phrases = [" ".join(words[i : i + 8]) for i in range(0, len(words), 8)]
    rng, lines, size = np.random.default_rng(0), [], 0
    while size < SIZE:
        for i in rng.permutation(len(phrases)):
            lines.append(phrases[i])
            size += len(phrases[i]) + 1
            if size >= SIZE:
                break
    return ["\n".join(lines[i : i + 200]) for i in range(0, len(lines), 200)]


def train(chunks):
    return BPETokenizer(VOCABULARY).fit(chunks)


def peer_train(chunks):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, show_progress=False, initial_alphabet=alphabet
    )
    tokenizer.train_from_iterator(chunks, trainer)
    return tokenizer


def trained():
    chunks = corpus()
    ours = train(chunks[::10])
    ranks = {content: number for number, content in ours._codec().tokens.items()}
    theirs = tiktoken.Encoding("same", pat_str=GPT2, mergeable_ranks=ranks, special_tokens={})
    vocab = dict(ours.vocab_)
    slow = Tokenizer(models.BPE(vocab=vocab, merges=ours.merges_))
    slow.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return chunks, ours, theirs, slow


def _compression(chunks, tokenizer):
    encode = tokenizer.encode_batch
    ids = [getattr(e, "ids", e) for e in encode(chunks[:200])]
    return {"characters a token": sum(map(len, chunks[:200])) / sum(map(len, ids))}


def _tokens(data, encoded):
    ids = [getattr(e, "ids", e) for e in encoded]
    same = data[1].decode(ids[0]) == data[0][0]
    return {"tokens": sum(map(len, ids)), "lossless": same}


def short_words():
    """2000 words of 4 to 12 letters: 500 and three misspellings of each, more or less far."""
    rng, alphabet, words = np.random.default_rng(0), list("abcdefghijklmnopqrstuvwxyz"), []
    for _ in range(500):
        root = rng.choice(list("etaoinshrdlucmfw"), rng.integers(4, 13))
        for _ in range(4):
            word = root.copy()
            for _ in range(rng.integers(0, 4)):
                word[rng.integers(len(word))] = rng.choice(alphabet)
            words.append("".join(word))
    return words


def long_strings():
    """300 strings of 500 letters of four kinds."""
    rng = np.random.default_rng(1)
    return ["".join(rng.choice(list("ACGT"), 500)) for _ in range(300)]


def _distances(name, build, scorer, **options):
    return Workload(
        name,
        "text.edit_distances",
        build,
        {
            "panlearn": lambda strings: edit_distances(strings, **options),
            "rapidfuzz": lambda strings: process.cdist(
                strings, strings, scorer=scorer.distance, workers=2
            ),
        },
        lambda strings, found: {"sum": found.sum()},
    )


def workloads():
    return [
        _distances("edit distances, 2000 x 2000 words", short_words, Levenshtein),
        _distances("edit distances, 300 x 300 of 500 letters", long_strings, Levenshtein),
        _distances("insertions and deletions, 2000 x 2000", short_words, Indel, substitute=2),
        _distances(
            "Damerau's distances, 2000 x 2000",
            short_words,
            DamerauLevenshtein,
            transposition="damerau",
        ),
        Workload(
            "BPE, 8000 tokens of 20 MB, training",
            "text.BPETokenizer",
            corpus,
            {"panlearn": train, "tokenizers": peer_train},
            _compression,
        ),
        Workload(
            "BPE, encoding 20 MB, one text after another",
            "text.BPETokenizer",
            trained,
            {
                "panlearn": lambda data: [data[1].encode(chunk) for chunk in data[0]],
                "tiktoken": lambda data: [data[2].encode_ordinary(chunk) for chunk in data[0]],
                "tokenizers": lambda data: [data[3].encode(chunk).ids for chunk in data[0]],
            },
            _tokens,
        ),
        Workload(
            "BPE, encoding 20 MB in a batch",
            "text.BPETokenizer",
            trained,
            {
                "panlearn": lambda data: data[1].encode_batch(data[0]),
                "tiktoken": lambda data: data[2].encode_ordinary_batch(data[0], num_threads=2),
                "tokenizers": lambda data: data[3].encode_batch(data[0]),
            },
            _tokens,
        ),
    ]
