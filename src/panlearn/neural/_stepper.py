"""A step: all moves of an objective on a batch, in pieces and on several processes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from panlearn.neural._draws import Share
from panlearn.neural._ledger import Ledger
from panlearn.neural._moves import Move, Moves
from panlearn.neural._player import Player
from panlearn.neural._processes import Processes
from panlearn.neural._step import Step, Whole, WholeBatchError
from panlearn.neural.batches import Batch, map_batch, n_rows, pieces_of

_VALIDATION = 2**62  # the number of the step that validation draws its noise from


class NonFiniteLossError(Exception):
    """A loss is not finite; no weight was touched by it."""

    def __init__(self, loss: float) -> None:
        super().__init__(f"the loss is {loss}")
        self.loss = loss


class Stepper:
    """Makes the moves of an objective.

    Parameters
    ----------
    moves : Moves
        The objective.
    players : dict of {str: Player}
        Who moves.
    processes : Processes
        Who else has rows of the batch.
    device : torch.device
        Where batches are brought to.
    seed : int
        Seeds the noise of all steps.
    n_pieces : int
        How many pieces a batch is cut into.
    mixed : bool
        Whether losses are computed in bfloat16.
    """

    def __init__(
        self,
        moves: Moves,
        players: dict[str, Player],
        processes: Processes,
        device: torch.device,
        seed: int,
        *,
        n_pieces: int = 1,
        mixed: bool = False,
    ) -> None:
        self._moves, self._players, self._processes = moves, players, processes
        self._device, self.seed = device, seed
        self._n_pieces, self._mixed = n_pieces, mixed

    def take(self, batch: Batch, number: int, epoch: int, ledger: Ledger) -> None:
        """Take a step: an update for each move."""
        batch = map_batch(lambda part: part.to(self._device, non_blocking=True), batch)
        walks = self._walks(batch, number, epoch, ledger)
        moved = False
        while True:
            for player in self._players.values():
                player.forget_gradient()
            try:
                found = self._gradient(walks)
            except WholeBatchError:
                if moved:
                    raise ValueError(
                        "an objective that gathers must do so before its first move, or "
                        "accumulate must be 1"
                    ) from None
                self._n_pieces = 1
                walks = self._walks(batch, number, epoch, ledger)
                continue
            if found is None:
                return
            player, total, weight = found
            ready = iter([total / weight])

            def closure(player: Player = player, ready: Iterator[float] = ready) -> float:
                """The loss whose gradient is there; an optimiser that asks again gets another."""
                for loss in ready:
                    return loss
                if self._moves.is_game:
                    raise ValueError("an optimiser that evaluates several times cannot play a game")
                player.forget_gradient()
                again = self._gradient(self._walks(batch, number, epoch, Ledger()))
                assert again is not None
                return again[1] / again[2]

            player.update(closure)  # a closure that raises leaves weights and memory untouched
            moved = True
            ledger.add(player.name, total, weight)
            if not self._moves.is_game:
                return

    def measure(self, batch: Batch, epoch: int, ledger: Ledger) -> None:
        """Count the losses of a batch without learning."""
        batch = map_batch(lambda part: part.to(self._device), batch)
        ((step, walk),) = self._walks(batch, _VALIDATION, epoch, ledger, training=False)
        # what a game asks of its moves may be slopes
        with step.current(), nullcontext() if self._moves.is_game else torch.no_grad():
            with self._precision():
                for player, total, weight in walk:
                    ledger.add(player.name, *self._processes.add(total.item(), weight))

    def _walks(
        self, batch: Batch, number: int, epoch: int, ledger: Ledger, training: bool = True
    ) -> list[tuple[Step, Iterator[Move]]]:
        """The moves of each piece of a batch."""
        counts = self._processes.counts(n_rows(batch))
        low = sum(counts[: self._processes.rank])
        if n_rows(batch):
            pieces = pieces_of(batch, self._n_pieces if training else 1)
            sizes = [n_rows(piece) for piece in pieces]
        else:  # a row that counts for nothing, so that all processes do the same
            pieces = [map_batch(lambda part: part.new_zeros(1, *part.shape[1:]), batch)]
            sizes = [0]
        found = []
        whole = Whole(batch)
        for i, (piece, size) in enumerate(zip(pieces, sizes, strict=True), 1):
            step = Step(
                share=Share(low, size, sum(counts)),
                seed=self.seed,
                number=number,
                device=self._device,
                epoch=epoch,
                processes=self._processes,
                n_pieces=len(pieces),
                training=training,
                notes=ledger.notes,
                whole=whole,
                is_last=i == len(pieces),
            )
            found.append((step, self._moves(piece, step)))
            low += size
        return found

    def _gradient(
        self, walks: list[tuple[Step, Iterator[Move]]]
    ) -> tuple[Player, float, float] | None:
        r"""Set the gradient of :math:`\sum_i w_i \ell_i / \sum_i w_i` of the next move."""
        alone = len(walks) == 1 and self._processes.world == 1
        sums = [0.0, 0.0]
        movers: list[Player] = []
        for step, walk in walks:
            with step.current():
                with self._precision():
                    move = next(walk, None)
                if move is None:
                    continue
                player, total, weight = move
                movers.append(player)
                sums = [sums[0] + total.item(), sums[1] + weight]
                if alone:
                    _demand_finite(sums[0])
                    total.backward(total.new_full((), 1 / (weight or 1.0)))  # spares a division
                else:
                    total.backward()
        if not movers:
            return None
        if len(movers) < len(walks) or any(player is not movers[0] for player in movers):
            raise ValueError("the pieces of a batch make different moves")
        if not alone:
            sums = self._processes.add(*sums)
            _demand_finite(sums[0])
        divisor = 1.0 if alone else sums[1] or 1.0
        self._processes.sum_gradients(movers[0].parameters, divisor)
        movers[0].clip()
        return movers[0], sums[0], sums[1] or 1.0

    def _precision(self) -> AbstractContextManager[Any]:
        if self._mixed:
            return torch.autocast(self._device.type, torch.bfloat16)
        return nullcontext()


def _demand_finite(loss: float) -> None:
    if not math.isfinite(loss):
        raise NonFiniteLossError(loss)
