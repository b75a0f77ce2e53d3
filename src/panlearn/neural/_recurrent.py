"""What recurrent estimators share: their parameters and the module."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from torch import nn

from panlearn.core.parameters import Count, Positive
from panlearn.neural._recurrence import Recurrent
from panlearn.neural._sequence_estimator import SequenceEstimator


@dataclass(eq=False, repr=False)
class RecurrentEstimator(SequenceEstimator):
    """A recurrent network over sequences of vectors or of symbols; abstract.

    Parameters
    ----------
    hidden_size : int, default=32
        Numbers in the state h.
    cell : {"lstm", "gru", "elman"}, default="lstm"
        The step f: long short-term memory, the gated recurrent unit, or the plain network.
    n_layers : int, default=1
        Recurrences, each of which reads the states of the one below it.
    truncation : int or None, default=None
        Through how many steps, at most, the gradient goes back; the state goes on. None for all.
    """

    hidden_size: Count = 32
    _: KW_ONLY
    cell: Literal["lstm", "gru", "elman"] = "lstm"
    n_layers: Count = 1
    truncation: Count | None = None
    learning_rate: Positive[float] = 1e-2

    def _build(self) -> nn.Module:
        n_symbols = self._n_symbols
        return Recurrent(
            self.cell,
            self.embedding_size if n_symbols else self.n_features_in_,
            self.hidden_size,
            self.n_layers,
            self.n_outputs_,
            n_symbols=n_symbols,
            dropout=self.dropout,
            truncation=None if self.truncation is None else int(self.truncation),
        )
