"""One run of training: its state, its steps, and what is kept of it."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from panlearn.core.parameters import RandomState
from panlearn.neural import _checkpoint
from panlearn.neural._average import WeightAverage
from panlearn.neural._checkpoint import CheckpointError
from panlearn.neural._hooks import Hook, Progress
from panlearn.neural._optimizers import make_optimizer, make_schedule
from panlearn.neural._processes import Processes, WorkerLostError, is_loss_of_worker
from panlearn.neural._random import draw_seed, mix, reseed, seeded
from panlearn.neural._threads import is_small, one_thread
from panlearn.neural.batches import Batch, as_batcher

Objective = Callable[[nn.Module, Batch], Any]

_KEPT_EVERY = 64  # steps between the copies of finite weights that a diverging run goes back to


class DivergenceError(FloatingPointError, ValueError):
    """The loss is not finite: at `step`, on `batch`. The weights are the last finite ones."""

    def __init__(self, message: str, step: int, batch: Batch) -> None:
        super().__init__(message)
        self.step, self.batch = step, batch


@dataclass(eq=False, repr=False)
class Run:
    """A run of training: walk `epochs`, then call `finish`. The settings are those of `train`."""

    module: nn.Module
    objective: Objective
    data: Any
    _: KW_ONLY
    batch_size: int = 32
    max_epochs: int | None = None
    max_steps: int | None = None
    optimizer: Any = "adamw"
    learning_rate: float = 1e-3
    schedule: Any = "constant"
    weight_decay: float = 0.0
    clip_norm: float | None = None
    accumulate: int = 1
    ema_decay: float | None = None
    precision: str = "float32"
    validation: Any = None
    patience: int | None = None
    order: Any = "shuffle"
    checkpoint: str | Path | None = None
    checkpoint_every: int | None = None
    resume: bool = False
    hooks: Sequence[Hook] = ()
    random_state: RandomState = None
    verbose: bool = False
    strategy: str = "ddp"
    optimizer_state: dict[str, Any] | None = None
    history: dict[str, list[float]] = field(init=False, default_factory=dict)
    epoch: int = field(init=False, default=0)
    step: int = field(init=False, default=0)
    stopped: str = field(init=False, default="")

    def __post_init__(self) -> None:
        if self.max_epochs is None and self.max_steps is None:
            self.max_epochs = 10
        self._check()
        self.batches = as_batcher(self.data, self.batch_size, self.order)
        self._validation = self.validation
        if self.validation is not None:
            self._validation = as_batcher(self.validation, max(self.batch_size, 256), "given")
        self._device = next((p.device for p in self.module.parameters()), torch.device("cpu"))
        self._processes = Processes(self.strategy, self._device)
        self._seed = self._processes.from_first(draw_seed(self.random_state))
        self._live = self._processes.share(self.module)
        self._optimizer = make_optimizer(
            self.optimizer, self._live, self.learning_rate, self.weight_decay
        )
        if self.optimizer_state is not None:
            self._optimizer.load_state_dict(self.optimizer_state)
        self._parameters = [p for g in self._optimizer.param_groups for p in g["params"]]
        self._schedule = make_schedule(self.schedule, self._optimizer, self.total_steps)
        self._average = WeightAverage(self._parameters, self.ema_decay)
        self._position, self._sums, self._finished = 0, [0.0, 0.0], False
        self._best: dict[str, torch.Tensor] | None = None
        self._best_loss, self._stale = math.inf, 0
        self._small: bool | None = None
        self._kept: tuple[int, dict[str, torch.Tensor]] | None = None
        if self.verbose and self._processes.rank == 0:
            self.hooks = [*self.hooks, Progress()]
        self._resume()

    def _check(self) -> None:
        for name in ("max_epochs", "max_steps", "patience", "accumulate", "checkpoint_every"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | np.integer) and value > 0):
                raise ValueError(f"{name}={value!r} must be an int above zero")
        if self.precision not in ("float32", "bfloat16"):
            raise ValueError(f"precision={self.precision!r} must be 'float32' or 'bfloat16'")
        if self.patience is not None and self.validation is None:
            raise ValueError(f"patience={self.patience} needs validation data to watch")
        if self.ema_decay is not None and not 0 <= self.ema_decay < 1:
            raise ValueError(f"ema_decay={self.ema_decay!r} must lie in [0, 1)")
        if self.clip_norm is not None and not self.clip_norm > 0:
            raise ValueError(f"clip_norm={self.clip_norm!r} must be above zero")
        if self.resume and self.checkpoint is None:
            raise ValueError("resume=True needs the folder of the checkpoint: give checkpoint")

    @property
    def total_steps(self) -> int:
        """Steps that the run will take if nothing stops it."""
        whole = math.inf if self.max_epochs is None else self.max_epochs * len(self.batches)
        return int(min(whole, math.inf if self.max_steps is None else self.max_steps))

    @property
    def loss(self) -> float:
        """The mean training loss of this epoch so far, or of the last one between epochs."""
        if self._sums[1]:
            return self._sums[0] / self._sums[1]
        return self.history["loss"][-1] if self.history else math.nan

    def epochs(self) -> Iterator[dict[str, float]]:
        """Train; yield the row of the history after each epoch."""
        for hook in self.hooks:
            hook.on_begin(self)
        while not self.stopped:
            try:
                self._train_epoch()
            except RuntimeError as error:
                if self._processes.world > 1 and is_loss_of_worker(error):
                    raise self._lost() from error
                raise
            yield {name: values[-1] for name, values in self.history.items()}

    def stop(self, reason: str) -> None:
        """End the run after this step."""
        self.stopped = reason

    def finish(self) -> None:
        """Leave in the module what was learned: the best weights, their average, or the last."""
        if self._finished:
            return
        self._finished = True
        self._save()
        if self.patience is not None and self._best is not None:
            weights = self._best
        else:
            self._average.settle()
            weights = self._processes.state(self._live, self._optimizer)[0]
        if self.patience is not None or self._processes.sharded:
            self.module.load_state_dict(weights)
        self.module.eval()
        self._optimizer.zero_grad(set_to_none=True)
        for hook in self.hooks:
            hook.on_end(self)

    def _train_epoch(self) -> None:
        self._live.train()
        processes, start = self._processes, self._position
        rng = np.random.default_rng((self._seed, self.epoch))
        walk = self.batches.epoch(self.epoch, rng, processes.rank, processes.world, start)
        guarded = self.checkpoint is not None or processes.world > 1
        guard: Any = _termination() if guarded else nullcontext([])
        with seeded(0, self._device), one_thread(self._small is True), guard as asked:
            for batch in walk:
                self._step(batch)
                if self.stopped:
                    break
                if self.checkpoint_every and self.step % self.checkpoint_every == 0:
                    self._save()
                if asked:
                    self._save()
                    raise SystemExit(
                        f"training was asked to terminate after step {self.step}; {self._advice()}"
                    )
        if self._position == 0:
            raise ValueError("the data gave no batch")
        self._end_epoch()

    def _step(self, batch: Batch) -> None:
        if self._small is None:
            self._small = self._device.type == "cpu" and is_small(self.module, batch)
            torch.set_num_threads(1 if self._small else torch.get_num_threads())
        if self._kept is None or self.step - self._kept[0] >= _KEPT_EVERY:
            self._kept = self.step, {k: v.clone() for k, v in self._live.state_dict().items()}
        if self._schedule is not None:
            self._schedule.before_step(self.step)
        seed = mix(self._seed, self.step, self._processes.rank)
        if self._device.type != "cpu":
            batch = tuple(part.to(self._device, non_blocking=True) for part in batch)
        sums = [0.0, 0.0]

        def closure() -> float:
            reseed(seed, self._device)
            self._optimizer.zero_grad(set_to_none=True)
            sums[:] = self._gradient(batch)
            return sums[0] / sums[1]

        self._optimizer.step(closure)  # a closure that raises leaves weights and memory untouched
        if self._schedule is not None:
            self._schedule.after_step()
        self._average.update()
        self._sums[0] += sums[0]
        self._sums[1] += sums[1]
        self.step += 1
        self._position += 1
        if self.max_steps is not None and self.step >= self.max_steps:
            self.stopped = "max_steps"
        for hook in self.hooks:
            if hook.on_step(self):
                self.stopped = "hook"

    def _gradient(self, batch: Batch) -> list[float]:
        r"""Set the gradient of :math:`\sum_i w_i \ell_i / \sum_i w_i`; return both sums."""
        if self.accumulate == 1 and self._processes.world == 1:
            total, weight = self._losses(batch)
            sums = [total.item(), weight]
            self._demand_finite(sums[0], batch)
            total.backward(total.new_tensor(1 / (weight or 1.0)))  # spares a division in the graph
        else:
            pieces = [batch]
            if self.accumulate > 1:
                cut = [torch.tensor_split(part, self.accumulate) for part in batch]
                pieces = [p for p in zip(*cut, strict=True) if len(p[0])] or [batch]
            sums = [0.0, 0.0]
            for i, piece in enumerate(pieces):
                with self._processes.holding_back(self._live, i + 1 < len(pieces)):
                    total, weight = self._losses(piece)
                    total.backward()
                sums = [sums[0] + total.item(), sums[1] + weight]
            sums = self._processes.add(*sums)
            self._demand_finite(sums[0], batch)
            # PyTorch's wrappers average over the processes
            factor = self._processes.world / (sums[1] or 1.0)
            for p in self._parameters:
                if p.grad is not None:
                    p.grad.mul_(factor)
        if self.clip_norm is not None:
            nn.utils.clip_grad_norm_(self._parameters, self.clip_norm)
        return [sums[0], sums[1] or 1.0]

    def _losses(self, batch: Batch) -> tuple[torch.Tensor, float]:
        """The weighted sum of the losses of a batch, and the sum of the weights."""
        mixed = self.precision == "bfloat16"
        with torch.autocast(self._device.type, torch.bfloat16) if mixed else nullcontext():
            losses = self.objective(self._live, batch)
        if isinstance(losses, tuple):
            losses, weights = losses
            return (losses * weights).sum(), float(weights.sum())
        return losses.sum(), float(losses.numel())

    def _end_epoch(self) -> None:
        row = {"loss": self.loss}
        if self._validation is not None:
            row["validation_loss"] = self.evaluate(self._validation)
        row["learning_rate"] = float(self._optimizer.param_groups[0]["lr"])
        for name, value in row.items():
            self.history.setdefault(name, []).append(value)
        self.epoch, self._position, self._sums = self.epoch + 1, 0, [0.0, 0.0]
        watched = row.get("validation_loss", row["loss"])
        if self._schedule is not None:
            self._schedule.after_epoch(watched)
        if self.patience is not None:
            self._watch(watched)
        if self.max_epochs is not None and self.epoch >= self.max_epochs and not self.stopped:
            self.stopped = "max_epochs"
        for hook in self.hooks:
            if hook.on_epoch(self):
                self.stopped = "hook"
        if self.checkpoint_every is None:
            self._save()

    def _watch(self, loss: float) -> None:
        """Keep the weights of the lowest validation loss; stop when it has not fallen for long."""
        if loss < self._best_loss:
            self._best_loss, self._stale = loss, 0
            with self._average.in_place():
                weights = self._processes.state(self._live, self._optimizer)[0]
                self._best = {name: value.detach().clone() for name, value in weights.items()}
            return
        self._stale += 1
        if self._stale >= self.patience:  # type: ignore[operator]
            self.stopped = "patience"

    @torch.no_grad()
    def evaluate(self, data: Any) -> float:
        """The mean of the objective over a batcher, without learning and without dropout."""
        processes, sums = self._processes, [0.0, 0.0]
        self._live.eval()
        rng = np.random.default_rng((self._seed, 0))
        seed, few = mix(self._seed, 2**62), one_thread(self._small is True)
        with self._average.in_place(), seeded(seed, self._device), few:
            for batch in data.epoch(0, rng, processes.rank, processes.world):
                total, weight = self._losses(tuple(part.to(self._device) for part in batch))
                sums = [sums[0] + total.item(), sums[1] + weight]
        self._live.train()
        total_loss, total_weight = processes.add(*sums)
        return total_loss / (total_weight or 1.0)

    def _demand_finite(self, loss: float, batch: Batch) -> None:
        if math.isfinite(loss):
            return
        if self._kept is not None and not all(p.isfinite().all() for p in self._parameters):
            self._live.load_state_dict(self._kept[1])
        raise DivergenceError(
            f"the loss is {loss} at step {self.step} (epoch {self.epoch}, batch {self._position}); "
            "the module keeps the last finite weights and the error has the batch. Lower "
            "learning_rate, set clip_norm, or look for extreme values in the data",
            self.step,
            batch,
        )

    def _lost(self) -> WorkerLostError:
        """What to say, after saving what every process has whole."""
        if not self._processes.sharded:
            self._save()
        return WorkerLostError(
            f"process {self._processes.rank} of {self._processes.world} lost another one after "
            f"step {self.step}; {self._advice()}"
        )

    def _advice(self) -> str:
        if self.checkpoint is None:
            return "nothing was saved: give a checkpoint folder to be able to go on"
        return f"start it again with resume=True to go on from {self.checkpoint}"

    def _save(self) -> None:
        """Write a checkpoint, if there is a folder for it."""
        if self.checkpoint is None:
            return
        weights, memory = self._processes.state(self._live, self._optimizer)
        average = self._average.whole()
        if self._processes.rank:
            return
        state = {name: getattr(self, name) for name in _SAVED}
        state |= {"weights": weights, "memory": memory, "average": average}
        state["schedule"] = None if self._schedule is None else self._schedule.state_dict()
        _checkpoint.write(Path(self.checkpoint), state)

    def _resume(self) -> None:
        """Take up the run that the checkpoint holds."""
        state = None if self.checkpoint is None else _checkpoint.read(Path(self.checkpoint))
        if state is None:
            return
        if not self.resume:
            raise CheckpointError(
                f"{self.checkpoint} holds a run that is at step {state['step']}: give resume=True "
                "to go on with it, or another folder"
            )
        try:
            self._processes.load(self._live, self._optimizer, state["weights"], state["memory"])
            if self._schedule is not None:
                self._schedule.load_state_dict(state["schedule"])
            self._average.load(state["average"])
            for name in _SAVED:
                setattr(self, name, state[name])
        except (RuntimeError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(
                f"the checkpoint in {self.checkpoint} is of another module or run: {error}"
            ) from error
        if self.stopped in ("max_epochs", "max_steps", "hook"):  # there may be more to do now
            self.stopped = ""
        if self.max_steps is not None and self.step >= self.max_steps:
            self.stopped = "max_steps"
        elif self.max_epochs is not None and self.epoch >= self.max_epochs:
            self.stopped = "max_epochs"


_SAVED = (
    *("_seed", "epoch", "step", "_position", "_sums", "history", "stopped"),
    *("_best", "_best_loss", "_stale", "_small"),
)


@contextmanager
def _termination() -> Iterator[list[int]]:
    """Note SIGTERM instead of dying of it, so that the step can be finished and saved."""
    asked: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
    try:
        yield asked
    finally:
        signal.signal(signal.SIGTERM, before)
