"""Attacks on networks, and training that withstands them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.core.extras import require

torch = require("torch")

from panlearn.neural import train  # noqa: E402
from panlearn.neural._layers import MLP  # noqa: E402
from panlearn.neural._random import seeded  # noqa: E402
from panlearn.trust import WorstCase, attacks  # noqa: E402


@claim("A250")
def iterates_of_pgd() -> Iterator[Evidence]:
    """PGD stays in the ball; one step of eps from 0 is the one-step attack; parameters are left.

    The best iterate's loss does not fall as steps are added.
    """
    rng = np.random.default_rng(0)
    with seeded(0):
        net: Any = MLP((4, 16, 3), "tanh").double()
    X = rng.normal(size=(50, 4))
    y = net(torch.from_numpy(X)).argmax(1).numpy()

    def losses(rows: np.ndarray) -> np.ndarray:
        scores = net(torch.from_numpy(rows))
        loss = torch.nn.functional.cross_entropy(scores, torch.from_numpy(y), reduction="none")
        return loss.detach().numpy()

    pairs: Any = (("linf", attacks.fgsm), ("l2", attacks.l2_step))
    for norm, step in pairs:
        found = attacks.pgd(net, X, y, 0.4, bounds=None, norm=norm, steps=10, random_state=0)
        yield at_most(f"norm, {norm}", getattr(found, norm).max(), 0.4 * (1 + 1e-6))
        one = attacks.pgd(
            net, X, y, 0.4, bounds=None, norm=norm, steps=1, step=0.4, random_start=False
        )
        single = step(net, X, y, 0.4, bounds=None)
        worse = losses(one.adversarial) - losses(single.adversarial)
        yield at_least(f"loss over the one step's, {norm}", worse.min(), -1e-9)
    yield true("gradients of parameters", all(p.grad is None for p in net.parameters()))
    means = []
    for steps in (1, 4, 16):
        many = attacks.pgd(net, X, y, 0.4, bounds=None, steps=steps, step=0.05, random_start=False)
        means.append(losses(many.adversarial).mean())
    yield at_least("least rise with steps", np.diff(means).min(), 0)


def _logistic(module: Any, batch: Any) -> Any:
    return torch.nn.functional.softplus(-batch[1] * module(batch[0])[:, 0])


@claim("A254")
def adversarial_training() -> Iterator[Evidence]:
    """The gradient is taken at the worst row, held fixed; eps = 0 is standard training.

    For a linear model it is that of the closed-form robust loss. A batch costs steps + 1 passes,
    and a model is no more accurate under attack than without.
    """
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(64, 3)), rng.choice([-1.0, 1.0], size=64)
    calls: list[int] = []

    def counted(module: Any, batch: Any) -> Any:
        calls.append(1)
        return _logistic(module, batch)

    def one_step(objective: Any) -> np.ndarray:
        with seeded(1):
            module: Any = MLP((3, 1), "identity").double()
        options = {"max_steps": 1, "batch_size": 64, "optimizer": "sgd", "weight_decay": 0.0}
        train(module, objective, (X, y), learning_rate=0.1, random_state=0, **options)
        return torch.cat([p.detach().ravel() for p in module.parameters()]).numpy()

    def closed(module: Any, batch: Any) -> Any:
        margin = batch[1] * module(batch[0])[:, 0] - 0.2 * module.layers[0].weight.abs().sum()
        return torch.nn.functional.softplus(-margin)

    robust = WorstCase(0.2, steps=4, step=0.2, random_start=False)
    yield equal("step and closed form", one_step(robust(counted)), one_step(closed), 1e-8)
    yield equal("passes", len(calls), robust.passes)
    nothing = WorstCase(0.0, steps=2)
    yield equal("step at eps = 0", one_step(nothing(_logistic)), one_step(_logistic), 1e-12)
    labels = (y > 0).astype(int)
    with seeded(2):
        net: Any = MLP((3, 8, 2), "relu").double()
    found = attacks.pgd(net, X, labels, 0.2, bounds=None, random_state=0)
    clean = net(torch.from_numpy(X)).argmax(1).numpy() == labels
    yield at_most("robust accuracy less the clean one", 1 - found.success_rate - clean.mean(), 0)
