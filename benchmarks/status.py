"""``python -m benchmarks.status``: write docs/status.rst and the README from the last runs.

Reads ``build/junit.xml`` (written by ``make test``) and ``benchmarks/results`` (written by ``make
bench``), so every figure on the page is one that a run produced.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path

import panlearn
from benchmarks.harness import RESULTS

ROOT = Path(__file__).parent.parent
JUNIT = ROOT / "build" / "junit.xml"
PAGE = ROOT / "docs" / "status.rst"
INTRODUCTION = """\
Status
======

Written by ``python -m benchmarks.status`` from the last test and benchmark runs; never by hand.
*Checks* counts scikit-learn's estimator checks that passed, *claims* are those whose code exercises
the method, *parity* counts the tests against a peer that passed. A ratio is the time of the fastest
peer over the time of panlearn on the same data in one process: above 1, panlearn is faster.
"""


def exports() -> dict[str, str]:
    """Every public name and its family."""
    return {
        name: family
        for family in panlearn.FAMILIES
        for name in importlib.import_module(f"panlearn.{family}").__all__
    }


def names_in(function: ast.AST) -> set[str]:
    """The identifiers that a piece of source mentions."""
    nodes = list(ast.walk(function))
    plain = {n.id for n in nodes if isinstance(n, ast.Name)}
    return plain | {n.attr for n in nodes if isinstance(n, ast.Attribute)}


def mentions(path: Path) -> dict[str, set[str]]:
    """For each function of a file, the identifiers it mentions, helpers of the file included."""
    tree = ast.parse(path.read_text())
    direct = {n.name: names_in(n) for n in tree.body if isinstance(n, ast.FunctionDef)}
    constants = {
        target.id: names_in(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    known = {**constants, **direct}

    def closure(name: str) -> set[str]:
        seen, queue = set(), [name]
        while queue:
            for found in known.get(queue.pop(), set()) - seen:
                seen.add(found)
                queue.append(found)
        return seen

    return {name: closure(name) for name in direct}


def claims_of() -> dict[str, list[str]]:
    """The ids of the claims whose code exercises each public name."""
    found = defaultdict(list)
    for path in sorted((ROOT / "src/panlearn/claims").glob("*.py")):
        used = mentions(path)
        for node in ast.parse(path.read_text()).body:
            for mark in getattr(node, "decorator_list", []):
                if isinstance(mark, ast.Call) and getattr(mark.func, "id", "") == "claim":
                    for name in used[node.name]:
                        found[name].append(mark.args[0].value)
    return found


def outcomes() -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Passed estimator checks and parity tests of each name, and totals by outcome."""
    checks, parity, totals = (defaultdict(int) for _ in range(3))
    used: dict[str, dict[str, set[str]]] = {}
    for case in ET.parse(JUNIT).iter("testcase"):
        module, name = case.get("classname", ""), case.get("name", "")
        bad = [k for k in ("failure", "error", "skipped") if case.find(k) is not None]
        outcome = bad[0] if bad else "passed"
        totals[outcome] += 1
        if outcome != "passed":
            continue
        if match := re.match(r"test_check\[(\w+)\(", name):
            checks[match[1]] += 1
        if module.startswith("tests.parity"):
            path = ROOT / (module.replace(".", "/") + ".py")
            if module not in used:
                used[module] = mentions(path)
            for mentioned in used[module].get(name.partition("[")[0], ()):
                parity[mentioned] += 1
    return checks, parity, totals


def benchmarks_of() -> tuple[dict[str, list[str]], list[str]]:
    """The measured ratios of each name, and the machines they were measured on."""
    found, machines = defaultdict(list), []
    for path in sorted(RESULTS.glob("*.json")):
        content = json.loads(path.read_text())
        for row in content["rows"]:
            if row["ratio"] is not None:
                found[row["method"]].append(f"{row['workload']}: {row['ratio']:.2f}")
        facts = ", ".join(f"{k} {v}" for k, v in content["machine"].items())
        machines.append(f"{path.stem}: {facts}")
    return found, machines


def _short(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio >= 2 else f"{ratio:.2f}"  # which side of one it is on shows


def figures() -> str:
    """The README's table: each workload with the ratio to the fastest peer."""
    lines = ["| Workload | panlearn | fastest peer | ratio |", "|---|---|---|---|"]
    machines = {}
    for path in sorted(RESULTS.glob("*.json")):
        content = json.loads(path.read_text())
        machines |= content["machine"]
        by_workload = defaultdict(list)
        for row in content["rows"]:
            by_workload[row["workload"]].append(row)
        for workload, (ours, *peers) in by_workload.items():
            if peers:
                peer = min(peers, key=lambda row: row["seconds"])
                rival = f"{peer['contender']} {peer['seconds']:.3g} s"
                cells = (workload, f"{ours['seconds']:.3g} s", rival, _short(ours["ratio"]))
                lines.append("| " + " | ".join(cells) + " |")
    versions = ", ".join(f"{k} {v}" for k, v in machines.items() if k not in ("cpu", "date"))
    where = f"Measured {machines.get('date')} on {machines.get('cpu')}; {versions}."
    return "\n".join([*lines, "", where])


def write_readme() -> None:
    """Put the figures between the two marks of the README."""
    path = ROOT / "README.md"
    before, _, rest = path.read_text().partition("<!-- figures:begin")
    mark, _, rest = rest.partition("-->\n")
    after = rest[rest.index("<!-- figures:end") :]
    path.write_text(f"{before}<!-- figures:begin{mark}-->\n{figures()}\n{after}")


def main() -> None:
    if not JUNIT.exists():
        sys.exit(f"{JUNIT} is missing: run `make test` first")
    claims, (checks, parity, totals) = claims_of(), outcomes()
    ratios, machines = benchmarks_of()
    lines = [
        INTRODUCTION,
        "Tests: " + ", ".join(f"{n} {outcome}" for outcome, n in sorted(totals.items())) + ".",
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
        lines += [
            f"   * - {family}.{name}",
            f"     - {checks.get(name) or ''}".rstrip(),
            f"     - {', '.join(sorted(claims.get(name, []), key=_order))}".rstrip(),
            f"     - {parity.get(name) or ''}".rstrip(),
            f"     - {'; '.join(ratios.get(name, []))}".rstrip(),
        ]
    lines += ["", "Measured on:", "", *(f"- {m}" for m in machines), ""]
    PAGE.write_text("\n".join(lines))
    write_readme()
    print(f"wrote {PAGE.relative_to(ROOT)} and the figures of README.md")


def _order(claim: str) -> tuple[str, int]:
    return claim[0], int(claim[1:])


if __name__ == "__main__":
    main()
