"""How Numba makes a kernel: parts are compiled as parts, what was made is kept, waiting is said.

Numba optimises every function that a kernel calls, and makes machine code of it, before it links
it into the kernel and does all of that again. Only what Python calls needs machine code: here the
functions that it calls are linked in as they were written, and everything is optimised once.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
from llvmlite import binding as llvm
from numba.core import event, types
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    NullCache,
    _CacheLocator,
)
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.datamodel.models import OpaqueModel
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import rtsys
from numba.core.targetconfig import ConfigStack
from numba.extending import register_model

from panlearn.core.garbage import uncollected
from panlearn.core.jit import digest, folders, watchers
from panlearn.core.keeping import keep


def entry(function: FunctionType, options: dict[str, Any]) -> Any:
    """Make what Python calls: it is compiled for the types of the arguments, or read."""
    given: Any = {**options, "no_cfunc_wrapper": True, "pipeline_class": _Entry}
    made: Any = numba.njit(**given)(function)
    if isinstance(made, Dispatcher):  # a plain function where compilation is switched off
        kernel: Any = made
        kernel._cache = _KernelCache(function) if _Locator.finds(function) else NullCache()
    return made


def part(function: FunctionType, options: dict[str, Any]) -> Any:
    """Make what other kernels call, which Python cannot."""
    given: Any = {**options, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return numba.njit(**given)(function)


class Part(types.Dispatcher):
    """The type of what other kernels call: a constant is a number as any other.

    Numba would compile a function again for each constant that it is given.
    """

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """Tell what a call gives, and compile for it."""
        plain = tuple(types.unliteral(argument) for argument in args)
        return super().get_call_type(context, plain, kws)


register_model(Part)(OpaqueModel)


class _Library(JITCodeLibrary):
    """Code of one function; if only compiled code calls it, that is where it is optimised."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        stack = ConfigStack()
        self.is_part = bool(stack) and stack.top().no_cpython_wrapper

    def add_linking_library(self, library: Any) -> None:
        if not library._finalized:  # of a subroutine, which has no wrapper either
            library.is_part = True
        super().add_linking_library(library)

    def _optimize_final_module(self) -> None:
        if not self.is_part:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        if not self.is_part:
            super()._finalize_final_module()
            return
        self._finalize_dynamic_globals()
        # its environment is all that Numba asks the machine for
        engine = self._codegen._engine
        environments = [
            str(variable)
            for variable in self._final_module.global_variables
            if variable.name.startswith("_ZN08NumbaEnv")
            and not engine.is_symbol_defined(variable.name)
        ]
        if environments:
            self._codegen._add_module(llvm.parse_assembly("\n".join(environments)))
        self._finalized = True


class _Entry(Compiler):
    """Compiles what Python calls, and on the way what that calls."""

    def compile_extra(self, func: Any) -> Any:
        codegen = self.state.targetctx.codegen()
        before, codegen._library_class = codegen._library_class, _Library
        try:
            return super().compile_extra(func)
        finally:
            codegen._library_class = before


class _Locator(_CacheLocator):
    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self.readable, self.writable = folders(os.path.dirname(function.__code__.co_filename))

    @classmethod
    def from_function(cls, py_func: FunctionType, py_file: str) -> _Locator:
        return cls(py_func)

    @classmethod
    def finds(cls, function: FunctionType) -> bool:
        return os.path.exists(function.__code__.co_filename) and bool(cls(function).readable)

    def get_cache_path(self) -> str:
        return self.writable or self.readable[0]

    def get_source_stamp(self) -> str:
        return digest(self.function)

    def get_disambiguator(self) -> str:
        return str(self.function.__code__.co_firstlineno)


class _Files(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # type: ignore[list-item]  # noqa: RUF012 - of Numba


class _KernelCache(FunctionCache):
    """Reads from every folder, writes to one, and loads no more of Numba than that takes."""

    _impl_class = _Files

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        # Numba would first import all that it compiles with, and here nothing may be compiled
        rtsys.initialize(target_context)
        impl: Any = self._impl
        key = self._index_key(sig, target_context.codegen())
        name, stamp = impl.filename_base, impl.locator.get_source_stamp()
        for path in impl.locator.readable:
            with self._guard_against_spurious_io_errors():
                files = IndexDataCacheFile(path, name, stamp)
                data = files.load(key)
                if data is not None:
                    return impl.rebuild(target_context, data)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if self._impl.locator.writable is not None:
            with contextlib.suppress(OSError):  # a full disk must not end a fit
                super().save_overload(sig, data)
                keep(self._py_func, sig, data, Path(self._impl.locator.writable))


class _Listener(event.Listener):
    """Tells the watchers when a kernel of ours, with all that it calls, is compiled."""

    def __init__(self) -> None:
        self.depth, self.ours = 0, False
        self.pause = contextlib.ExitStack()

    def on_start(self, event: event.Event) -> None:
        self.depth += 1
        if self.depth == 1:
            module = event.data["dispatcher"].py_func.__module__  # None, of what was executed
            self.ours = (module or "").startswith("panlearn.")
            if self.ours:
                self.pause.enter_context(uncollected())
            self.tell(True)

    def on_end(self, event: event.Event) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.pause.close()
            self.tell(False)

    def tell(self, compiling: bool) -> None:
        for watcher in watchers if self.ours else ():
            watcher(compiling)


class _Notice:
    """Says once, after a second of compiling, why nothing seems to happen."""

    def __init__(self) -> None:
        self.began, self.spent = 0.0, 0.0
        self.said = False
        self.timer = threading.Timer(1, self.say)

    def __call__(self, compiling: bool) -> None:
        if self.said:
            return
        if compiling:
            self.began = time.monotonic()
            self.timer = threading.Timer(max(1 - self.spent, 0), self.say)
            self.timer.daemon = True
            self.timer.start()
        else:
            self.timer.cancel()
            self.spent += time.monotonic() - self.began

    def say(self) -> None:
        if not self.said:
            self.said = True
            print("panlearn compiles for this machine; the next start is quick", file=sys.stderr)


event.register("numba:compile", _Listener())
if sys.stderr is not None and sys.stderr.isatty():
    watchers.append(_Notice())
