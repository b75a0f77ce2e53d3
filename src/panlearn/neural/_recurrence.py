"""Recurrent modules over sequences of unequal lengths: gathering, padding, running, reading out.

Sequences lie one after the other in a flat array; a batch of them is gathered by their numbers
into a padded tensor of shape (n, T, ...). A recurrence reads from left to right, so that what comes
after the end of a sequence changes nothing before it: the states at its own steps are those of the
sequence alone, and the loss takes only these.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from panlearn.neural._step import Dropout
from panlearn.neural._threads import one_thread

Cell = Literal["elman", "lstm", "gru"]
CELLS: dict[str, Any] = {"elman": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


class Ragged:
    """Values of sequences, one after the other, from which a padded batch is gathered."""

    def __init__(self, values: np.ndarray, offsets: np.ndarray) -> None:
        self.values, self.offsets = torch.as_tensor(values), torch.as_tensor(offsets)

    def lengths(self, index: torch.Tensor) -> torch.Tensor:
        """Give the lengths of the sequences of these numbers."""
        index = index.cpu()
        return self.offsets[index + 1] - self.offsets[index]

    def __call__(self, index: torch.Tensor, step: Any = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Give the sequences of these numbers, padded with what follows, and their lengths.

        In a step of a run, whose batches are such numbers, they are as long as the longest of the
        batch, of which these may be a part.
        """
        device, lengths = index.device, self.lengths(index)
        start = self.offsets[index.cpu()]
        width = 0 if step is None else step.longest(lambda batch: self.lengths(batch[0]))
        steps = torch.arange(max(width, int(lengths.max())))
        # a step beyond the end reads any value: nothing of it is used
        places = (start[:, None] + steps).clamp(max=len(self.values) - 1)
        return self.values[places].to(device), lengths.to(device)


def within(lengths: torch.Tensor, n_steps: int) -> torch.Tensor:
    """Which steps of a padded batch belong to the sequences, of shape (n, n_steps)."""
    return torch.arange(n_steps, device=lengths.device) < lengths[:, None]


class Recurrent(nn.Module):
    r"""A recurrence over a padded batch and a linear read-out of its states.

    Elman: h_t = tanh(W x_t + U h_{t-1} + b); the LSTM and the GRU guard the state by gates.
    """

    def __init__(
        self,
        cell: str,
        n_inputs: int,
        hidden_size: int,
        n_layers: int,
        n_outputs: int,
        *,
        n_symbols: int = 0,
        dropout: float = 0.0,
        truncation: int | None = None,
    ) -> None:
        super().__init__()
        self.truncation = truncation
        self.embedding = nn.Embedding(n_symbols, n_inputs) if n_symbols else nn.Identity()
        sizes = [n_inputs, *[hidden_size] * (n_layers - 1)]
        self.layers = nn.ModuleList(CELLS[cell](n, hidden_size, batch_first=True) for n in sizes)
        self.dropout = Dropout(dropout)
        self.head = nn.Linear(hidden_size, n_outputs)
        for layer in self.layers:
            start_recurrence(layer)

    def states(self, inputs: torch.Tensor) -> torch.Tensor:
        """The hidden states of the last layer, (n, T, hidden_size); dropout stands between layers.

        With a truncation, the gradient does not pass from one stretch of so many steps to the one
        before it; the state does.
        """
        values = self.embedding(inputs)
        for i, layer in enumerate(self.layers):
            values = self._through(layer, self.dropout(values) if i else values)
        return values

    def _through(self, layer: nn.Module, inputs: torch.Tensor) -> torch.Tensor:
        if self.truncation is None:
            return layer(inputs)[0]
        parts, state = [], None
        for stretch in inputs.split(self.truncation, dim=1):
            part, state = layer(stretch, state)
            state = tuple(s.detach() for s in state) if isinstance(state, tuple) else state.detach()
            parts.append(part)
        return torch.cat(parts, dim=1)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """The outputs at every step, (n, T, n_outputs)."""
        return self.head(self.dropout(self.states(inputs)))

    def last(self, inputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """The outputs at the last step of each sequence, (n, n_outputs)."""
        states = self.states(inputs)
        rows = torch.arange(len(states), device=states.device)
        return self.head(self.dropout(states[rows, lengths - 1]))


@torch.no_grad()
def start_recurrence(recurrence: nn.Module) -> None:
    """Orthogonal recurrent weights, Glorot's for inputs; an LSTM begins by not forgetting."""
    for name, weight in recurrence.named_parameters():
        if weight.ndim < 2:
            nn.init.zeros_(weight)
            if isinstance(recurrence, nn.LSTM) and "bias_ih" in name:
                size = len(weight) // 4
                nn.init.ones_(weight[size : 2 * size])  # gates: input, forget, cell, output
            continue
        start = nn.init.orthogonal_ if "hh" in name else nn.init.xavier_uniform_
        size = weight.shape[1] if "hh" in name else len(weight) // _GATES[type(recurrence)]
        with one_thread():  # a factorisation on two threads has other bits
            for gate in weight.split(size):
                start(gate)


_GATES: dict[type[nn.Module], int] = {
    nn.RNN: 1,
    nn.LSTM: 4,
    nn.GRU: 3,
    nn.RNNCell: 1,
    nn.LSTMCell: 4,
    nn.GRUCell: 3,
}


def true_steps(module: Any, steps: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The outputs at the steps of sequences that are theirs, one sequence after the other."""
    return module(steps)[within(lengths, steps.shape[1])]


def step_losses(inputs: Any, targets: Any, weight: np.ndarray, ahead: int = 0) -> Any:
    """An objective: the loss of each true step of the sequences of a batch, given by numbers.

    Codes have the cross-entropy, vectors the mean square. The target of a step stands `ahead` of
    it.
    """
    sequences = Ragged(inputs.values, inputs.offsets)
    wanted = Ragged(targets.values, targets.offsets)
    weights = torch.from_numpy(weight)

    def objective(module: nn.Module, batch: Any, step: Any) -> Any:
        (index,) = batch
        steps, lengths = sequences(index, step)
        aims, _ = wanted(index, step)
        n_steps = steps.shape[1] - ahead
        there = within(lengths - ahead, n_steps)
        outputs, aims = module(steps[:, :n_steps])[there], aims[:, ahead:][there]
        each = weights[index.cpu()].to(outputs)[:, None].expand(there.shape)[there]
        if aims.is_floating_point():
            return ((outputs - aims) ** 2).mean(dim=-1), each
        return F.cross_entropy(outputs, aims, reduction="none"), each

    return objective
