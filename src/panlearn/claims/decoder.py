"""Decoders: embeddings, blocks, and the language model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import stats

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal
from panlearn.core.extras import require

torch: Any = require("torch")

from panlearn.transformer._decoder import Decoder, FeedForward, GPTConfig, n_parameters  # noqa: E402
from panlearn.transformer._generation import Choice  # noqa: E402
from panlearn.transformer._language import next_token_losses  # noqa: E402


def make_decoder(n_tokens: int = 11, context: int = 12, **settings: Any) -> Any:
    """A small decoder whose weights are large enough to matter, in double precision."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(7)
        decoder = Decoder(GPTConfig(2, 16, 4, context, **settings), n_tokens).double().eval()
    for parameter in decoder.parameters():
        if parameter.dim() > 1:
            parameter.data *= 15
    return decoder.requires_grad_(False)


def make_ids(n: int, n_tokens: int = 11, seed: int = 0) -> Any:
    """Token ids at random, shape (1, n)."""
    return torch.from_numpy(np.random.default_rng(seed).integers(n_tokens, size=(1, n)))


@claim("A113")
def embedding_picks_a_column() -> Iterator[Evidence]:
    """To look token i up is to multiply the one-hot vector e_i by W in R^(D x V), which gives
    column i of W (the text says row i); T tokens give X in R^(T x D). The table here is W'.
    """
    decoder, ids = make_decoder(), make_ids(6)
    W = decoder.tokens.weight.T
    one_hot = torch.nn.functional.one_hot(ids[0], 11).double()
    yield equal("W e_i", (W @ one_hot.T).T, decoder.tokens(ids)[0])
    yield equal("columns of W", W[:, ids[0]].T, decoder.tokens(ids)[0])
    yield equal("shape of X", decoder.tokens(ids)[0].shape, (6, 16))


@claim("A119")
def positions_are_added_learned_or_fixed() -> Iterator[Evidence]:
    """The first layer sees X W_e + W_p, whose table of positions is fixed in one text and learned
    in the other; both exist, with one row a position.
    """
    ids, places = make_ids(6), torch.arange(6)
    for kind, learned in (("learned", 1), ("sinusoidal", 0)):
        decoder = make_decoder(positions=kind)
        names = [name for name, _ in decoder.named_parameters() if name.startswith("positions")]
        yield equal(f"tables that are learned, {kind}", len(names), learned)
        added = decoder.embed(ids, places)[0] - decoder.tokens(ids)
        other = decoder.embed(make_ids(6, seed=1), places)[0] - decoder.tokens(make_ids(6, seed=1))
        yield equal(f"the {kind} table does not depend on the tokens", added, other, 1e-12)
        yield at_least("positions differ", (added[0, 0] - added[0, 1]).abs().max(), 0.01)


def _token_wise(width: int) -> Iterator[Evidence]:
    for activation in ("relu", "gelu", "swiglu"):
        layer = FeedForward(width, 4 * width, activation).double()
        x = torch.randn(5, width, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        gradient = torch.autograd.functional.jacobian(layer, x).abs().amax(dim=(1, 3))
        off = gradient - gradient.diagonal().diag()
        yield equal(f"between tokens, {activation}", off, np.zeros((5, 5)))
        loop = torch.stack([layer(row) for row in x]).detach()
        yield equal("one by one", layer(x).detach(), loop, 1e-12)


@claim("A120")
def feed_forward_acts_on_each_token() -> Iterator[Evidence]:
    """The layer phi(X W_1) W_2 acts on each row by itself: derivatives between tokens are zero."""
    yield from _token_wise(6)


@claim("B149")
def feed_forward_is_four_times_as_wide() -> Iterator[Evidence]:
    """The feed-forward layer max(0, x W_1 + b_1) W_2 + b_2 has W_1 of d x 4d and W_2 of 4d x d
    (512 to 2048 to 512) and acts on each position by itself.
    """
    layer = Decoder(GPTConfig(1, 512, 8, activation="relu"), 5).blocks[0].feed_forward
    yield equal("W_1, kept as outputs x inputs", layer.up.weight.shape, (2048, 512))
    yield equal("W_2", layer.down.weight.shape, (512, 2048))
    yield from _token_wise(6)


@claim("A121")
def empty_branches_leave_the_identity() -> Iterator[Evidence]:
    """A block of the form x + F(norm(x)) is the identity if the last layer of F is zero."""
    block = make_decoder().blocks[0]
    for last in (block.attention.output, block.feed_forward.down):
        last.weight.zero_()
        last.bias.zero_()
    x = torch.randn(1, 5, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    yield equal("output and input", block(x), x)


@claim("A122")
def tied_table_counts_once() -> Iterator[Evidence]:
    """With a tied embedding the output is softmax(Z W_e'): the table is used twice and counted
    once, and rows sum to one.
    """
    tied, free = GPTConfig(2, 16, 4), GPTConfig(2, 16, 4, tied=False)
    yield equal("parameters saved", n_parameters(free, 11) - n_parameters(tied, 11), 11 * 16)
    decoder, ids = make_decoder(), make_ids(6)
    scores = decoder(ids)[0]
    yield equal("sums of rows", scores.softmax(dim=1).sum(dim=1), np.ones(6), 1e-12)
    before = decoder.tokens.weight[3].clone()
    decoder.tokens.weight[3] = 0
    yield equal("score of a token whose row is zero", decoder(ids)[0, :, 3], np.zeros(6))
    decoder.tokens.weight[3] = before


@claim("A124")
def decoders_look_back_only() -> Iterator[Evidence]:
    """In an encoder outputs depend on later inputs and in a decoder they do not; a decoder draws
    the next token from softmax(f(x_1..x_t)).
    """
    decoder, ids = make_decoder(), make_ids(6)
    block, x = decoder.blocks[0], decoder.tokens(ids)
    for causal, expected in ((True, np.tril(np.ones((6, 6)))), (False, np.ones((6, 6)))):
        found = torch.autograd.functional.jacobian(
            lambda rows, causal=causal: block.attention(rows[None], causal=causal)[0], x[0]
        )
        yield equal(f"support, causal={causal}", found.abs().amax(dim=(1, 3)) > 0, expected)
    law = decoder(ids)[0, -1].softmax(dim=0).numpy()
    rows = 4000
    generators = [np.random.default_rng([1, row]) for row in range(rows)]
    scores = decoder(ids)[:, -1].expand(rows, -1)
    drawn = Choice(temperature=1.0)(scores, lambda: np.array([g.random() for g in generators]))
    counts = np.bincount(drawn.numpy(), minlength=11)
    kept = law * rows >= 5
    observed, expected = np.append(counts[kept], counts[~kept].sum()), law[kept] * rows
    expected = np.append(expected, rows - expected.sum())
    statistic = ((observed - expected) ** 2 / np.maximum(expected, 1e-9)).sum()
    yield at_most("chi-squared of the draws", statistic, stats.chi2.ppf(0.9999, kept.sum()))


@claim("B151")
def loss_is_cross_entropy() -> Iterator[Evidence]:
    """The loss -<Y, log Yhat> with one-hot Y is the cross-entropy of the tokens."""
    decoder, ids = make_decoder(), make_ids(9)
    law = decoder(ids[:, :-1])[0].softmax(dim=1)
    one_hot = torch.nn.functional.one_hot(ids[0, 1:], 11).double()
    by_hand = -(one_hot * law.log()).sum()
    yield equal("sum of the losses", next_token_losses(decoder, (ids,)).sum(), by_hand, 1e-9)
    scores = decoder(ids[:, :-1])[0]
    expected = torch.nn.functional.cross_entropy(scores, ids[0, 1:], reduction="sum")
    yield equal("PyTorch's", by_hand, expected, 1e-9)


@claim("B153")
def parameters_have_a_formula() -> Iterator[Evidence]:
    """A decoder of L layers, width d, V tokens and context c has L(12d^2 + 13d) + Vd + cd + 2d
    parameters: GPT-1 116.5 million (the text prints BERT's 110), GPT-2 XL 1.558 billion, GPT-3
    174.6 billion. BERT adds 2d for token types and d^2 + d for the pooler: 109.5 and 335.1
    million.
    """
    known = {
        "GPT-1": ((12, 768, 12, 512), 40478, 116.5e6),
        "GPT-2 XL": ((48, 1600, 25, 1024), 50257, 1.558e9),
        "GPT-3": ((96, 12288, 96, 2048), 50257, 174.6e9),
    }
    for name, ((layers, d, heads, context), V, printed) in known.items():
        formula = layers * (12 * d**2 + 13 * d) + V * d + context * d + 2 * d
        counted = n_parameters(GPTConfig(layers, d, heads, context), V)
        yield equal(f"{name}, formula", counted, formula)
        yield equal(f"{name}, over what is known", counted / printed, 1.0, 1e-3)
    for name, (layers, d, heads), printed in (
        ("BERT-base", (12, 768, 12), 109.5e6),
        ("BERT-large", (24, 1024, 16), 335.1e6),
    ):
        body = n_parameters(GPTConfig(layers, d, heads, 512), 30522)
        yield equal(name, (body + 2 * d + d**2 + d) / printed, 1.0, 1e-3)
    yield at_most("error of a uniform model", abs(_uniform() - math.log(11)), 1e-12)


def _uniform() -> float:
    """The loss of a decoder that knows nothing is log V."""
    decoder = make_decoder()
    decoder.tokens.weight.zero_()
    return float(next_token_losses(decoder, (make_ids(9),)).mean())
