"""Write Python that does what a comparison of densities did."""

from __future__ import annotations

from typing import Any

from panlearn.compare.leaderboard import BASELINE, Leaderboard
from panlearn.compare.recipe import Source, fold_code, read_code
from panlearn.compare.scoring import Row


def density_load_code(source: str, rows: int | None, seed: int) -> list[str]:
    """Lines that make X, the columns of numbers, from a file or from a built-in data set."""
    options = "" if rows is None else f", rows={rows}, random_state={seed}"
    return [f"X = density_table({read_code(source)}{options}).X"]


def density_row_code(board: Leaderboard, row: Row, load: list[str]) -> str:
    """Write a script that gives the log-likelihoods of a row again, or draws from its model."""
    if row.pipeline is None or row.name == BASELINE:
        return ""
    source = _reading(load)
    body = [*load, *source.model(row.pipeline)]
    if hasattr(row.pipeline, "score_samples"):
        source.imports.add(("sklearn.model_selection", "cross_validate"))
        body += [
            fold_code(board, source),
            'values = cross_validate(model, X, cv=cv, error_score="raise")["test_score"]',
            'print(f"log-likelihood: {values.mean():.6f} ± {values.std():.6f}")',
        ]
    else:
        body += ["model.fit(X)", "print(model[-1].sample(5, random_state=0))"]
    return "\n".join([*source.import_lines(), "", *body]) + "\n"


def compare_density_code(load: list[str], options: dict[str, Any]) -> str:
    """Write a script that makes the whole leaderboard of densities."""
    source = _reading(load)
    source.imports.add(("panlearn.compare", "compare_density"))
    asked = {k: v for k, v in options.items() if v is not None}
    arguments = ", ".join(f"{k}={v!r}" for k, v in asked.items())
    body = [*load, f"board = compare_density(X, {arguments})", "print(board.frame())"]
    return "\n".join([*source.import_lines(), "", *body]) + "\n"


def _reading(load: list[str]) -> Source:
    source = Source()
    names = [n for n in ("built_in", "density_table", "read_table") if f"{n}(" in load[0]]
    source.imports |= {("panlearn.compare", name) for name in names}
    return source
