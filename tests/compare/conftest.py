"""Reports to look at."""

from dataclasses import replace

import pytest

from panlearn.compare import compare, decisions
from panlearn.compare.recipe import load_code
from panlearn.compare.report import Part, report
from panlearn.compare.table import prepare

MODELS = [
    "sklearn.linear_model.LogisticRegression",
    "sklearn.linear_model.RidgeClassifier",
    "sklearn.naive_bayes.GaussianNB",
    "sklearn.ensemble.VotingClassifier",
]


@pytest.fixture(autouse=True)
def few_thresholds(monkeypatch):
    """A tenth of the thresholds: a hundred, each scored by scikit-learn, take most of the time."""
    monkeypatch.setattr(decisions, "THRESHOLDS", 10)


@pytest.fixture(scope="session")
def part(mixed_once):
    """What a report tells of one data set: models that do well, one that fails."""
    table = prepare(mixed_once, "bought")
    board = compare(table.X, table.y, models=MODELS, cv=3, time_limit=None)
    board = replace(board, left_out=("Eye and Ear: each is for <images>",))
    load = load_code("mixed.csv", "bought", "auto", None, 0)
    return Part("bought", board, table.notes, load)


@pytest.fixture(scope="session")
def path(part, tmp_path_factory):
    """The report on one data set."""
    return _written([part], tmp_path_factory)


@pytest.fixture(scope="session")
def path_of_two(part, tmp_path_factory):
    """The report on two, which opens with a table of every model's place on each."""
    other = Part("again", part.board, part.notes, part.load)
    return _written([part, other], tmp_path_factory)


def _written(parts, tmp_path_factory):
    page = report(parts, command="panlearn compare mixed.csv", time_limit=None)
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page, encoding="utf-8")
    return path
