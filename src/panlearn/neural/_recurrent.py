"""What recurrent estimators share: sequences read and scaled, the module, its outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import nn

from panlearn.core.parameters import BelowOne, Count, Positive
from panlearn.core.random import generator
from panlearn.core.sequences import Kind
from panlearn.core.sources import Sequences
from panlearn.neural import _sequences
from panlearn.neural._estimator import DeepEstimator
from panlearn.neural._recurrence import Ragged, Recurrent
from panlearn.neural._scaling import moments

_ROWS = 256  # sequences of a batch when nothing is learned


class _Learned:
    """What `fit` sets; here, and not among the fields."""

    kind_: Kind
    symbols_: np.ndarray
    mean_: np.ndarray
    scale_: np.ndarray
    n_outputs_: int
    n_features_in_: int


@dataclass(eq=False, repr=False)
class RecurrentEstimator(DeepEstimator, _Learned):
    """A recurrent network over sequences of vectors or of symbols; abstract.

    Parameters
    ----------
    hidden_size : int, default=32
        Numbers in the state h.
    cell : {"lstm", "gru", "elman"}, default="lstm"
        The step f: long short-term memory, the gated recurrent unit, or the plain network.
    n_layers : int, default=1
        Recurrences, each of which reads the states of the one below it.
    embedding_size : int, default=16
        Numbers that stand for a symbol, if the steps are symbols.
    dropout : float, default=0.0
        The share of states that are left out in training, below one.
    truncation : int or None, default=None
        Through how many steps, at most, the gradient goes back; the state goes on. None for all.
    symbols : array-like or None, default=None
        The symbols that may come; those of the training sequences if not given.
    """

    hidden_size: Count = 32
    _: KW_ONLY
    cell: Literal["lstm", "gru", "elman"] = "lstm"
    n_layers: Count = 1
    embedding_size: Count = 16
    dropout: BelowOne = 0.0
    truncation: Count | None = None
    symbols: np.ndarray | None = None
    learning_rate: Positive[float] = 1e-2
    clip_norm: Positive[float] | None = 1.0

    def _begin(self, X: Any, sample_weight: Any) -> tuple[Sequences, np.ndarray, bool]:
        """Read training sequences and their weights; learn symbols, or how vectors are scaled."""
        self.kind_ = _sequences.kind_of(X)
        sequences, single = _sequences.read(self, X, self.kind_, reset=True)
        weight = _sequences.read_weights(sample_weight, len(sequences))
        known = self.warm_start and "weights_" in vars(self)
        if self.kind_ == "symbols" and not known:
            self.symbols_ = _sequences.symbols(sequences, self.symbols, "symbols")
        elif not known:
            values = sequences.values
            mean, scale = moments(values, np.repeat(weight, sequences.lengths))
            self.mean_, self.scale_ = mean.astype(values.dtype), scale.astype(values.dtype)
        return sequences, weight, single

    def _train(
        self,
        objective: Callable[..., Any],
        index: np.ndarray,
        strata: Any = None,
        rows: Any = None,
    ) -> Self:
        """Learn from the sequences of these numbers; callbacks may ask for the rows."""
        if not len(index):
            raise ValueError("sample_weight leaves no sequence with a step to learn")
        rng = generator(self.random_state)
        self._learn(self._initial(rng), objective, (index,), rng, strata=strata, rows=rows)
        return self

    def _inputs(self, X: Sequences) -> Sequences:
        if self.kind_ == "symbols":
            return _sequences.coded(X, self.symbols_, "symbols")
        scaled = (X.values - self.mean_) / self.scale_
        return Sequences(np.asarray(scaled, dtype=np.float32), X.offsets)

    def _build(self) -> nn.Module:
        n_symbols = len(self.symbols_) if self.kind_ == "symbols" else 0
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

    def _read_new(self, X: Any) -> tuple[Sequences, bool]:
        """Sequences that are like those of fit, and whether X was a single one."""
        self._require_fitted()
        if _sequences.kind_of(X) != self.kind_:
            raise ValueError(f"X must hold sequences of {self.kind_}, as those of fit did")
        return _sequences.read(self, X, self.kind_, reset=False)

    def _read_out(
        self, sequences: Sequences, output: Callable[[Any, torch.Tensor, torch.Tensor], Any]
    ) -> np.ndarray:
        """What `output` makes of the module and batches of padded sequences with lengths."""
        inputs, module = self._inputs(sequences), self.module_
        ragged = Ragged(inputs.values, inputs.offsets)
        device = next(module.parameters()).device
        with torch.inference_mode():
            parts = [
                output(module, *ragged(rows.to(device)))
                for rows in torch.arange(len(inputs)).split(_ROWS)
            ]
        dtype = sequences.values.dtype if self.kind_ == "vectors" else np.dtype(float)
        return torch.cat(parts).cpu().numpy().astype(dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags
