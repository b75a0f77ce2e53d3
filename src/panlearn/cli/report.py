"""A comparison as one HTML file that needs nothing else: no network, no server."""

from __future__ import annotations

import platform
import sys
from datetime import datetime
from html import escape
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files

import numpy as np

from panlearn.cli.leaderboard import BASELINE, Leaderboard, Metric, Row
from panlearn.cli.pictures import Picture, pictures
from panlearn.cli.recipe import row_code

# Even a hole in the escaping could load and send nothing.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
PACKAGES = ("panlearn", "scikit-learn", "numpy", "scipy", "numba", "pandas", "matplotlib")


def report(
    board: Leaderboard,
    *,
    title: str,
    notes: tuple[str, ...],
    load: list[str],
    command: str,
    time_limit: float | None,
) -> str:
    """Write the page: leaderboard, plots, what was done to the data, and the code of each row."""
    drawn = pictures(board, time_limit)
    sections = [
        ("leaderboard", "Leaderboard", _leaderboard(board)),
        ("plots", "Plots", f'<div class="plots">{"".join(map(_figure, drawn))}</div>'),
        ("data", "Data", _notes((*notes, *board.notes))),
        ("code", "Code", "".join(_code(board, row, load) for row in board.rows)),
    ]
    links = "".join(f'<a href="#{key}">{name}</a>' for key, name, _ in sections)
    body = "".join(
        f'<section aria-labelledby="{key}"><h2 id="{key}">{name}</h2>{content}</section>'
        for key, name, content in sections
    )
    here = files("panlearn.cli")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<link rel="icon" href="data:,">
<title>{escape(title)} · panlearn</title>
<style>{here.joinpath("report.css").read_text("utf-8")}</style>
</head>
<body>
<header>
<p class="brand">panlearn</p>
<h1>{escape(title)}</h1>
<p class="summary">{escape(board.summary())}</p>
<nav aria-label="Sections">{links}</nav>
{_facts(board)}
</header>
<main>{body}</main>
<footer>{_about(command)}</footer>
<div id="live" role="status" style="position:absolute;left:-9999px"></div>
<script>{here.joinpath("report.js").read_text("utf-8")}</script>
</body>
</html>
"""


def _facts(board: Leaderboard) -> str:
    table = board.table
    failed = sum(row.failed for row in board.rows)
    facts = {
        "task": table.task,
        "rows": f"{len(table.y):,}",
        "columns used": f"{table.X.shape[1]:,}",
        "folds": str(board.cv.n_splits),
        "models": f"{len(board.rows) - 1}" + (f" ({failed} failed)" if failed else ""),
    }
    items = "".join(
        f'<div class="fact"><dt>{k}</dt><dd>{escape(v)}</dd></div>' for k, v in facts.items()
    )
    return f'<dl class="facts">{items}</dl>'


def _leaderboard(board: Leaderboard) -> str:
    heads = [_head("model", "text", "ascending", css="text")]
    for metric in board.metrics:
        first = "descending" if metric.sign > 0 else "ascending"
        ranks = metric is board.metrics[0]
        heads.append(_head(metric.name, "number", first, first if ranks else ""))
    heads += [_head("fit", "number", "ascending"), _head("predict", "number", "ascending")]
    rows = "".join(_row(board, row) for row in board.rows)
    return (
        '<div class="card scroll" tabindex="0" role="region" aria-labelledby="leaderboard">'
        f'<table class="leaderboard"><thead><tr>{"".join(heads)}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
        "<p class='spread'>Mean ± standard deviation over the folds. Times are the median of the "
        "folds. Press a header to sort; press a model's name for its code.</p>"
    )


def _head(name: str, kind: str, first: str, sorted_now: str = "", css: str = "") -> str:
    now = f' aria-sort="{sorted_now}"' if sorted_now else ""
    return (
        f'<th scope="col" class="{css}" data-kind="{kind}" data-first="{first}"{now}>'
        f'<button type="button">{escape(name)}</button></th>'
    )


def _row(board: Leaderboard, row: Row) -> str:
    kind = "failed" if row.failed else "baseline" if row.name == BASELINE else ""
    kind = "best" if row is board.best else kind
    name = escape(row.name)
    link = f'<a href="#{_anchor(row)}">{name}</a>'
    if row is board.best:
        link += ' <span class="tag">best</span>'
    if row.warnings and not row.failed:
        many = f"{len(row.warnings)} warning{'s' * (len(row.warnings) > 1)}"
        link += f' <span class="tag" title="{escape(" ".join(row.warnings))}">{many}</span>'
    cells = [f'<th scope="row" data-value="{name}">{link}</th>']
    if row.failed:
        width = len(board.metrics) + 2
        why = f'<span class="tag bad">failed</span> {escape(row.error)}'
        cells.append(f'<td class="why" colspan="{width}" data-value="">{why}</td>')
    else:
        cells += [_score_cell(board, row, metric) for metric in board.metrics]
        cells += [_time_cell(row.fit_seconds), _time_cell(row.predict_seconds)]
    return f'<tr class="{kind}">{"".join(cells)}</tr>'


def _score_cell(board: Leaderboard, row: Row, metric: Metric) -> str:
    mean = row.mean(metric)
    if np.isnan(mean):
        return '<td data-value="">–</td>'
    text = f'{number(mean)} <span class="spread">± {number(row.std(metric))}</span>'
    if metric is board.metrics[0]:
        share = 100 * float(np.clip(mean, 0, 1))
        text += f'<span class="bar"><i style="width:{share:.1f}%"></i></span>'
    return f'<td data-value="{mean!r}">{text}</td>'


def _time_cell(seconds: float) -> str:
    if np.isnan(seconds):
        return '<td data-value="">–</td>'
    return f'<td data-value="{seconds!r}">{duration(seconds)}</td>'


def duration(seconds: float) -> str:
    """Write a time with a unit that suits it."""
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


def number(value: float) -> str:
    """Write a score to three decimals, or a large one to four digits."""
    return f"{value:.3f}" if abs(value) < 100 else f"{value:,.4g}"


def _figure(picture: Picture) -> str:
    words = f"<h3>{escape(picture.title)}</h3><figcaption>{escape(picture.caption)}</figcaption>"
    if picture.error:
        image = f"<p>Not drawn: {escape(picture.error)}</p>"
    else:
        light, dark = (f"data:image/png;base64,{picture.images[t]}" for t in ("light", "dark"))
        image = (
            f'<picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
            f'<img src="{light}" alt="{escape(picture.alt)}"></picture>'
        )
    return f'<figure class="card">{words}{image}</figure>'


def _notes(notes: tuple[str, ...]) -> str:
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f'<div class="card data"><ul>{items}</ul></div>'


def _code(board: Leaderboard, row: Row, load: list[str]) -> str:
    said = "".join(
        f'<p class="said">{escape(text)}</p>' for text in (row.error, *row.warnings) if text
    )
    code = ""
    if row.pipeline is not None:
        code = (
            '<div class="code"><button class="copy" type="button">Copy</button>'
            f"<pre><code>{escape(row_code(board, row, load))}</code></pre></div>"
        )
    summary = f"<summary>{escape(row.name)}</summary>"
    return f'<details id="{_anchor(row)}">{summary}{said}{code}</details>'


def _anchor(row: Row) -> str:
    return "code-" + "".join(c if c.isalnum() else "-" for c in row.name)


def _about(command: str) -> str:
    versions = [f"python {sys.version.split()[0]}"]
    for package in PACKAGES:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    when = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
    return (
        f"<p><code>{escape(command)}</code></p>"
        f"<p>{escape(when)} · {escape(' · '.join(versions))} · {escape(platform.platform())}</p>"
    )
