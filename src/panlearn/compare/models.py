"""Find the estimators that suit a task, and make one that a comparison is fair to."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import panlearn
from panlearn.core.errors import DataError, did_you_mean
from panlearn.core.inventory import families_left_out as families_left_out
from panlearn.core.inventory import unknown as unknown

# Compared when asked for by name: what decides otherwise on the scores of a model that it wraps,
# and what has a radius, of which none suits every table.
BY_NAME = (
    "AbstainingClassifier",
    "AdversarialTraining",
    "CostSensitiveClassifier",
    "FairPostprocessor",
    "FairRegularizer",
    "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor",
)


def estimators(task: str) -> dict[str, type]:
    """Every estimator of the library that classifies, or predicts numbers, from rows of a table."""
    kind = {"classification": "classifier", "regression": "regressor"}[task]
    found = panlearn.all_estimators(kind)
    return {name: cls for name, cls in found if get_tags(cls()).input_tags.two_d_array}


def find_estimator(name: str, task: str) -> type:
    """Look an estimator up by name, in any case, or by its path in scikit-learn."""
    if name.startswith("sklearn."):
        module, _, attribute = name.rpartition(".")
        try:
            cls = getattr(import_module(module), attribute)
        except (ImportError, AttributeError):
            raise DataError(f"scikit-learn has no {name}") from None
        if not isinstance(cls, type) or not issubclass(cls, BaseEstimator):
            raise DataError(f"{name} is no estimator")
        return cls
    known = estimators(task)
    exact = {k.lower(): k for k in known}.get(name.lower())
    if exact is not None:
        return known[exact]
    other = "regression" if task == "classification" else "classification"
    if name.lower() in {k.lower() for k in estimators(other)}:
        raise DataError(f"{name} is for {other}, and the task is {task}")
    raise unknown(name, f"estimator {name!r} for {task}", list(known))


def build(cls: type, settings: dict[str, Any], random_state: int) -> Any:
    """Make an estimator with these parameters and, where it takes one, the seed."""
    names = list(inspect.signature(cls).parameters)
    for name in settings:
        if name not in names:
            raise DataError(f"{cls.__name__} has no {name!r}; {did_you_mean(name, names)}")
    seed = {"random_state": random_state} if "random_state" in names else {}
    return cls(**{**seed, **settings})


def first_try(cls: type, random_state: int) -> Any:
    """Make an estimator that a comparison is fair to.

    The defaults of kernel methods are those of the field: a kernel that is not fitted to the data,
    and no intercept. Here the kernel has something to choose, and the target is standardised.
    """
    from panlearn.kernel.kernels import RBF, White

    smooth = 1.0 * RBF(1.0)
    settings: dict[str, dict[str, Any]] = {
        "GaussianProcessRegressor": {"kernel": smooth + White(1.0), "normalize_y": True},
        "GaussianProcessClassifier": {"kernel": smooth},
        "KernelRidge": {"kernel": "rbf"},
    }
    model = build(cls, settings.get(cls.__name__, {}), random_state)
    if cls.__name__ == "KernelRidge":
        return TransformedTargetRegressor(model, transformer=StandardScaler())
    return model
