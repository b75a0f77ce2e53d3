r"""One more token for each of a few rows, on a CPU: the decoder once more, in plain loops.

A step for a few rows is a walk over all weights with little to do at each: calls of tensors, of
which a step needs hundreds, would take longer than the sums themselves.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from panlearn.core.jit import jit
from panlearn.transformer._decoder import Decoder
from panlearn.transformer._products import CONTRACTED, Matrix, Products, suits, widened


class PlainDecoder:
    """Score the next tokens as `Decoder.last` and the head do, one column at a time.

    Parameters
    ----------
    decoder : Decoder
        In single precision or bfloat16, on a CPU. Its weights are shared, not copied.
    capacity : int, default=None
        How many places are needed; those of the context if not given.
    """

    def __init__(self, decoder: Decoder, capacity: int | None = None) -> None:
        config = decoder.config
        self._config = config
        self._tokens = Matrix(decoder.tokens.weight)
        self._added, self._turned = None, np.empty((2, 1, 0), dtype=np.float32)
        if config.positions == "rotary":
            places = torch.arange(min(capacity or config.context, config.context))
            self._turned = decoder.rotation(places, torch.empty(0))[:, 0].numpy()
        else:
            self._added = decoder.places().detach().float().numpy()
        self._window = config.window or 2**62
        self._blocks = [
            (
                vectors(block.attention_norm),
                Matrix.of(block.attention.project),
                _head_norms(block.attention),
                Matrix.of(block.attention.output),
                vectors(block.feed_forward_norm),
                Matrix.of(block.feed_forward.up),
                Matrix.of(block.feed_forward.down),
            )
            for block in decoder.blocks
        ]
        self._norm = vectors(decoder.norm)
        self._head = Matrix(decoder.projection)
        self._product = Products()

    @staticmethod
    def suits(decoder: Any, n_rows: int) -> bool:
        """Whether this is a way, and the quicker one."""
        if not isinstance(decoder, Decoder):
            return False
        config, weight = decoder.config, decoder.tokens.weight
        plain = config.latent is None and config.experts is None
        known = weight.dtype in (torch.float32, torch.bfloat16)
        return plain and known and weight.device.type == "cpu" and suits(n_rows, config.width)

    def scores(self, ids: np.ndarray, memory: Tensor, starts: np.ndarray, column: int) -> Tensor:
        """Score what follows the tokens of one column, and put their keys and values in memory.

        Parameters
        ----------
        ids : ndarray of ints of shape (n_rows,)
        memory : tensor of shape (n_layers, 2, n_rows, n_key_heads, n_columns, head_size)
            In single precision.
        starts : ndarray of ints of shape (n_rows,)
            The first column of each row.
        column : int
            Where the tokens stand.

        Returns
        -------
        tensor of shape (n_rows, n_tokens)
        """
        config = self._config
        x = self._tokens.numbers[ids]
        x = widened(x) if self._tokens.halves else x
        if self._added is not None:
            x += self._added[column - starts]
        rms, epsilon = config.norm == "rms", np.float32(config.norm_epsilon)
        for block, (keys, values) in zip(self._blocks, memory.numpy(), strict=True):
            first, project, scales, output, second, up, down = block
            heads = self._product(normed(x, *first, epsilon, rms), project)
            if scales is not None:
                self._scale(heads, scales)
            seen = np.maximum(starts, column + 1 - self._window)
            mean = _mean(heads, keys, values, starts, seen, column, self._turned)
            x += self._product(mean, output)
            hidden = self._product(normed(x, *second, epsilon, rms), up)
            x += self._product(_ACTIVATIONS[config.activation](hidden), down)
        return torch.from_numpy(self._product(normed(x, *self._norm, epsilon, rms), self._head))

    def _scale(self, heads: np.ndarray, scales: tuple[tuple[np.ndarray, ...], ...]) -> None:
        """Divide each head of queries and of keys by its root mean square."""
        config, first = self._config, 0
        split = heads.reshape(len(heads), -1, config.head_size)
        n_heads = config.n_heads, config.n_key_heads or config.n_heads
        for n, scale in zip(n_heads, scales, strict=True):
            part = split[:, first : first + n]
            rows = np.ascontiguousarray(part).reshape(-1, config.head_size)
            epsilon = np.float32(config.norm_epsilon)
            part[:] = normed(rows, scale[0], scale[1], epsilon, True).reshape(part.shape)
            first += n


def vectors(module: Any) -> tuple[np.ndarray, np.ndarray]:
    """Weight and bias of a norm in single precision, zeros if there is none."""
    weight = module.weight.detach().float().numpy()
    bias = getattr(module, "bias", None)
    return weight, np.zeros_like(weight) if bias is None else bias.detach().float().numpy()


def _head_norms(attention: Any) -> Any:
    """Weights of the norms of queries and of keys, if there are any."""
    norms = (attention.query_norm, attention.key_norm)
    return None if norms[0] is None else tuple(vectors(norm) for norm in norms)


@jit(fastmath=CONTRACTED)
def normed(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, epsilon: Any, rms: bool
) -> np.ndarray:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias; with `rms` zero is the mean."""
    made, n = np.empty_like(x), x.shape[1]
    for i in range(len(x)):
        row, mean, square = x[i], np.float32(0), np.float32(0)
        if not rms:
            for k in range(n):
                mean += row[k]
            mean /= np.float32(n)
        for k in range(n):
            square += (row[k] - mean) * (row[k] - mean)
        scale = np.float32(1) / np.sqrt(square / np.float32(n) + epsilon)
        for k in range(n):
            made[i, k] = (row[k] - mean) * scale * weight[k] + bias[k]
    return made


@jit(fastmath=CONTRACTED)
def _mean(
    heads: np.ndarray,
    keys: np.ndarray,
    values: np.ndarray,
    starts: np.ndarray,
    seen: np.ndarray,
    column: int,
    turned: np.ndarray,
) -> np.ndarray:
    """Attention of one query a row and head, after its key and value are put in their column.

    A row begins at `starts`, and its query looks at the columns from `seen` on.
    """
    n_rows, n_keys, size = keys.shape[0], keys.shape[1], keys.shape[3]
    n_heads = heads.shape[1] // size - 2 * n_keys
    group, half = n_heads // n_keys, size // 2
    scale = np.float32(1 / math.sqrt(size))
    made = np.zeros((n_rows, n_heads * size), np.float32)
    for i in range(n_rows):
        split = heads[i].reshape(-1, size)  # queries, keys, values
        if turned.size:
            cos, sin = turned[0, column - starts[i]], turned[1, column - starts[i]]
            for h in range(n_heads + n_keys):
                for k in range(half):
                    a, b = split[h, k], split[h, k + half]
                    split[h, k] = a * cos[k] - b * sin[k]
                    split[h, k + half] = a * sin[k] + b * cos[k]
        for g in range(n_keys):
            keys[i, g, column] = split[n_heads + g]
            values[i, g, column] = split[n_heads + n_keys + g]
        n = column + 1 - seen[i]
        weights = np.empty(n, np.float32)
        for h in range(n_heads):
            query, out = split[h], made[i, h * size : (h + 1) * size]
            key, value = keys[i, h // group, seen[i] :], values[i, h // group, seen[i] :]
            highest = np.float32(-np.inf)
            for t in range(n):
                s, at = np.float32(0), key[t]
                for k in range(size):
                    s += query[k] * at[k]
                weights[t] = s * scale
                highest = max(highest, weights[t])
            total = np.float32(0)
            for t in range(n):
                weights[t] = np.exp(weights[t] - highest)
                total += weights[t]
            for t in range(n):
                w, at = weights[t] / total, value[t]
                for k in range(size):
                    out[k] += w * at[k]
    return made


@jit
def _gelu(x: np.ndarray) -> np.ndarray:
    """X sigma(sqrt(8 / pi) (x + 0.044715 x^3)), which is the approximation by tanh."""
    linear, cubic = np.float32(math.sqrt(8 / math.pi)), np.float32(0.044715)
    one = np.float32(1)
    for row in x:
        for k in range(len(row)):
            v = row[k]
            row[k] = v / (one + np.exp(-linear * (v + cubic * v * v * v)))
    return x


@jit
def _swiglu(x: np.ndarray) -> np.ndarray:
    """The first half of the columns, through silu, times the second."""
    half, one = x.shape[1] // 2, np.float32(1)
    made = np.empty((len(x), half), np.float32)
    for i in range(len(x)):
        for k in range(half):
            made[i, k] = x[i, k] / (one + np.exp(-x[i, k])) * x[i, half + k]
    return made


_ACTIVATIONS: dict[str, Any] = {
    "gelu": _gelu,
    "relu": partial(np.maximum, np.float32(0)),
    "swiglu": _swiglu,
}
