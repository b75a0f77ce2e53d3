"""What each column is worth is scikit-learn's permutation importance, of the whole pipeline."""

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import permutation_importance
from sklearn.pipeline import Pipeline

from panlearn.bayes import CategoricalNB, LinearDiscriminantAnalysis
from panlearn.compare.importance import SHUFFLES, importance, prepared_columns
from panlearn.compare.metrics import metrics_for
from panlearn.compare.preparation import preprocessor
from panlearn.compare.table import as_table
from panlearn.linear import LogisticRegression


@pytest.fixture
def table(rng):
    """Numbers with gaps, categories, one of them rare, and sentences."""
    n = 300
    words = np.array("good bad quick slow late early warm cold red blue".split())
    X = pd.DataFrame(
        {
            "town": ["Ely", "Ely", *rng.choice(["Bath", "York", "Wells_1"], n - 2)],
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "said": [" ".join(rng.choice(words, 6)) for _ in range(n)],
            "plan": rng.choice(["a", "b"], n),
            "age": rng.integers(18, 90, n),
        }
    )
    y = (X["size"].fillna(0) + (X["town"] == "York") + X["said"].str.count("good") > 0.8).to_numpy()
    return as_table(X, np.where(y, "yes", "no"))


@pytest.mark.parametrize(
    "model", [LogisticRegression(), LinearDiscriminantAnalysis(), CategoricalNB()]
)
def test_it_is_scikit_learns_to_the_last_bit(table, model):
    pipeline = Pipeline([("prepare", preprocessor(table.X, model)), ("model", model)])
    pipeline.fit(table.X[:200], table.y[:200])
    metric = metrics_for("classification", table.y)[0]
    X, y = table.X[200:], table.y[200:]
    found = importance(pipeline, X, y, metric, spent=1000.0)
    order = np.random.default_rng(0).permutation(len(y))
    expected = permutation_importance(
        pipeline,
        X.iloc[order],
        y[order],
        scoring=metric.measure,
        n_repeats=SHUFFLES,
        random_state=0,
    ).importances_mean
    assert list(found) == list(X.columns)
    np.testing.assert_allclose(list(found.values()), expected, rtol=0, atol=1e-12)
    assert found["size"] > 0.01
    # a model of categories is not given the words
    assert (found["said"] == 0) == isinstance(model, CategoricalNB)


def test_each_prepared_column_comes_from_one_column(table):
    prepare = preprocessor(table.X, LogisticRegression()).fit(table.X)
    blocks = prepared_columns(prepare, list(table.X.columns))
    every = np.sort(np.concatenate(list(blocks.values())))
    np.testing.assert_array_equal(every, np.arange(prepare.transform(table.X).shape[1]))
    assert len(blocks["plan"]) == 2
    assert len(blocks["said"]) == 10
    assert len(blocks["town"]) == 4  # the rare one by itself


def test_slow_answers_are_asked_for_fewer_rows(table):
    seen = []

    class Watching(LogisticRegression):
        def predict_proba(self, X):
            seen.append(len(X))
            return super().predict_proba(X)

    model = Watching()
    pipeline = Pipeline([("prepare", preprocessor(table.X, model)), ("model", model)])
    pipeline.fit(table.X, table.y)
    metric = metrics_for("classification", table.y)[0]
    clock = iter([0.0, 10.0])  # seconds for the first answer
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("panlearn.compare.importance.perf_counter", lambda: next(clock))
        importance(pipeline, table.X, table.y, metric, spent=1.0)
    assert seen[0] == 300
    assert set(seen[1:]) == {50}
