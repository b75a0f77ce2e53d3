"""Files of arrays: read by safetensors' own reader, and any change shows in the digest."""

import numpy as np
import pytest
from safetensors.numpy import load_file

from panlearn.core.tensors import Part, digest, write_tensors


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
