"""Why the best model says what it says: partial dependence, rows most wrong, cost, the verdict."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.ensemble import RandomForestRegressor
from sklearn.inspection import partial_dependence as peer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from panlearn.compare import compare
from panlearn.compare.explaining import _answers, dependences, most_wrong, partial_dependence
from panlearn.compare.leaderboard import Leaderboard
from panlearn.compare.score_pictures import cost_and_quality, fold_scores
from panlearn.compare.scoring import Row
from panlearn.compare.verdict import verdict


@pytest.fixture
def numbers(rng):
    X = pd.DataFrame(rng.normal(size=(150, 3)), columns=list("abc"))
    return X.assign(y=2 * X["a"] + np.sin(3 * X["b"]) + 0.1 * rng.normal(size=150))


@pytest.fixture
def classes(rng):
    """Two groups far apart in 'a'; rows 3 and 60 have the wrong label, row 10 has none."""
    y = np.repeat(["no", "yes"], 60).astype(object)
    X = pd.DataFrame(rng.normal(size=(120, 2)), columns=["a", "b"])
    X["a"] += 8.0 * (y == "yes")
    X["kind"] = rng.choice(["x", "z"], 120)
    y[2], y[59], y[9] = "yes", "yes", None
    return X.assign(y=y)


def test_partial_dependence_is_scikit_learns(numbers):
    X, y = numbers.drop(columns="y"), numbers["y"]
    model = RandomForestRegressor(10, random_state=0).fit(X, y)
    found = peer(model, X, ["b"], method="brute", kind="both", grid_resolution=8)
    ours = partial_dependence(model.predict, X, "b", found["grid_values"][0])
    np.testing.assert_allclose(ours.mean(axis=1), found["average"][0])
    np.testing.assert_allclose(ours.T, found["individual"][0])


def test_columns_are_drawn_by_importance_with_what_the_model_answers(numbers, classes):
    board = compare(numbers, "y", models=[Ridge()], time_limit=None)
    plots = list(dependences(board, board.best))
    assert plots[0].title == "What a does"
    axes = Figure().subplots()
    plots[0].draw(axes)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("a", "y")
    line = axes.lines[-1]
    slope = np.polyfit(line.get_xdata(), line.get_ydata(), 1)[0]
    assert slope == pytest.approx(2, abs=0.1)
    for model in (LogisticRegression(), RidgeClassifier()):
        board = compare(classes, "y", models=[model], positive="no", time_limit=None)
        ask, what, lines = _answers(board, board.best)
        low, high = (
            ask(board.table.X.assign(a=-3.0)).mean(),
            ask(board.table.X.assign(a=9.0)).mean(),
        )
        assert low > high  # of "no", which has the small values
        assert what.endswith(" of no")
        assert lines == [""]


def test_the_rows_most_wrong_are_those_with_the_wrong_label(classes):
    for model in (LogisticRegression(), RidgeClassifier()):
        board = compare(classes, "y", models=[model], time_limit=None)
        found = most_wrong(board, board.best)
        # Row 10 was dropped: rows are still counted as in the file.
        assert sorted(row[0] for row in found.rows[:2]) == [3, 60]
        assert all(row[1:3] == ("yes", "no") for row in found.rows[:2])
    assert "chance of the truth" not in found.head


def test_a_sample_keeps_the_numbers_of_its_rows(numbers):
    board = compare(numbers, "y", models=[Ridge()], rows=60, time_limit=None)
    found = most_wrong(board, board.best)
    for number, truth, *_ in found.rows:
        assert numbers["y"].iloc[number - 1] == pytest.approx(float(truth), rel=1e-5)
    errors = [row[3] for row in found.rows]
    assert errors == sorted(errors, reverse=True)


def test_the_verdict_answers_with_the_interval_and_the_quick_tie(numbers):
    models = [Ridge(), DecisionTreeRegressor(max_depth=1)]
    board = compare(numbers, "y", models=models, time_limit=None)
    answers = verdict(board)
    assert answers["Which model?"].startswith("Ridge: R² 0.")
    low, high = board.difference(board.best, board.baseline).interval
    assert f"(95 % interval {low:.3f} to {high:.3f})" in answers["How sure?"]
    assert answers["Why?"].startswith("It draws most on a")
    slow = [Row(r.name, r.pipeline, r.scores, 9.0 if r is board.best else 0.1) for r in board.rows]
    slow.insert(1, Row("Twin", board.best.pipeline, board.best.scores, fit_seconds=1.0))
    tied = verdict(Leaderboard(slow, board.table, board.metrics, board.cv))
    assert "cannot tell 1 model from it: Twin." in tied["How sure?"]
    assert tied["At what cost?"].startswith("Twin comes within a standard error of it")


def test_what_the_folds_cannot_tell_apart_but_is_far_behind_is_not_offered_instead(numbers):
    board = compare(numbers, "y", models=[Ridge()], time_limit=None)
    best = board.best.scores["R²"]
    unstable = Row("Unstable", None, {"R²": best - [0, 0, 0, 0, 0.4]}, fit_seconds=0.1)
    rows = [Row("Ridge", None, {"R²": best}, 9.0), unstable, board.baseline]
    found = Leaderboard(rows, board.table, board.metrics[:1], board.cv)
    assert found.ties(unstable)
    assert "At what cost?" not in verdict(found)


def test_nothing_sure_where_the_baseline_is_better(rng):
    frame = pd.DataFrame(rng.normal(size=(80, 4)), columns=list("abcy"))
    board = compare(frame, "y", models=[DecisionTreeRegressor(random_state=0)], time_limit=None)
    assert verdict(board)["How sure?"].startswith("Not at all")


def test_cost_names_what_nothing_beats_in_both(numbers):
    board = compare(numbers, "y", models=[Ridge()], time_limit=None)
    base = board.baseline.scores["R²"]
    scores = {"slow": (0.9, 9.0), "quick": (0.5, 0.1), "beaten": (0.4, 1.0)}
    rows = [Row(n, None, {"R²": np.full(5, s)}, seconds) for n, (s, seconds) in scores.items()]
    rows.append(Row("baseline", None, {"R²": base}, 0.01))
    axes = Figure().subplots()
    cost_and_quality(Leaderboard(rows, board.table, board.metrics[:1], board.cv)).draw(axes)
    assert {text.get_text() for text in axes.get_legend().get_texts()} == {"slow", "quick"}


def test_a_model_that_is_lost_does_not_press_the_others_into_a_line(rng):
    X = rng.normal(size=(200, 2))
    y = X[:, 0] + rng.normal(size=200) > 0
    models = [LogisticRegression(), DecisionTreeClassifier(random_state=0)]
    board = compare(X, y, models=models, time_limit=None)
    lost = board["DecisionTreeClassifier"]
    assert lost.mean(board.metrics[0]) > 2 * board.baseline.mean(board.metrics[0])
    axes = Figure().subplots()
    fold_scores(board).draw(axes)
    assert axes.get_xlim()[1] < lost.mean(board.metrics[0])
    assert [text.get_text() for text in axes.texts] == [f"→ {lost.mean(board.metrics[0]):.3g}"]
