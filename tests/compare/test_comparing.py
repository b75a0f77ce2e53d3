"""`panlearn.compare` in Python, thresholds, importance, and models that could not finish."""

import datetime
import inspect
import sys
from time import sleep

import cloudpickle
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_wine
from sklearn.metrics import balanced_accuracy_score, f1_score
from sklearn.tree import DecisionTreeClassifier

import panlearn
from panlearn.bayes import GaussianNB
from panlearn.compare import Leaderboard, decisions, forecast, prepare
from panlearn.compare.decisions import THRESHOLDS
from panlearn.compare.preparation import preprocessor
from panlearn.core import interpretation
from panlearn.core.errors import DataError
from panlearn.linear import LinearRegression, LogisticRegression, Ridge
from panlearn.neighbors import KNeighborsClassifier

cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.fixture
def rare(rng):
    """Seven in a hundred are ill, and the logit is linear in two columns of four."""
    X = pd.DataFrame(rng.normal(size=(1200, 4)), columns=list("abcd"))
    chance = 1 / (1 + np.exp(-(2.0 * X["a"] - 1.0 * X["b"] - 4.0)))
    return X.assign(state=np.where(rng.random(1200) < chance, "ill", "well"))


def test_the_package_is_the_function(tmp_path):
    from panlearn import compare

    wine = load_wine(as_frame=True).frame
    path = tmp_path / "wine.csv"
    wine.to_csv(path, index=False)
    options = {"models": ["GaussianNB"], "cv": 3, "time_limit": None}
    boards = [
        compare(wine, "target", **options),
        panlearn.compare(path, **options),
        panlearn.compare.compare(wine.drop(columns="target"), wine["target"], **options),
        compare(prepare(wine, "target"), **options),
    ]
    first = boards[0]
    assert isinstance(first, Leaderboard)
    for board in boards[1:]:
        for metric in board.metrics:
            np.testing.assert_array_equal(
                board["GaussianNB"].scores[metric.name], first["GaussianNB"].scores[metric.name]
            )
    assert "GaussianNB" in repr(first)
    assert "Best: GaussianNB" in repr(first)
    assert first.frame()["model"].tolist() == ["GaussianNB", "baseline"]
    assert first.plot().get_xlabel() == "log loss"
    assert first.best_pipeline.score(wine.drop(columns="target"), wine["target"]) > 0.9
    assert list(inspect.signature(panlearn.compare).parameters)[:2] == ["table", "target"]


def test_a_table_of_densities_and_what_is_missing(rng):
    X = rng.normal(size=(60, 2))
    board = panlearn.compare(X, task="density", models=["GaussianMixture"], cv=2, time_limit=None)
    assert {row.name for row in board.rows} == {"GaussianMixture", "baseline"}
    with pytest.raises(DataError, match="give the targets, too"):
        panlearn.compare(X)
    with pytest.raises(DataError, match="no column 'pirce'"):
        panlearn.compare(pd.DataFrame(X, columns=["a", "price"]), "pirce")
    with pytest.raises(DataError, match="a density has no target"):
        panlearn.compare(X, "a", task="density")
    some = panlearn.compare(X, X[:, 0] + 1, models=["Ridge"], rows=30, cv=2, time_limit=None)
    assert len(some.table.y) == 30


def test_thresholds_are_chosen_within_the_rows_that_are_learned_from(rare, monkeypatch):
    monkeypatch.setattr(decisions, "THRESHOLDS", THRESHOLDS)  # as many as users get
    options = {"models": [LogisticRegression()], "time_limit": None, "positive": "ill"}
    board = panlearn.compare(rare, "state", metric=["f1", "roc_auc"], **options)
    row = board["LogisticRegression"]
    assert any("threshold that is best for f1" in note for note in board.notes)
    X, y = rare.drop(columns="state"), rare["state"].to_numpy()
    # by hand: at one half few of the ill are found
    plain = []
    for learned, held_out in board.cv.split(X, board.table.y):
        model = LogisticRegression().fit(X.iloc[learned], y[learned])
        plain.append(f1_score(y[held_out], model.predict(X.iloc[held_out]), pos_label="ill"))
    assert row.scores["f1"].mean() > np.mean(plain) + 0.03
    # the fitted pipeline decides so, too, and is a plain one that can be saved
    decided = row.pipeline.predict(X)
    chance = row.pipeline.predict_proba(X)[:, 0]
    threshold = row.pipeline[-1].threshold
    assert 0.05 < threshold < 0.45
    np.testing.assert_array_equal(decided == "ill", chance >= threshold)


def test_where_a_class_is_rare_decisions_are_those_of_the_best_threshold(rare, tmp_path):
    board = panlearn.compare(rare, "state", models=[GaussianNB()], time_limit=None)
    row = board["GaussianNB"]
    assert board.metrics[0].name == "ROC AUC"
    X, y = rare.drop(columns="state"), rare["state"].to_numpy()
    at_half = GaussianNB().fit(X, y).predict(X)
    assert row.scores["balanced accuracy"].mean() > balanced_accuracy_score(y, at_half) + 0.05
    panlearn.save(board.best_pipeline, tmp_path / "best")
    loaded = panlearn.load(tmp_path / "best")
    np.testing.assert_array_equal(loaded.predict(X), board.best_pipeline.predict(X))
    assert loaded.target_name_ == "state"


def test_even_classes_are_decided_at_one_half(rng):
    X = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"])
    frame = X.assign(y=np.where(X["a"] + rng.normal(size=80) > 0, "p", "q"))
    board = panlearn.compare(frame, "y", models=[GaussianNB()], cv=2, time_limit=None)
    assert not hasattr(board.best_pipeline[-1], "threshold")
    few = frame.assign(y=["p"] * 5 + ["q"] * 75)
    board = panlearn.compare(few, "y", models=[GaussianNB()], cv=2, time_limit=None)
    assert not any("threshold" in note for note in board.notes)


def test_every_model_says_what_each_column_is_worth(rare):
    models = [LogisticRegression(), KNeighborsClassifier(25)]
    board = panlearn.compare(rare, "state", models=models, cv=3, time_limit=None)
    worth = board.importances()
    assert set(worth.columns) == {"LogisticRegression", "KNeighborsClassifier", "baseline"}
    assert worth.index[:2].tolist() == ["a", "b"]
    assert (worth.loc[["c", "d"]].abs() < 0.05).all().all()
    assert worth.loc["a", "LogisticRegression"] > 0.1
    assert (worth["baseline"] == 0).all()


class Slow(RegressorMixin, BaseEstimator):
    """Takes a time that grows as the square of the rows."""

    def __init__(self, second=1e-7):
        self.second = second

    def fit(self, X, y):
        sleep(self.second * len(y) ** 2)
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_a_model_that_could_not_finish_is_not_begun(rng):
    X = pd.DataFrame(rng.normal(size=(4000, 2)), columns=["a", "b"])
    y = rng.normal(size=4000)
    # whole, the first would take 80 s a fit
    board = panlearn.compare(X, y, models=[Slow(5e-6), Slow(1e-9)], cv=3, time_limit=20.0)
    assert "not begun: it would take about" in board["Slow"].error
    assert "20 s are allowed" in board["Slow"].error
    assert board["Slow"].failed
    assert not board["Slow"].begun
    assert not board["Slow #2"].failed


def test_the_time_of_a_fit_is_forecast_by_its_growth(monkeypatch):
    X, y = pd.DataFrame({"a": np.zeros(16000)}), np.zeros(16000)
    times = {100: 0.0, 1000: 0.5, 2000: 2.0, 4000: 8.0}
    asked = []

    def seconds(X, y, pipeline, size):
        asked.append(size)
        return times[size]

    monkeypatch.setattr(forecast, "_seconds", seconds)
    # the square of the rows: 128 s for all, five times 0.64 of that for the folds, 538 s together
    said = forecast.too_slow(X, y, None, 5, 500.0)
    assert "about 9 min" in said
    assert "8.0 s for 4,000 of 16,000 rows" in said
    assert asked == [100, 1000, 2000, 4000]  # the first may compile, and is small
    # beyond twice the limit, fewer rows are enough to say so
    assert "2.0 s for 2,000 of 16,000 rows" in forecast.too_slow(X, y, None, 5, 260.0)
    assert forecast.too_slow(X, y, None, 5, 550.0) == ""
    assert forecast.too_slow(X, y, None, 5, None) == ""
    assert forecast.too_slow(X[:700], y[:700], None, 5, 0.1) == ""
    # too short to say how they grow: in proportion, 100 s for a quarter is 400 s, and five of 320 s
    times.update({1000: 0.01, 2000: 0.015, 4000: 100.0})
    assert "about 33 min" in forecast.too_slow(X, y, None, 5, 20.0)
    # as the cube it would be 4096 times 0.01 s, and 3.56 times that: no need to ask more
    asked.clear()
    assert forecast.too_slow(X, y, None, 5, 150.0) == ""
    assert asked == [100, 1000]


def test_a_forecast_times_compiled_kernels(monkeypatch):
    """The first short calls of a kernel may be interpreted, which says nothing of many rows."""
    allowed = []

    def seconds(*_):
        allowed.append(interpretation.allowed)
        return 0.3

    monkeypatch.setattr(forecast, "_seconds", seconds)
    X, y = pd.DataFrame(np.zeros((4000, 1))), np.zeros(4000)
    assert forecast.too_slow(X, y, None, 6, 300.0) == ""
    assert allowed == [False] * 4
    assert interpretation.allowed


def test_indicators_of_a_model_without_penalty_are_not_collinear(rng):
    X = pd.DataFrame({"c": rng.choice(["r", "g", "b"], 90), "x": rng.normal(size=90)})
    for model, columns in ((LinearRegression(), 3), (Ridge(), 4)):
        rows = preprocessor(X, model).fit_transform(X)
        assert rows.shape[1] == columns
        rank = np.linalg.matrix_rank(np.column_stack([rows, np.ones(90)]))
        assert rank == 4


@pytest.mark.parametrize(
    "dates",
    [
        [datetime.date(2020, 1, 1 + i % 3) for i in range(40)],
        list(pd.date_range("2020-01-01", periods=40)),
        ["2020-01-01", "2020-02-01"] * 20,
        [datetime.date(2020, 1, 1), None] * 20,
    ],
    ids=["dates", "stamps", "texts", "one date"],
)
def test_a_date_is_no_target(dates, rng):
    frame = pd.DataFrame({"x": rng.normal(size=40), "when": dates})
    with pytest.raises(DataError, match="'when' holds dates; turn them into a number"):
        panlearn.compare(frame, "when")


def test_a_model_that_says_the_same_of_every_row_has_no_threshold(rare):
    stump = DecisionTreeClassifier(max_depth=1, min_samples_leaf=900)
    board = panlearn.compare(rare[:1000], "state", models=[stump], cv=2, time_limit=None)
    row = board["DecisionTreeClassifier"]
    assert not row.failed, row.error
    assert (row.pipeline.predict(rare.drop(columns="state")) == "well").all()
