"""``panlearn lm``: train a language model on text files, let it go on with text, talk with it."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import click

from panlearn.cli.app import as_json, check_output, fail, write_json
from panlearn.cli.conversation import Conversation
from panlearn.cli.language_models import load_model, make_model, read_text, template_of
from panlearn.core.errors import DataError, count

existing = click.Path(exists=True, dir_okay=False)
above_zero = click.IntRange(min=1)


def sampled(command: Any) -> Any:
    """Give a command the options of how text is continued."""
    options = [
        click.option(
            "--max-tokens",
            type=click.IntRange(min=0),
            default=200,
            show_default=True,
            help="The most tokens to add.",
        ),
        click.option(
            "--temperature", type=float, default=0.8, show_default=True, help="0 is greedy."
        ),
        click.option("--top-k", type=above_zero, help="Draw from so many most probable tokens."),
        click.option(
            "--top-p",
            type=float,
            default=1.0,
            show_default=True,
            help="Draw from the fewest tokens whose probability reaches this.",
        ),
        click.option("--seed", type=int, default=0, show_default=True, help="Seeds the draws."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.group()
def lm() -> None:
    """Train a language model on text files, tune it, generate text from it, talk with it."""


@lm.command()
@click.argument("files", nargs=-1, required=True, type=existing)
@click.option(
    "--output",
    required=True,
    type=click.Path(),
    help="File to write; a folder, or a name that ends in a slash, gets the files of Hugging Face.",
)
@click.option(
    "--like",
    "--style",
    type=click.Choice(["gpt2", "llama", "deepseek", "mamba"]),
    default="gpt2",
    show_default=True,
    help="The family whose parts the model has.",
)
@click.option(
    "--layers", type=click.IntRange(1, 10_000), default=4, show_default=True, help="Blocks."
)
@click.option(
    "--width", type=above_zero, default=128, show_default=True, help="Coordinates of a token."
)
@click.option(
    "--heads",
    type=above_zero,
    default=4,
    show_default=True,
    help="Heads of attention; mamba has none.",
)
@click.option(
    "--context", type=above_zero, default=128, show_default=True, help="Tokens seen at once."
)
@click.option("--vocab-size", type=click.IntRange(min=257), help="Byte pairs; bytes if not given.")
@click.option(
    "--batch-size", type=above_zero, default=16, show_default=True, help="Windows of a step."
)
@click.option("--epochs", type=above_zero, help="Times to read the text; 10 unless --steps.")
@click.option("--steps", type=above_zero, help="The most steps.")
@click.option(
    "--learning-rate", type=float, default=1e-3, show_default=True, help="Its largest value."
)
@click.option(
    "--validation",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.05,
    show_default=True,
    help="The last part of the text, which is measured on.",
)
@click.option("--checkpoint", type=click.Path(file_okay=False), help="Folder for the run's state.")
@click.option("--resume", is_flag=True, help="Go on from the checkpoint.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seeds all that is drawn.")
@as_json
def train(
    files: tuple[str, ...],
    output: str,
    like: str,
    layers: int,
    width: int,
    heads: int,
    context: int,
    vocab_size: int | None,
    batch_size: int,
    epochs: int | None,
    steps: int | None,
    learning_rate: float,
    validation: float,
    checkpoint: str | None,
    resume: bool,
    seed: int,
    as_json: bool,
) -> int:
    """Train a language model on FILES, each a document in UTF-8, and save it.

    Ctrl-C saves what was learned in whole epochs, and exits with 130.
    """
    from sklearn.exceptions import ConvergenceWarning

    import panlearn
    from panlearn.core.memory import require_memory
    from panlearn.text import BPETokenizer

    check_output(output)
    texts = [read_text(file) for file in files]
    if not any(texts):
        raise DataError(f"no text in {' '.join(files)}")
    try:
        # a block has some twelve squares of its width; weights, gradients and two moments of Adam
        require_memory((layers, 12, width, width), "the model", "give fewer layers, or less width")
        model = make_model(like, layers, width, heads, context)
        model.set_params(
            tokenizer=None if vocab_size is None else BPETokenizer(vocab_size),
            batch_size=batch_size,
            max_epochs=epochs or (None if steps else 10),
            max_steps=steps,
            learning_rate=learning_rate,
            validation_fraction=validation,
            random_state=seed,
            checkpoint=checkpoint,
            resume=resume,
            verbose=sys.stderr.isatty(),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # said below, in our words
            model.fit(texts)
    except (ValueError, MemoryError) as error:
        raise DataError(str(error)) from None
    if Path(output).is_dir() or output.endswith("/"):
        model.save_pretrained(output)
    else:
        panlearn.save(model, output)
    report = {
        "output": output,
        "parameters": sum(w.size for w in model.weights_.values()),
        "tokens": model.n_tokens_,
        "epochs": model.n_iter_,
        "loss": model.history_["loss"][-1],
        "validation_loss": model.history_.get("validation_loss", [None])[-1],
        "interrupted": not model.converged_,
    }
    if as_json:
        write_json(report)
    else:
        measured = report["validation_loss"]
        held_out = "" if measured is None else f", {measured:.4f} on text that was kept out"
        click.echo(
            f"trained {count(report['parameters'], 'parameter')} in "
            f"{count(model.n_iter_, 'epoch')}: loss {report['loss']:.4f} a token{held_out}: "
            f"{output}"
        )
    return 0 if model.converged_ else fail("interrupted", 130)


@lm.command()
@click.argument("model", type=click.Path(exists=True))
@click.option("--prompt", "prompts", multiple=True, help="Text to go on with; may come again.")
@click.option("--stop", multiple=True, help="Text to end before; may come again.")
@sampled
@as_json
def generate(
    model: str,
    prompts: tuple[str, ...],
    stop: tuple[str, ...],
    seed: int,
    as_json: bool,
    **sampling: Any,
) -> None:
    """Go on with prompts; MODEL is a file of `lm train` or a folder of Hugging Face."""
    loaded = load_model(model)
    settings: dict[str, Any] = {"stop": stop, "random_state": seed, **sampling}
    given = list(prompts) or [""]
    try:
        if as_json or len(given) > 1:
            texts = loaded.generate(given, **settings)
            rows = [{"prompt": p, "text": t} for p, t in zip(given, texts, strict=True)]
            if as_json:
                write_json(rows)
                return
            click.echo("\n\n".join(row["prompt"] + row["text"] for row in rows))
            return
        pieces = loaded.stream(given[0], **settings)
        first = next(pieces, "")
        click.echo(given[0] + first, nl=False)
        for piece in pieces:
            click.echo(piece, nl=False)
        click.echo()
    except ValueError as error:
        raise DataError(str(error)) from None


@lm.command()
@click.argument("model", type=click.Path(exists=True))
@click.option("--system", help="What the model is told before the conversation.")
@click.option(
    "--template",
    help="chatml, llama, or a file in Jinja; by default the one that the folder of the model has.",
)
@sampled
def chat(model: str, system: str | None, template: str | None, seed: int, **sampling: Any) -> None:
    """Talk with MODEL, a line at a time, until the input ends.

    The conversation is written as the model's own chat template says. What no longer fits into the
    context is forgotten, the oldest first.
    """
    from panlearn.core.random import generator

    rng, asked = generator(seed), sys.stdin.isatty()
    try:
        conversation = Conversation(load_model(model), template_of(model, template), system)
        while line := _next_line(asked):
            for piece in conversation.answer(line.rstrip("\n"), random_state=rng, **sampling):
                click.echo(piece, nl=False)
            click.echo()
    except ValueError as error:
        raise DataError(str(error)) from None


def _next_line(asked: bool) -> str:
    """What is said next, empty at the end of the input."""
    if asked:
        click.echo("> ", nl=False, err=True)
    return sys.stdin.readline()
