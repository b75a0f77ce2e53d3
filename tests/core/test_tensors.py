"""Files of arrays: read by safetensors' own reader, and any change shows in the digest."""

import json
import struct
import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import load_file

from panlearn.core.tensors import Part, array_part, digest, read_tensors, write_tensors


def _part(name, array, code):
    return Part(name, array.dtype.str, code, array.shape, array.nbytes, array.tobytes)


PARTS = [
    _part("b", np.arange(6.0).reshape(2, 3), "F64"),
    _part("a", np.array(True), "BOOL"),
    _part("none", np.zeros((0, 2), dtype=np.int32), "I32"),
]


def test_what_is_written_is_what_safetensors_reads(tmp_path):
    write_tensors(tmp_path / "file", {"what": "a test"}, PARTS)
    found = load_file(tmp_path / "file")
    assert found.keys() == {"a", "b", "none"}
    np.testing.assert_array_equal(found["b"], np.arange(6.0).reshape(2, 3))
    assert found["a"].shape == ()
    assert found["none"].shape == (0, 2)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "c"},
        {"kind": "<i8"},
        {"shape": (3, 2)},
        {"data": np.arange(6.0)[::-1].tobytes},
    ],
    ids=["name", "kind", "shape", "data"],
)
def test_any_change_shows_in_the_digest(change):
    before = digest("structure", PARTS)
    assert digest("structure", PARTS[::-1]) == before
    assert digest("other", PARTS) != before
    assert digest("structure", [PARTS[0]._replace(**change), *PARTS[1:]]) != before
    assert digest("structure", PARTS[1:]) != before


@pytest.mark.parametrize(
    "kind", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
)
def test_an_array_of_each_type_is_read_as_it_was_written(kind, tmp_path):
    array = np.arange(6).reshape(2, 3).astype(kind)
    write_tensors(tmp_path / "file", {"a": "b"}, [array_part("x", array.T)])
    metadata, arrays = read_tensors(tmp_path / "file")
    assert metadata == {"a": "b"}
    assert arrays["x"].dtype == array.dtype
    np.testing.assert_array_equal(arrays["x"], array.T)
    np.testing.assert_array_equal(load_file(tmp_path / "file")["x"], array.T)


def _written(path, header, data=b"\0" * 48):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def _tensor(dtype="F64", shape=(2, 3), offsets=(0, 48)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    "header",
    [
        {"a": _tensor(shape=[2**40, 2**20], offsets=[0, 2**63])},
        {"a": _tensor(shape=[7], offsets=[0, 56])},
        {"a": _tensor(shape=[5])},
        {"a": _tensor(shape=[-2, -3])},
        {"a": _tensor(shape=[2.0, 3.0])},
        {"a": _tensor(shape=[True, 6])},
        {"a": _tensor(shape=[6, *[1] * 70])},
        {"a": _tensor(shape=[10**4000] * 200)},
        {"a": _tensor(shape=[10**30, 0], offsets=[0, 0])},
        {"a": _tensor(offsets=[8, 56])},
        {"a": _tensor(), "b": _tensor()},
        {"a": _tensor(shape=[5], offsets=[0, 40])},
        {"a": _tensor(dtype="BF16", shape=[24])},
        {"a": _tensor(dtype=["F64"])},
        {"a": {}},
        [],
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
)
def test_a_header_that_its_file_does_not_bear_out_is_refused(header, tmp_path):
    _written(tmp_path / "file", header)
    tracemalloc.start()
    try:
        with pytest.raises((ValueError, TypeError, KeyError, AttributeError, RecursionError)):
            read_tensors(tmp_path / "file")
        assert tracemalloc.get_traced_memory()[1] < 30 * (tmp_path / "file").stat().st_size + 10**5
    finally:
        tracemalloc.stop()


def test_a_header_longer_than_the_file_is_refused(tmp_path):
    for content in (b"", b"\1", struct.pack("<Q", 2**40), struct.pack("<Q", 3) + b"{}"):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(ValueError, match="too short"):
            read_tensors(tmp_path / "file")
    _written(tmp_path / "file", {"a": _tensor()})
    assert read_tensors(tmp_path / "file")[1]["a"].shape == (2, 3)
