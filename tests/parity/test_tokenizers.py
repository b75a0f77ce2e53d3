"""Byte pair encoding against the packages tokenizers and tiktoken."""

import json
from pydoc_data.topics import topics

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from panlearn.text import BPETokenizer
from panlearn.text._bpe_files import GPT2

CORPUS = [topics[name] for name in sorted(topics)]
ODD = ["'s it's IT'S", " \n\n  x", "a" * 50, "1234567", "é世界😀 ", "", "\x00\x1c", "--- ==="]


def their_training(texts, vocab_size, special=(), min_frequency=0):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        special_tokens=list(special),
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def their_merges(tokenizer):
    return [tuple(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]


@pytest.mark.parametrize("min_frequency", [0, 5])
def test_the_same_text_gives_the_same_merges_and_ids(min_frequency):
    texts, special = CORPUS[::3], ("<|end|>",)
    theirs = their_training(texts, 1500, special, min_frequency)
    ours = BPETokenizer(1500, special_tokens=special, min_frequency=min_frequency).fit(texts)
    assert ours.merges_ == their_merges(theirs)
    assert ours.vocab_ | ours.special_tokens_ == theirs.get_vocab()
    for text in [*CORPUS[:20], *ODD]:
        assert ours.encode(text) == theirs.encode(text).ids


@given(texts=st.lists(st.text("ab -", max_size=20), min_size=1, max_size=5))
def test_ties_are_broken_alike(texts):
    theirs = their_training(texts, 280)
    assert BPETokenizer(280).fit(texts).merges_ == their_merges(theirs)


@pytest.mark.parametrize("pattern", ["gpt2", "llama3"])
def test_they_read_what_we_write_and_we_read_what_they_write(tmp_path, pattern):
    path = str(tmp_path / "tokenizer.json")
    ours = BPETokenizer(1000, pattern=pattern, special_tokens=("<|end|>",)).fit(CORPUS[:20])
    ours.to_huggingface(path)
    theirs = Tokenizer.from_file(path)
    theirs.save(path)
    back = BPETokenizer.from_huggingface(path)
    for text in [*CORPUS[20:30], *ODD, "a<|end|>b"]:
        encoded = theirs.encode(text)
        ids, offsets = ours.encode_offsets(text, special="atomic")
        assert ids == encoded.ids == back.encode(text, special="atomic")
        assert offsets == encoded.offsets
        assert theirs.decode(ids, skip_special_tokens=False) == ours.decode(ids) == text


def test_files_of_gpt2_give_their_ids(tmp_path):
    vocab, merges = tmp_path / "vocab.json", tmp_path / "merges.txt"
    ours = BPETokenizer(1000).fit(CORPUS[:20])
    ours.to_gpt2(vocab, merges)
    theirs = Tokenizer(models.BPE.from_file(str(vocab), str(merges)))
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    for text in [*CORPUS[20:30], *ODD]:
        assert theirs.encode(text).ids == ours.encode(text)


@given(text=st.text(st.characters(exclude_categories=["Cs", "Cn"]), max_size=50))
def test_tiktoken_gives_the_same_ids_for_the_same_merges(text):
    ours = _fitted()
    ranks = {content: number for number, content in ours._codec().tokens.items()}
    theirs = tiktoken.Encoding("same", pat_str=GPT2, mergeable_ranks=ranks, special_tokens={})
    for content in (text, *ODD):
        assert theirs.encode_ordinary(content) == ours.encode(content)


def _fitted(cache=[]):  # noqa: B006
    if not cache:
        cache.append(BPETokenizer(700).fit(CORPUS[:20]))
    return cache[0]
