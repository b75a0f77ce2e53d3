"""``panlearn index``, ``search`` and ``ask``: documents in, passages and answers out."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from panlearn.cli.app import as_code, as_json, check_output, console, progress_bar, write_json
from panlearn.core.errors import count, visible

if TYPE_CHECKING:
    from panlearn.cli.passages import Passage

AROUND = 2  # lines shown before and after the best one
WIDTH = 300  # characters of a line that are shown


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--output", required=True, type=click.Path(dir_okay=False), help="File to write.")
@click.option("--lines", default=30, show_default=True, type=click.IntRange(1), help="A passage's.")
@click.option(
    "--overlap",
    default=10,
    show_default=True,
    type=click.IntRange(0),
    help="Lines in two passages.",
)
@click.option(
    "--encoder",
    type=click.Path(exists=True, file_okay=False),
    help="Folder of a sentence encoder, such as all-MiniLM-L6-v2: search by meaning.",
)
@click.option(
    "--by",
    type=click.Choice(["both", "meaning"]),
    default="both",
    show_default=True,
    help="With an encoder: words and meaning, or meaning alone.",
)
@click.option("--approximate", is_flag=True, help="Look into the nearest lists of vectors only.")
@as_json
@as_code
def index(
    paths: tuple[str, ...],
    output: str,
    lines: int,
    overlap: int,
    encoder: str | None,
    by: str,
    approximate: bool,
    as_json: bool,
    as_code: bool,
) -> None:
    """Index the text of files and folders: prose, Markdown, HTML, code.

    Run again, it reads only what has changed, and forgets what is gone.
    """
    meaning: dict[str, Any] = {}
    if encoder:
        meaning = {"encoder": encoder, "by": by, "approximate": approximate}
    if as_code:
        options = {"lines": lines, "overlap": overlap, **meaning}
        given = ", ".join(f"{name}={value!r}" for name, value in options.items())
        call = f"update_index({list(paths)}, {output!r}, {given})"
        click.echo(f"from panlearn.cli.passages import update_index\n\nprint({call})")
        return
    from panlearn.cli.passages import update_index

    check_output(output)
    with progress_bar() as bar:
        task = bar.add_task("reading", total=None)
        update = update_index(
            paths,
            output,
            lines=lines,
            overlap=overlap,
            **meaning,
            watch=lambda done, total: bar.update(task, completed=done, total=total),
        )
    if as_json:
        write_json({"output": output, **asdict(update)})
        return
    for note in _counted(update.left_out):
        click.echo(f"· left out {visible(note)}", err=True)
    news = [f"{len(getattr(update, kind))} {kind}" for kind in ("new", "changed", "gone")]
    what = f"{count(update.passages, 'passage')} of {count(update.files, 'file')}"
    click.echo(f"{what} ({', '.join(news)}): {output}")
    if update.recall is not None:
        click.echo(f"recall of the ten nearest: {update.recall:.3f}")


def _counted(notes: list[str]) -> list[str]:
    """One line for each reason why files are left out: how many, and the first of them."""
    reasons: dict[str, list[str]] = {}
    for note in notes:
        path, _, reason = note.rpartition(": ")
        reasons.setdefault(reason, []).append(path)
    return [
        f"{paths[0]}: {reason}"
        if len(paths) == 1
        else f"{count(len(paths), 'file')}: {reason}, such as {paths[0]}"
        for reason, paths in reasons.items()
    ]


@click.command()
@click.argument("index", type=click.Path(exists=True, dir_okay=False))
@click.argument("query")
@click.option("-k", default=5, show_default=True, type=click.IntRange(1), help="How many passages.")
@click.option(
    "--per-file", default=1, show_default=True, type=click.IntRange(1), help="At most of one file."
)
@as_json
@as_code
def search(index: str, query: str, k: int, per_file: int, as_json: bool, as_code: bool) -> None:
    """Find the passages of an INDEX that answer a QUERY, best first."""
    if as_code:
        click.echo(
            "from panlearn.cli.passages import find, open_index\n\n"
            f"for passage in find(open_index({index!r}), {query!r}, k={k}, per_file={per_file}):\n"
            "    print(passage.file, passage.line, passage.text)"
        )
        return
    from panlearn.cli.passages import find, open_index

    found = find(open_index(index), query, k, per_file)
    if as_json:
        write_json([asdict(passage) for passage in found])
    elif not found:
        click.echo(f"nothing in {index} answers {query!r}", err=True)
    if not found:
        click.get_current_context().exit(1)
    if as_json:
        return
    out = console()
    for passage in found:
        out.print(_card(passage), soft_wrap=True)


@click.command()
@click.argument("index", type=click.Path(exists=True, dir_okay=False))
@click.argument("question")
@click.option("--model", type=click.Path(exists=True), help="Language model: a file or a folder.")
@click.option("-k", default=5, show_default=True, type=click.IntRange(1), help="How many passages.")
@click.option(
    "--max-tokens",
    default=200,
    show_default=True,
    type=click.IntRange(1),
    help="The most tokens of an answer.",
)
@click.option(
    "--budget", default=1024, show_default=True, type=click.IntRange(1), help="Tokens of passages."
)
@as_json
def ask(
    index: str,
    question: str,
    model: str | None,
    k: int,
    max_tokens: int,
    budget: int,
    as_json: bool,
) -> None:
    """Answer a QUESTION from the passages of an INDEX, and name the sources.

    Without a model, the sentence that is nearest to the question.
    """
    from panlearn.cli.answering import answer_from
    from panlearn.cli.passages import open_index

    answer = answer_from(
        open_index(index), question, model=model, k=k, max_tokens=max_tokens, token_budget=budget
    )
    if as_json:
        write_json(answer)
    else:
        click.echo(visible(answer["text"]))
        for source in answer["citations"]:
            click.echo(f"[{source['number']}] {visible(source['file'])}:{source['line']}")
        if answer["unknown"]:
            numbers = ", ".join(map(str, answer["unknown"]))
            click.echo(f"· the model cited passages that do not exist: {numbers}", err=True)
    if not answer["found"]:
        click.get_current_context().exit(1)


def _card(passage: Passage) -> Any:
    """File and line, then the lines around the best one, its words marked."""
    from rich.text import Text

    card = Text(f"{visible(passage.file)}:{passage.line}", style="bold cyan")
    card.append(f"  {passage.score:.2f}\n", style="dim not bold")
    start = 0
    for number, line in enumerate(passage.text.split("\n"), start=passage.first):
        if abs(number - passage.line) <= AROUND:
            card.append(
                f"{'>' if number == passage.line else ' '}{number:6d}  ", style="dim not bold"
            )
            marks = [
                (a - start, b - start) for a, b in passage.matches if 0 <= a - start < len(line)
            ]
            card.append_text(_row(line, marks)).append("\n")
        start += len(line) + 1
    return card


def _row(line: str, marks: list[tuple[int, int]]) -> Any:
    """A line with marks in it; of a long one what stands around the first mark."""
    from rich.text import Text

    first = max(0, min(marks[0][0] - WIDTH // 4, len(line) - WIDTH)) if marks else 0
    last = first + WIDTH
    before, after = "…" if first else "", "…" if last < len(line) else ""
    row = Text(before + visible(line[first:last]) + after, style="not bold default")
    for start, stop in marks:
        if start < last:
            row.stylize("bold yellow", *(len(before) + at - first for at in (start, stop)))
    return row
