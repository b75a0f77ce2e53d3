"""``panlearn sample``: new rows from a saved model."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import click

from panlearn.cli.app import as_code, as_json, check_output, write_csv, write_json
from panlearn.core.errors import DataError, listed

if TYPE_CHECKING:
    import pandas as pd


@click.command()
@click.argument("model", type=click.Path(exists=True, dir_okay=False))
@click.option("--n", "count", type=click.IntRange(1), default=10, show_default=True, help="Rows.")
@click.option("--label", help="What is to hold of them: a label, or numbers with commas.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the draws.")
@click.option("--output", type=click.Path(dir_okay=False), help="CSV or Parquet; else the screen.")
@as_json
@as_code
def sample(
    model: str,
    count: int,
    label: str | None,
    seed: int,
    output: str | None,
    as_json: bool,
    as_code: bool,
) -> None:
    """Draw new rows from a saved MODEL, with the columns of those it was fitted on.

    An image is a row of its pixels.
    """
    import panlearn
    from panlearn.compare.files import check_kind, write_table
    from panlearn.core.persistence import ModelFileError

    check_output(output)
    if output is not None:
        check_kind(output)
    try:
        loaded = panlearn.load(model)
    except ModelFileError as error:
        raise DataError(str(error)) from None
    if as_code:
        given = "" if label is None else f", y={_condition(loaded, label)!r}"
        click.echo(
            f"import panlearn\n\nmodel = panlearn.load({model!r})\n"
            f"print(model.sample({count}, random_state={seed}{given}))"
        )
        return
    rows = _drawn(loaded, count, label, seed)
    if output is not None:
        write_table(rows, output)
    if as_json:
        write_json({"output": output, "rows": rows.to_dict("list")})
    elif output is None:
        write_csv(rows)
    else:
        click.echo(f"{len(rows):,} rows: {output}")


def _drawn(model: Any, count: int, label: str | None, seed: int) -> pd.DataFrame:
    """So many rows of a model, as a frame with the names that it knows."""
    import numpy as np
    import pandas as pd

    name = type(model).__name__
    draw = getattr(model, "sample", None)
    takes = inspect.signature(draw).parameters if callable(draw) else {}
    if draw is None or "n_samples" not in takes:
        raise DataError(f"a {name} draws no rows; `panlearn list generative` names models that do")
    given = {} if label is None else {"y": _condition(model, label)}
    made = draw(count, random_state=seed, **given)
    if isinstance(made, pd.DataFrame):
        return made
    values, beside = made if isinstance(made, tuple) else (made, None)  # a mixture's components
    values = np.asarray(values).reshape(count, -1)
    names = getattr(model, "feature_names_in_", [f"x{i}" for i in range(values.shape[1])])
    frame = pd.DataFrame(values, columns=list(names))
    return frame if beside is None else frame.assign(component=beside)


def _condition(model: Any, label: str) -> Any:
    """What a label on the command line stands for."""
    conditions = getattr(model, "conditions_", None)
    if conditions is None:
        raise DataError(f"this {type(model).__name__} was fitted without labels: leave --label out")
    if hasattr(conditions, "classes"):
        known = {str(c): c for c in conditions.classes.tolist()}
        if label not in known:
            raise DataError(f"no label {label!r}; there are {listed(list(known))}")
        return known[label]
    try:
        numbers = [float(part) for part in label.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != conditions.size:
        raise DataError(f"--label {label!r} must be {conditions.size} numbers, with commas")
    return numbers[0] if len(numbers) == 1 else numbers
