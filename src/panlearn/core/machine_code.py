"""Machine code that was kept, called without Numba: the first calls of a process.

To import Numba takes longer than most first fits. What it compiled is machine code with a function
that takes numbers and addresses alone, one after the other: an array is the address and number of
its values, its shape and its strides. LLVM loads the code and `ctypes` calls that function, which
takes some three microseconds an array more than a call through Numba; after many Numba is imported.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FunctionType, NoneType
from typing import Any, NamedTuple

import numpy as np

from panlearn.core import lent_memory
from panlearn.core.garbage import uncollected

GIVEN = 500_000  # numbers that a kernel is called with before Numba is worth its import
UNKNOWN: Any = object()  # what comes back from code that nobody can call without Numba
SCALARS: dict[str, Any] = {
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "int32": ctypes.c_int32,
    "float64": ctypes.c_double,
    "float32": ctypes.c_float,
    "bool": ctypes.c_bool,
    "none": ctypes.c_void_p,
}
# Where the address of its values stands in an array, as every module of C reads it; through
# `ndarray.ctypes` it takes eight times as long.
_HEAD = object.__basicsize__
_NAMES: dict[type, str] = {int: "int64", float: "float64", bool: "bool", NoneType: "none"}
_NAMES |= {np.dtype(name).type: name for name in SCALARS if name != "none"}


class Code(NamedTuple):
    """What a file holds: a function, the kinds of what it returns, and the names it refers to.

    Those that are `foreign` are called by nothing but the wrapper for Python beside it.
    """

    stamp: str
    function: str
    returns: list[Any]
    needed: list[str]
    foreign: list[str]
    machine_code: bytes


class MachineCode:
    """The machine code of one kernel, a function for each kind of arguments.

    The kind of a number is its name, that of an array its values, dimensions, order, and whether it
    can be written and is aligned, that of a tuple its class and length, before the kinds in it.
    """

    def __init__(self, function: FunctionType, folders: Iterable[str], stamp: str) -> None:
        self.function, self.folders, self.stamp = function, folders, stamp
        self.given = 0
        self.loaded: dict[tuple[Any, ...], Callable | None] = {}

    def __call__(self, arguments: tuple[Any, ...]) -> Any:
        """Call it, if it was kept for such arguments and has not been called too often."""
        kinds: list[Any] = []
        values: list[Any] = []
        if self.given > GIVEN or not all([_flatten(each, kinds, values) for each in arguments]):
            return UNKNOWN
        self.given += len(values)
        key = tuple(kinds)
        if key not in self.loaded:
            self.loaded[key] = self._read(kinds)
        call = self.loaded[key]
        return UNKNOWN if call is None else call(values, arguments)

    def _read(self, kinds: list[Any]) -> Callable | None:
        """Look for it in every folder; what is not whole counts as not there."""
        for folder in self.folders:
            with contextlib.suppress(OSError, zlib.error, pickle.UnpicklingError, EOFError):
                code = read(Path(folder, file_name(self.function, kinds)))
                if code.stamp == self.stamp and (address := _load(code)):
                    return _caller(address, kinds, code.returns)
        return None


def address_of(array: np.ndarray) -> int | None:
    """Where the values of an array are; None for nowhere."""
    return ctypes.c_void_p.from_address(id(array) + _HEAD).value


def _flatten(argument: Any, kinds: list[Any], values: list[Any]) -> bool:
    """Append the kind of an argument and the numbers that it is given as; whether it can be."""
    if type(argument) is np.ndarray:
        flags = argument.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        kinds.append((argument.dtype, argument.ndim, layout, flags.writeable, flags.aligned))
        values += (None, None, argument.size, argument.itemsize, address_of(argument))
        values += argument.shape + argument.strides
        return True
    if isinstance(argument, tuple):
        kinds.append((type(argument), len(argument)))
        return all([_flatten(each, kinds, values) for each in argument])
    name = _NAMES.get(type(argument))
    kinds.append(name)
    values.append(argument)
    return name is not None and (type(argument) is not int or argument.bit_length() < 64)


def file_name(function: FunctionType, kinds: list[Any]) -> str:
    """Name the file of a kernel for kinds of arguments, this processor and release of LLVM."""
    text = repr((function.__code__.co_firstlineno, [_word(kind) for kind in kinds], _processor()))
    where = f"{Path(function.__code__.co_filename).stem}.{function.__qualname__}"
    return f"{where}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.code"


def _word(kind: Any) -> Any:
    """Say a kind in text that is the same in every process."""
    if isinstance(kind, str):
        return kind
    first = kind[0]
    return (first.descr if isinstance(first, np.dtype) else first.__qualname__, *kind[1:])


def write(path: Path, code: Code) -> None:
    """Write machine code to a file, whole or not at all."""
    part = path.with_suffix(f".{os.getpid()}")
    part.write_bytes(zlib.compress(pickle.dumps(tuple(code)), 1))
    part.replace(path)


def read(path: Path) -> Code:
    """Read a file that was written, from a folder that is trusted with code."""
    return Code(*pickle.loads(zlib.decompress(path.read_bytes())))


@functools.cache
def _llvm() -> Any:
    with uncollected():
        from llvmlite import binding
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


@functools.cache
def _processor() -> tuple[str, ...]:
    from llvmlite import __version__

    llvm = _llvm()
    chosen = [os.environ.get(f"NUMBA_CPU_{word}", "") for word in ("NAME", "FEATURES")]
    return __version__, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(), *chosen


_ENGINES: list[Any] = []  # what was loaded stays


def _load(code: Code) -> int:
    """Bring code to where it can be called; 0 if something that it calls is not there."""
    llvm = _llvm()
    target = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
    # which makes what this process has loaded, such as the C library, known to LLVM
    if any(llvm.address_of_symbol(name) is None for name in code.needed):
        return 0
    nowhere = ctypes.cast(ctypes.pythonapi.Py_FatalError, ctypes.c_void_p).value
    unknown = [name for name in code.foreign if llvm.address_of_symbol(name) is None]
    for name, address in (dict.fromkeys(unknown, nowhere) | lent_memory.SYMBOLS).items():
        llvm.add_symbol(name, address)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code.machine_code))
    engine.finalize_object()
    _ENGINES.append(engine)
    return int(engine.get_function_address(code.function))


def _caller(address: int, kinds: list[Any], returns: list[Any]) -> Callable:
    """Give what calls a function with numbers of these kinds, if it does not say that it failed."""
    types: list[Any] = []
    for kind in kinds:
        if isinstance(kind, str):
            types.append(SCALARS[kind])
        elif isinstance(kind[0], np.dtype):
            types += [ctypes.c_void_p] * (5 + 2 * kind[1])  # read twice as fast as integers
    field, adopt = _result(iter(returns))
    result = type("Result", (ctypes.Structure,), {"_fields_": [("value", field)]})
    pointers = [ctypes.POINTER(result), ctypes.POINTER(ctypes.c_void_p)]
    function = ctypes.CFUNCTYPE(ctypes.c_int32, *pointers, *types)(address)

    def call(values: list[Any], arguments: tuple[Any, ...]) -> Any:
        made, error = result(), ctypes.c_void_p()
        if function(made, error, *values) != 0:
            return UNKNOWN  # Numba calls it again, and raises what it raises
        return adopt(made.value, {None: arguments})  # memory that it did not ask for is theirs

    return call


def _result(kinds: Iterator[Any]) -> tuple[Any, Callable]:
    """Give the type of what is returned, and what makes of it what Python gets."""
    kind = next(kinds)
    if isinstance(kind, str):
        return SCALARS[kind], lambda value, owners: value
    if isinstance(kind[0], np.dtype):
        return lent_memory.result(kind[0], kind[1])
    parts = [_result(kinds) for _ in range(kind[1])]
    fields = [(f"_{i}", field) for i, (field, _) in enumerate(parts)]
    make = kind[0] if hasattr(kind[0], "_fields") else lambda *values: values

    def adopt(made: Any, owners: dict[int | None, Any]) -> Any:
        return make(*(part[1](getattr(made, f"_{i}"), owners) for i, part in enumerate(parts)))

    return type("Tuple", (ctypes.Structure,), {"_fields_": fields}), adopt
