"""Wrong types and values of every hyper-parameter of every estimator, derived from the fields."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from panlearn.core.parameters import InvalidParameterError, _annotations, allows

# One value of each kind that a person might hand over by mistake.
VALUES = [
    *(None, True, np.True_, "nonsense", "", b"1", 1 + 1j, object(), {}, set(), [], (), [-1.0]),
    *(-1, 0, 1, 2, -1.5, 0.5, 1.5, Fraction(1, 3), np.float32(0.5), np.int64(2), np.float64(-1)),
    *(float("nan"), float("inf"), float("-inf"), np.nan, 10**400, -(10**400), "1", "1.0", int),
    *(np.array([np.nan]), np.array([-1.0]), np.array(["a"]), np.ones((2, 2)), np.array(0.5)),
]


# Limits are set below; a folder would be written to, and a compiler takes its time: both have tests
# of their own.
SKIPPED = ("max_iter", "max_epochs", "max_steps", "checkpoint", "compile")


# The settings of the training loop do in all deep models what they do in these.
SHOW_SETTINGS = ("MLPRegressor", "RecurrentClassifier")


def _settings():
    settings = pytest.importorskip("panlearn.neural.settings", reason="needs the extra deep")
    return {field.name for field in dataclasses.fields(settings.Settings)}


def test_a_value_that_the_field_forbids_is_refused_by_name(every_class, library, tally):
    X, y = library.problem(every_class)
    usual = library.make(every_class).get_params(deep=False)
    tried = 0
    for name, annotation in _annotations(every_class).items():
        for value in VALUES:
            if allows(annotation, value):
                continue
            tried += 1
            model = every_class(**{**usual, name: value})  # the constructor never complains
            with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of") as caught:
                model.fit(X, y)
            assert "must be" in str(caught.value)
            assert "got" in str(caught.value)
            assert getattr(model, name) is value
    assert tried
    tally["bad parameters", "refused by name"] += tried


def test_a_value_that_the_field_allows_is_used_or_refused_by_name(every_class, library, tally):
    """Two parameters may not go together, or not with the data: then the error names one."""
    X, y = library.problem(every_class, n=30)  # few: a network that does not end answers at length
    names = {n: a for n, a in _annotations(every_class).items() if n not in SKIPPED}
    if every_class.__name__ not in SHOW_SETTINGS:
        names = {n: a for n, a in names.items() if n not in _settings()}
    for name, annotation in names.items():
        for value in _distinct(value for value in VALUES if allows(annotation, value)):
            model = library.brief(every_class, **{name: value})
            refusal = _refusal(lambda model=model: library.quietly(lambda: model.fit(X, y)))
            if refusal:
                assert any(n in refusal for n in _annotations(every_class)), (name, value, refusal)
                tally["odd parameters", "refused by name"] += 1
                continue
            try:
                outputs = library.outputs(model, X)
            except ValueError as error:  # as of a network that learned at a rate of one
                assert "beyond the floats" in str(error), (name, value)  # noqa: PT017
                continue
            tally["odd parameters", "finite numbers"] += 1
            for method, output in outputs.items():
                if np.asarray(output).dtype.kind == "f":
                    fine = np.isfinite(output)
                    if method == "score_samples":  # the logarithm of a density of zero
                        fine |= output == -np.inf
                    assert fine.all(), (name, value)


def _distinct(values):
    """Of those that are equal the last, which is NumPy's; plain ones are in all other tests."""
    number = (bool, int, float, np.number, np.bool_)
    return {v if isinstance(v, number) else id(v): v for v in values}.values()


def _refusal(call):
    try:
        call()
    except (ValueError, TypeError) as error:
        return str(error) or "an error without words"
    return ""


def test_partial_fit_checks_parameters_too(online_class, library):
    X, y = library.problem(online_class)
    for name, annotation in _annotations(online_class).items():
        forbidden = [v for v in VALUES if not allows(annotation, v)]
        if not forbidden:
            continue
        value = forbidden[0]
        with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of"):
            library.make(online_class, **{name: value}).partial_fit(X, y)
