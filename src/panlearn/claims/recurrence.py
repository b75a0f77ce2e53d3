"""Recurrence: gradients through time, and a decoder that attends to the states of an encoder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from panlearn.claims.claim import Evidence, at_most, claim, equal, true
from panlearn.core.extras import require

torch = require("torch")

from panlearn.neural._attention import EncoderDecoder, attend  # noqa: E402
from panlearn.neural._recurrence import Recurrent  # noqa: E402


@claim("A104")
def gradients_of_a_recurrent_network() -> Iterator[Evidence]:
    """With a loss at every step, the gradient of a recurrent network is
    sum_t dL_t/dh_t sum_{s <= t} [prod_{k = s+1}^t dh_k/dh_{k-1}] dh_s/dtheta, where dh_s/dtheta
    holds h_{s-1} fixed. The text writes L / theta and repeats a sum.
    """
    T, d = 4, 3
    rng = np.random.default_rng(104)
    x, pull = rng.normal(size=(T, d)), rng.normal(size=(T, d))
    module: Any = Recurrent("elman", d, d, 1, 1).double()
    weight = module.layers[0].weight_hh_l0
    W, U = (p.detach().numpy() for p in (module.layers[0].weight_ih_l0, weight))

    def states(U: np.ndarray) -> np.ndarray:
        h = [np.zeros(d)]
        for t in range(T):
            h.append(np.tanh(W @ x[t] + U @ h[-1]))
        return np.array(h)

    h = states(U)
    by_formula = np.zeros((d, d))
    for t in range(1, T + 1):
        for s in range(1, t + 1):
            chain = np.eye(d)
            for k in range(s + 1, t + 1):
                chain = ((1 - h[k] ** 2)[:, None] * U) @ chain
            to_state = pull[t - 1] @ chain  # dL_t/dh_t times the product
            by_formula += np.outer(to_state * (1 - h[s] ** 2), h[s - 1])
    found = module.states(torch.as_tensor(x)[None])
    (found[0] * torch.as_tensor(pull)).sum().backward()
    yield equal("states", found[0].detach(), h[1:], 1e-12)
    yield equal("backpropagation and the formula", weight.grad, by_formula, 1e-12)
    numeric = np.zeros((d, d))
    for i, j in np.ndindex(d, d):
        step = np.zeros((d, d))
        step[i, j] = 1e-5
        numeric[i, j] = np.sum(pull * (states(U + step) - states(U - step))[1:]) / 2e-5
    yield equal("finite differences", by_formula, numeric, 1e-8)


_STATES = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
_STATE = torch.tensor([0.5, 0.2], dtype=torch.float64)


@claim("B136")
def a_worked_dot_product_attention() -> Iterator[Evidence]:
    """For the states (1, 0), (0, 1), (1, 1) and the decoder's state (0.5, 0.2) the scores are 0.5,
    0.2, 0.7, the weights 0.337585, 0.250089, 0.412327 and the context is (0.749911, 0.662415). The
    text rounds the weights to 0.3374 and 0.4125, and the context to 0.6626.
    """
    scores = _STATES @ _STATE
    yield equal("scores", scores, [0.5, 0.2, 0.7], 1e-12)
    yield equal("exponentials", scores.exp(), [1.6487, 1.2214, 2.0138], 5e-5)
    weights, context = attend(scores, _STATES)
    yield equal("weights", weights, [0.337585, 0.250089, 0.412327], 1e-6)
    yield equal("context", context, [0.749911, 0.662415], 1e-6)


@claim("B137")
def rows_of_an_alignment_are_distributions() -> Iterator[Evidence]:
    """The rows (0.7, 0.2, 0.1), (0.1, 0.8, 0.1), (0.05, 0.15, 0.8) of the alignment are
    distributions over the source words I, am, learning, and each is largest at its own word; so is
    every row of weights of a decoder a distribution over its own source.
    """
    table = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]])
    yield equal("sums", table.sum(axis=1), np.ones(3), 1e-12)
    yield equal("largest", table.argmax(axis=1), [0, 1, 2])
    scores = torch.as_tensor(np.log(table))
    yield equal("softmax of logarithms", attend(scores, torch.eye(3).double())[0], table, 1e-12)
    module = EncoderDecoder("gru", 5, 4, 3, 6).double()
    source, lengths = torch.tensor([[0, 1, 2, 3], [4, 0, 0, 0]]), torch.tensor([4, 2])
    _, looks = module(source, lengths, torch.tensor([[0, 1, 2], [3, 2, 1]]))
    yield equal("sums of a decoder", looks.detach().sum(dim=-1), np.ones((2, 3)), 1e-12)
    yield equal("weight on padding", looks[1, :, 2:].detach().abs().max(), 0)


@claim("B138")
def the_state_of_a_decoder() -> Iterator[Evidence]:
    """The decoder's update s_t = tanh(W [s_{t-1}; c_t]) has a W of d_s by d_s + d_h and values in
    (-1, 1); with the state and context of the example and W = [I I] / 2 it is tanh((s + c) / 2).
    """
    step = EncoderDecoder("elman", 3, 3, 1, 2).double().step
    _, context = attend(_STATES @ _STATE, _STATES)
    with torch.no_grad():
        step.weight_hh[:] = torch.eye(2) / 2
        step.weight_ih[:] = torch.tensor([[0.0, 0.5, 0.0], [0.0, 0.0, 0.5]])  # no last word
        state = step(torch.cat([torch.zeros(1).double(), context])[None], _STATE[None])[0]
    yield equal("state", state, torch.tanh((_STATE + context) / 2), 1e-12)
    W = np.hstack([step.weight_hh.detach(), step.weight_ih.detach()[:, 1:]])
    yield equal("shape of W", W.shape, (2, 2 + 2))
    far = step(torch.full((1, 3), 30.0).double(), torch.full((1, 2), 30.0).double())
    yield at_most("largest state", far.detach().abs().max(), 1)
    yield true("inside", bool((state.abs() < 1).all()))
