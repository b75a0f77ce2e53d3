"""Compiled kernels: never stale, at home wherever the package lies, and not silent."""

import copy
import gc
import os
import pickle
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.caching import NullCache

from panlearn.core import compilation, splitmix
from panlearn.core import jit as module
from panlearn.core.jit import jit

CALLEE = "from panlearn.core.jit import jit\n@jit\ndef inner(x):\n    return x + {}\n"
CALLER = """
from panlearn.core.jit import jit
{imported}
@jit
def outer(x):
    return {body}
"""
CALLERS = {
    "of_a_kernel": ("from callee import inner", "10 * inner(x)"),
    "through_a_third_file": ("from middle import inner", "10 * inner(x)"),
    "of_a_constant": ("from callee import SIZE", "10 * (x + SIZE)"),
}
# all in one process, since that takes long to start
RUN = """
import importlib, sys
for name in sys.argv[1:]:
    outer = importlib.import_module(name).outer
    print(outer(1.0), "numba" in sys.modules)
"""


def test_a_kernel_is_compiled_again_if_what_it_takes_from_another_file_changed(tmp_path):
    for name, (imported, body) in CALLERS.items():
        (tmp_path / f"{name}.py").write_text(CALLER.format(imported=imported, body=body))
    (tmp_path / "middle.py").write_text(
        "import callee\nfrom callee import inner as deep\nfrom panlearn.core.jit import jit\n"
        "@jit\ndef inner(x):\n    return deep(x)\n"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", RUN, *CALLERS]

    def run(constant):
        (tmp_path / "callee.py").write_text(f"SIZE = {constant}\n" + CALLEE.format(constant))
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        return dict(zip(CALLERS, done.stdout.splitlines(), strict=True))

    assert run(1) == dict.fromkeys(CALLERS, "20.0 True")
    assert run(1) == dict.fromkeys(CALLERS, "20.0 False")  # read, not compiled
    assert run(2) == dict.fromkeys(CALLERS, "30.0 True")


def test_code_that_was_made_in_another_way_is_stale(monkeypatch):
    before = module.digest(root_of.py_func)
    monkeypatch.setattr(module, "_DIGESTS", {})
    assert module.digest(root_of.py_func) == before
    monkeypatch.setattr(module, "_DIGESTS", {})
    monkeypatch.setattr(module, "_maker", lambda: b"another way")
    assert module.digest(root_of.py_func) != before


def test_without_a_folder_kernels_work_all_the_same(monkeypatch):
    monkeypatch.setattr(module, "_candidates", lambda source: iter(()))
    module.folders.cache_clear()
    try:

        @jit
        def doubled(x):
            return 2 * x

        assert isinstance(doubled.entry._cache, NullCache)
        assert doubled(np.float64(4)) == 8
    finally:
        module.folders.cache_clear()


def test_kernels_go_to_the_first_folder_that_can_be_written(monkeypatch, tmp_path):
    source = tmp_path / "package"
    source.mkdir()
    (source / "__pycache__").touch()  # cannot be a folder
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    assert module.folders.__wrapped__(str(source))[1].startswith(str(tmp_path / "home"))
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert module.folders.__wrapped__(str(source))[1].startswith(str(tmp_path / "panlearn-"))


def test_what_was_compiled_where_one_cannot_write_is_read(monkeypatch, tmp_path):
    source, home = tmp_path / "package", tmp_path / "home"
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    installed = source / "__pycache__"
    installed.mkdir(parents=True)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).is_relative_to(home))
    readable, writable = module.folders.__wrapped__(str(source))
    assert readable == [str(installed), writable]
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert module.folders.__wrapped__(str(source))[1] is None
    monkeypatch.setattr(os, "access", lambda path, mode: True)
    assert module.folders.__wrapped__(str(source)) == ([str(installed)], str(installed))


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

    monkeypatch.setattr(halved.entry._cache._cache_file, "save", full)
    assert halved(3.0) == 1.5


def test_one_line_is_said_after_a_second_of_compiling(capsys):
    notice = compilation._Notice()
    notice(True)
    notice(False)
    assert capsys.readouterr().err == ""
    notice.spent = 1.0  # many short ones count as much as a long one
    notice(True)
    notice.timer.join()
    notice(False)
    notice(True)
    notice(False)
    assert capsys.readouterr().err.count("compiles") == 1


def test_only_core_asks_numba_for_a_kernel():
    package = Path(module.__file__).parents[1]
    asked = re.compile(r"\bnjit\(|import njit")
    asks = [file for file in package.rglob("*.py") if asked.search(file.read_text())]
    assert asks == [Path(compilation.__file__)]


@jit
def root_of(x):
    if x < 0:
        raise ValueError("there is no real root")
    return np.sqrt(x)


@jit
def roots(values):
    found = np.empty(len(values))
    for i in range(len(values)):
        found[i] = root_of(values[i])
    return found


def test_what_a_kernel_calls_is_a_part_of_it_and_no_machine_code_of_its_own():
    fresh = jit(roots.py_func)
    fresh.entry._cache = NullCache()  # what is read has no parts
    np.testing.assert_array_equal(fresh(np.array([4.0, 9.0])), [2.0, 3.0])
    with pytest.raises(ValueError, match="no real root"):
        fresh(np.array([-1.0]))
    library = next(iter(root_of.part.overloads.values())).library
    assert library.is_part
    with pytest.raises(RuntimeError, match="no compiled object"):
        library._get_compiled_object()


def test_a_part_of_one_kernel_can_be_called_from_python_too():
    roots(np.array([4.0]))
    assert root_of(16.0) == 4.0
    assert len(root_of.signatures) == 1
    with pytest.raises(ValueError, match="no real root"):
        root_of(-1.0)


def test_other_users_of_numba_get_libraries_of_numba():
    @numba.njit
    def summed(values):
        return np.sum(values) + np.mean(values)

    roots(np.array([1.0]))
    assert summed(np.array([1.0, 3.0])) == 6.0
    library = next(iter(summed.overloads.values())).library
    assert not isinstance(library, compilation._Library)


def test_a_kernel_travels_by_its_name():
    assert pickle.loads(pickle.dumps(splitmix.next_bits)) is splitmix.next_bits
    assert copy.deepcopy(splitmix.next_bits) is splitmix.next_bits


def test_watchers_hear_when_a_kernel_and_its_parts_begin_and_end_to_compile():
    @jit
    def fresh(values):
        return roots(values).sum()

    fresh.py_func.__module__ = "panlearn.fresh"
    fresh.entry._cache = NullCache()
    heard: list[bool] = []
    module.watchers.append(heard.append)
    try:
        assert fresh(np.array([4.0])) == 2.0
    finally:
        module.watchers.remove(heard.append)
    assert heard == [True, False]


@pytest.mark.parametrize("collects", [True, False])
def test_no_garbage_is_looked_for_while_a_kernel_is_compiled(collects):
    @jit
    def fresh(values):
        return roots(values).sum()

    fresh.py_func.__module__ = "panlearn.fresh"
    fresh.entry._cache = NullCache()
    seen: list[bool] = []

    def watch(compiling):
        seen.append(gc.isenabled())

    module.watchers.append(watch)
    gc.enable() if collects else gc.disable()
    try:
        assert fresh(np.array([4.0])) == 2.0
        assert gc.isenabled() == collects
    finally:
        gc.enable()
        module.watchers.remove(watch)
    assert seen == [False, collects]


def test_ctrl_c_that_came_back_as_another_error_is_itself_again():
    def interrupted():
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            try:
                raise SystemError("returned a result with an exception set") from error
            except SystemError as inner:
                raise SystemError("returned a result with an exception set") from inner

    def broken():
        raise SystemError("of another kind")

    kernel = jit(lambda x: x)
    kernel.entry = interrupted
    with pytest.raises(KeyboardInterrupt):
        kernel()
    kernel.entry = broken
    with pytest.raises(SystemError, match="of another kind"):
        kernel()


@jit
def moved(x, by):
    return x + by


@jit
def moved_twice(x, by):
    return moved(x, 1) + moved(x, by)


def test_a_constant_makes_no_version_of_a_part():
    fresh = jit(moved_twice.py_func)
    fresh.entry._cache = NullCache()
    assert fresh(1.0, 2) == 5.0
    assert len(moved.part.signatures) == 1


def test_code_of_others_that_has_no_module_is_compiled_in_peace():
    jit(lambda: 0)()  # from now on the library listens
    scope = {"__name__": None}
    exec("def twice(x):\n    return 2 * x", scope)
    assert numba.njit(scope["twice"])(21) == 42


def test_threads_that_ask_first_all_wait_for_numba():
    script = """
import threading
from panlearn.core.jit import jit

@jit
def twice(x):
    return 2 * x

start, found = threading.Barrier(4), []

def ask():
    start.wait()
    found.append(twice(21))

asking = [threading.Thread(target=ask) for _ in range(4)]
for thread in asking:
    thread.start()
for thread in asking:
    thread.join()
assert found == [42] * 4, found
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
