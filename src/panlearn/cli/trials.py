"""A small problem for every class that has compiled kernels: what `warm` runs."""

from __future__ import annotations

import importlib
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import get_tags

from panlearn.core.estimator import Estimator
from panlearn.core.interpretation import forbidden
from panlearn.core.jit import Kernel, watchers

ANSWERS = ("predict", "predict_proba", "decision_function", "transform", "score_samples", "sample")
WORDS = "the of and to is ship sea wind sail root leaf tree sap moss stone river".split()
ROWS = 300
# Families whose classes learn for long by what PyTorch compiled: of each, what goes on with a text.
WRITERS = {"transformer": ("GPT", (1, 16, 2, 16)), "statespace": ("Mamba", (1, 16))}


def kernels(family: str) -> list[Kernel]:
    """Every kernel that stands in a family."""
    importlib.import_module(f"panlearn.{family}")
    modules = [m for name, m in sys.modules.items() if name.startswith(f"panlearn.{family}.")]
    return [
        thing
        for module in modules
        for thing in vars(module).values()
        if isinstance(thing, Kernel) and thing.__module__ == module.__name__
    ]


def trials(family: str) -> dict[str, Callable[[], None]]:
    """What to run so that the kernels of a family are compiled, by name; nothing if it has none."""
    if not kernels(family):
        return {}
    module = importlib.import_module(f"panlearn.{family}")
    found: dict[str, Callable[[], None]] = {}
    for name in module.__all__ if family not in WRITERS else ():
        cls = getattr(module, name)
        if isinstance(cls, type) and issubclass(cls, Estimator):
            found[name] = partial(_try, cls, np.float64)
            if cls.capabilities.float32 and get_tags(cls()).input_tags.two_d_array:
                found[f"{name} in float32"] = partial(_try, cls, np.float32)
    return found | _FUNCTIONS.get(family, {})


@forbidden()
def _try(cls: type, dtype: Any) -> None:
    """Fit a class and ask it everything; that it learns nothing from so little is no matter."""
    X, y = problem(cls, dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = cls().fit(X, y) if y is not None else cls().fit(X)
        for name in ANSWERS:
            if hasattr(model, name):
                getattr(model, name)(*[X] if name != "sample" else ())


def problem(cls: type, n: int = ROWS, dtype: Any = np.float64) -> tuple[Any, Any]:
    """Samples and targets of the kind that a class learns from."""
    rng = np.random.default_rng(0)
    model = cls()
    tags = get_tags(model)
    wants = tags.input_tags
    if wants.string and not wants.two_d_array:
        y = rng.integers(2, size=n)
        texts = [" ".join(rng.choice(WORDS[8 * i :], size=6)) for i in y]
        if tags.target_tags.multi_output:
            return texts, [["long" if len(w) > 3 else "short" for w in t.split()] for t in texts]
        return texts, y if is_classifier(model) or is_regressor(model) else None
    X = rng.normal(size=(n, 5)).astype(dtype)
    if not wants.two_d_array:
        X += 4 * np.repeat(rng.integers(2, size=n), 5)[:n, None].astype(dtype)
        parts = np.split(np.abs(X[:, 0]).round() % 5 if wants.categorical else X, 10)
        if is_classifier(model):
            return parts, np.arange(len(parts)) % 2
        return parts, np.array([p.sum() for p in parts]) if is_regressor(model) else None
    signal = X @ np.linspace(1, -1, 5).astype(dtype)
    y = (signal > 0).astype(int) if is_classifier(model) else signal
    if wants.positive_only or wants.categorical:
        X = np.round(X - X.min())
    return X, y if is_classifier(model) or is_regressor(model) else None


@forbidden()
def _edits() -> None:
    from panlearn.text import edit_distance, edit_distances, edit_operations, fuzz, process

    for one, other in (("kitten", "sitting"), ("kitten" * 20, "sitting" * 20)):
        edit_distance(one, other)
        edit_operations(one, other)
        fuzz.ratio(one, other)
        fuzz.partial_ratio(one, other)
        process.extract(one, [other, one])
    edit_distances(WORDS, WORDS)


@forbidden()
def _ratings(dtype: Any) -> None:
    from panlearn.latent import MatrixFactorization

    MatrixFactorization().fit(problem(MatrixFactorization, 10 * ROWS, dtype)[0])


def writer(family: str) -> Any:
    """A small model that has learned to write a and b."""
    name, sizes = WRITERS[family]
    module = importlib.import_module(f"panlearn.{family}")
    config = getattr(module, f"{name}Config")(*sizes)
    return getattr(module, name)(config, max_steps=1, random_state=0).fit(["ab" * 50])


@forbidden()
def _write(family: str, dtype: str = "float32") -> None:
    """Write by the likeliest tokens and by some that are drawn."""
    model = writer(family)
    if dtype != "float32":
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            model = type(model).from_pretrained(folder, dtype=dtype)
    for temperature in (0.0, 1.0):
        model.generate("a", max_tokens=3, temperature=temperature)


_FUNCTIONS: dict[str, dict[str, Callable[[], None]]] = {
    "text": {"edit distances": _edits},
    "latent": {  # of few nothing is compiled
        "many ratings": partial(_ratings, np.float64),
        "many ratings in float32": partial(_ratings, np.float32),
    },
    "transformer": {
        "GPT writes": partial(_write, "transformer"),
        "GPT writes in bfloat16": partial(_write, "transformer", "bfloat16"),
    },
    "statespace": {"Mamba writes": partial(_write, "statespace")},
}


def trial(place: tuple[str, str]) -> tuple[str, int | str]:
    """Run the trial of a family and a name: how many kernels it compiled, or what went wrong."""
    family, name = place
    compiled: list[bool] = []
    watchers.append(compiled.append)
    try:
        trials(family)[name]()
    except Exception as error:
        return f"{family}.{name}", f"{type(error).__name__}: {error}"
    finally:
        watchers.remove(compiled.append)
    return f"{family}.{name}", sum(compiled)
