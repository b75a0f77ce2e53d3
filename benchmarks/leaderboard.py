"""``python -m benchmarks leaderboard``: minutes of ``panlearn compare`` with the whole field.

The table is what people bring: 5,000 rows of 14 measurements, a city, a plan, an age, a date, an
amount of money and a percentage, and a label that hangs on some of them. The goal is three minutes
on two cores for leaderboard and report, with kernels compiled before.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

GOAL = 180.0  # seconds
WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
CITIES = ("Basel", "Bergen", "Cork", "Gent", "Lyon", "Oulu", "Porto", "Split", "Turin", "York")
PLANS = ("basic", "family", "premium")


def customers(n: int = 5000, seed: int = 0) -> pd.DataFrame:
    """A table of 20 columns as they are written in files, and whether each customer stays."""
    rng = np.random.default_rng(seed)
    measured = rng.normal(size=(n, 14))
    city, plan = rng.choice(CITIES, n), rng.choice(PLANS, n, p=(0.6, 0.3, 0.1))
    age, days = rng.integers(18, 90, n), rng.integers(0, 3000, n)
    spent, used = rng.lognormal(4.0, 0.8, n), rng.beta(2, 3, n)
    logit = measured[:, 0] - 0.8 * measured[:, 1] + measured[:, 2] * measured[:, 3]
    logit += 0.03 * (age - 50) + 0.8 * (plan == "premium") + 1.5 * (used - 0.4)
    logit += 0.5 * (np.log(spent) - 4.0) + 0.6 * np.isin(city, CITIES[:3])
    frame = pd.DataFrame(measured, columns=[f"m{k}" for k in range(14)])
    frame["city"], frame["plan"], frame["age"] = city, plan, age
    frame["since"] = (pd.Timestamp("2016-01-01") + pd.to_timedelta(days, unit="D")).strftime(
        "%d/%m/%Y"
    )
    frame["spent"] = [f"${value:,.2f}" for value in spent]
    frame["used"] = [f"{100 * value:.0f}%" for value in used]
    frame["stays"] = np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), "yes", "no")
    return frame


def main(only: str = "") -> None:
    """Compare, write the report, and print where the time went."""
    from rich.console import Console
    from rich.table import Table

    from panlearn.compare import compare, prepare
    from panlearn.compare.recipe import load_code
    from panlearn.compare.report import Part, report

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "customers.csv")
        customers().to_csv(path, index=False)
        begun = time.perf_counter()
        table = prepare(pd.read_csv(path), "stays")
        read = time.perf_counter()
        board = compare(table)
        compared = time.perf_counter()
        load = load_code(str(path), "stays", "auto", None, 0)
        report([Part("customers", board, table.notes, load)], command="", time_limit=60.0)
        done = time.perf_counter()
    console = Console(width=None if sys.stdout.isatty() else 120)
    shown = Table("model", board.metrics[0].name, "seconds", "", title=f"{os.cpu_count()} cores")
    for row in sorted(board.rows, key=lambda row: -np.nan_to_num(row.total_seconds)):
        score = f"{row.mean(board.metrics[0]):.4f}"
        shown.add_row(row.name, score, f"{row.total_seconds:.1f}", row.error)
    console.print(shown)
    console.print(
        f"read {read - begun:.1f} s, compare {compared - read:.1f} s, report "
        f"{done - compared:.1f} s, all {done - begun:.1f} s; the goal is {GOAL:.0f} s"
    )
    used = [sum(resource.getrusage(who)[:2]) for who in WHO]
    console.print(f"seconds of processors: {used[0]:.0f} here, {used[1]:.0f} in children")


if __name__ == "__main__":
    main()
