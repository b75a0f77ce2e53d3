"""What each display draws: the numbers on the axes, not that something ran."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.pipeline import make_pipeline

from panlearn.linear import Ridge
from panlearn.plot import (
    CoefficientsDisplay,
    HistoryDisplay,
    PredictiveBandDisplay,
    RegularizationPathDisplay,
    TrajectoryDisplay,
    TreeDisplay,
)
from panlearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ID3Classifier


@pytest.fixture
def frame(rng):
    X = pd.DataFrame(rng.normal(size=(40, 3)), columns=["small", "large", "negative"])
    return X, X @ [0.1, 3.0, -1.0]


class TestCoefficients:
    def test_bars_are_the_coefficients_with_their_names_largest_on_top(self, frame, ax):
        X, y = frame
        model = Ridge(alpha=1e-9).fit(X, y)
        display = CoefficientsDisplay.from_estimator(model, ax=ax)
        assert display.ax_ is ax
        assert display.figure_ is ax.figure
        names = [t.get_text() for t in ax.get_yticklabels()]
        widths = [bar.get_width() for bar in ax.patches]
        assert names == ["small", "negative", "large"]
        np.testing.assert_allclose(widths, [0.1, -1.0, 3.0], atol=1e-6)

    def test_only_so_many(self, frame, ax):
        CoefficientsDisplay.from_estimator(Ridge().fit(*frame), max_features=1, ax=ax)
        assert len(ax.patches) == 1

    def test_a_pipeline_gives_the_names_that_reach_the_model(self, ax):
        from panlearn.compare.preparation import preprocessor

        X = pd.DataFrame({"n": [1.0, 2.0, 3.0, 4.0], "c": ["a", "b", "a", "b"]})
        model = make_pipeline(preprocessor(X, Ridge()), Ridge()).fit(X, [1.0, 2.0, 3.0, 4.0])
        display = CoefficientsDisplay.from_estimator(model, ax=ax)
        assert sorted(display.feature_names) == ["c_a", "c_b", "n"]

    def test_each_class_has_its_bars(self, rng, ax):
        X = rng.normal(size=(60, 2))
        model = LogisticRegression().fit(X, np.repeat(["a", "b", "c"], 20))
        CoefficientsDisplay.from_estimator(model, ax=ax)
        assert len(ax.patches) == 6
        assert [t.get_text() for t in ax.get_legend().get_texts()] == ["a", "b", "c"]

    def test_errors(self, frame):
        with pytest.raises(NotFittedError):
            CoefficientsDisplay.from_estimator(Ridge())
        with pytest.raises(ValueError, match="2 coefficients and 1 names"):
            CoefficientsDisplay([1, 2], ["a"])


class TestRegularizationPath:
    def test_lines_are_the_fits(self, frame, ax):
        X, y = frame
        alphas = np.logspace(-2, 2, 5)
        RegularizationPathDisplay.from_estimator(Ridge(), X, y, param_range=alphas, ax=ax)
        lines = ax.lines[:3]
        expected = Ridge(alpha=alphas[2]).fit(X, y).coef_
        np.testing.assert_allclose([line.get_ydata()[2] for line in lines], expected)
        assert ax.get_xscale() == "log"
        assert ax.get_xlabel() == "alpha"
        assert {t.get_text() for t in ax.texts} == set(X.columns)

    def test_shapes(self):
        with pytest.raises(ValueError, match="a column for each of the 3 values"):
            RegularizationPathDisplay([1, 2, 3], np.ones((3, 2)))


class TestHistory:
    def test_one_value_an_iteration(self, ax):
        HistoryDisplay({"a": [3, 2, 1], "b": [1, 1]}).plot(log=True, ax=ax)
        np.testing.assert_array_equal(ax.lines[0].get_xdata(), [1, 2, 3])
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), [3, 2, 1])
        assert ax.get_yscale() == "log"
        assert len(ax.lines) == 2

    def test_chosen_keys_and_errors(self, frame, ax):
        display = HistoryDisplay({"a": [3, 2, 1], "b": [1, 1]})
        assert len(display.plot(keys=["b"], ax=ax).ax_.lines) == 1
        with pytest.raises(ValueError, match="no 'c' in the history"):
            display.plot(keys=["c"])
        with pytest.raises(ValueError, match="keeps no history_"):
            HistoryDisplay.from_estimator(Ridge().fit(*frame))

    def test_from_estimator(self, frame, ax):
        model = Ridge().fit(*frame)
        model.history_ = {"objective": [2.0, 1.0]}
        assert len(HistoryDisplay.from_estimator(model, ax=ax).ax_.lines) == 1


class TestTrajectory:
    def test_paths_lie_within_the_box(self, ax):
        paths = {"a": [[0, 0], [1, 2]], "b": [[0, 0], [np.nan, 1]]}
        TrajectoryDisplay(lambda x: x @ x, paths).plot(ax=ax)
        np.testing.assert_array_equal(ax.lines[0].get_xydata(), paths["a"])
        assert ax.get_xlim() == pytest.approx((-1 / 6, 7 / 6))
        assert [t.get_text() for t in ax.get_legend().get_texts()] == ["a", "b"]

    def test_two_variables(self):
        with pytest.raises(ValueError, match=r"\(k, 2\)"):
            TrajectoryDisplay(np.sum, {"a": [[1, 2, 3]]})


class TestBand:
    def test_band_is_the_prediction(self, rng, ax):
        X = pd.DataFrame({"x": np.linspace(0, 1, 30)})
        y = 2 * X["x"] + 0.1 * rng.normal(size=30)
        model = BayesianRidge().fit(X, y)
        display = PredictiveBandDisplay.from_estimator(model, X, y, width=3, ax=ax)
        mean, std = model.predict(pd.DataFrame({"x": display.x}), return_std=True)
        np.testing.assert_allclose(ax.lines[0].get_ydata(), mean)
        corners = ax.collections[0].get_paths()[0].vertices[:, 1]
        assert corners.max() == pytest.approx((mean + 3 * std).max())
        assert (display.x[0], display.x[-1]) == (-0.25, 1.25)

    def test_one_feature(self):
        with pytest.raises(ValueError, match="one feature"):
            PredictiveBandDisplay.from_estimator(None, np.ones((3, 2)))


def test_a_display_makes_its_own_figure_if_given_none(frame):
    display = CoefficientsDisplay.from_estimator(Ridge().fit(*frame))
    assert display.figure_.axes == [display.ax_]


def test_importing_the_displays_needs_no_matplotlib():
    import subprocess
    import sys

    code = "import sys, panlearn.plot; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


class TestTree:
    def test_a_question_at_each_split_and_an_answer_at_each_leaf(self, ax):
        X = pd.DataFrame({"age": [20.0, 30.0, 50.0, 60.0]})
        model = DecisionTreeClassifier().fit(X, ["no", "no", "yes", "yes"])
        TreeDisplay.from_estimator(model, ax=ax)
        texts = [t.get_text() for t in ax.texts]
        assert texts == ["age ≤ 40", "no\n2 rows", "yes\n2 rows", "yes", "no"]
        question, left, right = (t.get_position() for t in ax.texts[:3])
        assert left[0] < question[0] < right[0]
        assert left[1] == right[1] < question[1]

    def test_deep_trees_are_folded(self, rng, ax):
        model = DecisionTreeRegressor().fit(rng.normal(size=(200, 2)), rng.normal(size=200))
        display = TreeDisplay.from_estimator(model, max_depth=2, ax=ax)
        assert sum("…" in t.get_text() for t in ax.texts) >= 2
        assert display.figure_ is ax.figure

    def test_a_branch_for_each_category(self, ax):
        X = pd.DataFrame({"sky": ["sun", "rain", "snow", "rain"], "wind": list("wswo")})
        TreeDisplay.from_estimator(ID3Classifier().fit(X, ["out", "in", "in", "in"]), ax=ax)
        texts = [t.get_text() for t in ax.texts]
        assert texts[:4] == ["sky?", "in\n2 rows", "in\n1 row", "out\n1 row"]
        assert texts[4:] == ["rain", "snow", "sun"]
        places = [t.get_position()[0] for t in ax.texts[:4]]
        assert places[0] == places[2]
        assert places[1] < places[2] < places[3]

    def test_only_trees(self):
        with pytest.raises(ValueError, match="Ridge has no tree_"):
            TreeDisplay.from_estimator(Ridge().fit([[0.0], [1.0]], [0.0, 1.0]))
