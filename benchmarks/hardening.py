"""``python -m benchmarks.hardening``: what became of everything hostile in the last test run.

Reads ``build/junit.xml``, or the file that is named. Tests count each bad input, crafted file,
interrupt, kill, thread and process by how it ended; what ended in another way than it may is a test
that failed, and is listed.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from pathlib import Path

JUNIT = Path(__file__).parent.parent / "build" / "junit.xml"
WHERE = ("tests.reliability.", "tests.contract.", "tests.core.", "tests.neural.")


def tallies(junit: Path) -> tuple[dict[str, Counter[str]], list[str]]:
    """How often each kind of thing ended in which way, and the tests that failed."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    failed = []
    for case in ET.parse(junit).iter("testcase"):
        module, name = case.get("classname", ""), case.get("name", "")
        if any(case.find(kind) is not None for kind in ("failure", "error")):
            if module.startswith(WHERE):
                failed.append(f"{module}.{name}")
            continue
        for prop in case.iter("property"):
            what, _, outcome = (prop.get("name") or "").partition(": ")
            if what.startswith("tally "):
                found[what.removeprefix("tally ")][outcome] += int(prop.get("value") or 0)
    return found, failed


def lines(junit: Path) -> list[str]:
    """One sentence a kind of thing, each of the ways one that may be, and what ended otherwise."""
    found, failed = tallies(junit)
    said = []
    for what, outcomes in sorted(found.items()):
        ways = "; ".join(f"{number:,} {way}" for way, number in outcomes.most_common())
        said.append(f"{what}: {outcomes.total():,} tried; {ways}")
    said.append(f"what ended otherwise (raw errors, NaN, crashes, hangs): {len(failed)}")
    return said + [f"failed: {name}" for name in failed]


def main() -> None:
    junit = Path(sys.argv[1]) if len(sys.argv) > 1 else JUNIT
    if not junit.exists():
        sys.exit(f"{junit} is missing: run `make status` first")
    print("\n".join(lines(junit)))


if __name__ == "__main__":
    main()
