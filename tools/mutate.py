"""Change one thing at a time in the code, run its tests, and report the changes that none noticed.

    make mutate                                  the lines that changed since main
    make mutate ARGS="--since HEAD~3 --number 40"
    make mutate ARGS="src/panlearn/linear/ridge.py --also tests/parity/test_linear.py"

Mutants are drawn at random among signs, comparisons, constants, terms, statements, arguments and
ends of slices, and live in a copy of the tree. A survivor is a line whose error no test would see.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = Path("src") / "panlearn"
SWAPS: dict[type, type] = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
    **{ast.Lt: ast.GtE, ast.GtE: ast.Gt, ast.Gt: ast.LtE, ast.LtE: ast.Lt, ast.Eq: ast.NotEq},
    **{ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn},
    **{ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And, ast.Pow: ast.Mult},
}


class Mutant(NamedTuple):
    """A file, the line and the text of one node, and what takes its place."""

    path: Path
    node: ast.AST
    text: str


def replacements(node: ast.AST) -> Iterator[ast.AST]:
    """Give what may stand in place of a node."""
    twin = copy.deepcopy(node)
    match twin:
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in SWAPS:
            twin.op = SWAPS[type(op)]()
            yield twin
            if isinstance(op, ast.Add | ast.Sub) and isinstance(twin, ast.BinOp):
                yield twin.left  # the second term is dropped
        case ast.Compare(ops=[op]) if type(op) in SWAPS:
            twin.ops = [SWAPS[type(op)]()]
            yield twin
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield twin.operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value + 1 if isinstance(value, int) else 2 * value or 1.0)
        case ast.Call(args=[first, second, *rest]):
            twin.args = [second, first, *rest]
            yield twin
        case ast.Slice(lower=low, upper=high) if low or high:
            end = "lower" if low else "upper"
            setattr(twin, end, ast.BinOp(getattr(twin, end), ast.Add(), ast.Constant(1)))
            yield twin
        case ast.AugAssign() | ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()


def mutants(path: Path, source: str, lines: set[int] | None) -> Iterator[Mutant]:
    """All mutants of some lines of a file; errors, types and defaults of fields are left alone."""
    kept: list[ast.AST] = [ast.parse(source)]
    while kept:
        node = kept.pop()
        if isinstance(node, ast.Raise | ast.Assert | ast.AnnAssign | ast.Import | ast.ImportFrom):
            continue
        aside = [getattr(node, name, None) for name in ("returns", "annotation")]
        aside += getattr(node, "decorator_list", [])
        kept.extend(child for child in ast.iter_child_nodes(node) if child not in aside)
        if hasattr(node, "lineno") and (lines is None or node.lineno in lines):
            for other in replacements(node):
                yield Mutant(path, node, ast.unparse(ast.fix_missing_locations(other)))


def mutated(source: str, mutant: Mutant) -> str:
    """The text of the file with the node replaced; columns count bytes."""
    node: ast.expr = mutant.node  # type: ignore[assignment]
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    stop = sum(map(len, lines[: (node.end_lineno or 0) - 1])) + (node.end_col_offset or 0)
    text = mutant.text if isinstance(node, ast.stmt | ast.Slice) else f"({mutant.text})"
    whole = b"".join(lines)
    return (whole[:start] + text.encode() + whole[stop:]).decode()


def git(*command: str) -> str:
    """What git says in the root of the tree."""
    run = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    return run.stdout.strip()


def changed(since: str) -> dict[Path, set[int]]:
    """The lines of each file of the package that are not as they were."""
    found: dict[Path, set[int]] = {}
    path = Path()
    for line in git("diff", "-U0", since, "--", str(PACKAGE)).splitlines():
        if line.startswith("+++ "):
            path = Path(line.removeprefix("+++ b/"))
        elif hunk := re.match(r"@@ \S+ \+(\d+),?(\d*) @@", line):
            start, count = int(hunk[1]), int(hunk[2] or 1)
            found.setdefault(path, set()).update(range(start, start + count))
    return {p: lines for p, lines in found.items() if p.suffix == ".py" and (ROOT / p).exists()}


def tests_of(path: Path) -> list[str]:
    """The tests that concern a file: those of its own name first, then those of its family."""
    family = path.relative_to(PACKAGE).parts[0]
    own = ROOT / "tests" / family / f"test_{path.stem.strip('_')}.py"
    places = [own, own.parent, ROOT / path]
    return [str(p.relative_to(ROOT)) for p in places if p.exists()]


def passes(tree: Path, tests: list[str], limit: float) -> bool:
    """Whether the tests of a tree pass within so many seconds."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        run = subprocess.run(
            command, cwd=tree, env=environment, timeout=limit, check=False, **quiet
        )
    except subprocess.TimeoutExpired:
        return False  # a loop that does not end is noticed
    return run.returncode == 0


def main() -> int:
    """Draw, run, report; 1 if a mutant survived."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path, help="whole files instead of changed lines")
    parser.add_argument("--since", help="a revision; by default where the branch left main")
    parser.add_argument("--number", type=int, default=20, help="mutants to draw at most")
    parser.add_argument("--seconds", type=float, default=900, help="when to stop drawing")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--also", nargs="*", default=[], help="further tests to run")
    parser.add_argument("--tests", nargs="*", help="these tests and no others")
    given = parser.parse_args()
    since = given.since or git("merge-base", "HEAD", "main")
    if not given.since and since in ("", git("rev-parse", "HEAD")):
        since = "HEAD~1"
    places: dict[Path, set[int] | None] = dict.fromkeys(given.files) or {**changed(since)}
    sources = {path: (ROOT / path).read_text() for path in sorted(places)}
    drawn = [m for path, text in sources.items() for m in mutants(path, text, places[path])]
    random.Random(given.seed).shuffle(drawn)
    print(f"{len(drawn)} mutants of {len(places)} files; seed {given.seed}", flush=True)
    begun, limits, survivors = time.monotonic(), {}, 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        skip = shutil.ignore_patterns(".*", "__pycache__", "build", "_build", "gallery")
        shutil.copytree(ROOT, tree, ignore=skip)
        for mutant in drawn[: given.number]:
            if time.monotonic() - begun > given.seconds:
                print("out of time")
                break
            path, tests = mutant.path, given.tests or [*tests_of(mutant.path), *given.also]
            if path not in limits:  # the tests must pass before they can fail
                start = time.monotonic()
                if not passes(tree, tests, given.seconds):
                    print(f"{path}: its tests fail as they are: {' '.join(tests)}")
                    return 2
                limits[path] = 30 + 4 * (time.monotonic() - start)
            source = sources[path]
            (tree / path).write_text(mutated(source, mutant))
            alive = passes(tree, tests, limits[path])
            (tree / path).write_text(source)
            survivors += alive
            line = mutant.node.lineno  # type: ignore[attr-defined]
            was = ast.get_source_segment(source, mutant.node)
            print(
                f"{'SURVIVED' if alive else 'killed':8} {path}:{line}: {was} -> {mutant.text}",
                flush=True,
            )
    print(f"{survivors} survived")
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main())
