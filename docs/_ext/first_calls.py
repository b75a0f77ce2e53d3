"""The page of what a newcomer waits for: imports, and first fits with and without kept code."""

from __future__ import annotations

from html import escape
from typing import Any

from charts import machine_line
from facts import methods, results

REFERENCE = "sklearn.linear_model"


def first_calls_page() -> str:
    """Write both tables, or that nothing was measured."""
    content = results().get("first_call")
    if content is None:
        return '<div class="atlas"><p>First calls have not been measured yet.</p></div>'
    fits = sorted(content["fits"], key=lambda fit: -fit["cold"])
    goals = content["goals"]
    cold, warm = (sum(fit[key] <= goals[key] for fit in fits) for key in ("cold", "warm"))
    later = sum(fit["warm"] - fit["again"] <= goals["warm"] for fit in fits)
    said = (
        f"Of {len(fits)} classes {cold} are fitted within {goals['cold']:g} seconds where nothing "
        f"is compiled, {warm} within {goals['warm']:g} where everything is kept. In {later} no "
        f"more than {goals['warm']:g} seconds go into what a second fit need not do."
    )
    return (
        f'<div class="atlas"><p>{said}</p><details><summary>All classes, slowest first</summary>'
        f"{_fits(fits)}</details><details><summary>Imports</summary>{_imports(content['imports'])}"
        f'</details><p class="machine">{escape(machine_line(content["machine"]))}</p></div>'
    )


def _fits(fits: list[dict[str, Any]]) -> str:
    rows = ""
    for fit in fits:
        family, name, *_ = fit["method"].split(".")
        known, name = methods().get(f"{family}.{name}"), escape(fit["method"])
        link = f'<a href="{known.page}">{name}</a>' if known else name
        peer = "" if fit["sklearn"] is None else f"{fit['sklearn']:.3f}"
        seconds = [f"{fit[key]:.2f}" for key in ("cold", "warm", "again")]
        rows += _row(link, *seconds, peer)
    return _table(["seconds of the first fit", "cold", "warm", "again", "scikit-learn"], rows)


def _imports(seconds: dict[str, float]) -> str:
    rows = "".join(
        _row(escape(name), f"{value:.2f}", f"{value / seconds[REFERENCE]:.2f}")
        for name, value in seconds.items()
    )
    return _table(["import", "seconds", f"times {REFERENCE}"], rows)


def _row(head: str, *cells: str) -> str:
    body = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr><th scope="row">{head}</th>{body}</tr>'


def _table(head: list[str], rows: str) -> str:
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    return f'<div class="scroll"><table><tr>{titles}</tr>{rows}</table></div>'
