"""The corrector: the index against a scan of the lexicon, the ranking by hand."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import panlearn
from panlearn.text import NGramModel, SpellCorrector
from panlearn.text._delete_index import DeleteIndex
from panlearn.text.spell_corrector import soundex

CATS = ["the cat sat on the mat", "the dog sat on the cat"]


def distance(a, b):
    """The recursion as it is written: swaps of neighbours count one, and are not edited again."""
    table = {(i, 0): i for i in range(len(a) + 1)} | {(0, j): j for j in range(len(b) + 1)}
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            ways = [table[i - 1, j] + 1, table[i, j - 1] + 1]
            ways.append(table[i - 1, j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                ways.append(table[i - 2, j - 2] + 1)
            table[i, j] = min(ways)
    return table[len(a), len(b)]


words = st.text(st.sampled_from("abcé"), max_size=12)


@given(st.lists(words, min_size=1, max_size=25, unique=True), words, st.integers(1, 3))
def test_the_index_finds_every_word_within_the_distance(lexicon, word, most):
    numbers, distances = DeleteIndex.of(lexicon, most).near(word, most)
    found = dict(zip(numbers.tolist(), distances.tolist(), strict=True))
    assert len(found) == len(numbers)
    expected = {i: distance(word, other) for i, other in enumerate(lexicon)}
    assert found == {i: d for i, d in expected.items() if d <= most}


@pytest.mark.parametrize("most", [1, 2, 3])
def test_distances_of_all_short_words(most):
    lexicon = ["".join(w) for n in range(6) for w in product("ab", repeat=n)]
    index = DeleteIndex.of(lexicon, most)
    for word in lexicon[::3]:
        numbers, distances = index.near(word, most)
        found = dict(zip(numbers.tolist(), distances.tolist(), strict=True))
        expected = {i: distance(word, other) for i, other in enumerate(lexicon)}
        assert found == {i: d for i, d in expected.items() if d <= most}


def test_keys_of_the_national_archives():
    keys = {"Robert": "R163", "Rubin": "R150", "Ashcraft": "A261", "Tymczak": "T522"}
    keys |= {"Pfister": "P236", "Honeyman": "H555", "Lee": "L000", "": "", "1850": ""}
    assert {word: soundex(word) for word in keys} == keys


def test_scores_are_the_formula():
    model = SpellCorrector(distance_cost=3.0, phonetic_bonus=1.5).fit(CATS)
    language = NGramModel(2).fit(CATS)
    best = model.suggest("cet", ["the"])
    assert [s.word for s in best] == sorted(
        (s.word for s in best), key=lambda w: -{s.word: s.score for s in best}[w]
    )
    for word, d, score in best:
        assert d == distance("cet", word)
        value = np.log(language.probability(word, ["the"])) - 3.0 * d
        value += 1.5 * (soundex("cet") == soundex(word))
        assert score == pytest.approx(value, rel=1e-12)
    assert len(model.suggest("cet", n=1)) == 1


def test_the_context_decides_between_words_that_are_as_near():
    texts = ["a red rose", "a red rose", "the road runs", "the road runs", "the rode"]
    model = SpellCorrector(phonetic_bonus=0.0).fit(texts)
    assert model.suggest("roze", ["red"])[0].word == "rose"
    assert model.predict([["the", "roae"], ["red", "roae"]]) == [["the", "road"], ["red", "rose"]]


def test_a_text_keeps_what_stands_between_its_words():
    model = SpellCorrector().fit(CATS)
    assert model.correct("Teh cta:  saton, THE mat!") == "The cat:  sat, THE mat!"
    assert model.correct("zzzzzz dog") == "zzzzzz dog"
    assert model.correct("") == ""
    with pytest.raises(ValueError, match="must be a str"):
        model.correct(["the"])
    with pytest.raises(ValueError, match="must be a str"):
        model.suggest(3)


def test_a_list_of_frequencies(tmp_path):
    model = SpellCorrector.from_counts({"their": 900, "there": 1000, "theme": 20})
    assert [s.word for s in model.suggest("thera")] == ["there", "their", "theme"]
    panlearn.save(model, tmp_path / "model")
    assert panlearn.load(tmp_path / "model").suggest("thera") == model.suggest("thera")
    with pytest.raises(ValueError, match="finite frequencies"):
        SpellCorrector.from_counts({})


def test_further_documents_bring_words_and_rare_words_are_no_lexicon():
    model = SpellCorrector().fit(CATS)
    assert model.predict(["bird"]) == [["bird"]]
    model.partial_fit(["birds sing"])
    assert model.predict(["bird sing"]) == [["birds", "sing"]]
    often = SpellCorrector(min_count=2).fit(CATS)
    assert often.words_.tolist() == ["cat", "on", "sat", "the"]
    assert often.predict(["the mat"]) == [["the", "cat"]]


def test_a_large_lexicon(rng):
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    lexicon = {"".join(rng.choice(letters, n)) for n in rng.integers(4, 11, 20_000)}
    model = SpellCorrector.from_counts(dict.fromkeys(lexicon, 5))
    for word in sorted(lexicon)[::4000]:
        wrong = word[:1] + word[2:] + "q"
        found = {s.word for s in model.suggest(wrong, n=10**6)}
        close = {w for w in lexicon if abs(len(w) - len(wrong)) <= 2}
        assert found == {w for w in close if distance(w, wrong) <= 2}
