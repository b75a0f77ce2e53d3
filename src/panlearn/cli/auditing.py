"""``panlearn audit``: one saved model, looked at from all sides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from panlearn.cli.app import as_json, check_output, command_line, console, write_json
from panlearn.cli.rows import existing, known_rows, open_table, tabular
from panlearn.cli.tables import Column, print_columns, say
from panlearn.core.errors import DataError, did_you_mean
from panlearn.core.files import write_file


@click.command()
@click.argument("model", type=existing)
@click.argument("file", type=tabular)
@click.option("--target", help="Column with the truth; the one that the model was fitted to.")
@click.option("--sensitive", help="Columns whose groups are compared, with commas.")
@click.option("--reference", type=tabular, help="A table from which FILE may have drifted.")
@click.option("--positive", help="The class of two that rates are about; the last if not given.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of draws and attacks.")
@click.option(
    "--report",
    "report_path",
    type=click.Path(dir_okay=False),
    default="audit.html",
    show_default=True,
    help="HTML to write.",
)
@as_json
def audit(
    model: str,
    file: str,
    target: str | None,
    sensitive: str | None,
    reference: str | None,
    positive: str | None,
    seed: int,
    report_path: str,
    as_json: bool,
) -> None:
    """Look at a saved MODEL on the rows of FILE: scores, calibration, groups, robustness, drift.

    Groups need not be known to the model: --sensitive names columns of FILE. With --reference,
    such as the table that the model was fitted to, each column is compared between the two.
    """
    from panlearn.compare.audit import audit as look

    check_output(report_path)
    pipeline, frame, X, notes = open_table(model, file)
    rows, truth, said = known_rows(pipeline, frame, X, target, file, model)
    groups = None
    if sensitive is not None:
        names = [name.strip() for name in sensitive.split(",")]
        for name in names:
            if name not in frame.columns:
                raise DataError(f"no column {name!r}; {did_you_mean(name, list(frame.columns))}")
        groups = frame.loc[rows.index, names]
    other = None
    if reference is not None:
        _, _, other, more = open_table(model, reference)
        notes += [f"{reference}: {note}" for note in more]
    found = look(
        pipeline,
        rows,
        truth,
        sensitive=groups,
        reference=other,
        positive=positive,
        title=f"{Path(model).name} on {Path(file).name}",
        random_state=seed,
    )
    found.notes[:0] = [*notes, *said]
    write_file(report_path, found.page(command_line()).encode())
    place = str(Path(report_path).resolve())
    if as_json:
        write_json(_record(found, place))
        return
    _print(found)
    click.echo(f"report: {place}")


def _record(found: Any, place: str) -> dict[str, Any]:
    sections = {
        section.title.lower(): {
            "summary": section.words,
            "rows": [dict(zip(section.head, row, strict=False)) for row in section.rows],
        }
        for section in found.sections
    }
    return {"facts": found.facts, **sections, "notes": found.notes, "report": place}


def _print(found: Any) -> None:
    from rich.text import Text

    from panlearn.compare.sections import shown

    out = console()
    for note in found.notes:
        say(out, Text(f"· {note}", "dim"))
    for section in found.sections:
        say(out, Text(f"{section.title}: {section.words}", "bold"))
        columns = [
            Column(head, [shown(row[place]) if place < len(row) else "" for row in section.rows])
            for place, head in enumerate(section.head)
        ]
        print_columns(out, columns, [""] * len(section.rows))
