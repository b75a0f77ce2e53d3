"""Print the oldest versions that pyproject.toml allows, as pip takes them: for ``make oldest``."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parent.parent / "pyproject.toml"
EXTRAS = ("plot", "data")  # the others bring hundreds of packages with bounds of their own


def oldest(requirement: str) -> str:
    """``numpy>=2.0,<3`` is ``numpy==2.0``."""
    return re.sub(r">=([^,]+).*", r"==\1", requirement)


def main() -> None:
    """Run the command."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    extras = [r for name in EXTRAS for r in project["optional-dependencies"][name]]
    print(*map(oldest, [*project["dependencies"], *extras]))


if __name__ == "__main__":
    main()
