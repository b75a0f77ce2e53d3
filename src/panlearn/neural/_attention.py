"""Attention of a decoder over the states of an encoder, and the two of them as one module."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from panlearn.neural._recurrence import CELLS, start_recurrence, within
from panlearn.neural._step import Dropout

CELL_STEPS: dict[str, Any] = {"elman": nn.RNNCell, "lstm": nn.LSTMCell, "gru": nn.GRUCell}


def attend(
    scores: torch.Tensor, values: torch.Tensor, mask: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    r"""The weights softmax(scores) over the steps of a source, and the context :math:`\alpha h`.

    Scores are (..., S), values (..., S, d); where the mask is false the weight is zero.
    """
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1)
    return weights, (weights[..., None, :] @ values)[..., 0, :]


class AdditiveAttention(nn.Module):
    r"""The scores :math:`e_j = v^\top \tanh(W s + U h_j)` of a state s against states h_j."""

    def __init__(self, state_size: int, value_size: int, size: int) -> None:
        super().__init__()
        self.state = nn.Linear(state_size, size, bias=False)
        self.value = nn.Linear(value_size, size)
        self.score = nn.Linear(size, 1, bias=False)

    def keys(self, values: torch.Tensor) -> torch.Tensor:
        """The part U h_j, which is the same for every state."""
        return self.value(values)

    def forward(self, state: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """The scores, (n, S)."""
        return self.score((self.state(state)[:, None] + keys).tanh())[..., 0]


class EncoderDecoder(nn.Module):
    r"""A source read in both directions, and a decoder that looks at all of it at every step.

    .. math:: c_i = \sum_j \alpha_{ij} h_j, \quad s_i = f(s_{i-1}, [y_{i-1}; c_i]), \quad
        p(y_i) \propto \exp O [s_i; c_i; y_{i-1}]

    Targets are codes 0, ..., n_targets - 1; n_targets stands for the end, and for the beginning.
    """

    def __init__(
        self,
        cell: str,
        n_sources: int,
        n_targets: int,
        embedding_size: int,
        hidden_size: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.end, half = n_targets, -(-hidden_size // 2)
        self.source = nn.Embedding(n_sources, embedding_size)
        self.forwards = CELLS[cell](embedding_size, half, batch_first=True)
        self.backwards = CELLS[cell](embedding_size, half, batch_first=True)
        self.target = nn.Embedding(n_targets + 1, embedding_size)
        self.start = nn.Linear(half, hidden_size)
        self.attention = AdditiveAttention(hidden_size, 2 * half, hidden_size)
        self.step = CELL_STEPS[cell](embedding_size + 2 * half, hidden_size)
        self.dropout = Dropout(dropout)
        self.head = nn.Linear(hidden_size + 2 * half + embedding_size, n_targets + 1)
        for part in (self.forwards, self.backwards, self.step):
            start_recurrence(part)

    def encode(self, source: torch.Tensor, lengths: torch.Tensor) -> dict[str, torch.Tensor]:
        """What the decoder needs of a padded batch of sources: states, keys, mask and start."""
        inputs = self.dropout(self.source(source))
        back = _turned(source, lengths)
        forwards = self.forwards(inputs)[0]
        # each source turned round within its own length, read from left to right, turned back
        turned = self.backwards(self.dropout(self.source(source.gather(1, back))))[0]
        backwards = turned.gather(1, back[..., None].expand_as(turned))
        states = torch.cat([forwards, backwards], dim=-1)
        return {
            "states": states,
            "keys": self.attention.keys(states),
            "mask": within(lengths, source.shape[1]),
            "start": self.start(backwards[:, 0]).tanh(),
        }

    def begin(self, encoded: dict[str, torch.Tensor]) -> Any:
        """The state of the decoder before the first step."""
        start = encoded["start"]
        return (start, torch.zeros_like(start)) if isinstance(self.step, nn.LSTMCell) else start

    def decode(
        self, last: torch.Tensor, state: Any, encoded: dict[str, torch.Tensor]
    ) -> tuple[torch.Tensor, Any, torch.Tensor]:
        """One step: the scores of the next symbol, the state, and the weights of attention."""
        hidden = state[0] if isinstance(state, tuple) else state
        scores = self.attention(hidden, encoded["keys"])
        weights, context = attend(scores, encoded["states"], encoded["mask"])
        inputs = self.dropout(self.target(last))
        state = self.step(torch.cat([inputs, context], dim=-1), state)
        hidden = state[0] if isinstance(state, tuple) else state
        outputs = self.head(self.dropout(torch.cat([hidden, context, inputs], dim=-1)))
        return outputs, state, weights

    def forward(
        self, source: torch.Tensor, lengths: torch.Tensor, target: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The scores of every symbol of a padded target given those before it, and the weights."""
        encoded = self.encode(source, lengths)
        state, outputs, looks = self.begin(encoded), [], []
        for last in F.pad(target, (1, 0), value=self.end)[:, :-1].unbind(dim=1):
            output, state, weights = self.decode(last, state, encoded)
            outputs.append(output)
            looks.append(weights)
        return torch.stack(outputs, dim=1), torch.stack(looks, dim=1)


def _turned(source: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The places that turn each sequence round and leave the padding where it is."""
    steps = torch.arange(source.shape[1], device=source.device).expand_as(source)
    return torch.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)


def search(
    module: EncoderDecoder,
    source: torch.Tensor,
    lengths: torch.Tensor,
    width: int,
    max_length: int,
) -> list[list[int]]:
    """The best targets of a padded batch that a beam of this width finds, without their ends."""
    n, end = len(source), module.end
    encoded = {
        k: v.repeat_interleave(width, dim=0) for k, v in module.encode(source, lengths).items()
    }
    state, last = module.begin(encoded), source.new_full((n * width,), end)
    total = torch.full((n, width), -torch.inf, device=source.device)
    total[:, 0] = 0  # at first all beams are the same one
    done = torch.zeros(n, width, dtype=torch.bool, device=source.device)
    paths = source.new_zeros(n, width, 0)
    for _ in range(max_length):
        scores, state, _ = module.decode(last, state, encoded)
        gain = scores.log_softmax(dim=-1).reshape(n, width, -1)
        gain[done] = -torch.inf  # an answer that has ended goes on as it is
        gain[..., end].masked_fill_(done, 0)
        n_symbols = gain.shape[-1]
        total, best = (total[..., None] + gain).reshape(n, -1).topk(width)
        beam, symbol = best // n_symbols, best % n_symbols
        rows = (torch.arange(n, device=source.device)[:, None] * width + beam).reshape(-1)
        state = tuple(s[rows] for s in state) if isinstance(state, tuple) else state[rows]
        done = done.gather(1, beam) | (symbol == end)
        paths = torch.cat(
            [paths.reshape(n * width, -1)[rows].reshape(n, width, -1), symbol[..., None]], -1
        )
        last = symbol.reshape(-1)
        if done.all():
            break
    return [[c for c in path if c != end] for path in paths[:, 0].tolist()]
