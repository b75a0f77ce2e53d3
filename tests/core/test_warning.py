"""A warning names the line of the user, through whatever stands between."""

import inspect
import warnings

import numpy as np
import pytest
from scipy.linalg import LinAlgWarning
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from panlearn.bayes import BernoulliNB, LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from panlearn.core.warning import warn
from panlearn.kernel import KernelRidge
from panlearn.latent import KMeans
from panlearn.linear import LinearRegression, LogisticRegression, lasso_path
from panlearn.text import pagerank
from panlearn.tree import RandomForestClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = (X[:, 0] > 0).astype(int)
TWICE = np.c_[X, X[:, :1]]
CALLS = {
    "a fit": (lambda: LinearRegression().fit(TWICE, X[:, 1]), LinAlgWarning),
    "further rows": (lambda: LinearRegression().partial_fit(TWICE, X[:, 1]), LinAlgWarning),
    "a loop": (lambda: LogisticRegression(max_iter=1, C=1e6).fit(X, Y), ConvergenceWarning),
    "a statistic": (lambda: BernoulliNB(alpha=0, force_alpha=False).fit(X, Y), UserWarning),
    "a solve": (lambda: QuadraticDiscriminantAnalysis().fit(TWICE, Y), LinAlgWarning),
    "classes": (
        lambda: LinearDiscriminantAnalysis(solver="svd").fit(
            [[0.0], [0.0], [1.0], [1.0]], [0, 0, 1, 1]
        ),
        LinAlgWarning,
    ),
    "a kernel": (lambda: KernelRidge(alpha=0.0).fit(np.r_[X, X], np.r_[Y, Y]), LinAlgWarning),
    "centres": (lambda: KMeans(3, random_state=0).fit(np.zeros((5, 2))), ConvergenceWarning),
    "trees": (
        lambda: RandomForestClassifier(1, oob_score=True, random_state=0).fit(X, Y),
        UserWarning,
    ),
    "a function": (lambda: pagerank(np.triu(np.ones((4, 4))), max_iter=1), ConvergenceWarning),
    "a path": (
        lambda: lasso_path(TWICE + X.sum(axis=1, keepdims=True), X[:, 1], max_iter=1, tol=1e-15),
        ConvergenceWarning,
    ),
    "a pipeline": (
        lambda: make_pipeline(StandardScaler(), LinearRegression()).fit(TWICE, X[:, 1]),
        LinAlgWarning,
    ),
    "a search": (lambda: cross_val_score(LinearRegression(), TWICE, X[:, 1], cv=2), LinAlgWarning),
}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_the_line_is_that_of_the_call(name):
    call, category = CALLS[name]
    with pytest.warns(category) as record:
        call()
    found = next(w for w in record if issubclass(w.category, category))
    assert found.filename == __file__
    lines, first = inspect.getsourcelines(call)
    assert first <= found.lineno < first + len(lines)


def test_from_outside_the_line_is_that_of_the_caller():
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        warn("something")
    assert (record[0].filename, record[0].category) == (__file__, UserWarning)
