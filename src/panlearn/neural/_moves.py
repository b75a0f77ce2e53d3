"""An objective as moves: one of a plain objective, as many as a game yields."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch

from panlearn.neural._player import Player
from panlearn.neural._step import Step

Objective = Callable[..., Any]
Move = tuple[Player, torch.Tensor, float]
"""Who moves, the weighted sum of losses, and the sum of the weights."""


class Moves:
    """The moves of an objective on a batch.

    Parameters
    ----------
    objective : callable
        ``objective(target, batch)`` or ``objective(target, batch, step)``. It returns losses, or
        losses and weights; or it is a generator of ``player, losses`` or ``player, losses,
        weights``.
    players : dict of {str: Player}
        Who may move.
    target : callable
        Gives what the objective sees: the module, the player, or the players.
    """

    def __init__(
        self, objective: Objective, players: dict[str, Player], target: Callable[[], Any]
    ) -> None:
        self._objective, self._players, self._target = objective, players, target
        self._takes_step = _n_positional(objective) > 2
        self.is_game = inspect.isgeneratorfunction(objective)

    def __call__(self, batch: Any, step: Step) -> Iterator[Move]:
        """Walk the moves; between two of them the caller updates the player of the first."""
        more = (step,) if self._takes_step else ()
        found = self._objective(self._target(), batch, *more)
        if not inspect.isgenerator(found):
            yield self._move(self._single(), found, step)
            return
        self.is_game = True
        for item in found:
            if not isinstance(item, tuple) or len(item) not in (2, 3):
                raise TypeError(
                    "an objective that is a generator yields (player, losses) or (player, losses, "
                    f"weights); got {_kind(item)}"
                )
            who, *losses = item
            yield self._move(self._named(who), losses[0] if len(losses) == 1 else losses, step)

    def _single(self) -> Player:
        if len(self._players) > 1:
            raise TypeError(
                f"there are {len(self._players)} players, so the objective must be a generator "
                "that yields (player, losses)"
            )
        return next(iter(self._players.values()))

    def _named(self, who: Any) -> Player:
        if isinstance(who, str) and who in self._players:
            return self._players[who]
        for player in self._players.values():
            if who is player or who is player.module:
                return player
        raise ValueError(f"{who!r:.60} does not play; the players are {list(self._players)}")

    @staticmethod
    def _move(player: Player, found: Any, step: Step) -> Move:
        """The weighted sum of losses, in one number; a process without rows adds nothing."""
        if isinstance(found, tuple | list):
            losses, weights = found
            total, weight = (losses * weights).sum(), float(weights.sum())
        else:
            total, weight = found.sum(), float(found.numel())
        return (player, total * 0.0, 0.0) if step.share.idle else (player, total, weight)


def _n_positional(function: Any) -> int:
    """How many arguments may be given by position."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a builtin
        return 2
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in kinds for p in parameters)


def _kind(item: Any) -> str:
    length = f" of {len(item)}" if isinstance(item, tuple) else ""
    return f"a {type(item).__name__}{length}"
