"""How long a run goes: epochs, steps, and whether they are done."""

from __future__ import annotations

from typing import Any

from panlearn.neural.settings import Settings


class Extent:
    """The most epochs and steps that the settings ask for, of these batches."""

    def __init__(self, settings: Settings, batches: Any) -> None:
        self._max_steps = settings.max_steps
        unsaid = settings.max_epochs is None and settings.max_steps is None
        self.max_epochs = 10 if unsaid else settings.max_epochs
        try:
            self.steps_per_epoch: int | None = len(batches)
        except TypeError:
            self.steps_per_epoch = None

    @property
    def total_steps(self) -> int | None:
        """Steps that the run will take if nothing stops it; None if that is not known."""
        known = [] if self._max_steps is None else [self._max_steps]
        if self.max_epochs is not None and self.steps_per_epoch is not None:
            known.append(self.max_epochs * self.steps_per_epoch)
        return min(known, default=None)

    def reached(self, step: int, epoch: int) -> str:
        """Which limit a run is at after so many steps and whole epochs, or nothing."""
        if self._max_steps is not None and step >= self._max_steps:
            return "max_steps"
        if self.max_epochs is not None and epoch >= self.max_epochs:
            return "max_epochs"
        return ""
