"""``panlearn compare``: every model that applies to a table, cross-validated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from panlearn.cli.app import as_code, as_json, command_line, console, progress_bar, write_json
from panlearn.cli.errors import DataError

if TYPE_CHECKING:
    from panlearn.cli.table import Task


@click.command()
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False))
@click.option("--target", help="Column to predict; the last one if not named.")
@click.option(
    "--task",
    type=click.Choice(["auto", "classification", "regression"]),
    default="auto",
    help="What to learn; auto looks at the target.",
)
@click.option("--data", default="breast_cancer", help="Built-in data set to use without a FILE.")
@click.option("--cv", type=click.IntRange(2), default=5, show_default=True, help="Folds.")
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    help="Seconds that one model may take.",
)
@click.option("--models", help="Names, with commas: Ridge,Lasso,sklearn.svm.SVR. All if not given.")
@click.option("--rows", type=click.IntRange(1), help="Use a random sample of so many rows.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of folds and models.")
@click.option("--report", "report_path", type=click.Path(dir_okay=False), help="HTML to write.")
@as_json
@as_code
def compare(
    file: str | None,
    target: str | None,
    task: Task,
    data: str,
    cv: int,
    time_limit: float,
    models: str | None,
    rows: int | None,
    seed: int,
    report_path: str | None,
    as_json: bool,
    as_code: bool,
) -> int:
    """Cross-validate every model that applies to a table, beside a baseline.

    FILE is CSV or Parquet; without one, a data set that ships with scikit-learn is used. Numbers,
    categories, booleans, dates and missing values are taken care of, and what was done is said.
    """
    from panlearn.cli import leaderboard, recipe, table

    source = file or f"built-in:{data}"
    if report_path is not None and not Path(report_path).absolute().parent.is_dir():
        raise DataError(f"no folder {Path(report_path).parent} to write the report to")
    names = [name.strip() for name in models.split(",") if name.strip()] if models else None
    frame = table.read_table(file) if file else table.built_in(data)
    prepared = table.prepare(frame, target, task, rows, seed)
    load = recipe.load_code(source, prepared.target, task, rows, seed)
    options: dict[str, Any] = {
        "models": names,
        "cv": cv,
        "time_limit": time_limit,
        "random_state": seed,
    }
    if as_code:
        click.echo(recipe.compare_code(load, options), nl=False)
        return 0
    with progress_bar() as bar:
        line = bar.add_task("starting", total=None)
        board = leaderboard.compare(
            prepared.X,
            prepared.y,
            task=prepared.task,
            progress=lambda name, done, total: bar.update(
                line, description=name, completed=done, total=total
            ),
            **options,
        )
        if report_path is not None:
            from panlearn.cli.report import report

            bar.update(line, description="report")
            page = report(
                board,
                title=f"{prepared.target} in {file or data}",
                notes=prepared.notes,
                load=load,
                command=command_line(),
                time_limit=time_limit,
            )
            Path(report_path).write_text(page, encoding="utf-8")
    notes = [*prepared.notes, *board.notes]
    if as_json:
        write_json(_record(board, notes, load, report_path))
    else:
        _print(board, notes)
        if report_path is not None:
            click.echo(f"report: {Path(report_path).resolve()}")
    if board.interrupted:
        return 130
    named_failed = names is not None and any(row.failed for row in board.rows)
    return 1 if board.best is None or named_failed else 0


def _record(board: Any, notes: list[str], load: list[str], report_path: str | None) -> dict:
    from panlearn.cli.recipe import row_code

    return {
        "task": board.table.task,
        "summary": board.summary(),
        "ranked_by": board.metrics[0].name,
        "rows": [
            {
                "rank": rank,
                "model": row.name,
                "metrics": {
                    m.name: {
                        "mean": row.mean(m),
                        "std": row.std(m),
                        "folds": row.scores.get(m.name),
                    }
                    for m in board.metrics
                },
                "fit_seconds": row.fit_seconds,
                "predict_seconds": row.predict_seconds,
                "error": row.error,
                "warnings": row.warnings,
                "code": row_code(board, row, load),
            }
            for rank, row in enumerate(board.rows, 1)
        ],
        "data": notes,
        "report": None if report_path is None else str(Path(report_path).resolve()),
    }


def _print(board: Any, notes: list[str]) -> None:
    from rich.table import Table
    from rich.text import Text

    from panlearn.cli.report import duration, number

    out = console()
    for note in notes:
        out.print(Text(f"· {note}", "dim"))
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("model")
    for metric in board.metrics:
        table.add_column(metric.name, justify="right")
    for name in ("fit", "predict"):
        table.add_column(name, justify="right")
    failures = []
    for row in board.rows:
        if row.failed:
            failures.append(row)
            continue
        style = "bold cyan" if row is board.best else ""
        cells = [
            f"{number(row.mean(m))} ± {number(row.std(m))}" if m.name in row.scores else "–"
            for m in board.metrics
        ]
        times = [duration(row.fit_seconds), duration(row.predict_seconds)]
        table.add_row(*(Text(cell, style) for cell in [row.name, *cells, *times]))
    out.print(table)
    for row in failures:
        out.print(Text.assemble((row.name, "red"), " failed: ", row.error), soft_wrap=True)
    for row in [row for row in board.rows if row.warnings and not row.failed]:
        out.print(Text(f"{row.name} warned: {'; '.join(row.warnings)}", "yellow"), soft_wrap=True)
    out.print(Text(board.summary(), "bold"), soft_wrap=True)
