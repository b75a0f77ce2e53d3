"""``python -m benchmarks [family ...] [--only text]``: run, print and keep the tables."""

from __future__ import annotations

import argparse
import sys

from rich.console import Console
from rich.table import Table

from benchmarks.harness import Law, Row, families, load, run, write

console = Console(width=None if sys.stdout.isatty() else 160)


def show(family: str, rows: list[Row], growth: dict[str, Law]) -> None:
    table = Table(title=family)
    for column in (
        "workload",
        "contender",
        "seconds",
        "ratio",
        "quartiles",
        "bar",
        "MB",
        "quality",
    ):
        table.add_column(column, justify="left" if column in ("workload", "quality") else "right")
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        colour = "" if row.ratio is None else "[green]" if row.ratio >= row.bar else "[red]"
        quality = ", ".join(f"{k} {v:.9g}" for k, v in row.quality.items())
        bar = "" if row.bar is None else f"{row.bar:g}"
        spread = "" if row.spread is None else "{:.2f} to {:.2f}".format(*row.spread)
        cells = (row.workload, row.contender, f"{row.seconds:.4g}", colour + ratio, spread, bar)
        table.add_row(*cells, f"{row.memory_mb:.0f}", quality)
    console.print(table)
    for what, found in growth.items():
        console.print(f"{what}: time grows as size^{found.exponent:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", nargs="*", default=families(), help="which (default: all)")
    parser.add_argument("--only", default="", help="workloads whose name holds this text")
    parser.add_argument("--rounds", type=int, default=5, help="how often all take their turn")
    arguments = parser.parse_args()
    for family in arguments.family:
        module = load(family)
        if hasattr(module, "main"):  # a table of its own kind
            module.main(arguments.only)
            continue
        workloads = list(module.workloads())
        names, rows = [workload.name for workload in workloads], []
        for workload in workloads:
            if arguments.only in workload.name:
                rows += run(workload, arguments.rounds)
                write(family, names, rows)  # what is measured is kept, whatever comes after
        growth = {} if arguments.only else getattr(module, "growth", dict)()
        show(family, rows, growth)
        write(family, names, rows, growth)


if __name__ == "__main__":
    main()
