"""Validation at the boundary: what read_rows makes of its input."""

from dataclasses import dataclass

import numpy as np
import pytest

from panlearn.core.capabilities import Capabilities
from panlearn.core.estimator import Estimator
from panlearn.core.plain import known_rows
from panlearn.core.sources import ArrayRows, DaskRows, StreamRows
from panlearn.core.validation import read_rows

X, Y = np.arange(6.0).reshape(3, 2), np.array([1.0, 2.0, 4.0])


@dataclass(eq=False, repr=False)
class Any(Estimator):
    capabilities = Capabilities(sparse=True)


def test_an_array_is_not_copied():
    rows = read_rows(Any(), X, Y, Y, targets="numbers")
    assert isinstance(rows, ArrayRows)
    assert np.shares_memory(rows.X, X)
    assert np.shares_memory(rows.y, Y)
    mapped = X.view(np.memmap)
    assert np.shares_memory(read_rows(Any(), mapped).X, X)


def test_floats_keep_their_size_and_others_become_float64():
    assert read_rows(Any(), X.astype(np.float32)).dtype == np.float32
    for kind in (np.float16, np.int8, bool, object):
        assert read_rows(Any(), X.astype(kind)).dtype == np.float64
    rows = read_rows(Any(), X.astype(np.float32), Y, Y, targets="numbers")
    assert rows.y.dtype == rows.weight.dtype == np.float32


def test_targets_of_each_kind():
    assert read_rows(Any(), X, Y).y is None
    assert read_rows(Any(), X, [1, 2, 3], targets="numbers").y.dtype == np.float64
    assert read_rows(Any(), X, np.c_[Y, Y], targets="numbers").y_ndim == 2
    assert read_rows(Any(), X, ["a", "b", "a"], targets="labels").y.tolist() == ["a", "b", "a"]
    with pytest.raises(ValueError, match="y must hold numbers"):
        read_rows(Any(), X, np.array(["a", "b", "c"]), targets="numbers")
    with pytest.raises(ValueError, match="continuous"):
        read_rows(Any(), X, Y + 0.5, targets="labels")
    with pytest.raises(ValueError, match=r"y contains infinity.*float32"):
        read_rows(Any(), X.astype(np.float32), 1e100 * Y, targets="numbers")


def test_features_are_remembered_and_held_against():
    model = Any()
    read_rows(model, X)
    assert model.n_features_in_ == 2
    with pytest.raises(ValueError, match="3 features, but Any is expecting 2"):
        read_rows(model, np.ones((3, 3)), reset=False)
    with pytest.raises(ValueError, match="3 features, but Any is expecting 2"):
        read_rows(model, iter([np.ones((3, 3))]), reset=False)


def test_streams_and_dask():
    da = pytest.importorskip("dask.array")
    stream = read_rows(Any(), iter([(X, Y), (X, Y)]), targets="numbers")
    assert isinstance(stream, StreamRows)
    assert [b.X.shape for b in stream] == [(3, 2), (3, 2)]
    assert not stream.repeatable
    rows = read_rows(
        Any(), da.from_array(X, chunks=2), da.from_array(Y, chunks=2), targets="numbers"
    )
    assert isinstance(rows, DaskRows)
    assert (rows.n_features, rows.dtype, rows.y_ndim, len(rows.parts)) == (2, np.float64, 1, 2)


def test_hidden_entries_and_dates_are_refused():
    masked = np.ma.masked_array(X, X > 3)
    with pytest.raises(ValueError, match="X is a masked array"):
        read_rows(Any(), masked)
    with pytest.raises(ValueError, match="X is a masked array"):
        list(read_rows(Any(), [masked, masked]))
    with pytest.raises(ValueError, match="sample_weight is a masked array"):
        read_rows(Any(), X, sample_weight=np.ma.masked_array(Y, Y > 2))
    with pytest.raises(ValueError, match="y has dtype datetime64"):
        read_rows(Any(), X, np.array(["2020-01-01"] * 3, dtype="M8[D]"), targets="numbers")


def test_sparse_may_be_refused():
    sparse = pytest.importorskip("scipy.sparse")
    assert read_rows(Any(), sparse.coo_array(X)).X.format == "csr"
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        read_rows(Any(), sparse.csr_array(X), accept_sparse=False)


def test_rows_for_a_fitted_model_pass_at_a_look_or_are_validated(monkeypatch):
    model = Any()
    read_rows(model, X)
    assert known_rows(model, X) is X
    assert known_rows(model, X.astype(np.float32)).dtype == np.float32
    assert known_rows(model, X.tolist()).dtype == np.float64  # what is no array goes the long way
    assert known_rows(model, X.astype(">f8")).dtype.isnative
    for wrong, says in (
        (X[:, :1], "1 features, but Any is expecting 2"),
        (X[0], "1D array"),
        (X[:0], "minimum of 1 is required"),
        (np.where(X == 2, np.nan, X), "NaN"),
        (np.where(X == 2, np.inf, X), "infinity"),
    ):
        with pytest.raises(ValueError, match=says):
            known_rows(model, wrong)
    assert np.isnan(known_rows(model, np.where(X == 2, np.nan, X), allow_nan=True)).sum() == 1
    with pytest.raises(ValueError, match="infinity"):
        known_rows(model, np.where(X == 2, np.inf, X), allow_nan=True)
    model.feature_names_in_ = np.array(["a", "b"], dtype=object)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        known_rows(model, X)
