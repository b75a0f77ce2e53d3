"""Labels, names of columns and messages with control characters: none reaches a terminal raw."""

import json

import numpy as np
import pandas as pd
import pytest

from panlearn.bayes import GaussianMixtureClassifier
from panlearn.cli.app import console, fail, write_json
from panlearn.core.errors import visible

ODD = "a\x1b[2J\x07\x9b31m\u202eb\x00\x7f"
COMMANDS = set("\x00\x07\x1b\x7f\x9b\u202e")


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{ODD}": rng.normal(size=40), "z": rng.normal(size=40)})
    frame["kind"] = np.where(frame.iloc[:, 0] > 0, ODD.replace("\x00", ""), "plain")
    path = tmp_path / "odd.csv"
    frame.to_csv(path, index=False)
    return path


def test_a_text_is_shown_without_what_would_command():
    assert visible(ODD) == "a�[2J��31m�b��"
    assert visible("two\nlines\tand a tab") == "two�lines\tand a tab"
    assert visible("two\nlines", lines=True) == "two\nlines"
    assert visible("größe € 世 😀") == "größe € 世 😀"


def test_tables_messages_and_reports_show_none(table, run, tmp_path):
    report = tmp_path / "report.html"
    board = run("compare", table, "--target", "kind", "--models", "GaussianNB", "--report", report)
    assert board.exit_code == 0, board.output
    page = report.read_text()
    assert "31m" in page
    fitted = run("fit", "GaussianNB", table, "--target", "kind", "--output", tmp_path / "m")
    missing = run("fit", "GaussianNB", table, "--target", ODD[:9], "--output", tmp_path / "n")
    assert missing.exit_code == 2
    scores = run("evaluate", tmp_path / "m", table)
    for text in (board.output, page, fitted.output, missing.output, scores.output):
        assert not COMMANDS & set(text)


def test_json_brings_them_back(capsys):
    write_json({"label": ODD})
    text = capsys.readouterr().out
    assert not COMMANDS & set(text)
    assert json.loads(text) == {"label": ODD}


def test_the_console_and_the_line_of_an_error_have_none(capsys):
    from rich.table import Table

    table = Table()
    table.add_column(ODD)
    table.add_row(ODD)
    console().print(table)
    console().print(ODD)
    fail(f"no column {ODD}", 2)
    shown = capsys.readouterr()
    assert not COMMANDS & set(shown.out + shown.err)
    assert "31m" in shown.out


def test_an_error_of_a_model_names_a_label_without_them():
    X, y = np.arange(5.0)[:, None], [ODD, "b", "b", "b", "b"]
    with pytest.raises(ValueError, match=r"class a.*has 1 rows") as caught:
        GaussianMixtureClassifier(3).fit(X, y)
    assert not COMMANDS & set(str(caught.value))
