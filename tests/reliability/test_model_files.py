"""Damaged, foreign and hostile model files: an error or the same model, and nothing is run."""

import hashlib
import json
import os
import pickle
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
import sklearn
from safetensors import safe_open
from safetensors.numpy import save as to_safetensors
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import panlearn
from panlearn.core.persistence import ModelFileError
from panlearn.linear import LinearRegression, Ridge

DATA = Path(__file__).parent / "data"


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    return Ridge(alpha=0.25).fit(X, X @ [1.0, -2.0, 3.0] + 1)


RUNS = {
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "pickle.find_class",
}
_seen: list[str] = []


def _watch(event, args):
    if event in RUNS:
        _seen.append(event)


sys.addaudithook(_watch)  # Python has no way to take it away again; it only takes notes


@pytest.fixture(autouse=True)
def _nothing_runs():
    _seen.clear()
    yield
    assert not _seen, f"a model file ran {_seen}"


def _outcome(path, model):
    """Load: 'error' or 'same'; anything else is a failure."""
    try:
        loaded = panlearn.load(path)
    except ModelFileError:
        return "error"
    assert type(loaded) is type(model)
    assert vars(loaded).keys() == vars(model).keys()
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    assert loaded.intercept_ == model.intercept_
    return "same"


def _mutations(content, rng):
    """Yield 1,400 altered files: flips, cuts, insertions, swaps, and edits of the header."""
    n = len(content)
    for bit in rng.choice(8 * n, 500, replace=False):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << (bit % 8)
        yield bytes(changed)
    for length in rng.choice(n, 250, replace=False):
        yield content[:length]
    for _ in range(250):
        at, size = rng.integers(n), rng.integers(1, 20)
        yield content[:at] + rng.bytes(size) + content[at:]
    for _ in range(150):
        at, size = rng.integers(n), rng.integers(1, 20)
        yield content[:at] + content[at + size :]
    for _ in range(150):
        a, b = sorted(rng.integers(0, n - 8, 2))
        changed = bytearray(content)
        changed[a : a + 8], changed[b : b + 8] = changed[b : b + 8], changed[a : a + 8]
        yield bytes(changed)
    for value in [0, 1, 7, n, n - 8, n * 2, 2**31, 2**32, 2**40, 2**63 - 1, 2**63, 2**64 - 1]:
        yield struct.pack("<Q", value) + content[8:]
    header = content[8 : 8 + struct.unpack("<Q", content[:8])[0]]
    for old, new in HEADER_EDITS:
        assert old in header
        edited = header.replace(old, new)
        yield struct.pack("<Q", len(edited)) + edited + content[8 + len(header) :]
    yield from [b"", b"\x00", b"{}", content[8:], content + content, content + b"\x00" * 64]
    yield from (rng.bytes(size) for size in range(1, 80))


HEADER_EDITS = [
    (b"panlearn 1", b"panlearn 2"),
    (b"panlearn 1", b"panlearn 0"),
    (b"panlearn 1", b"panlearn -1"),
    (b"panlearn 1", b"panlearn " + b"9" * 5000),
    (b"panlearn 1", "panlearn ²".encode()),
    (b"panlearn 1", b"pickle 1"),
    (b"Ridge", b"LinearRegression"),
    (b"F64", b"F32"),
    (b"F64", b"I64"),
    (b"F64", b"BF16"),
    (b"sha256", b"sha255"),
    (b"structure", b"Structure"),
    (b"__metadata__", b"metadata"),
    (b"[3]", b"[1,3]"),
    (b"[3]", b"[-3]"),
    (b"[3]", b"[999999999999999]"),
    (b"0.25", b"0.26"),
    (b"coef_", b"coeg_"),
    (b'\\"state\\"', b'\\"stats\\"'),
]


def test_mutated_files_are_an_error_or_the_same_model(model, tmp_path):
    path = tmp_path / "model"
    panlearn.save(model, path)
    content = path.read_bytes()
    outcomes = []
    for mutated in _mutations(content, np.random.default_rng(1)):
        path.write_bytes(mutated)
        outcomes.append(_outcome(path, model) if mutated != content else "unchanged")
    assert len(outcomes) > 1_400
    assert outcomes.count("error") > 1_350
    path.write_bytes(content)
    assert _outcome(path, model) == "same"


def _write(path, structure, arrays=None):
    """A file with a valid checksum whatever it says."""
    arrays = arrays if arrays is not None else {"0": np.ones(3)}
    text = structure if isinstance(structure, str) else json.dumps(structure)
    metadata = {"format": "panlearn 1", "panlearn": "0.1.0", "structure": text}
    checksum = hashlib.sha256(text.encode())
    for name, array in sorted(arrays.items()):
        checksum.update(f"{name} {array.dtype.str} {array.shape} ".encode() + array.tobytes())
    metadata["sha256"] = checksum.hexdigest()
    path.write_bytes(to_safetensors(arrays, metadata))


def _ridge(**state):
    return {
        "#": "object",
        "class": "panlearn.linear.Ridge",
        "state": {"alpha": 1.0, "fit_intercept": True, **state},
    }


def _scaler(**state):
    fields = {"copy": True, "with_mean": True, "with_std": True}
    fields["_sklearn_version"] = sklearn.__version__
    return {
        "#": "object",
        "class": "sklearn.preprocessing.StandardScaler",
        "state": {**fields, **state},
    }


def _thing(name, **state):
    return {"#": "object", "class": name, "state": state}


def _nested(depth):
    return "[" * depth + "]" * depth


def _generator(**changes):
    state = np.random.MT19937(0).state
    state["state"]["key"] = None
    inner = [["key", {"#": "array", "scalar": False, "name": "0"}], ["pos", changes["pos"]]]
    pairs = [["bit_generator", "MT19937"], ["state", {"#": "dict", "value": inner}]]
    return {"#": "random", "legacy": changes["legacy"], "state": {"#": "dict", "value": pairs}}


TYPE = {"#": "scalar type", "value": "float64"}
HOSTILE = {
    "not json": "{",
    "a number": 5,
    "none": None,
    "a list of models": [_ridge(), _ridge()],
    "os.system": _thing("os.system"),
    "posix.system": _thing("posix.system", command="true"),
    "subprocess": _thing("subprocess.Popen", args=["true"]),
    "builtins.eval": _thing("builtins.eval"),
    "a private class": _thing("panlearn.core.encoding.Decoder"),
    "an abstract class": _thing("panlearn.core.estimator.Estimator"),
    "a module": _thing("panlearn.linear.ridge"),
    "a function": _thing("panlearn.linear._mergeable.learn"),
    "the long name": _thing("panlearn.linear.ridge.Ridge", alpha=1.0, fit_intercept=True),
    "a class by way of another": _thing("panlearn.linear.Ridge.__init__"),
    "scikit-learn's other classes": _thing("sklearn.ensemble.RandomForestClassifier"),
    "pickle by way of joblib": _thing("sklearn.externals.joblib.load"),
    "no class": {"#": "object", "state": {}},
    "a class that is no text": {"#": "object", "class": ["panlearn"], "state": {}},
    "no state": {"#": "object", "class": "panlearn.linear.Ridge"},
    "a state that is no object": {"#": "object", "class": "panlearn.linear.Ridge", "state": [1]},
    "predict": _ridge(predict=TYPE),
    "fit": _ridge(fit=1),
    "__class__": _ridge(__class__=TYPE),
    "__dict__": _ridge(__dict__={"#": "dict", "value": []}),
    "__reduce__": _ridge(__reduce__=TYPE),
    "_private": _ridge(_init_callback_context=TYPE),
    "not a name": _ridge(**{"a b_": 1}),
    "dunder that looks learned": _ridge(__init_subclass__=1),
    "transform of a scaler": _scaler(transform=TYPE),
    "method of a scaler": _scaler(_reset=TYPE),
    "dunder of a scaler": _scaler(__getstate__=TYPE),
    "unknown tag": {"#": "pickle", "value": "gASV"},
    "tag of a method": {"#": "_object", "class": "panlearn.linear.Ridge"},
    "tag that is no text": {"#": ["array"]},
    "no tag": {"class": "panlearn.linear.Ridge"},
    "an array that is not there": _ridge(coef_={"#": "array", "scalar": False, "name": "9"}),
    "a path as array": _ridge(coef_={"#": "array", "scalar": False, "name": "/etc/passwd"}),
    "wrong shape": _ridge(coef_={"#": "objects", "kind": "O", "shape": [7], "value": []}),
    "huge shape": _ridge(coef_={"#": "objects", "kind": "O", "shape": [10**18], "value": [1]}),
    "wide strings": _ridge(coef_={"#": "objects", "dtype": "<U999999999", "value": ["a"]}),
    "numpy attribute": _ridge(coef_={"#": "scalar type", "value": "testing"}),
    "unknown float": _ridge(alpha={"#": "float", "value": "1e999"}),
    "unhashable key": _ridge(coef_={"#": "dict", "value": [[[1], 2]]}),
    "unhashable member": _ridge(coef_={"#": "set", "value": [[1]]}),
    "generator out of range": _ridge(coef_=_generator(pos=10**6, legacy=True)),
    "generator before range": _ridge(coef_=_generator(pos=-5, legacy=False)),
    "foreign generator": _ridge(
        coef_={"#": "random", "legacy": False, "state": {"#": "dict", "value": [["a", 1]]}}
    ),
    "sparse out of bounds": _ridge(
        coef_={
            "#": "sparse",
            "kind": "csr_array",
            "shape": [1, 2],
            "parts": [
                {"#": "array", "scalar": False, "name": "0"},
                {"#": "array", "scalar": False, "name": "indices"},
                {"#": "array", "scalar": False, "name": "indptr"},
            ],
        }
    ),
    "sparse of another kind": _ridge(coef_={"#": "sparse", "kind": "load_npz", "parts": []}),
    "wide dtype": _ridge(coef_={"#": "dtype", "value": "<U500000000"}),
    "wide dtype of several fields": _ridge(coef_={"#": "dtype", "value": "(9999,9999)f8,f8"}),
    "dtype that is no text": _ridge(coef_={"#": "dtype", "value": [["a", "f8"]]}),
    "wide complex": _ridge(
        coef_={"#": "array", "scalar": False, "name": "pairs", "complex": "<U500000000"}
    ),
    "an array many times": _ridge(
        coef_=[{"#": "array", "scalar": False, "name": "pairs", "complex": "<c16"}] * 2
    ),
    "a planted cache": _thing(
        "sklearn.pipeline.Pipeline",
        steps=[],
        memory="/tmp/cache",
        verbose=False,
        transform_input=None,
        _sklearn_version=sklearn.__version__,
    ),
    "deep": _nested(200_000),
    "deep objects": '{"#":"tuple","value":[' * 50_000 + "]}" * 50_000,
    "long number": "9" * 100_000,
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_crafted_file_with_a_valid_checksum_is_an_error(case, tmp_path):
    arrays = {
        "0": np.ones(3),
        "pairs": np.ones((4, 2)),
        "indices": np.array([0, 1, 70], dtype=np.int32),
        "indptr": np.array([0, 3], dtype=np.int32),
    }
    _write(tmp_path / "model", HOSTILE[case], arrays)
    with pytest.raises(ModelFileError) as caught:
        panlearn.load(tmp_path / "model")
    assert str(tmp_path / "model") in str(caught.value)


def test_the_crafted_files_fail_for_their_own_reason(tmp_path):
    """The same file without the attack loads."""
    _write(tmp_path / "model", _ridge(coef_={"#": "array", "scalar": False, "name": "0"}))
    assert panlearn.load(tmp_path / "model").coef_.tolist() == [1.0, 1.0, 1.0]
    _write(tmp_path / "model", _scaler(mean_=[1.0], _private=3))
    assert isinstance(panlearn.load(tmp_path / "model"), StandardScaler)


def test_swapped_tensors_do_not_match_the_checksum(model, tmp_path):
    panlearn.save(model, tmp_path / "model")
    with safe_open(tmp_path / "model", framework="numpy") as file:
        metadata, arrays = file.metadata(), {k: file.get_tensor(k) for k in file.keys()}
    alike = [(a, b) for a in arrays for b in arrays if a < b and arrays[a].shape == arrays[b].shape]
    for a, b in alike:
        swapped = {**arrays, a: arrays[b], b: arrays[a]}
        (tmp_path / "model").write_bytes(to_safetensors(swapped, metadata))
        with pytest.raises(ModelFileError, match="checksum"):
            panlearn.load(tmp_path / "model")
    renamed = {f"{k}0": v for k, v in arrays.items()}
    (tmp_path / "model").write_bytes(to_safetensors(renamed, metadata))
    with pytest.raises(ModelFileError, match="checksum"):
        panlearn.load(tmp_path / "model")


def test_a_pickle_is_refused_and_not_run(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (os.system, ("true",))

    (tmp_path / "model").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ModelFileError, match="not a panlearn model"):
        panlearn.load(tmp_path / "model")


def test_a_failing_write_leaves_the_old_file(model, tmp_path, monkeypatch):
    path = tmp_path / "model"
    panlearn.save(model, path)
    content = path.read_bytes()
    for broken in ("replace", "fsync"):
        with monkeypatch.context() as patch:
            patch.setattr(os, broken, _full_disk)
            with pytest.raises(OSError, match="No space"):
                panlearn.save(LinearRegression(), path)
        assert path.read_bytes() == content
        assert os.listdir(tmp_path) == ["model"]


def _full_disk(*args, **kwargs):
    raise OSError(28, "No space left on device")


def test_what_cannot_be_saved_leaves_the_old_file(model, tmp_path):
    path = tmp_path / "model"
    panlearn.save(model, path)
    content = path.read_bytes()
    model.coef_ = lambda: None
    with pytest.raises(TypeError, match="cannot save a function"):
        panlearn.save(model, path)
    assert path.read_bytes() == content


def test_a_pipeline_of_columns_round_trips(tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(40) < 0.2, np.nan, rng.normal(size=40)),
            "age": rng.integers(0, 90, 40),
            "colour": rng.choice(["red", "grün", "blue"], 40),
            "shape": pd.Categorical(rng.choice(["round", "flat"], 40)),
        }
    )
    y = rng.normal(size=40)
    numeric = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    columns = ColumnTransformer(
        [
            ("numbers", numeric, ["size", "age"]),
            ("names", OneHotEncoder(handle_unknown="ignore"), ["colour", "shape"]),
        ]
    )
    pipeline = make_pipeline(columns, Ridge()).fit(frame, y)
    panlearn.save(pipeline, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model")
    fresh = frame.assign(colour=np.where(np.arange(40) < 3, "purple", frame["colour"]))
    np.testing.assert_array_equal(loaded.predict(fresh), pipeline.predict(fresh))
    assert list(loaded[:-1].get_feature_names_out()) == list(pipeline[:-1].get_feature_names_out())
    assert isinstance(loaded.fit(frame, y), BaseEstimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
def test_a_file_of_format_1_still_loads():
    """Written once by `panlearn.save` and kept; what it predicts is kept beside it."""
    expected = json.loads((DATA / "format_1.json").read_text())
    content = (DATA / "format_1.panlearn").read_bytes()
    assert hashlib.sha256(content).hexdigest() == expected["sha256"]
    loaded = panlearn.load(DATA / "format_1.panlearn")
    # a field that is newer than the file has its default
    assert loaded[-1].get_params() == {"alpha": 0.5, "fit_intercept": True, "positive": False}
    np.testing.assert_array_equal(loaded.predict(np.array(expected["X"])), expected["predictions"])
