"""One decorator for every compiled kernel: where it is kept, when it is stale, what is said of it.

Numba keeps what it compiled beside the source, and there alone if the home cannot be written; it
looks at the source file of a kernel, not at those of the kernels that it calls.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numba
from numba.core import event
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache, _CacheLocator
from numba.core.dispatcher import Dispatcher

_DIGESTS: dict[str, str] = {}  # of each file with kernels, those that it calls included


def jit(function: Callable | None = None, **options: Any) -> Any:
    """Compile a function on first use, let go of the interpreter's lock, keep what was compiled.

    Parameters
    ----------
    function : callable
        A loop over arrays. Without one, a decorator with the options is returned.
    **options
        Those of `numba.njit`; ``nogil=True`` is the default.

    Returns
    -------
    Dispatcher
        Called like the function. It is read from the cache in later processes unless its file, or
        one of a kernel that it calls, has changed; without a folder that can be written it is
        compiled for each process.

    Examples
    --------
    >>> import numpy as np
    >>> @jit
    ... def total(values):
    ...     result = 0.0
    ...     for value in values:
    ...         result += value
    ...     return result
    >>> total(np.ones(3))
    3.0
    """
    if function is None:
        return lambda function: jit(function, **options)
    kernel: Any = numba.njit(**{"nogil": True, **options})(function)
    if isinstance(kernel, Dispatcher):  # a plain function where compilation is switched off
        file = function.__code__.co_filename
        stored = os.path.exists(file) and _folder(os.path.dirname(file)) is not None
        kernel._cache = _KernelCache(function) if stored else NullCache()  # type: ignore[attr-defined]
    return kernel


def digest(function: FunctionType) -> str:
    """Digest the file of a kernel, its constants, and the files of the kernels that it imports."""
    file = function.__code__.co_filename
    if file not in _DIGESTS:
        found = hashlib.sha256(Path(file).read_bytes())
        for name, value in sorted(function.__globals__.items()):
            if isinstance(value, bool | int | float | str | tuple | set | frozenset):
                value = sorted(value) if isinstance(value, set | frozenset) else value
                found.update(f"{name}={value!r}".encode() if not name.startswith("__") else b"")
            elif isinstance(value, ModuleType) and value.__name__.startswith("panlearn."):
                for part in vars(value).values():
                    found.update(_of_others(part, file))
            else:
                found.update(_of_others(value, file))
        _DIGESTS[file] = found.hexdigest()
    return _DIGESTS[file]


def _of_others(value: Any, file: str) -> bytes:
    """Give the digest of the file that a kernel, or what kernels may call, comes from."""
    function = value.py_func if isinstance(value, Dispatcher) else value
    if not isinstance(function, FunctionType) or function.__code__.co_filename == file:
        return b""
    return _DIGESTS.get(function.__code__.co_filename, "").encode()


@cache
def _folder(source: str) -> str | None:
    """Choose where the kernels of a folder of sources are kept: the first that can be written."""
    for folder in _candidates(source):
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return str(folder)
    return None


def _candidates(source: str) -> Iterator[Path]:
    name = _CacheLocator.get_suitable_cache_subpath(os.path.join(source, "kernels.py"))
    if chosen := getattr(numba.config, "CACHE_DIR", ""):
        yield Path(chosen) / name
    yield Path(source) / "__pycache__"
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    yield Path(home) / "panlearn" / name
    # what is read from there is run, so it must be nobody else's
    user = os.getuid() if hasattr(os, "getuid") else 0
    own = Path(tempfile.gettempdir()) / f"panlearn-{user}"
    with contextlib.suppress(OSError):
        own.mkdir(mode=0o700, exist_ok=True)
        facts = own.lstat()
        if not own.is_symlink() and facts.st_uid == user and not facts.st_mode & 0o022:
            yield own / name


class _Locator(_CacheLocator):
    def __init__(self, function: FunctionType, file: str) -> None:
        self.function, self.file = function, file

    @classmethod
    def from_function(cls, py_func: FunctionType, py_file: str) -> _Locator:
        return cls(py_func, py_file)

    def get_cache_path(self) -> str | None:
        return _folder(os.path.dirname(self.file))

    def get_source_stamp(self) -> str:
        return digest(self.function)

    def get_disambiguator(self) -> str:
        return str(self.function.__code__.co_firstlineno)


class _Files(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012 - Numba's name and type


class _KernelCache(FunctionCache):
    _impl_class = _Files

    def save_overload(self, sig: Any, data: Any) -> None:
        with contextlib.suppress(OSError):  # a full disk must not end a fit
            super().save_overload(sig, data)


class _Notice(event.Listener):
    """Says once, after a second of compiling, why nothing seems to happen."""

    def __init__(self) -> None:
        self.depth = 0
        self.began: float | None = None  # when a kernel of ours began to compile
        self.spent = 0.0
        self.said = False
        self.timer = threading.Timer(1, self.say)

    def on_start(self, happening: event.Event) -> None:
        self.depth += 1
        ours = happening.data["dispatcher"].py_func.__module__.startswith("panlearn.")
        if self.depth == 1 and ours and not self.said:
            self.began = time.monotonic()
            self.timer = threading.Timer(max(1 - self.spent, 0), self.say)
            self.timer.daemon = True
            self.timer.start()

    def on_end(self, happening: event.Event) -> None:
        self.depth -= 1
        if self.depth == 0 and self.began is not None:
            self.timer.cancel()
            self.spent += time.monotonic() - self.began
            self.began = None

    def say(self) -> None:
        if not self.said:
            self.said = True
            print("panlearn compiles for this machine; the next start is quick", file=sys.stderr)


if sys.stderr is not None and sys.stderr.isatty():
    event.register("numba:compile", _Notice())
