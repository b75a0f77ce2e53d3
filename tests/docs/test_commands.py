"""There is a page for every command, read off its parser, and every option says what it does."""

import importlib.util
from pathlib import Path

import click
import pytest

from panlearn.cli import main

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def reference():
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs/_ext/reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_command_has_a_page_with_every_option(reference, tmp_path, monkeypatch):
    monkeypatch.setattr(reference, "API", tmp_path)
    reference.write_commands()
    index = (tmp_path / "commands.rst").read_text()
    found = reference.commands(main, "panlearn")
    assert {"panlearn compare", "panlearn lm train", "panlearn lm tune"} <= {p for p, _ in found}
    for path, command in found:
        name = "command-" + path.replace(" ", "-")
        assert name in index
        page = (tmp_path / f"{name}.rst").read_text()
        assert page.startswith(f"{path}\n====")
        for option in (p for p in command.params if isinstance(p, click.Option)):
            assert f"``{option.opts[0]}``" in page
            assert option.help, f"{path} {option.opts[0]} says nothing"
            assert option.help in page
    assert (
        "auto, classification, regression, density"
        in (tmp_path / "command-panlearn-compare.rst").read_text()
    )


def test_a_chapter_of_the_curriculum_has_one_heading(reference):
    chapters = [chapter for chapter, _ in reference.curriculum()]
    table = reference.chapters()
    assert len(table) == len(set(chapters)) < len(chapters)
    assert sorted(m for methods in table.values() for m in methods) == sorted(
        method for _, method in reference.curriculum()
    )
