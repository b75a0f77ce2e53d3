"""Language modelling: windows of a stream of tokens, losses and log-probabilities of the next."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from panlearn.transformer._protocol import NextToken


def next_token_losses(module: Any, batch: tuple[Tensor, ...]) -> Any:
    """-log p(x_t | x_1, ..., x_(t-1)) for every token but the first of each row, as one vector.

    A batch is (ids,) or (ids, weights); the weights are those of the tokens that are predicted.
    """
    ids, *weights = batch
    if not weights:
        return module.losses(ids[:, :-1], ids[:, 1:]).flatten()
    (weight,) = weights
    return module.losses(ids[:, :-1], ids[:, 1:], weight).flatten(), weight.flatten()


def training_losses(
    module: Any, batch: tuple[Tensor, ...], step: Any, *, separator: int | None = None
) -> Tensor:
    """The losses of `next_token_losses`, with those of tokens further ahead in training.

    With a `separator`, the token that stands before a document, no token sees another document
    than its own.
    """
    (ids,) = batch
    inputs, targets, more = ids[:, :-1], ids[:, 1:], {}
    if separator is not None:
        more["documents"] = (inputs == separator).cumsum(dim=1)
    losses = module.losses_ahead if module.ahead and step.training else module.losses
    return losses(inputs, targets, **more).flatten()


def balanced_losses(
    module: Any, batch: tuple[Tensor, ...], step: Any, *, separator: int | None = None
) -> Iterator[tuple[Any, Tensor]]:
    """`training_losses`, after whose step experts are balanced by their loads in the batch."""
    with torch.set_grad_enabled(step.training):
        losses = training_losses(module, batch, step, separator=separator)
    if not step.training or not module.experts:  # the first layers may be all that there are
        yield module, losses
        return
    step.tally(loads=torch.stack([layer.loads for layer in module.experts]))
    yield module, losses  # here the step is taken, with the choices that the losses are of
    if (loads := step.tallied("loads")) is not None:
        for layer, load in zip(module.experts, loads, strict=True):
            layer.rebalance(load)


def check_tokens(tokens: np.ndarray, n_tokens: int | None) -> np.ndarray:
    """Refuse a stream that is too short, or holds a token that the vocabulary has not."""
    if len(tokens) < 2:
        raise ValueError(f"the stream has {len(tokens)} tokens; two are needed to learn from")
    if tokens.min() < 0 or (n_tokens is not None and tokens.max() >= n_tokens):
        allowed = "zero or more" if n_tokens is None else f"0 to {n_tokens - 1}"
        wrong = tokens.min() if tokens.min() < 0 else tokens.max()
        raise ValueError(f"the stream holds the token {wrong}; allowed are {allowed}")
    return tokens


class Windows:
    """Batches of windows of one stream of tokens, for `neural.train`.

    The stream is a ring that each epoch cuts at another place into pieces of the length of the
    context, so that in an epoch every token is predicted once, but for a rest of less than one
    window. A window holds one token more than the context: inputs and targets overlap.
    """

    def __init__(self, tokens: np.ndarray, context: int, batch_size: int) -> None:
        self.tokens, self.context, self.batch_size = tokens, context, batch_size
        self.n_windows = max(1, len(tokens) // context)

    def __len__(self) -> int:
        return -(-self.n_windows // self.batch_size)

    def identity(self) -> str:
        """Tell this stream from others, by its length and a sample of it."""
        sample = self.tokens[np.linspace(0, len(self.tokens) - 1, 4096).astype(int)]
        digest = hashlib.sha256(np.asarray(sample, dtype=np.int64).tobytes()).hexdigest()
        return f"{len(self.tokens)} {self.context} {digest}"

    def epoch(
        self, epoch: int, rng: np.random.Generator, rank: int = 0, world: int = 1, start: int = 0
    ) -> Iterator[tuple[Tensor, ...]]:
        """Yield the batches of an epoch from step `start` on, of each the share of this rank."""
        first = rng.integers(len(self.tokens))
        starts = first + self.context * rng.permutation(self.n_windows)
        inside = np.arange(self.context + 1)
        for step in range(start, len(self)):
            batch = starts[step * self.batch_size : (step + 1) * self.batch_size]
            share = np.array_split(batch, world)[rank]
            places = (share[:, None] + inside) % len(self.tokens)
            yield (torch.from_numpy(self.tokens[places].astype(np.int64)),)


def held_out(tokens: np.ndarray, context: int) -> np.ndarray:
    """Windows of a stream in its order, whose targets are all tokens but the first and a rest."""
    context = min(context, len(tokens) - 1)
    places = np.arange(0, len(tokens) - context, context)
    return tokens[places[:, None] + np.arange(context + 1)].astype(np.int64)


@torch.inference_mode()
def log_probabilities(
    decoder: NextToken, sequences: Sequence[np.ndarray], batch_size: int
) -> list[np.ndarray]:
    """Log p of every token but the first of each sequence, given those before it.

    A sequence longer than the context is read in windows that overlap by half, so that a token is
    given at least half a context.
    """
    context = decoder.config.context
    stride = max(context // 2, 1)
    pieces = []  # sequence, first target in it, tokens of the window, targets that count
    for number, ids in enumerate(sequences):
        low, done, n = 0, 0, len(ids) - 1
        while done < n:
            stop = min(low + context, n)
            pieces.append((number, done, ids[low : stop + 1], stop - done))
            low, done = low + stride, stop
    found = [np.empty(max(len(ids) - 1, 0)) for ids in sequences]
    order = sorted(range(len(pieces)), key=lambda i: len(pieces[i][2]))
    for at in range(0, len(order), batch_size):
        batch = [pieces[i] for i in order[at : at + batch_size]]
        longest = max(len(ids) for _, _, ids, _ in batch)
        table = np.zeros((len(batch), longest), dtype=np.int64)
        for row, (_, _, ids, _) in enumerate(batch):
            table[row, : len(ids)] = ids  # what follows is padding, which no token sees
        rows = torch.from_numpy(table).to(decoder.projection.device)
        losses = next_token_losses(decoder, (rows,)).view(len(batch), -1).cpu().numpy()
        for row, (number, first, ids, counted) in enumerate(batch):
            n = len(ids) - 1
            found[number][first : first + counted] = -losses[row, n - counted : n]
    return found


def completion_log_probabilities(
    decoder: Any, prompts: Sequence[np.ndarray], completions: Sequence[np.ndarray]
) -> tuple[Tensor, Tensor]:
    """Log p of the tokens of completions given prompts, with gradient.

    Parameters
    ----------
    decoder : NextToken
    prompts, completions : sequence of ndarray
        Token ids, of prompts one at least.

    Returns
    -------
    tuple of tensor of shape (n, m)
        The logarithms, zero where a completion is shorter than the longest, and where it is not.
    """
    context = decoder.config.context
    for i, (before, after) in enumerate(zip(prompts, completions, strict=True)):
        if len(before) + len(after) > context + 1:
            raise ValueError(
                f"prompt and completion {i} have {len(before) + len(after)} tokens; the context "
                f"has room for {context} and predicts one more"
            )
    device = decoder.projection.device
    lengths = [len(after) for after in completions]
    longest = max(len(b) + n for b, n in zip(prompts, lengths, strict=True))
    ids = np.zeros((len(prompts), max(longest, 2)), dtype=np.int64)
    places = np.zeros((len(prompts), max(lengths, default=0)), dtype=np.int64)
    for row, (before, after) in enumerate(zip(prompts, completions, strict=True)):
        ids[row, : len(before) + len(after)] = np.concatenate([before, after])
        places[row] = len(before) - 1 + np.arange(places.shape[1])
    rows = torch.from_numpy(ids).to(device)
    there = torch.arange(places.shape[1]) < torch.tensor(lengths)[:, None]
    there = there.to(device)
    at = torch.from_numpy(places).clamp(max=rows.shape[1] - 2).to(device)
    emphasis = torch.zeros(len(rows), rows.shape[1] - 1, device=device)
    emphasis.scatter_add_(1, at, there.to(emphasis.dtype))  # padding counts for nothing
    losses = decoder.losses(rows[:, :-1], rows[:, 1:], emphasis)
    return -losses.gather(1, at) * there, there
