"""There is a page for every command, read off its parser, and every option says what it does."""

import re
from functools import partial

import click
import pytest

from panlearn.cli import main

reference = pytest.importorskip("reference")
writing = pytest.importorskip("writing")


def test_every_command_has_a_page_with_every_option(tmp_path, monkeypatch):
    monkeypatch.setattr(reference, "write", partial(writing.write, folder=tmp_path))
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
    page = (tmp_path / "command-panlearn-compare.rst").read_text()
    assert "auto, classification, regression, density" in page


def test_a_chapter_of_the_curriculum_has_one_heading():
    headings = re.findall(r"^(.+)\n-{3,}$", reference.curriculum_table(), re.MULTILINE)
    assert len(headings) == len(set(headings)) > 40
