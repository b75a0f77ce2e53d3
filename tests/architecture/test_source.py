"""What holds for every file, whoever wrote it."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "benchmarks", "examples", "docs", "tools")
FILES = [
    path
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not {"_build", "gallery"} & set(path.relative_to(ROOT).parts)
]
SOURCES = {path for path in FILES if path.is_relative_to(ROOT / "src")}


def code_lines(text):
    """Lines that hold code: no blank line, no comment of its own, no docstring."""
    tree = ast.parse(text)
    prose = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, node.end_lineno + 1)
    }
    lines = enumerate((line.strip() for line in text.splitlines()), start=1)
    return sum(bool(line) and line[0] != "#" and number not in prose for number, line in lines)


def name(path):
    return str(path.relative_to(ROOT))


def test_a_file_can_be_read_in_one_sitting():
    # tests are lists of facts that are read one at a time
    length = {path: code_lines(path.read_text()) for path in FILES}
    most = {path: 250 if path in SOURCES else 330 for path in FILES}
    assert not {name(path): n for path, n in length.items() if n > most[path]}


def test_no_drawer_for_everything():
    drawers = {"utils", "util", "misc", "helpers", "common"}
    names = {path: set(path.relative_to(ROOT).with_suffix("").parts) for path in FILES}
    assert not [name(p) for p, parts in names.items() if {n.strip("_") for n in parts} & drawers]


def test_capabilities_are_methods_that_exist():
    assert not [name(path) for path in SOURCES if "NotImplementedError" in path.read_text()]


def test_the_library_does_not_seed_or_read_global_generators():
    calls = ("np.random.seed", "torch.manual_seed", "check_random_state(None)", "random.seed(")
    assert not [name(p) for p in SOURCES for call in calls if call in p.read_text()]
