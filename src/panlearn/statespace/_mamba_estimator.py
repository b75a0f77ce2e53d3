"""What estimators with blocks of Mamba share: their parameters and the network."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from torch import nn

from panlearn.core.parameters import Count, Positive
from panlearn.neural._sequence_estimator import SequenceEstimator
from panlearn.statespace._mamba import MambaBlock, MambaConfig
from panlearn.statespace._network import SequenceNetwork, reader


@dataclass(eq=False, repr=False)
class MambaEstimator(SequenceEstimator):
    """A stack of blocks of Mamba over sequences of vectors or of symbols; abstract.

    Parameters
    ----------
    hidden_size : int, default=32
        Numbers that stand for a step between blocks.
    n_layers : int, default=2
        Blocks, each with a norm before it and a way around.
    state_size : int, default=16
        Numbers in the state of a channel.
    expand : int, default=2
        Channels of a block for each number that stands for a step.
    conv_size : int, default=4
        Steps that the convolution of a block sees.
    pooling : {"mean", "last"}, default="mean"
        Whether the output is read from the mean of all steps, or from the last.
    """

    hidden_size: Count = 32
    _: KW_ONLY
    n_layers: Count = 2
    state_size: Count = 16
    expand: Count = 2
    conv_size: Count = 4
    pooling: Literal["mean", "last"] = "mean"
    learning_rate: Positive[float] = 1e-2

    def _build(self) -> nn.Module:
        size, n_symbols = int(self.hidden_size), self._n_symbols
        config = MambaConfig(
            int(self.n_layers),
            size,
            state_size=int(self.state_size),
            expand=int(self.expand),
            conv_size=int(self.conv_size),
        )
        return SequenceNetwork(
            reader(0 if n_symbols else self.n_features_in_, n_symbols, self.embedding_size, size),
            [MambaBlock(config) for _ in range(config.n_layers)],
            nn.RMSNorm(size, eps=config.norm_epsilon),
            nn.Linear(size, self.n_outputs_),
            pooling=self.pooling,
            dropout=self.dropout,
        )
