"""What a class declares of the shapes of what it learned is so, is documented, and is enforced.

A file has a checksum, but whoever writes a file can compute it: compiled code must not be led out
of its arrays by one.
"""

import contextlib
import inspect
import re

import numpy as np
import pytest
from scipy import sparse

import panlearn
from panlearn.core.encoding import Decoder, Encoder
from panlearn.core.learned import declared
from panlearn.core.persistence import ModelFileError
from panlearn.linear import BayesianLinearRegression

FAMILIES = "linear tree bayes kernel latent neighbors sequence graphical".split()
CLASSES = [cls for _, cls in panlearn.all_estimators() if cls.__module__.split(".")[1] in FAMILIES]
SHORT = {"max_iter": 20, "n_estimators": 3, "n_iter": 20, "n_burn_in": 10, "max_epochs": 2}


def _fitted(cls, library, **parameters):
    names = inspect.signature(cls).parameters
    short = {name: value for name, value in SHORT.items() if name in names}
    X, y = library.problem(cls, classes=3)
    model = library.make(cls, **{**short, **parameters})
    return library.quietly(lambda: model.fit(X, y)), X, y


def _is_array(value):
    return isinstance(value, np.ndarray) or sparse.issparse(value)


def _arrays(value):
    """Each array in an attribute, with a function that gives the attribute with another there."""
    if _is_array(value):
        yield value, lambda new: new
    elif isinstance(value, list | tuple):
        for i, member in enumerate(value):
            if _is_array(member):
                yield member, lambda new, i=i: type(value)([*value[:i], new, *value[i + 1 :]])
    elif isinstance(value, dict):
        for key, member in value.items():
            if _is_array(member):
                yield member, lambda new, key=key: {**value, key: new}


def _with(model, name, value):
    changed = object.__new__(type(model))
    changed.__setstate__({**vars(model), name: value})
    return changed


def _loaded(model):
    encoder = Encoder()
    code = encoder.encode(model)
    return Decoder(encoder.arrays).decode(code)


def _other_shapes(array):
    array = array.toarray() if sparse.issparse(array) else array
    for axis in range(array.ndim):
        if array.shape[axis]:
            yield axis, np.delete(array, 0, axis)
            yield axis, np.concatenate([array, array], axis)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_learned_array_is_declared_and_another_shape_is_refused_or_harmless(cls, library):
    model, X, y = _fitted(cls, library)
    _loaded(model)
    for name, value in library.learned(model).items():
        arrays = list(_arrays(value))
        known = name in declared(cls) or hasattr(cls, "_check_learned")
        assert not arrays or known, f"the shape of {name} is not declared"
        forms = _plain(declared(cls).get(name, ""))
        for array, put in arrays:
            for axis, other in _other_shapes(array):
                try:
                    loaded = _loaded(_with(model, name, put(other)))
                except ValueError:
                    continue
                assert not all(form[axis : axis + 1] == (True,) for form in forms), f"{name} passes"
                library.quietly(lambda loaded=loaded: _ask(loaded, X, y))


# What compiled code reads or writes beside another array, which was out of bounds once.
BESIDE = {
    "Perceptron": "coef_ intercept_ n_updates_",
    "RecursiveLeastSquares": "theta_ triangle_ prior_",
    "LogisticRegression": "coef_ intercept_",
    "BayesianNetwork": "states_ cpts_ parents_ variables_",
    "GaussianHMM": "startprob_ transmat_ means_ covars_",
    "GMMHMM": "startprob_ transmat_ weights_ means_ covars_",
    "CategoricalHMM": "startprob_ transmat_ emissionprob_ categories_",
    "KalmanFilter": "transition_ observation_ initial_mean_ observation_covariance_",
    "GaussianMixture": "weights_ means_ covariances_ precisions_",
    "CategoricalMixture": "weights_ feature_prob_ categories_",
    "DirichletProcessMixture": "means_ weights_ covariances_",
    "KMeans": "cluster_centers_ cluster_weights_",
    "KernelDensity": "X_ log_weight_",
    "KNeighborsClassifier": "X_ y_",
    "RadiusNeighborsRegressor": "X_ y_",
    "SVC": "support_ support_vectors_ intercept_ n_support_",
    "CategoricalNB": "feature_log_prob_ category_count_ class_log_prior_ classes_",
    "GaussianNB": "theta_ var_ class_prior_ classes_",
    "MatrixFactorization": "user_factors_ item_factors_ user_bias_ item_bias_",
    "BernoulliRBM": "components_ intercept_hidden_ intercept_visible_",
}


@pytest.mark.parametrize("name", BESIDE)
def test_arrays_that_do_not_go_together_are_refused(name, library):
    model, *_ = _fitted(dict(panlearn.all_estimators())[name], library)
    for attribute in BESIDE[name].split():
        value = getattr(model, attribute)
        for other in (value[:-1], [*value, value[-1]]):
            other = np.array(other) if isinstance(value, np.ndarray) else type(value)(other)
            with pytest.raises(ValueError, match=r"must be|are not|is not"):
                _loaded(_with(model, attribute, other))


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("name", ["GaussianMixture", "GaussianHMM", "GMMHMM"])
def test_covariances_are_those_of_their_kind(name, kind, library):
    model, *_ = _fitted(dict(panlearn.all_estimators())[name], library, covariance_type=kind)
    assert type(_loaded(model)) is type(model)
    for other in {"full", "tied", "diag", "spherical"} - {kind}:
        with pytest.raises(ValueError, match="covar"):
            _loaded(_with(model, "covariance_type", other))


@pytest.mark.parametrize("name", ["KNeighborsClassifier", "GaussianProcessClassifier"])
@pytest.mark.parametrize("wrong", [-1, 3, 10**6, 0.5])
def test_indices_beyond_what_they_index_are_refused(name, wrong, library):
    model, *_ = _fitted(dict(panlearn.all_estimators())[name], library)
    attribute = "y_" if hasattr(model, "y_") else "y_train_"
    value = getattr(model, attribute).astype(type(wrong))
    value[0] = wrong
    with pytest.raises(ValueError, match=f"{attribute} of {name} must be .* < n_classes"):
        _loaded(_with(model, attribute, value))


def _ask(model, X, y):
    """Whatever it says, the process goes on."""
    for name in ("predict", "predict_proba", "decision_function", "transform", "score_samples"):
        if hasattr(model, name):
            with contextlib.suppress(Exception):
                getattr(model, name)(X)
    if hasattr(model, "partial_fit"):
        with contextlib.suppress(Exception):
            model.partial_fit(X, y)


@pytest.mark.parametrize("n", [1, 3, 5, 4000, True, -4, None, "4", 4.0])
def test_a_false_number_of_features_is_refused(n, library):
    model, *_ = _fitted(panlearn.latent.KMeans, library)
    with pytest.raises(ValueError, match=r"n_features(_in_ is no| = )"):
        _loaded(_with(model, "n_features_in_", n))


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_the_documented_shape_is_the_declared_one(cls):
    section = re.search(r"\nAttributes\n-+\n(.*?)(\n\n\w+\n---|\Z)", inspect.getdoc(cls), re.S)[1]
    for names, said in re.findall(r"^(\w[\w, ]*) : .*?of shape (\(.*\))$", section, re.M):
        for name in names.split(", "):
            if name in declared(cls):
                assert _plain(said) <= _plain(declared(cls)[name]), f"{name} of {cls.__name__}"


def _plain(shape):
    """Of each form in a shape, which axes are the features; other words differ, as k does."""
    forms = [form for form in re.findall(r"\(([^()]*)\)", str(shape)) if form != "+ 1"]
    words = [re.findall(r"[^,\s][^,]*", form) for form in forms]
    return {tuple(word in ("n_features", "n_features_in_") for word in form) for form in words}


def test_a_model_of_a_version_that_kept_other_things_is_refused_with_what_to_do(tmp_path):
    """As the posterior covariance was kept, which is now worked out when it is asked for."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    model = BayesianLinearRegression().fit(X, X @ [1.0, -2.0, 3.0])
    vars(model)["sigma_"] = model.sigma_
    del model.axes_
    panlearn.save(model, tmp_path / "model")
    with pytest.raises(
        ModelFileError, match=r"keeps sigma_ of BayesianLinearRegression.*fit the model again"
    ):
        panlearn.load(tmp_path / "model")
