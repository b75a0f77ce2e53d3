"""What was proved and measured of a method: claims, parity, speed; and the errata of the texts."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable
from html import escape

from charts import growth_curve, machine_line, workload_row
from comparisons import peers_of
from facts import Method, claims_of, growth, proof, results, rows, workloads
from migration import migrations_of
from writing import formulas, list_table, raw, title

from panlearn.claims import Claim, all_claims


@functools.cache
def claims() -> dict[str, Claim]:
    """Return the claims of the package by their ids."""
    return {claim.id: claim for claim in all_claims()}


def sections(method: Method) -> str:
    """Write claims, parity, speed and cost of a method, each where there is something to say."""
    parts = {
        "Claims": raw(_claims_section(method)),
        "Parity": raw(_parity_section(method)),
        "Speed": raw(_speed_section(method)),
        "Cost": _cost_section(method),
    }
    return "".join(title(name, "-") + text for name, text in parts.items() if text)


def _claims_section(method: Method) -> str:
    own = [claim_item(id, "../") for id in claims_of(method) if id in claims()]
    if not own:
        return ""
    words = f"<p>{len(own)} of the claims of <code>panlearn verify</code> run it.</p>"
    return f'<div class="atlas">{words}<ul class="claims">{"".join(own)}</ul></div>'


def claim_item(id: str, root: str = "", *, anchor: bool = False) -> str:
    """Write one claim: its statement, and behind it the numbers that were measured."""
    kept = proof()["claims"].get(id, {"evidence": [], "holds": False})
    evidence = "".join(f"<li>{escape(line)}</li>" for line in kept["evidence"])
    mark = f' id="{id}"' if anchor else ""
    name = id if anchor else f'<a href="{root}claims.html#{id}">{id}</a>'
    statement = escape(claims()[id].statement)
    if not evidence:
        return f"<li{mark}><b>{name}</b> {statement}</li>"
    return (
        f"<li{mark}><details><summary><b>{name}</b> {statement}</summary>"
        f"<ul>{evidence}</ul></details></li>"
    )


def claims_page() -> str:
    """Write every claim with its evidence, topic after topic."""
    text = '<div class="atlas">'
    for topic, own in itertools.groupby(
        sorted(claims().values(), key=lambda claim: claim.topic), key=lambda claim: claim.topic
    ):
        items = "".join(claim_item(claim.id, anchor=True) for claim in own)
        text += f'<h2 id="{topic}">{topic.replace("_", " ")}</h2><ul class="claims">{items}</ul>'
    return text + "</div>"


def _parity_section(method: Method) -> str:
    tests = proof()["parity"].get(method.path, {})
    lines, compared = [], set()
    for test, cases in tests.items():
        file, _, name = test.partition("::")
        words = name.removeprefix("test_").replace("_", " ")
        many = f", {cases} cases" if cases > 1 else ""
        peers = peers_of(test)
        compared |= {*peers}
        whom = f"<b>{escape(', '.join(peers))}</b>: " if peers else ""
        lines.append(f"<li>{whom}{escape(words)} <small>({file}.py{many})</small></li>")
    beside = "".join(
        f'<li>side by side, with the same numbers: <a href="../migration/{stem}.html">coming from '
        f"{escape(stem)}</a></li>"
        for stem in migrations_of(method)
    )
    if not lines and not beside:
        return ""
    whom = f" with {escape(', '.join(sorted(compared, key=str.lower)))}" if compared else ""
    words = f"Compared{whom} by <code>tests/parity</code>, each test named by what it shows."
    head = f"<p>{words}</p>" if lines else ""
    return f'<div class="atlas">{head}<ul class="parity">{"".join(lines)}{beside}</ul></div>'


def _speed_section(method: Method) -> str:
    own = [m for m in workloads() if m.method == method.path and m.ratio is not None]
    if not own:
        return ""
    text = "<p>The time of the fastest peer over ours, on the same data in one process: above "
    text += "1 panlearn is faster. The box spans the quartiles of the rounds.</p>"
    text += "".join(workload_row(m, "../") for m in own) + _machines(m.family for m in own)
    return f'<div class="atlas">{text}</div>'


def _cost_section(method: Method) -> str:
    """Set what the docstring says of the cost beside the growth that was measured."""
    text = " ".join(method.cost) + "\n\n" if method.cost else ""
    laws = [law for law in growth() if law.method == method.path]
    if laws:
        curves = "".join(growth_curve(law, "../") for law in laws)
        words = "<p>The exponent p of time ~ size<sup>p</sup>, with a few iterations:</p>"
        curves = f'<div class="curves">{curves}</div>{_machines(law.file for law in laws)}'
        text += raw(f'<div class="atlas">{words}{curves}</div>')
    return text


def _machines(files: Iterable[str]) -> str:
    lines = dict.fromkeys(machine_line(results()[file]["machine"]) for file in files)
    return "".join(f'<p class="machine">{escape(line)}</p>' for line in lines)


def errata_tables() -> str:
    """Write the errata, a table a text: where, what is printed, what is right, which claim."""
    text = ""
    for source, own in itertools.groupby(rows("errata.csv"), key=lambda row: row["text"]):
        table = [["Where", "Printed", "Right", "Claim"]]
        for row in own:
            shown = ", ".join(f"`{id} <claims.html#{id}>`__" for id in row["claims"].split())
            right = formulas(row["right"])
            if row["kind"] == "condition":
                right = f"*(a condition is missing)* {right}"
            table.append([row["place"], formulas(row["printed"]), right, shown])
        text += title(source, "-") + list_table(table, widths="18 32 40 10", class_="errata")
    return text
