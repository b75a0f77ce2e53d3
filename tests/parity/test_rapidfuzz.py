"""Edit distances against rapidfuzz."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import process
from rapidfuzz.distance import OSA, DamerauLevenshtein, Indel, Levenshtein

from panlearn.text import edit_distance, edit_distances, edit_operations

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
