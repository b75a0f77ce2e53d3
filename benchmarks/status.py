"""``python -m benchmarks.status``: write docs/status.rst and the README's chart.

Reads ``build/junit.xml`` (written by ``make status``) and ``benchmarks/results`` (written by ``make
bench``), so every figure on the page is one that a run produced.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import panlearn
from benchmarks import chart, hardening
from benchmarks.harness import RESULTS

ROOT = Path(__file__).parent.parent
JUNIT = ROOT / "build" / "junit.xml"
PAGE = ROOT / "docs" / "status.rst"
FOLDED = 60  # workloads of a family: of more than these a method has one line
INTRODUCTION = """\
Status
======

Written by ``python -m benchmarks.status`` from the last test and benchmark runs; never by hand.
*Checks* counts scikit-learn's estimator checks that passed, *claims* are those that hold and call
the method, *parity* counts the tests against a peer that passed and call it; which methods a claim
or a test calls was traced as it ran. A ratio is the time of the fastest peer over the time of
panlearn on the same data in one process: above 1, panlearn is faster.
"""


def exports() -> dict[str, str]:
    """Every public name and its family."""
    return {
        name: family
        for family in panlearn.FAMILIES
        for name in importlib.import_module(f"panlearn.{family}").__all__
    }


@dataclass
class Outcomes:
    """What the last run of the tests says of each public name, such as ``linear.Ridge``."""

    checks: Counter[str] = field(default_factory=Counter)  # by name alone
    claims: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    parity: Counter[str] = field(default_factory=Counter)
    parts: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    mathematics: list[str] = field(default_factory=list)
    totals: Counter[str] = field(default_factory=Counter)


def outcomes(junit: Path) -> Outcomes:
    """Passed checks, claims and parity tests of each name; what ran is what was traced.

    A claim that runs no public name is listed by the files that it runs, and one that runs none of
    these is mathematics.
    """
    found = Outcomes()
    for case in ET.parse(junit).iter("testcase"):
        module, name = case.get("classname", ""), case.get("name", "")
        bad = [k for k in ("failure", "error", "skipped") if case.find(k) is not None]
        outcome = bad[0] if bad else "passed"
        found.totals[outcome] += 1
        if outcome != "passed":
            continue
        traced = {p.get("name"): (p.get("value") or "").split() for p in case.iter("property")}
        proof = name.startswith("test_claim_holds") or module.startswith("tests.parity")
        if proof and "methods" not in traced:
            sys.exit(f"{junit} does not tell what {name} ran: run `make status`")
        if match := re.match(r"test_check\[(\w+)\(", name):
            found.checks[match[1]] += 1
        elif match := re.match(r"test_claim_holds\[(\w+)\]", name):
            for method in traced["methods"]:
                found.claims[method].append(match[1])
            if not traced["files"]:
                found.mathematics.append(match[1])
            elif not traced["methods"]:
                for file in traced["files"]:
                    found.parts[file].append(match[1])
        elif module.startswith("tests.parity"):
            found.parity.update(traced["methods"])
    return found


def benchmarks_of() -> tuple[dict[str, list[str]], list[str]]:
    """The measured ratios of each name, and the machines they were measured on."""
    found, machines = defaultdict(list), []
    for path in sorted(RESULTS.glob("*.json")):
        content = json.loads(path.read_text())
        shown = [row for row in content["rows"] if row.get("spread")]  # else it is not shown
        some = defaultdict(list)
        for row in shown:
            some[row["method"]].append(row)
        for method, rows in some.items():
            found[method] += _in_words(path.stem, rows, whole=len(shown) <= FOLDED)
        facts = ", ".join(f"{k} {v}" for k, v in content["machine"].items())
        machines.append(f"{path.stem}: {facts}")
    return found, machines


def _in_words(family: str, rows: list[dict[str, Any]], *, whole: bool) -> list[str]:
    """Every workload with its ratio and quartiles, or of a family of very many the range."""
    if whole:
        return [
            "{workload}: {ratio:.2f} ({0:.2f} to {1:.2f})".format(*row["spread"], **row)
            for row in rows
        ]
    ratios = sorted(row["ratio"] for row in rows)
    said = f"{ratios[0]:.2f} to {ratios[-1]:.2f}, median {median(ratios):.2f}"
    return [f"{len(rows)} {family}: {said}"]


def porting(junit: Path) -> list[str]:
    """How many arguments of the peers' constructors are taken, as the test of them counted."""
    counted = [
        (p.get("value") or "").split()
        for case in ET.parse(junit).iter("testcase")
        for p in case.iter("property")
        if p.get("name") == "ported"
    ]
    if not counted:
        return []
    taken, tried = (sum(int(row[k]) for row in counted) for k in (1, 2))
    part = [f"{name} {some} of {all_}" for name, some, all_ in counted if some != all_]
    words = f"{taken} of {tried} ({taken / tried:.1%}) arguments of the constructors of "
    words += f"{len(counted)} peer classes of the same name are taken with the peer's default"
    return ["", f"Porting: {words}; not all of: {', '.join(part) or 'none'}."]


def main() -> None:
    if not JUNIT.exists():
        sys.exit(f"{JUNIT} is missing: run `make status` first")
    tests, (ratios, machines) = outcomes(JUNIT), benchmarks_of()
    lines = [
        INTRODUCTION,
        "Tests: "
        + ", ".join(f"{n} {outcome}" for outcome, n in sorted(tests.totals.items()))
        + ".",
        "",
        ".. list-table::",
        "   :header-rows: 1",
        "   :widths: 25 8 27 8 32",
        "",
        "   * - Method",
        "     - Checks",
        "     - Claims",
        "     - Parity",
        "     - Ratio",
    ]
    for name, family in exports().items():
        method = f"{family}.{name}"
        lines += [
            f"   * - {method}",
            f"     - {tests.checks[name] or ''}".rstrip(),
            f"     - {_listed(tests.claims[method])}".rstrip(),
            f"     - {tests.parity[method] or ''}".rstrip(),
            f"     - {'; '.join(ratios.get(name, []))}".rstrip(),
        ]
    lines += ["", "Claims that run a part of the library without the method around it:", ""]
    lines += [f"- ``{file}``: {_listed(ids)}" for file, ids in sorted(tests.parts.items())]
    lines += ["", f"Claims on mathematics alone: {_listed(tests.mathematics)}."]
    lines += porting(JUNIT)
    lines += [
        "",
        "What became of hostile things (``python -m benchmarks.hardening``). Every way to end that "
        "is named is one that may be; what ended otherwise is a test that failed, and is counted "
        "last. A *crafted file* is a model file with false contents under a right checksum: it may "
        "be refused, or be a wrong model, which raises or answers but reads and writes nothing "
        "outside of its arrays:",
        "",
    ]
    lines += [f"- {said}" for said in hardening.lines(JUNIT)]
    lines += ["", "Measured on:", "", *(f"- {m}" for m in machines), ""]
    PAGE.write_text("\n".join(lines))
    chart.draw(chart.ratios())
    print(f"wrote {PAGE.relative_to(ROOT)} and the chart of README.md")


def _listed(claims: list[str]) -> str:
    return ", ".join(sorted(claims, key=lambda claim: (claim[0], int(claim[1:]))))


if __name__ == "__main__":
    main()
