"""Bad and unusual sequences, for every model of them: the right answer, or an error that says."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils import get_tags

pd = pytest.importorskip("pandas")

CLEAR = (ValueError, TypeError)


def _symbols(cls):
    return get_tags(cls()).input_tags.categorical


def _objects(items):
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


# The same sequences in another dress; of vectors, and of symbols.
VECTORS = {
    "tuple": tuple,
    "lists of lists": lambda X: [x.tolist() for x in X],
    "frames": lambda X: [pd.DataFrame(x, columns=list("abcd")) for x in X],
    "array of objects": _objects,
    "fortran": lambda X: [np.asfortranarray(x) for x in X],
    "strided": lambda X: [np.repeat(x, 2, axis=0)[::2] for x in X],
    "read-only": lambda X: [np.frombuffer(x.tobytes()).reshape(x.shape) for x in X],
    "mixed types": lambda X: [x.astype("f4") if i % 2 else x for i, x in enumerate(X)],
    "big-endian": lambda X: [x.astype(">f8") for x in X],
    "integers": lambda X: [x.astype(np.int16) for x in X],
    "views of one array": lambda X: np.split(
        np.concatenate(X), np.cumsum([len(x) for x in X])[:-1]
    ),
}
SYMBOLS = {
    "tuple": tuple,
    "lists": lambda X: [x.tolist() for x in X],
    "columns": lambda X: [x[:, None] for x in X],
    "series": lambda X: [pd.Series(x, index=np.arange(len(x)) + 7) for x in X],
    "objects": lambda X: [x.astype(object) for x in X],
    "array of objects": _objects,
    "integers": lambda X: [x.astype(int) for x in X],
    "unsigned": lambda X: [x.astype(np.uint8) for x in X],
}


@pytest.mark.parametrize("dress", sorted({*VECTORS, *SYMBOLS}))
def test_the_same_sequences_in_another_dress_give_the_same_model(sequence_class, library, dress):
    X, _ = library.problem(sequence_class)
    dresses = SYMBOLS if _symbols(sequence_class) else VECTORS
    if dress not in dresses:
        pytest.skip("of the other kind")
    X = [np.round(2 * x) for x in X]
    dressed = dresses[dress](X)
    expected = library.quietly(lambda: library.brief(sequence_class).fit(X))
    model = library.quietly(lambda: library.brief(sequence_class).fit(dressed))
    ours, theirs = library.outputs(model, dressed), library.outputs(expected, X)
    for name, value in theirs.items():
        np.testing.assert_allclose(ours[name], value, rtol=1e-9, atol=1e-12, err_msg=name)


def test_labels_of_any_kind_give_the_same_model(sequence_class, library):
    if not _symbols(sequence_class):
        pytest.skip("of vectors")
    X, _ = library.problem(sequence_class)
    names = np.array(["ape", "bee", "cat", "dog", "elk"])
    expected = library.fitted(sequence_class)
    for dressed in (
        [names[x.astype(int)] for x in X],
        [names[x.astype(int)].tolist() for x in X],
        [x.astype(int) * 10**9 - 7 for x in X],
        [names[x.astype(int)].astype(object) for x in X],
    ):
        model = library.quietly(lambda dressed=dressed: library.brief(sequence_class).fit(dressed))
        np.testing.assert_array_equal(model.transmat_, expected.transmat_)
        np.testing.assert_allclose(model.score_samples(dressed), expected.score_samples(X))


BAD_VECTORS = {
    "one-dimensional": (lambda X: X[0][:, 0], "2D"),
    "list of series": (lambda X: [x[:, 0] for x in X], "reshape"),
    "other widths": (lambda X: [X[0], X[1][:, :3]], "sequence 1: has 3 features"),
    "an empty one": (lambda X: [X[0], X[1][:0]], "sequence 1: 0 samples"),
    "infinite": (lambda X: [X[0], X[1] * np.inf], "infinity|NaN"),
    "all missing": (lambda X: [x * np.nan for x in X], "NaN"),
    "complex": (lambda X: [x + 1j for x in X], "[Cc]omplex"),
    "text": (lambda X: [np.full(x.shape, "red") for x in X], "convert|string"),
    "sparse": (lambda X: sparse.csr_array(X[0]), "[Ss]parse"),
    "masked": (lambda X: [np.ma.masked_array(x, x > 1) for x in X], "masked"),
    "dates": (lambda X: [np.full(x.shape, np.datetime64("2020-01-01")) for x in X], "dtype"),
    "four dimensions": (lambda X: np.ones((2, 3, 4, 5)), "2D|dim"),
}
BAD_SYMBOLS = {
    "several columns": (lambda X: np.ones((4, 3)), "list"),
    "an empty one": (lambda X: [X[0], X[1][:0]], "sequence 1: 0 samples"),
    "infinite": (lambda X: [X[0], X[1] * np.inf], "infinity|missing"),
    "all missing": (lambda X: [x * np.nan for x in X], "missing"),
    "complex": (lambda X: [x + 1j for x in X], "symbols"),
    "dates": (lambda X: [np.full(len(x), np.datetime64("2020-01-01")) for x in X], "dtype"),
    "a number in a list": (lambda X: [X[0], 3.0], "sequence 1"),
    "no order": (lambda X: [[1, "a"], ["b", 2]], "type"),
}
BAD_EITHER = {
    "none": (lambda X: None, "sequence"),
    "number": (lambda X: 3.0, "sequence"),
    "dictionary": (lambda X: {"a": 1}, "sequence"),
    "text alone": (lambda X: "abba", "sequence"),
    "empty list": (lambda X: [], "nothing"),
}


@pytest.mark.parametrize("case", sorted({*BAD_VECTORS, *BAD_SYMBOLS, *BAD_EITHER}))
def test_bad_sequences_are_refused_by_name(sequence_class, library, tally, case):
    cases = {**BAD_EITHER, **(BAD_SYMBOLS if _symbols(sequence_class) else BAD_VECTORS)}
    if case not in cases:
        pytest.skip("of the other kind")
    X, _ = library.problem(sequence_class)
    change, says = cases[case]
    with pytest.raises(CLEAR, match=says):
        library.quietly(lambda: library.make(sequence_class).fit(change(X)))
    model = library.fitted(sequence_class)
    missing = get_tags(model).input_tags.allow_nan and case == "all missing"
    if missing:
        assert np.isfinite(model.score(change(X)))
        return
    for name in library.outputs(model, X):
        with pytest.raises(CLEAR):
            getattr(model, name)(change(X))
        tally["bad inputs", "refused by name"] += 1


def test_feature_names_are_kept_and_held_against(sequence_class, library):
    if _symbols(sequence_class):
        pytest.skip("symbols have no features")
    X, _ = library.problem(sequence_class)
    frames = [pd.DataFrame(x, columns=list("abcd")) for x in X]
    model = library.quietly(lambda: library.brief(sequence_class).fit(frames))
    assert list(model.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        model.predict([f[list("badc")] for f in frames])
    with pytest.raises(ValueError, match="columns"):
        model.predict([frames[0], frames[1][list("badc")]])
    with pytest.raises(ValueError, match="expecting 4"):
        library.fitted(sequence_class).predict(X[0][:, :3])


def _refusal(call):
    try:
        call()
    except ValueError as error:
        return str(error)
    return ""


HARD = {
    "one step": lambda X: X[0][:1],
    "single steps": lambda X: [x[:1] for x in X],
    "constant": lambda X: [np.ones_like(x) for x in X],
    "one sequence repeated": lambda X: [X[0]] * 4,
    "tiny": lambda X: [1e-150 * x for x in X],
    "huge": lambda X: [1e150 * x for x in X],
    "large": lambda X: [1e30 * x for x in X],
    "offset": lambda X: [x + 1e8 for x in X],
    "near the largest float": lambda X: [1e300 * np.sign(x) for x in X],
    "constant column": lambda X: [np.c_[x, np.full(len(x), 3.7)] for x in X],
    "one outlier": lambda X: [X[0], np.where(X[1] == X[1].max(), 1e100, X[1])],
}


@pytest.mark.parametrize("case", HARD)
def test_hard_sequences_give_finite_results_or_a_clear_error(sequence_class, library, case):
    if _symbols(sequence_class) and case == "constant column":
        pytest.skip("of vectors")
    X, _ = library.problem(sequence_class)
    hard = HARD[case](X)
    model = library.make(sequence_class)
    if refusal := _refusal(lambda: library.quietly(lambda: model.fit(hard))):
        assert case in ("huge", "near the largest float", "one outlier"), refusal
        assert len(refusal) > 20
        return
    for name, value in library.learned(model).items():
        if getattr(value, "dtype", np.dtype(object)).kind == "f":
            assert np.isfinite(value).all(), name
    for name, value in library.outputs(model, hard).items():
        assert np.isfinite(np.asarray(value, dtype=float)).all(), name
