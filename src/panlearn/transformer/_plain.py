r"""One more token for each of some rows, on a CPU: the decoder once more, as a list of jobs.

A step for a few rows is a walk over all weights with little to do at each: calls of tensors, of
which a step needs hundreds, would take longer than the sums themselves. Here everything but the
numbers is known before the first step: which matrix is multiplied with what, and where the result
goes. The list is made once, and a step is one call of compiled loops that go through it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from panlearn.transformer import _jobs
from panlearn.transformer._arrays import to_array
from panlearn.transformer._decoder import Decoder
from panlearn.transformer._products import Matrix, widened

_MOST_ROWS = 64


class PlainDecoder:
    """Score the next tokens as `Decoder.last` and the head do, one column at a time.

    Parameters
    ----------
    decoder : Decoder
        In single precision or bfloat16, on a CPU. Its weights are shared, not copied.
    n_rows : int
        How many tokens a column has.
    """

    def __init__(self, decoder: Decoder, n_rows: int) -> None:
        config = decoder.config
        self._tokens = Matrix(decoder.tokens.weight)
        self._added, self._turned = None, np.empty(0, dtype=np.float32)
        if config.positions == "rotary":
            places = torch.arange(config.context)
            self._turned = decoder.rotation(places, torch.empty(0))[:, 0].contiguous().numpy()
        else:
            self._added = decoder.places().detach().float().numpy()
        self._where = np.zeros(1 + n_rows, dtype=np.int64)  # the column, and where rows begin
        self._x = _room(n_rows, config.width)
        self._scores = _room(n_rows, len(decoder.projection))
        self._kept: list[Any] = []  # what jobs have the addresses of
        self._jobs = np.concatenate(self._listed(decoder, n_rows))
        self._attention = self._jobs[2::8]  # one of the eight jobs of a layer
        self._crew = _jobs.Crew()

    @staticmethod
    def suits(decoder: Any, n_rows: int) -> bool:
        """Whether this is a way, and the quicker one.

        Up to how many rows it is was measured (decision 0015). The rule looks at nothing but sizes:
        this way and the other are rounded differently, and the same seed has to give the same text
        again.
        """
        if not isinstance(decoder, Decoder):
            return False
        config, weight = decoder.config, decoder.tokens.weight
        plain = config.latent is None and config.experts is None
        known = weight.dtype in (torch.float32, torch.bfloat16) and weight.device.type == "cpu"
        return plain and known and n_rows <= _MOST_ROWS and _jobs.compiled()

    def _listed(self, decoder: Any, n_rows: int) -> list[np.ndarray]:
        """Make the jobs of a step, in the order of the decoder."""
        config, x = decoder.config, self._x
        how = {"epsilon": config.norm_epsilon, "rms": config.norm == "rms"}
        size, gates = config.head_size, 2 if config.activation == "swiglu" else 1
        n_key_heads = config.n_key_heads or config.n_heads
        seen, branch = _room(n_rows, config.width), _room(n_rows, config.width)
        heads = _room(n_rows, (config.n_heads + 2 * n_key_heads) * size)
        mean = _room(n_rows, config.n_heads * size)
        wide = _room(n_rows, gates * config.hidden_size)
        hidden = _room(n_rows, config.hidden_size)
        shape = {
            **{"n_rows": n_rows, "n_inputs": size, "n_outputs": config.context},
            **{"n_heads": config.n_heads, "n_key_heads": n_key_heads},
            **{"window": config.window or 2**62, "epsilon": config.norm_epsilon},
        }
        made, fresh = [], None  # what is still to be added to x
        for block in decoder.blocks:
            first, second = vectors(block.attention_norm), vectors(block.feed_forward_norm)
            mixer, feed_forward = block.attention, block.feed_forward
            linear = (mixer.project, mixer.output, feed_forward.up, feed_forward.down)
            project, output, up, down = map(Matrix.of, linear)
            scales = _head_norms(mixer)
            places = {"x": heads, "made": mean, "where": self._where, **scales}
            if self._turned.size:
                places["turned"] = self._turned
            parts = n_rows * n_key_heads
            memory = 8 * parts * size * config.context  # bytes, when the context is full
            made += [
                _jobs.norm(x, fresh, first, seen, **how),
                _jobs.product(seen, project, heads),
                _jobs.job(_jobs.ATTENTION, parts, memory, **shape, **places),
                _jobs.product(mean, output, branch),
                _jobs.norm(x, branch, second, seen, **how),
                _jobs.product(seen, up, wide),
                _jobs.activation(config.activation, wide, hidden),
                _jobs.product(hidden, down, branch),
            ]
            fresh = branch
            self._kept += [first, second, project, output, up, down, scales]
        last, head = vectors(decoder.norm), Matrix(decoder.projection)
        self._kept += [seen, branch, heads, mean, wide, hidden, last, head]
        made.append(_jobs.norm(x, fresh, last, seen, **how))
        made.append(_jobs.product(seen, head, self._scores))
        return made

    def scores(self, ids: np.ndarray, memory: Tensor, starts: np.ndarray, column: int) -> Tensor:
        """Score what follows the tokens of one column, and put their keys and values in memory.

        Parameters
        ----------
        ids : ndarray of ints of shape (n_rows,)
        memory : tensor of shape (n_layers, 2, n_rows, n_key_heads, n_columns, head_size)
            In single precision or bfloat16.
        starts : ndarray of ints of shape (n_rows,)
            The first column of each row.
        column : int
            Where the tokens stand.

        Returns
        -------
        tensor of shape (n_rows, n_tokens)
            The next call writes over it.
        """
        fresh = self._tokens.numbers[ids]
        self._x[:] = widened(fresh) if self._tokens.halves else fresh
        if self._added is not None:
            self._x += self._added[column - starts]
        self._where[0], self._where[1:] = column, starts
        kept, attention = to_array(memory), self._attention
        attention["keys"] = kept.ctypes.data + kept.strides[0] * np.arange(len(kept))
        attention["values"] = attention["keys"] + kept.strides[1]
        attention["n_columns"], attention["halves"] = kept.shape[-2], kept.itemsize == 2
        self._crew(self._jobs)
        return torch.from_numpy(self._scores)


def _room(n_rows: int, n: int) -> np.ndarray:
    return np.zeros((n_rows, n), dtype=np.float32)


def vectors(module: Any) -> tuple[np.ndarray, np.ndarray]:
    """Weight and bias of a norm in single precision, zeros if there is none."""
    weight = module.weight.detach().float().numpy()
    bias = getattr(module, "bias", None)
    return weight, np.zeros_like(weight) if bias is None else bias.detach().float().numpy()


def _head_norms(attention: Any) -> dict[str, np.ndarray]:
    """Weights and biases of the norms of queries and of keys, if there are any."""
    if attention.query_norm is None:
        return {}
    norms = {"query_norm": attention.query_norm, "key_norm": attention.key_norm}
    return {name: np.stack(vectors(norm)) for name, norm in norms.items()}
