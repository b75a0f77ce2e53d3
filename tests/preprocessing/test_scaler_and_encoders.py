"""Scaling and encoding: scikit-learn's numbers, from wherever the rows come."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import preprocessing as scikit_learn

import panlearn
from panlearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

COLOURS = np.array(["red", "green", "blue", "teal"], dtype=object)


@pytest.fixture
def table(rng):
    frame = pd.DataFrame(
        {"colour": COLOURS[rng.integers(4, size=60)], "size": rng.integers(3, 6, 60)}
    )
    frame.loc[7, "colour"] = None
    return frame


def _sources(X, weight=None):
    """The same rows as an array, a stream and a Dask array."""
    cuts = [slice(0, 11), slice(11, 12), slice(12, None)]
    some = (lambda p: None) if weight is None else (lambda p: weight[p])
    yield panlearn.Batches(lambda: ((X[p], None, some(p)) for p in cuts)), {}
    chunks = (17, 20, len(X) - 37)
    given = {} if weight is None else {"sample_weight": da.from_array(weight, chunks=(chunks,))}
    yield da.from_array(X, chunks=(chunks, -1)), given


def test_scaled_columns_are_those_of_scikit_learn(rng):
    X = rng.normal(size=(60, 3)) * [1e-3, 1.0, 1e4] + [0.0, 1e8, -5.0]
    X = np.column_stack([X, np.full(60, 7.0)])
    weight = rng.random(60)
    for given in (None, weight):
        ours = StandardScaler().fit(X, sample_weight=given)
        with np.errstate(invalid="ignore"):  # theirs may find -1e-46 as a constant's variance
            theirs = scikit_learn.StandardScaler().fit(X, sample_weight=given)
        np.testing.assert_allclose(ours.mean_, theirs.mean_, rtol=1e-14)
        np.testing.assert_allclose(ours.scale_, theirs.scale_, rtol=1e-7)
        np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=0, atol=1e-6)
        np.testing.assert_allclose(ours.inverse_transform(ours.transform(X)), X, rtol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_the_scaler_has_the_same_numbers_from_any_source_and_in_parts(rng, offset):
    X, weight = offset + rng.normal(size=(60, 3)), rng.random(60)
    exact = X.astype(np.longdouble)
    mean = (weight[:, None] * exact).sum(axis=0) / weight.sum(dtype=np.longdouble)
    variance = (weight[:, None] * (exact - mean) ** 2).sum(axis=0) / weight.sum()
    models = [StandardScaler().fit(X, sample_weight=weight)]
    models += [StandardScaler().fit(rows, **more) for rows, more in _sources(X, weight)]
    parts = StandardScaler()
    for part in (slice(0, 1), slice(1, 30), slice(30, 60)):
        parts.partial_fit(X[part], sample_weight=weight[part])
    for model in [*models, parts]:
        np.testing.assert_allclose(model.mean_, mean.astype(float), rtol=1e-15, atol=1e-15)
        np.testing.assert_allclose(model.var_, variance.astype(float), rtol=1e-12)


def test_without_mean_or_deviation(rng):
    X = rng.normal(3.0, 2.0, size=(30, 2))
    for options in ({"with_mean": False}, {"with_std": False}):
        ours = StandardScaler(**options).fit_transform(X)
        theirs = scikit_learn.StandardScaler(**options).fit_transform(X)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("drop", [None, "first", "if_binary"])
def test_indicators_are_those_of_scikit_learn(table, drop):
    ours = OneHotEncoder(drop=drop).fit(table)
    theirs = scikit_learn.OneHotEncoder(drop=drop).fit(table)
    np.testing.assert_array_equal(
        ours.transform(table).toarray(), theirs.transform(table).toarray()
    )
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    back = pd.DataFrame(ours.inverse_transform(ours.transform(table)), columns=table.columns)
    assert back.astype(object).equals(table.astype(object))


@pytest.mark.parametrize("kind", [OneHotEncoder, OrdinalEncoder])
def test_encoders_have_the_same_categories_from_any_source_and_in_parts(table, kind):
    X = table.to_numpy(dtype=object)
    whole = kind().fit(X)
    frame = dd.from_pandas(table.astype({"colour": object}), npartitions=3)
    models = [kind().fit(rows) for rows, _ in _sources(X)] + [kind().fit(frame)]
    parts = kind()
    for part in (slice(0, 5), slice(5, 60)):
        parts.partial_fit(X[part])
    for model in [*models, parts]:
        for one, other in zip(model.categories_, whole.categories_, strict=True):
            assert one.tolist() == other.tolist()


def test_numbers_of_labels_are_those_of_scikit_learn(table):
    X = table.dropna()
    ours, theirs = (cls().fit(X) for cls in (OrdinalEncoder, scikit_learn.OrdinalEncoder))
    np.testing.assert_array_equal(ours.transform(X), theirs.transform(X))
    np.testing.assert_array_equal(ours.inverse_transform(ours.transform(X)), X.to_numpy(object))
    last = OrdinalEncoder().fit_transform(table)
    assert last[7, 0] == len(set(X["colour"]))


def test_categories_may_be_given_in_an_order():
    X = [["low"], ["high"], ["low"]]
    encoder = OrdinalEncoder([["low", "middle", "high"]]).fit(X)
    assert encoder.transform(X)[:, 0].tolist() == [0.0, 2.0, 0.0]
    assert OneHotEncoder([["low", "middle", "high"]]).fit(X).transform(X).shape == (3, 3)
    with pytest.raises(ValueError, match=r"'high' is no category of column 0.*categories"):
        OrdinalEncoder([["low", "middle"]]).fit(X)
    with pytest.raises(ValueError, match="lists for 2 columns, and X has 1"):
        OrdinalEncoder([["low"], ["high"]]).fit(X)


def test_what_was_never_seen_is_an_error_or_nothing():
    X = pd.DataFrame({"colour": ["red", "blue"]})
    new = pd.DataFrame({"colour": ["red", "pink"]})
    with pytest.raises(
        ValueError, match=r"'pink' is no category of column 'colour'.*\['blue', 'red'\]"
    ):
        OneHotEncoder().fit(X).transform(new)
    zeros = OneHotEncoder(handle_unknown="ignore").fit(X).transform(new)
    assert zeros.toarray().tolist() == [[0.0, 1.0], [0.0, 0.0]]
    numbered = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1).fit(X)
    assert numbered.transform(new)[:, 0].tolist() == [1.0, -1.0]
    with pytest.raises(ValueError, match="needs unknown_value"):
        OrdinalEncoder(handle_unknown="use_encoded_value").fit(X).transform(new)


def test_labels_of_several_types_are_refused_by_column():
    with pytest.raises(TypeError, match=r"column 1 do not sort.*\['int', 'str'\]"):
        OneHotEncoder().fit(np.array([["a", 1], ["b", "x"]], dtype=object))


def test_rows_of_weight_zero_are_absent():
    X = np.array([["a"], ["b"], ["c"]], dtype=object)
    encoder = OneHotEncoder().fit(X, sample_weight=[1.0, 0.0, 2.0])
    assert encoder.categories_[0].tolist() == ["a", "c"]


def test_indicators_are_sparse_unless_told():
    encoder = OneHotEncoder().fit([["a"], ["b"]])
    assert sparse.issparse(encoder.transform([["a"]]))
    assert encoder.transform(np.array([["a"]])).dtype == np.float64
    assert (
        OneHotEncoder().fit(np.float32([[1], [2]])).transform(np.float32([[1]])).dtype == "float32"
    )
