"""What ranks a comparison: the metric, the class it is about, ties with the best, the baseline."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import f1_score, recall_score, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from panlearn.compare import compare, scorer
from panlearn.compare.leaderboard import BASELINE
from panlearn.compare.metrics import is_imbalanced, metrics_for
from panlearn.compare.pictures import _classification
from panlearn.compare.recipe import row_code
from panlearn.core.errors import DataError


@pytest.fixture
def rare(rng):
    """Two classes, one in fifteen rows is 'ill'; the first column tells them apart in part."""
    y = np.where(rng.random(450) < 1 / 15, "ill", "well")
    X = rng.normal(size=(450, 4)) + 1.5 * np.outer(y == "ill", [1, 0, 0, 0])
    return X, y


def names(metrics):
    return [m.scorer for m in metrics]


def test_the_default_hangs_on_task_and_balance(rng):
    even, odd = np.repeat([0, 1], 50), np.repeat([0, 1], [80, 20])
    assert names(metrics_for("classification", even))[:2] == ["neg_log_loss", "roc_auc"]
    assert names(metrics_for("classification", odd))[0] == "roc_auc"
    for many in (np.repeat([0, 1, 2], [60, 30, 10]), np.repeat([0, 1, 2], 30)):
        assert names(metrics_for("classification", many))[:2] == ["neg_log_loss", "roc_auc_ovr"]
    assert names(metrics_for("regression", rng.normal(size=9)))[0] == "r2"
    assert not is_imbalanced(np.repeat([0, 1], [75, 25]))
    assert is_imbalanced(np.repeat([0, 1], [76, 24]))


def test_metrics_are_scikit_learns_and_the_first_ranks(rare):
    X, y = rare
    models = [LogisticRegression(), GaussianNB(), DecisionTreeClassifier(max_depth=1)]
    wanted = ["log_loss", "f1", "recall"]
    board = compare(X, y, models=models, metric=wanted, positive="ill", time_limit=None)
    assert names(board.metrics) == ["neg_log_loss", "f1", "recall"]
    assert [m.name for m in board.metrics] == ["log loss", "f1", "recall"]
    losses = [row.mean(board.metrics[0]) for row in board.rows]
    assert losses == sorted(losses)
    row = board["GaussianNB"]
    for metric, function in ((board.metrics[1], f1_score), (board.metrics[2], recall_score)):
        said = row.predictions["predict"]
        expected = [
            function(y[test], said[test], pos_label="ill", zero_division=0)
            for _, test in board.cv.split(X, y)
        ]
        np.testing.assert_allclose(row.scores[metric.name], expected)
    space = {"table": board.table, "print": lambda *_: None}
    code = row_code(board, row, ["X, y = table.X, table.y"])
    exec(code, space)
    np.testing.assert_allclose(space["scores"]["test_f1"], row.scores["f1"])


def test_a_rare_class_is_ranked_by_area_and_off_probabilities_are_told(rare):
    X, y = rare
    copies = np.repeat(X[:, :1], 12, axis=1) + 1e-3 * X[:, 1:2]  # counted twelve times
    board = compare(np.c_[X, copies], y, models=[GaussianNB()], time_limit=None)
    assert board.metrics[0].name == "ROC AUC"
    assert any("ranked by ROC AUC" in note for note in board.notes)
    assert "Its probabilities are off" in board.summary()
    plain = compare(X, y, models=[LogisticRegression()], time_limit=None)
    assert "off" not in plain.summary()


def test_what_does_not_offer_the_metric_comes_after_those_that_do(rare):
    X, y = rare
    board = compare(X, y, models=[LinearSVC(), GaussianNB()], metric="log_loss", time_limit=None)
    assert [row.name for row in board.rows][-1] == "LinearSVC"
    assert board.rows[-1].failed  # no other score to show
    both = compare(
        X, y, models=[LinearSVC(), GaussianNB()], metric=["log_loss", "accuracy"], time_limit=None
    )
    assert both.rows[-1].name == "LinearSVC"
    assert not both.rows[-1].failed
    assert not both.ties(both.rows[-1])
    assert both.best.name != "LinearSVC"


@pytest.fixture
def even(rng):
    """Two classes of one size; the first column tells them apart in part."""
    y = np.repeat(["no", "yes"], 100)
    return rng.normal(size=(200, 4)) + 1.5 * np.outer(y == "yes", [1, 0, 0, 0]), y


def test_even_classes_are_ranked_by_a_proper_score(even):
    """Honest probabilities come first: a full tree decides well, and is sure when it is wrong."""
    models = [DecisionTreeClassifier(random_state=0), LogisticRegression()]
    board = compare(*even, models=models, time_limit=None)
    assert [row.name for row in board.rows] == [
        "LogisticRegression",
        BASELINE,
        "DecisionTreeClassifier",
    ]
    assert any("ranked by log loss" in note for note in board.notes)
    tree = board["DecisionTreeClassifier"]
    assert tree.scores["balanced accuracy"].mean() > 0.6
    assert not board.ties(tree)  # worse than no model at all, and so no tie whatever the test says
    assert board.difference(board.best, tree).difference > 1


def test_models_without_probabilities_stand_apart_and_are_compared_by_what_both_have(even):
    board = compare(
        *even, models=[LinearSVC(), RidgeClassifier(), LogisticRegression()], time_limit=None
    )
    assert [row.name for row in board.rows][:2] == ["LogisticRegression", BASELINE]
    area = board.metrics[1]
    apart = board.apart()
    assert {row.name for row in apart} == {"LinearSVC", "RidgeClassifier"}
    assert apart == sorted(apart, key=lambda row: -row.mean(area))
    said = (
        f"2 models have no log loss and stand apart: {apart[0].name} has ROC AUC "
        f"{apart[0].mean(area):.3f}, LogisticRegression {board.best.mean(area):.3f}."
    )
    assert said in board.summary()
    alone = compare(*even, models=[LinearSVC(), RidgeClassifier()], time_limit=None)
    assert alone.metrics[0].name == "ROC AUC"
    assert alone.rows[-1].name == BASELINE
    assert not alone.apart()
    assert any("for no model gives probabilities" in note for note in alone.notes)


def test_ties_are_those_of_the_corrected_t_test(rng):
    X = rng.normal(size=(200, 6))
    y = X @ np.arange(6) + rng.normal(size=200)
    models = [Ridge(1.0), Ridge(1.5), DecisionTreeRegressor(max_depth=2, random_state=0)]
    board = compare(X, y, models=models, time_limit=None)
    best = board.best
    for row in board.rows:
        d = best.scores["R²"] - row.scores["R²"]
        if row is best:
            assert not board.ties(row)
            continue
        t = d.mean() / np.sqrt((1 / 5 + 40 / 160) * d.var(ddof=1))
        assert board.ties(row) == (2 * stats.t(4).sf(abs(t)) > 0.05), row.name
    ties = {row.name: board.ties(row) for row in board.rows}
    assert ties["DecisionTreeRegressor"] is False
    assert ties[BASELINE] is False
    assert sum(ties.values()) <= 1
    assert board.frame()["ties"].tolist() == list(ties.values())
    assert board.beats_baseline()


def test_nothing_beats_the_baseline_when_it_is_so(rng):
    X, y = rng.normal(size=(120, 5)), rng.normal(size=120)
    tree = DecisionTreeRegressor(random_state=0)
    board = compare(X, y, models=[tree], time_limit=None)
    assert not board.beats_baseline()
    assert board.summary().startswith("Nothing beats the baseline")
    lucky = compare(X, y + 0.15 * X[:, 0], models=[Ridge()], time_limit=None)
    assert not lucky.beats_baseline()  # better or not, the folds cannot tell
    assert "baseline" in lucky.summary()


def test_the_positive_class_is_named_and_can_be_chosen(rare):
    X, y = rare
    drawn = []
    for positive in ("ill", "well"):
        board = compare(X, y, models=[GaussianNB()], positive=positive, time_limit=None)
        assert board.positive == positive
        plots = {plot.title: plot for plot in _classification(board, board.best)}
        for title in ("ROC curve", "Calibration"):
            axes = Figure().subplots()
            plots[title].draw(axes)
            assert f"'{positive}'" in plots[title].caption
            assert axes.get_xlabel().endswith(f" of {positive}")
        chance = board.best.predictions["predict_proba"][:, ["ill", "well"].index(positive)]
        line = next(line for line in axes.lines if line.get_label() == "GaussianNB")
        assert line.get_xdata().mean() == pytest.approx(chance.mean(), abs=0.05)
        drawn.append(line.get_ydata())
    np.testing.assert_allclose(drawn[0], 1 - drawn[1][::-1], atol=0.05)
    assert compare(X, y, models=[GaussianNB()], time_limit=None).positive == "well"


def test_areas_do_not_hang_on_the_class_that_is_called_positive(rare):
    X, y = rare
    model = GaussianNB().fit(X, y)
    area = roc_auc_score(y == "ill", model.predict_proba(X)[:, 0])
    for positive in ("ill", "well"):
        assert scorer("roc_auc", positive)(model, X, y) == pytest.approx(area)


def test_refusals(rare, rng):
    X, y = rare
    with pytest.raises(DataError, match="no metric 'acuracy'; did you mean 'accuracy'"):
        compare(X, y, metric="acuracy")
    with pytest.raises(DataError, match="'r2' cannot score a target of 2 classes"):
        compare(X, y, metric="r2")
    with pytest.raises(DataError, match="'accuracy' cannot score a target of numbers"):
        compare(X, rng.normal(size=450), metric="accuracy")
    with pytest.raises(DataError, match="no class 'sick'"):
        compare(X, y, positive="sick")
    with pytest.raises(DataError, match="3 classes"):
        compare(X, rng.integers(3, size=450), positive=1)
    with pytest.raises(DataError, match="no classes"):
        compare(X, rng.normal(size=450), positive=1)


def test_a_board_prints_draws_and_gives_the_best(rare):
    X, y = rare
    board = compare(X, y, models=[GaussianNB(), LogisticRegression()], time_limit=None)
    text = repr(board)
    for word in ("GaussianNB", "LogisticRegression", BASELINE, "ROC AUC", board.summary()):
        assert word in text
    assert "error" not in text.splitlines()[0]
    assert "GaussianNB" in board._repr_html_()
    axes = board.plot(Figure().subplots())
    assert [t.get_text() for t in axes.get_yticklabels()][-1] == board.best.name
    assert axes.get_xlabel() == "ROC AUC"  # is that of either class
    named = compare(X, y, models=[GaussianNB()], metric="recall", positive="ill", time_limit=None)
    assert named.plot(Figure().subplots()).get_xlabel() == "recall of ill"
    assert board.best_pipeline.predict(board.table.X).shape == y.shape
