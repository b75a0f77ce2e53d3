"""Edit distances against rapidfuzz."""

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from rapidfuzz import distance as their_distance
from rapidfuzz import fuzz as their_fuzz
from rapidfuzz import process
from rapidfuzz.distance import OSA, DamerauLevenshtein, Indel, Levenshtein

from panlearn.text import distance, edit_distance, edit_distances, edit_operations, fuzz
from panlearn.text import process as ours

PAIRS = [
    (Levenshtein, {}),
    (Indel, {"substitute": 2}),
    (OSA, {"transposition": "adjacent"}),
    (DamerauLevenshtein, {"transposition": "damerau"}),
]


def strings(rng, n, longest):
    letters = list("etaoin shé世😀")
    return ["".join(rng.choice(letters, rng.integers(0, longest))) for _ in range(n)]


@pytest.mark.parametrize(("scorer", "options"), PAIRS, ids=lambda x: getattr(x, "__name__", ""))
@pytest.mark.parametrize("longest", [12, 70, 200])
def test_matrices_are_theirs(scorer, options, longest, rng):
    n = 300 if longest == 12 else 40
    A, B = strings(rng, n, longest), strings(rng, n, longest)
    for cutoff in (None, 5):
        theirs = process.cdist(A, B, scorer=scorer.distance, score_cutoff=cutoff)
        np.testing.assert_array_equal(edit_distances(A, B, **options, score_cutoff=cutoff), theirs)


@given(a=st.text(max_size=20), b=st.text(max_size=20), weights=st.tuples(*[st.integers(0, 4)] * 3))
def test_weighted_distances_are_theirs(a, b, weights):
    insert, delete, substitute = weights
    ours = edit_distance(a, b, insert=insert, delete=delete, substitute=substitute)
    assert ours == Levenshtein.distance(a, b, weights=weights)


@given(a=st.text("abc", max_size=12), b=st.text("abc", max_size=12))
def test_there_are_as_many_edits_as_theirs(a, b):
    ours = [edit for edit in edit_operations(a, b) if edit.operation != "equal"]
    assert len(ours) == len(Levenshtein.editops(a, b))


TEXT = st.one_of(
    st.text("abcé 世😀", max_size=12),
    # of one-byte strings the peer takes these two for letters, of others and Python for spaces
    st.text(st.characters(exclude_characters="\x85\xa0", exclude_categories=["Cs"]), max_size=15),
    st.text("ab", max_size=150),
    st.lists(st.sampled_from(["new", "york", "mets", "vs", "a", "ab", "世"]), max_size=6).map(
        " ".join
    ),
)
# no cutoff that a score meets to the last bit: there the peer rounds
SHARE = st.integers(0, 98).map(lambda i: i / 99 + 1e-4)
KINDS = ["distance", "similarity", "normalized_distance", "normalized_similarity"]
SCORERS = {
    **{
        f"{name}.{kind}": (
            getattr(getattr(distance, name), kind),
            getattr(getattr(their_distance, name), kind),
        )
        for name in distance.__all__
        for kind in KINDS
    },
    **{name: (getattr(fuzz, name), getattr(their_fuzz, name)) for name in fuzz.__all__},
}


@settings(max_examples=30)
@given(a=TEXT, b=TEXT, share=SHARE)
def test_every_score_is_theirs_with_and_without_a_cutoff(a, b, share):
    for name in SCORERS:  # to draw texts takes longer than to compare them
        note(name)
        _score_is_theirs(name, a, b, share)


def _score_is_theirs(name, a, b, share):
    scorer, theirs = SCORERS[name]
    score = scorer(a, b)
    # of a single pair, not of matrices, the peer's 1 - (1 - s) may end in another bit
    inexact = name in ("Jaro.normalized_similarity", "JaroWinkler.normalized_similarity")
    tolerance = 1e-15 if inexact else 0
    assert score == pytest.approx(theirs(a, b), rel=tolerance, abs=tolerance)
    most = 100 if name in fuzz.__all__ else 1
    cutoff = round(share * 8) if scorer.whole else share * most
    expected = theirs(a, b, score_cutoff=cutoff)
    assert scorer(a, b, score_cutoff=cutoff) == pytest.approx(
        expected, rel=tolerance, abs=tolerance
    )
    # a score that is its own cutoff is reached; the peer loses some of them by rounding
    assert scorer(a, b, score_cutoff=score) == score
    assert ours.cdist([a], [b], scorer=scorer)[0, 0] == score
    assert ours.cdist([a, "x"], [b, a], scorer=scorer, score_cutoff=cutoff)[0, 0] == scorer(
        a, b, score_cutoff=cutoff
    )


@given(a=TEXT, b=TEXT, weights=st.tuples(*[st.integers(0, 4)] * 3), prefix=st.floats(0, 0.25))
def test_options_of_the_scores_are_theirs(a, b, weights, prefix):
    for kind in KINDS:
        mine, theirs = SCORERS[f"Levenshtein.{kind}"]
        assert mine(a, b, weights=weights) == theirs(a, b, weights=weights)
        mine, theirs = SCORERS[f"JaroWinkler.{kind}"]
        expected = theirs(a, b, prefix_weight=prefix)
        assert mine(a, b, prefix_weight=prefix) == pytest.approx(expected, rel=1e-15, abs=1e-15)
    padded, theirs = SCORERS["Hamming.distance"]
    if len(a) == len(b):
        assert padded(a, b, pad=False) == theirs(a, b, pad=False)
    else:
        with pytest.raises(ValueError, match="different lengths"):
            padded(a, b, pad=False)


@settings(max_examples=15)
@given(
    query=TEXT,
    choices=st.lists(st.one_of(TEXT, st.none()), max_size=8),
    limit=st.one_of(st.none(), st.integers(1, 4)),
    share=st.one_of(st.none(), SHARE),
    lower=st.booleans(),
)
def test_what_is_extracted_is_theirs(query, choices, limit, share, lower):
    for name in SCORERS:
        note(name)
        _extracted_are_theirs(name, query, choices, limit, share, lower)


def _extracted_are_theirs(name, query, choices, limit, share, lower):
    scorer, theirs = SCORERS[name]
    most = 100 if name in fuzz.__all__ else 1
    cutoff = None if share is None else round(share * 8) if scorer.whole else share * most
    given_ = {"processor": str.upper if lower else None, "score_cutoff": cutoff}
    found = ours.extract(query, choices, scorer=scorer, limit=limit, **given_)
    assert found == process.extract(query, choices, scorer=theirs, limit=limit, **given_)
    one = ours.extractOne(query, choices, scorer=scorer, **given_)
    assert one == process.extractOne(query, choices, scorer=theirs, **given_)
    keyed = {f"key{i}": choice for i, choice in enumerate(choices)}
    found = ours.extract(query, keyed, scorer=scorer, limit=limit, **given_)
    assert found == process.extract(query, keyed, scorer=theirs, limit=limit, **given_)


@pytest.mark.parametrize("name", SCORERS)
def test_matrices_of_scores_are_theirs(name, rng):
    scorer, theirs = SCORERS[name]
    A, B = strings(rng, 12, 40), strings(rng, 9, 90)
    whole = scorer.whole
    found = ours.cdist(A, B, scorer=scorer)
    expected = process.cdist(A, B, scorer=theirs, dtype=np.int32 if whole else np.float64)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype
    small = ours.cdist(A, B, scorer=scorer, dtype=np.uint8 if whole else np.float32)
    assert small.dtype == (np.uint8 if whole else np.float32)


@pytest.mark.parametrize("name", [n for n, (scorer, _) in SCORERS.items() if not scorer.whole])
def test_missing_strings_are_as_far_as_can_be(name):
    scorer, theirs = SCORERS[name]
    for pair in ((None, "a"), ("a", None), (None, None), (float("nan"), "a")):
        assert scorer(*pair) == theirs(*pair)


def test_what_is_extracted_by_default_is_theirs(rng):
    choices = [" ".join(strings(rng, 3, 8)) for _ in range(40)]
    for query in choices[:4]:
        found = ours.extract(query + " x", choices, limit=6)
        expected = process.extract(query + " x", choices, limit=6)
        assert [(c, pytest.approx(s), i) for c, s, i in expected] == found
