"""``panlearn lm train`` and ``lm generate``: a language model of text files, and text from it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from panlearn.cli.app import as_json, check_output, write_json
from panlearn.core.errors import DataError, count

if TYPE_CHECKING:
    from panlearn.transformer import GPT

existing = click.Path(exists=True, dir_okay=False)
above_zero = click.IntRange(min=1)


@click.group()
def lm() -> None:
    """Train a language model on text files, tune it, and generate text from it."""


@lm.command()
@click.argument("files", nargs=-1, required=True, type=existing)
@click.option(
    "--output",
    required=True,
    type=click.Path(),
    help="File to write; a folder, or a name that ends in a slash, gets the files of Hugging Face.",
)
@click.option(
    "--style",
    type=click.Choice(["gpt2", "llama"]),
    default="gpt2",
    show_default=True,
    help="Kind of positions, norms and activation.",
)
@click.option("--layers", type=above_zero, default=4, show_default=True)
@click.option("--width", type=above_zero, default=128, show_default=True)
@click.option("--heads", type=above_zero, default=4, show_default=True)
@click.option("--context", type=above_zero, default=128, show_default=True, help="Tokens seen.")
@click.option("--vocab-size", type=click.IntRange(min=257), help="Byte pairs; bytes if not given.")
@click.option("--batch-size", type=above_zero, default=16, show_default=True)
@click.option("--epochs", type=above_zero, help="Times to read the text; 10 unless --steps.")
@click.option("--steps", type=above_zero, help="The most steps.")
@click.option("--learning-rate", type=float, default=1e-3, show_default=True)
@click.option(
    "--validation",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.05,
    show_default=True,
    help="The last part of the text, which is measured on.",
)
@click.option("--checkpoint", type=click.Path(file_okay=False), help="Folder for the run's state.")
@click.option("--resume", is_flag=True, help="Go on from the checkpoint.")
@click.option("--seed", type=int, default=0, show_default=True)
@as_json
def train(
    files: tuple[str, ...],
    output: str,
    style: str,
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
) -> None:
    """Train a decoder on FILES, each a document in UTF-8, and save it."""
    import panlearn
    from panlearn.text import BPETokenizer
    from panlearn.transformer import GPT, GPTConfig

    check_output(output)
    texts = [_read(file) for file in files]
    if not any(texts):
        raise DataError(f"no text in {' '.join(files)}")
    shape = GPTConfig.gpt2 if style == "gpt2" else GPTConfig.llama
    try:
        config = shape(n_layers=layers, width=width, n_heads=heads, context=context)
        model = GPT(
            config,
            None if vocab_size is None else BPETokenizer(vocab_size),
            batch_size=batch_size,
            max_epochs=epochs or (None if steps else 10),
            max_steps=steps,
            learning_rate=learning_rate,
            validation_fraction=validation,
            random_state=seed,
            checkpoint=checkpoint,
            resume=resume,
            verbose=sys.stderr.isatty(),
        ).fit(texts)
    except ValueError as error:
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
    }
    if as_json:
        write_json(report)
        return
    measured = report["validation_loss"]
    held_out = "" if measured is None else f", {measured:.4f} on text that was kept out"
    click.echo(
        f"trained {count(report['parameters'], 'parameter')} in {count(model.n_iter_, 'epoch')}: "
        f"loss {report['loss']:.4f} a token{held_out}: {output}"
    )


@lm.command()
@click.argument("model", type=click.Path(exists=True))
@click.option("--prompt", "prompts", multiple=True, help="Text to go on with; may come again.")
@click.option("--max-tokens", type=click.IntRange(min=0), default=200, show_default=True)
@click.option("--temperature", type=float, default=0.8, show_default=True, help="0 is greedy.")
@click.option("--top-k", type=above_zero, help="Draw from so many most probable tokens.")
@click.option("--top-p", type=float, default=1.0, show_default=True)
@click.option("--stop", multiple=True, help="Text to end before; may come again.")
@click.option("--seed", type=int, default=0, show_default=True)
@as_json
def generate(
    model: str,
    prompts: tuple[str, ...],
    max_tokens: int,
    temperature: float,
    top_k: int | None,
    top_p: float,
    stop: tuple[str, ...],
    seed: int,
    as_json: bool,
) -> None:
    """Go on with prompts; MODEL is a file of `lm train` or a folder of Hugging Face."""
    loaded = load_language_model(model)
    settings: dict[str, Any] = {
        "max_tokens": max_tokens,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "stop": stop,
        "random_state": seed,
    }
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


def _read(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{file} is not text in UTF-8: {error}") from None


def load_language_model(path: str) -> GPT:
    """Read a model that `lm train` wrote, or a folder of Hugging Face."""
    import panlearn
    from panlearn.core.persistence import ModelFileError
    from panlearn.transformer import GPT
    from panlearn.transformer._checkpoint import CheckpointError

    try:
        model = GPT.from_pretrained(path) if Path(path).is_dir() else panlearn.load(path)
    except (ModelFileError, CheckpointError) as error:
        raise DataError(str(error)) from None
    if not isinstance(model, GPT):
        raise DataError(f"{path} holds a {type(model).__name__}, not a language model")
    return model
