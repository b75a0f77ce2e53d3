"""Models that only sample: what a generator makes, and the best discriminator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from panlearn.claims.claim import Evidence, at_most, claim, equal
from panlearn.core.extras import require

torch = require("torch")

from panlearn.generative import GAN  # noqa: E402
from panlearn.generative.divergences import JensenShannon  # noqa: E402


@claim("A208")
def sampling_is_one_pass() -> Iterator[Evidence]:
    """An implicit model is x = F(z) with z ~ N(0, I): to sample is one pass, and no density is
    needed. An affine F gives N(b, A A^T).
    """
    X = np.random.default_rng(208).normal(size=(50, 2))
    model = GAN(2, (), max_epochs=1, random_state=0).fit(X)  # no hidden layer: F is affine
    weights = model.weights_["generator.layers.0.weight"] * model.scale_[:, None]
    bias = model.weights_["generator.layers.0.bias"] * model.scale_ + model.mean_
    drawn = model.sample(200_000, random_state=0)
    covariance = weights @ weights.T
    size = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    yield equal("covariance, relative", np.cov(drawn.T) / size, covariance / size, 0.02)
    yield equal("mean", drawn.mean(axis=0), bias, 0.02)


@claim("A209")
def the_best_discriminator() -> Iterator[Evidence]:
    """The best discriminator is p / (p + q), and the game's value with it is -log 4 where p = q."""
    rng = np.random.default_rng(209)
    p, q = (torch.as_tensor(rng.dirichlet(np.ones(6))) for _ in range(2))
    game = JensenShannon()

    def value(D: Any, p: Any, q: Any) -> float:
        said = game.activation(torch.logit(D))  # log D
        return float((p * said - q * game.conjugate(said)).sum()) - np.log(4)

    best = p / (p + q)
    by_hand = (p * best.log() + q * (1 - best).log()).sum()
    yield equal("value at p / (p + q)", value(best, p, q), by_hand, 1e-10)
    others = [value(torch.as_tensor(rng.uniform(0.01, 0.99, 6)), p, q) for _ in range(200)]
    yield at_most("the best of 200 others", max(others), value(best, p, q))
    yield equal("value where p = q", value(p / (p + p), p, p), -np.log(4), 1e-10)
    divergence = game.between(p, q)
    yield equal(
        "value + log 4 and the divergence", value(best, p, q) + np.log(4), divergence, 1e-10
    )
