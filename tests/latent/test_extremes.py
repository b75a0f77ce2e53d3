"""Values near the ends of the floats, rows that do not vary, and rows from generators."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panlearn.latent import (
    GPLVM,
    NMF,
    PCA,
    BernoulliRBM,
    DirichletProcessMixture,
    FactorAnalysis,
    GaussianMixture,
    IndianBuffetFactors,
    Isomap,
    KMeans,
    LocallyLinearEmbedding,
    ProbabilisticPCA,
)

MODELS = {
    "PCA": lambda: PCA(2),
    "PCA, white": lambda: PCA(2, whiten=True),
    "ProbabilisticPCA": lambda: ProbabilisticPCA(2),
    "FactorAnalysis": lambda: FactorAnalysis(2),
    "KMeans": lambda: KMeans(2, random_state=0),
    "GaussianMixture": lambda: GaussianMixture(2, random_state=0),
    "GaussianMixture, diagonal": lambda: GaussianMixture(2, covariance_type="diag", random_state=0),
    "DirichletProcessMixture": lambda: DirichletProcessMixture(
        n_iter=6, n_burn_in=2, random_state=0
    ),
    "IndianBuffetFactors": lambda: IndianBuffetFactors(n_iter=6, n_burn_in=2, random_state=0),
    "Isomap": lambda: Isomap(4),
    "LocallyLinearEmbedding": lambda: LocallyLinearEmbedding(4),
    "GPLVM": lambda: GPLVM(2, max_iter=10),
    "BernoulliRBM": lambda: BernoulliRBM(3, n_iter=2, random_state=0),
    "NMF": lambda: NMF(2, random_state=0),
}
CLEAR = "rescale|overflow|beyond|too large|too small|more than|scale it|should be >=|must be below"
USES = (
    "transform",
    "predict",
    "predict_proba",
    "score_samples",
    "score",
    "predict_anomaly",
    "impute",
    "inverse_transform",
    "get_covariance",
    "get_precision",
    "sample",
    "reconstruction_error",
)
each = pytest.mark.parametrize("name", MODELS)
some = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rows(name, scale, dtype):
    base = np.random.default_rng(0).normal(size=(24, 3))
    base[:12] += 3
    with np.errstate(over="ignore", under="ignore"):
        X = np.clip(base * scale, -np.finfo(dtype).max, np.finfo(dtype).max).astype(dtype)
    return np.abs(X) if name == "NMF" else X


def learned(model, X):
    """The fitted model, or None if it says clearly why not."""
    try:
        return model.fit(X)
    except ValueError as error:
        if not re.search(CLEAR, str(error)):
            raise
        return None


def assert_usable(model, X):
    """Each way to use it gives finite numbers, in the floats of X, or says clearly why not."""
    for use in USES:
        if not hasattr(model, use):
            continue
        try:
            if use in ("get_covariance", "get_precision", "reconstruction_error"):
                found = getattr(model, use)()
            elif use == "sample":
                found = model.sample(2, random_state=0)
            elif use == "inverse_transform":
                found = model.inverse_transform(model.transform(X))
            else:
                found = getattr(model, use)(X)
        except ValueError as error:
            if not re.search(CLEAR, str(error)):
                raise
            continue
        for part in found if isinstance(found, tuple) else (found,):
            part = np.asarray(part)
            assert np.isfinite(part).all(), use
            if part.ndim and part.dtype.kind == "f":
                assert part.dtype == X.dtype, use


@some
@each
@pytest.mark.parametrize(
    ("scale", "dtype"),
    [
        (1e-44, "f4"),
        (1e-40, "f4"),
        (1e30, "f4"),
        (3e38, "f4"),
        (5e-324, "f8"),
        (1e-300, "f8"),
        (1e-150, "f8"),
        (1e100, "f8"),
        (1e153, "f8"),
        (1e200, "f8"),
        (1e308, "f8"),
    ],
)
def test_rows_of_any_size_give_finite_numbers_or_a_reason(name, scale, dtype):
    X = rows(name, scale, np.dtype(dtype))
    model = learned(MODELS[name](), X)
    if model is not None:
        for key, value in vars(model).items():
            if key.endswith("_") and np.asarray(value).dtype.kind == "f":
                assert np.isfinite(value).all(), key
        assert_usable(model, X)
    ordinary = MODELS[name]().fit(rows(name, 1.0, np.dtype(dtype)))
    assert_usable(ordinary, X)


@some
@each
def test_rows_that_hardly_vary(name):
    X = rows(name, 1.0, np.dtype(float))
    flat, twice = X.copy(), np.repeat(X[:3], 8, axis=0)
    flat[:, 1] = 2.0
    for data in (flat, twice, np.full_like(X, 3.0), np.zeros_like(X), X[:1]):
        model = learned(MODELS[name](), data)
        if model is not None:
            assert_usable(model, data)


@pytest.mark.parametrize("name", ["Isomap", "DirichletProcessMixture", "IndianBuffetFactors"])
def test_what_is_learned_from_float32_is_float32(name):
    model = MODELS[name]().fit(rows(name, 1.0, np.dtype(np.float32)))
    for key, value in vars(model).items():
        if key.endswith("_") and isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert value.dtype == np.float32, key


@some
@settings(max_examples=12, deadline=None)
@given(power=st.integers(-60, 60), seed=st.integers(0, 99))
@pytest.mark.parametrize("cls", [ProbabilisticPCA, FactorAnalysis])
def test_a_power_of_two_scales_the_model_and_shifts_the_density(cls, power, seed):
    X = np.random.default_rng(seed).normal(size=(30, 4)) @ np.diag([3.0, 2.0, 1.0, 0.5])
    factor = 2.0**power
    one, other = cls(2).fit(X), cls(2).fit(X * factor)
    # the likelihood is within the tolerance 1e-8 of its maximum, and flat there
    assert other.score(X * factor) + 4 * np.log(factor) == pytest.approx(one.score(X), abs=1e-6)


@some
@pytest.mark.parametrize("name", ["Isomap", "LocallyLinearEmbedding", "GPLVM"])
def test_a_model_does_not_share_the_rows_of_its_caller(name):
    X = rows(name, 1.0, np.dtype(float))
    new = X[:5] + 0.1
    model = MODELS[name]().fit(X)
    before = model.transform(new)
    X[:] = 0.0
    np.testing.assert_array_equal(model.transform(new), before)


ONE_WALK = {"PCA", "PCA, white", "ProbabilisticPCA", "FactorAnalysis"}


@pytest.mark.parametrize("name", sorted(ONE_WALK))
def test_a_generator_of_batches_is_a_stream(name):
    X = rows(name, 1.0, np.dtype(float))
    stream = MODELS[name]().fit(X[i : i + 5] for i in range(0, len(X), 5))
    np.testing.assert_allclose(stream.components_, MODELS[name]().fit(X).components_, atol=1e-8)


@pytest.mark.parametrize("name", sorted(set(MODELS) - ONE_WALK))
@pytest.mark.parametrize("size", [5, 1])
def test_a_generator_is_refused_where_rows_are_walked_again_or_held(name, size):
    X = rows(name, 1.0, np.dtype(float))
    parts = (X[i : i + size] if size > 1 else X[i] for i in range(0, len(X), size))
    with pytest.raises(ValueError, match=r"walks the data several times|X is a stream"):
        MODELS[name]().fit(parts)
