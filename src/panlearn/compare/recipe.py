"""Write Python that does what the command did: estimators as source, and whole scripts."""

from __future__ import annotations

import inspect
import json
import math
from dataclasses import fields
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline, make_pipeline

from panlearn.compare.leaderboard import Leaderboard
from panlearn.compare.metrics import Metric, offered
from panlearn.compare.scoring import Row
from panlearn.kernel._kernel import Kernel, Product, Sum

WIDTH = 88


class Source:
    """Python source of values, and the imports and variables that it needs."""

    def __init__(self) -> None:
        self.imports: set[tuple[str, str]] = set()
        self.columns: dict[str, Any] = {}

    def of(self, value: Any, indent: int = 0) -> str:
        """Write a value as an expression, on several lines if it is long."""
        for variable, columns in self.columns.items():
            if value is columns:
                return variable
        if isinstance(value, BaseEstimator):
            return self._estimator(value, indent)
        if isinstance(value, Kernel):
            return self._kernel(value)
        if isinstance(value, list):
            return self._group("[", [self.of(v, indent + 4) for v in value], "]", indent)
        if isinstance(value, tuple):
            parts = [self.of(v, indent) for v in value]
            return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
        if hasattr(value, "get_n_splits"):
            self.imports.add(("sklearn.model_selection", type(value).__name__))
            return repr(value)
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        if isinstance(value, str):
            return json.dumps(value, ensure_ascii=False)
        return repr(value)

    def _kernel(self, value: Kernel) -> str:
        """Write a kernel in the algebra that made it."""
        parts = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
        if isinstance(value, Sum | Product):
            sign = " + " if isinstance(value, Sum) else " * "
            sides = [self._kernel(side) for side in parts.values()]
            return sign.join(f"({side})" if " + " in side else side for side in sides)
        name = type(value).__name__
        self.imports.add(("panlearn.kernel.kernels", name))
        defaults = {f.name: f.default for f in fields(value)}
        changed = [f"{k}={self.of(v)}" for k, v in parts.items() if v != defaults[k]]
        return f"{name}({', '.join(changed)})"

    def _estimator(self, value: BaseEstimator, indent: int) -> str:
        """Write a constructor with the parameters that differ from their defaults."""
        changed = _changed(value)
        if isinstance(value, Pipeline) and list(changed) == ["steps"]:
            steps = [step for _, step in value.steps]
            if [n for n, _ in value.steps] == [n for n, _ in make_pipeline(*steps).steps]:
                self.imports.add(("sklearn.pipeline", "make_pipeline"))
                parts = [self.of(step, indent + 4) for step in steps]
                return self._group("make_pipeline(", parts, ")", indent)
        opening = self.name(type(value)) + "("
        if len(changed) == 1 and isinstance(only := next(iter(changed.values())), list):
            return opening + self.of(only, indent) + ")"
        parts = [f"{k}={self.of(v, indent + 4)}" for k, v in changed.items()]
        return self._group(opening, parts, ")", indent)

    def model(self, pipeline: Pipeline) -> list[str]:
        """Lines that name the groups of columns and build the pipeline."""
        columns: Any = pipeline[0]
        lists = {f"{part}_columns": names for part, _, names in columns.transformers}
        lines = [f"{variable} = {self.of(names)}" for variable, names in lists.items()]
        self.columns |= lists
        return [*lines, f"model = {self.of(pipeline)}"]

    def name(self, cls: type) -> str:
        """Import a class from the shortest public path and return its name."""
        public = [part for part in cls.__module__.split(".") if not part.startswith("_")]
        if public[0] == "panlearn":
            public = public[:2]
        self.imports.add((".".join(public), cls.__name__))
        return cls.__name__

    def import_lines(self) -> list[str]:
        """One ``from ... import ...`` for each module, sorted."""
        modules: dict[str, list[str]] = {}
        for module, name in sorted(self.imports):
            modules.setdefault(module, []).append(name)
        return [f"from {module} import {', '.join(names)}" for module, names in modules.items()]

    @staticmethod
    def _group(opening: str, parts: list[str], closing: str, indent: int) -> str:
        line = opening + ", ".join(parts) + closing
        if "\n" not in line and indent + len(line) <= WIDTH:
            return line
        margin = " " * (indent + 4)
        short = all("\n" not in p and len(p) < 60 for p in parts) and opening == "["
        if not short:
            return "\n".join([opening, *(f"{margin}{p}," for p in parts), margin[4:] + closing])
        lines, current = [], ""
        for part in parts:
            if current and len(margin + current + part) >= WIDTH:
                lines.append(current.rstrip())
                current = ""
            current += f"{part}, "
        lines.append(current.rstrip())
        return (
            f"{opening}\n" + "".join(f"{margin}{line}\n" for line in lines) + margin[4:] + closing
        )


def read_code(source: str) -> str:
    """An expression that reads a file or a built-in data set."""
    name = source.removeprefix("built-in:")
    return f"{'read_table' if name == source else 'built_in'}({Source().of(name)})"


def load_code(source: str, target: str, task: str, rows: int | None, seed: int) -> list[str]:
    """Lines that make X and y from a file or from a built-in data set."""
    write = Source().of
    options = f"target={write(target)}, task={write(task)}"
    if rows is not None:
        options += f", rows={rows}, random_state={seed}"
    return [f"table = prepare({read_code(source)}, {options})", "X, y = table.X, table.y"]


def row_code(board: Leaderboard, row: Row, load: list[str]) -> str:
    """Write a script that cross-validates one row again and prints the same numbers."""
    pipeline = row.compared or row.pipeline
    if pipeline is None:
        return ""
    source = Source()
    source.imports |= _used(load) | {("sklearn.model_selection", "cross_validate")}
    _name_scorer(source, board, pipeline)
    body = [
        *load,
        *source.model(pipeline),
        fold_code(board, source),
        f"scoring = {_scoring(board, row, source)}",
        'scores = cross_validate(model, X, y, cv=cv, scoring=scoring, error_score="raise")',
        "for name in scoring:",
        '    values = scores["test_" + name]',
        '    print(f"{name}: {values.mean():.6f} ± {values.std():.6f}")',
    ]
    return "\n".join([*source.import_lines(), "", *body]) + "\n"


def _name_scorer(source: Source, board: Leaderboard, pipeline: Pipeline) -> None:
    """Let a scorer that a model chooses its threshold by be written as it is made."""
    given = getattr(pipeline[-1], "scoring", None)
    for metric in board.metrics:
        if metric.positive is not None and repr(given) == repr(metric.measure):
            source.imports.add(("panlearn.compare", "scorer"))
            source.columns[_scorer_code(metric, source)] = given


def _scorer_code(metric: Metric, source: Source) -> str:
    label = metric.positive.item() if hasattr(metric.positive, "item") else metric.positive
    about = "" if label is None else f", positive={source.of(label)}"
    return f"scorer({source.of(metric.scorer)}{about})"


def _scoring(board: Leaderboard, row: Row, source: Source) -> str:
    """The names of scikit-learn's scorers, or the scorers where they are about one class."""
    metrics = [m for m in board.metrics if m.name in row.scores]
    if not metrics and row.pipeline is not None:
        metrics = offered(row.pipeline, board.metrics)
    if all(m.positive is None for m in metrics):
        return source.of([m.scorer for m in metrics])
    source.imports.add(("panlearn.compare", "scorer"))
    parts = [f"{source.of(m.scorer)}: {_scorer_code(m, source)}" for m in metrics]
    return "{" + ", ".join(parts) + "}"


def fit_code(pipeline: Pipeline, load: list[str], output: str) -> str:
    """Write a script that fits a pipeline and saves it."""
    source = Source()
    source.imports |= _used(load)
    body = [*load, *source.model(pipeline), "model.fit(X, y)"]
    save = f"panlearn.save(model, {output!r})"
    return "\n".join(["import panlearn", *source.import_lines(), "", *body, save]) + "\n"


def compare_code(load: list[str], options: dict[str, Any]) -> str:
    """Write a script that makes the whole leaderboard."""
    source = Source()
    source.imports |= _used(load) | {("panlearn.compare", "compare")}
    asked = {k: v for k, v in options.items() if v is not None}
    arguments = ", ".join(f"{k}={v!r}" for k, v in asked.items())
    body = [load[0], f"board = compare(table, {arguments})", "print(board)"]
    return "\n".join([*source.import_lines(), "", *body]) + "\n"


def _used(load: list[str]) -> set[tuple[str, str]]:
    text = "\n".join(load)
    names = [n for n in ("built_in", "prepare", "read_table") if f"{n}(" in text]
    return {("panlearn.compare", name) for name in names}


def fold_code(board: Leaderboard, source: Source) -> str:
    """A line that makes the folds of a comparison."""
    cv = board.cv
    options = f"n_splits={cv.n_splits}, shuffle=True, random_state={cv.random_state!r}"
    return f"cv = {source.name(type(cv))}({options})"


def _changed(estimator: BaseEstimator) -> dict[str, Any]:
    """Pick the parameters that differ from their defaults."""
    defaults = inspect.signature(type(estimator)).parameters
    changed = {}
    for name, value in estimator.get_params(deep=False).items():
        default = defaults[name].default
        if type(value) is not type(default) or repr(value) != repr(default):
            changed[name] = value
    return changed
