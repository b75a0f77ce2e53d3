"""Hashes in the constraints file: write those of what pip would install, or hold it against them.

    pip install --dry-run --ignore-installed --report build/pip.json -c constraints.txt -e '.[...]'
    python tools/lock.py write build/pip.json    # adds the hash of each archive to its line
    python tools/lock.py check build/pip.json    # refuses an archive that is not among them

A hash stands in a comment behind its pin: pip cannot install this project itself, which is a
folder, where it is told to insist on hashes. A line may have several, of several platforms.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

CONSTRAINTS = Path(__file__).parent.parent / "constraints.txt"
_PIN = re.compile(r"(?P<name>[\w.-]+)==(?P<version>[^\s#;]+)(?P<rest>[^#]*)(#(?P<comment>.*))?")


def plain(name: str) -> str:
    """The name of a package as indices compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def archives(report: Path) -> dict[str, tuple[str, str]]:
    """Of each package in a report of pip's: its version, and the SHA-256 of its archive."""
    found = {}
    for item in json.loads(report.read_text())["install"]:
        archive = item["download_info"].get("archive_info")
        if archive is not None:  # this project itself is a folder
            facts = item["metadata"]
            found[plain(facts["name"])] = facts["version"], archive["hashes"]["sha256"]
    return found


def write(lines: list[str], found: dict[str, tuple[str, str]]) -> list[str]:
    """Add to each pin the hash of the archive that was found for it."""
    written = []
    for line in lines:
        pin = _PIN.fullmatch(line)
        if pin is not None and found.get(plain(pin["name"]), ("",))[0] == pin["version"]:
            known = set((pin["comment"] or "").split()) | {f"sha256:{found[plain(pin['name'])][1]}"}
            line = f"{line.partition('#')[0].rstrip()}  # {' '.join(sorted(known))}"
        written.append(line)
    return written


def check(lines: list[str], found: dict[str, tuple[str, str]]) -> list[str]:
    """What is wrong with the archives that were found."""
    pins = {plain(p["name"]): p for line in lines if (p := _PIN.fullmatch(line)) is not None}
    wrong = []
    for name, (version, digest) in sorted(found.items()):
        pin = pins.get(name)
        if pin is None or pin["version"] != version:
            wrong.append(f"{name} {version} is not pinned")
        elif f"sha256:{digest}" not in (pin["comment"] or "").split():
            wrong.append(f"{name} {version} is another archive: sha256:{digest} is not listed")
    return wrong


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["write", "check"])
    parser.add_argument("report", type=Path)
    parser.add_argument("--constraints", type=Path, default=CONSTRAINTS)
    given = parser.parse_args()
    lines = given.constraints.read_text().splitlines()
    found = archives(given.report)
    if given.what == "write":
        given.constraints.write_text("\n".join(write(lines, found)) + "\n")
    elif wrong := check(lines, found):
        sys.exit("\n".join(wrong))
    print(f"{given.what}: {len(found)} archives, {given.constraints}")


if __name__ == "__main__":
    main()
