"""The code that people read first runs as it stands."""

import doctest
import inspect
import re
import shlex
from pathlib import Path

import click
import pytest

from panlearn.cli import main

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "docs" / "index.rst",
    *sorted((ROOT / "docs" / "guide").glob("*.rst")),
    *sorted((ROOT / "docs" / "tutorials").glob("*.rst")),
]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_code_of_the_guide_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS)
    assert outcome.failed == 0


SCRIPT = re.compile(r"^\.\. code-block:: python\n\n((?:    ?.*\n|\n)+)", re.MULTILINE)
SCRIPTS = [(page.stem, code) for page in PAGES for code in SCRIPT.findall(page.read_text())]


@pytest.mark.parametrize("code", [code for _, code in SCRIPTS], ids=[name for name, _ in SCRIPTS])
def test_scripts_of_the_pages_run(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(inspect.cleandoc("\n" + code), "page", "exec"), {"__name__": "__main__"})


LINE = re.compile(r"^ *\$ (\w.*?)(?: +#.*)?$", re.MULTILINE)
README_LINE = re.compile(r"^    ((?:make|panlearn) .*?)(?: +#.*)?$", re.MULTILINE)
LINES = {line for page in PAGES for line in LINE.findall(page.read_text())}
LINES |= {*README_LINE.findall((ROOT / "README.md").read_text())}


@pytest.mark.parametrize("line", sorted(LINES))
def test_commands_of_the_pages_are_understood(line, tmp_path, monkeypatch):
    """Parsed, with every option and value, in a folder that has the files that a line names."""
    monkeypatch.chdir(tmp_path)
    program, *words = shlex.split(line)
    if program == "make":
        assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return
    if program == "torchrun":
        assert words[:2] == ["--nproc_per_node", "2"]
        return
    command = main
    while isinstance(command, click.Group):
        command = command.commands[words.pop(0)]
    for word in words:
        if re.fullmatch(r"[\w.]+", word):
            Path(word).touch()
    command.make_context(program, words)


def test_python_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks, "the README shows how the library is used"
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
