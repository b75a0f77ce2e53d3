"""What of the library runs in a claim or a test, so that it is listed for what it is about."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import panlearn
from panlearn.core.extras import MissingExtraError
from panlearn.core.jit import watchers

_PACKAGE = str(Path(panlearn.__file__).parent)
_FAMILIES = tuple(f"{_PACKAGE}/{family}/" for family in panlearn.FAMILIES)


@dataclass
class Ran:
    """What ran inside a block.

    Attributes
    ----------
    methods : set of str
        Public names, such as "linear.Ridge", that the block itself called: a function, or a method
        of an instance. What such a method calls of the others in turn is not among them.
    files : set of str
        The files of the families of which any function ran, such as "linear/ridge.py".
    """

    methods: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)


@contextmanager
def record() -> Iterator[Ran]:
    """Note what of the library runs in the block, on this thread.

    Every call in it takes about twice as long, compiled code and its compilation aside.
    """
    ran, classes, functions = Ran(), *_public()
    files: dict[str, str] = {}  # of code, the file within the library, or nothing
    own_thread = threading.get_ident()

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        file = files.get(code.co_filename)
        if file is None:
            inside = code.co_filename.startswith(_FAMILIES)
            file = files[code.co_filename] = code.co_filename[len(_PACKAGE) + 1 :] if inside else ""
        if file:
            ran.files.add(file)
        elif not code.co_filename.startswith(_PACKAGE):
            return
        name = functions.get(code) or _class_of(frame, classes)
        if name is not None and name not in ran.methods and _called_by_block(frame.f_back):
            ran.methods.add(name)

    def pause(compiling: bool) -> None:
        # a compiler makes millions of calls, none of them of a method
        if threading.get_ident() == own_thread:
            sys.setprofile(None if compiling else profile)

    before = sys.getprofile()
    watchers.append(pause)
    sys.setprofile(profile)
    try:
        yield ran
    finally:
        sys.setprofile(before)
        watchers.remove(pause)


def _class_of(frame: FrameType, classes: dict[type, str]) -> str | None:
    """The public class whose method this is, by the instance or the class it is called on."""
    code = frame.f_code
    if code.co_varnames[:1] not in (("self",), ("cls",)) or not _counts(code.co_name):
        return None
    first = frame.f_locals.get(code.co_varnames[0])
    cls = first if isinstance(first, type) else type(first)
    making = code.co_name == "__post_init__" or (first is cls and code.co_name == "__call__")
    if making and hasattr(cls, "fit"):
        return None  # to make an estimator is not to run it
    return classes.get(cls)


def _counts(name: str) -> bool:
    return not name.startswith("_") or name in ("__call__", "__post_init__")


def _called_by_block(frame: FrameType | None) -> bool:
    """Whether no other method of the library stands between it and the block."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_FAMILIES):
            return False
        if file.startswith(f"{_PACKAGE}/claims/") or "/tests/" in file:
            return True
        frame = frame.f_back
    return True


@functools.cache
def _public() -> tuple[dict[type, str], dict[CodeType, str]]:
    """The public classes, and the code of the public functions, with their names."""
    classes: dict[type, str] = {}
    functions: dict[CodeType, str] = {}

    def add(thing: Any, name: str) -> None:
        if isinstance(thing, ModuleType):  # its methods are one entry of the table of contents
            for inner in getattr(thing, "__all__", vars(thing)):
                part = getattr(thing, inner)
                if getattr(part, "__module__", None) == thing.__name__:
                    add(part, name)
        elif isinstance(thing, type):
            classes.setdefault(thing, name)
        elif callable(thing):
            plain = inspect.unwrap(getattr(thing, "py_func", thing))
            functions.setdefault(plain.__code__, name)

    for family in panlearn.FAMILIES:
        try:
            package = importlib.import_module(f"panlearn.{family}")
        except MissingExtraError:
            continue
        for name in package.__all__:
            add(getattr(package, name), f"{family}.{name}")
    return classes, functions
