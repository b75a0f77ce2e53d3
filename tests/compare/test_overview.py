import numpy as np
import pytest

from panlearn.compare import compare
from panlearn.compare.files import built_in
from panlearn.compare.overview import overview_sentence, overviews
from panlearn.compare.table import prepare


@pytest.fixture(scope="module")
def boards():
    tables = {name: prepare(built_in(name)) for name in ("wine", "moons", "diabetes")}
    models = {"classification": ["GaussianNB", "KNeighborsClassifier"], "regression": ["Ridge"]}
    return {
        name: compare(t.X, t.y, task=t.task, models=models[t.task], cv=2, time_limit=None)
        for name, t in tables.items()
    }


def test_a_frame_for_each_task_with_scores_and_mean_ranks(boards):
    (classes, loss), (numbers, r2) = overviews(boards)
    assert (loss.name, r2.name) == ("log loss", "R²")
    assert list(classes.columns) == ["mean rank", "wine", "moons", "seconds"]
    assert list(numbers.columns) == ["mean rank", "diabetes", "seconds"]
    assert classes.index[-1] == "baseline"
    assert classes["mean rank"].is_monotonic_increasing
    assert classes["mean rank"].sum() == pytest.approx(1 + 2 + 3)
    score = boards["wine"]["GaussianNB"].mean(loss)
    assert classes.loc["GaussianNB", "wine"] == score


def test_a_failure_shares_the_last_place(boards):
    table = boards["moons"].table
    failing = compare(
        table.X,
        table.y,
        models=["GaussianNB", "sklearn.ensemble.VotingClassifier"],
        time_limit=None,
    )
    ((frame, _),) = overviews({"moons": failing})
    assert frame.index[-1] == "VotingClassifier (sklearn)"
    assert np.isnan(frame["moons"].iloc[-1])
    assert frame["mean rank"].iloc[-1] == 3


def test_the_sentence_names_the_best_of_each_task(boards):
    sentence = overview_sentence(boards)
    assert "Best mean rank in R²: Ridge, 1.0 of 2." in sentence
