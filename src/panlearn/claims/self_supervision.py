"""Learning without labels: contrast, a teacher that follows, variance kept by a penalty."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.core.extras import require

torch: Any = require("torch")

from panlearn.neural import Player, train  # noqa: E402
from panlearn.neural._draws import Share  # noqa: E402
from panlearn.neural._processes import Processes  # noqa: E402
from panlearn.neural._step import Step  # noqa: E402
from panlearn.representation import (  # noqa: E402
    CLIP,
    FewShotClassifier,
    SimCLR,
    Tower,
    ZeroShotClassifier,
)
from panlearn.representation._objectives import (  # noqa: E402
    contrastive_losses,
    covariance_penalty,
    guess_losses,
    paired_losses,
    variance_penalty,
)


def _draw(seed: int, *shape: int) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _step(rows: int) -> Step:
    device = torch.device("cpu")
    share = Share(0, rows, rows)
    return Step(share, 0, 0, device, epoch=0, processes=Processes("ddp", device))


@claim("A183")
def cosine_similarity() -> Iterator[Evidence]:
    """The cosine of two vectors lies in [-1, 1] and does not change if they are scaled by positive
    numbers: 2 - 2 cos is the squared distance of the unit vectors.
    """
    one, other = _draw(0, 50, 5), _draw(1, 50, 5)
    cosine = 1 - guess_losses(one, other) / 2
    yield at_most("largest absolute cosine", cosine.abs().max(), 1.0 + 1e-12)
    scaled = 1 - guess_losses(3.7 * one, 0.02 * other) / 2
    yield equal("cosines of scaled vectors", scaled, cosine, 1e-12)
    unit = [v / v.norm(dim=1, keepdim=True) for v in (one, other)]
    distance = (unit[0] - unit[1]).square().sum(dim=1)
    yield equal("squared distance of unit vectors", guess_losses(one, other), distance, 1e-12)


@claim("A184")
def contrastive_loss() -> Iterator[Evidence]:
    """The contrastive loss -log exp(s+) / sum exp(s), with the positive in the denominator, is the
    log of the number of candidates if all similarities are equal; with cosines over a temperature
    tau and N negatives it lies between log(1 + N exp(-2/tau)) and log(1 + N exp(2/tau)).
    """
    same = torch.ones(4, 3, dtype=torch.float64)
    losses = contrastive_losses(same, same, 0.5, _step(4))
    yield equal("of 7 equal candidates", losses, np.full(4, math.log(7)), 1e-12)
    temperature, n = 0.5, 8
    losses = contrastive_losses(_draw(2, n, 3), _draw(3, n, 3), temperature, _step(n))
    negatives = 2 * n - 2
    low, high = (math.log1p(negatives * math.exp(s * 2 / temperature)) for s in (-1, 1))
    yield at_least("least loss", losses.min(), low)
    yield at_most("largest loss", losses.max(), high)


@claim("A185")
def contrastive_gradient() -> Iterator[Evidence]:
    """The contrastive loss falls as the similarity of the positive grows and rises with that of a
    negative: the slopes are p+ - 1 < 0 and p- > 0.
    """
    # on a circle, an angle moves one similarity at a time
    angles = torch.tensor([0.3, -0.4], dtype=torch.float64, requires_grad=True)
    fixed = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    views = torch.stack([angles.cos(), angles.sin()], dim=1)
    one = torch.cat([fixed, torch.tensor([[-1.0, 0.0]], dtype=torch.float64)])
    loss = contrastive_losses(one, views, 1.0, _step(2))[0]
    # of row 0: both its views; only the first looks at the fixed point
    (slope,) = torch.autograd.grad(loss, angles)
    yield true("a positive that comes nearer lowers the loss", slope[0] > 0)
    yield true("a negative that comes nearer raises it", slope[1] > 0)


@claim("A186")
def the_projector_is_dropped() -> Iterator[Evidence]:
    """The projector is trained and then dropped: what is used later is the encoder's output."""
    X = _draw(4, 24, 5, 5).numpy()
    model = SimCLR(n_components=12, n_projected=3, max_epochs=1, batch_size=8, random_state=0)
    found = model.fit(X).transform(X)
    yield equal("columns of the representation", found.shape[1], 12)
    inner = torch.tensor(((X - model.mean_[0]) / model.scale_[0])[:, None], dtype=torch.float32)
    views: Any = model.module_
    with torch.no_grad():
        encoded = views.encoder(inner)
        yield equal("columns of the projection", views.project(inner, inner)[0].shape[1], 3)
    yield equal("transform is the encoder", found, encoded, 1e-5)


def _bright() -> tuple[np.ndarray, np.ndarray]:
    """Images that are bright in one of three bands, and in which."""
    X, y = _draw(7, 60, 6, 6).numpy() / 2, np.arange(60) % 3
    for band in range(3):
        X[y == band, 2 * band : 2 * band + 2] += 2
    return X, np.array(["above", "between", "below"])[y]


def _pairs(X: np.ndarray, texts: Any) -> CLIP:
    model = CLIP(
        8,
        vision=Tower(1, 16),
        text=Tower(1, 16),
        batch_size=20,
        max_epochs=40,
        learning_rate=3e-3,
        random_state=0,
    )
    return model.fit(X, list(texts))


@claim("A187")
def images_and_texts_find_each_other() -> Iterator[Evidence]:
    """CLIP's loss is the symmetric cross-entropy over the N x N cosines: exchanging images and
    texts leaves it, at chance it is log N, and without labels the class of an image is that whose
    text has the largest cosine.
    """
    n, log_scale = 6, torch.tensor(1.3, dtype=torch.float64)
    one, other = _draw(8, n, 4), _draw(9, n, 4)
    losses = paired_losses(one, other, log_scale, _step(n))
    cosines = log_scale.exp() * torch.cosine_similarity(one[:, None], other[None], dim=2)
    rows, columns = cosines.log_softmax(1), cosines.log_softmax(0)
    expected = -(rows.diagonal() + columns.diagonal()) / 2
    yield equal("cross-entropies both ways", losses, expected, 1e-12)
    yield equal("exchanged", paired_losses(other, one, log_scale, _step(n)), losses, 1e-12)
    alike = torch.ones(n, 4, dtype=torch.float64)
    chance = paired_losses(alike, alike, log_scale, _step(n))
    yield equal("at chance", chance, np.full(n, math.log(n)), 1e-12)
    X, texts = _bright()
    model = _pairs(X, texts)
    labels = ["above", "below", "between"]
    found = ZeroShotClassifier({text: text for text in labels}, model).fit().predict(X)
    nearest = (model.encode_image(X) @ model.encode_text(labels).T).argmax(axis=1)
    yield true("the class is the nearest text", (found == np.array(labels)[nearest]).all())
    yield at_least("share of images that find their text", (found == texts).mean(), 0.9)


@claim("A191")
def a_new_class_needs_no_training() -> Iterator[Evidence]:
    """A class that was not there is usable from a few labelled examples, by the nearest mean, or
    from none, by its text, and no parameter of the encoder changes.
    """
    X, texts = _bright()
    model = _pairs(X, texts)
    before = {name: weight.copy() for name, weight in model.weights_.items()}
    few = FewShotClassifier(model).fit(X[:4], texts[:4])  # two of one class, one of each other
    yield at_least("accuracy from four examples", few.score(X[4:], texts[4:]), 0.9)
    prompts = {text: text for text in ("above", "below")}
    two = ZeroShotClassifier(prompts, model).fit()
    three = ZeroShotClassifier({**prompts, "between": "between"}, model).fit()
    yield equal("classes before and after", [len(two.classes_), len(three.classes_)], [2, 3])
    yield at_least("accuracy from texts", three.score(X, texts), 0.9)
    same = all((weight == before[name]).all() for name, weight in model.weights_.items())
    yield true("the encoder is as it was", same)


@claim("A188")
def the_teacher_is_an_average() -> Iterator[Evidence]:
    """BYOL's target follows the student by an exponential average, so that after t steps it is a
    weighted sum of the weights it has seen, and no gradient reaches it. The decay warms up here, as
    min(tau, (1 + s) / (10 + s)).
    """
    decay, seen = 0.6, []
    module = torch.nn.Linear(2, 1).double()
    start = module.weight.detach().clone()
    player = Player(module, teacher=decay)

    def objective(player: Any, batch: Any) -> Any:
        seen.append(player.module.weight.detach().clone())
        objective.teacher = player.teacher  # type: ignore[attr-defined]
        with torch.no_grad():
            target = player.teacher(batch[0])
        return (player.module(batch[0]) - target - 1).square()[:, 0]

    train(player, objective, (_draw(5, 12, 2),), batch_size=2, max_epochs=1, learning_rate=0.1)
    weights = [*seen[1:], module.weight.detach()]
    expected = start
    for step, weight in enumerate(weights):
        share = min(decay, (1 + step) / (10 + step))
        expected = share * expected + (1 - share) * weight
    teacher = objective.teacher  # type: ignore[attr-defined]
    yield equal("the teacher's weights", teacher.weight.detach(), expected, 1e-12)
    yield true("no gradient", teacher.weight.grad is None and not teacher.weight.requires_grad)


@claim("A189")
def variance_and_covariance_are_kept() -> Iterator[Evidence]:
    """VICReg's hinge max(0, gamma - std) is positive for rows that are all alike and zero once each
    column deviates by gamma, and the penalty of off-diagonal covariances is zero for whitened rows.
    """
    alike = torch.ones(10, 4, dtype=torch.float64)
    yield equal("hinge of equal rows", variance_penalty(alike), 1 - math.sqrt(1e-4), 1e-12)
    rows = _draw(6, 40, 4)
    rows = rows - rows.mean(dim=0)
    factor = torch.linalg.cholesky(torch.linalg.inv(torch.cov(rows.T)))
    white = rows @ factor
    yield equal("hinge of deviations of one", variance_penalty(white), 0.0)
    yield equal("penalty of whitened rows", covariance_penalty(white), 0.0, 1e-20)
    yield at_least("penalty of equal columns", covariance_penalty(white[:, [0, 0]]), 0.9)
