"""One more token for each of a few rows of Mamba, on a CPU, in plain loops.

A step for a few rows has little to do at each weight: calls of tensors, of which it needs hundreds,
take longer than the sums. See `panlearn.transformer._plain`, whose products serve here too.
Exponentials are left to PyTorch, which works them out eight at a time.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from panlearn.core.jit import jit
from panlearn.statespace._mamba import MambaDecoder, Memory, Mixer
from panlearn.transformer._jobs import compiled
from panlearn.transformer._loops import CONTRACTED, normed
from panlearn.transformer._plain import vectors
from panlearn.transformer._products import Matrix, Products


class PlainMamba:
    """Score the next tokens as `MambaDecoder.go_on` and the head do, one token a row at a time.

    Parameters
    ----------
    decoder : MambaDecoder
        In single precision, on a CPU. Its weights are shared, not copied.
    memory : list of Memory
        What is kept of the past; it is taken over, and rewritten by each step.
    """

    def __init__(self, decoder: MambaDecoder, memory: list[Memory]) -> None:
        self._tokens = decoder.tokens.weight.detach().numpy()
        self._epsilon = np.float32(decoder.config.norm_epsilon)
        self._rank = decoder.config.rank
        self._layers = [(vectors(block.norm), *_parts(block.mixer)) for block in decoder.blocks]
        self._norm = vectors(decoder.norm)
        self._head = Matrix(decoder.projection)
        # a tail and a state belong to this run alone
        self.memory = [(kept.tail.numpy().copy(), kept.state.numpy().copy()) for kept in memory]
        self._product = Products()

    @staticmethod
    def suits(decoder: MambaDecoder, n_rows: int) -> bool:
        """Whether this is the quicker way."""
        weight = decoder.tokens.weight
        known = weight.dtype == torch.float32 and weight.device.type == "cpu"
        few = n_rows <= (16 if decoder.config.width <= 512 else 12)
        return known and few and compiled()

    def scores(self, ids: np.ndarray) -> Tensor:
        """Read one token a row and score what follows, (n_rows, n_tokens)."""
        x = self._tokens[ids]
        for layer, (tail, state) in zip(self._layers, self.memory, strict=True):
            (scale, shift), project, filter_, select, step, rate, skip, output = layer
            both = self._product(normed(x, scale, shift, self._epsilon, True), project)
            inner = _convolved(both, tail, *filter_)
            F.silu(torch.from_numpy(inner), inplace=True)
            chosen = self._product(inner, select)
            raw = self._product(np.ascontiguousarray(chosen[:, : self._rank]), step)
            size = F.softplus(torch.from_numpy(raw))
            kept = (size[:, :, None] * rate).exp_().numpy()
            gate = F.silu(torch.from_numpy(both[:, inner.shape[1] :])).numpy()
            made = _stepped(inner, gate, size.numpy(), chosen, self._rank, kept, skip, state)
            x += self._product(made, output)
        last = normed(x, *self._norm, self._epsilon, True)
        return torch.from_numpy(self._product(last, self._head))


def _parts(mixer: Mixer) -> tuple:
    """The weights of a mixer, as arrays; the filter with steps first, rates ready for use."""
    taps = np.ascontiguousarray(mixer.filter.detach().numpy().T)
    bias = mixer.filter_bias
    constant = np.zeros(taps.shape[1], np.float32) if bias is None else bias.detach().numpy()
    return (
        Matrix.of(mixer.project),
        (taps, constant),
        Matrix.of(mixer.select),
        Matrix.of(mixer.step),
        -mixer.log_rate.detach().exp(),
        mixer.D.detach().numpy(),
        Matrix.of(mixer.output),
    )


@jit(fastmath=CONTRACTED)
def _convolved(
    both: np.ndarray, tail: np.ndarray, taps: np.ndarray, bias: np.ndarray
) -> np.ndarray:
    """Filter the first half of the columns with the inputs before them, which move on by one."""
    n_taps, channels = taps.shape
    made = np.empty((len(both), channels), np.float32)
    for i in range(len(both)):
        for c in range(channels):
            made[i, c] = bias[c] + taps[n_taps - 1, c] * both[i, c]
        for k in range(n_taps - 1):
            for c in range(channels):
                made[i, c] += taps[k, c] * tail[i, k, c]
        for k in range(n_taps - 1):
            for c in range(channels):
                tail[i, k, c] = tail[i, k + 1, c] if k < n_taps - 2 else both[i, c]
    return made


@jit(fastmath=CONTRACTED)
def _stepped(
    inner: np.ndarray,
    gate: np.ndarray,
    size: np.ndarray,
    chosen: np.ndarray,
    rank: int,
    kept: np.ndarray,
    skip: np.ndarray,
    state: np.ndarray,
) -> np.ndarray:
    """Move the state on by one step, read it, and gate what was read."""
    n_rows, channels, n = kept.shape
    made = np.empty_like(inner)
    for i in range(n_rows):
        enter, read = chosen[i, rank : rank + n], chosen[i, rank + n :]
        for c in range(channels):
            gain, total = size[i, c] * inner[i, c], np.float32(0)
            for k in range(n):
                state[i, c, k] = kept[i, c, k] * state[i, c, k] + gain * enter[k]
                total += state[i, c, k] * read[k]
            made[i, c] = (total + skip[c] * inner[i, c]) * gate[i, c]
    return made
