"""Find the estimators that suit a task, and make one that a comparison is fair to."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import panlearn
from panlearn.core.errors import DataError, did_you_mean, listed
from panlearn.core.inventory import families_left_out as families_left_out
from panlearn.core.inventory import unknown as unknown

# Compared when asked for by name, and why.
WRAPPED = "decides otherwise on the scores of a model that it is given"
RADIUS = "has a radius, of which none suits every table"
TWIN = "is LSSVC unless its kernel tells a source from a target, and none suits every table"
IMAGES = "is for images, and these columns are no pixels"
BY_NAME = {
    "AbstainingClassifier": WRAPPED,
    "AdversarialTraining": WRAPPED,
    "AsymmetricLSSVC": TWIN,
    "CostSensitiveClassifier": WRAPPED,
    "FairPostprocessor": WRAPPED,
    "FairRegularizer": WRAPPED,
    "RadiusNeighborsClassifier": RADIUS,
    "RadiusNeighborsRegressor": RADIUS,
}
FEWEST_PIXELS = 64  # columns of one range that may be an image though their names do not say so
BRIGHTEST = 255


def field(task: str, X: pd.DataFrame) -> tuple[list[str], list[str]]:
    """The models that a table is compared with if none is named, and why others are left out.

    Parameters
    ----------
    task : {"classification", "regression"}
    X : data frame
        The features, tidy.

    Returns
    -------
    names : list of str
    left_out : list of str
        A sentence for each reason, with the names.
    """
    known = estimators(task)
    reasons = {name: why for name, why in BY_NAME.items() if name in known}
    if not of_pixels(X):
        reasons |= {name: IMAGES for name in known if sees_images(known[name])}
    left_out: dict[str, list[str]] = {}
    for name, why in reasons.items():
        left_out.setdefault(why, []).append(name)
    said = [
        f"{listed(names)}{': each' if len(names) > 1 else ''} {why}"
        for why, names in left_out.items()
    ]
    return [name for name in known if name not in reasons], said


def sees_images(cls: type) -> bool:
    """Whether an estimator takes rows for images, of which neighbouring pixels belong together."""
    return bool(get_tags(cls()).input_tags.three_d_array)


def of_pixels(X: pd.DataFrame) -> bool:
    """Whether the columns of a table may be the pixels of an image.

    Their names say so, or they are many and all in one range of brightness: from 0 to 1, or whole
    numbers from 0 to 255.
    """
    if not all(types.is_numeric_dtype(X[name]) for name in X.columns):
        return False
    if all(str(name).lower().startswith("pixel") for name in X.columns):
        return True
    values = X.to_numpy()
    if X.shape[1] < FEWEST_PIXELS or np.nanmin(values) < 0:
        return False
    most = np.nanmax(values)
    return bool(most <= 1 or (most <= BRIGHTEST and np.all(np.isnan(values) | (values % 1 == 0))))


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
