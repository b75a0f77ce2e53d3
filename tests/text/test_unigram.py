"""What a unigram tokenizer promises, from brute force and by hand."""

import base64
import itertools
import json

import numpy as np
import pytest

import panlearn
from panlearn.text import UnigramTokenizer
from panlearn.transformer import Seq2Seq

PIECES = {"<unk>": 0.0, "</s>": 0.0, "▁": -1.5, "a": -2.0, "b": -2.5, "ab": -3.0, "ba": -4.6}
PIECES |= {"▁a": -3.4, "aba": -4.9, "bab": -6.0}
MARKS = {"<unk>": 0, "</s>": 1}


def best(word, pieces):
    """The highest sum of scores over all ways to cut a word."""
    n, found = len(word), -np.inf
    for cuts in itertools.product([False, True], repeat=n - 1):
        edges = [0, *(i + 1 for i, cut in enumerate(cuts) if cut), n]
        parts = [word[i:j] for i, j in itertools.pairwise(edges)]
        if all(part in pieces for part in parts):
            found = max(found, sum(pieces[part] for part in parts))
    return found


def test_the_way_to_cut_a_word_is_the_most_probable(rng):
    tokenizer = UnigramTokenizer(PIECES, special_tokens=MARKS)
    scores = list(PIECES.values())
    for _ in range(60):
        word = "".join(rng.choice(["a", "b"], size=rng.integers(1, 11)))
        ids = tokenizer.encode(word)
        assert "".join(tokenizer.tokens(ids)) == "▁" + word
        assert sum(scores[i] for i in ids) == pytest.approx(best("▁" + word, PIECES), abs=1e-12)
        assert tokenizer.decode(ids) == word


def test_what_is_unknown_is_one_token_or_its_bytes():
    tokenizer = UnigramTokenizer(PIECES, special_tokens=MARKS)
    assert tokenizer.tokens(tokenizer.encode("aéüb é")) == ["▁a", "<unk>", "b", "▁", "<unk>"]
    spelt = PIECES | {f"<0x{byte:02X}>": -20.0 for byte in range(256)}
    tokenizer = UnigramTokenizer(spelt, special_tokens=MARKS, byte_fallback=True)
    ids = tokenizer.encode("aé")
    assert tokenizer.tokens(ids) == ["▁a", "<0xC3>", "<0xA9>"]
    assert tokenizer.decode(ids) == "aé"
    assert tokenizer.decode(ids[:-1]) == "a\ufffd"


def test_no_text_smuggles_a_special_token_in():
    tokenizer = UnigramTokenizer(PIECES, special_tokens=MARKS, after=(1,))
    assert 1 not in tokenizer.encode("a</s>b")
    assert tokenizer.encode("a</s>b", special="atomic") == [7, 1, 2, 4]
    assert tokenizer.encode("a", add_special_tokens=True) == [7, 1]
    with pytest.raises(ValueError, match="'</s>'"):
        tokenizer.encode("a</s>b", special="refuse")


def document(**changes):
    model = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]]}
    made = {"model": model, "pre_tokenizer": {"type": "Metaspace"}}
    for path, value in changes.items():
        where, *rest = path.split("__")
        if rest:
            made[where][rest[0]] = value
        else:
            made[where] = value
    return made


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model__type": "BPE"}, "'BPE'"),
        ({"model__vocab": []}, "no vocabulary"),
        ({"model__vocab": [["a", "b"]]}, "no piece with its score"),
        ({"model__vocab": [["a", float("nan")]]}, "no piece with its score"),
        ({"model__vocab": [["a", -1.0], ["a", -2.0]]}, "twice"),
        ({"model__unk_id": None}, "unk_id=None"),
        ({"model__unk_id": 2}, "unk_id=2"),
        ({"normalizer": {"type": "Nmt"}}, "'Nmt'"),
        ({"normalizer": {"type": "Replace", "pattern": {"Regex": "x+"}, "content": ""}}, r"x\+"),
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "?"}}, "base64"),
        (
            {
                "normalizer": {
                    "type": "Precompiled",
                    "precompiled_charsmap": base64.b64encode(b"\xff\xff\xff\x00").decode(),
                }
            },
            "cut short",
        ),
        ({"pre_tokenizer": {"type": "ByteLevel"}}, "ByteLevel"),
        ({"pre_tokenizer__replacement": "_"}, "'_'"),
        ({"pre_tokenizer__prepend_scheme": "sometimes"}, "'sometimes'"),
        ({"post_processor": {"type": "BertProcessing"}}, "BertProcessing"),
        (
            {"added_tokens": [{"id": 2, "content": "<x>", "normalized": True}]},
            "normalized=True",
        ),
        ({"added_tokens": [{"id": 1, "content": "<x>"}]}, "'<x>' cannot have the id 1"),
    ],
)
def test_what_is_not_known_is_refused_by_name(tmp_path, changes, says):
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(document(**changes)))
    with pytest.raises(ValueError, match=says):
        UnigramTokenizer.from_huggingface(file)


def test_a_broken_table_of_characters_is_named():
    units = np.array([1 << 20, 5, 6], dtype="<u4").tobytes()
    table = base64.b64encode(len(units).to_bytes(4, "little") + units).decode()
    step = {"type": "Precompiled", "precompiled_charsmap": table}
    tokenizer = UnigramTokenizer(PIECES, normalizer=step)
    with pytest.raises(ValueError, match="broken"):
        tokenizer.encode("a")


def test_a_model_that_holds_one_is_saved(tmp_path):
    words = [list("ab"), list("ba")]
    model = Seq2Seq(8, n_layers=1, n_heads=2, max_epochs=1, random_state=0).fit(words, words)
    model.tokenizer_ = UnigramTokenizer(PIECES, special_tokens=MARKS)
    panlearn.save(model, tmp_path / "model")
    again = panlearn.load(tmp_path / "model").tokenizer_
    assert list(again.vocab.items()) == list(PIECES.items())
    assert again.encode("abba") == model.tokenizer_.encode("abba")
