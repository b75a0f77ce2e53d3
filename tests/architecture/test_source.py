"""What holds for every file, whoever wrote it."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "benchmarks", "examples", "docs", "tools")
FILES = [
    path
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not {"_build", "gallery"} & set(path.relative_to(ROOT).parts)
]
SOURCES = [path for path in FILES if path.is_relative_to(ROOT / "src")]


def name(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=name)
def test_file_can_be_read_in_one_sitting(path):
    assert len(path.read_text().splitlines()) <= 400


def test_no_drawer_for_everything():
    drawers = {"utils", "util", "misc", "helpers", "common"}
    names = {path: set(path.relative_to(ROOT).with_suffix("").parts) for path in FILES}
    assert not [name(p) for p, parts in names.items() if {n.strip("_") for n in parts} & drawers]


def test_capabilities_are_methods_that_exist():
    assert not [name(path) for path in SOURCES if "NotImplementedError" in path.read_text()]


def test_the_library_does_not_seed_or_read_global_generators():
    calls = ("np.random.seed", "torch.manual_seed", "check_random_state(None)", "random.seed(")
    assert not [name(p) for p in SOURCES for call in calls if call in p.read_text()]
