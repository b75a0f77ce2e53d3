"""Charts of ratios with their spread, as SVG that needs neither script nor network."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from math import log2
from typing import Any

from facts import Growth, Measured, growth, methods, results, workloads

LOW, HIGH = -2.0, 6.0  # powers of two at the ends of the axis: a quarter and 64 times
WIDTH, HEIGHT, MARGIN = 260, 26, 12
FOLDED = 60  # workloads of a family: more are folded by method


def place(ratio: float) -> float:
    """Map a ratio to the axis, what lies beyond it to its ends."""
    share = (min(max(log2(max(ratio, 1e-9)), LOW), HIGH) - LOW) / (HIGH - LOW)
    return MARGIN + share * (WIDTH - 2 * MARGIN)


def ratio_chart(measured: Measured) -> str:
    """Draw one workload: a box between the quartiles of the rounds, a mark at their median."""
    if measured.ratio is None or measured.spread is None:
        return ""
    low, high = (place(x) for x in measured.spread)
    middle, one = place(measured.ratio), place(1)
    kind = verdict(measured)
    words = f"{short(measured.ratio)} times the speed, quartiles {spread_words(measured)}"
    bar = ""
    if measured.bar:
        at = place(measured.bar)
        bar = f'<line class="bar" x1="{at:.1f}" x2="{at:.1f}" y1="3" y2="{HEIGHT - 3}"/>'
    return (
        f'<svg class="measure {kind}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(words)}"><title>{escape(words)}</title>'
        f'<line class="one" x1="{one:.1f}" x2="{one:.1f}" y1="0" y2="{HEIGHT}"/>{bar}'
        f'<line class="stem" x1="{min(one, middle):.1f}" x2="{max(one, middle):.1f}" '
        f'y1="{HEIGHT / 2}" y2="{HEIGHT / 2}"/>'
        f'<rect x="{low:.1f}" y="7" width="{max(high - low, 1.5):.1f}" height="{HEIGHT - 14}"/>'
        f'<line class="median" x1="{middle:.1f}" x2="{middle:.1f}" y1="4" y2="{HEIGHT - 4}"/></svg>'
    )


def verdict(measured: Measured) -> str:
    """Say faster, slower, or a draw where one lies between the quartiles."""
    low, high = measured.spread or (1.0, 1.0)
    return "draw" if low <= 1 <= high else "faster" if low > 1 else "slower"


def axis() -> str:
    """Draw the scale that the charts share."""
    ticks = [
        (2.0**k, f"{2**k}" if k >= 0 else f"1/{2**-k}") for k in range(int(LOW), int(HIGH) + 1)
    ]
    marks = "".join(
        f'<text x="{place(at):.1f}" y="13" text-anchor="middle">{label}</text>'
        for at, label in ticks
    )
    return f'<svg class="measure axis" viewBox="0 0 {WIDTH} 16" aria-hidden="true">{marks}</svg>'


def short(value: float) -> str:
    """Write a number so that the side of one it is on shows."""
    return f"{value:.1f}" if value >= 2 else f"{value:.2f}"


def rounded(size: float) -> str:
    """Write a size in few letters."""
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if size >= unit:
            return f"{size / unit:.3g}{letter}"
    return f"{size:.3g}"


def spread_words(measured: Measured) -> str:
    """Write the quartiles."""
    low, high = measured.spread or (float("nan"), float("nan"))
    return f"{short(low)} to {short(high)}"


def contenders_table(measured: Measured) -> str:
    """Write seconds, memory and quality of every contender."""
    keys = list(dict.fromkeys(key for row in measured.contenders for key in row["quality"]))
    head = "".join(f"<th>{escape(key)}</th>" for key in ["", "seconds", "memory, MB", *keys])
    body = ""
    for row in measured.contenders:
        memory = row["memory_mb"]
        cells = [
            f"{row['seconds']:.3g}",
            f"{memory:.0f}" if memory is not None and memory == memory else "",
            *(f"{row['quality'][key]:.6g}" if key in row["quality"] else "" for key in keys),
        ]
        tail = "".join(f"<td>{cell}</td>" for cell in cells)
        body += f'<tr><th scope="row">{escape(row["contender"])}</th>{tail}</tr>'
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def workload_row(measured: Measured, root: str = "") -> str:
    """Write one workload: its name, its chart, and who did what in how long."""
    known = methods().get(measured.method)
    link = f'<a href="{root}{known.page}">{measured.method}</a>' if known else measured.method
    said = f"<b>{short(measured.ratio or 0)}</b> <small>({spread_words(measured)})</small>"
    words = " ".join([measured.workload, measured.method, measured.family, verdict(measured)])
    words += " " + " ".join(row["contender"] for row in measured.contenders)
    when = f", {escape(measured.measured)}" if measured.measured else ""
    return (
        f'<details class="workload" data-words="{escape(words.lower())}">'
        f'<summary><span class="what">{escape(measured.workload)}</span>'
        f'<span class="chart">{ratio_chart(measured)}</span>'
        f'<span class="said">{said}</span></summary>'
        f"<p>{link}, {measured.rounds} rounds turn about{when}.</p>"
        f"{contenders_table(measured)}</details>"
    )


def growth_curve(law: Growth, root: str = "") -> str:
    """Draw the seconds of the runs by their sizes, and say the exponent."""
    known = methods().get(law.method)
    name = f'<a href="{root}{known.page}">{law.method}</a>' if known else escape(law.method)
    said = f"{name} {escape(law.law)}: <b>{law.exponent:.2f}</b>"
    if not law.sizes:
        return f'<figure class="curve"><figcaption>{said}</figcaption></figure>'
    across, up = ([log2(value) for value in values] for values in (law.sizes, law.seconds))
    points = [
        (20 + 220 * (x - across[0]) / (across[-1] - across[0]), 75 - 8 * (y - min(up)))
        for x, y in zip(across, up, strict=True)
    ]
    top = min(y for _, y in points) - 20
    labels = "".join(
        f'<text x="{x:.1f}" y="{y - 8:.1f}" text-anchor="middle">{seconds:.2g} s</text>'
        f'<text x="{x:.1f}" y="94" text-anchor="middle">{rounded(size)}</text>'
        for (x, y), seconds, size in zip(points, law.seconds, law.sizes, strict=True)
    )
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in points)
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return (
        f'<figure class="curve"><svg viewBox="0 {min(top, 0):.0f} 260 {96 - min(top, 0):.0f}" '
        f'role="img" aria-label="{escape(law.method)}: seconds by size"><polyline '
        f'points="{line}"/>{dots}{labels}</svg><figcaption>{said}</figcaption></figure>'
    )


def machine_line(facts: dict[str, Any]) -> str:
    """Write what the figures were measured on."""
    return ", ".join([facts["cpu"], facts["date"], *versions(facts)])


def versions(facts: dict[str, Any]) -> Iterable[str]:
    """Write the packages and their versions."""
    return (f"{name} {value}" for name, value in facts.items() if name not in ("cpu", "date"))


def benchmark_page() -> str:
    """Write the page of all workloads: a box to filter them, their charts, growth, machines."""
    shown = [m for m in workloads() if m.ratio is not None]
    alone = [m for m in workloads() if len(m.contenders) == 1]
    hidden = len(workloads()) - len(shown) - len(alone)
    text = (
        '<div class="atlas" id="workloads"><p class="controls"><label>Filter '
        '<input type="search" id="filter" placeholder="hmm, slower, lightgbm" autocomplete="off">'
        '</label> <output id="count" aria-live="polite"></output></p>'
    )
    text += (
        '<div class="workload head"><span class="what">Time of the fastest peer over ours</span>'
        f'<span class="chart">{axis()}</span><span class="said">median (quartiles)</span></div>'
    )
    for family, content in results().items():
        own = [m for m in shown if m.family == family]
        if own:
            text += f'<section class="family"><h2 id="{family}">{family.replace("_", " ")}</h2>'
            text += "".join(map(workload_row, own)) if len(own) <= FOLDED else _by_method(own)
            text += f'<p class="machine">{escape(machine_line(content["machine"]))}</p></section>'
    if not shown:
        text += "<p>No workload has been measured with its spread yet.</p>"
    if hidden:
        text += (
            f'<p class="note">{hidden} workloads were last measured before spreads were kept, and '
            "are not shown: <code>make bench</code> measures them again.</p>"
        )
    text += extremes(shown)
    if growth():
        text += (
            '<h2 id="growth">Growth</h2><p>The exponent p of time ~ size<sup>p</sup>, fitted to '
            "runs of several sizes; both axes of a curve are logarithmic.</p>"
            f"{_growths()}"
        )
    return text + "</div>"


def grouped(shown: list[Measured]) -> dict[str, list[Measured]]:
    """Sort workloads by method."""
    groups: dict[str, list[Measured]] = {}
    for measured in shown:
        groups.setdefault(measured.method, []).append(measured)
    return groups


def extremes(shown: list[Measured]) -> str:
    """Write the worst workload of each method beside its best, from the worst of all on."""
    rows = []
    for method, some in grouped(shown).items():
        if len(some) > 1:
            some = sorted(some, key=lambda measured: measured.ratio or 0)
            known = methods().get(method)
            link = f'<a href="{known.page}">{escape(method)}</a>' if known else escape(method)
            cells = "".join(
                f"<td><b>{short(m.ratio or 0)}</b> {escape(m.workload)}</td>"
                for m in (some[0], some[-1])
            )
            rows.append((some[0].ratio or 0, f'<tr><th scope="row">{link}</th>{cells}</tr>'))
    if not rows:
        return ""
    body = "".join(row for _, row in sorted(rows))
    return (
        '<h2 id="extremes">Worst beside best</h2><p>Of each method with several workloads, the one '
        "with the least ratio and the one with the greatest.</p>"
        '<table class="extremes"><tr><th>method</th><th>worst</th><th>best</th></tr>'
        f"{body}</table>"
    )


def _by_method(own: list[Measured]) -> str:
    """Write many workloads folded by method, each with its range and how often a peer is faster."""
    text = ""
    for method, some in grouped(own).items():
        ratios = [measured.ratio or 0 for measured in some]
        slower = sum(verdict(measured) == "slower" for measured in some)
        said = f"{len(some)} workloads, {short(min(ratios))} to {short(max(ratios))}"
        said += f", {slower} slower" if slower else ""
        rows = "".join(map(workload_row, some))
        summary = f"<summary>{escape(method)}: {said}</summary>"
        text += f'<details class="group">{summary}{rows}</details>'
    return text


def _growths() -> str:
    """Write the curves, folded by family."""
    families: dict[str, list[Growth]] = {}
    for law in sorted(growth(), key=lambda law: law.method):
        families.setdefault(law.method.partition(".")[0], []).append(law)
    return "".join(
        f'<details><summary>{escape(family)}: {len(own)}</summary><div class="curves">'
        f"{''.join(map(growth_curve, own))}</div></details>"
        for family, own in families.items()
    )
