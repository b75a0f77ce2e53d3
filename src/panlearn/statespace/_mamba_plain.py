"""One more token for each of a few rows of Mamba, on a CPU, in plain loops.

A step for a few rows has little to do at each weight: calls of tensors, of which it needs hundreds,
take longer than the sums. See `panlearn.transformer._plain`, whose products serve here too.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import torch
from torch import Tensor

from panlearn.core.jit import jit
from panlearn.core.threads import n_threads
from panlearn.statespace._mamba import MambaDecoder, Memory, Mixer
from panlearn.transformer._plain import _arrays, _multiply, _normed

_ROWS = 16  # of more, the products of BLAS are quicker
_PART = 1 << 22  # bytes of a matrix that are worth a thread


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
        self._layers = [(_arrays(block.norm), *_parts(block.mixer)) for block in decoder.blocks]
        self._norm = _arrays(decoder.norm)
        head = decoder.projection.detach().numpy()
        self._head = head, np.zeros(len(head), dtype=np.float32)
        # a tail and a state belong to this run alone
        self.memory = [(kept.tail.numpy().copy(), kept.state.numpy().copy()) for kept in memory]
        self._pool = ThreadPoolExecutor(n_threads())  # its threads start when there is work

    @staticmethod
    def suits(decoder: MambaDecoder, n_rows: int) -> bool:
        """Whether this is the quicker way."""
        weight = decoder.tokens.weight
        return weight.dtype == torch.float32 and weight.device.type == "cpu" and n_rows <= _ROWS

    def scores(self, ids: np.ndarray) -> Tensor:
        """Read one token a row and score what follows, (n_rows, n_tokens)."""
        x = self._tokens[ids]
        for layer, (tail, state) in zip(self._layers, self.memory, strict=True):
            (scale, shift), project, filter_, select, step, rate, skip, output = layer
            both = self._product(_normed(x, scale, shift, self._epsilon, True), *project)
            inner = _convolved(both, tail, *filter_)
            chosen = self._product(inner, *select)
            size = self._product(np.ascontiguousarray(chosen[:, : self._rank]), *step)
            made = _stepped(inner, both, size, chosen, self._rank, rate, skip, state)
            x += self._product(made, *output)
        normed = _normed(x, *self._norm, self._epsilon, True)
        return torch.from_numpy(self._product(normed, *self._head))

    def _product(self, x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
        made = np.empty((len(x), len(weight)), dtype=np.float32)
        if weight.nbytes < 2 * _PART:
            _multiply(x, weight, bias, made, 0, len(weight))
        else:
            edges = np.linspace(0, len(weight), 1 + weight.nbytes // _PART, dtype=int)
            list(self._pool.map(partial(_multiply, x, weight, bias, made), edges[:-1], edges[1:]))
        return made


def _parts(mixer: Mixer) -> tuple:
    """The weights of a mixer, as arrays; the filter with steps first, rates ready for use."""
    taps = np.ascontiguousarray(mixer.filter.detach().numpy().T)
    bias = mixer.filter_bias
    constant = np.zeros(taps.shape[1], np.float32) if bias is None else bias.detach().numpy()
    return (
        _arrays(mixer.project),
        (taps, constant),
        _arrays(mixer.select),
        _arrays(mixer.step),
        -np.exp(mixer.log_rate.detach().numpy()),
        mixer.D.detach().numpy(),
        _arrays(mixer.output),
    )


@jit
def _convolved(
    both: np.ndarray, tail: np.ndarray, taps: np.ndarray, bias: np.ndarray
) -> np.ndarray:
    """Filter the first half of the columns with the inputs before them, which move on by one."""
    n_taps, channels, one = len(taps), taps.shape[1], np.float32(1)
    made = np.empty((len(both), channels), np.float32)
    for i in range(len(both)):
        for c in range(channels):
            total = bias[c] + taps[n_taps - 1, c] * both[i, c]
            for k in range(n_taps - 1):
                total += taps[k, c] * tail[i, k, c]
            made[i, c] = total / (one + np.exp(-total))
        for k in range(n_taps - 2):
            tail[i, k] = tail[i, k + 1]
        if n_taps > 1:
            tail[i, n_taps - 2] = both[i, :channels]
    return made


@jit
def _stepped(
    inner: np.ndarray,
    both: np.ndarray,
    size: np.ndarray,
    chosen: np.ndarray,
    rank: int,
    rate: np.ndarray,
    skip: np.ndarray,
    state: np.ndarray,
) -> np.ndarray:
    """Move the state on by one step, read it, and gate what was read."""
    channels, n = rate.shape
    made, one = np.empty_like(inner), np.float32(1)
    for i in range(len(inner)):
        enter, read = chosen[i, rank : rank + n], chosen[i, rank + n :]
        for c in range(channels):
            raw = size[i, c]
            # softplus, which is its argument from where the rest is lost in rounding
            step = raw if raw > np.float32(20) else np.log1p(np.exp(raw))
            gain, total = step * inner[i, c], np.float32(0)
            for k in range(n):
                state[i, c, k] = np.exp(step * rate[c, k]) * state[i, c, k] + gain * enter[k]
                total += state[i, c, k] * read[k]
            gate = both[i, channels + c]
            made[i, c] = (total + skip[c] * inner[i, c]) * gate / (one + np.exp(-gate))
    return made
