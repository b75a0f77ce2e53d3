"""Jobs: what a step has to do, one after the other, each shared by the threads that are awake.

A job is a record of what is to be done, of sizes, and of addresses: compiled loops do a list of
them without a word of Python between two. What the addresses are of is kept by whoever made it.
A list that ends with the choice of a token is done again for that token, as often as is asked for.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import torch

from panlearn.core import crew
from panlearn.core.jit import jit
from panlearn.core.threads import n_threads
from panlearn.transformer import _addresses as at
from panlearn.transformer import _halves, _loops, _tokens
from panlearn.transformer._arrays import to_array
from panlearn.transformer._loops import CONTRACTED

_PART = 1 << 15  # bytes that are worth sharing: 1.5 microseconds to read
_PATIENCE = 1000  # looks at the board, some 0.3 ms: longer than Python takes from step to step

AGAIN = crew.HEAD + 1  # where a board says how often a list is done, after where its job is

NORM, PRODUCT, ATTENTION, GELU, RELU, SWIGLU, EMBED, CHOOSE, NEXT = range(9)
_SIZES = ("kind", "n_parts", "shared", "n_rows", "n_inputs", "n_outputs", "rms")
_HEADS = ("n_heads", "n_key_heads", "n_columns", "window")
_PLACES = ("x", "added", "weight", "bias", "made")
_MEMORY = ("keys", "values", "query_norm", "key_norm", "turned", "where")
_TOKENS = ("ids", "table", "uniform", "log_probs", "ends", "n_ends", "ended", "again")
JOB = np.dtype(
    [(name, np.int64) for name in (*_SIZES, *_HEADS, *_PLACES, *_MEMORY, *_TOKENS)]
    + [("epsilon", np.float64), ("temperature", np.float64)],
    align=True,  # else Numba takes it for unaligned, and kept code is not found
)


def job(kind: int, n_parts: int, n_bytes: int, **described: Any) -> np.ndarray:
    """Make a job of so many parts that reads so much; arrays stand as their addresses."""
    made = np.zeros(1, dtype=JOB)
    made["kind"], made["n_parts"], made["shared"] = kind, n_parts, n_bytes >= _PART
    for name, value in described.items():
        made[name] = value.ctypes.data if isinstance(value, np.ndarray) else value
    return made


def product(x: np.ndarray, matrix: Any, made: np.ndarray) -> np.ndarray:
    """The job of x W' + b; x and what is made are of single precision, without gaps."""
    n_outputs, n_inputs = matrix.numbers.shape
    read = matrix.numbers.nbytes * -(-len(x) // 4)  # four rows share what is read
    shape = {"n_rows": len(x), "n_inputs": n_inputs, "n_outputs": n_outputs}
    places = {"x": x, "weight": matrix.numbers, "bias": matrix.constant, "made": made}
    return job(PRODUCT, max(1, n_outputs // 4), read, **shape, **places)


def norm(
    x: np.ndarray,
    added: np.ndarray,
    vectors: tuple[np.ndarray, np.ndarray],
    made: np.ndarray,
    *,
    epsilon: float,
    rms: bool,
) -> np.ndarray:
    """The job of x + added, which is kept in x, and of its norm; with no address it is x itself."""
    shape = {"n_rows": len(x), "n_inputs": x.shape[1], "epsilon": epsilon, "rms": rms}
    places = {"x": x, "added": added, "made": made}
    return job(NORM, len(x), x.nbytes, weight=vectors[0], bias=vectors[1], **shape, **places)


def activation(name: str, x: np.ndarray, made: np.ndarray) -> np.ndarray:
    """The job of what stands between the two matrices of a feed-forward layer."""
    kind = {"gelu": GELU, "relu": RELU, "swiglu": SWIGLU}[name]
    shape = {"n_rows": len(x), "n_inputs": x.shape[1], "n_outputs": made.shape[1]}
    return job(kind, len(x), x.nbytes, x=x, made=made, **shape)


class Crew:
    """The thread that asks, and those that PyTorch was given besides.

    Parameters
    ----------
    weights : torch.dtype
        Of all weights, single precision or bfloat16. Loops are compiled for that alone.
    memory : torch.dtype, default=None
        Of all keys and values; None if all jobs are products, and loops of no others are needed.
    """

    def __init__(self, weights: torch.dtype, memory: torch.dtype | None = None) -> None:
        n_helpers = min(n_threads(), torch.get_num_threads()) - 1
        self.board = crew.board(2)
        kinds = weights, memory
        self._kinds = [None if k is None else to_array(torch.empty(0, dtype=k)) for k in kinds]
        # its threads start when there is work
        self._pool = ThreadPoolExecutor(max(1, n_helpers))
        self._helpers: list[Future | None] = [None] * n_helpers

    def __call__(self, jobs: np.ndarray, shared: bool, n_times: int = 1) -> None:
        """Do all jobs, so many times; one that moves on to the next token may end it before.

        Whoever asks knows whether any is to be shared: to look takes as long as a small one.
        """
        self.board[AGAIN] = n_times
        if shared:
            for i, helper in enumerate(self._helpers):
                if helper is None or helper.done():
                    given: Any = self.board, jobs[:0], (i + 1) % 2, *self._kinds
                    self._helpers[i] = self._pool.submit(_work, *given)
        _work(self.board, jobs, -1, *self._kinds)


def compiled() -> bool:
    """Whether jobs can be done: where compilation is switched off, nothing reads addresses."""
    off = getattr(sys.modules.get("numba.core.config"), "DISABLE_JIT", None)
    if off is None:  # Numba is not imported, and will read this
        off = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
    return not off


@jit(fastmath=CONTRACTED)
def _work(
    board: np.ndarray, jobs: np.ndarray, side: int, weights: np.ndarray, memory: np.ndarray | None
) -> None:
    """Do jobs one after the other, with the help of those who look at the board.

    Who has a side of the board is such a helper, and takes part until there have been no jobs for a
    while. It is one function for both, since each that Python calls is compiled with all it calls.
    """
    idle = 0
    while side >= 0 and idle < _PATIENCE:
        if _take_part(board, side, weights, memory):
            idle = 0
        else:
            idle += 1
            crew.rest()
    while side < 0:
        for i in range(len(jobs)):
            if jobs[i].shared:
                board[crew.HEAD] = jobs[i:].ctypes.data
                crew.offer(board)
                while crew.unfinished(board):
                    if not _take_part(board, 0, weights, memory):
                        crew.rest()
            else:
                for share in range(crew.SHARES):  # the same ones, for the same bits
                    _do_share(jobs, i, share, weights, memory)
        board[AGAIN] -= 1
        if board[AGAIN] <= 0:
            return


@jit(fastmath=CONTRACTED)
def _take_part(
    board: np.ndarray, side: int, weights: np.ndarray, memory: np.ndarray | None
) -> bool:
    """Do a share of the job that the board tells of, if there is one left."""
    share = crew.take(board, side)
    if share < 0:
        return False
    jobs = crew.carray(crew.pointer(board[crew.HEAD]), (1,), JOB)
    _do_share(jobs, 0, share, weights, memory)
    crew.finish(board)
    return True


@jit(fastmath=CONTRACTED)
def _do_share(
    jobs: np.ndarray, i: int, share: int, weights: np.ndarray, memory: np.ndarray | None
) -> None:
    """Do some parts of a job."""
    job = jobs[i]
    low, high = share * job.n_parts // crew.SHARES, (share + 1) * job.n_parts // crew.SHARES
    if low == high:
        return
    if job.kind == PRODUCT:
        _multiply(job, low, high, weights)
    elif memory is not None:  # else what follows is not compiled
        _do_more(job, low, high, weights, memory)


@jit(fastmath=CONTRACTED)
def _do_more(job: Any, low: int, high: int, weights: np.ndarray, memory: np.ndarray) -> None:
    """Do some parts of a job that is no product."""
    if job.kind == NORM:
        _norm(job, low, high)
    elif job.kind == ATTENTION:
        _attend(job, low, high, memory)
    elif job.kind == EMBED:
        _embed(job, low, high, weights)
    elif job.kind == CHOOSE:
        _choose(job, low, high)
    elif job.kind == NEXT:
        _go_on(job)
    else:
        _activate(job, low, high)


@jit(fastmath=CONTRACTED)
def _multiply(job: Any, low: int, high: int, kind: np.ndarray) -> None:
    """Columns of x weight' + bias, of each quarter of them."""
    n, m = job.n_outputs, job.n_inputs
    x, made = at.numbers(job.x, job.n_rows, m), at.numbers(job.made, job.n_rows, n)
    weight, bias = at.like(kind, job.weight, n, m), at.numbers(job.bias, 1, n)[0]
    _loops.multiply(x, weight, bias, made, low, high)


@jit(fastmath=CONTRACTED)
def _norm(job: Any, low: int, high: int) -> None:
    """Rows of x += added, and their norms."""
    n, epsilon = job.n_inputs, np.float32(job.epsilon)
    x, made = at.numbers(job.x, job.n_rows, n), at.numbers(job.made, job.n_rows, n)
    weight, bias = at.numbers(job.weight, 1, n)[0], at.numbers(job.bias, 1, n)[0]
    for i in range(low, high):
        if job.added:
            added = at.numbers(job.added, job.n_rows, n)[i]
            for k in range(n):  # not x[i] += added: what may go wrong with it takes long to compile
                x[i, k] += added[k]
        _loops.norm_row(x[i], weight, bias, epsilon, job.rms != 0, made[i])


@jit(fastmath=CONTRACTED)
def _activate(job: Any, low: int, high: int) -> None:
    """Rows of what the second matrix of a feed-forward layer sees."""
    x, made = (
        at.numbers(job.x, job.n_rows, job.n_inputs),
        at.numbers(job.made, job.n_rows, job.n_outputs),
    )
    for i in range(low, high):
        if job.kind == GELU:
            _loops.gelu_row(x[i], made[i])
        elif job.kind == RELU:
            _loops.relu_row(x[i], made[i])
        else:
            _loops.swiglu_row(x[i], made[i])


@jit(fastmath=CONTRACTED)
def _attend(job: Any, low: int, high: int, kind: np.ndarray) -> None:
    """Attention of one query a row and head, for some heads of keys of rows.

    It looks at what is remembered, after the new key and value are put in their column. A row
    begins at its start, and its query looks at as many columns as its window has.
    """
    n_heads, n_keys, size = job.n_heads, job.n_key_heads, job.n_inputs
    group, n_all = n_heads // n_keys, n_heads + 2 * n_keys
    heads = at.numbers(job.x, job.n_rows * n_all, size)
    made = at.numbers(job.made, job.n_rows * n_heads, size)
    where = at.integers(job.where, 1 + job.n_rows)
    column, n = where[0], job.n_rows * n_keys * job.n_columns
    keys, values = at.like(kind, job.keys, n, size), at.like(kind, job.values, n, size)
    room = np.empty(column + 1, np.float32)
    for part in range(low, high):
        i, g = part // n_keys, part % n_keys
        split, place = heads[i * n_all :], column - where[1 + i]  # queries, keys, values
        key, value = split[n_heads + g], split[n_heads + n_keys + g]
        _prepare(job, key, job.key_norm, place)
        here = part * job.n_columns + column
        for k in range(size):
            keys[here, k] = _halves.stored(key[k], keys[here, k])
            values[here, k] = _halves.stored(value[k], values[here, k])
        first = here - min(place, job.window - 1)
        weights = room[: here + 1 - first]
        for h in range(g * group, (g + 1) * group):
            _prepare(job, split[h], job.query_norm, place)
            _loops.score(split[h], keys[first : here + 1], weights)
            _loops.softmax(weights)
            _loops.average(weights, values[first : here + 1], made[i * n_heads + h])


@jit(fastmath=CONTRACTED)
def _prepare(job: Any, head: np.ndarray, scale: int, place: int) -> None:
    """Divide a query or key by its root mean square and turn it by its place, if that is wanted."""
    size = len(head)
    if scale:
        vectors = at.numbers(scale, 2, size)
        _loops.norm_row(head, vectors[0], vectors[1], np.float32(job.epsilon), True, head)
    if job.turned:
        turned = at.numbers(job.turned, 2 * job.n_outputs, size // 2)
        _loops.turn(head, turned[place], turned[job.n_outputs + place])


@jit(fastmath=CONTRACTED)
def _embed(job: Any, low: int, high: int, kind: np.ndarray) -> None:
    """Rows of tokens, with those of their places added if there are such."""
    n, m, n_places = job.n_outputs, job.n_inputs, job.n_columns
    ids, where = at.integers(job.ids, job.n_rows), at.integers(job.where, 1 + job.n_rows)
    made, places = at.numbers(job.made, job.n_rows, m), at.numbers(job.added, n_places, m)
    weight = at.like(kind, job.weight, n, m)
    for i in range(low, high):
        added = places[where[0] - where[1 + i]] if n_places else made[i, :0]
        _tokens.embed(weight[ids[i]], added, made[i])


@jit(fastmath=CONTRACTED)
def _choose(job: Any, low: int, high: int) -> None:
    """The next tokens of rows: those of the highest scores, or drawn if there is a temperature."""
    scores, ids = at.numbers(job.x, job.n_rows, job.n_inputs), at.integers(job.ids, job.n_rows)
    column = at.integers(job.where, 1)[0] + 1
    uniform = at.doubles(job.uniform, job.n_rows, job.n_columns)
    log_probs = at.doubles(job.log_probs, job.n_rows, job.n_columns)
    for i in range(low, high):
        if job.temperature:
            temperature = np.float32(job.temperature)
            ids[i], log_probs[i, column] = _tokens.draw(scores[i], temperature, uniform[i, column])
        else:
            ids[i] = _tokens.highest(scores[i])


@jit(fastmath=CONTRACTED)
def _go_on(job: Any) -> None:
    """Put tokens into the next column and go there; that is all once each row has had an end."""
    n, ids, where = job.n_rows, at.integers(job.ids, job.n_rows), at.integers(job.where, 1)
    table, ended = at.integers(job.table, n * job.n_columns), at.integers(job.ended, n)
    where[0] += 1
    left = n
    for i in range(n):
        table[i * job.n_columns + where[0]] = ids[i]
        for end in at.integers(job.ends, job.n_ends):
            ended[i] |= ids[i] == end
        left -= ended[i]
    if not left:
        at.integers(job.again, 1)[0] = 0
