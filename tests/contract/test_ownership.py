"""A fitted model is its own: neither the caller's arrays nor an early call can get at it."""

import copy
import inspect

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

# Arguments that are looked at before anything else, so that they must be right.
ARGUMENTS = {"text": "a text", "ids": [0], "tokens": [0], "steps": 2, "n_steps": 2, "n": 2}
GROW = {"cost_complexity_pruning_path"}  # grows a tree of its own, so that it needs no fit
OF_SCIKIT_LEARN = {
    "get_params",
    "set_params",
    "get_metadata_routing",
    "set_output",
    "set_callbacks",
}


def _spoil(thing):
    """Overwrite arrays in place, however deep in lists they lie."""
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        thing[...] = thing[::-1].copy() + (7 if thing.dtype.kind in "fiu" else thing[:1] * 0)
    elif isinstance(thing, list | np.ndarray):
        for i, part in enumerate(thing):
            if isinstance(part, str):
                thing[i] = "another text"
            else:
                _spoil(part)


def _probe(cls, library):
    """Rows that fit has not seen, and what the model says of them."""
    return library.problem(cls, seed=3)[0]


def test_changing_the_data_after_fit_changes_nothing(every_class, library):
    X, y = copy.deepcopy(library.problem(every_class))
    weighted = "sample_weight" in inspect.signature(every_class.fit).parameters
    weight = {"sample_weight": 1.0 + np.arange(len(X)) % 3} if weighted else {}
    model = library.brief(every_class)
    library.quietly(lambda: model.fit(X, y, **weight))
    probe = _probe(every_class, library)
    before, learned = library.outputs(model, probe), copy.deepcopy(library.learned(model))
    for given in (X, y, *weight.values()):
        _spoil(given)
    for name, value in library.outputs(model, probe).items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)
    for name, value in learned.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(model, name), value, err_msg=name)


# Hyper-parameters that are arrays, for the problem of two classes and four columns.
ARRAYS = {
    "GaussianNB": {"priors": [0.3, 0.7]},
    "LinearDiscriminantAnalysis": {"priors": [0.3, 0.7]},
    "QuadraticDiscriminantAnalysis": {"priors": [0.3, 0.7]},
    "MultinomialNB": {"class_prior": [0.3, 0.7]},
    "BernoulliNB": {"class_prior": [0.3, 0.7]},
    "CategoricalNB": {"class_prior": [0.3, 0.7]},
    "Ridge": {"alpha": [0.5]},
    "KernelRidge": {"alpha": [0.5]},
    "BayesianLinearRegression": {"prior_covariance": np.eye(4)},
    "RecursiveLeastSquares": {"prior_covariance": np.eye(4)},
    "KMeans": {"init": np.arange(32.0).reshape(8, 4)},
    "GaussianMixture": {"means_init": np.zeros((1, 4))},
}


def test_changing_an_array_among_the_parameters_after_fit_changes_nothing(every_class, library):
    if every_class.__name__ not in ARRAYS:
        pytest.skip("has no such parameter")
    X, y = library.problem(every_class)
    given = {name: np.array(v, dtype=float) for name, v in ARRAYS[every_class.__name__].items()}
    model = library.brief(every_class, **given)
    library.quietly(lambda: model.fit(X, y))
    before = library.outputs(model, X)
    for array in given.values():
        array[...] = array[::-1].copy() + 3
    for name, value in library.outputs(model, X).items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


def _public_methods(cls):
    """Methods that answer something: not those that fit, and not scikit-learn's own."""
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        static = isinstance(inspect.getattr_static(cls, name), staticmethod | classmethod)
        skip = name.startswith("_") or name.endswith("_request") or name in OF_SCIKIT_LEARN | GROW
        if not (static or skip or "fit" in name):
            yield name, method


def test_every_method_before_fit_says_so(every_class, library):
    X, y = library.problem(every_class)
    wrong = {}
    for name, method in _public_methods(every_class):
        needed = [
            p
            for p in list(inspect.signature(method).parameters.values())[1:]
            if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY)
        ]
        given = [y if p.name == "y" else ARGUMENTS.get(p.name, X) for p in needed]
        model = library.make(every_class)
        if not hasattr(model, name):
            continue
        try:
            more = {"positive": "ship"} if name == "most_similar" else {}
            answer = getattr(model, name)(*given, **more)
            next(answer if inspect.isgenerator(answer) else iter(()), None)
        except NotFittedError:
            continue
        except Exception as error:
            wrong[name] = f"{type(error).__name__}: {error}"
        else:
            wrong[name] = "answered"
    assert not wrong
