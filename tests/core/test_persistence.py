"""Values that go through a model file, and files that do not; hostile ones are in reliability."""

import os
import stat
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import panlearn
from panlearn.core.encoding import Decoder, Encoder
from panlearn.core.persistence import ModelFileError
from panlearn.core.statistics import LabelCounts, Moments
from panlearn.linear import Ridge

VALUES = {
    "none": None,
    "bool": True,
    "int": 10**30,
    "float": 0.1,
    "minus zero": -0.0,
    "inf": -np.inf,
    "nan": np.nan,
    "text": "grün ☃ \ud800",
    "list": [1, [2.5, None]],
    "tuple": (1, ("a", ())),
    "set": {1, 2},
    "frozenset": frozenset({"a"}),
    "dict": {1: "a", ("b", 2): [3], "#": "array"},
    "slice": slice(1, None, 2),
    "dtype": np.dtype("<f4"),
    "scalar type": np.float32,
    "scalar": np.float32(0.1),
    "int scalar": np.int64(3),
    "bool scalar": np.True_,
    "array": np.arange(6.0).reshape(2, 3),
    "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "empty": np.zeros((0, 3)),
    "zero-dimensional": np.array(2.5),
    "big-endian": np.arange(3, dtype=">f8"),
    "float16": np.ones(2, np.float16),
    "uint16": np.ones(2, np.uint16),
    "complex": np.array([1 + 2j, 3j]),
    "bools": np.array([True, False]),
    "texts": np.array([["a", "bcd"]]),
    "objects": np.array(["a", None, 1, 2.5, np.nan], dtype=object),
    "csr": sparse.csr_array(np.eye(3)),
    "csc": sparse.csc_matrix(np.eye(3)),
}


def _same(a, b):
    if sparse.issparse(a):
        assert type(a) is type(b)
        _same(a.toarray(), b.toarray())
    elif isinstance(a, np.ndarray | np.generic):
        assert type(a) is type(b)
        assert a.dtype.newbyteorder("=") == b.dtype
        assert a.shape == b.shape
        assert a.tolist() == b.tolist() or repr(a) == repr(b)
    else:
        assert type(a) is type(b)
        assert repr(a) == repr(b)


@pytest.mark.parametrize("name", VALUES)
def test_a_value_goes_there_and_back(name, tmp_path):
    model = Ridge()
    model.value_ = VALUES[name]
    panlearn.save(model, tmp_path / "model")
    _same(VALUES[name], panlearn.load(tmp_path / "model").value_)


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_a_generator_goes_on_where_it_was(kind, tmp_path):
    model = Ridge()
    bits = getattr(np.random, kind)(3)
    model.value_ = np.random.Generator(bits)
    model.legacy_ = np.random.RandomState(bits)
    model.value_.random(7)
    panlearn.save(model, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model")
    assert loaded.value_.random() == model.value_.random()


def test_statistics_go_there_and_back():
    encoder = Encoder()
    for statistic in (Moments.of(np.eye(2)), LabelCounts.of(["a", "b"])):
        code = encoder.encode(statistic)
        back = Decoder(encoder.arrays).decode(code)
        assert type(back) is type(statistic)
        assert (back + statistic).is_finite


@pytest.mark.parametrize(
    "value",
    [
        lambda: 1,
        object(),
        b"bytes",
        np.ones(1, np.longdouble),
        Path("a"),
    ],
    ids=["function", "object", "bytes", "longdouble", "path"],
)
def test_what_cannot_be_saved_is_said(value, tmp_path):
    model = Ridge()
    model.value_ = value
    with pytest.raises(TypeError, match="cannot save"):
        panlearn.save(model, tmp_path / "model")
    assert not os.listdir(tmp_path)


def test_a_model_that_contains_itself_is_refused(tmp_path):
    model = Ridge()
    model.value_ = [model]
    with pytest.raises(TypeError, match="contains itself"):
        panlearn.save(model, tmp_path / "model")


def test_only_models_are_saved(tmp_path):
    with pytest.raises(TypeError, match="takes an estimator; got a dict"):
        panlearn.save({}, tmp_path / "model")


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="no model file"):
        panlearn.load(tmp_path / "model")
    with pytest.raises(FileNotFoundError, match="no model file"):
        panlearn.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        panlearn.save(Ridge(), tmp_path / "nowhere" / "model")


def test_a_newer_format_says_what_to_do(tmp_path):
    panlearn.save(Ridge(), tmp_path / "model")
    content = (tmp_path / "model").read_bytes().replace(b"panlearn 1", b"panlearn 7")
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ModelFileError, match=r"format 7.*reads up to 1: upgrade panlearn"):
        panlearn.load(tmp_path / "model")


def test_the_file_has_the_usual_permissions_and_a_link_stays_a_link(tmp_path):
    (tmp_path / "plain").write_text("")
    panlearn.save(Ridge(), tmp_path / "model")
    modes = {stat.S_IMODE((tmp_path / n).stat().st_mode) for n in ("plain", "model")}
    assert len(modes) == 1
    (tmp_path / "link").symlink_to(tmp_path / "model")
    panlearn.save(Ridge(alpha=7), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert panlearn.load(tmp_path / "model").alpha == 7


def test_the_same_model_is_the_same_file(tmp_path):
    """Whatever the order in which its parts came; that of a set differs between processes."""
    names = [8, 0]
    for order in (1, -1):
        model = Ridge()
        for name, value in [("words_", set(names[::order])), ("coef_", np.ones(3))][::order]:
            setattr(model, name, value)
        panlearn.save(model, tmp_path / f"model {order}")
    assert list(set(names)) != list(set(names[::-1]))
    content = (tmp_path / "model 1").read_bytes()
    assert (tmp_path / "model -1").read_bytes() == content
    panlearn.save(panlearn.load(tmp_path / "model 1"), tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == content
