"""Tables in a terminal of any width: names whole, columns whole or left out."""

import io

import pytest
from rich.console import Console

from panlearn.cli.tables import Column, fit_columns, print_columns

NAMES = ["RadiusNeighborsRegressor (sklearn)", "ExtremelyLongNameOfAnEstimator"]


def printed(width):
    columns = [
        Column("model", NAMES),
        Column("balanced accuracy", ["0.977 ± 0.012", "0.971 ± 0.010"]),
        *(Column(f"metric {k}", ["0.123", "–"]) for k in range(8)),
    ]
    stream = io.StringIO()
    print_columns(Console(file=stream, width=width, highlight=False), columns, ["", "bold"])
    return stream.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_names_and_numbers_are_whole(width):
    text = printed(width)
    lines = text.splitlines()
    for name in NAMES:
        assert any(line.startswith(name) for line in lines)
    assert "0.977 ± 0.012" in text
    assert max(map(len, lines[:4])) <= width
    for k in range(8):
        assert f"{k}" in text.split("no room")[0] or f"metric {k}" in text


def test_what_has_no_room_is_said():
    assert "no room for" in printed(80)
    assert "no room for" not in printed(200)


def test_columns_are_taken_in_order_up_to_the_width():
    columns = [Column("a", ["x" * 10]), Column("b b", ["y" * 5]), Column("c", ["z" * 5])]
    assert [c.head for c in fit_columns(columns, 24, 1)] == ["a", "b b", "c"]
    assert [c.head for c in fit_columns(columns, 23, 1)] == ["a", "b b"]
    assert [c.head for c in fit_columns(columns, 3, 2)] == ["a", "b b"]
