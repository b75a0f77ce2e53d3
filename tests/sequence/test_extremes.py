"""Extreme numbers, rows without spread, and models that are not fitted yet."""

import inspect

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from panlearn.sequence import GMMHMM, CategoricalHMM, GaussianHMM, KalmanFilter, MarkovChain

MODELS = {
    "diag": GaussianHMM(2, random_state=0, tol=1e-2),
    "full": GaussianHMM(2, covariance_type="full", random_state=0, tol=1e-2),
    "mixture": GMMHMM(2, 2, random_state=0, tol=1e-2),
    "tied mixture": GMMHMM(2, 2, covariance_type="tied", random_state=0, tol=1e-2),
    "paths": GMMHMM(2, 2, training="viterbi", random_state=0, tol=1e-2),
    "filter": KalmanFilter(1, random_state=0, tol=1e-1),
}
CASES = {
    "tiny": lambda X: 1e-30 * X,
    "huge": lambda X: 1e30 * X,
    "scales": lambda X: X * [1e-30, 1.0, 1e10],
    "constant column": lambda X: np.column_stack([X, np.full(len(X), 7.0)]),
    "constant": lambda X: np.full_like(X, 3.0),
    "zero": lambda X: 0 * X,
    "one row": lambda X: X[:1],
    "outlier": lambda X: np.vstack([X, [1e12, 0.0, 0.0]]),
    "missing column": lambda X: X * [1.0, np.nan, 1.0],
    "offset": lambda X: X + 1e6,
}
REFUSED = {"huge": "beyond float32; rescale", "missing column": "column 1 of X is NaN in every row"}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", MODELS)
def test_extreme_rows_give_finite_numbers_or_a_clear_refusal(name, case, dtype, rng, library):
    model = MODELS[name]
    X = CASES[case](rng.normal(size=(30, 3))).astype(dtype)
    if case in REFUSED and not (case == "huge" and dtype is np.float64):
        with pytest.raises(ValueError, match=REFUSED[case]):
            library.quietly(lambda: model.fit(X))
        return
    library.quietly(lambda: model.fit(X))
    found = {n: v for n, v in vars(model).items() if n.endswith("_") and hasattr(v, "dtype")}
    found |= {"sample": model.sample(3, 0)[0], "score": model.score_samples(X)}
    for attribute, value in found.items():
        assert np.isfinite(value).all(), attribute
        if attribute != "score":
            assert value.dtype == dtype, attribute
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("name", ["diag", "full", "mixture", "tied mixture"])
def test_a_step_beyond_the_reach_of_every_state_is_told(name, rng, library):
    model = library.quietly(lambda: MODELS[name].fit(rng.normal(size=(30, 3))))
    far = np.full((2, 3), 1e200)
    assert model.score(far) == -np.inf
    with pytest.raises(ValueError, match="probability zero under this model"):
        model.predict(far)


def test_a_step_that_one_state_cannot_reach_belongs_to_the_other(library):
    """Its density underflows in all parts of a state, which is no reason for NaN."""
    model = GMMHMM(
        2,
        2,
        means_init=[[[0.0], [1.0]], [[1e160], [2e160]]],
        covars_init=np.array([[[1.0], [1.0]], [[1e300], [1e300]]]),
        max_iter=1,
    )
    X = np.array([[0.0], [1.0], [0.5], [0.2], [1.1]])
    library.quietly(lambda: model.fit(X))
    assert np.isfinite(model.means_).all()
    assert np.isfinite(model.transmat_).all()
    np.testing.assert_array_equal(model.predict(X), 0)


def _called(model, name, method, given):
    if isinstance(method, property):
        return getattr(model, name)
    parameters = list(inspect.signature(method).parameters.values())[1:]
    needed = [p for p in parameters if p.default is p.empty and p.kind < p.VAR_POSITIONAL]
    return getattr(model, name)(*[given] * len(needed))


@pytest.mark.parametrize(
    "cls",
    [GaussianHMM, GMMHMM, CategoricalHMM, KalmanFilter, MarkovChain],
    ids=lambda cls: cls.__name__,
)
def test_methods_before_fit_say_so(cls):
    X = ["a", "b"] if cls in (CategoricalHMM, MarkovChain) else np.zeros((4, 2))
    given = {"law": 3, "n_step": 3}
    found = 0
    for name, method in inspect.getmembers(cls):
        public = not name.startswith(("_", "from_", "set_", "get_")) and "fit" not in name
        public = public and name not in ("warm_start", "fields")
        if public and (callable(method) or isinstance(method, property)):
            with pytest.raises(NotFittedError):
                _called(cls(), name, method, given.get(name, X))
            found += 1
    assert found > 5
