"""Run workloads: contenders turn about, the best of several warm runs, quality and memory."""

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

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Workload:
    """One comparison.

    The first contender is panlearn's; ratio = time of the fastest peer / time of panlearn, so
    above 1 panlearn is faster. `quality` turns a contender's result into a few numbers, without
    which a time means nothing.
    """

    name: str
    method: str
    build: Callable[[], Any]
    contenders: dict[str, Callable[[Any], Any]]
    quality: Callable[[Any, Any], dict[str, float]]
    bar: float = 1.0
    repeats: int = 5


@dataclass
class Row:
    """What one contender did on one workload."""

    workload: str
    method: str
    contender: str
    seconds: float
    ratio: float | None
    bar: float | None
    memory_mb: float
    quality: dict[str, float] = field(default_factory=dict)


def run(workload: Workload) -> list[Row]:
    """Time every contender, in turn within each repeat, so that drift hits all alike."""
    data = workload.build()
    seconds = {label: np.inf for label in workload.contenders}
    results, memory = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for label, call in workload.contenders.items():  # warm: kernels compile, caches fill
            results[label], memory[label] = _peak(call, data)
        spent = 0.0
        for _ in range(workload.repeats):
            for label, call in workload.contenders.items():
                gc.collect()
                start = time.perf_counter()
                results[label] = call(data)
                elapsed = time.perf_counter() - start
                seconds[label], spent = min(seconds[label], elapsed), spent + elapsed
            if spent > 60:
                break
        qualities = {label: workload.quality(data, r) for label, r in results.items()}
    ours, *peers = workload.contenders
    fastest = min((seconds[p] for p in peers), default=None)
    return [
        Row(
            workload.name,
            workload.method,
            label,
            seconds[label],
            fastest / seconds[ours] if label == ours and fastest else None,
            workload.bar if label == ours else None,
            memory[label],
            {k: float(v) for k, v in qualities[label].items()},
        )
        for label in workload.contenders
    ]


def _peak(call: Callable[[Any], Any], data: Any) -> tuple[Any, float]:
    """Result of a call and the peak of resident memory above what was there, in MB."""
    call(data)  # compile and import first: that is not the method's memory
    gc.collect()
    before = _status("VmRSS")
    try:
        Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    except OSError:
        return call(data), np.nan
    result = call(data)
    return result, (_status("VmHWM") - before) / 1024


def _status(key: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return float(line.split()[1])
    return np.nan


def exponent(sizes: list[int], call: Callable[[int], Callable[[], Any]]) -> float:
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
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


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


def write(family: str, rows: list[Row], growth: dict[str, float], others: set[str]) -> None:
    """Keep the results of a run, and of the other workloads those that were kept before."""
    RESULTS.mkdir(exist_ok=True)
    path, kept = RESULTS / f"{family}.json", [vars(r) for r in rows]
    if others and path.exists():
        old = json.loads(path.read_text())
        kept = [r for r in old["rows"] if r["workload"] in others] + kept
        growth = old["growth"]
    content = {"machine": machine(), "rows": kept, "growth": growth}
    path.write_text(json.dumps(content, indent=1) + "\n")


def families() -> list[str]:
    """The benchmark modules: those that list workloads."""
    here = Path(__file__).parent
    names = sorted(p.stem for p in here.glob("*.py"))
    return [n for n in names if "def workloads" in (here / f"{n}.py").read_text()]


def load(family: str) -> Any:
    """Import a family's benchmark module."""
    return importlib.import_module(f"benchmarks.{family}")
