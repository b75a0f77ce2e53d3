"""What the library holds, and what it runs on."""

from __future__ import annotations

import importlib
import inspect
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any

from sklearn.base import ClassifierMixin, ClusterMixin, RegressorMixin, TransformerMixin

import panlearn
from panlearn.core.errors import DataError, did_you_mean, listed
from panlearn.core.estimator import Estimator
from panlearn.core.extras import MissingExtraError

_KINDS = {
    "classifier": ClassifierMixin,
    "regressor": RegressorMixin,
    "transformer": TransformerMixin,
    "cluster": ClusterMixin,
}


def families() -> dict[str, ModuleType]:
    """Import every family that can be: those whose extra is not installed are left out.

    Returns
    -------
    dict of {name: module}
        In the order of `panlearn.FAMILIES`.
    """
    return {name: got for name, got in _imported().items() if isinstance(got, ModuleType)}


def left_out() -> dict[str, str]:
    """Say, for every family that cannot be imported, which extra it needs and how to get it."""
    return {name: str(got) for name, got in _imported().items() if not isinstance(got, ModuleType)}


def families_left_out() -> list[str]:
    """Write a line for each extra that is not installed: what needs it, and the remedy."""
    names: dict[str, list[str]] = {}
    for family, advice in left_out().items():
        names.setdefault(advice, []).append(family)
    return [f"left out {listed(found)}: {advice}" for advice, found in names.items()]


def unknown(name: str, what: str, known: list[str]) -> DataError:
    """Say that there is none of that name, what is near, and what cannot be looked into."""
    notes = "".join(f" ({note})" for note in families_left_out())
    return DataError(f"no {what}; {did_you_mean(name, known)}{notes}")


def _imported() -> dict[str, ModuleType | MissingExtraError]:
    found: dict[str, ModuleType | MissingExtraError] = {}
    for family in panlearn.FAMILIES:
        try:
            found[family] = importlib.import_module(f"panlearn.{family}")
        except MissingExtraError as error:
            found[family] = error
    return found


def all_estimators(type_filter: str | list[str] | None = None) -> list[tuple[str, type[Any]]]:
    """List every estimator of the library, as `sklearn.utils.discovery.all_estimators` does.

    Parameters
    ----------
    type_filter : {"classifier", "regressor", "transformer", "cluster"} or list, default=None
        Keep the estimators of one kind, or of any of several.

    Returns
    -------
    list of (name, class)
        Ordered by name. A family whose extra is not installed is left out.

    Examples
    --------
    >>> import panlearn
    >>> dict(panlearn.all_estimators("regressor"))["Ridge"]
    <class 'panlearn.linear.ridge.Ridge'>
    """
    wanted = [type_filter] if isinstance(type_filter, str) else type_filter
    if wanted is not None and (unknown := [k for k in wanted if k not in _KINDS]):
        raise ValueError(f"type_filter must be among {list(_KINDS)}; got {unknown}")
    found = {}
    for module in families().values():
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) and issubclass(thing, Estimator):
                found[name] = thing
    return [
        (name, cls)
        for name, cls in sorted(found.items())
        if wanted is None or any(issubclass(cls, _KINDS[k]) for k in wanted)
    ]


def show_versions() -> None:
    """Print the versions of Python, panlearn and what it uses, for a bug report."""
    print(f"python {sys.version.split()[0]} on {platform.platform()}")
    packages = ["panlearn", "numpy", "scipy", "scikit-learn", "numba", "safetensors"]
    for name in [*packages, "torch", "dask", "matplotlib", "pandas", "pyarrow"]:
        try:
            print(name, version(name))
        except PackageNotFoundError:
            print(name, "not installed")
