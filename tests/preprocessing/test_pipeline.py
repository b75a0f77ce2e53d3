"""Pipelines from memory, from streams, from Dask and in parts have the same numbers."""

import numpy as np
import pytest
from sklearn import pipeline as scikit_learn

import panlearn
from panlearn.bayes import GaussianNB, LinearDiscriminantAnalysis
from panlearn.latent import PCA
from panlearn.linear import Lasso, LinearRegression, LogisticRegression, Ridge
from panlearn.preprocessing import (
    OneHotEncoder,
    OrdinalEncoder,
    Pipeline,
    StandardScaler,
    make_pipeline,
)

da = pytest.importorskip("dask.array")

N, CHUNKS = 90, (40, 30, 20)
PARTS = [slice(0, 25), slice(25, 26), slice(26, 90)]


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(N, 4)) * [1e-3, 1.0, 100.0, 5.0] + [0.0, 1e4, -3.0, 0.5]
    y = X @ [300.0, 2.0, 0.01, -1.0] + rng.normal(size=N)
    return X, y, rng.integers(1, 4, N).astype(float)


def _stream(*arrays):
    return panlearn.Batches(lambda: (tuple(a[p] for a in arrays) for p in PARTS))


def _same(one, other, X):
    expected = other.predict(X)
    np.testing.assert_allclose(one.predict(X), expected, rtol=0, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("make", [make_pipeline, scikit_learn.make_pipeline])
def test_a_scaler_and_a_ridge_fit_from_memory_streams_and_dask(rows, make):
    X, y, _ = rows
    fitted = make(StandardScaler(), Ridge()).fit(X, y)
    # independent of our classes: ridge on standard columns in closed form
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    coef = np.linalg.solve(Z.T @ Z + np.eye(4), Z.T @ (y - y.mean()))
    np.testing.assert_allclose(fitted[-1].coef_, coef, rtol=1e-9)
    streamed = make(StandardScaler(), Ridge()).fit(_stream(X, y))
    spread = make(StandardScaler(), Ridge()).fit(
        da.from_array(X, chunks=(CHUNKS, -1)), da.from_array(y, chunks=(CHUNKS,))
    )
    for model in (streamed, spread):
        np.testing.assert_allclose(model[-1].coef_, coef, rtol=1e-8)
        _same(model, fitted, X)


def test_weights_in_a_stream_weigh_in_every_step(rows):
    X, y, weight = rows
    many = np.repeat(np.arange(N), weight.astype(int))
    whole = make_pipeline(StandardScaler(), Ridge()).fit(X[many], y[many])
    _same(make_pipeline(StandardScaler(), Ridge()).fit(_stream(X, y, weight)), whole, X)
    parts = make_pipeline(StandardScaler(), Ridge())
    for part in PARTS:
        parts.partial_fit(X[part], y[part], sample_weight=weight[part])
    _same(parts, whole, X)


@pytest.mark.parametrize("model", [Ridge(), LinearRegression()], ids=lambda m: type(m).__name__)
def test_parts_give_the_fit_to_all_rows(rows, model):
    X, y, _ = rows
    whole = make_pipeline(StandardScaler(), model).fit(X, y)
    expected = whole[-1].coef_.copy()
    for order in (PARTS, PARTS[::-1]):
        parts = make_pipeline(StandardScaler(), type(model)())
        for part in order:
            parts.partial_fit(X[part], y[part])
        np.testing.assert_allclose(parts[-1].coef_, expected, rtol=1e-8)


@pytest.mark.parametrize("model", [GaussianNB, LinearDiscriminantAnalysis])
def test_classifiers_from_moments_follow_the_scaler(rows, model):
    X, y, _ = rows
    labels = np.where(y > np.median(y), "high", "low")
    whole = make_pipeline(StandardScaler(), model()).fit(X, labels)
    parts = make_pipeline(StandardScaler(), model())
    for part in PARTS:
        parts.partial_fit(X[part], labels[part], classes=["high", "low"])
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-7)


def test_new_labels_add_columns_as_if_they_had_been_known(rng):
    X = np.array(list("abcde"), dtype=object)[rng.integers(5, size=(N, 2))]
    X[:25] = np.array(list("bd"), dtype=object)[rng.integers(2, size=(25, 2))]
    y = (X == "c").sum(axis=1) + 2.0 * (X[:, 0] == "d") + 0.1 * rng.normal(size=N)
    steps = OneHotEncoder(sparse_output=False), StandardScaler(), Ridge(0.5)
    whole = make_pipeline(*steps).fit(X, y)
    parts = make_pipeline(OneHotEncoder(sparse_output=False), StandardScaler(), Ridge(0.5))
    for part in PARTS:
        parts.partial_fit(X[part], y[part])
    np.testing.assert_allclose(parts[-1].coef_, whole[-1].coef_, rtol=0, atol=1e-8)
    _same(parts, whole, X)
    sparse = make_pipeline(OneHotEncoder(), Ridge(0.5)).fit(_stream(X, y))
    _same(sparse, make_pipeline(OneHotEncoder(), Ridge(0.5)).fit(X, y), X)


def test_labels_that_move_the_others_are_refused_and_nothing_changes(rng):
    X = np.array([["b"], ["c"], ["b"], ["c"]], dtype=object)
    y = np.arange(4.0)
    for encoder in (OrdinalEncoder(), OneHotEncoder(drop="first", sparse_output=False)):
        model = make_pipeline(encoder, Ridge()).partial_fit(X, y)
        before = model.predict(X)
        with pytest.raises(ValueError, match=r"new categories came.*categories"):
            model.partial_fit(np.array([["a"], ["b"]], dtype=object), [1.0, 2.0])
        np.testing.assert_array_equal(model.predict(X), before)
        model.partial_fit(X, y)
    model = make_pipeline(OneHotEncoder(), LogisticRegression())
    named = make_pipeline(OneHotEncoder([["a", "b", "c"]]), LogisticRegression())
    for part in (X, np.array([["a"], ["b"], ["a"], ["b"]], dtype=object)):
        model.partial_fit(part, [0, 1, 0, 1])
        named.partial_fit(part, [0, 1, 0, 1])
    assert model[-1].coef_.shape == named[-1].coef_.shape == (1, 3)


def test_logistic_regression_keeps_its_function_while_the_scaler_moves(rows, rng):
    """Without a penalty the units of the columns do not matter, in parts either."""
    X, y, _ = rows
    labels = ((y - y.mean()) / y.std() + rng.logistic(size=N) > 0).astype(int)
    plain = LogisticRegression(C=np.inf)
    scaled = make_pipeline(StandardScaler(), LogisticRegression(C=np.inf))
    for part in (slice(0, 30), slice(30, 60), slice(60, 90)):
        plain.partial_fit(X[part], labels[part])
        scaled.partial_fit(X[part], labels[part])
        np.testing.assert_allclose(scaled.predict_proba(X), plain.predict_proba(X), atol=1e-6)


def test_a_pipeline_whose_columns_turn_has_no_partial_fit():
    assert not hasattr(make_pipeline(PCA(), Ridge()), "partial_fit")
    for pipeline, said in (
        (make_pipeline(PCA(), Ridge()), "PCA does not tell how its columns move"),
        (make_pipeline(StandardScaler(), Lasso()), "for Lasso has none"),
    ):
        with pytest.raises(AttributeError) as caught:
            _ = pipeline.partial_fit
        assert said in str(caught.value.__cause__)


def test_an_iterator_is_walked_once_and_a_pipeline_says_what_to_give(rows):
    X, y, _ = rows
    batches = iter([(X[:40], y[:40]), (X[40:], y[40:])])
    with pytest.raises(ValueError, match=r"empty.*walked before.*Batches"):
        make_pipeline(StandardScaler(), Ridge()).fit(batches)


def test_a_pipeline_is_saved_and_goes_on(rows, tmp_path):
    X, y, _ = rows
    model = make_pipeline(StandardScaler(), Ridge()).partial_fit(X[:50], y[:50])
    panlearn.save(model, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model")
    assert type(loaded) is Pipeline
    np.testing.assert_array_equal(
        loaded.partial_fit(X[50:], y[50:]).predict(X), model.partial_fit(X[50:], y[50:]).predict(X)
    )


def test_names_follow_new_columns(rng):
    frame = pytest.importorskip("pandas").DataFrame({"c": list("abab"), "d": list("xyyx")})
    model = make_pipeline(OneHotEncoder(sparse_output=False), Ridge()).set_output(
        transform="pandas"
    )
    model.partial_fit(frame, np.arange(4.0))
    model.partial_fit(frame.replace("x", "z"), np.arange(4.0))
    assert model[-1].feature_names_in_.tolist() == ["c_a", "c_b", "d_x", "d_y", "d_z"]
