r"""The Bayesian Interchange Format: a network of tables as text.

.. code-block:: text

    network asia { property "any text" ; }
    variable tub { type discrete [ 2 ] { yes, no }; }
    probability ( tub | asia ) { (yes) 0.05, 0.95; default 0.01, 0.99; }
    probability ( asia ) { table 0.01, 0.99; }

Line breaks and comments, ``//`` or ``/* */``, are blanks. Items of a list are parted by commas, or
if there is none by blanks; a name that holds a mark stands in double quotes. A ``table`` runs
through the states of the last parent fastest and through those of the variable itself slowest.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from panlearn.core.memory import require_memory

_TOKEN = re.compile(
    r"""(?: \s | //[^\n]* | /\*.*?\*/ )*+  # blanks
    (?: "(?P<quoted> [^"\n]* )"
    | (?P<mark> [(){}\[\]|;,] )
    | (?P<word> (?: (?!//|/\*) [^\s,"(){}\[\]|;] )+ )
    | (?P<broken> . )
    | (?P<end> \Z ) )""",
    re.VERBOSE | re.DOTALL,
)
_NUMBERS = re.compile(r"([-+.\deE\s,]*+);")
_PLAIN = re.compile(r"""(?!.*(//|/\*)) [^\s,"(){}\[\]|;]+ """, re.VERBOSE)

Cpts = dict[str, tuple[list[str], np.ndarray]]


def parse(text: str, source: str) -> tuple[Cpts, dict[str, list[str]]]:
    """The tables and the states of a network, each by the names of its variables, in order."""
    return _Parser(text, source).network()


def render(
    names: Sequence[Hashable],
    states: Sequence[np.ndarray],
    parents: Sequence[Sequence[int]],
    cpts: Sequence[np.ndarray],
) -> str:
    """A network as text, from which `parse` has the same numbers to the bit."""
    words = _words([str(name) for name in names], "variables")
    labels = [
        _words([str(label) for label in own.tolist()], f"states of {name!r}")
        for name, own in zip(names, states, strict=True)
    ]
    parts = ["network unknown {\n}\n"]
    for word, own in zip(words, labels, strict=True):
        parts.append(
            f"variable {word} {{\n  type discrete [ {len(own)} ] {{ {', '.join(own)} }};\n}}\n"
        )
    for j, (word, above, table) in enumerate(zip(words, parents, cpts, strict=True)):
        rows = [", ".join(map(repr, row)) for row in table.reshape(-1, len(labels[j])).tolist()]
        if not above:
            parts.append(f"probability ( {word} ) {{\n  table {rows[0]};\n}}\n")
            continue
        parts.append(f"probability ( {word} | {', '.join(words[p] for p in above)} ) {{\n")
        given = itertools.product(*(labels[p] for p in above))
        parts += [f"  ({', '.join(key)}) {row};\n" for key, row in zip(given, rows, strict=True)]
        parts.append("}\n")
    return "".join(parts)


def _words(names: list[str], what: str) -> list[str]:
    """Names as the format writes them."""
    for name in names:
        if '"' in name or "\n" in name:
            raise ValueError(f"BIF has no way to write the name {name!r}, with a quote or a break")
    if len(set(names)) < len(names):
        raise ValueError(f"the {what} are not different when they are written: {names}")
    return [name if _PLAIN.fullmatch(name) else f'"{name}"' for name in names]


class _Statement(NamedTuple):
    """A line of a table: where it stands, ``(``, ``default`` or ``table``, states and numbers."""

    start: int
    kind: str
    labels: list[str]
    numbers: list[float]


class _Parser:
    """A walk over the tokens of a text; an error says on which line."""

    def __init__(self, text: str, source: str) -> None:
        self._text, self._source = text, source
        self._states: dict[str, list[str]] = {}
        self._tables: dict[str, tuple[int, list[str], list[_Statement]]] = {}
        self._go(0)

    def network(self) -> tuple[Cpts, dict[str, list[str]]]:
        """Read all declarations, in any order, and put the tables together."""
        while not self._is(""):
            at, kind = self._at, self._word("'network', 'variable' or 'probability'")
            if kind == "network":
                self._list("{")
                self._statements({})
            elif kind == "variable":
                self._variable()
            elif kind == "probability":
                self._probability()
            else:
                self._fail(f"{kind!r} is none of 'network', 'variable' and 'probability'", at)
        if not self._states:
            self._fail("there is no variable in it", self._at)
        for name, (start, parents, _) in self._tables.items():
            if unknown := [v for v in (name, *parents) if v not in self._states]:
                self._fail(f"there is no variable {unknown[0]!r}", start)
        if lost := [name for name in self._states if name not in self._tables]:
            self._fail(f"the variable {lost[0]!r} has no probabilities", self._at)
        cpts = {name: (self._tables[name][1], self._table(name)) for name in self._states}
        return cpts, self._states

    def _variable(self) -> None:
        start, name = self._at, " ".join(self._list("{"))
        if name in self._states or not name:
            self._fail(f"the variable {name!r} is there already, or has no name", start)

        def discrete() -> None:
            at, kind = self._at, self._word("'discrete'")
            if kind != "discrete":
                self._fail(f"{name!r} is of type {kind!r}; only 'discrete' is known", at)
            self._take("[")
            number = self._word("the number of states")
            self._take("]")
            self._take("{")
            labels = self._list("}")
            self._take(";")
            if number != str(len(labels)) or len(set(labels)) < len(labels):
                self._fail(
                    f"{name!r} must have {number} different states and has {len(labels)}", at
                )
            self._states[name] = labels

        self._statements({"type": discrete})
        if not self._states.get(name):
            self._fail(f"the variable {name!r} has no states", start)

    def _probability(self) -> None:
        """A variable, its parents and its rows; without a bar, the first word is the variable."""
        start, words = self._at, []
        self._take("(")
        while not self._is("|") and not self._is(")"):
            words.append(self._word("the name of a variable"))
        if self._is("|"):
            self._take("|")
            words = [" ".join(words), *self._list(")")]
        else:
            self._take(")")
        name, *parents = words or [""]
        if name in self._tables or len(set(words)) < len(words):
            self._fail(f"{name!r} has probabilities already, or a parent twice", start)
        self._take("{")
        found: list[_Statement] = []

        def row() -> None:
            at, labels = self._at, self._list(")")
            found.append(_Statement(at, "(", labels, self._numbers()))

        def default() -> None:
            found.append(_Statement(self._at, "default", [], self._numbers()))

        def table() -> None:
            found.append(_Statement(self._at, "table", [], self._numbers()))

        self._statements({"(": row, "default": default, "table": table})
        self._tables[name] = start, parents, found

    def _table(self, name: str) -> np.ndarray:
        """Put a table together: one list, or rows and what the others are."""
        start, parents, statements = self._tables[name]
        shape = *(len(self._states[p]) for p in parents), len(self._states[name])
        place = [{label: i for i, label in enumerate(self._states[p])} for p in parents]
        n_rows = math.prod(shape[:-1])
        rows: dict[Any, list[float]] = {}
        for at, kind, labels, numbers in statements:
            needed = shape[-1] * (n_rows if kind == "table" else 1)
            if len(numbers) != needed:
                self._fail(f"{len(numbers)} numbers for {name!r}, and {needed} are needed", at)
            key = self._key(at, parents, place, labels) if kind == "(" else kind
            if key in rows or (rows and "table" in (kind, *rows)):
                self._fail(f"the row {labels or kind} of {name!r} is there already", at)
            rows[key] = numbers
        if "table" in rows:
            table = np.array(rows["table"]).reshape(shape[-1], *shape[:-1])
            return np.moveaxis(table, 0, -1).copy()
        default = rows.pop("default", None)
        if default is None and len(rows) < n_rows:
            self._fail(f"{name!r} has {len(rows)} rows of {n_rows}, and no 'default'", start)
        try:
            require_memory(shape, f"the table of {name!r}", "remove parents")
            table = np.empty(shape)
        except (MemoryError, ValueError) as error:  # too many cells, or too many axes
            self._fail(str(error), start)
        table[:] = 0.0 if default is None else default
        for key, numbers in rows.items():
            table[key] = numbers
        return table

    def _key(
        self, at: int, parents: list[str], place: list[dict[str, int]], labels: list[str]
    ) -> tuple[int, ...]:
        """The states of the parents as numbers."""
        if len(labels) != len(parents):
            self._fail(f"{len(labels)} states for the {len(parents)} parents", at)
        for label, known, parent in zip(labels, place, parents, strict=True):
            if label not in known:
                self._fail(f"{label!r} is no state of {parent!r}", at)
        return tuple(known[label] for label, known in zip(labels, place, strict=True))

    def _statements(self, known: dict[str, Any]) -> None:
        """Statements up to a closing brace; properties are passed over."""
        while not self._is("}"):
            at, first = self._at, self._value
            self._go(self._behind)
            if first == "property":
                while not self._is(";"):
                    if self._is(""):
                        self._fail("a property without a ';'", at)
                    self._go(self._behind)
                self._take(";")
            elif first in known:
                known[first]()
            else:
                self._fail(f"{first!r} is none of {['property', *known, '}']}", at)
        self._take("}")

    def _numbers(self) -> list[float]:
        """Numbers up to a semicolon: at once, or word by word if there are comments between."""
        at = self._at
        if plain := _NUMBERS.match(self._text, at):
            words = plain[1].replace(",", " ").split()
            self._go(plain.end())
        else:
            words = " ".join(self._list(";")).split()
        try:
            return [float(word) for word in words]
        except ValueError as error:
            self._fail(str(error), at)

    def _list(self, mark: str) -> list[str]:
        """The items up to a mark: between commas, or if there is none one a word."""
        items: list[list[str]] = [[]]
        while not self._is(mark):
            if self._is(","):
                self._take(",")
                items.append([])
            else:
                items[-1].append(self._word(f"a word or {mark!r}"))
        self._take(mark)
        return items[0] if len(items) == 1 else [" ".join(item) for item in items if item]

    def _word(self, what: str) -> str:
        if self._kind in ("mark", "end"):
            self._fail(f"expected {what}", self._at)
        word = self._value
        self._go(self._behind)
        return word

    def _take(self, mark: str) -> None:
        if not self._is(mark):
            self._fail(f"expected {mark!r}", self._at)
        self._go(self._behind)

    def _is(self, mark: str) -> bool:
        """Whether a mark comes next, or the end if it is empty."""
        return self._value == mark and self._kind in ("mark", "end")

    def _go(self, position: int) -> None:
        """Look at the token from a position on: its kind, its value, where it is and ends."""
        token: Any = _TOKEN.match(self._text, position)
        self._kind, self._value = token.lastgroup, token[token.lastgroup]
        self._at, self._behind = token.start(token.lastgroup), token.end()
        if self._kind == "broken":
            self._fail("a comment or a quote does not end", self._at)

    def _fail(self, why: str, at: int) -> NoReturn:
        line = self._text.count("\n", 0, at) + 1
        raise ValueError(f"{self._source}, line {line}: {why}")
