"""Bad and unusual input, for every estimator: the right answer or an error that names the thing.

Never NaN in what was learned or predicted, never an error of another kind, never a RuntimeWarning
(pytest turns any warning into an error).
"""

import functools
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import get_tags

pd = pytest.importorskip("pandas")

CLEAR = (ValueError, TypeError)


def _refusal(call):
    """What a clear error says, or nothing if there is none."""
    try:
        call()
    except CLEAR as error:
        return str(error) or "an error without words"
    return ""


def _whole(X):
    """Small whole numbers, which every type of number holds exactly."""
    return np.round(2 * X).clip(-100, 100)


def _strided(X):
    wide = np.zeros((2 * len(X), 3 * X.shape[1]))
    wide[::2, ::3] = X
    return wide[::2, ::3]


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def _long_indices(X):
    matrix = sparse.csr_array(X)
    matrix.indices, matrix.indptr = matrix.indices.astype("i8"), matrix.indptr.astype("i8")
    return matrix


def _with_duplicates(X):
    """A CSR matrix that stores each value as two halves, in no order of columns."""
    n, d = X.shape
    columns = np.tile(np.r_[np.arange(d)[::-1], np.arange(d)], n)
    values = np.hstack([X[:, ::-1], X]).ravel() / 2
    return sparse.csr_array((values, columns, np.arange(n + 1) * 2 * d), shape=X.shape)


# The same rows in another dress: name -> function of a whole-numbered float64 X.
DRESS = {
    "list of lists": lambda X: X.tolist(),
    "data frame": lambda X: pd.DataFrame(X, columns=list("abcd")),
    "nullable floats": lambda X: pd.DataFrame(X, columns=list("abcd")).astype("Float64"),
    "nullable ints": lambda X: pd.DataFrame(X, columns=list("abcd")).astype("Int64"),
    "mixed frame": lambda X: pd.DataFrame(X, columns=list("abcd")).astype({"a": "int8", "b": "f4"}),
    "object": lambda X: X.astype(object),
    "numbers as text": lambda X: X.astype(str),
    "fortran": np.asfortranarray,
    "strided": _strided,
    "reversed": lambda X: X[::-1].copy()[::-1],
    "read-only": _read_only,
    "big-endian": lambda X: X.astype(">f8"),
    "float16": lambda X: X.astype(np.float16),
    "longdouble": lambda X: X.astype(np.longdouble),
    "int8": lambda X: X.astype(np.int8),
    "uint64": lambda X: (X + 100).astype(np.uint64),
    "bool": lambda X: X > 0,
    "unmasked": np.ma.masked_array,
    "matrix of memory map": lambda X: X.view(np.memmap),
}
SPARSE = {
    f"{format}_{kind}": getattr(sparse, f"{format}_{kind}")
    for format in ("csr", "csc", "coo", "lil", "dok")
    for kind in ("array", "matrix")
} | {"int64 indices": _long_indices, "duplicate entries": _with_duplicates}


def _plain(dressed):
    return np.asarray(dressed, dtype=np.float64)


def test_the_same_rows_in_another_dress_give_the_same_model(any_class, library, tally):
    X, y = library.problem(any_class)
    text_is_a_label = get_tags(any_class()).input_tags.string
    known = {}  # what models of plain rows answer; most dresses are of the same rows

    def expected(plain):
        if (key := plain.tobytes()) not in known:
            model = library.quietly(lambda: library.brief(any_class).fit(plain, y))
            known[key] = library.outputs(model, plain)
        return known[key]

    def try_one(dress):
        dressed = DRESS[dress](_whole(X))
        model = library.brief(any_class)
        library.quietly(lambda: model.fit(dressed, y))
        ours, theirs = library.outputs(model, dressed), expected(_plain(dressed))
        for name, value in theirs.items():
            if np.asarray(value).dtype.kind == "f":
                np.testing.assert_allclose(ours[name], value, rtol=1e-8, atol=1e-10, err_msg=name)
            else:
                np.testing.assert_array_equal(ours[name], value)
        tally["bad inputs", "the right answer"] += 1

    library.each(
        [dress for dress in DRESS if dress != "numbers as text" or not text_is_a_label], try_one
    )


# Where what a sparse matrix does not store is missing, so that zeros of a dense one are not.
NOT_STORED_IS_MISSING = {"MatrixFactorization"}


def _limit(cls):
    """Where the perceptron walks on over rows that cannot be told apart, not for long."""
    return {"max_iter": 200} if cls.__name__ == "Perceptron" else {}


def test_sparse_rows_are_solved_or_refused_by_name(any_class, library):
    X, y = library.problem(any_class)
    X = _whole(X) * (np.random.default_rng(0).random(X.shape) < 0.6)

    def make():
        if any_class.__name__ == "AdversarialTraining":  # both take the same steps, few or many
            return library.brief(any_class)
        return library.make(any_class, **_limit(any_class))

    @functools.cache
    def dense(zeros_are_stored):
        rows = X if zeros_are_stored else np.where(X == 0, np.nan, X)
        return rows, library.quietly(lambda: make().fit(rows, y))

    def try_one(dress):
        dressed, model = SPARSE[dress](X), make()
        if not get_tags(model).input_tags.sparse:
            with pytest.raises(TypeError, match=r"[Ss]parse"):
                model.fit(dressed, y)
            return
        stored = any_class.__name__ not in NOT_STORED_IS_MISSING or dress == "duplicate entries"
        rows, expected = dense(stored)
        library.quietly(lambda: model.fit(dressed, y))
        tolerance = 1e-8 if not hasattr(model, "tol") else 1e-5  # dense and sparse may stop apart
        library.same(model, expected, rows, rtol=tolerance)
        for name, value in library.outputs(model, dressed).items():
            scale = np.abs(value).max() if np.asarray(value).dtype.kind == "f" else 0
            np.testing.assert_allclose(
                getattr(model, name)(rows), value, rtol=0, atol=1e-12 * scale
            )

    library.each(SPARSE, try_one)


def _with(value, at=(3, 1)):
    def change(X):
        X = X.copy()
        X[at] = value
        return X

    return change


# X that nothing can be learned from -> what the error says.
BAD_X = {
    "one-dimensional": (lambda X: X[:, 0], "2D|2-d|dimension"),
    "three-dimensional": (lambda X: X[:, :, None], "dim"),
    "five-dimensional": (lambda X: X[:, :, None, None, None], "dim"),
    "scalar": (lambda X: 3.0, "2D|scalar|dim"),
    "none": (lambda X: None, "None|array"),
    "no rows": (lambda X: X[:0], "0 sample|sample"),
    "no columns": (lambda X: X[:, :0], "0 feature|feature"),
    "nan": (_with(np.nan), "NaN"),
    "inf": (_with(np.inf), "infinity"),
    "minus inf": (_with(-np.inf), "infinity"),
    "last value nan": (_with(np.nan, (-1, -1)), "NaN"),
    "text": (lambda X: np.full(X.shape, "red"), "convert|string|str"),
    "objects": (lambda X: np.full(X.shape, object()), "float|object"),
    "complex": (lambda X: X + 1j, "[Cc]omplex"),
    "dates": (
        lambda X: np.full(X.shape, np.datetime64("2020-01-01")),
        "DType|dtype|datetime|float",
    ),
    "masked": (lambda X: np.ma.masked_array(X, X > 1), "masked"),
    "nullable with NA": (
        lambda X: pd.DataFrame(X).astype("Float64").mask(X > 1),
        "NaN|NA",
    ),
    "ragged": (lambda X: [[1.0, 2.0], [3.0]], "inhomogeneous|sequence|shape"),
    "structured": (lambda X: np.zeros(len(X), dtype=[("a", float)]), "dim|dtype|void|float|2D"),
    "sparse nan": (lambda X: sparse.csr_array(_with(np.nan)(X)), "NaN|[Ss]parse"),
    "dictionary": (lambda X: {"a": 1}, "dict|2D"),
    "text alone": (lambda X: "rows.csv", "2D|str"),
}


def says_missing(case):
    """Whether the rows of a case are good where NaN is a missing entry."""
    return "nan" in case or "NA" in case


def _bad_rows(*models):
    """The cases that are bad for all of these."""
    left_out = set()
    for model in models:
        wants = get_tags(model).input_tags
        left_out |= {"text"} if wants.string else set()  # text is a label
        left_out |= {"three-dimensional"} if wants.three_d_array else set()  # takes images
        left_out |= {case for case in BAD_X if wants.allow_nan and says_missing(case)}
    return [case for case in BAD_X if case not in left_out]


def test_bad_rows_are_refused_by_name(any_class, library, tally):
    X, y = library.problem(any_class)

    def try_one(case):
        change, says = BAD_X[case]
        bad = change(X)
        target = y if y is None or case not in ("no rows", "ragged") else y[: len(bad)]
        with pytest.raises(CLEAR, match=says):
            library.make(any_class).fit(bad, target)
        tally["bad inputs", "refused by name"] += 1
        if case not in ("no rows", "masked", "dates"):  # scikit-learn's word on new rows
            fitted = library.fitted(any_class)
            for name in [m for m in library.methods if hasattr(fitted, m)]:
                with pytest.raises(CLEAR):
                    getattr(fitted, name)(bad)
                tally["bad inputs", "refused by name"] += 1

    library.each(_bad_rows(any_class(), library.make(any_class)), try_one)


# y that does not go with X -> what the error says.
BAD_Y = {
    "absent": (lambda y: None, "requires y|y cannot be None"),
    "too short": (lambda y: y[:-1], "inconsistent|length|samples"),
    "too long": (lambda y: np.r_[y, y[:1]], "inconsistent|length|samples"),
    "empty": (lambda y: y[:0], "inconsistent|length|samples|sample"),
    "three-dimensional": (lambda y: y[:, None, None], "dim|shape"),
    "scalar": (lambda y: 1.0, "y must hold one target a row"),
    "nan": (lambda y: np.where(np.arange(len(y)) == 5, np.nan, y), r"\by\b.*NaN"),
    "inf": (lambda y: np.where(np.arange(len(y)) == 5, np.inf, y), r"\by\b.*inf"),
    "complex": (lambda y: y + 1j, "[Cc]omplex"),
}
BAD_NUMBERS = {
    "text": (lambda y: np.full(len(y), "red"), "y holds 'red' in row 0"),
    "objects": (lambda y: np.array([object()] * len(y)), "y holds <object .* in row 0"),
    "masked": (lambda y: np.ma.masked_array(y, y > 1), "masked"),
}
BAD_LABELS = {
    "continuous": (lambda y: y + np.linspace(0.1, 0.2, len(y)), "continuous|label"),
    "one class": (lambda y: np.zeros_like(y), "class"),
    "several outputs": (lambda y: np.c_[y, y], r"1d|shape|multi|\by\b"),
}


def test_bad_targets_are_refused_by_name(any_class, library, tally):
    model = library.make(any_class)
    X, y = library.problem(any_class)
    if y is None:
        pytest.skip("learns from no targets")
    cases = dict(BAD_Y)
    cases |= BAD_NUMBERS if is_regressor(model) else {}
    cases |= BAD_LABELS if is_classifier(model) else {}
    if get_tags(model).classifier_tags and get_tags(model).classifier_tags.multi_label:
        del cases["several outputs"]  # a row may have several labels

    def try_one(case):
        change, says = cases[case]
        with pytest.raises(CLEAR, match=says):
            library.make(any_class).fit(X, change(y))
        tally["bad inputs", "refused by name"] += 1

    library.each(cases, try_one)


def test_targets_in_another_dress(any_class, library):
    X, y = library.problem(any_class)
    if y is None:
        pytest.skip("learns from no targets")
    expected = library.fitted(any_class)
    dresses = [y.tolist(), pd.Series(y, index=range(7, 67)), np.repeat(y, 2)[::2]]
    if is_regressor(expected):
        dresses += [y.astype(object), y.astype(">f8"), pd.Series(y, dtype="Float64")]
    else:
        dresses += [y.astype(np.int8), y.astype(float)]
    for dressed in dresses:
        model = library.brief(any_class)
        library.quietly(lambda model=model, dressed=dressed: model.fit(X, dressed))
        library.same(model, expected, X, rtol=1e-10)


def test_labels_of_any_kind_come_back(any_class, library):
    model = library.brief(any_class)
    X, y = library.problem(any_class)
    if not is_classifier(model):
        pytest.skip("no classifier")
    for labels in (["no", "yes"], [False, True], [-7, 12], [2.0, 5.0]):
        named = np.array(labels)[y]
        library.quietly(lambda named=named: model.fit(X, named))
        assert model.classes_.tolist() == labels
        assert set(model.predict(X)) <= set(labels)
        assert model.predict(X).dtype == named.dtype


def test_a_column_of_targets_warns_or_is_a_table(any_class, library):
    X, y = library.problem(any_class)
    if y is None:
        pytest.skip("learns from no targets")
    expected = library.fitted(any_class)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # DataConversionWarning where only one target is learned
        model = library.brief(any_class).fit(X, y[:, None])
    np.testing.assert_allclose(np.ravel(model.predict(X)), expected.predict(X), rtol=1e-10)


# Rows that are legal and hard.
HARD_X = {
    "one row": lambda X: X[:1],
    "two rows": lambda X: X[:2],
    "one column": lambda X: X[:, :1],
    "wide": lambda X: np.random.default_rng(0).normal(size=(8, 30)),
    "constant column": lambda X: np.c_[X, np.full(len(X), 3.7)],
    "constant column at 1e8": lambda X: np.c_[X, np.full(len(X), 1e8 + 0.1)],
    "zero column": lambda X: np.c_[X, np.zeros(len(X))],
    "all constant": lambda X: np.full_like(X, 0.1),
    "all zero": np.zeros_like,
    "duplicate columns": lambda X: np.c_[X, X],
    "sum of columns": lambda X: np.c_[X, X.sum(axis=1)],
    "one row repeated": lambda X: np.repeat(X[:1], len(X), axis=0),
    "tiny": lambda X: 1e-150 * X,
    "small": lambda X: 1e-30 * X,
    "large": lambda X: 1e30 * X,
    "huge": lambda X: 1e150 * X,
    "mixed": lambda X: X * [1e-150, 1e-5, 1.0, 1e150],
    "mixed somewhat": lambda X: X * [1e-8, 1.0, 1e4, 1e8],
    "offset": lambda X: X + 1e8,
    "one outlier": _with(1e100),
    "subnormal": lambda X: np.full_like(X, 5e-324) * np.sign(X),
    "near the largest float": lambda X: 1e300 * np.sign(X),
}


def _most(cls):
    """Long enough for what grows to overflow."""
    return {"max_iter": 100} if hasattr(cls(), "max_iter") else {}


ALL_ALIKE = {"all constant", "all zero", "one row repeated"}


def test_hard_rows_give_finite_results_or_a_clear_error(any_class, library, tally):
    whole, y = library.problem(any_class)

    def try_one(case):
        X = HARD_X[case](whole)
        model = library.brief(any_class, **_most(any_class))
        target = y if y is None else y[: len(X)]
        if refusal := _refusal(lambda: library.quietly(lambda: model.fit(X, target))):
            wants = get_tags(model).input_tags
            foreign = wants.categorical or (wants.positive_only and "Negative" in refusal)
            # what models the rows themselves has nothing to learn from equal ones
            empty = case in ALL_ALIKE and "no column of X varies" in refusal
            assert case in REFUSABLE or foreign or empty, f"{case}: {refusal}"
            assert len(refusal) > 20
            tally["bad inputs", "refused by name"] += 1
            return
        for name, value in library.learned(model).items():
            if isinstance(value, float) or getattr(value, "dtype", np.dtype(object)).kind == "f":
                assert np.isfinite(value).all(), name
        tally["bad inputs", "finite numbers"] += 1
        if case == "near the largest float":
            return  # its products are beyond the floats, and so may the outputs be
        for name, value in library.outputs(model, X).items():
            assert np.isfinite(np.asarray(value, dtype=float)).all(), name

    library.each(HARD_X, try_one)


# What an estimator may refuse by name: one class among the labels, or sums that overflow.
REFUSABLE = {"one row", "two rows", "huge", "mixed", "one outlier", "subnormal"} | {
    "near the largest float"
}


def test_hard_targets_give_finite_results_or_a_clear_error(any_class, library):
    X, y = library.problem(any_class)
    if not is_regressor(any_class()):
        pytest.skip("no numbers to learn")

    def try_one(scale):
        model = library.brief(any_class, **_most(any_class))
        if refusal := _refusal(lambda: library.quietly(lambda: model.fit(X, scale * y))):
            assert len(refusal) > 20
            return
        for name, value in library.outputs(model, X).items():
            assert np.isfinite(value).all(), name

    library.each([1e-150, 1e-30, 1e30, 1e150], try_one)


def test_new_rows_of_another_width_are_refused(any_class, library):
    X, _ = library.problem(any_class)
    model = library.fitted(any_class)
    for name in library.outputs(model, X):
        with pytest.raises(ValueError, match="expecting 4"):
            getattr(model, name)(X[:, :3])
        assert len(getattr(model, name)(X[:1])) == 1
