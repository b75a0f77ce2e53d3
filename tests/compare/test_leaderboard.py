import os
import sys
import warnings

import cloudpickle
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.datasets import load_diabetes, load_iris, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge as PeerRidge
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

from panlearn.compare import compare
from panlearn.compare.comparison import make_folds
from panlearn.compare.leaderboard import BASELINE
from panlearn.compare.models import field
from panlearn.compare.table import as_table
from panlearn.core.errors import DataError
from panlearn.linear import Ridge

cloudpickle.register_pickle_by_value(sys.modules[__name__])


class Predicting(RegressorMixin, BaseEstimator):
    def predict(self, X):
        return np.zeros(len(X))


class Hanging(Predicting):
    def fit(self, X, y):
        while True:
            pass


class Dying(Predicting):
    def fit(self, X, y):
        os._exit(9)


class Refusing(Predicting):
    def fit(self, X, y):
        raise ValueError("a reason\nof two lines")


class Interrupting(Predicting):
    def fit(self, X, y):
        raise KeyboardInterrupt


class Muttering(Predicting):
    def fit(self, X, y):
        warnings.warn(f"took {len(y)} rows", RuntimeWarning, stacklevel=2)
        self.fitted_ = True
        return self


class Hearing(ClassifierMixin, BaseEstimator):
    """Has neither probabilities nor a margin."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return X[:100], y[:100]


def test_scores_are_those_of_scikit_learn_and_models_are_fitted(diabetes):
    X, y = diabetes
    board = compare(X, y, models=["Ridge"], time_limit=None)
    row = board.best
    expected = cross_val_score(row.pipeline, board.table.X, y, cv=board.cv, scoring="r2")
    np.testing.assert_allclose(row.scores["R²"], expected, rtol=1e-12)
    assert isinstance(row.pipeline[-1], Ridge)
    assert row.pipeline.predict(board.table.X).shape == y.shape
    assert row.predictions["predict"].shape == y.shape
    assert row.fit_seconds > 0
    assert row.predict_seconds > 0
    assert board.baseline.mean(board.metrics[0]) < 0.05 < row.mean(board.metrics[0])


def test_frame_and_summary(diabetes):
    board = compare(*diabetes, models=["Ridge"], time_limit=None)
    frame = board.frame()
    assert frame["model"].tolist() == ["Ridge", BASELINE]
    assert frame.loc[1, "R² std"] == pytest.approx(np.std(board.best.scores["R²"]))
    assert frame.loc[1, "RMSE"] > 0
    assert board.summary().startswith("Best: Ridge, R² 0.")
    assert board["Ridge"] is board.best


def test_every_estimator_of_the_library_has_a_row(diabetes):
    import panlearn

    board = compare(*diabetes, cv=2)
    every = panlearn.all_estimators("regressor")
    names = {name for name, cls in every if get_tags(cls()).input_tags.two_d_array}
    names.remove("RadiusNeighborsRegressor")  # no radius suits every table
    assert {row.name for row in board.rows} == names | {BASELINE}
    assert not board["LinearRegression"].failed


def test_wrappers_of_a_decision_are_compared_only_when_named():
    named = compare(
        *make_moons(60), models=["GaussianNB", "CostSensitiveClassifier"], cv=2, time_limit=None
    )
    assert "CostSensitiveClassifier" in {row.name for row in named.rows}
    every, _ = field("classification", pd.DataFrame({"a": [1.0, 2.0]}))
    assert "GaussianNB" in every
    assert not {"CostSensitiveClassifier", "AbstainingClassifier"} & set(every)


def test_failures_are_rows_with_their_reason_and_cost_no_other_row(diabetes):
    models = [Hanging(), Dying(), Refusing(), "Ridge", "sklearn.ensemble.VotingRegressor"]
    board = compare(*diabetes, models=models, cv=2, time_limit=5.0)
    assert [row.failed for row in board.rows] == [False, False, True, True, True, True]
    assert board["Hanging"].error == "stopped after 5 s"
    assert "died" in board["Dying"].error
    assert board["Refusing"].error == "ValueError: a reason of two lines"
    assert "missing 1 required" in board["VotingRegressor (sklearn)"].error
    assert board.best.name == "Ridge"
    assert np.isnan(board["Hanging"].mean(board.metrics[0]))


def test_a_model_that_cannot_predict_is_a_row_too(diabetes):
    board = compare(*diabetes, models=[FunctionTransformer()], time_limit=None)
    assert board["FunctionTransformer"].error == "it has no predict"


def test_an_interrupt_keeps_the_rows_so_far(diabetes):
    board = compare(*diabetes, models=["Ridge", Interrupting(), Refusing()], time_limit=None)
    assert board.interrupted
    assert board.best.name == "Ridge"
    assert board["Refusing"].error == "not run: interrupted"


def test_warnings_are_gathered_not_shown(diabetes):
    board = compare(*diabetes, models=[Muttering()], cv=3, time_limit=None)
    (text,) = board["Muttering"].warnings
    assert text.startswith("RuntimeWarning: took")
    assert text.endswith("(4 times)")


def test_two_models_of_one_class_keep_apart(diabetes):
    board = compare(*diabetes, models=[PeerRidge(), PeerRidge(alpha=9)], time_limit=None)
    assert {row.name for row in board.rows} == {"Ridge", "Ridge #2", BASELINE}


def test_multiclass_and_what_a_model_does_not_offer():
    X, y = load_iris(return_X_y=True)
    board = compare(X, y, models=[LogisticRegression(), Hearing()], time_limit=None)
    assert [m.name for m in board.metrics][:2] == ["log loss", "ROC AUC"]
    assert board.best.mean(board.metrics[1]) > 0.95
    assert set(board["Hearing"].scores) == {"balanced accuracy", "accuracy", "macro F1"}
    assert board["Hearing"].scores["balanced accuracy"].mean() == pytest.approx(1 / 3)
    assert board.best.predictions["predict_proba"].shape == (150, 3)


def test_the_seed_gives_the_same_numbers_again_in_this_process_and_in_a_child(mixed):
    X, y = mixed.drop(columns="price"), mixed["price"]
    a, b = (
        compare(X, y, models=["Ridge"], cv=2, random_state=4, time_limit=t) for t in (60.0, None)
    )
    assert a.cv.random_state == 4
    for metric, values in a.best.scores.items():
        np.testing.assert_array_equal(values, b.best.scores[metric])


def test_fewer_folds_where_a_class_is_rare():
    table = as_table(pd.DataFrame({"x": np.arange(40.0)}), ["a"] * 37 + ["b"] * 3)
    folds, notes = make_folds(table, 5, 0)
    assert folds.n_splits == 3
    assert "'b'" in notes[0]


def test_too_few_rows_to_cross_validate():
    frame = pd.DataFrame({"x": np.arange(40.0)})
    with pytest.raises(DataError, match="'b' has only 1 row"):
        compare(frame, ["a"] * 39 + ["b"])
    with pytest.raises(DataError, match="only 3 rows"):
        compare(frame[:3], [0.1, 0.2, 0.3])


def test_unknown_models(diabetes):
    with pytest.raises(DataError, match="did you mean 'Ridge'"):
        compare(*diabetes, models=["Rigde"])
    with pytest.raises(DataError, match="is for regression"):
        compare(pd.DataFrame({"x": np.arange(40.0)}), ["a", "b"] * 20, models=["ridge"])
    with pytest.raises(DataError, match="scikit-learn has no"):
        compare(*diabetes, models=["sklearn.svm.Nothing"])


@pytest.mark.usefixtures("no_torch")
def test_models_that_are_left_out_for_want_of_an_extra_are_noted(diabetes, monkeypatch):
    monkeypatch.setattr("panlearn.compare.comparison.field", lambda task, X: (["Ridge"], []))
    board = compare(*diabetes, time_limit=None)
    assert "left out neural, transformer, " in board.notes[-1]
    assert not compare(*diabetes, models=["Ridge"], time_limit=None).notes
