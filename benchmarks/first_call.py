"""``python -m benchmarks first_call``: what the first fit costs, and what an import costs.

Each class is fitted to 300 rows, once, in a process of its own: *cold* with nothing compiled,
*warm* in the next process, which reads what the first one kept. Seconds are those of the processor;
what is imported before is not counted in a fit, and stands in a table of its own.
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
from dataclasses import asdict, dataclass
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
    imports = import_seconds()
    table = Table("import", "seconds", "times sklearn.linear_model", title="imports")
    reference = imports["sklearn.linear_model"]
    for name, seconds in imports.items():
        table.add_row(name, f"{seconds:.2f}", f"{seconds / reference:.2f}")
    console.print(table)
    rows = first_fits(only)
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
        content = {"machine": machine(), "rows": [], "imports": imports, "fits": fits}
        (RESULTS / "first_call.json").write_text(json.dumps(content, indent=1) + "\n")


def import_seconds() -> dict[str, float]:
    """Processor seconds of an import in a fresh process, the least of three."""
    names = ["sklearn.linear_model", *(f"panlearn.{f}" for f in panlearn.FAMILIES if f not in DEEP)]
    code = "import time; t = time.process_time(); import {}; print(time.process_time() - t)"
    return {
        name: min(float(_run(code.format(name), os.environ)) for _ in range(3)) for name in names
    }


def first_fits(only: str = "") -> list[FirstFit]:
    """Fit every class of the families with kernels, twice, in processes of their own."""
    from sklearn.utils.discovery import all_estimators

    from panlearn.cli.trials import kernels
    from panlearn.core.estimator import Estimator

    peers = dict(all_estimators())
    rows = []
    for family in panlearn.FAMILIES:
        if family in DEEP or not kernels(family):
            continue
        module = importlib.import_module(f"panlearn.{family}")
        for name in module.__all__:
            cls = getattr(module, name)
            method = f"{family}.{name}"
            if only not in method or not (isinstance(cls, type) and issubclass(cls, Estimator)):
                continue
            with tempfile.TemporaryDirectory() as folder:
                own = {**os.environ, "NUMBA_CACHE_DIR": folder}
                cold, warm = (_first_fit(cls.__module__, name, own) for _ in range(2))
            peer = None
            if name in peers and family not in ("text", "retrieval"):
                peer = _first_fit(peers[name].__module__, name, own)
            rows.append(FirstFit(method, cold, warm, peer))
            print(rows[-1], file=sys.stderr)
    return rows


def _first_fit(module: str, name: str, environment: Any) -> float:
    code = f"from benchmarks.first_call import child; child({module!r}, {name!r})"
    return float(_run(code, environment).splitlines()[-1])


def _run(code: str, environment: Any) -> str:
    root = str(Path(__file__).parents[1])
    path = os.pathsep.join([root, *filter(None, [environment.get("PYTHONPATH")])])
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env={**environment, "PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    return done.stdout


def child(module: str, name: str) -> None:
    """Fit one class and print what that took."""
    from panlearn.cli.trials import problem

    cls = getattr(importlib.import_module(module), name)
    X, y = problem(cls)
    warnings.simplefilter("ignore")
    start = time.process_time()
    cls().fit(*[X] if y is None else [X, y])
    print(time.process_time() - start)


if __name__ == "__main__":
    main(*sys.argv[1:2])
