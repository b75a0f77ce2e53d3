"""``python -m benchmarks first_call``: what the first fit costs, and what an import costs.

Each class is fitted to 300 rows, once, in a process of its own: *cold* with nothing compiled,
*warm* in another process after ``panlearn warm``, which reads what that kept. Seconds are those of
the processor; what is imported before is not counted in a fit, and stands in a table of its own.
The processes are forks of one that has imported the family, but not Numba, which counts.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import panlearn
from benchmarks.harness import RESULTS, machine

COLD, WARM, IMPORT = 2.0, 0.1, 1.3  # seconds, seconds, times scikit-learn's linear models
DEEP = ("neural", "transformer", "statespace", "generative", "representation", "alignment", "trust")


@dataclass
class FirstFit:
    """Seconds of the processor for a first fit."""

    method: str
    cold: float
    warm: float
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
    table = Table("first fit", "cold", "warm", "scikit-learn", title="seconds of the processor")
    for row in sorted(rows, key=lambda row: -row.cold):
        cells = [
            f"[{'green' if value <= goal else 'red'}]{value:.2f}"
            for value, goal in ((row.cold, COLD), (row.warm, WARM))
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
    code = "from benchmarks.first_call import family_fits; family_fits({!r}, {!r}, {!r})"
    for family in panlearn.FAMILIES:
        if family not in DEEP and family.startswith(only.partition(".")[0]):
            for line in _run(code.format(family, kept, only), os.environ).splitlines():
                yield FirstFit(**json.loads(line))


def family_fits(family: str, kept: str, only: str) -> None:
    """Print the rows of a family, in a process that has imported no other."""
    from panlearn.cli.trials import kernels
    from panlearn.core.estimator import Estimator

    module = importlib.import_module(f"panlearn.{family}")
    for name in module.__all__ if kernels(family) else ():
        cls, method = getattr(module, name), f"{family}.{name}"
        if only not in (method, family, "") or not (
            isinstance(cls, type) and issubclass(cls, Estimator)
        ):
            continue
        with tempfile.TemporaryDirectory() as empty:
            cold = _in_fork(first_fit, cls, empty)
        _in_fork(compiled_fit, cls, kept)
        warm = _in_fork(first_fit, cls, kept)
        peer = None if family in ("text", "retrieval") else _in_fork(peer_fit, name, kept)
        row = FirstFit(method, cold, warm, peer)
        print(row, file=sys.stderr)
        print(json.dumps(asdict(row)), flush=True)


def _in_fork(function: Any, *arguments: Any) -> Any:
    """Call a function in a copy of this process."""
    result = get_context("fork").SimpleQueue()
    child = get_context("fork").Process(target=lambda: result.put(function(*arguments)))
    child.start()
    child.join()
    return result.get() if child.exitcode == 0 else float("nan")


def first_fit(cls: Any, folder: str) -> float:
    """Fit a class, its code in a folder; seconds of the processor."""
    from panlearn.cli.trials import problem

    os.environ["NUMBA_CACHE_DIR"] = folder
    X, y = problem(cls)
    warnings.simplefilter("ignore")
    start = time.process_time()
    cls().fit(*[X] if y is None else [X, y])
    return time.process_time() - start


def compiled_fit(cls: Any, folder: str) -> float:
    """Do the same with everything compiled."""
    from panlearn.core.interpretation import forbidden

    with forbidden():
        return first_fit(cls, folder)


def peer_fit(name: str, folder: str) -> float | None:
    """Fit scikit-learn's class of this name, if it has one."""
    from sklearn.utils.discovery import all_estimators

    cls = dict(all_estimators()).get(name)
    return first_fit(cls, folder) if cls else None


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
