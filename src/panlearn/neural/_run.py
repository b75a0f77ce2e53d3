"""One run of training: the loop over epochs and steps, and what it leaves behind."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from contextlib import ExitStack, nullcontext
from typing import Any, NoReturn

import numpy as np
import torch

from panlearn.core.interrupts import interrupted
from panlearn.neural import _saving
from panlearn.neural._divergence import DivergenceError, FiniteWeights
from panlearn.neural._extent import Extent
from panlearn.neural._hooks import Progress
from panlearn.neural._ledger import Ledger
from panlearn.neural._moves import Moves, Objective
from panlearn.neural._player import as_players
from panlearn.neural._processes import Processes, WorkerLostError, is_loss_of_worker
from panlearn.neural._random import draw_seed, mix, seeded
from panlearn.neural._recompute import recomputing
from panlearn.neural._stepper import NonFiniteLossError, Stepper
from panlearn.neural._termination import termination
from panlearn.neural._threads import is_small, one_thread
from panlearn.neural.batches import Batch, as_batcher
from panlearn.neural.settings import Settings

_FIRST, _VALIDATION = 2**61, 2**62  # what seeds the beginning of a run, and its validation


class Run:
    """A run of training: walk `rows`, then call `finish`.

    Parameters
    ----------
    target, objective, data
        As in `train`.
    settings : Settings
        How it goes.
    validation, order
        As in `train`.
    draws_globally : bool
        Whether what the objective draws from PyTorch's global generator is seeded too. Modules and
        objectives of the library draw from the step and need it not.
    """

    def __init__(
        self,
        target: Any,
        objective: Objective,
        data: Any,
        settings: Settings,
        *,
        validation: Any = None,
        order: Any = "shuffle",
        draws_globally: bool = True,
    ) -> None:
        settings._check()
        if settings.patience is not None and validation is None:
            raise ValueError(f"patience={settings.patience} needs validation data to watch")
        self.settings, self._draws_globally = settings, draws_globally
        self.players, see = as_players(target)
        self.batches = as_batcher(data, settings.batch_size, order)
        self.extent = Extent(settings, self.batches)
        self._validation = None
        if validation is not None:
            self._validation = as_batcher(validation, settings.batch_size, "given")
        self.device = next((p.device for p in self.module.parameters()), torch.device("cpu"))
        self.processes = Processes(settings.strategy, self.device)
        self.seed = self.processes.from_first(draw_seed(settings.random_state))
        self._stepper = Stepper(
            Moves(objective, self.players, see),
            self.players,
            self.processes,
            self.device,
            self.seed,
            n_pieces=settings.accumulate,
            mixed=settings.precision == "bfloat16",
        )
        self.history: dict[str, list[float]] = {}
        self.epoch, self.step, self.stopped = 0, 0, ""
        self.position = 0  # steps of this epoch
        self.since_row = 0  # steps of this row of the history
        self.ledger = Ledger()
        self.best: dict[str, Any] | None = None
        self.best_loss, self.stale = math.inf, 0
        self.small: bool | None = None
        self._finite = FiniteWeights(self.players.values())
        self._finished = False
        self.hooks = list(settings.hooks)
        if settings.verbose and self.processes.rank == 0:
            self.hooks.append(Progress())
        with seeded(mix(self.seed, _FIRST), self.device):
            for name, player in self.players.items():
                player.begin(name, settings, self.processes, self.total_steps)
        try:
            _saving.take_up(self)
        except BaseException:
            self.release()
            raise
        self._stepper.seed = self.seed

    @property
    def module(self) -> Any:
        """The module that is trained, of the first player if there are several."""
        return next(iter(self.players.values())).module

    @property
    def learning_rate(self) -> float:
        """The rate of the last step, of the first player if there are several."""
        return next(iter(self.players.values())).rate

    @property
    def total_steps(self) -> int | None:
        """Steps that the run will take if nothing stops it; None if that is not known."""
        return self.extent.total_steps

    @property
    def loss(self) -> float:
        """The mean training loss of this row of the history so far, or of the last one."""
        if self.ledger.losses or not self.history:
            return self.ledger.loss
        return self.history["loss"][-1]

    def stop(self, reason: str) -> None:
        """End the run after this step."""
        self.stopped = reason

    def check_limits(self) -> None:
        """Stop if the steps or epochs that were asked for are done."""
        self.stopped = self.stopped or self.extent.reached(self.step, self.epoch)

    def rows(self) -> Generator[dict[str, float], None, None]:
        """Train; yield each row of the history."""
        for hook in self.hooks:
            hook.on_begin(self)
        guarded = self.settings.checkpoint is not None or self.processes.world > 1
        with ExitStack() as stack:
            asked = stack.enter_context(termination()) if guarded else []
            for player in self.players.values():
                stack.enter_context(recomputing(player.module, self.settings.recompute))
                stack.enter_context(player.compiled(self.settings.compile))
            while not self.stopped:
                try:
                    yield from self._train_epoch(asked)
                except RuntimeError as error:
                    if self.processes.world > 1 and is_loss_of_worker(error):
                        raise self._lost() from error
                    raise

    def _train_epoch(self, asked: list[int]) -> Iterator[dict[str, float]]:
        self._set_training(True)
        processes, every = self.processes, self.settings.evaluate_every
        rng = np.random.default_rng((self.seed, self.epoch))
        walk = self.batches.epoch(self.epoch, rng, processes.rank, processes.world, self.position)
        for batch in walk:
            self._take(batch)
            if interrupted():  # between two steps, where the weights are whole
                raise KeyboardInterrupt
            if self.stopped:
                break
            if every is not None and self.since_row == every:
                yield self._end_row()
            if self.settings.checkpoint_every and self.step % self.settings.checkpoint_every == 0:
                _saving.save(self)
            if asked:
                _saving.save(self)
                raise SystemExit(
                    f"training was asked to terminate after step {self.step}; {self._advice()}"
                )
        if self.position == 0:
            raise ValueError("the data gave no batch")
        whole = not self.stopped or next(walk, None) is None
        if whole:
            self.epoch, self.position = self.epoch + 1, 0
            self.check_limits()
            if self.since_row and (every is None or self.stopped):
                yield self._end_row()
        else:
            # What is saved is the middle of an epoch: a run that is made longer goes on from there.
            _saving.save(self)
            yield self._end_row(saved=False)

    def _take(self, batch: Batch) -> None:
        if self.small is None:
            parts = tuple(batch.values()) if isinstance(batch, dict) else batch
            small = all(is_small(player.module, parts) for player in self.players.values())
            self.small = small and self.device.type == "cpu"
        self._finite.keep(self.step)
        for player in self.players.values():
            player.schedule.before_step(self.step)
        seed = mix(self.seed, self.step, self.processes.rank)
        drawn = seeded(seed, self.device) if self._draws_globally else nullcontext()
        # each step for itself: nothing that runs between two of them has a say in the next one's
        with one_thread(self.small), drawn:
            try:
                self._stepper.take(batch, self.step, self.epoch, self.ledger)
            except NonFiniteLossError as error:
                self._diverged(error.loss, batch)
        for player in self.players.values():
            player.schedule.after_step()
        self.step += 1
        self.position += 1
        self.since_row += 1
        self.check_limits()
        for hook in self.hooks:
            if hook.on_step(self):
                self.stopped = "hook"

    def _diverged(self, loss: float, batch: Batch) -> NoReturn:
        self._finite.restore()
        raise DivergenceError(
            f"the loss is {loss} at step {self.step} (epoch {self.epoch}, batch {self.position}); "
            "the module keeps the last finite weights and the error has the batch. Lower "
            "learning_rate, set clip_norm, or look for extreme values in the data",
            self.step,
            batch,
        ) from None

    def _end_row(self, saved: bool = True) -> dict[str, float]:
        """Close a row of the history: means since the last one, validation, what follows."""
        row = self.ledger.means(self.processes)
        if self._validation is not None:
            row |= {f"validation_{k}": v for k, v in self._measure(self._validation).items()}
        row["learning_rate"] = self.learning_rate
        if self.settings.evaluate_every is not None:
            row["step"] = float(self.step)
        for name, value in row.items():
            self.history.setdefault(name, []).append(value)
        self.ledger, self.since_row = Ledger(), 0
        watched = row.get("validation_loss", row["loss"])
        for player in self.players.values():
            player.schedule.after_epoch(watched)
        if self.settings.patience is not None:
            self._watch(watched)
        for hook in self.hooks:
            if hook.on_epoch(self):
                self.stopped = "hook"
        if saved and (self.settings.checkpoint_every is None or self.stopped):
            _saving.save(self)
        return row

    def _watch(self, loss: float) -> None:
        """Keep the weights of the lowest validation loss; stop when it has not fallen for long."""
        if loss < self.best_loss:
            self.best_loss, self.stale = loss, 0
            self.best = {name: player.best() for name, player in self.players.items()}
            return
        self.stale += 1
        if self.stale >= self.settings.patience:  # type: ignore[operator]
            self.stopped = "patience"

    def evaluate(self, data: Any) -> float:
        """The mean of the objective over data, without learning and without dropout."""
        return self._measure(as_batcher(data, self.settings.batch_size, "given"))["loss"]

    def _measure(self, data: Any) -> dict[str, float]:
        ledger, processes = Ledger(), self.processes
        rng = np.random.default_rng((self.seed, 0))
        self._set_training(False)
        with ExitStack() as stack:
            for player in self.players.values():
                stack.enter_context(player.averaged())
            stack.enter_context(one_thread(self.small is True))
            if self._draws_globally:
                stack.enter_context(seeded(mix(self.seed, _VALIDATION), self.device))
            for batch in data.epoch(0, rng, processes.rank, processes.world):
                self._stepper.measure(batch, self.epoch, ledger)
        self._set_training(True)
        return ledger.means(processes)

    def _set_training(self, training: bool) -> None:
        for player in self.players.values():
            for module in player.modules():
                module.train(training)

    def finish(self) -> None:
        """Leave in the modules what was learned: the best weights, their average, or the last."""
        if self._finished:
            return
        self._finished = True
        for name, player in self.players.items():
            player.end(None if self.best is None else self.best[name])
        for hook in self.hooks:
            hook.on_end(self)

    def release(self) -> None:
        """Give the modules back as they are, without finishing."""
        self._finished = True
        for player in self.players.values():
            player.release()

    def _lost(self) -> WorkerLostError:
        """What to say, after saving what every process has whole."""
        if not self.processes.sharded:
            _saving.save(self)
        return WorkerLostError(
            f"process {self.processes.rank} of {self.processes.world} lost another one after "
            f"step {self.step}; {self._advice()}"
        )

    def _advice(self) -> str:
        if self.settings.checkpoint is None:
            return "nothing was saved: give a checkpoint folder to be able to go on"
        return f"start it again with resume=True to go on from {self.settings.checkpoint}"
