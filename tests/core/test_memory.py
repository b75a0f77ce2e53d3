"""An allocation that does not fit is refused before it is tried."""

import subprocess
import sys

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


def test_what_is_small_is_not_asked_for(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: pytest.fail("a look at files of the system"))
    require_memory((1000, 1000), "the kernel matrix", "use fewer rows")


def test_a_system_that_does_not_tell_is_unlimited(monkeypatch):
    def missing(*args, **kwargs):
        raise OSError

    monkeypatch.setattr("builtins.open", missing)
    assert available() == 1 << 62


def _group(root, version, path, limit, used, idle):
    first = version == 1
    folder = root / ("sys/fs/cgroup/memory" if first else "sys/fs/cgroup") / path
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ("memory.limit_in_bytes" if first else "memory.max")).write_text(f"{limit}\n")
    (folder / ("memory.usage_in_bytes" if first else "memory.current")).write_text(f"{used}\n")
    name = "total_inactive_file" if first else "inactive_file"
    (folder / "memory.stat").write_text(f"anon 5\n{name} {idle}\n")


@pytest.mark.parametrize("version", [1, 2])
def test_the_limits_of_a_container_hold_and_of_those_around_it(version, tmp_path):
    (tmp_path / "proc/self").mkdir(parents=True)
    assert memory._groups(tmp_path) == memory.UNLIMITED
    line = "4:memory:/pod/box\n" if version == 1 else "0::/pod/box\n"
    (tmp_path / "proc/self/cgroup").write_text(f"1:cpu:/\n{line}")
    assert memory._groups(tmp_path) == memory.UNLIMITED
    _group(tmp_path, version, "pod/box", 1000, 700, 50)
    assert memory._groups(tmp_path) == 350  # what files left in memory can be had
    _group(tmp_path, version, "pod", "max" if version == 2 else 1 << 63, 700, 0)
    assert memory._groups(tmp_path) == 350
    _group(tmp_path, version, ".", 2000, 1900, 0)
    assert memory._groups(tmp_path) == 100


@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_the_limits_of_the_process_hold(limit):
    code = (
        f"import resource; resource.setrlimit(resource.{limit}, (3 << 30, -1)); "
        "from panlearn.core.memory import available; free = available(); print(free); "
        "held = bytearray(1 << 28); print(free - available() >= 1 << 28)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    free, less = found.stdout.split()
    assert 0 < int(free) < 3 << 30
    assert less == "True"
