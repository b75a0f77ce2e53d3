"""Encoders: masked words, and looking at both sides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal
from panlearn.core.extras import require

torch: Any = require("torch")

from panlearn.neural._draws import Share  # noqa: E402
from panlearn.neural._processes import Processes  # noqa: E402
from panlearn.neural._step import Step, Whole  # noqa: E402
from panlearn.transformer._bert import BERTConfig, PretrainedEncoder  # noqa: E402
from panlearn.transformer._bert_training import Pretraining, mask_words  # noqa: E402

SPECIAL = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}


def _encoder() -> Any:
    """A small encoder in double precision, with weights that matter."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(3)
        config = BERTConfig(2, 16, 2, 32, dropout=0.0)
        return PretrainedEncoder(config, 60).double().eval().requires_grad_(False)


def _step(rows: int, **options: Any) -> Any:
    """A step of a run on one process, whose batch has so many rows."""
    device = torch.device("cpu")
    return Step(
        Share(0, rows, rows),
        seed=1,
        number=0,
        device=device,
        epoch=0,
        processes=Processes("ddp", device),
        whole=Whole((torch.arange(rows),)),
        **options,
    )


@claim("A190")
def the_loss_of_masked_words_is_of_masked_places_alone() -> Iterator[Evidence]:
    """Masked words: the loss runs over the masked places only (the text says over all tokens), the
    target is the original token, and every token looks to both sides. The first token, [CLS],
    drives a task of two classes: whether the second text follows the first.
    """
    module, words = _encoder(), list(range(10, 30))
    objective = Pretraining([words], np.zeros(1), SPECIAL, 60, follow=False)
    ids = torch.tensor([[2, *words, 3]])
    ordinary = (ids > 4) & (ids < 60)
    seen, chosen = mask_words(ids, ordinary, 4, 60, _step(1), 43)
    index = (torch.tensor([0]),)
    states = module(seen, torch.zeros_like(ids), None)
    scores = module.words(states).log_softmax(-1)
    by_hand = -scores.gather(-1, ids[..., None])[..., 0][chosen].mean()
    yield equal("original tokens at masked places", objective(module, index, _step(1)), [by_hand])

    class Disturbed(torch.nn.Module):
        def __init__(self, where: Any) -> None:
            super().__init__()
            self.where = where

        def forward(self, *batch: Any) -> Any:
            return module(*batch) + self.where[..., None] * torch.linspace(0, 9, 16).double()

        def words(self, states: Any) -> Any:
            return module.words(states)

    plain = objective(module, index, _step(1))
    yield equal("others disturbed", objective(Disturbed(~chosen), index, _step(1)), plain)
    moved = (objective(Disturbed(chosen), index, _step(1)) - plain).abs()
    yield at_least("masked ones disturbed", moved.item(), 1e-3)

    x = module.encoder.embed(ids, torch.zeros_like(ids)).detach()

    def blocks(x: Any) -> Any:
        for block in module.encoder.blocks:
            x = block(x)
        return x[0]

    slope = torch.autograd.functional.jacobian(blocks, x)[:, :, 0].abs().amax(dim=(1, 3))
    yield at_least("least slope between two places, either way", slope.min().item(), 1e-9)
    order = module.order(states)
    yield equal("classes of the task of order", order.shape, (1, 2))
    other = states.clone()
    other[:, 1:] += 1.0
    yield equal("it reads the first token alone", module.order(other), order)
    yield at_most("share of masked places", float(chosen.sum()) / len(words), 0.15)
