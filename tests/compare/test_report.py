import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import pytest

from panlearn.compare import compare
from panlearn.compare.recipe import load_code
from panlearn.compare.report import Part, report
from panlearn.compare.scoring import Row
from panlearn.compare.table import prepare

LOGISTIC = "sklearn.linear_model.LogisticRegression"
CLASSES = ["Scores", "Cost", "ROC", "Calibration", "Confusion", "Learning", "Importance"]


class Page(HTMLParser):
    """The tags of a page with their attributes, and its text outside script and style."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "link", "img", "source", "wbr"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in {"script", "style"}:
            self.words.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


@pytest.fixture(scope="module")
def make(mixed_once):
    @cache
    def page(target, *models):
        table = prepare(mixed_once, target)
        board = compare(table.X, table.y, models=models, cv=2, time_limit=None)
        load = load_code("mixed.csv", target, "auto", None, 0)
        part = Part(f"{target} in <mixed>.csv", board, table.notes, load)
        text = report([part], command="panlearn compare '<mixed>.csv'", time_limit=None)
        return text, Page(text)

    return page


@pytest.mark.parametrize(
    ("target", "models", "titles"),
    [
        (
            "bought",
            [LOGISTIC, "sklearn.svm.LinearSVC"],
            [*CLASSES, "What", "Coefficients"],
        ),
        (
            "price",
            ["Ridge", "sklearn.ensemble.VotingRegressor"],
            [
                "Scores",
                "Cost",
                "Predicted and actual",
                "Residuals",
                "Learning",
                "Importance",
                "What",
                "Coefficients",
            ],
        ),
        (
            "sex",
            [LOGISTIC],
            [*CLASSES, "What", "Coefficients"],
        ),
    ],
)
def test_every_plot_of_the_task_is_there_with_words(make, target, models, titles):
    text, page = make(target, *models)
    assert "Not drawn" not in text
    dependences = sum(image["alt"].startswith("Partial dependence") for image in page.all("img"))
    assert 1 <= dependences <= 3
    assert len(page.all("img")) == len(page.all("source")) == len(titles) - 1 + dependences
    for title in titles:
        assert any(word.startswith(title) for word in page.words)
    for image in page.all("img"):
        assert image["src"].startswith("data:image/png;base64,")
        assert len(image["alt"]) > 20


def test_nothing_of_the_data_becomes_markup_and_nothing_is_loaded(make):
    text, page = make("bought", LOGISTIC, "sklearn.svm.LinearSVC")
    assert len(page.all("script")) == 1
    assert not page.all("b")
    named = [word for word in page.words if "<script>alert(1)</script>" in word]
    assert any("1 missing value" in word for word in named)
    assert any("number_columns" in word for word in named)
    assert "bought in <mixed>.csv" in page.words
    assert not re.search(r"""(src|href|srcset)=["'](?!data:|#)""", text)
    assert not re.search(r"url\(|@import|https?://", text)


def test_a_failure_is_a_row_with_its_reason_and_best_and_dummy_are_in_the_summary(make):
    text, page = make("price", "Ridge", "sklearn.ensemble.VotingRegressor")
    assert sum(attrs.get("class") == "failed" for attrs in page.all("tr")) == 1
    assert any("missing 1 required" in word for word in page.words)
    assert re.search(r"Best: Ridge, R² 0\.\d+ ± 0\.\d+; a baseline scores -?0\.\d+", text)
    assert any("'void'" in word and "missing" in word for word in page.words)
    assert any("panlearn compare '<mixed>.csv'" in word for word in page.words)


def test_without_any_model_there_is_still_a_report(make):
    _, page = make("price", "sklearn.ensemble.VotingRegressor")
    assert "No model succeeded." in page.words
    assert len(page.all("img")) == 1


def test_what_was_not_begun_has_not_failed(part, monkeypatch):
    monkeypatch.setattr("panlearn.compare.report.pictures", lambda *_: [])
    slow = Row("Slow", None, error="not begun: it would take about 2 h")
    board = replace(part.board, rows=[*part.board.rows, slow])
    text = report([replace(part, board=board)], command="", time_limit=None)
    assert "5 (1 failed, 1 not begun)" in text
    assert text.count(">failed</span>") == 1
    assert ">not begun: it would take about 2 h</td>" in text
