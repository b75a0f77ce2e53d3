"""WordPiece: what it learns and cuts, against definitions that are written out here."""

import itertools
import json
from collections import Counter

import numpy as np
import pytest

import panlearn
from panlearn.text import WordPieceTokenizer, _wordpiece

TEXTS = ["low lower lowest slow", "new newer newest renew", "wide wider widest"]


def by_definition(words, vocab_size, special):
    """Merge the most frequent pair, counted anew each time; ties by the two ids."""
    count = Counter(words)
    cut = {word: [word[0], *(f"##{c}" for c in word[1:])] for word in count}
    begins = sorted({c for word in count for c in word})
    follows = sorted({piece for pieces in cut.values() for piece in pieces[1:]})
    vocab = {token: i for i, token in enumerate([*special, *begins, *follows])}
    while len(vocab) < vocab_size:
        pairs = Counter()
        for word, pieces in cut.items():
            for pair in itertools.pairwise(pieces):
                pairs[pair] += count[word]
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], vocab[p[0]], vocab[p[1]]))
        made = best[0] + best[1].removeprefix("##")
        vocab.setdefault(made, len(vocab))
        for word, pieces in cut.items():
            joined = []
            for piece in pieces:
                if joined and (joined[-1], piece) == best:
                    joined[-1] = made
                else:
                    joined.append(piece)
            cut[word] = joined
    return vocab


@pytest.mark.parametrize("vocab_size", [26, 30, 60])
def test_the_most_frequent_pair_is_merged_again_and_again(vocab_size):
    tokenizer = WordPieceTokenizer(vocab_size).fit(TEXTS)
    expected = by_definition(" ".join(TEXTS).split(), vocab_size, tokenizer.special_tokens)
    assert tokenizer.vocab_ == expected


def test_the_longest_beginning_is_taken_and_a_word_that_cannot_be_cut_is_unknown():
    tokenizer = WordPieceTokenizer(60).fit(TEXTS)
    vocab = ("[UNK]", "un", "una", "##aff", "##able", "##ff", "##a", "a")
    tokenizer.vocab_ = {token: i for i, token in enumerate(vocab)}
    tokenizer.special_tokens_ = {"[UNK]": 0}
    assert tokenizer.tokens(tokenizer.encode("unaffable")) == ["una", "##ff", "##able"]
    assert tokenizer.encode("unaffablex a") == [0, 7]
    tokenizer.max_input_chars_per_word = 8
    assert tokenizer.encode("unaffable a") == [0, 7]


def test_text_is_cleaned_cut_and_folded_as_the_switches_say():
    words = lambda text, *switches: [w for w in _wordpiece.Cutter(*switches)(text) if w]  # noqa: E731
    text = "Élan\x00\tΣΑΣ 中文a, $5"
    assert words(text, True, True, True, True) == ["elan", "σασ", "中", "文", "a", ",", "$", "5"]
    assert words(text, True, False, False, False) == ["Élan", "ΣΑΣ", "中文a", ",", "$", "5"]
    assert words("É", False, False, False, True) == ["é"]
    assert words("a\x1cb", False, False, False, False) == ["a\x1cb"]
    assert words("a\x0bb\x1cc", True, False, False, False) == ["abc"]


def test_special_tokens_are_text_unless_they_are_asked_for():
    tokenizer = WordPieceTokenizer(60).fit([*TEXTS, "[ ] mask"])
    assert tokenizer.special_tokens_["[MASK]"] not in tokenizer.encode("low [MASK]")
    assert tokenizer.encode("[MASK]low", special="atomic")[0] == 4
    assert tokenizer.encode("[mask]", special="atomic")[0] != 4
    with pytest.raises(ValueError, match=r"\[MASK\]"):
        tokenizer.encode("low [MASK]", special="refuse")
    with pytest.raises(ValueError, match="atomic"):
        tokenizer.encode("low", special="any")


def test_the_rarest_characters_are_left_out_first():
    tokenizer = WordPieceTokenizer(60, limit_alphabet=2).fit(["aab aab", "ba", "abq"])
    assert not any("q" in token for token in tokenizer.vocab_)
    assert tokenizer.encode("abq") == [tokenizer.vocab_["[UNK]"]]
    assert tokenizer.encode("aab") == [tokenizer.vocab_["aab"]]


def test_decoding_reads_alike():
    tokenizer = WordPieceTokenizer(99).fit([*TEXTS, "so, is it? yes!"])
    ids = tokenizer.encode("So, is  it low? Yes!")
    assert tokenizer.decode(ids) == "so, is it low? yes!"
    assert tokenizer.decode([2, *ids, 3], skip_special_tokens=True) == tokenizer.decode(ids)
    assert tokenizer.inverse_transform([ids, []]) == [tokenizer.decode(ids), ""]
    with pytest.raises(ValueError, match="no id"):
        tokenizer.decode([10**6])


def test_a_long_life_does_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(_wordpiece, "_KEPT", 50)
    tokenizer = WordPieceTokenizer(60).fit(TEXTS)
    words = [f"low{'er' * i}" for i in range(40)]
    first = [tokenizer.encode(word) for word in words]
    assert [tokenizer.encode(word) for word in [*words, *words]] == 2 * first
    assert len(tokenizer._tables[1]) <= 50


def test_files_are_read_and_written_and_others_are_refused_by_name(tmp_path):
    path = tmp_path / "tokenizer.json"
    tokenizer = WordPieceTokenizer(40, lowercase=False, max_input_chars_per_word=7).fit(TEXTS)
    tokenizer.to_huggingface(path)
    again = WordPieceTokenizer.from_huggingface(path)
    assert again.vocab_ == tokenizer.vocab_
    assert again.special_tokens_ == tokenizer.special_tokens_
    assert again.encode_batch([*TEXTS, "Low lowestlowest"]) == tokenizer.encode_batch(
        [*TEXTS, "Low lowestlowest"]
    )
    content = json.loads(path.read_text())
    for place, value, says in [
        (("model", "type"), "BPE", "BPE"),
        (("model", "continuing_subword_prefix"), "@@", "@@"),
        (("model", "vocab"), {}, "vocabulary"),
        (("model", "vocab"), {"a": 1, "b": 1}, "different numbers"),
        (("model", "unk_token"), "<unk>", "<unk>"),
        (("normalizer", "type"), "NFKC", "NFKC"),
        (("pre_tokenizer", "type"), "Whitespace", "Whitespace"),
        (("added_tokens", 0, "single_word"), True, "single_word"),
    ]:
        changed = json.loads(path.read_text())
        part = changed
        for key in place[:-1]:
            part = part[key]
        part[place[-1]] = value
        other = tmp_path / "other.json"
        other.write_text(json.dumps(changed))
        with pytest.raises(ValueError, match=says):
            WordPieceTokenizer.from_huggingface(other)
    assert json.loads(path.read_text()) == content


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match="too small"):
        WordPieceTokenizer(10).fit(TEXTS)
    with pytest.raises(ValueError, match="unk_token"):
        WordPieceTokenizer(50, unk_token="?").fit(TEXTS)
    with pytest.raises(ValueError, match="different"):
        WordPieceTokenizer(50, special_tokens=("[UNK]", "[UNK]")).fit(TEXTS)


def test_a_saved_tokenizer_cuts_alike(tmp_path):
    tokenizer = WordPieceTokenizer(50).fit(TEXTS)
    tokenizer.encode("low")
    panlearn.save(tokenizer, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model")
    for a, b in zip(loaded.transform(TEXTS), tokenizer.transform(TEXTS), strict=True):
        np.testing.assert_array_equal(a, b)
