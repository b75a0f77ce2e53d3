"""One step of a run, as an objective sees it: noise, rows of all processes, notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from panlearn.neural._draws import Draws
from panlearn.neural._processes import Processes

_current: ContextVar[Step | None] = ContextVar("step", default=None)


class WholeBatchError(Exception):
    """An objective that asks for all rows of a batch was given a piece of it."""


@dataclass
class Whole:
    """What the pieces of a batch share: its rows, sums over them, and how long the longest are."""

    batch: Any = None
    tallies: dict[str, torch.Tensor] = field(default_factory=dict)
    lengths: list[int] = field(default_factory=list)


@dataclass(kw_only=True)
class Step(Draws):
    r"""What an objective may ask of the step it is part of.

    A batch of n rows may be spread over processes and cut into pieces. Noise is drawn for all of
    it from (seed, step) and each takes the part of its rows, so that the numbers do not depend on
    how the batch is spread:

    .. math:: \varepsilon_{1:n} \sim N(0, I) \text{ from (seed, } t), \qquad
              \text{a share of rows } i \ldots j \text{ sees } \varepsilon_{i:j}

    ``number`` and ``epoch`` count from zero, ``training`` is False when validation data are
    measured, and ``share`` says which rows of the batch the objective was given. ``normal``,
    ``uniform`` and ``integers`` draw so many numbers for each row.

    References
    ----------
    Salmon, Moraes, Dror, Shaw (2011). Parallel random numbers: as easy as 1, 2, 3.
    doi:10.1145/2063384.2063405

    Examples
    --------
    >>> import numpy as np, torch
    >>> from panlearn.neural import train
    >>> def denoise(module, batch, step):
    ...     (x,) = batch
    ...     step.note(spread=x.std())
    ...     return (module(x + 0.1 * step.normal(3)) - x).square().sum(1)
    >>> X = np.random.default_rng(0).normal(size=(64, 3)).astype(np.float32)
    >>> run = train(torch.nn.Linear(3, 3), denoise, (X,), max_epochs=2, random_state=0)
    >>> sorted(run.history)
    ['learning_rate', 'loss', 'spread']
    """

    epoch: int
    processes: Processes
    n_pieces: int = 1
    training: bool = True
    notes: dict[str, list[float]] = field(default_factory=dict)
    whole: Whole = field(default_factory=Whole)
    is_last: bool = True
    n_lengths: int = 0

    def gather(self, rows: torch.Tensor) -> torch.Tensor:
        """The rows of all processes, in the order of the batch; the gradient goes back to each.

        An objective that gathers sees its batch in one piece, whatever `accumulate` says.
        """
        if self.n_pieces > 1:
            raise WholeBatchError
        return self.processes.gather(rows[:0] if self.share.idle else rows)

    def longest(self, lengths: Callable[[Any], torch.Tensor]) -> int:
        """The largest of the lengths of all rows of the batch, those of other processes too.

        Rows that are padded to it draw the same noise however the batch is spread. The function is
        given a batch; all pieces must ask for the same lengths in the same order.
        """
        known = self.whole.lengths
        if len(known) == self.n_lengths:  # the first piece asks the other processes, once for all
            here = lengths(self.whole.batch)
            known.append(self.processes.largest(int(here.max()) if len(here) else 0))
        self.n_lengths += 1
        return known[self.n_lengths - 1]

    def tally(self, **counts: torch.Tensor) -> None:
        """Add to sums over the whole batch, which `tallied` gives when the move is made."""
        sums = self.whole.tallies
        for name, count in counts.items():
            count = count.detach() * (not self.share.idle)
            sums[name] = sums[name] + count if name in sums else count

    def tallied(self, name: str) -> torch.Tensor | None:
        """The sum over all pieces and processes; None for all pieces but the last."""
        if not self.is_last:
            return None
        return self.processes.gather(self.whole.tallies.pop(name)[None]).sum(dim=0)

    def note(self, **metrics: Any) -> None:
        """Keep the mean of a metric for the history: of all entries that are noted for it."""
        for name, value in metrics.items():
            sums = self.notes.setdefault(name, [0.0, 0.0])
            if not self.share.idle:
                value = torch.as_tensor(value)
                sums[0] += float(value.detach().sum())
                sums[1] += value.numel()

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make it the step that dropout draws from."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    @contextmanager
    def again(self, draws: int) -> Iterator[None]:
        """Repeat the draws after the first so many: what is recomputed draws what it drew."""
        before, self.draws = self.draws, draws
        try:
            with self.current():
                yield
        finally:
            self.draws = before


def current_step() -> Step | None:
    """Return the step that is being taken in this thread, if there is one."""
    return _current.get()


class Dropout(nn.Module):
    """Leave out a share of the entries in training, and scale the others up.

    Inside a run it draws for the whole batch, see `Step`; elsewhere from PyTorch's generator. What
    is padded has to be so to the longest row of the whole batch, `Step.longest`: rows draw by that
    length.
    """

    def __init__(self, rate: float = 0.5) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Give x with entries left out."""
        return drop(x, self.rate, self.training)

    def extra_repr(self) -> str:
        """Show the rate."""
        return f"rate={self.rate}"


def drop(x: torch.Tensor, rate: float, training: bool = True) -> torch.Tensor:
    """Dropout as a function."""
    if not training or rate == 0:
        return x
    step = None if torch.compiler.is_compiling() else _current.get()
    if step is None:
        return nn.functional.dropout(x, rate)
    return x * step.mask(x, 1 - rate).div_(1 - rate)
