"""``panlearn verify``: run the claims and say what holds."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from panlearn.cli.app import as_code, as_json, console, progress_bar, write_json
from panlearn.core.errors import DataError


@click.command()
@click.argument("ids", nargs=-1)
@click.option("--list", "only_list", is_flag=True, help="List the claims without running them.")
@as_json
@as_code
def verify(ids: tuple[str, ...], only_list: bool, as_json: bool, as_code: bool) -> int:
    """Measure what the course texts claim: all claims, or those with these IDS.

    Prints the id, the statement, what was measured, and whether it holds; exits with 1 if any
    claim does not. Claims that need an extra which is not installed are counted and not run.
    """
    if as_code:
        wanted = repr(list(ids)) if ids else ""
        click.echo(
            "from panlearn.claims import verify\n\n"
            f"for verdict in verify({wanted}):\n    print(verdict.claim.id, verdict.holds)"
        )
        return 0
    from panlearn.claims import absent_claims, all_claims
    from panlearn.core.inventory import unknown

    claims, absent = {claim.id: claim for claim in all_claims()}, absent_claims()
    for i in ids:
        if i in absent:
            raise DataError(f"claim {i} cannot be run: {absent[i]}")
        if i not in claims:
            raise unknown(i, f"claim {i!r}", list(claims))
    chosen = [claims[i] for i in ids] or list(claims.values())
    for reason, number in Counter([] if ids else absent.values()).items():
        click.echo(f"· {number} of {len(claims) + len(absent)} claims left out: {reason}", err=True)
    if only_list:
        _list(chosen, as_json)
        return 0
    verdicts = []
    with progress_bar() as bar:
        task = bar.add_task("claims", total=len(chosen))
        for claim in chosen:
            bar.update(task, description=f"claim {claim.id}")
            verdicts.append(claim.verify())
            bar.advance(task)
    failed = [v.claim.id for v in verdicts if not v.holds]
    if as_json:
        write_json([_record(v) for v in verdicts])
    else:
        out = console()
        for verdict in verdicts:
            _print(verdict, out)
        held = len(verdicts) - len(failed)
        rest = f"; these do not: {', '.join(failed)}" if failed else ""
        rest += f"; {len(absent)} were left out" if absent and not ids else ""
        click.echo(f"{held} of {len(verdicts)} claims hold{rest}")
    return 1 if failed else 0


def _list(claims: list[Any], as_json: bool) -> None:
    if as_json:
        write_json(
            [
                {
                    "id": c.id,
                    "topic": c.topic,
                    "mathematics": c.mathematics,
                    "statement": c.statement,
                }
                for c in claims
            ]
        )
        return
    from rich.table import Table
    from rich.text import Text

    table = Table("id", "topic", "statement", box=None, header_style="bold")
    for claim in claims:
        table.add_row(*map(Text, (claim.id, claim.topic, claim.statement)))
    console().print(table)


def _print(verdict: Any, out: Any) -> None:
    from rich.text import Text

    mark = Text("holds", "green") if verdict.holds else Text("does not hold", "bold red")
    out.print(Text.assemble((verdict.claim.id, "bold"), " ", mark), soft_wrap=True)
    out.print(Text("  " + verdict.claim.statement), soft_wrap=True)
    if verdict.claim.mathematics:
        out.print(Text("  mathematics alone: it runs no method", "dim"), soft_wrap=True)
    for piece in verdict.evidence:
        out.print(Text(f"  {'·' if piece.holds else '✗'} {piece}", "dim"), soft_wrap=True)
    if verdict.error:
        out.print(Text(f"  ✗ {verdict.error}", "red"), soft_wrap=True)


def _record(verdict: Any) -> dict[str, Any]:
    return {
        "id": verdict.claim.id,
        "statement": verdict.claim.statement,
        "mathematics": verdict.claim.mathematics,
        "holds": verdict.holds,
        "seconds": verdict.seconds,
        "error": verdict.error,
        "evidence": [vars(piece) for piece in verdict.evidence],
    }
