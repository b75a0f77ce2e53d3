"""What is known of each method: read off the package, its tables, proofs and results.

A table holds only what no program can find: when to use a method (``methods.csv``), what a person
may ask for (``tasks.csv``), which chapters the courses have (``courses.csv``). The rest is looked
up: summary and capabilities in the package, examples in ``examples``, claims and parity in
``proof.json``, ratios and exponents in ``benchmarks/results``.
"""

from __future__ import annotations

import csv
import functools
import inspect
import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import panlearn
from panlearn.core.capabilities import Capabilities

DOCS = Path(__file__).parents[1]
EXAMPLES = DOCS.parent / "examples"
RESULTS = DOCS.parent / "benchmarks" / "results"
API = DOCS / "api"  # written by a build


@dataclass(frozen=True)
class Method:
    """A public name of a family, such as ``linear.Ridge``, and what its tables say."""

    path: str
    chapter: str
    peers: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    use: str = ""
    avoid: str = ""

    @property
    def family(self) -> str:
        return self.path.partition(".")[0]

    @property
    def name(self) -> str:
        return self.path.partition(".")[2]

    @property
    def page(self) -> str:
        """Its page, from the root of the site."""
        return f"api/panlearn.{self.path}.html"

    @functools.cached_property
    def thing(self) -> Any:
        return getattr(getattr(panlearn, self.family), self.name)

    @property
    def summary(self) -> str:
        """The first sentence of the docstring, as plain text."""
        first = (inspect.getdoc(self.thing) or "").partition("\n\n")[0]
        return plain(" ".join(first.split()))

    @property
    def cost(self) -> list[str]:
        """The sentences of the docstring that say how time and memory grow."""
        return cost_law(inspect.getdoc(self.thing) or "")

    @property
    def capabilities(self) -> Capabilities | None:
        found = getattr(self.thing, "capabilities", None)
        return found if isinstance(found, Capabilities) else None

    @functools.cached_property
    def example(self) -> Path | None:
        """The script that draws it or, failing that, its sibling for other targets."""
        return _drawn(self) or next(filter(None, map(_drawn, self.siblings)), None)

    @property
    def siblings(self) -> list[Method]:
        """The classes of its family that do the same for other targets, such as numbers."""
        stem = _stem(self.name)
        return [m for m in methods().values() if m.family == self.family and _stem(m.name) == stem]

    @property
    def picture(self) -> Path | None:
        """The first picture of that script, once the gallery has drawn it."""
        if self.example is None:
            return None
        name = f"sphx_glr_{self.example.stem}_001.png"
        path = DOCS / "gallery" / self.example.parent.name / "images" / name
        return path if path.exists() else None


@functools.cache
def scripts() -> dict[Path, str]:
    """Return the examples and what stands in them."""
    return {path: path.read_text() for path in sorted(EXAMPLES.glob("*/*.py"))}


def _drawn(method: Method) -> Path | None:
    """The script that draws it: one named after it, or of its family, or that names it most."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", method.name).lower()
    mentions = {path: _mentions(path, text, method) for path, text in scripts().items()}
    return max(
        (path for path, count in mentions.items() if count),
        key=lambda path: (words in path.stem, path.parent.name == method.family, mentions[path]),
        default=None,
    )


def _mentions(path: Path, text: str, method: Method) -> int:
    """Count how often a script names a method that it imports, or a class of its own family."""
    imported = rf"from panlearn\.{method.family} import (\([^)]*)?.*\b{method.name}\b"
    if f"from panlearn.{method.path} import" in text:
        return 1
    own = path.parent.name == method.family and method.name != method.name.lower()
    counts = own or re.search(imported, text)
    return len(re.findall(rf"\b{method.name}\b", text)) if counts else 0


def _stem(name: str) -> str:
    """The name without what it predicts."""
    return re.sub(r"(Classifier|Regressor|Tagger|Forecaster|s)$", "", name)


_NOTES = re.compile(r"^Notes\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", re.MULTILINE | re.DOTALL)
_ORDER = re.compile(r"([^,;:]*):math:`O\(")  # with what leads up to it
_ERROR = re.compile(r"\b(errors?|off by|wrong by|bias|accura\w+|precis\w+|converge\w*)\b")


def cost_law(docstring: str) -> list[str]:
    """Return the sentences of the Notes, or of a docstring without, that state an order of work.

    What leads up to an order of error names the error: "the rule is off by :math:`O(h^3)`".
    """
    notes = _NOTES.search(docstring)
    paragraphs = (notes[1] if notes else docstring).split("\n\n")
    text = "\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    sentences = re.split(r"(?<=\.)\s+(?=[A-Z:`\"])|\n", text)
    return [s for s in sentences if any(not _ERROR.search(lead) for lead in _ORDER.findall(s))]


def plain(text: str) -> str:
    """Take the marks of reStructuredText away: a role keeps what it names."""
    text = re.sub(r":math:`\\ell_(\w)`", r"l\1", text)
    text = re.sub(r":\w+:`([^`<]+)(?: <[^>]+>)?`", r"\1", text)
    return text.replace("``", "").replace("`", "")


def rows(name: str) -> list[dict[str, str]]:
    """Read a table of this folder."""
    with (DOCS / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@functools.cache
def methods() -> dict[str, Method]:
    """Return every method of the curriculum, in the order of the course."""
    said = {row["method"]: row for row in rows("methods.csv")}
    found = {}
    for line in rows("curriculum.csv"):
        path, chapter = line["method"], line["chapter"]
        row = said.get(path)
        if row is None:
            found[path] = Method(path, chapter)
            continue
        peers, tasks = (tuple(filter(None, row[key].split(";"))) for key in ("peers", "tasks"))
        found[path] = Method(path, chapter, peers, tasks, row["use"], row["avoid"])
    return {path: _with_capable_tasks(method) for path, method in found.items()}


def _with_capable_tasks(method: Method) -> Method:
    """Add the tasks that follow from what a class declares."""
    can = method.capabilities
    if can is None:
        return method
    extra = {
        "missing": can.missing,
        "gaps": can.missing and "sequences" in method.tasks,
        "stream": bool({"stream", "dask"} & {*can.sources}),
    }
    added = tuple(task for task, holds in extra.items() if holds and task not in method.tasks)
    return Method(
        method.path, method.chapter, method.peers, (*method.tasks, *added), method.use, method.avoid
    )


@functools.cache
def tasks() -> dict[str, str]:
    """Return the questions that people come with, by their short names."""
    return {row["task"]: row["question"] for row in rows("tasks.csv")}


@functools.cache
def peers() -> dict[str, list[Method]]:
    """Return the packages that people may know, each with the methods that stand for it here."""
    found = defaultdict(list)
    for method in methods().values():
        for peer in method.peers:
            found[peer].append(method)
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


@functools.cache
def courses() -> dict[str, dict[str, list[Method]]]:
    """Return the texts, their chapters, and the methods of each."""
    chapters = defaultdict(list)
    for method in methods().values():
        chapters[method.chapter].append(method)
    found: dict[str, dict[str, list[Method]]] = {"panlearn's curriculum": dict(chapters)}
    for row in rows("courses.csv"):
        own = found.setdefault(row["text"], {})
        own[row["chapter"]] = [m for c in row["curriculum"].split(";") for m in chapters[c]]
    return found


@functools.cache
def proof() -> dict[str, Any]:
    """Return what ``tools/proof.py`` found: the evidence of each claim, the tests of parity."""
    path = DOCS / "proof.json"
    return json.loads(path.read_text()) if path.exists() else {"claims": {}, "parity": {}}


def claims_of(method: Method) -> list[str]:
    """Return the ids of the claims that ran a method."""
    return [id for id, claim in proof()["claims"].items() if method.path in claim["methods"]]


@dataclass
class Measured:
    """One workload: ours first, then the peers, with the ratio to the fastest of these."""

    family: str
    workload: str
    method: str
    contenders: list[dict[str, Any]] = field(default_factory=list)

    @property
    def ratio(self) -> float | None:
        """The median ratio; None without its spread, for then it says little."""
        return self.contenders[0]["ratio"] if self.spread else None

    @property
    def spread(self) -> tuple[float, float] | None:
        spread = self.contenders[0].get("spread")
        return tuple(spread) if spread else None

    @property
    def rounds(self) -> int:
        return self.contenders[0].get("rounds") or 0

    @property
    def measured(self) -> str:
        """When and on what; older results say it of the file as a whole only."""
        return self.contenders[0].get("measured", "")

    @property
    def bar(self) -> float | None:
        return self.contenders[0].get("bar")


@functools.cache
def results() -> dict[str, dict[str, Any]]:
    """Return the files of results by their names."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))}


@functools.cache
def workloads() -> list[Measured]:
    """Return every workload that was measured."""
    found: dict[tuple[str, str], Measured] = {}
    for family, content in results().items():
        for row in content["rows"]:
            key = family, row["workload"]
            found.setdefault(key, Measured(*key, full_path(row["method"]))).contenders.append(row)
    return list(found.values())


@dataclass(frozen=True)
class Growth:
    """How the time of a method grows: the exponent, and the runs that it was fitted to."""

    method: str
    law: str
    exponent: float
    sizes: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()
    file: str = ""


@functools.cache
def growth() -> list[Growth]:
    """Return every growth that was measured; older results have only the exponent."""
    found = []
    for file, content in results().items():
        for said, law in content["growth"].items():
            name, _, rest = said.partition(" ")
            kept = law if isinstance(law, dict) else {"exponent": law}
            found.append(Growth(full_path(name), rest, **kept, file=file))
    return found


@functools.cache
def full_path(name: str) -> str:
    """Return ``linear.Ridge`` for ``Ridge`` too, as older results have it."""
    if name in methods():
        return name
    found = [path for path, method in methods().items() if method.name == name]
    return found[0] if found else name
