"""Logistic regression on many columns: other ways to the same minimum."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from panlearn import Batches
from panlearn.linear import LogisticRegression
from panlearn.linear import _logistic_problem as problem_module


def make(rng, n=200, d=4, k=2):
    X = rng.standard_normal((n, d)) + 0.3
    return X, (X @ rng.standard_normal((d, k)) + rng.gumbel(size=(n, k))).argmax(axis=1)


@pytest.mark.parametrize("k", [2, 3])
def test_working_sets_give_what_the_whole_problem_gives(rng, monkeypatch, k):
    X, y = make(rng, n=150, d=60, k=k)
    whole = LogisticRegression(C=0.1, l1_ratio=1).fit(X, y)
    monkeypatch.setattr(problem_module, "DENSE", 5)
    monkeypatch.setattr("panlearn.linear._working_sets.FIRST", 5)
    parts = LogisticRegression(C=0.1, l1_ratio=1).fit(X, y)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=0, atol=1e-7)
    stream = Batches([(X[i : i + 40], y[i : i + 40]) for i in range(0, 150, 40)])
    streamed = LogisticRegression(C=0.1, l1_ratio=1).fit(stream)
    np.testing.assert_allclose(streamed.coef_, parts.coef_, rtol=0, atol=1e-8)


@pytest.mark.parametrize("l1_ratio", [0.6, 1.0])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_columns_give_what_the_whole_problem_gives(
    rng, monkeypatch, convert, fit_intercept, l1_ratio
):
    X, y = make(rng, n=150, d=60, k=2)
    X[:, :50] *= rng.random((150, 50)) < 0.3
    if fit_intercept and convert is np.asarray:
        X[:, 50:] += 100.0  # an offset that coordinate descent would crawl along
    X, weight = convert(X), rng.integers(1, 4, 150)
    model = LogisticRegression(C=1.0, l1_ratio=l1_ratio, fit_intercept=fit_intercept)
    whole = clone(model).fit(X, y, weight)
    monkeypatch.setattr(problem_module, "DENSE", 5)
    monkeypatch.setattr("panlearn.linear._newton_columns.SWEEPS", 3)
    columns = clone(model).fit(X, y, weight)
    assert 5 < np.count_nonzero(whole.coef_) < 60
    np.testing.assert_allclose(columns.coef_, whole.coef_, rtol=0, atol=1e-7)
    np.testing.assert_allclose(columns.intercept_, whole.intercept_, rtol=0, atol=1e-5)
    assert columns.converged_
    assert columns.history_["objective"][-1] == pytest.approx(whole.history_["objective"][-1])


@pytest.mark.parametrize("k", [2, 3])
def test_wide_problems_have_the_same_solution(rng, monkeypatch, k):
    X, y = make(rng, k=k)
    whole = LogisticRegression().fit(X, y)
    monkeypatch.setattr(problem_module, "DENSE", 0)
    monkeypatch.setattr(problem_module, "DEAR", np.inf)
    wide = LogisticRegression().fit(X, y)
    np.testing.assert_allclose(wide.coef_, whole.coef_, rtol=0, atol=1e-7)
