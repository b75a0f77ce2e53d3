"""``panlearn fit``, ``predict`` and ``evaluate``: one model, saved and used."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import click

from panlearn.cli.app import (
    as_code,
    as_json,
    check_output,
    console,
    fail,
    progress_bar,
    write_csv,
    write_json,
)
from panlearn.cli.rows import existing, identifiers, known_rows, open_table, tabular
from panlearn.core.errors import DataError, visible

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from sklearn.pipeline import Pipeline

    from panlearn.compare.table import Task


@click.command()
@click.argument("file", type=tabular)
@click.option("--target", help="Column to predict; the last one if not named.")
@click.option("--model", "name", required=True, help="Name of an estimator: see `panlearn list`.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter.")
@click.option(
    "--task",
    type=click.Choice(["auto", "classification", "regression"]),
    default="auto",
    help="What to learn; auto looks at the target.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the model.")
@click.option("--output", type=click.Path(dir_okay=False), required=True, help="File to write.")
@as_json
@as_code
def fit(
    file: str,
    target: str | None,
    name: str,
    settings: tuple[str, ...],
    task: Task,
    seed: int,
    output: str,
    as_json: bool,
    as_code: bool,
) -> int:
    """Fit one model to the rows of FILE and save it, with the preparation of its columns."""
    from sklearn.pipeline import Pipeline

    from panlearn.compare import models, prepare, read_table, recipe
    from panlearn.compare.preparation import preprocessor
    from panlearn.compare.scoring import reason

    check_output(output)
    parameters = dict(_parse_setting(text) for text in settings)
    prepared = prepare(read_table(file), target, task)
    try:
        estimator = models.build(models.find_estimator(name, prepared.task), parameters, seed)
    except TypeError as error:  # it needs arguments that were not set
        raise DataError(str(error)) from None
    pipeline: Any = Pipeline(
        [("prepare", preprocessor(prepared.X, estimator)), ("model", estimator)]
    )
    if as_code:
        load = recipe.load_code(file, prepared.target, task, None, seed)
        click.echo(recipe.fit_code(pipeline, load, output), nl=False)
        return 0
    import panlearn
    from panlearn.core.parameters import InvalidParameterError

    with progress_bar() as bar:
        bar.add_task(f"fitting {name}", total=None)
        try:
            pipeline.fit(prepared.X, prepared.y)
        except InvalidParameterError as error:
            raise DataError(str(error)) from None
        except Exception as error:
            return fail(f"{name} failed: {reason(error)}", 1)
    # `evaluate` has to know which column to compare with.
    pipeline.target_name_ = prepared.target
    pipeline.column_styles_ = prepared.styles
    try:
        panlearn.save(pipeline, output)
    except TypeError as error:
        return fail(f"{name} cannot be saved: {error}", 1)
    if as_json:
        write_json({"output": output, "task": prepared.task, "data": prepared.notes})
    else:
        for note in prepared.notes:
            click.echo(f"· {visible(note)}")
        click.echo(f"fitted {type(estimator).__name__} to {len(prepared.y):,} rows: {output}")
    return 0


@click.command()
@click.argument("model", type=existing)
@click.argument("file", type=tabular)
@click.option("--output", type=click.Path(dir_okay=False), help="CSV or Parquet; else the screen.")
@click.option("--proba", is_flag=True, help="Add a column with the probability of each class.")
@as_json
@as_code
def predict(
    model: str, file: str, output: str | None, proba: bool, as_json: bool, as_code: bool
) -> None:
    """Predict the rows of FILE with a saved MODEL."""
    if as_code:
        click.echo(_use_code(model, file) + "print(model.predict(X))")
        return

    from panlearn.compare.files import check_kind, write_table

    check_output(output)
    if output is not None:
        check_kind(output)
    pipeline, frame, X, notes = open_table(model, file)
    answer = identifiers(frame, X, pipeline)
    answer["prediction"] = pipeline.predict(X)
    if proba:
        if not hasattr(pipeline, "predict_proba"):
            raise DataError(f"{type(pipeline[-1]).__name__} gives no probabilities")
        chances = pipeline.predict_proba(X)
        answer = answer.assign(
            **{f"probability {c}": chances[:, k] for k, c in enumerate(pipeline.classes_)}
        )
    for note in notes:
        click.echo(f"· {visible(note)}", err=True)
    if output is not None:
        write_table(answer, output)
    if as_json:
        write_json({"output": output, "notes": notes, **answer.to_dict("list")})
    elif output is None:
        write_csv(answer)
    else:
        click.echo(f"{len(answer):,} predictions: {output}")


@click.command()
@click.argument("model", type=existing)
@click.argument("file", type=tabular)
@click.option("--target", help="Column with the truth; the one that the model was fitted to.")
@click.option("--metric", help="scikit-learn's scorers, with commas; the usual if not given.")
@click.option("--positive", help="The class of two that scores are about; the last if not given.")
@as_json
@as_code
def evaluate(
    model: str,
    file: str,
    target: str | None,
    metric: str | None,
    positive: str | None,
    as_json: bool,
    as_code: bool,
) -> None:
    """Score a saved MODEL on the rows of FILE, whose target is known."""
    if as_code:
        column = f"[{target!r}]" if target else "[model.target_name_]"
        click.echo(_use_code(model, file) + f"print(model.score(X, frame{column}))")
        return
    pipeline, frame, X, notes = open_table(model, file)
    rows, truth, said = known_rows(pipeline, frame, X, target, file, model)
    notes += said
    names = [name.strip() for name in metric.split(",")] if metric else []
    scores = _scores(pipeline, rows, truth, names, positive)
    if as_json:
        write_json({"rows": len(rows), "scores": scores, "notes": notes})
        return
    from rich.table import Table

    for note in notes:
        click.echo(f"· {visible(note)}")
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in scores.items():
        table.add_row(name, f"{value:.6g}")
    console().print(table)


def _scores(
    pipeline: Pipeline, X: pd.DataFrame, y: np.ndarray, names: list[str], positive: str | None
) -> dict[str, float]:
    """The metrics that are named, or those of the task, that the model offers."""
    from sklearn.base import is_classifier

    from panlearn.compare.metrics import metrics_for, offered, positive_class

    task = "classification" if is_classifier(pipeline) else "regression"
    classes = getattr(pipeline, "classes_", None)
    about = None if classes is None else positive_class(classes, positive)
    known = y if classes is None else classes
    chosen = offered(pipeline, metrics_for(task, known, names, about))
    scores = {}
    for metric in chosen:
        try:
            scores[metric.name] = metric.sign * metric.measure(pipeline, X, y)
        except ValueError:
            # Such as an area under the curve where the file holds one class only.
            scores[metric.name] = float("nan")
    return scores


def _use_code(model: str, file: str) -> str:
    return (
        "import panlearn\nfrom panlearn.compare import conform, read_table\n\n"
        f"model = panlearn.load({model!r})\nframe = read_table({file!r})\n"
        "X, notes = conform(frame, model)\n"
    )


def _parse_setting(text: str) -> tuple[str, Any]:
    """Read ``name=value``, the value a Python literal or else a string."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise DataError(f"{text!r} is not name=value")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
