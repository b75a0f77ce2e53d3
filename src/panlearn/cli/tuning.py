"""``panlearn lm tune``: a language model that learns from a file of examples or preferences."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from panlearn.cli.app import as_json, check_output, write_json
from panlearn.cli.language import above_zero, existing
from panlearn.cli.language_models import load_model
from panlearn.core.errors import DataError, count


@dataclass(frozen=True)
class Method:
    """A way to tune: what its rows hold, and what makes a tuned model of a model and rows."""

    rows: str
    tune: Callable[..., Any]


def _sft(model: Any, rows: list[Any], options: dict[str, Any], settings: dict[str, Any]) -> Any:
    from panlearn.alignment import supervised_finetune

    own = {name: options[name] for name in ("template", "packing")}
    return supervised_finetune(model, rows, **own, **settings)


def _dpo(model: Any, rows: list[Any], options: dict[str, Any], settings: dict[str, Any]) -> Any:
    from panlearn.alignment import DPO

    tuner = DPO(model, options["beta"], template=options["template"], **settings)
    return tuner.fit(rows).model_


def _grpo(model: Any, rows: list[Any], options: dict[str, Any], settings: dict[str, Any]) -> Any:
    from panlearn.alignment import GRPO, rewards
    from panlearn.alignment._prompts import columns

    rules = {
        "exact": rewards.ExactAnswer(),
        "whole": rewards.ExactAnswer(tag=None),
        "boxed": rewards.BoxedAnswer(),
        "format": rewards.Format(),
        "arithmetic": rewards.Arithmetic(),
    }
    prompts, answers = columns(rows, ("prompt", "answer"), "data")
    tuner = GRPO(
        *(model, [rules[name] for name in options["reward"]]),
        num_generations=options["generations"],
        max_tokens=options["max_tokens"],
        template=options["template"],
        beta=options["beta"],
        **settings,
    )
    return tuner.fit(prompts, answers).model_


METHODS = {
    "sft": Method('"prompt" and "completion", or "messages"', _sft),
    "dpo": Method('"prompt", "chosen" and "rejected"', _dpo),
    "grpo": Method('"prompt" and "answer"', _grpo),
}


@click.command()
@click.argument("model", type=click.Path(exists=True))
@click.argument("data", type=existing)
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    default="sft",
    show_default=True,
    help="; ".join(f"{name}: rows with {method.rows}" for name, method in METHODS.items()) + ".",
)
@click.option(
    "--output",
    required=True,
    type=click.Path(),
    help="File to write; a folder, or a name that ends in a slash, gets the files of Hugging Face.",
)
@click.option(
    "--template",
    type=click.Choice(["chatml", "llama"]),
    default="chatml",
    show_default=True,
    help="How conversations are written.",
)
@click.option("--packing", is_flag=True, help="sft: several examples share a row of the context.")
@click.option(
    "--beta",
    type=float,
    default=0.1,
    show_default=True,
    help="dpo, grpo: the price of leaving MODEL.",
)
@click.option(
    "--reward",
    type=click.Choice(["exact", "whole", "boxed", "format", "arithmetic"]),
    multiple=True,
    default=["exact"],
    show_default=True,
    help="grpo: what is rewarded, one or several: the answer between <answer> tags, the whole "
    "completion, the boxed answer, <think> and <answer> tags, equations that hold.",
)
@click.option("--generations", type=above_zero, default=8, show_default=True, help="grpo: a group.")
@click.option(
    "--max-tokens", type=above_zero, default=32, show_default=True, help="grpo: of a completion."
)
@click.option("--lora-rank", type=above_zero, help="Learn additions of this rank, not all weights.")
@click.option(
    "--adapter", type=click.Path(), help="Folder for these additions, as peft reads them."
)
@click.option(
    "--batch-size", type=above_zero, default=16, show_default=True, help="Examples of a step."
)
@click.option("--epochs", type=above_zero, help="Times to read the data; 3 unless --steps.")
@click.option("--steps", type=above_zero, help="The most steps.")
@click.option(
    "--learning-rate", type=float, default=1e-4, show_default=True, help="Its largest value."
)
@click.option("--checkpoint", type=click.Path(file_okay=False), help="Folder for the run's state.")
@click.option("--resume", is_flag=True, help="Go on from the checkpoint.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seeds all that is drawn.")
@as_json
def tune(
    model: str,
    data: str,
    method: str,
    output: str,
    lora_rank: int | None,
    adapter: str | None,
    batch_size: int,
    epochs: int | None,
    steps: int | None,
    learning_rate: float,
    checkpoint: str | None,
    resume: bool,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Tune MODEL on DATA, a file with a JSON object in each line, and save it.

    MODEL is a file of `lm train` or a folder of Hugging Face, and stays as it is.
    """
    import panlearn
    from panlearn.alignment import save_adapter
    from panlearn.neural import LoRA

    check_output(output)
    if adapter is not None and lora_rank is None:
        raise DataError("--adapter needs --lora-rank: without it all weights are learned")
    rows, given = read_jsonl(data), load_model(model)
    settings = {
        "batch_size": batch_size,
        "max_epochs": epochs or (None if steps else 3),
        "max_steps": steps,
        "learning_rate": learning_rate,
        "clip_norm": 1.0,
        "lora": None if lora_rank is None else LoRA(lora_rank, 2.0 * lora_rank),
        "checkpoint": checkpoint,
        "resume": resume,
        "random_state": seed,
        "verbose": sys.stderr.isatty(),
    }
    try:
        tuned = METHODS[method].tune(given, rows, options, settings)
        if adapter is not None:
            save_adapter(tuned, adapter, base=model)
    except ValueError as error:
        raise DataError(str(error)) from None
    if Path(output).is_dir() or output.endswith("/"):
        tuned.save_pretrained(output)
    else:
        panlearn.save(tuned, output)
    report = {
        "output": output,
        "method": method,
        "rows": len(rows),
        "epochs": tuned.n_iter_,
        **{
            name: values[-1]
            for name, values in tuned.history_.items()
            if name.startswith(("loss", "reward"))
        },
    }
    if as_json:
        write_json(report)
        return
    numbers = ", ".join(
        f"{name.replace('_', ' ')} {value:.4f}"
        for name, value in report.items()
        if isinstance(value, float)
    )
    done = f"{count(len(rows), 'row')} in {count(tuned.n_iter_, 'epoch')}"
    click.echo(f"tuned on {done}: {numbers}: {output}")


def read_jsonl(file: str) -> list[dict[str, Any]]:
    """Rows of a file with a JSON object in each line; blank lines are left out."""
    rows = []
    try:
        lines = Path(file).read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{file} is not text in UTF-8: {error}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"{file}, line {number}: no JSON: {error}") from None
        if not isinstance(row, dict):
            raise DataError(f"{file}, line {number}: not an object, {line.strip():.40}")
        rows.append(row)
    if not rows:
        raise DataError(f"{file} has no rows; give a JSON object in each line")
    return rows
