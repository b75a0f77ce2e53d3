"""What estimators with S4 layers share: their parameters and the network."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from torch import nn

from panlearn.core.parameters import Count, Positive
from panlearn.neural._sequence_estimator import SequenceEstimator
from panlearn.statespace._network import S4Block, SequenceNetwork, reader
from panlearn.statespace.s4 import S4


@dataclass(eq=False, repr=False)
class S4Estimator(SequenceEstimator):
    """A stack of S4 layers over sequences of vectors or of symbols; abstract.

    Parameters
    ----------
    hidden_size : int, default=32
        Channels h of each layer.
    n_layers : int, default=2
        Layers, each with a norm before it, a gated mix of channels after it, and a way around.
    state_size : int, default=64
        Numbers in the state of a channel, even.
    form : {"nplr", "diagonal"}, default="diagonal"
        A normal matrix plus one of rank one, as in S4, or the normal matrix alone, as in S4D.
    rule : {"bilinear", "zoh"} or None, default=None
        How steps are made of the continuous system: by the trapezoidal rule, or with inputs that
        are held. None takes the first for "nplr" and the second for "diagonal".
    step_range : tuple of float, default=(0.001, 0.1)
        Between which sizes of steps the channels start: about one over the number of steps that is
        to be remembered.
    pooling : {"mean", "last"}, default="mean"
        Whether the output is read from the mean of all steps, or from the last.
    """

    hidden_size: Count = 32
    _: KW_ONLY
    n_layers: Count = 2
    state_size: Count = 64
    form: Literal["nplr", "diagonal"] = "diagonal"
    rule: Literal["bilinear", "zoh"] | None = None
    step_range: tuple | list = (0.001, 0.1)
    pooling: Literal["mean", "last"] = "mean"
    learning_rate: Positive[float] = 1e-2

    def _build(self) -> nn.Module:
        size, n_symbols = int(self.hidden_size), self._n_symbols
        steps: Any = tuple(self.step_range)
        layers = [
            S4(size, int(self.state_size), form=self.form, rule=self.rule, step_range=steps)
            for _ in range(self.n_layers)
        ]
        return SequenceNetwork(
            reader(0 if n_symbols else self.n_features_in_, n_symbols, self.embedding_size, size),
            [S4Block(layer, self.dropout) for layer in layers],
            nn.LayerNorm(size),
            nn.Linear(size, self.n_outputs_),
            pooling=self.pooling,
            dropout=self.dropout,
        )
