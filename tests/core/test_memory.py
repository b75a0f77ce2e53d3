"""An allocation that does not fit is refused before it is tried."""

import pytest

from panlearn.core import memory
from panlearn.core.memory import available, require_memory


def test_the_machine_has_memory():
    assert 1 << 20 < available() < 1 << 63


def test_what_fits_passes_and_what_does_not_says_how_large(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 1 << 30)
    require_memory((1000, 1000), "the kernel matrix", "use fewer rows")
    with pytest.raises(
        MemoryError,
        match=r"the kernel matrix is 20000 x 20000, 3\.0 GiB, and 1\.0 GiB are free; use",
    ):
        require_memory((20_000, 20_000), "the kernel matrix", "use fewer rows")
    require_memory((20_000, 10_000), "a float32 matrix", "", itemsize=4)


def test_a_system_that_does_not_tell_is_unlimited(monkeypatch):
    def missing(*args, **kwargs):
        raise OSError

    monkeypatch.setattr("builtins.open", missing)
    assert available() == 1 << 62
