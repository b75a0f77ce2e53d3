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
from panlearn.transformer._products import Matrix

_MOST_ROWS = 64


class PlainDecoder:
    """Score the next tokens as `Decoder.last` and the head do, one column at a time.

    Parameters
    ----------
    decoder : Decoder
        In single precision or in bfloat16, on a CPU. Its weights are shared, not copied.
    n_rows : int
        How many tokens a column has.
    dtype : torch.dtype, default=None
        Of the memory, single precision or bfloat16; None for that of the weights.

    Attributes
    ----------
    n_bytes : int
        About as much as a step reads.
    """

    def __init__(self, decoder: Decoder, n_rows: int, dtype: torch.dtype | None = None) -> None:
        config, self._config = decoder.config, decoder.config
        self._tokens = Matrix(decoder.tokens.weight)
        self._added, self._turned = None, None
        if config.positions == "rotary":
            places = torch.arange(config.context)
            self._turned = decoder.rotation(places, torch.empty(0))[:, 0].contiguous().numpy()
        else:
            self._added = decoder.places().detach().float().contiguous().numpy()
        self._where = np.zeros(1 + n_rows, dtype=np.int64)  # the column, and where rows begin
        self._ids = np.zeros(n_rows, dtype=np.int64)
        self._kept: list[Any] = []  # what only jobs know, by its address
        self._x, self._seen, self._branch = (_room(n_rows, config.width) for _ in range(3))
        self._scores = _room(n_rows, len(decoder.projection))
        layers = [self._attend(block) + self._feed_forward(block) for block in decoder.blocks]
        layers[0][0]["added"] = 0  # there is no branch before the first
        last = [
            self._norm(decoder.norm),
            self._product(self._seen, Matrix(decoder.projection), self._scores),
        ]
        choice = [np.zeros(2, dtype=_jobs.JOB)]  # `choose` says what they are
        listed = [[self._embed()], *layers, last, choice]
        self._jobs = np.concatenate([job for jobs in listed for job in jobs])
        self._shared = bool(self._jobs["shared"].any())
        self._attention = self._jobs[3 : -len(last) - 2 : len(layers[0])]
        matrices = [kept.numbers for kept in self._kept if isinstance(kept, Matrix)]
        # those that a step reads; four rows share what is read
        self.n_bytes = sum(matrix.nbytes for matrix in matrices) * -(-n_rows // 4)
        self._memory: Tensor | None = None
        self._scored = torch.from_numpy(self._scores)
        self._dtype = dtype or decoder.tokens.weight.dtype
        self._crew = _jobs.Crew(decoder.tokens.weight.dtype, self._dtype)

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
        known &= all(p.dtype == weight.dtype for p in decoder.parameters() if p.ndim > 1)
        return plain and known and n_rows <= _MOST_ROWS and _jobs.compiled()

    def _embed(self) -> np.ndarray:
        """The job of the rows that tokens, and their places if these are added, stand for."""
        numbers, added = self._tokens.numbers, self._added
        shape = {"n_rows": len(self._x), "n_inputs": numbers.shape[1], "n_outputs": len(numbers)}
        places: dict[str, Any] = {"ids": self._ids, "where": self._where, "weight": numbers}
        places["made"] = self._x
        if added is not None:
            places |= {"added": added, "n_columns": len(added)}
        return _jobs.job(_jobs.EMBED, len(self._x), 0, **shape, **places)

    def _attend(self, block: Any) -> list[np.ndarray]:
        """The jobs of attention; what it gives is added to x by the next norm."""
        config, n_rows, size = self._config, len(self._x), self._config.head_size
        n_keys = config.n_key_heads or config.n_heads
        heads = self._keep(_room(n_rows, (config.n_heads + 2 * n_keys) * size))
        mean = self._keep(_room(n_rows, config.n_heads * size))
        shape = {
            **{"n_rows": n_rows, "n_inputs": size, "n_outputs": config.context},
            **{"n_heads": config.n_heads, "n_key_heads": n_keys},
            **{"window": config.window or 2**62, "epsilon": config.norm_epsilon},
        }
        places = {"x": heads, "made": mean, "where": self._where}
        if self._turned is not None:
            places["turned"] = self._turned
        if block.attention.query_norm is not None:
            places["query_norm"] = self._keep(np.stack(vectors(block.attention.query_norm)))
            places["key_norm"] = self._keep(np.stack(vectors(block.attention.key_norm)))
        full = 8 * n_rows * n_keys * size * config.context  # bytes of memory, when it is full
        return [
            self._norm(block.attention_norm),
            self._product(self._seen, Matrix.of(block.attention.project), heads),
            _jobs.job(_jobs.ATTENTION, n_rows * n_keys, full, **shape, **places),
            self._product(mean, Matrix.of(block.attention.output), self._branch),
        ]

    def _feed_forward(self, block: Any) -> list[np.ndarray]:
        """The jobs of the feed-forward layer; what it gives is added to x by the next norm."""
        up, down = Matrix.of(block.feed_forward.up), Matrix.of(block.feed_forward.down)
        wide = self._keep(_room(len(self._x), len(up.numbers)))
        hidden = self._keep(_room(len(self._x), down.numbers.shape[1]))
        return [
            self._norm(block.feed_forward_norm),
            self._product(self._seen, up, wide),
            _jobs.activation(self._config.activation, wide, hidden),
            self._product(hidden, down, self._branch),
        ]

    def _norm(self, module: Any) -> np.ndarray:
        """The job of adding a branch to x, and of what the next one sees of it."""
        how: dict[str, Any] = {"epsilon": self._config.norm_epsilon}
        how["rms"] = self._config.norm == "rms"
        return _jobs.norm(self._x, self._branch, self._keep(vectors(module)), self._seen, **how)

    def _product(self, x: np.ndarray, matrix: Matrix, made: np.ndarray) -> np.ndarray:
        return _jobs.product(x, self._keep(matrix), made)

    def _keep(self, what: Any) -> Any:
        self._kept.append(what)
        return what

    def scores(self, ids: np.ndarray, memory: Tensor, starts: np.ndarray, column: int) -> Tensor:
        """Score what follows the tokens of one column, and put their keys and values in memory.

        Parameters
        ----------
        ids : ndarray of ints of shape (n_rows,)
        memory : tensor of shape (n_layers, 2, n_rows, n_key_heads, n_columns, head_size)
            Of the dtype that was said.
        starts : ndarray of ints of shape (n_rows,)
            The first column of each row.
        column : int
            Where the tokens stand.

        Returns
        -------
        tensor of shape (n_rows, n_tokens)
            The next call writes over it.
        """
        self._ids[:] = ids
        self._begin(memory, starts, column)
        self._crew(self._jobs[:-2], self._shared)
        return self._scored

    def choose(self, temperature: float, ends: np.ndarray, **places: np.ndarray) -> None:
        """Say how `run` chooses tokens, and where to: arrays that whoever says it keeps.

        Parameters
        ----------
        temperature : float
            Divides the scores; zero takes the highest.
        ends : ndarray of ints
            Tokens after which nothing more of a row is wanted.
        **places
            ``table`` of tokens, ``uniform`` numbers to draw with and ``log_probs`` of what was
            drawn, each of shape (n_rows, n_columns), and ``ended``, ints of shape (n_rows,).
        """
        n_rows, n_tokens = self._scores.shape
        shape = {"n_rows": n_rows, "n_inputs": n_tokens, "n_columns": places["table"].shape[1]}
        places |= {"x": self._scores, "ids": self._ids, "where": self._where}
        places |= {"ends": ends, "again": self._crew.board[_jobs.AGAIN :]}
        how = {"n_ends": len(ends), "temperature": temperature, **shape, **places}
        self._jobs[-2:-1] = _jobs.job(_jobs.CHOOSE, n_rows, self._scores.nbytes, **how)
        self._jobs[-1:] = _jobs.job(_jobs.NEXT, 1, 0, **how)

    def run(self, ids: np.ndarray, memory: Tensor, starts: np.ndarray, column: int, n: int) -> int:
        """Read the tokens of a column and choose those of the next, up to n times.

        The parameters are those of `scores`. Gives in how many columns tokens were chosen: fewer if
        all rows have ended.
        """
        self._ids[:] = ids
        self._begin(memory, starts, column)
        self._crew(self._jobs, self._shared, n)
        return int(self._where[0]) - column

    def _begin(self, memory: Tensor, starts: np.ndarray, column: int) -> None:
        """Tell jobs which column it is, and attention where its keys and values are."""
        self._where[0], self._where[1:] = column, starts
        if memory is self._memory:
            return
        if memory.dtype != self._dtype:
            raise TypeError(f"memory is of {memory.dtype}, and loops were made for {self._dtype}")
        self._memory, attention, kept = memory, self._attention, to_array(memory)
        attention["keys"] = kept.ctypes.data + kept.strides[0] * np.arange(len(kept))
        attention["values"] = attention["keys"] + kept.strides[1]
        attention["n_columns"] = kept.shape[-2]


def _room(n_rows: int, n: int) -> np.ndarray:
    return np.zeros((n_rows, n), dtype=np.float32)


def vectors(module: Any) -> tuple[np.ndarray, np.ndarray]:
    """Weight and bias of a norm in single precision, zeros if there is none."""
    weight = module.weight.detach().float().numpy()
    bias = getattr(module, "bias", None)
    return weight, np.zeros_like(weight) if bias is None else bias.detach().float().numpy()
