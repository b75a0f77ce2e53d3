"""What happens when a loss is not finite: the last finite weights, and what the user is told."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from panlearn.neural._player import Player
from panlearn.neural.batches import Batch

_EVERY = 64  # steps between two copies


class DivergenceError(FloatingPointError, ValueError):
    """The loss is not finite: at `step`, on `batch`. The weights are the last finite ones."""

    def __init__(self, message: str, step: int, batch: Batch) -> None:
        super().__init__(message)
        self.step, self.batch = step, batch


class FiniteWeights:
    """Copies of the weights of some players, made now and then, to go back to."""

    def __init__(self, players: Iterable[Player]) -> None:
        self._players = list(players)
        self._step = -_EVERY
        self._states: list[dict[str, torch.Tensor]] = []

    def keep(self, step: int) -> None:
        """Copy the weights if the last copy is old."""
        if step - self._step >= _EVERY:
            self._step = step
            states = [player.module.state_dict() for player in self._players]
            self._states = [{k: v.clone() for k, v in state.items()} for state in states]

    def restore(self) -> None:
        """Go back to the last copy if a weight is not finite."""
        learning = [p for player in self._players for p in player.parameters]
        if all(p.isfinite().all() for p in learning):
            return
        for player, state in zip(self._players, self._states, strict=True):
            player.module.load_state_dict(state)
