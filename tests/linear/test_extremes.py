"""Numbers near the ends of the floats: a finite answer or an error that says why, never NaN."""

import inspect
import re
import warnings

import numpy as np
import pytest
from scipy.linalg import LinAlgWarning
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning

import panlearn.linear
from panlearn.linear import (
    BayesianLinearRegression,
    ElasticNet,
    HuberRegressor,
    Lasso,
    LeastAbsoluteDeviations,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    RecursiveLeastSquares,
    Ridge,
)

MODELS = [
    LinearRegression(),
    LinearRegression(positive=True),
    Ridge(),
    Ridge(positive=True),
    Lasso(0.01),
    ElasticNet(0.01),
    HuberRegressor(),
    LeastAbsoluteDeviations(),
    LeastAbsoluteDeviations(alpha=0.01),
    RecursiveLeastSquares(),
    BayesianLinearRegression(),
    LogisticRegression(),
    LogisticRegression(l1_ratio=1.0),
    Perceptron(),
]
each_model = pytest.mark.parametrize("model", MODELS, ids=str)
TOLD = "sample_weight sums|beyond|overflow|too small|too large"


def test_every_class_is_here():
    others = {"inference", "lasso_path"}
    assert {type(m).__name__ for m in MODELS} == set(panlearn.linear.__all__) - others


def rows_and_targets(model, x_scale=1.0, y_scale=1.0, dtype=float):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=40)
    y = (y > 0).astype(int) if is_classifier(model) else (y * y_scale).astype(dtype)
    return (X * x_scale).astype(dtype), y


def outputs_or_refusal(model, X, y, weight=None, at=None):
    """All numbers that a fresh model gives, or None if it refuses with a reason."""
    model, at = clone(model), X if at is None else at
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", LinAlgWarning)  # rows of no weight leave too few
        try:
            model.fit(X, y, *([] if weight is None else [weight]))
            found = [model.coef_, np.asarray(model.intercept_)]
            if "return_std" in inspect.signature(model.predict).parameters:
                found += model.predict(at, return_std=True)
            names = ["predict", "decision_function", "predict_proba", "predict_log_proba"]
            found += [getattr(model, name)(at) for name in names if hasattr(model, name)]
        except ValueError as error:
            if not re.search(TOLD, str(error)):
                raise
            return None
    return found


@each_model
@pytest.mark.parametrize("y_scale", [1.0, 1e30, 1e-40])
@pytest.mark.parametrize("x_scale", [1e30, 1e37, 1e-40, [1e30, 1.0, 1e-40]], ids=str)
def test_float32(model, x_scale, y_scale):
    with np.errstate(under="ignore"):
        X, y = rows_and_targets(model, np.asarray(x_scale), y_scale, np.float32)
    found = outputs_or_refusal(model, X, y)
    assert found is None or all(np.isfinite(v).all() for v in found)


@each_model
@pytest.mark.parametrize("y_scale", [1.0, 1e150, 1e300, 1e-310])
@pytest.mark.parametrize("x_scale", [1.0, 1e150, 1e300, 1e-310])
def test_float64(model, x_scale, y_scale):
    found = outputs_or_refusal(model, *rows_and_targets(model, x_scale, y_scale))
    assert found is None or all(np.isfinite(v).all() for v in found)


@each_model
@pytest.mark.parametrize("size", [1e200, 1e300, 1e306])
def test_predictions_of_huge_rows(model, size):
    X, y = rows_and_targets(model)
    found = outputs_or_refusal(model, X, y, at=np.sign(X) * size)
    assert found is None or all(np.isfinite(v).all() for v in found)
    if size <= 1e300:
        assert found is not None  # the answer is a float, so it has to come


@each_model
@pytest.mark.parametrize(
    "weight",
    [
        np.full(40, 1e-300),
        np.full(40, 1e300),
        np.full(40, 5e-324),
        10.0 ** np.linspace(-300, 300, 40),
        np.append(1e300, np.full(39, 1e-300)),
    ],
    ids=["tiny", "huge", "denormal", "mixed", "one"],
)
def test_weights(model, weight):
    if "sample_weight" not in inspect.signature(model.fit).parameters:
        pytest.skip("it takes no weights")
    found = outputs_or_refusal(model, *rows_and_targets(model), weight)
    assert found is None or all(np.isfinite(v).all() for v in found)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
@pytest.mark.parametrize(
    "model",
    [LinearRegression(), LinearRegression(positive=True), Lasso(0.01), LeastAbsoluteDeviations()],
    ids=str,
)
def test_a_scale_of_the_weights_does_not_matter(model, scale):
    X, y = rows_and_targets(model)
    plain = clone(model).fit(X, y)
    scaled = clone(model).fit(X, y, np.full(40, scale))
    np.testing.assert_allclose(scaled.coef_, plain.coef_, rtol=1e-8)


@pytest.mark.parametrize("alpha", [0.0, 0.01])
def test_least_absolute_deviations_of_denormal_columns_says_so(alpha):
    """The coefficients fit into float64 and not into float32."""
    X, y = rows_and_targets(LeastAbsoluteDeviations(), 1e-40, 1.0, np.float32)
    if alpha == 0:
        with pytest.raises(ValueError, match="beyond float32"):
            LeastAbsoluteDeviations().fit(X, y)
    else:  # the penalty leaves them at zero
        assert not LeastAbsoluteDeviations(alpha=alpha).fit(X, y).coef_.any()


def test_a_perceptron_of_large_float32_rows_counts_its_mistakes():
    """A product of two such numbers is beyond float32, and so was a score."""
    X, y = rows_and_targets(Perceptron(), 1e30, dtype=np.float32)
    large = Perceptron(max_iter=20, tol=1000, fit_intercept=False).fit(X, y)
    small = Perceptron(max_iter=20, tol=1000, fit_intercept=False).fit(X * np.float32(1e-30), y)
    assert large.n_updates_ == small.n_updates_
