"""The tagger: against enumeration of all paths, and on a corpus whose grammar is known."""

import itertools

import numpy as np
import pytest

from panlearn.text import HMMTagger
from panlearn.text._tag_counts import suffixes

ENDINGS = {"NOUN": "tion ness er".split(), "VERB": "ize ate".split(), "ADV": ["ly"], "ADJ": ["ous"]}
NEXT = {
    None: {"DET": 0.8, "ADV": 0.2},
    "DET": {"NOUN": 0.6, "ADJ": 0.4},
    "ADJ": {"NOUN": 0.9, "ADJ": 0.1},
    "NOUN": {"VERB": 0.7, None: 0.3},
    "VERB": {"DET": 0.5, "ADV": 0.3, None: 0.2},
    "ADV": {"VERB": 0.3, "DET": 0.4, None: 0.3},
}


def corpus(rng, n, stems):
    """Sentences of the grammar; words end as their tags say, and some names are capitals."""
    X, y = [], []
    for _ in range(n):
        tag, words, tags = None, [], []
        while True:
            tag = rng.choice(list(NEXT[tag]), p=list(NEXT[tag].values()))
            if tag is None:
                break
            stem = "".join(rng.choice(list("bdfgklmnprst"), 2)) + str(rng.integers(stems))
            word = rng.choice(["the", "a"]) if tag == "DET" else stem + rng.choice(ENDINGS[tag])
            words.append(str(word))
            tags.append(str(tag))
        X.append(words)
        y.append(tags)
    return X, y


def test_the_path_is_the_best_of_all(rng):
    X, y = corpus(rng, 30, 3)
    model = HMMTagger(smoothing=0.5).fit(X, y)
    k = len(model.tags_)
    for words in [X[0][:5], ["the", "newly", "unheard"], ["a"], ["Capital", "krtion", "xx", "the"]]:
        density, best = model._emissions(words), -np.inf
        for path in itertools.product(range(k), repeat=len(words)):
            value = model.step_[k, path[0]] + model.step_[path[-1], k]
            value += sum(model.step_[a, b] for a, b in itertools.pairwise(path))
            value += sum(density[i, t] for i, t in enumerate(path))
            if value > best:
                best, expected = value, path
        assert model.predict([words])[0].tolist() == model.tags_[list(expected)].tolist()


def test_counts_by_hand():
    model = HMMTagger(smoothing=1.0).fit([["a", "b"], ["a"]], [["X", "Y"], ["X"]])
    assert model.tags_.tolist() == ["X", "Y"]
    # after X comes Y once and the end once, each count has one more
    np.testing.assert_allclose(
        np.exp(model.step_), [[1 / 5, 2 / 5, 2 / 5], [1 / 4, 1 / 4, 2 / 4], [3 / 5, 1 / 5, 1 / 5]]
    )
    np.testing.assert_allclose(np.exp(model.emission_), [[1, 0], [0, 1]])


def test_the_end_of_a_document_is_a_step():
    model = HMMTagger().fit([["x", "y"]] * 3 + [["x"]], [["A", "B"]] * 3 + [["D"]])
    # A is the likelier beginning, but only D has ever been the last tag of x
    assert model.predict([["x"], ["x", "y"]])[0].tolist() == ["D"]
    assert model.predict([["x"], ["x", "y"]])[1].tolist() == ["A", "B"]


def test_suffixes_of_rare_words_are_smoothed_by_shorter_ones():
    X = [["walked", "talked", "bed", "Ned"]]
    model = HMMTagger(max_suffix=3).fit(X, [["V", "V", "N", "N"]])
    assert suffixes("bed", 2) == ["a", "ad", "aed"]
    overall = np.array([0.5, 0.5])
    theta = 1e-3  # the tags are equally frequent, so that their deviation is the floor
    law, counts = overall, {"a": [1, 2], "ad": [1, 2], "aed": [1, 2], "aked": [0, 2]}
    for count in counts.values():
        law = (np.array(count) / sum(count) + theta * law) / (1 + theta)
    place = model.suffixes_.tolist().index("aked")
    np.testing.assert_allclose(np.exp(model.suffix_emission_[place]), law / overall)
    np.testing.assert_array_equal(model._emissions(["baked"])[0], model.suffix_emission_[place])
    assert "Aed" in model.suffixes_


def test_only_rare_words_teach_what_suffixes_mean():
    """Frequent words are a closed class: "the" says nothing of an unknown word in -the."""
    X = [["the", "bathe"], ["the", "lathe"], ["the", "scythe"]]
    y = [["DET", "VERB"], ["DET", "NOUN"], ["DET", "NOUN"]]
    for rare_count, det in [(0, None), (1, 0), (2, 0), (3, 3)]:
        model = HMMTagger(rare_count=rare_count, max_suffix=3).fit(X, y)
        ends = model.suffixes_.tolist()
        assert ("athe" in ends) == (rare_count > 0)
        if det is None:
            assert ends == []
            # without a rare word an unknown one may be anything: the chain decides
            assert model.predict([["the", "cathe"]])[0][0] == "DET"
            np.testing.assert_array_equal(model._emissions(["cathe"]), np.zeros((1, 3)))
            continue
        counts = np.array([det, 2, 1])  # DET, NOUN and VERB of rare words that end in "the"
        overall = np.array([3, 2, 1]) / 6
        theta, law = overall.std(), overall
        for _ in range(4):  # of no letter, e, he and the
            law = (counts / counts.sum() + theta * law) / (1 + theta)
        np.testing.assert_allclose(model._emissions(["cathe"])[0], np.log(law / overall))
    weighted = HMMTagger(rare_count=3, max_suffix=3).fit(X, y, sample_weight=[2, 1, 1])
    assert "athe" in weighted.suffixes_  # "bathe" counts twice and is still rare
    np.testing.assert_array_equal(
        weighted.suffix_emission_,
        HMMTagger(rare_count=3, max_suffix=3).fit([X[0], *X], [y[0], *y]).suffix_emission_,
    )


def test_unknown_words_are_tagged_by_their_ends(rng):
    train, test = corpus(rng, 300, 50), corpus(rng, 100, 10_000)
    model = HMMTagger().fit(*train)
    new = np.mean([w not in set(model.words_) for words in test[0] for w in words])
    assert new > 0.4
    assert model.score(*test) > 0.98
    blind = HMMTagger(max_suffix=0).fit(*train)
    assert blind.score(*test) < model.score(*test)


def test_more_documents_bring_more_tags(rng):
    X, y = corpus(rng, 40, 20)
    whole = HMMTagger().fit(X, y)
    parts = HMMTagger().partial_fit(X[:15], y[:15]).partial_fit(X[15:], y[15:])
    np.testing.assert_array_equal(parts.step_, whole.step_)
    np.testing.assert_array_equal(parts.emission_, whole.emission_)
    np.testing.assert_array_equal(parts.suffix_emission_, whole.suffix_emission_)


def test_empty_documents_and_wrong_tags():
    model = HMMTagger().fit([["a", "b"], []], [["X", "Y"], []])
    assert [len(tags) for tags in model.predict([[], ["a"], [], ["b", "a"], []])] == [0, 1, 0, 2, 0]
    assert model.predict(["a b"])[0].tolist() == ["X", "Y"]
    with pytest.raises(ValueError, match="document 0 has 2 words"):
        HMMTagger().fit([["a", "b"]], [["X"]])
    with pytest.raises(ValueError, match="y is None"):
        HMMTagger().fit([["a", "b"]])
    with pytest.raises(ValueError, match="tags are of type str"):
        HMMTagger().fit([["a", "b"]], [[1, 2]])
    with pytest.raises(ValueError, match="nothing to learn"):
        HMMTagger().fit([[]], [[]])
    with pytest.raises(ValueError, match="no document has a word"):
        model.score([[]], [[]])


def test_no_document_and_tags_in_an_array():
    model = HMMTagger().fit([["the", "dog"]], np.array([["DET", "NOUN"]]))
    assert model.predict([]) == []
    assert type(model.predict([["dog"]])[0][0]) is str
    assert model.score([["the", "dog"]], np.array([["DET", "NOUN"]])) == 1
    with pytest.raises(ValueError, match="X holds 2 documents and y 1 lists of tags"):
        model.score([["the"], ["dog"]], [["DET"]])
