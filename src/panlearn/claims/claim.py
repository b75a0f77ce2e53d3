"""A claim: a statement of a course text, an id, and a function that measures whether it holds."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import SupportsFloat

import numpy as np

from panlearn.core.extras import MissingExtraError

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

    @property
    def holds(self) -> bool:
        """Whether there is evidence and all of it agrees with the statement."""
        return not self.error and bool(self.evidence) and all(e.holds for e in self.evidence)


@dataclass(frozen=True)
class Claim:
    """A statement with its id and the function that measures it."""

    id: str
    measure: Callable[[], Iterable[Evidence]]

    @property
    def statement(self) -> str:
        """The docstring of the function: the claim in one paragraph."""
        return " ".join((self.measure.__doc__ or "").split())

    @property
    def topic(self) -> str:
        """The module that the claim stands in."""
        return self.measure.__module__.rpartition(".")[2]

    def verify(self) -> Verdict:
        """Run the claim; an exception is a verdict too, never a crash of the caller."""
        start = perf_counter()
        try:
            evidence, error = tuple(self.measure()), ""
        except Exception as exception:
            evidence, error = (), f"{type(exception).__name__}: {exception}"
        return Verdict(self, evidence, error, perf_counter() - start)


def claim(id: str) -> Callable[[Callable[[], Iterable[Evidence]]], Claim]:
    """Register a generator of evidence under a claim's id.

    The function yields one `Evidence` for each number that it measures and its docstring states
    the claim so that a reader needs no other page.
    """

    def register(measure: Callable[[], Iterable[Evidence]]) -> Claim:
        if id in _REGISTRY:
            raise ValueError(f"claim {id} is stated twice")
        _REGISTRY[id] = Claim(id, measure)
        return _REGISTRY[id]

    return register


def all_claims() -> list[Claim]:
    """Every claim of the library, ordered by id; those that need a missing extra are left out."""
    package = importlib.import_module("panlearn.claims")
    for module in pkgutil.iter_modules(package.__path__):
        with contextlib.suppress(MissingExtraError):
            importlib.import_module(f"panlearn.claims.{module.name}")
    return sorted(_REGISTRY.values(), key=lambda c: (c.id[0], int(c.id[1:])))


def verify(ids: Iterable[str] | None = None) -> Iterator[Verdict]:
    """Run the claims with these ids (all, if none are named), one verdict at a time."""
    claims = {c.id: c for c in all_claims()}
    chosen = list(claims) if ids is None else list(ids)
    if unknown := [i for i in chosen if i not in claims]:
        raise ValueError(f"no claim {', '.join(unknown)}; `panlearn verify --list` shows the ids")
    return (claims[i].verify() for i in chosen)
