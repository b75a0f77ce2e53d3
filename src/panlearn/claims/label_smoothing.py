"""Smoothed labels: the target that a network is trained towards, and its loss."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import log_softmax

from panlearn.claims.claim import Evidence, at_least, claim, equal
from panlearn.core.extras import require
from panlearn.theory.information import cross_entropy, entropy

torch = require("torch")

from panlearn.neural._objectives import softmax_loss  # noqa: E402


def _loss(scores: np.ndarray, label: int, share: float) -> tuple[float, np.ndarray]:
    """The loss of a row with these scores, and its gradient."""
    z = torch.tensor(scores, requires_grad=True)
    (loss,) = softmax_loss(share)(torch.nn.Identity(), (z[None], torch.tensor([label])))
    (gradient,) = torch.autograd.grad(loss, z)
    return loss.item(), gradient.numpy()


def _target(scores: np.ndarray, label: int, share: float) -> np.ndarray:
    """Softmax less gradient: the law that the loss draws towards."""
    return np.exp(log_softmax(scores)) - _loss(scores, label, share)[1]


@claim("B295")
def smoothed_labels() -> Iterator[Evidence]:
    """Label smoothing makes the target (1 - e) onehot + e / K: (.925, .025, .025, .025) for K = 4
    and e = .1. Its loss is (1 - e) times the plain one and e times the mean of -log p_k, and is
    least, the entropy of the target, where p is the target.
    """
    rng, target = np.random.default_rng(295), np.array([0.925, 0.025, 0.025, 0.025])
    yield equal("target", _target(rng.normal(size=4), 0, 0.1), target, 1e-15)
    scores = 2 * rng.normal(size=(300, 4))
    losses = [_loss(z, 0, 0.1)[0] for z in scores]
    log_p = log_softmax(scores, axis=1)
    yield equal("both terms", losses, -0.9 * log_p[:, 0] - 0.1 * log_p.mean(axis=1), 1e-12)
    yield equal("cross-entropy", losses, [cross_entropy(target, np.exp(p)) for p in log_p], 1e-12)
    least, slope = _loss(np.log(target), 0, 0.1)
    yield equal("loss at the target", least, entropy(target), 1e-12)
    yield equal("its slope there", slope, np.zeros(4), 1e-12)
    yield at_least("least loss of 300 laws", min(losses), least)


@claim("B296")
def any_noise_smooths() -> Iterator[Evidence]:
    """With any law u of the noise (1 - e) onehot + e u is a law: it sums to one and is not
    negative. With the uniform law it is what the loss of a network draws towards; with any other,
    what rows with every label draw towards that weigh as much as the target says.
    """
    rng = np.random.default_rng(296)
    for share, u in zip(rng.random(50), rng.dirichlet(np.full(7, 0.3), 50), strict=True):
        scores = rng.normal(size=7)
        uniform = _target(scores, 3, float(share))
        yield equal("sum", uniform.sum(), 1.0, 1e-14)
        yield equal("uniform noise", uniform, (1 - share) * np.eye(7)[3] + share / 7, 1e-14)
        target = (1 - share) * np.eye(7)[3] + share * u
        yield equal("sum", target.sum(), 1.0, 1e-14)
        yield at_least("least entry", target.min(), 0.0)
        rows = torch.tensor(np.tile(scores, (7, 1)))
        batch = rows, torch.arange(7), torch.tensor(target)
        losses, weights = softmax_loss()(torch.nn.Identity(), batch)
        expected = cross_entropy(target, np.exp(log_softmax(scores)))
        yield equal("loss of weighted rows", float(weights @ losses), expected, 1e-12)
