"""Few rows of many columns: their coordinates, and regressions in these."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

from panlearn import Batches
from panlearn.linear import HuberRegressor, LogisticRegression, _row_span
from panlearn.linear._row_span import RowSpan


def easy(X):
    return X


def far(X):
    return X + 1e4


def repeated(X):
    return np.vstack([X[:20], X[:20]])


def scaled(X):
    return X * np.geomspace(1e-3, 1e3, X.shape[1])


@pytest.mark.parametrize("change", [easy, far, repeated, scaled])
def test_scores_and_norms_stay(rng, change):
    X = change(rng.standard_normal((40, 90)))
    span = RowSpan.of(X, X.mean(axis=0))
    deviations, basis = X - span.centre, span.mix @ span.frame
    atol = 1e-12 * np.abs(deviations).max()
    np.testing.assert_allclose(span.coordinates @ basis, deviations, rtol=0, atol=atol)
    np.testing.assert_allclose(basis @ basis.T, np.eye(40), rtol=0, atol=1e-11)


@pytest.mark.parametrize("row", [np.arange(5.0), np.zeros(5)])
def test_one_row_has_one_coordinate(row):
    span = RowSpan.of(row[None], np.zeros(5))
    np.testing.assert_allclose(span.coordinates @ span.mix @ span.frame, row[None], atol=1e-15)
    model = HuberRegressor().fit(row[None], [2.0])
    assert model.predict(row[None]) == pytest.approx([2.0])


def test_reflections_are_left_to_rows_that_need_them(rng):
    X = rng.standard_normal((40, 90))
    assert not RowSpan.of(X, X.mean(axis=0)).centre.any()
    assert RowSpan.of(far(X), far(X).mean(axis=0)).centre.all()


def test_coefficients_go_in_and_out(rng):
    X = far(rng.standard_normal((30, 80)))
    span = RowSpan.of(X, X.mean(axis=0))
    weights, intercept = rng.standard_normal((3, 30)), rng.standard_normal(3)
    coef, outer = span.outside(weights, intercept)
    np.testing.assert_allclose(
        X @ coef.T + outer, span.coordinates @ weights.T + intercept, rtol=0, atol=1e-8
    )
    back = span.inside(coef, outer)
    np.testing.assert_allclose(back[0], weights, rtol=0, atol=1e-12)
    np.testing.assert_allclose(back[1], intercept, rtol=0, atol=1e-8)


def gradient(model, X, y, weight):
    """Gradient of C times the loss plus the penalty, for the columns themselves."""
    classes = model.classes_
    scores = X @ model.coef_.T + model.intercept_
    if len(classes) == 2:
        scores = np.hstack([np.zeros_like(scores), scores])
    residual = model.C * weight[:, None] * (softmax(scores, axis=1) - (y[:, None] == classes))
    residual = residual[:, 1:] if len(classes) == 2 else residual
    return residual.T @ X + model.coef_, residual.sum(axis=0)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("k", [2, 3, 12])
@pytest.mark.parametrize("change", [easy, repeated, scaled])
def test_the_gradient_of_all_columns_vanishes(rng, change, k, fit_intercept):
    X = change(rng.standard_normal((40, 90)) + 0.3)
    y = np.arange(40) % k
    weight = rng.integers(0, 4, 40).astype(float)
    weight[:k] = 1
    model = LogisticRegression(C=0.7, fit_intercept=fit_intercept, tol=1e-10)
    model.fit(X, y, weight)
    by_column, by_class = gradient(model, X, y, weight)
    scale = np.abs(X).max() * weight.sum()
    np.testing.assert_allclose(by_column, 0, atol=1e-9 * scale)
    if fit_intercept:
        np.testing.assert_allclose(by_class, 0, atol=1e-9 * scale)


@pytest.mark.parametrize("k", [2, 3])
def test_an_offset_moves_the_intercept_alone(rng, k):
    X, y = rng.standard_normal((40, 90)), np.arange(40) % k
    near = LogisticRegression(tol=1e-10).fit(X, y)
    moved = LogisticRegression(tol=1e-10).fit(far(X), y)
    # an offset of 1e4 leaves rows 12 digits
    np.testing.assert_allclose(moved.coef_, near.coef_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(moved.predict_proba(far(X)), near.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("k", [2, 3])
def test_the_walk_is_along_rows_only_where_these_are_few(rng, monkeypatch, k):
    X = rng.standard_normal((40, 90)).astype(np.float32)
    y = np.arange(40) % k
    seen = []
    original = RowSpan.of.__func__
    monkeypatch.setattr(
        RowSpan, "of", classmethod(lambda cls, X, m: seen.append(X.shape) or original(cls, X, m))
    )
    single = LogisticRegression().fit(X, y)
    assert single.coef_.dtype == np.float32
    with pytest.warns(ConvergenceWarning):
        LogisticRegression(C=np.inf, max_iter=3).fit(X, y)
    LogisticRegression().fit(X[:, :79], y)
    LogisticRegression(l1_ratio=0.5).fit(X, y)
    assert seen == [(40, 90)]
    monkeypatch.setattr(_row_span, "available", lambda: 0)
    monkeypatch.setattr(_row_span, "SMALL", 0)
    whole = LogisticRegression().fit(X.astype(float), y)
    assert len(seen) == 1
    np.testing.assert_allclose(single.coef_, whole.coef_, rtol=0, atol=1e-5)


@pytest.mark.parametrize("change", [easy, far])
def test_a_warm_start_is_where_the_last_fit_ended(rng, change):
    X = change(rng.standard_normal((40, 90)) + 0.5)
    y = np.arange(40) % 3
    model = LogisticRegression(warm_start=True).fit(X, y)
    first, steps = model.coef_.copy(), model.n_iter_
    model.fit(X, y)
    assert model.n_iter_ <= 2 < steps
    np.testing.assert_allclose(model.coef_, first, rtol=0, atol=1e-8)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("change", [easy, repeated, scaled])
def test_the_gradient_of_hubers_objective_vanishes(rng, change, fit_intercept):
    X = change(rng.standard_normal((40, 90)) + 0.3)
    y = X[:, 0] / np.abs(X[:, 0]).max() + rng.standard_normal(40) + 2
    y[:3] += 30
    weight = rng.integers(1, 4, 40).astype(float)
    alpha = 300 * np.mean(X * X)  # so large that rows are not met exactly
    model = HuberRegressor(alpha=alpha, fit_intercept=fit_intercept, tol=1e-10)
    model.fit(X, y, weight)
    residual, scale = y - X @ model.coef_ - model.intercept_, model.scale_
    outside = np.abs(residual) > model.epsilon * scale
    assert 3 <= outside.sum() < 20
    np.testing.assert_array_equal(outside, model.outliers_)
    pull = weight * np.clip(residual, -model.epsilon * scale, model.epsilon * scale)
    by_column = alpha * model.coef_ - X.T @ pull / scale
    np.testing.assert_allclose(by_column, 0, atol=1e-8 * np.abs(X.T @ pull / scale).max())
    if fit_intercept:
        assert pull.sum() == pytest.approx(0, abs=1e-8 * np.abs(pull).sum())
    squares = np.where(outside, model.epsilon**2, (residual / scale) ** 2)
    assert np.sum(weight * squares) == pytest.approx(weight.sum(), rel=1e-8)


def test_hubers_regression_goes_on_from_the_last_fit(rng):
    X, y = far(rng.standard_normal((40, 90))), rng.standard_normal(40)
    model = HuberRegressor(alpha=300.0, warm_start=True).fit(X, y)
    first, steps = model.coef_.copy(), model.n_iter_
    model.fit(X, y)
    assert model.n_iter_ < steps
    np.testing.assert_allclose(model.coef_, first, rtol=0, atol=1e-7)
    streamed = HuberRegressor(alpha=300.0).fit(Batches([(X[:25], y[:25]), (X[25:], y[25:])]))
    np.testing.assert_allclose(model.coef_, streamed.coef_, rtol=0, atol=1e-7)
    assert model.intercept_ == pytest.approx(streamed.intercept_, rel=1e-6)
