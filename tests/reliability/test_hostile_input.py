"""Input that other libraries stumble over, for every estimator: right, or an error of ours.

Each case is given to ``fit`` and to every method that answers. What comes out is the right answer
or an error that names the argument, the column and the row; never an error of another library's,
never NaN, never a crash.
"""

import functools

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils import get_tags

pd = pytest.importorskip("pandas")


def _refusal(call):
    """What a clear error says, or nothing if there is none."""
    try:
        call()
    except ValueError as error:
        return str(error) or "an error without words"
    return ""


def _refused(cls, library, cases, change, says, X, y, shown=lambda X: X):
    """Each case is refused by fit, and by every method of a model of the good rows."""
    model = library.brief(cls)
    library.quietly(lambda: model.fit(shown(X), y))
    answers = list(library.outputs(model, shown(X)))

    def try_one(case):
        bad = change(case)
        with pytest.raises((ValueError, TypeError), match=says(case)):
            library.make(cls).fit(bad(), y)
        for name in answers:
            with pytest.raises((ValueError, TypeError), match=says(case)):
                getattr(model, name)(bad())

    library.each(cases, try_one)


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
    "tensor with a gradient": (
        _tensor,
        r"X is a tensor that records a gradient; give X.detach\(\)",
    ),
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


@pytest.mark.parametrize("framed", [False, True], ids=["arrays", "frames"])
def test_what_is_no_number_is_refused_by_column_and_row(any_class, library, tally, framed):
    X, y = library.problem(any_class)
    cases = [case for case in WRONG_CELLS if ("frame" in case) == framed]
    if get_tags(any_class()).input_tags.string:  # where text is a category
        cases = [case for case in cases if "tensor" in case]
    _refused(
        any_class,
        library,
        cases,
        lambda case: lambda: WRONG_CELLS[case][0](X),
        lambda case: WRONG_CELLS[case][1],
        *(X, y),
        shown=_frame if framed else np.asarray,
    )
    tally["bad inputs", "refused by name"] += len(cases)


def test_columns_of_one_name_are_refused_by_it(any_class, library, tally):
    X, y = library.problem(any_class)
    _refused(
        any_class,
        library,
        ["twice"],
        lambda case: lambda: pd.DataFrame(X, columns=list("abba")),
        lambda case: "X has several columns named 'b'",
        *(X, y),
        shown=_frame,
    )
    tally["bad inputs", "refused by name"] += 1


def test_a_generator_of_rows_is_refused_by_what_it_gives(any_class, library, tally):
    X, y = library.problem(any_class)
    model, says = library.make(any_class), r"batch|iterator|generator|stream|dimension|array"
    _refused(
        any_class,
        library,
        ["rows"],
        lambda case: lambda: (row for row in X),
        lambda case: says,
        *(X, y),
    )
    with pytest.raises((ValueError, TypeError), match=f"{says}|requires y"):
        model.fit((row for row in X), **({} if y is None else {"y": None}))
    tally["bad inputs", "refused by name"] += 2


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


def test_a_malformed_sparse_matrix_is_refused(any_class, library, tally):
    X, y = library.problem(any_class)
    _refused(
        any_class,
        library,
        MALFORMED,
        lambda case: lambda: MALFORMED[case](X),
        lambda case: "X is a malformed sparse matrix",
        *(X, y),
    )
    tally["bad inputs", "refused by name"] += len(MALFORMED)


def test_a_malformed_sparse_batch_is_refused(stream_class, library, tally):
    X, y = library.problem(stream_class)

    def try_one(case):
        with pytest.raises(ValueError, match="X is a malformed sparse matrix"):
            library.make(stream_class).fit([(MALFORMED[case](X), y)])

    library.each(MALFORMED, try_one)
    tally["bad inputs", "refused by name"] += len(MALFORMED)


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


def test_labels_come_back_as_given(any_class, library, tally):
    _classifier(any_class)
    X, y = library.problem(any_class)
    codes = library.fitted(any_class).predict(X)

    def try_one(kind):
        names = np.array(LABELS[kind])
        dressed = pd.Series(names[y], index=range(7, 67)).astype(kind)
        model = library.brief(any_class)
        library.quietly(lambda: model.fit(X, dressed))
        assert model.classes_.tolist() == LABELS[kind]
        assert model.predict(X).tolist() == names[codes].tolist()
        assert {type(v) for v in model.predict(X).tolist()} == {type(LABELS[kind][0])}
        assert model.score(X, dressed) == (codes == y).mean()

    library.each(LABELS, try_one)
    tally["bad inputs", "the right answer"] += len(LABELS)


def test_labels_of_batches_and_of_partial_fit_come_back_as_given(any_class, library):
    _classifier(any_class)
    X, y = library.problem(any_class)
    for kind, labels in LABELS.items():
        dressed = pd.Series(np.array(labels)[y]).astype(kind)
        model = library.brief(any_class)
        if "stream" in any_class.capabilities.sources:
            batches = [(X[:40], dressed[:40]), (X[40:], dressed[40:])]
            library.quietly(lambda batches=batches, model=model: model.fit(batches))
            assert model.classes_.tolist() == labels
        if hasattr(model, "partial_fit"):
            given = {"y": dressed, "classes": pd.Series(labels).astype(kind)}
            model = library.brief(any_class)
            library.quietly(lambda given=given, model=model: model.partial_fit(X, **given))
            assert model.classes_.tolist() == labels


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


def test_a_missing_label_is_refused_by_row(any_class, library, tally):
    _classifier(any_class)
    X, y = library.problem(any_class)

    def try_one(case):
        with pytest.raises(ValueError, match=r"y has a missing label.* in row 5"):
            library.make(any_class).fit(X, MISSING[case](y))

    library.each(MISSING, try_one)
    tally["bad inputs", "refused by name"] += len(MISSING)


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


def test_extreme_weights_give_finite_answers_or_a_clear_error(weighted_class, library):
    X, y = library.problem(weighted_class)

    def try_one(case):
        weight = WEIGHTS[case](1.0 + np.arange(len(X)) % 3)
        model = library.brief(weighted_class)
        fit = functools.partial(model.fit, X, y, sample_weight=weight)
        if refusal := _refusal(lambda: library.quietly(fit)):
            assert "weight" in refusal
            assert case != "one tiny"
            return
        for name, value in library.outputs(model, X).items():
            if np.asarray(value).dtype.kind == "f":
                assert np.isfinite(value).all(), name

    library.each(WEIGHTS, try_one)


FAR = {"float64": [1e30, 1e100, 1e154, 1e200, 1e300], "float32": [1e15, 1e19, 1e30, 1e38]}


@pytest.mark.parametrize("dtype", FAR)
def test_far_rows_are_answered_with_numbers_or_a_clear_error(any_class, library, dtype):
    X, y = library.problem(any_class)
    model = library.brief(any_class)
    library.quietly(lambda: model.fit(X.astype(dtype), y))
    answers = list(library.outputs(model, X.astype(dtype)))
    clear = ("beyond the floats", "beyond float", "too large", "overflow", "categor", "takes up to")
    clear += ("times as far away", "no training row is within")

    def try_one(scale):
        far = (np.sign(X) * scale).astype(dtype)
        for name in answers:
            if refusal := _refusal(lambda name=name: getattr(model, name)(far)):
                assert any(word in refusal for word in clear), refusal
                continue
            value = np.asarray(getattr(model, name)(far))
            if value.dtype.kind == "f":
                assert not np.isnan(value).any(), name
                assert name == "score_samples" or np.isfinite(value).all(), name

    library.each(FAR[dtype], try_one)
