"""Input that other libraries stumble over, for every estimator: right, or an error of ours.

Each case is given to ``fit`` and to every method that answers. What comes out is the right answer
or an error that names the argument, the column and the row; never an error of another library's,
never NaN, never a crash.
"""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils import get_tags

pd = pytest.importorskip("pandas")

# (class, case) -> why it is not right yet; a case that is right must not stand here.
KNOWN = {}


@pytest.fixture(autouse=True)
def known_failures(request):
    names = {request.node.callspec.params[p] for p in request.fixturenames if p.endswith("case")}
    cls = next(v for k, v in request.node.callspec.params.items() if k.endswith("class"))
    for case in names:
        if reason := KNOWN.get((cls.__name__, case)):
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))


def _frame(X):
    return pd.DataFrame(X, columns=list("abcd"))


def _mixed(entry):
    """A frame whose column b holds `entry` in row 3."""

    def change(X):
        frame = _frame(X).astype({"b": object})
        frame.iat[3, 1] = entry
        return frame

    return change


def _array(entry):
    def change(X):
        array = X.astype(object)
        array[3, 1] = entry
        return array

    return change


def _tensor(X):
    return pytest.importorskip("torch").tensor(X, requires_grad=True)


# X -> what the error names.
WRONG_CELLS = {
    "tensor with a gradient": (_tensor, r"X is a tensor that records a gradient; give X.detach\(\)"),
    "integer beyond float": (_array(10**400), "column 1 of X holds an integer beyond.* row 3"),
    "integer beyond float in a frame": (_mixed(10**400), "column 'b' of X.*beyond.* row 3"),
    "text in a frame": (_mixed("red"), "column 'b' of X holds 'red' in row 3"),
    "text among objects": (_array("red"), "column 1 of X holds 'red' in row 3"),
    "text in lists": (lambda X: _array("red")(X).tolist(), "column 1 of X holds 'red' in row 3"),
    "list in a frame": (_mixed([1.0, 2.0]), r"column 'b' of X holds \[1.0, 2.0\] in row 3"),
    "date in a frame": (_mixed(pd.Timestamp("2020-01-01")), "column 'b' of X holds Timestamp"),
    "None in a frame of strings": (
        lambda X: _frame(X).assign(b="red"),
        "column 'b' of X holds 'red' in row 0",
    ),
}


@pytest.mark.parametrize("case", WRONG_CELLS)
def test_what_is_no_number_is_refused_by_column_and_row(any_class, library, case):
    change, says = WRONG_CELLS[case]
    X, y = library.problem(any_class)
    if get_tags(any_class()).input_tags.string and "tensor" not in case:
        pytest.skip("text is a category")
    with pytest.raises((ValueError, TypeError), match=says):
        library.make(any_class).fit(change(X), y)
    model = library.make(any_class)
    library.quietly(lambda: model.fit(_frame(X) if "frame" in case else X, y))
    for name in library.outputs(model, _frame(X) if "frame" in case else X):
        with pytest.raises((ValueError, TypeError), match=says):
            getattr(model, name)(change(X))


def test_columns_of_one_name_are_refused_by_it(any_class, library):
    X, y = library.problem(any_class)
    twice, says = pd.DataFrame(X, columns=list("abba")), "X has several columns named 'b'"
    with pytest.raises(ValueError, match=says):
        library.make(any_class).fit(twice, y)
    model = library.make(any_class)
    library.quietly(lambda: model.fit(_frame(X), y))
    for name in library.outputs(model, _frame(X)):
        with pytest.raises(ValueError, match=says):
            getattr(model, name)(twice)


def test_a_generator_of_rows_is_refused_by_what_it_gives(any_class, library):
    X, y = library.problem(any_class)
    model = library.make(any_class)
    says = r"batch|iterator|generator|stream|dimension|array"
    with pytest.raises((ValueError, TypeError), match=says):
        model.fit((row for row in X), y)
    with pytest.raises((ValueError, TypeError), match=says):
        model.fit((row for row in X), **({} if y is None else {"y": None}))
    library.quietly(lambda: model.fit(X, y))
    for name in library.outputs(model, X):
        with pytest.raises((ValueError, TypeError), match=says):
            getattr(model, name)(row for row in X)


def _broken(format="csr", **parts):
    """Make a matrix of X with some of its arrays replaced, behind the constructor's back."""

    def change(X):
        matrix = getattr(sparse, f"{format}_array")(X)
        for name, spoil in parts.items():
            value = getattr(matrix, name)
            setattr(matrix, name, spoil(value if isinstance(value, tuple) else value.copy()))
        return matrix

    return change


def _at(place, value):
    def change(array):
        array[place] = value
        return array

    return change


MALFORMED = {
    "column beyond the width": _broken(indices=_at(5, 10**6)),
    "column below zero": _broken(indices=_at(5, -7)),
    "indptr falls": _broken(indptr=_at(3, 10**4)),
    "indptr beyond the data": _broken(indptr=_at(-1, 10**6)),
    "indptr too short": _broken(indptr=lambda p: p[:-5]),
    "indptr starts late": _broken(indptr=_at(0, 2)),
    "fewer values than indices": _broken(data=lambda v: v[:-9]),
    "row beyond the height": _broken("csc", indices=_at(5, 10**6)),
    "coordinates out of range": _broken("coo", coords=lambda c: (c[0] + 50, c[1])),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_sparse_matrix_is_refused(any_class, library, case):
    X, y = library.problem(any_class)
    says = "X is a malformed sparse matrix"
    with pytest.raises(ValueError, match=says):
        library.make(any_class).fit(MALFORMED[case](X), y)
    model = library.make(any_class)
    library.quietly(lambda: model.fit(X, y))
    for name in library.outputs(model, X):
        with pytest.raises(ValueError, match=says):
            getattr(model, name)(MALFORMED[case](X))


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_sparse_batch_is_refused(stream_class, library, case):
    X, y = library.problem(stream_class)
    with pytest.raises(ValueError, match="X is a malformed sparse matrix"):
        library.make(stream_class).fit([(MALFORMED[case](X), y)])


# The same labels in a type of pandas' own or Arrow's -> what comes back.
LABELS = {
    "Int64": [3, 7],
    "UInt8": [3, 7],
    "boolean": [False, True],
    "string": ["no", "yes"],
    "category": ["no", "yes"],
    "int64[pyarrow]": [3, 7],
    "bool[pyarrow]": [False, True],
    "string[pyarrow]": ["no", "yes"],
}


def _classifier(cls):
    if not is_classifier(cls()):
        pytest.skip("no classifier")


@pytest.mark.parametrize("label_case", LABELS)
def test_labels_come_back_as_given(any_class, library, label_case):
    _classifier(any_class)
    X, y = library.problem(any_class)
    plain = np.array(LABELS[label_case])[y]
    dressed = pd.Series(plain, index=range(7, 67)).astype(label_case)
    model, expected = library.make(any_class), library.make(any_class)
    library.quietly(lambda: (model.fit(X, dressed), expected.fit(X, plain)))
    assert model.classes_.tolist() == LABELS[label_case]
    assert {type(label) for label in model.predict(X).tolist()} == {type(plain.tolist()[0])}
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    assert model.score(X, dressed) == expected.score(X, plain)


@pytest.mark.parametrize("label_case", LABELS)
def test_labels_of_batches_come_back_as_given(stream_class, library, label_case):
    _classifier(stream_class)
    X, y = library.problem(stream_class)
    dressed = pd.Series(np.array(LABELS[label_case])[y]).astype(label_case)
    batches = [(X[:40], dressed[:40]), (X[40:], dressed[40:])]
    model = library.make(stream_class)
    library.quietly(lambda: model.fit(batches))
    assert model.classes_.tolist() == LABELS[label_case]


@pytest.mark.parametrize("label_case", LABELS)
def test_labels_of_partial_fit_come_back_as_given(online_class, library, label_case):
    _classifier(online_class)
    X, y = library.problem(online_class)
    dressed = pd.Series(np.array(LABELS[label_case])[y]).astype(label_case)
    classes = pd.Series(LABELS[label_case]).astype(label_case)
    model = library.make(online_class)
    library.quietly(lambda: model.partial_fit(X, dressed, classes=classes))
    assert model.classes_.tolist() == LABELS[label_case]


MISSING = {
    "NaN": lambda y: np.where(np.arange(len(y)) == 5, np.nan, y),
    "None in a list": lambda y: [None if i == 5 else v for i, v in enumerate(y)],
    "None among texts": lambda y: np.array([None if i == 5 else str(v) for i, v in enumerate(y)]),
    "NaN among texts": lambda y: [np.nan if i == 5 else str(v) for i, v in enumerate(y)],
    "NaN among objects": lambda y: pd.Series(y).astype(object).mask(np.arange(len(y)) == 5),
    **{
        f"NA of {kind}": lambda y, kind=kind: (
            pd.Series(np.array(LABELS[kind])[y]).astype(kind).mask(np.arange(len(y)) == 5)
        )
        for kind in LABELS
    },
}


@pytest.mark.parametrize("missing_case", MISSING)
def test_a_missing_label_is_refused_by_row(any_class, library, missing_case):
    _classifier(any_class)
    X, y = library.problem(any_class)
    with pytest.raises(ValueError, match="y has a missing label.* in row 5"):
        library.make(any_class).fit(X, MISSING[missing_case](y))


# Weights that are legal and extreme.
WEIGHTS = {
    "all tiny": lambda w: 1e-300 * w,
    "all huge": lambda w: 1e300 * w,
    "sum beyond the floats": lambda w: 1e307 * w,
    "subnormal": lambda w: 5e-324 * np.ones_like(w),
    "one tiny": lambda w: np.where(np.arange(len(w)) == 3, 1e-300, w),
    "small": lambda w: 1e-90 * w,
    "large": lambda w: 1e90 * w,
}


@pytest.mark.parametrize("weight_case", WEIGHTS)
def test_extreme_weights_give_finite_answers_or_a_clear_error(weighted_class, library, weight_case):
    X, y = library.problem(weighted_class)
    weight = WEIGHTS[weight_case](1.0 + np.arange(len(X)) % 3)
    model = library.make(weighted_class)
    try:
        library.quietly(lambda: model.fit(X, y, sample_weight=weight))
    except ValueError as error:
        assert "weight" in str(error)
        assert weight_case != "one tiny"
        return
    for name, value in library.outputs(model, X).items():
        if np.asarray(value).dtype.kind == "f":
            assert np.isfinite(value).all(), name


@pytest.mark.parametrize("scale_case", [1e30, 1e100, 1e154, 1e200, 1e300])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_far_rows_are_answered_with_numbers_or_a_clear_error(
    any_class, library, scale_case, dtype
):
    X, y = library.problem(any_class)
    if dtype == "float32" and scale_case > 1e38:
        pytest.skip("is infinite")
    model = library.make(any_class)
    library.quietly(lambda: model.fit(X.astype(dtype), y))
    far = (np.sign(X) * scale_case).astype(dtype)
    for name in library.outputs(model, X.astype(dtype)):
        try:
            value = np.asarray(getattr(model, name)(far))
        except ValueError as error:
            assert any(word in str(error) for word in ("beyond the floats", "too large"))
            continue
        if value.dtype.kind == "f":
            assert not np.isnan(value).any(), name
            assert name == "score_samples" or np.isfinite(value).all(), name
