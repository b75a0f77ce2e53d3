"""Edit distances against the definition: the cheapest of all edits, by search, and the axioms."""

import functools
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panlearn.text import edit_distance, edit_distances, edit_operations

FEW = st.text("abc", max_size=7)
ANY = st.text(max_size=12)
LONG = st.text("ab", min_size=50, max_size=200)
COSTS = st.sampled_from([0.5, 1, 1.5, 2, 3])


def slow(a, b, insert=1, delete=1, substitute=1, swap=False):
    """The recursion, as it is written."""

    @functools.cache
    def d(i, j):
        if i == 0 or j == 0:
            return i * delete + j * insert
        found = [d(i - 1, j) + delete, d(i, j - 1) + insert]
        found.append(d(i - 1, j - 1) + (substitute if a[i - 1] != b[j - 1] else 0))
        if swap and i > 1 and j > 1 and a[i - 2 : i] == b[j - 2 : j][::-1]:
            found.append(d(i - 2, j - 2) + substitute)
        return min(found)

    return d(len(a), len(b))


def damerau(a, b, alphabet="abc"):
    """The fewest edits by search over strings, breadth first: no programme at all."""
    seen, front, steps = {a}, {a}, 0
    longest = max(len(a), len(b)) + 1
    while b not in seen:
        front = {new for old in front for new in _edited(old, alphabet, longest)} - seen
        seen |= front
        steps += 1
    return steps


def _edited(s, alphabet, longest):
    for i in range(len(s) + 1):
        if len(s) < longest:
            yield from (s[:i] + c + s[i:] for c in alphabet)
        if i < len(s):
            yield s[:i] + s[i + 1 :]
            yield from (s[:i] + c + s[i + 1 :] for c in alphabet)
        if i + 1 < len(s):
            yield s[:i] + s[i + 1] + s[i] + s[i + 2 :]


def common(a, b):
    """The longest common subsequence."""
    row = [0] * (len(b) + 1)
    for x in a:
        row = [0, *(row[j] + 1 if x == y else row[j + 1] for j, y in enumerate(b))]
        for j in range(1, len(row)):
            row[j] = max(row[j], row[j - 1])
    return row[-1]


@given(a=ANY | LONG, b=ANY | LONG)
def test_bits_give_the_distance_of_the_programme(a, b):
    assert edit_distance(a, b) == _rows(a, b)
    assert edit_distance(a, b, substitute=2) == len(a) + len(b) - 2 * common(a, b)
    assert edit_distance(a, b, substitute=np.inf) == len(a) + len(b) - 2 * common(a, b)
    assert edit_distance(a, b, insert=3, delete=3, substitute=3) == 3 * edit_distance(a, b)


def _rows(a, b):
    above = list(range(len(b) + 1))
    for i, x in enumerate(a):
        row = [i + 1]
        for j, y in enumerate(b):
            row.append(min(above[j + 1] + 1, row[j] + 1, above[j] + (x != y)))
        above = row
    return above[-1]


@given(a=FEW, b=FEW, insert=COSTS, delete=COSTS, substitute=COSTS, swap=st.booleans())
def test_any_costs_give_the_recursion(a, b, insert, delete, substitute, swap):
    kind = "adjacent" if swap else None
    costs = {"insert": insert, "delete": delete, "substitute": substitute}
    found = edit_distance(a, b, **costs, transposition=kind)
    assert found == pytest.approx(slow(a, b, **costs, swap=swap), rel=1e-12)


@given(a=st.text("ab", max_size=4), b=st.text("ab", max_size=4))
def test_damerau_is_the_fewest_edits_by_search(a, b):
    assert edit_distance(a, b, transposition="damerau") == damerau(a, b, "ab")
    assert edit_distance(a, b) >= edit_distance(a, b, transposition="damerau")


@given(
    a=FEW, b=FEW, c=FEW, kind=st.sampled_from([None, "damerau"]), substitute=st.sampled_from([1, 2])
)
def test_axioms_of_a_metric(a, b, c, kind, substitute):
    d = functools.partial(edit_distance, transposition=kind, substitute=substitute)
    assert d(a, a) == 0
    assert d(a, b) == d(b, a)
    assert (d(a, b) > 0) == (a != b)
    assert d(a, c) <= d(a, b) + d(b, c)


def test_optimal_string_alignment_breaks_the_triangle():
    d = functools.partial(edit_distance, transposition="adjacent")
    assert d("ca", "abc") == 3 > d("ca", "ac") + d("ac", "abc") == 2
    assert edit_distance("ca", "abc", transposition="damerau") == 2


@given(
    A=st.lists(ANY | LONG, min_size=1, max_size=5),
    B=st.lists(ANY | LONG, min_size=1, max_size=5),
    cutoff=st.none() | st.integers(0, 20),
)
def test_an_entry_of_the_matrix_is_the_distance_of_the_pair(A, B, cutoff):
    for options in ({}, {"substitute": 2}, {"insert": 2}, {"transposition": "adjacent"}):
        matrix = edit_distances(A, B, **options, score_cutoff=cutoff)
        assert matrix.dtype == np.int32
        for i, a in enumerate(A):
            for j, b in enumerate(B):
                assert matrix[i, j] == edit_distance(a, b, **options, score_cutoff=cutoff)
                if cutoff is not None:
                    assert matrix[i, j] == min(edit_distance(a, b, **options), cutoff + 1)
    for options in ({}, {"transposition": "damerau"}, {"insert": 2, "delete": 2, "substitute": 3}):
        np.testing.assert_array_equal(edit_distances(A, **options), edit_distances(A, A, **options))


def test_a_large_matrix_on_threads_is_that_of_its_parts(rng):
    A = ["".join(rng.choice(list("abcdé世"), rng.integers(0, 90))) for _ in range(300)]
    B = ["".join(rng.choice(list("abcdé世"), rng.integers(0, 90))) for _ in range(280)]
    short = [text[:9] for text in A]
    half = edit_distances(short, transposition="damerau")
    np.testing.assert_array_equal(half, edit_distances(short, short, transposition="damerau"))
    for options in ({}, {"substitute": 2}, {"delete": 2}):
        whole = edit_distances(A, B, **options)
        parts = [edit_distances(A[i : i + 7], B, **options) for i in range(0, 300, 7)]
        np.testing.assert_array_equal(whole, np.vstack(parts))
        np.testing.assert_array_equal(
            whole[3, :5], [edit_distance(A[3], b, **options) for b in B[:5]]
        )


@given(a=FEW | ANY, b=FEW | ANY, swap=st.booleans(), substitute=COSTS, insert=COSTS)
def test_operations_make_one_the_other_at_the_distance(a, b, swap, substitute, insert):
    options = {"insert": insert, "substitute": substitute}
    options["transposition"] = "adjacent" if swap else None
    edits = edit_operations(a, b, **options)
    out, cost, i = [], 0.0, 0
    for operation, source, target in edits:
        assert source == i
        assert target == len(out)
        if operation == "equal":
            assert a[source] == b[target]
        width = {"insert": 0, "transpose": 2}.get(operation, 1)
        written = {"delete": 0, "transpose": 2}.get(operation, 1)
        cost += {"equal": 0, "insert": insert, "delete": 1}.get(operation, substitute)
        out += b[target : target + written]
        if operation == "transpose":
            assert a[source : source + 2] == b[target : target + 2][::-1]
        i += width
    assert (i, "".join(out)) == (len(a), b)
    assert cost == pytest.approx(edit_distance(a, b, **options))


def test_letters_are_code_points_or_items():
    assert edit_distance("😀a", "a") == 1
    assert edit_distance("é", unicodedata.normalize("NFD", "é")) == 2  # nothing is normalised
    assert edit_distance("\ud800\x00", "\x00") == 1
    assert edit_distance("the cat sat".split(), "the dog sat down".split()) == 2
    assert edit_distance([1, (2, 3)], [(2, 3)]) == 1
    assert edit_distance(np.array([1, 2, 3]), [1, 3]) == 1
    assert edit_distance("Straße", "strasse") == 3  # and nothing is put in lower case


def test_empty_strings_and_lists():
    assert edit_distance("", "") == 0
    assert edit_distance("", "abc", insert=2) == 6
    assert edit_distance("abc", "", insert=2) == 3
    assert edit_distances([], ["a"]).shape == (0, 1)
    assert edit_distances(["a", ""], []).shape == (2, 0)
    assert edit_operations("", "") == []


def test_dtypes():
    words = ["abc", "abd", ""]
    for dtype in (np.uint8, np.int64, np.float32):
        found = edit_distances(words, dtype=dtype)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, edit_distances(words))
    assert edit_distances(words, insert=0.5).dtype == np.float64
    assert isinstance(edit_distance("a", "b"), int)
    with pytest.raises(ValueError, match="too large"):
        edit_distances(["a" * 300], dtype=np.uint8)
    assert edit_distances(["a" * 300], [""], dtype=np.uint8, score_cutoff=10)[0, 0] == 11
    with pytest.raises(ValueError, match="take float64"):
        edit_distances(words, insert=0.5, dtype=np.int32)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"insert": -1}, "insert must be"),
        ({"delete": float("nan")}, "delete must be"),
        ({"substitute": "1"}, "substitute must be"),
        ({"insert": np.inf}, "must be finite"),
        ({"transposition": "osa"}, "transposition must be"),
        ({"transposition": "damerau", "substitute": 0.5}, "raise substitute"),
        ({"score_cutoff": -1}, "score_cutoff must be"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        edit_distances(["a"], ["b"], **options)


def test_bad_strings_are_refused():
    for wrong in ("abc", 3, None):
        with pytest.raises(ValueError, match="list of strings"):
            edit_distances(wrong, ["b"])
    for wrong in (b"abc", 3, None, {"a"}):
        with pytest.raises(ValueError, match="str or a sequence"):
            edit_distance(wrong, "b")
    with pytest.raises(ValueError, match="may overlap"):
        edit_operations("a", "b", transposition="damerau")


def test_what_is_just_above_the_cutoff_is_cut_too():
    assert edit_distance("abc", "xyz", score_cutoff=2.5) == 3.5
    costs = {"insert": 0.5, "delete": 0.5, "substitute": 0.75}
    assert edit_distance("ab", "xy", **costs) == 1.5
    assert edit_distance("ab", "xy", **costs, score_cutoff=1) == 2
    assert edit_distance("ab", "xy", **costs, score_cutoff=1.5) == 1.5
