"""Run workloads: contenders turn about in several warm rounds; ratio, spread, quality, memory."""

from __future__ import annotations

import gc
import importlib
import json
import os
import platform
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from panlearn.core.interpretation import forbidden

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Workload:
    """One comparison.

    The first contender is panlearn's; ratio = time of the fastest peer / time of panlearn in the
    same round, so above 1 panlearn is faster. `quality` turns a contender's result into a few
    numbers, without which a time means nothing.
    """

    name: str
    method: str
    build: Callable[[], Any]
    contenders: dict[str, Callable[[Any], Any]]
    quality: Callable[[Any, Any], dict[str, float]]
    bar: float = 1.0


@dataclass
class Row:
    """What one contender did on one workload: medians over the rounds.

    `spread` has the quartiles of the rounds' ratios: a ratio of 1 between them is a draw.
    """

    workload: str
    method: str
    contender: str
    seconds: float
    ratio: float | None
    spread: tuple[float, float] | None
    rounds: int
    bar: float | None
    memory_mb: float
    quality: dict[str, float] = field(default_factory=dict)
    measured: str = field(default_factory=lambda: "{date}, {cpu}".format(**machine()))


def run(workload: Workload, rounds: int = 5) -> list[Row]:
    """Time every contender, in turn within each round, so that drift hits all alike."""
    data = workload.build()
    if len(workload.contenders) == 1:
        rounds = 1  # nobody to compare with: what counts is the quality
    seconds: dict[str, list[float]] = {label: [] for label in workload.contenders}
    results, memory = {}, dict.fromkeys(workload.contenders, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with forbidden():  # warm: kernels compile, however short the call, and caches fill
            for call in workload.contenders.values():
                call(data)
        for turn in range(rounds):
            for label, call in workload.contenders.items():
                results.pop(label, None)
                gc.collect()
                before = _reset_peak() if turn == 0 else np.nan
                start = time.perf_counter()
                results[label] = call(data)
                seconds[label].append(time.perf_counter() - start)
                if turn == 0:
                    memory[label] = (_status("VmHWM") - before) / 1024
        qualities = {label: workload.quality(data, r) for label, r in results.items()}
    ours, *peers = workload.contenders
    median = {label: float(np.median(times)) for label, times in seconds.items()}
    rows = [
        Row(
            workload.name, workload.method, label, median[label], None, None, rounds, None,
            memory[label], {k: float(v) for k, v in qualities[label].items()},
        )
        for label in workload.contenders
    ]  # fmt: skip
    rows[0].bar = workload.bar
    if peers:
        fastest = min(peers, key=median.__getitem__)
        ratios = np.divide(seconds[fastest], seconds[ours])
        low, rows[0].ratio, high = (float(q) for q in np.quantile(ratios, [0.25, 0.5, 0.75]))
        rows[0].spread = low, high
    return rows


def _reset_peak() -> float:
    """Resident memory in kB, its peak set back to it; NaN where the system does not let us."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return np.nan
    return _status("VmRSS")


def _status(key: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return float(line.split()[1])
    return np.nan


@dataclass(frozen=True)
class Law:
    """How time grows with size: the exponent p of time ~ size^p, and what it was fitted to."""

    exponent: float
    sizes: list[int]
    seconds: list[float]


def law(sizes: list[int], call: Callable[[int], Callable[[], Any]]) -> Law:
    """Fit time ~ size^p by least squares on logarithms; `call(size)` prepares one timed run."""
    times = []
    for size in sizes:
        timed = call(size)
        timed()
        best = np.inf
        for _ in range(5):
            start = time.perf_counter()
            timed()
            best = min(best, time.perf_counter() - start)
        times.append(best)
    return Law(float(np.polyfit(np.log(sizes), np.log(times), 1)[0]), sizes, times)


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    model = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    packages = ["panlearn", "numpy", "scipy", "scikit-learn", "numba", "celer", "skglm"]
    versions = {name: version(name) for name in [*packages, "statsmodels", "torch"]}
    return {
        "cpu": f"{model}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        **versions,
        "date": time.strftime("%Y-%m-%d"),
    }


def write(
    family: str, names: list[str], rows: list[Row], growth: dict[str, Law] | None = None
) -> None:
    """Keep the rows of a run, and of the family's other workloads what was kept before."""
    RESULTS.mkdir(exist_ok=True)
    path, measured = RESULTS / f"{family}.json", {row.workload for row in rows}
    old = json.loads(path.read_text()) if path.exists() else {"rows": [], "growth": {}}
    kept = {name: [] for name in names}
    for row in [r for r in old["rows"] if r["workload"] not in measured] + [vars(r) for r in rows]:
        if row["workload"] in kept:  # else the workload is gone
            kept[row["workload"]].append(row)
    content = {
        "machine": machine(),
        "rows": [row for name in names for row in kept[name]],
        "growth": {k: vars(v) for k, v in growth.items()} if growth else old["growth"],
    }
    path.write_text(json.dumps(content, indent=1) + "\n")


def families() -> list[str]:
    """The benchmark modules: those that list workloads."""
    here = Path(__file__).parent
    names = sorted(p.stem for p in here.glob("*.py"))
    return [n for n in names if "def workloads" in (here / f"{n}.py").read_text()]


def load(family: str) -> Any:
    """Import a family's benchmark module."""
    return importlib.import_module(f"benchmarks.{family}")
