"""``python tools/proof.py``: write docs/proof.json, what was proved of each method.

Runs every claim, and keeps the numbers that it measured and the public names that it called. The
tests of parity are read from ``build/junit.xml``, which ``make status`` writes; without it
those that were kept before are left as they are.
"""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from panlearn.claims import all_claims

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "proof.json"
JUNIT = ROOT / "build" / "junit.xml"


def claims() -> dict[str, Any]:
    """Run the claims: whether each holds, its evidence, the public names that it called."""
    found = {}
    for claim in all_claims():
        verdict = claim.verify(trace=True)
        found[claim.id] = {
            "holds": verdict.holds,
            "evidence": [str(evidence) for evidence in verdict.evidence],
            "methods": sorted(verdict.ran.methods) if verdict.ran else [],
        }
        if not verdict.holds:
            print(f"{claim.id} does not hold: {verdict.error or verdict.evidence}", file=sys.stderr)
    return found


def parity(junit: Path) -> dict[str, dict[str, int]]:
    """Read which tests against a peer passed for each public name, and how many cases each has."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for case in ET.parse(junit).iter("testcase"):
        module, name = case.get("classname", ""), case.get("name", "")
        passed = not any(case.find(bad) is not None for bad in ("failure", "error", "skipped"))
        if module.startswith("tests.parity") and passed:
            test = module.rpartition(".")[2] + "::" + name.partition("[")[0]
            for entry in case.iter("property"):
                if entry.get("name") == "methods":
                    for method in (entry.get("value") or "").split():
                        found[method][test] += 1
    return {method: dict(sorted(tests.items())) for method, tests in sorted(found.items())}


def main() -> None:
    """Write the file."""
    kept = json.loads(PAGE.read_text()) if PAGE.exists() else {"claims": {}, "parity": {}}
    if JUNIT.exists():
        kept["parity"] = parity(JUNIT)
    if "--parity" not in sys.argv:
        kept["claims"] = claims()
    PAGE.write_text(json.dumps(kept, indent=1) + "\n")
    print(f"wrote {PAGE.relative_to(ROOT)}: {len(kept['claims'])} claims")


if __name__ == "__main__":
    main()
