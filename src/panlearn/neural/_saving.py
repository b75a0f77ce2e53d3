"""A run and its folder: what is saved of it, and how it is taken up again."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from panlearn.neural import _checkpoint
from panlearn.neural._checkpoint import CheckpointError
from panlearn.neural._ledger import Ledger
from panlearn.neural.settings import DECISIVE

# The position of a run, beside what its players know.
_POSITION = (
    *("seed", "epoch", "step", "position", "history", "stopped"),
    *("best", "best_loss", "stale", "small", "since_row"),
)


def save(run: Any) -> None:
    """Write a checkpoint, if there is a folder for it."""
    folder = run.settings.checkpoint
    if folder is None:
        return
    players = {name: player.state() for name, player in run.players.items()}  # all processes
    if run.processes.rank == 0:
        position = {name: getattr(run, name) for name in _POSITION}
        state = {**position, "ledger": vars(run.ledger), "players": players, "of": identity(run)}
        _checkpoint.write(Path(folder), state, keep=run.settings.keep, step=run.step)


def take_up(run: Any) -> None:
    """Go on with the run that the folder holds, if it holds one."""
    settings = run.settings
    state = None if settings.checkpoint is None else _checkpoint.read(Path(settings.checkpoint))
    if state is None:
        return
    if not settings.resume:
        raise CheckpointError(
            f"{settings.checkpoint} holds a run that is at step {state['step']}: give resume=True "
            "to go on with it, or another folder"
        )
    try:
        differ(state["of"], identity(run), settings.checkpoint)
        for name, player in run.players.items():
            player.load(state["players"][name])
        for name in _POSITION:
            setattr(run, name, state[name])
        run.ledger = Ledger(**state["ledger"])
    except (RuntimeError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(
            f"the checkpoint in {settings.checkpoint} is of another module or run: {error}"
        ) from error
    if run.stopped in ("max_epochs", "max_steps", "hook"):  # there may be more to do now
        run.stopped = ""
    run.check_limits()


def identity(run: Any) -> dict[str, Any]:
    """What a run that is taken up must share with the one that was saved."""
    of: dict[str, Any] = {}
    for player in run.players.values():
        prefix = f"{player.name}." if player.name else ""
        of |= {prefix + name: told(getattr(player.settings, name)) for name in DECISIVE}
    return {**of, "data": run.batches.identity() if hasattr(run.batches, "identity") else ""}


def differ(saved: dict[str, Any], given: dict[str, Any], folder: Any) -> None:
    """Name the first thing that is not the same."""
    for name in (*saved, *given):
        before, now = saved.get(name), given.get(name)
        if before == now:
            continue
        what = "other data" if name == "data" else f"{name}={before}, and now it is {now}"
        raise CheckpointError(
            f"the run in {folder} was trained with {what}: give what it had, or another folder"
        )


def told(value: Any) -> Any:
    """A value that JSON holds for a setting: itself, or what names a function or a class."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [told(v) for v in value]
    if isinstance(value, functools.partial):
        rest = sorted((k, told(v)) for k, v in value.keywords.items())
        return f"{told(value.func)}({rest}, {[told(v) for v in value.args]})"
    return getattr(value, "__qualname__", None) or repr(value)
