"""A comparison as one HTML file that needs nothing else: no network, no server."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np
import pandas as pd

from panlearn.compare.density_recipe import density_row_code
from panlearn.compare.explaining import most_wrong
from panlearn.compare.leaderboard import BASELINE, Leaderboard
from panlearn.compare.metrics import Metric
from panlearn.compare.overview import overview_sentence, overviews
from panlearn.compare.page import breakable, duration, fact_list, figure, note_list, number, page
from panlearn.compare.pictures import pictures
from panlearn.compare.recipe import row_code
from panlearn.compare.scoring import Row
from panlearn.compare.sections import content
from panlearn.compare.verdict import verdict

TIE = "the folds cannot tell it from the best: corrected t-test at 95 %"

MOST_NAMED = 5  # columns, beside the code of a model


@dataclass(frozen=True)
class Part:
    """One data set's share of a report: its comparison, and how its table came to be."""

    title: str
    board: Leaderboard
    notes: tuple[str, ...]
    load: list[str]


def report(parts: list[Part], *, command: str, time_limit: float | None) -> str:
    """Write the page: leaderboard, plots, what was done to the data, and the code of each row.

    With several data sets it opens with every model's place on each of them.
    """
    if len(parts) == 1:
        part = parts[0]
        title, summary, facts = part.title, part.board.summary(), _facts(part.board)
        sections = _sections(part, "", time_limit)
    else:
        boards = {part.title: part.board for part in parts}
        title, summary, facts = f"{len(parts)} data sets", overview_sentence(boards), ""
        sections = [("overview", "Overview", _overview(boards))]
        for number, part in enumerate(parts, 1):
            inner = _sections(part, f"{number}-", time_limit)
            content = "".join(f'<h3 id="{key}">{name}</h3>{html}' for key, name, html in inner)
            head = f'<p class="summary">{escape(part.board.summary())}</p>{_facts(part.board)}'
            sections.append((f"set-{number}", escape(part.title), head + content))
    return page(title, summary, facts, sections, command)


def _sections(part: Part, prefix: str, time_limit: float | None) -> list[tuple[str, str, str]]:
    """Write the id, the title and the content of each section on one data set."""
    board = part.board
    curve = not prefix and not board.interrupted  # who stops a comparison does not want more fits
    drawn = "".join(map(figure, pictures(board, time_limit, curve)))
    code = "".join(_code(board, row, part.load, prefix) for row in board.rows)
    answers = verdict(board)
    wrong = None
    if board.best is not None and answers:
        wrong = most_wrong(board, board.best)
    return [
        *([(f"{prefix}answer", "Answer", fact_list(answers, "answers"))] if answers else []),
        (f"{prefix}leaderboard", "Leaderboard", _leaderboard(board, prefix)),
        (f"{prefix}plots", "Plots", f'<div class="plots">{drawn}</div>'),
        *([(f"{prefix}wrong", wrong.title, content(wrong))] if wrong else []),
        (f"{prefix}data", "Data", note_list((*part.notes, *board.notes))),
        (f"{prefix}code", "Code", code),
    ]


def _overview(boards: dict[str, Leaderboard]) -> str:
    """Write one table a task: every model's score on each data set, the better the bluer."""
    return "".join(_overview_table(frame, metric) for frame, metric in overviews(boards))


def _overview_table(frame: pd.DataFrame, metric: Metric) -> str:
    names = [name for name in frame.columns if name not in ("mean rank", "seconds")]
    heads = _head("model", "text", "ascending", css="text")
    heads += _head("mean rank", "number", "ascending", "ascending")
    first = "descending" if metric.sign > 0 else "ascending"
    heads += "".join(_head(name, "number", first) for name in names)
    heads += _head("seconds", "number", "ascending")
    places = frame[names].rank(ascending=metric.sign < 0, pct=True)
    rows = []
    for model, values in frame.iterrows():
        cells = f'<th scope="row" data-value="{escape(str(model))}">{breakable(str(model))}</th>'
        cells += f'<td data-value="{values["mean rank"]!r}">{values["mean rank"]:.1f}</td>'
        for name in names:
            if np.isnan(values[name]):
                cells += '<td data-value="">–</td>'
                continue
            shade = f"--shade:{45 * (1 - places.loc[model, name]):.0f}%"
            cells += f'<td class="shade" style="{shade}" data-value="{values[name]!r}">'
            cells += f"{number(values[name])}</td>"
        cells += f'<td data-value="{values["seconds"]!r}">{values["seconds"]:.1f}</td>'
        rows.append(f"<tr>{cells}</tr>")
    return (
        f'<div class="card scroll" tabindex="0" role="region" aria-label="{metric.name}">'
        f'<table class="leaderboard"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
        f"<p class='spread'>Mean {metric.name} over the folds, and the mean of the model's places; "
        "a model that failed comes last there. Seconds are those of all its folds on all sets.</p>"
    )


def _facts(board: Leaderboard) -> str:
    table = board.table
    failed = sum(row.failed and row.begun for row in board.rows)
    skipped = sum(not row.begun for row in board.rows)
    words = [f"{failed} failed"] * bool(failed) + [f"{skipped} not begun"] * bool(skipped)
    facts = {
        "task": table.task,
        "rows": f"{len(table.y):,}",
        "columns used": f"{table.X.shape[1]:,}",
        "folds": str(board.cv.n_splits),
        **({} if board.positive is None else {"positive class": str(board.positive)}),
        "models": f"{len(board.rows) - 1}" + (f" ({', '.join(words)})" if words else ""),
    }
    return fact_list(facts)


def _leaderboard(board: Leaderboard, prefix: str) -> str:
    heads = [_head("model", "text", "ascending", css="text")]
    for metric in board.metrics:
        first = "descending" if metric.sign > 0 else "ascending"
        ranks = metric is board.metrics[0]
        heads.append(_head(metric.name, "number", first, first if ranks else ""))
    heads += [_head("fit", "number", "ascending"), _head("predict", "number", "ascending")]
    rows = "".join(_row(board, row, prefix) for row in board.rows)
    label = f"{prefix}leaderboard"
    absent = "".join(f"<li>{escape(why)}</li>" for why in board.left_out)
    if absent:
        absent = f"<p class='spread'>Not compared unless named:</p><ul class='spread'>{absent}</ul>"
    return (
        f'<div class="card scroll" tabindex="0" role="region" aria-labelledby="{label}">'
        f'<table class="leaderboard"><thead><tr>{"".join(heads)}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
        "<p class='spread'>Mean ± standard deviation over the folds. Times are the median of the "
        f"folds. Ties: {TIE}. Press a header to sort; press a model's name for its code.</p>"
        f"{absent}"
    )


def _head(name: str, kind: str, first: str, sorted_now: str = "", css: str = "") -> str:
    now = f' aria-sort="{sorted_now}"' if sorted_now else ""
    return (
        f'<th scope="col" class="{css}" data-kind="{kind}" data-first="{first}"{now}>'
        f'<button type="button">{escape(name)}</button></th>'
    )


def _row(board: Leaderboard, row: Row, prefix: str) -> str:
    kind = "failed" if row.failed else "baseline" if row.name == BASELINE else ""
    kind = "best" if row is board.best else kind
    name = escape(row.name)
    link = f'<a href="#{_anchor(row, prefix)}">{breakable(row.name)}</a>'
    if row is board.best:
        link += ' <span class="tag">best</span>'
    elif board.ties(row):
        link += f' <span class="tag" title="{TIE}">ties</span>'
    elif row in board.apart():
        why = f"it has no {board.metrics[0].name} and is ranked among its like"
        link += f' <span class="tag" title="{why}">apart</span>'
    if row.warnings and not row.failed:
        many = f"{len(row.warnings)} warning{'s' * (len(row.warnings) > 1)}"
        link += f' <span class="tag" title="{escape(" ".join(row.warnings))}">{many}</span>'
    cells = [f'<th scope="row" data-value="{name}">{link}</th>']
    if row.failed:
        width = len(board.metrics) + 2
        tag = '<span class="tag bad">failed</span> ' if row.begun else ""
        why = f"{tag}{escape(row.error)}"
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
    if metric is board.metrics[0] and metric.sign > 0:
        share = 100 * float(np.clip(mean, 0, 1))
        text += f'<span class="bar"><i style="width:{share:.1f}%"></i></span>'
    return f'<td data-value="{mean!r}">{text}</td>'


def _time_cell(seconds: float) -> str:
    if np.isnan(seconds):
        return '<td data-value="">–</td>'
    return f'<td data-value="{seconds!r}">{duration(seconds)}</td>'


def _code(board: Leaderboard, row: Row, load: list[str], prefix: str) -> str:
    said = "".join(
        f'<p class="said">{escape(text)}</p>' for text in (row.error, *row.warnings) if text
    )
    if row.importance:
        top = sorted(row.importance.items(), key=lambda item: -item[1])[:MOST_NAMED]
        words = ", ".join(f"{name} {value:.3f}" for name, value in top)
        said += f'<p class="said">Most important on rows held out: {escape(words)}</p>'
    code = ""
    if row.pipeline is not None:
        code = (
            '<div class="code"><button class="copy" type="button">Copy</button>'
            f"<pre><code>{escape(script(board, row, load))}</code></pre></div>"
        )
    summary = f"<summary>{escape(row.name)}</summary>"
    now = " open" if row is board.best else ""
    return f'<details id="{_anchor(row, prefix)}"{now}>{summary}{said}{code}</details>'


def script(board: Leaderboard, row: Row, load: list[str]) -> str:
    """Write the Python that gives a row of the board again."""
    write = density_row_code if board.table.task == "density" else row_code
    return write(board, row, load)


def _anchor(row: Row, prefix: str) -> str:
    return f"{prefix}code-" + "".join(c if c.isalnum() else "-" for c in row.name)
