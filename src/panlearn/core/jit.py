"""One decorator for every compiled kernel: where it is kept, and when it is stale.

Numba keeps what it compiled beside the source, and there alone if the home cannot be written; it
looks at the source file of a kernel, not at those of the kernels that it calls. Numba itself is
imported when the first kernel is compiled or read, by `compilation`, which says how one is made;
`interpretation` runs those as they are written that are done before Numba would have begun.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import math
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from panlearn.core import interpretation, machine_code
from panlearn.core.garbage import uncollected
from panlearn.core.interrupts import interrupted, interruption

COMPILATION = "panlearn.core.compilation"  # what imports Numba
_FILES: set[str] = set()  # those with kernels
_DIGESTS: dict[str, str] = {}  # of each of them, those that it calls included
_LOCK = threading.RLock()
# called with True when a kernel begins to be compiled, with False when it is done
watchers: list[Callable[[bool], None]] = []


def jit(
    function: Callable | None = None,
    *,
    plain: Callable[..., float] | None = None,
    patience: float = 1.0,
    instead: Callable | None = None,
    **options: Any,
) -> Any:
    """Compile a function on first use, let go of the interpreter's lock, keep what was compiled.

    Parameters
    ----------
    function : callable
        A loop over arrays. Without one, a decorator with the options is returned.
    plain : callable, optional
        Says of the arguments about how many microseconds Python itself takes for the function as it
        is written. Short calls are made like that while nothing is compiled, so it is for kernels
        alone that give the same bits either way: no ``fastmath``, no ``**``, no logarithm of NumPy.
    patience : float, default=1.0
        How many seconds Python may take of a process before the kernel is compiled; more for one
        that is compiled for long.
    instead : callable, optional
        What Python runs in place of the function: the same bits, in operations on whole arrays.
    **options
        Those of `numba.njit`; ``nogil=True`` is the default.

    Returns
    -------
    Kernel
        Called like the function, from Python and from other kernels. It is read from the cache in
        later processes unless its file, or one of a kernel that it calls, has changed; without a
        folder that can be written it is compiled for each process.

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
        return functools.partial(jit, plain=plain, patience=patience, instead=instead, **options)
    return Kernel(function, {"nogil": True, **options}, plain, patience, instead)


class Kernel:
    """A function that is compiled when it is first called for long.

    Attributes
    ----------
    py_func : function
        The function itself.
    targetoptions : dict
        Options of Numba, which looks for them under this name.
    """

    def __init__(
        self,
        function: Callable,
        options: dict[str, Any],
        plain: Callable[..., float] | None = None,
        patience: float = 1.0,
        instead: Callable | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func: Any = function
        self.targetoptions = options
        self.plain, self.patience = plain, patience
        self.interpreted: Any = instead or function
        self.spent = 0.0  # microseconds in the interpreter
        self.written: FunctionType | None = None  # what is interpreted
        _FILES.add(self.py_func.__code__.co_filename)

    def __call__(self, *arguments: Any) -> Any:
        """Run the compiled function, or a short one as it is written if nothing is compiled."""
        if "entry" not in vars(self):
            if self._is_short(arguments):
                return interpretation.run(self, arguments)
            if interpretation.allowed and COMPILATION not in sys.modules:
                with interruption() as asked:  # Ctrl-C is lost where such code calls Python
                    result = self.code(arguments)
                if asked.is_set() and not interrupted():
                    raise KeyboardInterrupt
                if result is not machine_code.UNKNOWN:
                    return result
        try:
            return self.entry(*arguments)
        except SystemError as error:  # Ctrl-C while it ran, which Numba may give back like this
            cause: BaseException | None = error
            while cause is not None and not isinstance(cause, KeyboardInterrupt):
                cause = cause.__cause__ or cause.__context__
            if cause is not None:
                raise cause from None
            raise

    def _is_short(self, arguments: tuple[Any, ...]) -> bool:
        """Whether to run as it is written: all such calls take less than compiling, or reading."""
        if self.plain is None or not interpretation.allowed:
            return False
        self.spent += self.plain(*arguments)
        return self._allows(self.spent)

    def _allows(self, spent: float) -> bool:
        if spent <= interpretation.READING / (10 if "llvmlite" in sys.modules else 1):
            return True
        return spent <= 1e6 * self.patience and not self._is_kept

    def expect(self, microseconds: float) -> None:
        """Tell what Python would take for all calls to come; if that is too long, it takes none."""
        if not self._allows(self.spent + microseconds):
            self.spent = math.inf

    @functools.cached_property
    def code(self) -> machine_code.MachineCode:
        """What was kept of it, to be called without Numba."""
        file = self.py_func.__code__.co_filename
        if not os.path.exists(file):  # written by hand at a prompt
            return machine_code.MachineCode(self.py_func, [], "")
        readable = folders(os.path.dirname(file))[0]
        return machine_code.MachineCode(self.py_func, readable, digest(self.py_func))

    @functools.cached_property
    def _is_kept(self) -> bool:
        """Whether it was compiled before, for whatever types."""
        file = Path(self.py_func.__code__.co_filename)
        name = f"{file.stem}.{self.__qualname__}-*.nbi"
        stamp = digest(self.py_func).encode()
        return any(
            stamp in index.read_bytes()
            for folder in folders(str(file.parent))[0]
            for index in Path(folder).glob(name)
        )

    def __reduce__(self) -> str:
        return self.__qualname__

    def __getattr__(self, name: str) -> Any:
        # made once, whichever thread asks first; later ones find it without coming here
        if name not in ("entry", "part"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        make = getattr(_compilation(), name)
        with _LOCK:
            if name not in vars(self):
                setattr(self, name, make(self.py_func, self.targetoptions))
            return vars(self)[name]

    @property
    def _numba_type_(self) -> Any:
        """What Numba sees of it in another kernel."""
        from panlearn.core.compilation import Part

        return Part(self.part)

    @property
    def signatures(self) -> list[Any]:
        """The types of arguments that it was compiled or read for in this process."""
        return list(self.entry.signatures) if "entry" in vars(self) else []


@functools.cache  # once it is there: another thread that asks waits for the same import
def _compilation() -> Any:
    """Import Numba to the end, for after half of it no import ever works; then Ctrl-C is raised."""
    with interruption() as asked, uncollected():
        from panlearn.core import compilation
    if asked.is_set() and not interrupted():  # a loop around this listens itself
        raise KeyboardInterrupt
    return compilation


def digest(function: FunctionType) -> str:
    """Digest the file of a kernel, its constants, and the files of the kernels that it imports."""
    file = function.__code__.co_filename
    if file not in _DIGESTS:
        found = hashlib.sha256(_maker() + Path(file).read_bytes())
        _DIGESTS[file] = ""  # files that import each other end here
        for name, value in sorted(function.__globals__.items()):
            if isinstance(value, bool | int | float | str | tuple | set | frozenset):
                value = sorted(value) if isinstance(value, set | frozenset) else value
                found.update(f"{name}={value!r}".encode() if not name.startswith("__") else b"")
            elif isinstance(value, ModuleType) and value.__name__.startswith("panlearn."):
                for part in list(vars(value).values()):
                    found.update(_of_others(part, file))
            else:
                found.update(_of_others(value, file))
        _DIGESTS[file] = found.hexdigest()
    return _DIGESTS[file]


@functools.cache
def _maker() -> bytes:
    """Give the source of how kernels are made, and called: what was made otherwise is not read."""
    here = Path(__file__)
    files = ("compilation.py", "keeping.py", "machine_code.py", "lent_memory.py")
    return b"".join(here.with_name(file).read_bytes() for file in files)


def _of_others(value: Any, file: str) -> bytes:
    """Give the digest of the file that a kernel, or what stands beside one, comes from."""
    function = value.py_func if isinstance(value, Kernel) else value
    if not isinstance(function, FunctionType):
        return b""
    other = function.__code__.co_filename
    return digest(function).encode() if other != file and other in _FILES else b""


@functools.cache
def folders(source: str) -> tuple[list[str], str | None]:
    """Where the kernels of a folder of sources are looked for, the last of which can be written.

    What was compiled by whoever installed the package is read by those who cannot write there. If
    nothing can be written, that is None.
    """
    readable = []
    for candidate in _candidates(source):
        with contextlib.suppress(OSError):
            candidate.mkdir(mode=0o700, parents=True, exist_ok=True)
        if candidate.is_dir():
            readable.append(str(candidate))
            if os.access(candidate, os.W_OK):
                return readable, str(candidate)
    return readable, None


def _candidates(source: str) -> Iterator[Path]:
    name = f"{os.path.basename(source)}_{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
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
