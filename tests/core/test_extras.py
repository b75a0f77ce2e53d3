"""Optional dependencies name the extra that brings them."""

import sys

import pytest

from panlearn.core.extras import require


def test_what_is_there_is_returned():
    assert require("numpy").__name__ == "numpy"


@pytest.mark.parametrize(
    ("module", "extra"), [("torch", "deep"), ("dask.array", "scale"), ("pyarrow.dataset", "data")]
)
def test_what_is_missing_is_named_with_its_extra(module, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        ImportError, match=rf"this needs {module}.*pip install 'panlearn\[{extra}\]'"
    ):
        require(module)


def test_what_is_in_no_extra_is_named():
    with pytest.raises(ImportError, match="no_such_module"):
        require("no_such_module")
