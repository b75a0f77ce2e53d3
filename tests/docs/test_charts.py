"""Charts of ratios and of growth, and the page of all workloads."""

import dataclasses
import re

import charts
import facts
import first_calls
import numpy as np
import pytest
from tests.docs.test_atlas import Links


def measured(ratio, spread, *, rounds=5, method="Ridge"):
    ours = {"contender": "panlearn", "seconds": 1.0, "memory_mb": 3.0, "quality": {"error": 0.5}}
    ours |= {"ratio": ratio, "spread": spread, "rounds": rounds, "bar": 1.0}
    peer = {"contender": "a & b", "seconds": 2.0, "memory_mb": float("nan"), "quality": {}}
    return facts.Measured("linear", "rows < columns", facts.full_path(method), [ours, peer])


def test_a_ratio_without_its_spread_is_not_shown():
    assert measured(2.0, None).ratio is None
    assert charts.ratio_chart(measured(2.0, None)) == ""
    old = {"contender": "panlearn", "ratio": 3.0}
    assert facts.Measured("linear", "old", "linear.Ridge", [old]).ratio is None


@pytest.mark.parametrize(
    ("ratio", "spread", "kind"),
    [(2.0, (1.8, 2.2), "faster"), (0.5, (0.4, 0.6), "slower"), (1.1, (0.9, 1.2), "draw")],
)
def test_a_chart_shows_where_the_quartiles_lie(ratio, spread, kind):
    text = charts.ratio_chart(measured(ratio, spread))
    assert f'class="measure {kind}"' in text
    x, width = (float(re.search(rf'<rect.* {key}="([\d.]+)"', text)[1]) for key in ("x", "width"))
    one = float(re.search(r'class="one" x1="([\d.]+)"', text)[1])
    assert (x > one, x + width < one) == (kind == "faster", kind == "slower")
    row = charts.workload_row(measured(ratio, spread))
    assert "rows &lt; columns" in row
    assert "a &amp; b" in row
    assert f"api/panlearn.{'linear.Ridge'}.html" in Links.of(row)


def test_very_many_workloads_are_folded_by_method(monkeypatch):
    slow = measured(0.5, (0.4, 0.6), method="Lasso")
    many = [measured(2.0, (1.8, 2.2))] * charts.FOLDED + [slow]
    files = {"linear": {"machine": {"cpu": "a machine", "date": "today"}, "rows": []}}
    monkeypatch.setattr(charts, "results", lambda: files)
    monkeypatch.setattr(charts, "growth", list)
    monkeypatch.setattr(charts, "workloads", lambda: many)
    text = charts.benchmark_page()
    assert text.count('<details class="group">') == 2
    assert text.count('<details class="workload"') == len(many)
    assert f"linear.Ridge: {charts.FOLDED} workloads, 2.0 to 2.0<" in text
    assert "linear.Lasso: 1 workloads, 0.50 to 0.50, 1 slower<" in text
    monkeypatch.setattr(charts, "workloads", lambda: many[1:])
    assert '<details class="group">' not in charts.benchmark_page()


def test_the_worst_workload_of_a_method_stands_beside_its_best():
    ridge = [
        dataclasses.replace(measured(ratio, (ratio, ratio)), workload=f"<{ratio}>")
        for ratio in (2.0, 0.5, 8.0)
    ]
    lasso = [measured(r, (r, r), method="Lasso") for r in (0.25, 3.0)]
    text = charts.extremes([*ridge, *lasso, measured(0.1, (0.1, 0.1), method="Alone")])
    rows = re.findall("<tr><th scope.*?</tr>", text)
    assert [re.findall("<b>(.*?)</b>", row) for row in rows] == [["0.25", "3.0"], ["0.50", "8.0"]]
    assert "&lt;0.5&gt;</td>" in rows[1]
    assert "api/panlearn.linear.Ridge.html" in Links.of(rows[1])
    assert charts.extremes(ridge[:1]) == ""


def test_the_axis_is_logarithmic_and_holds_what_lies_beyond_it():
    assert charts.place(4) - charts.place(2) == pytest.approx(charts.place(2) - charts.place(1))
    assert charts.place(1e9) == charts.place(64)
    assert charts.place(0) == charts.place(0.25)


def test_a_curve_has_the_slope_of_its_law():
    """Three runs, each ten times the last in size and a hundred times in time."""
    law = facts.Growth("linear.Ridge", "in n", 2.0, (10, 100, 1000), (0.01, 1.0, 100.0))
    text = charts.growth_curve(law, "../")
    points = np.array([pair.split(",") for pair in re.search('points="(.*?)"', text)[1].split()])
    (a, b, c), (high, middle, low) = points.astype(float).T
    assert b - a == pytest.approx(c - b, abs=0.11)  # written to a tenth
    assert high - middle == pytest.approx(middle - low, abs=0.11)
    assert high > low  # y counts downwards
    assert "<b>2.00</b>" in text
    assert "../api/panlearn.linear.Ridge.html" in Links.of(text)
    assert "svg" not in charts.growth_curve(facts.Growth("linear.Ridge", "in n", 2.0))
    assert [charts.rounded(size) for size in (16, 65536, 1 << 20)] == ["16", "65.5k", "1.05M"]


def test_first_calls_say_how_many_are_quick(monkeypatch):
    content = {
        "machine": {"cpu": "a & b", "date": "today"},
        "imports": {"sklearn.linear_model": 0.5, "panlearn.linear": 0.6},
        "goals": {"cold": 2.0, "warm": 0.1},
        "fits": [
            {"method": "linear.Ridge", "cold": 0.05, "warm": 0.05, "again": 0.05, "sklearn": 0.01},
            {"method": "tree.Forest", "cold": 2.5, "warm": 0.4, "again": 0.35, "sklearn": None},
            {"method": "linear.Ridge.predict", "cold": 2, "warm": 0.3, "again": 0, "sklearn": None},
        ],
    }
    monkeypatch.setattr(first_calls, "results", lambda: {"first_call": content})
    text = first_calls.first_calls_page()
    assert "Of 3 classes 2 are fitted within 2 seconds" in text
    assert ", 1 within 0.1 where everything is kept. In 2 no more than 0.1" in text
    assert ">linear.Ridge.predict</a>" in text
    assert "api/panlearn.linear.Ridge.html" in Links.of(text)
    assert text.index("tree.Forest") < text.index("linear.Ridge")
    assert "<td>0.60</td><td>1.20</td>" in text
    assert "a &amp; b" in text
    monkeypatch.setattr(first_calls, "results", dict)
    assert "not been measured" in first_calls.first_calls_page()
