"""Weights are repetitions, and floats keep their size."""

import numpy as np
import pytest
from sklearn.base import is_classifier

# Whose solutions are many, so that where an iteration stops is seen in the numbers.
NOT_UNIQUE = {"MatrixFactorization", "NMF"}
# Who learn with noise, which is drawn in the floats of the rows and so is another, or a function of
# many bends, in which rounding grows with the steps.
NOT_UNIQUE |= {
    "BYOL",
    "ContinuousNormalizingFlow",
    "EnergyModel",
    "ImportanceWeightedVAE",
    "InfoGAN",
    "MaskedAutoregressiveFlow",
    "RealNVP",
    "ScoreModel",
    "SimCLR",
    "VAE",
    "VICReg",
    "VaDE",
}


def _weights(X):
    return np.random.default_rng(5).integers(0, 4, len(X))


def test_an_integer_weight_is_a_repeated_row_and_zero_an_absent_one(weighted_class, library):
    X, y = library.problem(weighted_class)
    weight = _weights(X)
    options = library.fixed_draws(weighted_class, len(X))
    weighted = library.make(weighted_class, **options).fit(X, y, sample_weight=weight)
    index = np.repeat(np.arange(len(X)), weight)
    repeated = library.make(weighted_class, **options)
    repeated.fit(X[index], None if y is None else y[index])
    # both solve the same problem; what iterates stops within its own tolerance of it
    rtol = 1e-8 if not hasattr(weighted, "tol") else 1e-5
    # sums in another order in float32, step after step
    library.same(weighted, repeated, X, rtol=1e-3 if hasattr(weighted, "weights_") else rtol)


def test_weights_of_one_are_no_weights(weighted_class, library):
    X, y = library.problem(weighted_class)
    weighted = library.make(weighted_class).fit(X, y, sample_weight=np.ones(len(X)))
    library.same(weighted, library.make(weighted_class).fit(X, y), X, rtol=1e-8)


def test_a_number_weighs_every_row(weighted_class, library):
    X, y = library.problem(weighted_class)
    number = library.make(weighted_class).fit(X, y, sample_weight=2.0)
    library.same(
        number, library.make(weighted_class).fit(X, y, sample_weight=np.full(len(X), 2.0)), X, 0
    )


BAD_WEIGHTS = {
    "negative": (lambda w: -w, "egative"),
    "nan": (lambda w: np.where(w == w.max(), np.nan, w), "NaN"),
    "infinite": (lambda w: np.where(w == w.max(), np.inf, w), "inf"),
    "all zero": (lambda w: 0 * w, "zero"),
    "short": (lambda w: w[:-1], "sample_weight"),
    "two columns": (lambda w: w[:, None] * np.ones(2), "1D|1-d|dimension"),
    "text": (lambda w: np.array(["a"] * len(w)), "convert|sample_weight"),
}


def test_bad_weights_are_refused_by_name(weighted_class, library):
    X, y = library.problem(weighted_class)

    def try_one(case):
        change, says = BAD_WEIGHTS[case]
        with pytest.raises((ValueError, TypeError), match=says):
            library.make(weighted_class).fit(X, y, sample_weight=change(_weights(X).astype(float)))

    library.each(BAD_WEIGHTS, try_one)


def test_float32_in_float32_out(any_class, library):
    X, y = library.problem(any_class)
    X32 = X.astype(np.float32)
    y32 = y if y is None or is_classifier(any_class()) else y.astype(np.float32)
    # the default tolerance: float32 cannot reach the one of `make`
    model = any_class(**{"random_state": 0} if hasattr(any_class(), "random_state") else {})
    if hasattr(model, "max_epochs") or hasattr(model, "radius"):
        model = library.make(any_class)
    library.quietly(lambda: model.fit(X32, y32))
    for name in ("coef_", "components_", "means_", "covariances_", "scale_"):
        value = getattr(model, name, None)
        assert not isinstance(value, np.ndarray) or value.dtype == np.float32, name
    double = library.make(any_class).fit(X, y)
    for name, value in library.outputs(model, X32).items():
        expected = getattr(double, name)(X)
        if np.asarray(expected).dtype.kind == "f":
            assert value.dtype == np.float32, name
            if any_class.__name__ in NOT_UNIQUE:
                continue
            scale = np.abs(expected).max(initial=0)  # a model may find nothing, and so no column
            np.testing.assert_allclose(value, expected, rtol=0, atol=5e-3 * scale, err_msg=name)
