"""Compiled kernels: never stale, at home wherever the package lies, and not silent."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numba.core.caching import NullCache

from panlearn.core import jit as module
from panlearn.core.jit import jit

CALLEE = "from panlearn.core.jit import jit\n@jit\ndef inner(x):\n    return x + {}\n"
CALLER = """
from panlearn.core.jit import jit
{imported}
@jit
def outer(x):
    return {body}
if __name__ == "__main__":
    print(outer(1.0), sum(outer.stats.cache_hits.values()))
"""


@pytest.mark.parametrize(
    ("imported", "body"),
    [
        ("from callee import inner", "10 * inner(x)"),
        ("from middle import inner", "10 * inner(x)"),
        ("from callee import SIZE", "10 * (x + SIZE)"),
    ],
    ids=["a kernel", "through a third file", "a constant"],
)
def test_a_kernel_is_compiled_again_if_what_it_takes_from_another_file_changed(
    tmp_path, imported, body
):
    (tmp_path / "caller.py").write_text(CALLER.format(imported=imported, body=body))
    (tmp_path / "middle.py").write_text(
        "import callee\nfrom callee import inner as deep\nfrom panlearn.core.jit import jit\n"
        "@jit\ndef inner(x):\n    return deep(x)\n"
    )

    def run(constant):
        (tmp_path / "callee.py").write_text(f"SIZE = {constant}\n" + CALLEE.format(constant))
        path = os.pathsep.join([str(tmp_path), *sys.path])
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "caller.py"]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    assert run(1) == ["20.0", "0"]
    assert run(1) == ["20.0", "1"]  # read, not compiled
    assert run(2) == ["30.0", "0"]


def test_without_a_folder_that_can_be_written_kernels_work_all_the_same(monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    module._folder.cache_clear()
    try:

        @jit
        def doubled(x):
            return 2 * x

        assert isinstance(doubled._cache, NullCache)
        assert doubled(np.float64(4)) == 8
    finally:
        module._folder.cache_clear()


def test_kernels_go_to_the_first_folder_that_can_be_written(monkeypatch, tmp_path):
    source = tmp_path / "package"
    source.mkdir()
    (source / "__pycache__").touch()  # cannot be a folder
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    assert module._folder.__wrapped__(str(source)).startswith(str(tmp_path / "home"))
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert module._folder.__wrapped__(str(source)).startswith(str(tmp_path / "panlearn-"))


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs the owners of files of POSIX")
def test_a_temporary_folder_that_others_can_write_is_not_trusted(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    own = tmp_path / f"panlearn-{os.getuid()}"
    own.mkdir()
    own.chmod(0o777)
    assert not any(own in folder.parents for folder in module._candidates(str(tmp_path)))
    own.chmod(0o700)
    assert any(own in folder.parents for folder in module._candidates(str(tmp_path)))


def test_a_full_disk_does_not_end_a_call(monkeypatch):
    @jit
    def halved(x):
        return x / 2

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(halved._cache._cache_file, "save", full)
    assert halved(3.0) == 1.5


def test_one_line_is_said_after_a_second_of_compiling(capsys):
    notice = module._Notice()
    event = SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=jit)})
    notice.on_start(event)
    notice.on_end(event)
    assert capsys.readouterr().err == ""
    notice.spent = 1.0  # many short ones count as much as a long one
    notice.on_start(event)
    notice.timer.join()
    notice.on_end(event)
    notice.on_start(event)
    notice.on_end(event)
    assert capsys.readouterr().err.count("compiles") == 1


def test_only_core_asks_numba_for_a_kernel():
    package = Path(module.__file__).parents[1]
    asks = [file for file in package.rglob("*.py") if re.search(r"\bnjit\b", file.read_text())]
    assert asks == [Path(module.__file__)]
