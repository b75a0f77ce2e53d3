"""Reading and writing token by token: the cache, the compiled decoder, greedy decoding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.core.extras import require

torch: Any = require("torch")

from panlearn.claims.decoder import make_decoder, make_ids  # noqa: E402
from panlearn.transformer import GPT  # noqa: E402
from panlearn.transformer._cache import Cache  # noqa: E402
from panlearn.transformer._language import log_probabilities  # noqa: E402
from panlearn.transformer._plain import PlainDecoder  # noqa: E402

VARIANTS: dict[str, dict[str, Any]] = {
    "GPT-2": {},
    "sinusoids": {"positions": "sinusoidal", "activation": "relu"},
    "Llama": {"positions": "rotary", "norm": "rms", "activation": "swiglu", "tied": False},
    "grouped": {"positions": "rotary", "n_key_heads": 2, "bias": False},
    "one key head": {"n_key_heads": 1},
}


def _gpt(decoder: Any, end: int | None = None) -> GPT:
    """The decoder as a model that was read from a file, in single precision."""
    model = GPT(decoder.config)
    model.config_, model.n_tokens_ = decoder.config, 11
    model.tokenizer_, model.start_token_, model.end_token_ = None, None, end
    model.end_tokens_ = () if end is None else (end,)
    model.weights_ = {k: v.float().numpy().copy() for k, v in decoder.state_dict().items()}
    return model


def _stepwise(decoder: Any, ids: Any) -> Any:
    """Scores after each token, with a cache and calls of tensors."""
    cache = Cache(decoder, [0] * len(ids), ids.shape[1])
    head = decoder.tokens.weight if decoder.head is None else decoder.head.weight
    steps = [decoder.last(ids[:, t : t + 1], cache) @ head.T for t in range(ids.shape[1])]
    return torch.stack(steps, dim=1)


def _compiled(decoder: Any, ids: Any) -> Any:
    """Scores after each token in compiled loops; each row begins a column after the last."""
    n_rows, n = ids.shape
    plain, starts = PlainDecoder(decoder, n_rows), np.arange(n_rows)
    cache = Cache(decoder, starts.tolist(), n + n_rows)
    found = torch.zeros(n_rows, n, 11)
    for column in range(n + n_rows - 1):
        places = column - starts
        inside = (places >= 0) & (places < n)
        rows = ids[np.arange(n_rows), places.clip(0, n - 1)].numpy()
        begun = np.where(inside, starts, column)  # before and after, a row looks at itself
        scores = plain.scores(rows, cache.memory, begun, column)
        found[np.flatnonzero(inside), places[inside]] = scores[np.flatnonzero(inside)]
    return found


def _incremental(
    read: Callable[[Any, Any], Any], dtype: Any, tolerance: float, n_rows: int
) -> Iterator[Evidence]:
    for name, settings in VARIANTS.items():
        decoder = make_decoder(**settings)
        ids = torch.cat([make_ids(10, seed=seed) for seed in range(n_rows)])
        whole = decoder(ids)
        with torch.inference_mode():
            steps = read(decoder.to(dtype), ids)
        gap = (steps - whole).abs().max() / whole.abs().max()
        yield at_most(f"{name}: ten steps less one pass, over the largest score", gap, tolerance)


@claim("A125")
def teacher_forcing_is_stepping() -> Iterator[Evidence]:
    """One masked pass over a sequence gives the same scores as reading it token by token."""
    yield from _incremental(_stepwise, torch.float64, 1e-12, 1)
    yield from _incremental(_compiled, torch.float32, 1e-5, 1)


@claim("B155")
def cache_gives_the_last_row() -> Iterator[Evidence]:
    """Decoding step by step with kept keys and values gives the last row of full causal attention,
    at every step and for every kind of attention and position: 1e-10 of the largest score in
    double precision, 1e-5 in single, also in the compiled loops that generation runs, for a few
    rows at once that begin in different columns. The query is that of the last known token.
    """
    yield from _incremental(_stepwise, torch.float64, 1e-10, 2)
    yield from _incremental(_stepwise, torch.float32, 1e-5, 2)
    yield from _incremental(_compiled, torch.float32, 1e-5, 5)


def _beam(decoder: Any, prompt: list[int], length: int, width: int) -> tuple[float, list[int]]:
    """The best of the continuations that are kept, so many at each length."""
    kept: list[tuple[float, list[int]]] = [(0.0, [])]
    for _ in range(length):
        ids = torch.tensor([prompt + made for _, made in kept])
        laws = decoder(ids)[:, -1].log_softmax(dim=1).tolist()
        grown = [
            (value + law[token], [*made, token])
            for (value, made), law in zip(kept, laws, strict=True)
            for token in range(11)
        ]
        kept = sorted(grown, reverse=True)[:width]
    return kept[0]


@claim("B152")
def greedy_decoding_follows_the_chain_rule() -> Iterator[Evidence]:
    """Greedy decoding takes the most probable token at each step, until the end token; a beam of
    width one is greedy, and wider ones find what is at least as probable. The log-probability of a
    continuation is the sum of those of its steps, as the chain rule says and teacher forcing
    computes: over all continuations of two tokens the probabilities sum to one.
    """
    for name, settings in VARIANTS.items():
        decoder, prompt = make_decoder(**settings), make_ids(3)[0].tolist()
        value, best = _beam(decoder, prompt, 8, 1)
        made = _gpt(decoder).generate(prompt, max_tokens=8)
        yield true(f"{name}: greedy is the beam of width one", made == best)
        rows = [prompt, prompt[:1], prompt[1:]]
        together = _gpt(decoder).generate(rows, max_tokens=8)
        alone = [_beam(decoder, row, 8, 1)[1] for row in rows]
        yield true("also of several prompts at once", together == alone)
        (forced,) = log_probabilities(decoder, [np.array(prompt + best)], 4)
        yield equal("teacher forcing", forced[2:].sum(), value, 1e-6)
        end = best[4]
        until = _gpt(decoder, end).generate(prompt, max_tokens=8)
        yield true("it ends before the end token", until == best[: best.index(end)])
    wide = _beam(decoder, prompt, 2, 121)[0]
    pairs = [np.array([*prompt, *pair]) for pair in product(range(11), repeat=2)]
    logs = np.array([p[2:].sum() for p in log_probabilities(decoder, pairs, 16)])
    yield equal("sum over all continuations", np.exp(logs).sum(), 1.0, 1e-10)
    yield equal("the widest beam and the best of all", wide, logs.max(), 1e-10)
    yield at_least("gain over greedy", wide - _beam(decoder, prompt, 2, 1)[0], 0.0)
