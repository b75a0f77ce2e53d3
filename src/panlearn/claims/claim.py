"""A claim: a statement of a course text, an id, and a function that measures whether it holds."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import SupportsFloat

import numpy as np

from panlearn.claims.tracing import Ran, record
from panlearn.core.extras import MissingExtraError
from panlearn.core.threads import one_blas_thread

_REGISTRY: dict[str, Claim] = {}


@dataclass(frozen=True)
class Evidence:
    """One measured number, the bound that it was held against, and the verdict."""

    what: str
    measured: float
    relation: str
    bound: float
    holds: bool

    def __str__(self) -> str:
        return f"{self.what}: {self.measured:.4g} {self.relation} {self.bound:.4g}"


def at_most(what: str, measured: SupportsFloat, bound: SupportsFloat) -> Evidence:
    """Evidence that a number does not exceed a bound; NaN never holds."""
    a, b = float(measured), float(bound)
    return Evidence(what, a, "<=", b, a <= b)


def at_least(what: str, measured: SupportsFloat, bound: SupportsFloat) -> Evidence:
    """Evidence that a number reaches a bound; NaN never holds."""
    a, b = float(measured), float(bound)
    return Evidence(what, a, ">=", b, a >= b)


def equal(what: str, actual: object, expected: object, tolerance: float = 0.0) -> Evidence:
    """Evidence that two numbers or arrays of one shape agree to an absolute tolerance."""
    a, b = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    if a.shape != b.shape:
        return Evidence(f"{what} (shapes {a.shape} and {b.shape})", np.nan, "<=", tolerance, False)
    error = float(np.max(np.abs(a - b), initial=0.0))
    return at_most(f"|difference| of {what}", error, tolerance)


def true(what: str, condition: object) -> Evidence:
    """Evidence for a yes-or-no fact."""
    return Evidence(what, float(bool(condition)), "==", 1.0, bool(condition))


@dataclass(frozen=True)
class Verdict:
    """The outcome of running one claim."""

    claim: Claim
    evidence: tuple[Evidence, ...]
    error: str
    seconds: float
    ran: Ran | None = None

    @property
    def holds(self) -> bool:
        """Whether there is evidence and all of it agrees with the statement."""
        return not self.error and bool(self.evidence) and all(e.holds for e in self.evidence)


@dataclass(frozen=True)
class Claim:
    """A statement with its id and the function that measures it.

    Attributes
    ----------
    id : str
        The list it is from, and its number there.
    measure : callable
        Yields the evidence.
    mathematics : bool
        Whether it is about mathematics alone, and runs no method of the library: it then says
        that the statement is right, and nothing about the code.
    """

    id: str
    measure: Callable[[], Iterable[Evidence]]
    mathematics: bool = False

    @property
    def statement(self) -> str:
        """The docstring of the function: the claim in one paragraph."""
        return " ".join((self.measure.__doc__ or "").split())

    @property
    def topic(self) -> str:
        """The module that the claim stands in."""
        return self.measure.__module__.rpartition(".")[2]

    def verify(self, *, trace: bool = False) -> Verdict:
        """Run the claim; an exception is a verdict too, never a crash of the caller.

        With `trace` the verdict tells what of the library ran, and takes longer.
        """
        start = perf_counter()
        with _one_thread(), record() if trace else contextlib.nullcontext() as ran:
            try:
                evidence, error = tuple(self.measure()), ""
            except Exception as exception:
                evidence, error = (), f"{type(exception).__name__}: {exception}"
        return Verdict(self, evidence, error, perf_counter() - start, ran)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Hold BLAS, and PyTorch if it is there, to one thread.

    On small problems threads wait for each other longer than they work, above all if other
    processes want the cores too.
    """
    with contextlib.ExitStack() as held:
        held.enter_context(one_blas_thread())
        if "torch" in sys.modules:
            from panlearn.neural._threads import one_thread

            held.enter_context(one_thread())
        yield


def claim(
    id: str, *, mathematics: bool = False
) -> Callable[[Callable[[], Iterable[Evidence]]], Claim]:
    """Register a generator of evidence under a claim's id.

    The function yields one `Evidence` for each number that it measures and its docstring states
    the claim so that a reader needs no other page. It runs the library's own code, so that a fault
    there makes it fail; where the library has nothing to run, it says ``mathematics=True``.
    """

    def register(measure: Callable[[], Iterable[Evidence]]) -> Claim:
        if id in _REGISTRY:
            raise ValueError(f"claim {id} is stated twice")
        _REGISTRY[id] = Claim(id, measure, mathematics)
        return _REGISTRY[id]

    return register


def all_claims() -> list[Claim]:
    """Every claim of the library, ordered by id; those that `absent_claims` tells of left out."""
    _load()
    return sorted(_REGISTRY.values(), key=lambda c: _order(c.id))


def absent_claims() -> dict[str, str]:
    """The ids of the claims that need an extra which is not installed, and what is missing."""
    found: dict[str, str] = {}
    for path, reason in _load().items():
        ids = re.findall(r'^@claim\("(\w+)"', path.read_text(), flags=re.MULTILINE)
        found |= dict.fromkeys(ids, reason)
    return {id: found[id] for id in sorted(found, key=_order)}


def _load() -> dict[Path, str]:
    """Import every file of claims; those that cannot be for want of an extra, with the reason."""
    package, left_out = importlib.import_module("panlearn.claims"), {}
    for module in pkgutil.iter_modules(package.__path__):
        try:
            importlib.import_module(f"panlearn.claims.{module.name}")
        except MissingExtraError as error:
            left_out[Path(package.__path__[0]) / f"{module.name}.py"] = str(error)
    return left_out


def _order(id: str) -> tuple[str, int]:
    return id[0], int(id[1:])


def verify(ids: Iterable[str] | None = None) -> Iterator[Verdict]:
    """Run the claims with these ids (all, if none are named), one verdict at a time."""
    claims = {c.id: c for c in all_claims()}
    chosen = list(claims) if ids is None else list(ids)
    if unknown := [i for i in chosen if i not in claims]:
        absent = [f"{i}: {reason}" for i, reason in absent_claims().items() if i in unknown]
        raise ValueError(
            f"no claim {', '.join(unknown)}; `panlearn verify --list` shows the ids"
            + "".join(f" ({note})" for note in absent)
        )
    return (claims[i].verify() for i in chosen)
