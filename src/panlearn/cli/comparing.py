"""``panlearn compare``: every model that applies to a table, cross-validated."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from panlearn.cli.app import (
    as_code,
    as_json,
    check_output,
    command_line,
    console,
    progress_bar,
    write_json,
)
from panlearn.cli.tables import Column, print_columns, say
from panlearn.core.errors import DataError
from panlearn.core.files import write_file

if TYPE_CHECKING:
    from panlearn.compare.leaderboard import Leaderboard
    from panlearn.compare.report import Part
    from panlearn.compare.table import Task

WIDE = 120  # columns of a terminal that has room for the spread of each metric


@click.command()
@click.argument(
    "file", required=False, type=click.Path(exists=True, dir_okay=False, allow_dash=True)
)
@click.option("--target", help="Column to predict; the last one if not named.")
@click.option(
    "--task",
    type=click.Choice(["auto", "classification", "regression", "density"]),
    default="auto",
    help="What to learn; auto looks at the target. Of a density every column of numbers is part.",
)
@click.option(
    "--data",
    default="breast_cancer",
    help="Built-in data sets to use without a FILE, with commas; or all.",
)
@click.option("--cv", type=click.IntRange(2), default=5, show_default=True, help="Folds.")
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    help="Seconds that one model may take: 60 by default, 10 with several data sets.",
)
@click.option("--models", help="Names, with commas: Ridge,Lasso,sklearn.svm.SVR. All if not given.")
@click.option(
    "--metric",
    help="scikit-learn's scorers, with commas, the first ranks: neg_log_loss,f1. By the target "
    "if not given.",
)
@click.option("--positive", help="The class of two that curves are about; the last if not given.")
@click.option("--rows", type=click.IntRange(1), help="Use a random sample of so many rows.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of folds and models.")
@click.option("--report", "report_path", type=click.Path(dir_okay=False), help="HTML to write.")
@as_json
@as_code
def compare(
    file: str | None,
    target: str | None,
    task: Task | Literal["density"],
    data: str,
    cv: int,
    time_limit: float | None,
    models: str | None,
    metric: str | None,
    positive: str | None,
    rows: int | None,
    seed: int,
    report_path: str | None,
    as_json: bool,
    as_code: bool,
) -> int:
    """Cross-validate every model that applies to a table, beside a baseline.

    FILE is CSV, JSON lines or Parquet, or - for standard input; without one, data sets that ship
    with scikit-learn are used, and with several of them every model's place on each is shown first.
    Numbers, money, percentages, categories, booleans, dates, text and missing values are taken care
    of, and what was done is said.
    """
    from panlearn import compare as run
    from panlearn.compare import built_in, read_table, recipe
    from panlearn.compare.comparison import as_prepared
    from panlearn.compare.density_recipe import compare_density_code, density_load_code
    from panlearn.compare.files import BUILT_IN, GENERATED
    from panlearn.compare.report import Part, report

    check_output(report_path)
    if task == "density" and (target or metric or positive):
        raise DataError("a density has no target: leave --target, --metric and --positive out")
    every = [*BUILT_IN, *GENERATED]
    sources = [file] if file else every if data == "all" else [n.strip() for n in data.split(",")]
    time_limit = time_limit or (60.0 if len(sources) == 1 else 10.0)
    names = _listed(models)
    options: dict[str, Any] = {
        "models": names,
        "metric": _listed(metric),
        "positive": positive,
        "cv": cv,
        "time_limit": time_limit,
        "random_state": seed,
    }
    parts: list[Part] = []
    with progress_bar() as bar:
        line = bar.add_task("starting", total=None)
        for source in sources:
            frame = read_table(source) if file else built_in(source)
            place = source if file else f"built-in:{source}"
            prepared = as_prepared(frame, target, task, rows, seed)
            density = task == "density"
            if density:
                load = density_load_code(place, rows, seed)
            else:
                load = recipe.load_code(place, prepared.target, task, rows, seed)
            if as_code:
                write = compare_density_code if density else recipe.compare_code
                click.echo(write(load, options), nl=False)
                continue
            show = partial(_show, bar, line, source)
            board = run(prepared, progress=show, **options)
            title = f"{prepared.target} in {source}" if len(sources) == 1 else source
            title = f"density of {source}" if density else title
            parts.append(Part(title, board, prepared.notes, load))
            if board.interrupted:
                break
    if as_code:
        return 0
    if as_json:
        records = [{"source": part.title, **_record(part, report_path)} for part in parts]
        write_json(records[0] if len(sources) == 1 else records)
    else:
        _print(parts)
    if report_path is not None:  # last: whatever keeps it from being written, the answer is there
        with progress_bar() as bar:
            bar.add_task("report", total=None)
            page = report(parts, command=command_line(), time_limit=time_limit)
        write_file(report_path, page.encode())
        if not as_json:
            click.echo(f"report: {Path(report_path).resolve()}")
    boards = [part.board for part in parts]
    if any(board.interrupted for board in boards):
        return 130
    named_failed = names is not None and any(row.failed for b in boards for row in b.rows)
    return 1 if named_failed or any(board.best is None for board in boards) else 0


def _listed(text: str | None) -> list[str] | None:
    return [name.strip() for name in text.split(",") if name.strip()] if text else None


def _show(bar: Any, line: Any, source: str, name: str, done: int, total: int) -> None:
    bar.update(line, description=f"{source}: {name}", completed=done, total=total)


def _record(part: Part, report_path: str | None) -> dict:
    from panlearn.compare.report import script

    board = part.board
    return {
        "task": board.table.task,
        "summary": board.summary(),
        "ranked_by": board.metrics[0].name,
        "positive": board.positive,
        "beats_baseline": board.beats_baseline(),
        "rows": [
            {
                "rank": rank,
                "model": row.name,
                "ties_with_best": board.ties(row),
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
                "importance": row.importance,
                "code": script(board, row, part.load),
            }
            for rank, row in enumerate(board.rows, 1)
        ],
        "data": [*part.notes, *board.notes],
        "left_out": board.left_out,
        "report": None if report_path is None else str(Path(report_path).resolve()),
    }


def _print(parts: list[Part]) -> None:
    """Write the one leaderboard, or the places on several data sets and the failures."""
    from rich.text import Text

    from panlearn.compare.running import NOT_RUN

    out = console()
    if len(parts) == 1:
        part = parts[0]
        for note in (*part.notes, *part.board.notes):
            say(out, Text(f"· {note}", "dim"))
        for why in part.board.left_out:
            say(out, Text(f"· not compared unless named: {why}", "dim"))
        _print_board(out, part.board)
    else:
        _print_overview(out, {part.title: part.board for part in parts})
    for part in parts:
        where = "" if len(parts) == 1 else f" on {part.title}"
        left = [row.name for row in part.board.rows if row.error == NOT_RUN]
        for row in part.board.rows:
            if row.failed and row.name not in left:
                how = "failed" if row.begun else "left out"
                said = Text.assemble((row.name, "red"), f" {how}{where}: {row.error}")
                say(out, said)
        if left:
            say(out, Text(f"{NOT_RUN}{where}: {', '.join(left)}", "red"))
        for row in part.board.rows:
            if row.warnings and not row.failed:
                words = f"{row.name} warned{where}: {'; '.join(row.warnings)}"
                say(out, Text(words, "yellow"))
    for part in parts:
        where = "" if len(parts) == 1 else f"{part.title}: "
        say(out, Text(where + part.board.summary(), "bold"))


def _print_overview(out: Any, boards: dict[str, Leaderboard]) -> None:
    from panlearn.compare.overview import overviews
    from panlearn.compare.page import number

    for frame, metric in overviews(boards):
        columns = [Column(metric.name, [str(model) for model in frame.index])]
        for name in frame.columns:
            cells = ["–" if value != value else number(value) for value in frame[name]]
            columns.append(Column(name, cells))
        print_columns(out, columns, [""] * len(frame))


def _print_board(out: Any, board: Leaderboard) -> None:
    from rich.text import Text

    from panlearn.compare.page import duration, number
    from panlearn.compare.report import TIE

    rows = [row for row in board.rows if not row.failed]
    names = [f"{row.name} ≈" if board.ties(row) else row.name for row in rows]
    columns = [Column("model", names)]
    for metric in board.metrics:
        first = metric is board.metrics[0]
        cells = []
        for row in rows:
            spread = f" ± {number(row.std(metric))}" if first or out.width > WIDE else ""
            known = metric.name in row.scores
            cells.append(number(row.mean(metric)) + spread if known else "–")
        columns.append(Column(metric.name, cells))
    columns.append(Column("fit", [duration(row.fit_seconds) for row in rows]))
    columns.append(Column("predict", [duration(row.predict_seconds) for row in rows]))
    print_columns(out, columns, ["bold cyan" if row is board.best else "" for row in rows])
    if any(board.ties(row) for row in rows):
        say(out, Text(f"≈ {TIE}", "dim"))
