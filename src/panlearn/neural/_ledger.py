"""What a row of the history is made of: sums of losses and of metrics."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from panlearn.neural._processes import Processes


@dataclass
class Ledger:
    """Weighted losses and weights of each player, and sums and counts of what was noted.

    Losses come in as sums over all processes, notes as those of this one.
    """

    losses: dict[str, list[float]] = field(default_factory=dict)
    notes: dict[str, list[float]] = field(default_factory=dict)

    def add(self, player: str, total: float, weight: float) -> None:
        """Count the losses of a move."""
        sums = self.losses.setdefault(player, [0.0, 0.0])
        sums[0] += total
        sums[1] += weight

    @property
    def loss(self) -> float:
        """The mean loss, summed over players; NaN if there is none."""
        found = [total / weight for total, weight in self.losses.values() if weight]
        return sum(found) if found else math.nan

    def means(self, processes: Processes) -> dict[str, float]:
        """The mean loss, that of each of several players, and the mean of each metric."""
        row = {"loss": self.loss}
        for name, (total, weight) in self.losses.items():
            if name:
                row[f"{name}_loss"] = total / (weight or 1.0)
        for name, pair in self.notes.items():
            total, count = processes.add(*pair)
            row[name] = total / count if count else math.nan
        return row
