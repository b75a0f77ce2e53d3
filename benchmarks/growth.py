"""``python -m benchmarks growth``: by what power of its size the time of a method grows.

A method runs on made data that double in size, its iterations held at a few, until a run takes
`LONG` seconds; the exponent is the slope of the last runs on logarithms. Seconds are those of the
processor, on one thread: what is counted is work, on a machine that need not be idle.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import get_tags
from threadpoolctl import threadpool_limits

import panlearn
from benchmarks.growth_calls import documents, rows, sized_calls
from benchmarks.harness import RESULTS, Law, machine

START, MOST = 16, 1 << 20
LEAST, LAST = 3, 4  # runs that are made, and that are fitted
LONG, TOO_LONG = 0.1, 1.0
FILE = RESULTS / "growth.json"
# What is timed is one of a few iterations, and a network is a small one.
BRIEF = {"random_state": 0, "n_init": 1, "max_iter": 10, "n_iter": 10, "n_burn_in": 5}
BRIEF |= {"max_epochs": 2, "epochs": 2, "epoch": 2, "pretrain_epochs": 1, "n_estimators": 5}
BRIEF |= {"hidden_layer_sizes": (16,), "hidden_size": 16, "width": 16, "transforms": 2}
BRIEF |= {"max_tokens": 2, "num_generations": 2, "num_ppo_epochs": 1, "n_steps": 3}
LAZY = ("KNeighbors", "RadiusNeighbors", "KernelDensity", "DenseIndex")  # they learn nothing
QUERIES = 200


def measure(call: Callable[[int], Callable[[], Any]]) -> Law:
    """Double the size until a run is long; fit the last runs."""
    sizes, seconds = [], []
    size = START
    while True:
        timed = call(size)
        if not sizes:
            timed()  # what is compiled at the first call is not counted
        sizes.append(size)
        first = _seconds(timed)
        again = 2 if first < LONG else 0
        seconds.append(min([first, *(_seconds(timed) for _ in range(again))]))
        grown = len(sizes) >= LEAST and seconds[-1] > 2 * seconds[-LEAST]
        if (seconds[-1] > LONG and grown) or seconds[-1] > TOO_LONG or size >= MOST:
            break
        size *= 2
    if len(sizes) < LEAST:
        raise TimeoutError(f"{sizes[-1]} took {seconds[-1]:.1f} s")
    sizes, seconds = sizes[-LAST:], seconds[-LAST:]
    return Law(float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0]), sizes, seconds)


def _seconds(timed: Callable[[], Any]) -> float:
    start = time.process_time()
    timed()
    return time.process_time() - start


def brief(cls: Any) -> Any:
    """Make a model that learns for a few steps; those of SVC are of two rows each."""
    names = [name for name in inspect.signature(cls).parameters if cls.__name__ != "SVC"]
    return cls(**{name: value for name, value in BRIEF.items() if name in names})


def fit_of(cls: Any) -> Callable[[int], Callable[[], Any]]:
    """Prepare the fit of a class to so many samples, or its answer to a few queries."""

    def call(size: int) -> Callable[[], Any]:
        X, y, _ = samples(cls, size)
        if not cls.__name__.startswith(LAZY):
            return lambda: brief(cls).fit(X, y)
        model = cls().fit(X, y)
        ask = next(
            getattr(model, m) for m in ("predict", "score_samples", "search") if hasattr(model, m)
        )
        return lambda: ask(X[np.arange(QUERIES) % len(X)])

    return call


def samples(cls: Any, n: int) -> tuple[Any, Any, str]:
    """Make so many samples of the kind that a class learns from, and say what they are."""
    tags, rng = get_tags(cls()), np.random.default_rng(0)
    wants, needs = tags.input_tags, tags.target_tags
    label = rng.integers(2, size=n)
    if hasattr(cls, "rewards"):
        return [(text, text[:3], text[-3:]) for text in documents(n, length=2)], None, "pairs"
    if hasattr(cls, "reward"):
        texts = documents(n, length=1)
        return texts, [text[::-1] for text in texts], "prompts"
    if wants.two_d_array:
        return *_table(tags, n, label), "rows"
    if wants.string:
        texts = documents(n)
        if needs.multi_output:
            return texts, [[word[0] for word in text.split()] for text in texts], "documents"
        y = label if is_classifier(cls()) else label.astype(float) if is_regressor(cls()) else None
        return texts, y, "documents"
    if wants.three_d_array:
        return rng.normal(size=(n, 8, 8)), [("dark", "bright")[i] for i in label], "images"
    length = 16
    X = [
        part.round() % 5 if wants.categorical else part for part in rng.normal(size=(n, length, 3))
    ]
    X = [part[:, 0] for part in X] if wants.categorical else X
    if is_classifier(cls()):
        return X, label, "sequences"
    if is_regressor(cls()):
        return X, rng.normal(size=n), "sequences"
    if not needs.required:
        return X, None, "sequences"
    y = X if wants.categorical else [(part[:, 0] > 0).astype(int) for part in X]
    return X, y, "sequences"


def _table(tags: Any, n: int, label: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows of 8 columns; two classes half apart, or a target with noise."""
    wants = tags.input_tags
    X, signal = rows(n)
    X[:, 0] += 2 * label
    if wants.categorical:
        X = np.abs(X.round()) % 4
    elif wants.positive_only:
        X = np.abs(X)
    if tags.estimator_type == "classifier":
        return X, label
    return X, signal if tags.estimator_type == "regressor" else None


def every() -> dict[str, Callable[[int], Callable[[], Any]]]:
    """Return what is measured: the classes that can be fitted, and the functions."""
    found = sized_calls()
    classes = [cls for _, cls in panlearn.all_estimators()]
    for cls in sorted(classes, key=lambda cls: panlearn.FAMILIES.index(family_of(cls))):
        found[f"{family_of(cls)}.{cls.__name__}"] = fit_of(cls)
    return found


def family_of(cls: Any) -> str:
    return cls.__module__.split(".")[1]


def unit_of(path: str) -> str:
    """Say what the size counts."""
    cls = getattr(getattr(panlearn, path.partition(".")[0]), path.partition(".")[2])
    return samples(cls, 2)[2] if inspect.isclass(cls) and hasattr(cls, "fit") else "numbers"


def main(only: str = "") -> None:
    """Measure, print and keep each as it is known."""
    old = json.loads(FILE.read_text()) if FILE.exists() else {"growth": {}}
    kept = dict(old["growth"])
    os.environ["OMP_NUM_THREADS"] = "1"  # which the library's own threads obey
    for name, call in every().items():
        if only not in name:
            continue
        try:
            with warnings.catch_warnings(), threadpool_limits(1):
                warnings.simplefilter("ignore")
                path, _, unit = name.partition(" ")
                law = measure(call)
                said = f"{path} {unit or 'in ' + unit_of(path)}"
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:120]}", file=sys.stderr)
            continue
        print(f"{said}: {law.exponent:.2f} up to {law.sizes[-1]} in {law.seconds[-1]:.2g} s")
        kept[said] = vars(law)
        content = {"machine": machine(), "rows": [], "growth": dict(sorted(kept.items()))}
        FILE.write_text(json.dumps(content, indent=1) + "\n")
