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
from typing import Any, NoReturn

import numpy as np

from panlearn.core.memory import require_memory

_TOKEN = re.compile(
    r"""(?P<blank> (?: \s | //[^\n]* | /\*.*?\*/ )+ )
    | "(?P<quoted> [^"\n]* )"
    | (?P<mark> [(){}\[\]|;,] )
    | (?P<word> (?: (?!//|/\*) [^\s,"(){}\[\]|;] )+ )
    | (?P<broken> . )""",
    re.VERBOSE | re.DOTALL,
)
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


class _Parser:
    """A walk over the tokens of a text; an error says on which line."""

    def __init__(self, text: str, source: str) -> None:
        self._text, self._source = text, source
        self._tokens: list[re.Match[str]] = []
        self._at = 0
        self._states: dict[str, list[str]] = {}
        self._cpts: Cpts = {}
        for token in _TOKEN.finditer(text):
            if token.lastgroup != "blank":
                self._tokens.append(token)
            if token.lastgroup == "broken":  # at once: to look for each end takes quadratic time
                self._at = len(self._tokens) - 1
                self._fail("a comment or a quote does not end")

    def network(self) -> tuple[Cpts, dict[str, list[str]]]:
        """Read all variables, then all probabilities, which may stand before them."""
        later = []
        while self._at < len(self._tokens):
            kind = self._word("'network', 'variable' or 'probability'")
            if kind == "network":
                while self._peek() != "{":
                    self._next("the '{' of the network")
                self._take("{")
                self._statements({})
            elif kind == "variable":
                self._variable()
            elif kind == "probability":
                later.append(self._at)
                while self._next("the '}' of the probabilities") != "}":
                    pass
            else:
                self._fail(f"{kind!r} is none of 'network', 'variable' and 'probability'", back=1)
        for self._at in later:
            self._probability()
        self._at = len(self._tokens)
        if not self._states:
            self._fail("there is no variable in it")
        if lost := [name for name in self._states if name not in self._cpts]:
            self._fail(f"the variable {lost[0]!r} has no probabilities")
        return {name: self._cpts[name] for name in self._states}, self._states

    def _variable(self) -> None:
        name = " ".join(self._list("{"))
        if name in self._states or not name:
            self._fail(f"the variable {name!r} is there already, or has no name", back=2)
        start, found = self._at, {}

        def discrete() -> None:
            if (kind := self._word("'discrete'")) != "discrete":
                self._fail(f"{name!r} is of type {kind!r}; only 'discrete' is known", back=1)
            self._take("[")
            number = self._word("the number of states")
            self._take("]")
            self._take("{")
            labels = self._list("}")
            self._take(";")
            if number != str(len(labels)) or len(set(labels)) < len(labels):
                self._fail(
                    f"{name!r} must have {number} different states and has {len(labels)}", back=1
                )
            found["states"] = labels

        self._statements({"type": discrete})
        if not found.get("states"):
            self._at = start
            self._fail(f"the variable {name!r} has no states")
        self._states[name] = found["states"]

    def _probability(self) -> None:
        name, *parents = self._family()
        own, sizes = len(self._states[name]), [len(self._states[p]) for p in parents]
        place = [{label: i for i, label in enumerate(self._states[p])} for p in parents]
        rows: dict[tuple[int, ...], list[float]] = {}
        whole: dict[str, list[float]] = {}

        def entry() -> None:
            labels = self._list(")")
            if len(labels) != len(parents):
                self._fail(f"{len(labels)} states for the {len(parents)} parents of {name!r}")
            for label, at, parent in zip(labels, place, parents, strict=True):
                if label not in at:
                    self._fail(f"{label!r} is no state of {parent!r}")
            key = tuple(at[label] for label, at in zip(labels, place, strict=True))
            if key in rows:
                self._fail(f"the row {tuple(labels)} of {name!r} is there already")
            rows[key] = self._numbers(own)

        def default() -> None:
            whole["default"] = self._numbers(own)

        def table() -> None:
            whole["table"] = self._numbers(own * math.prod(sizes))

        start = self._at
        self._take("{")
        self._statements({"(": entry, "default": default, "table": table})
        after, self._at = self._at, start  # a table as a whole is wrong from its first line on
        self._cpts[name] = parents, self._filled(name, (*sizes, own), rows, whole)
        self._at = after

    def _family(self) -> list[str]:
        """A variable and its parents; without a bar between them, the first word is it."""
        self._take("(")
        words = []
        while self._peek() not in ("|", ")"):
            words.append(self._word("the name of a variable"))
        self._at += 1
        if self._tokens[self._at - 1][0] == "|":
            words = [" ".join(words), *self._list(")")]
        if unknown := [v for v in words or [""] if v not in self._states]:
            self._fail(f"there is no variable {unknown[0]!r}", back=1)
        if words[0] in self._cpts or len(set(words)) < len(words):
            self._fail(f"{words[0]!r} has probabilities already, or a parent twice", back=1)
        return words

    def _filled(
        self,
        name: str,
        shape: tuple[int, ...],
        rows: dict[tuple[int, ...], list[float]],
        whole: dict[str, list[float]],
    ) -> np.ndarray:
        """The table of a variable, from one list, or from rows and what the others are."""
        if "table" in whole:
            if rows or "default" in whole:
                self._fail(f"{name!r} has a 'table' and rows besides")
            table = np.array(whole["table"]).reshape(shape[-1], *shape[:-1])
            return np.moveaxis(table, 0, -1).copy()
        n_rows = math.prod(shape[:-1])
        if "default" not in whole and len(rows) < n_rows:
            self._fail(f"{name!r} has {len(rows)} rows of {n_rows}, and no 'default'")
        try:
            require_memory(shape, f"the table of {name!r}", "remove parents")
            table = np.empty(shape)
        except (MemoryError, ValueError) as error:  # too many cells, or too many axes
            self._fail(str(error))
        table[:] = whole.get("default", 0.0)
        for key, row in rows.items():
            table[key] = row
        return table

    def _statements(self, known: dict[str, Any]) -> None:
        """Statements up to a closing brace; properties are passed over."""
        while self._peek() != "}":
            first = self._next("a statement or '}'")
            if first == "property":
                while self._next("';' at the end of a property") != ";":
                    pass
            elif first in known:
                known[first]()
            else:
                self._fail(f"{first!r} is none of {['property', *known]}", back=1)
        self._take("}")

    def _numbers(self, count: int) -> list[float]:
        """Probabilities up to a semicolon, as many as there must be."""
        words = " ".join(self._list(";")).split()
        try:
            numbers = [float(word) for word in words]
        except ValueError as error:
            self._fail(str(error), back=1)
        if len(numbers) != count:
            self._fail(f"{len(numbers)} numbers, and {count} are needed", back=1)
        return numbers

    def _list(self, mark: str) -> list[str]:
        """The items up to a mark: between commas, or if there is none one a word."""
        items: list[list[str]] = [[]]
        while self._peek() != mark:
            if self._peek() == ",":
                self._take(",")
                items.append([])
            else:
                items[-1].append(self._word(f"a word or {mark!r}"))
        self._take(mark)
        return items[0] if len(items) == 1 else [" ".join(item) for item in items if item]

    def _word(self, what: str) -> str:
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        if token is None or token.lastgroup == "mark":
            self._fail(f"expected {what}")
        return self._next(what)

    def _take(self, mark: str) -> None:
        if self._peek() != mark:
            self._fail(f"expected {mark!r}")
        self._at += 1

    def _peek(self) -> str | None:
        """The mark or bare word that comes next; None for a name in quotes and at the end."""
        if self._at < len(self._tokens):
            token = self._tokens[self._at]
            return token[0] if token.lastgroup != "quoted" else None
        return None

    def _next(self, what: str) -> str:
        if self._at >= len(self._tokens):
            self._fail(f"the text ends before {what}")
        token = self._tokens[self._at]
        self._at += 1
        return token[token.lastgroup or 0]

    def _fail(self, why: str, back: int = 0) -> NoReturn:
        at = self._at - back
        place = self._tokens[at].start() if at < len(self._tokens) else len(self._text)
        line = self._text.count("\n", 0, place) + 1
        seen = f" at {self._tokens[at][0]!r:.40}" if at < len(self._tokens) else " at its end"
        raise ValueError(f"{self._source}, line {line}{seen}: {why}")
