"""``python -m benchmarks first_call``: what the first fit costs, and what an import costs.

Each class is fitted to 300 rows, once, in a process of its own: *cold* with nothing compiled,
*warm* in another process after ``panlearn warm``, which reads what that kept, and *again* in the
same process, which is what the fit itself takes. Models of language write twenty tokens. Seconds
are those of the processor; what is imported before is not counted in a fit, and stands in a table
of its own. Numba is not imported before, and counts. The processes are no forks of one that is
ready: a copy spends more time on the memory that it shares than a fit of few rows takes.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sklearn.utils.discovery import all_estimators

import panlearn
from benchmarks.harness import RESULTS, machine
from panlearn.cli.trials import WRITERS, kernels, problem, writer
from panlearn.core.estimator import Estimator
from panlearn.core.interpretation import forbidden

COLD, WARM, IMPORT = 2.0, 0.1, 1.3  # seconds, seconds, times scikit-learn's linear models
DEEP = ("neural", "transformer", "statespace", "generative", "representation", "alignment", "trust")


@dataclass
class FirstFit:
    """Seconds of the processor for a first fit."""

    method: str
    cold: float
    warm: float
    again: float
    sklearn: float | None


def main(only: str = "") -> None:
    """Measure, print and keep the two tables."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 120)
    imports = {} if only else import_seconds()
    table = Table("import", "seconds", "times sklearn.linear_model", title="imports")
    for name, seconds in imports.items():
        reference = imports["sklearn.linear_model"]
        table.add_row(name, f"{seconds:.2f}", f"{seconds / reference:.2f}")
    if imports:
        console.print(table)
    with tempfile.TemporaryDirectory() as kept:
        rows = list(first_fits(kept, only))
    titles = "first fit", "cold", "warm", "again", "scikit-learn"
    table = Table(*titles, title="seconds of the processor")
    for row in sorted(rows, key=lambda row: -row.cold):
        cells = [
            f"[{'green' if value <= goal else 'red'}]{value:.2f}"
            for value, goal in ((row.cold, COLD), (row.warm, WARM), (row.again, WARM))
        ]
        peer = "" if row.sklearn is None else f"{row.sklearn:.3f}"
        table.add_row(row.method, *cells, peer)
    console.print(table)
    if not only:
        fits = [asdict(row) for row in rows]
        goals = {"cold": COLD, "warm": WARM}
        content = {"machine": machine(), "rows": [], "growth": {}}
        content |= {"imports": imports, "fits": fits, "goals": goals}
        (RESULTS / "first_call.json").write_text(json.dumps(content, indent=1) + "\n")


def import_seconds() -> dict[str, float]:
    """Processor seconds of an import in a fresh process, the least of three."""
    names = ["sklearn.linear_model", *(f"panlearn.{f}" for f in panlearn.FAMILIES if f not in DEEP)]
    code = "import time; t = time.process_time(); import {}; print(time.process_time() - t)"
    return {
        name: min(float(_run(code.format(name), os.environ)) for _ in range(3)) for name in names
    }


def first_fits(kept: str, only: str = "") -> Iterator[FirstFit]:
    """Fit every class of the families with kernels in processes of their own.

    `kept` is a folder for what is compiled, so that most is compiled once.
    """
    peers = {name: f"{cls.__module__}.{name}" for name, cls in all_estimators()}
    for family in panlearn.FAMILIES:
        if family in DEEP or not family.startswith(only.partition(".")[0]) or not kernels(family):
            continue
        module = importlib.import_module(f"panlearn.{family}")
        for name in module.__all__:
            cls, method = getattr(module, name), f"{family}.{name}"
            if only not in (method, family, "") or not (
                isinstance(cls, type) and issubclass(cls, Estimator)
            ):
                continue
            with tempfile.TemporaryDirectory() as empty:
                cold, _ = _fits(f"panlearn.{method}", empty)
            _fits(f"panlearn.{method}", kept, compiled=True)
            warm, again = _fits(f"panlearn.{method}", kept)
            peer = None
            if name in peers and family not in ("text", "retrieval"):
                peer, _ = _fits(peers[name], kept)
            row = FirstFit(method, cold, warm, again, peer)
            print(row, file=sys.stderr)
            yield row
    for family, (name, _) in WRITERS.items():
        method = f"{family}.{name}.generate"
        if only in (method, family, ""):
            with tempfile.TemporaryDirectory() as empty:
                cold, _ = _texts(family, empty)
                row = FirstFit(method, cold, *_texts(family, empty), None)
            print(row, file=sys.stderr)
            yield row


def _texts(family: str, folder: str) -> list[float]:
    code = f"from benchmarks.first_call import write; print(write({family!r}))"
    return json.loads(_run(code, {**os.environ, "NUMBA_CACHE_DIR": folder}))


def write(family: str) -> list[float]:
    """Write twenty tokens with a small model that is there, twice; seconds of the processor."""
    model = writer(family)
    return _twice(lambda: model.generate("a", max_tokens=20, temperature=1.0))


def _fits(path: str, folder: str, compiled: bool = False) -> list[float]:
    code = f"from benchmarks.first_call import fit; print(fit({path!r}, {compiled}))"
    return json.loads(_run(code, {**os.environ, "NUMBA_CACHE_DIR": folder}))


def fit(path: str, compiled: bool) -> list[float]:
    """Fit a class twice, with everything compiled or as it comes; seconds of the processor."""
    module, _, name = path.rpartition(".")
    cls = getattr(importlib.import_module(module), name)
    X, y = problem(cls)
    warnings.simplefilter("ignore")
    with forbidden() if compiled else contextlib.nullcontext():
        return _twice(lambda: cls().fit(*[X] if y is None else [X, y]))


def _twice(call: Callable[[], Any]) -> list[float]:
    seconds = []
    for _ in range(2):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return seconds


def _run(code: str, environment: Any) -> str:
    root = str(Path(__file__).parents[1])
    path = os.pathsep.join([root, *filter(None, [environment.get("PYTHONPATH")])])
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command,
        env={**environment, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


if __name__ == "__main__":
    main(*sys.argv[1:2])
