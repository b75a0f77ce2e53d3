"""Training on worst rows: gradients of the closed form, and networks that withstand."""

from contextlib import contextmanager

import numpy as np
import pytest
import torch

from panlearn.neural import train
from panlearn.neural._random import seeded
from panlearn.trust import WorstCase, attacks


def logistic(module, batch):
    return torch.nn.functional.softplus(-batch[1] * module(batch[0])[:, 0])


class Recorded:
    """What a step of the loop gives an objective."""

    training, draws = True, 0

    def __init__(self, n):
        self.n, self.notes = n, []

    @contextmanager
    def again(self, draws):
        yield

    def note(self, **metrics):
        self.notes.append(metrics)

    def uniform(self, *size):
        return torch.full((self.n, *size), 0.75)

    def normal(self, *size):
        return torch.ones((self.n, *size))


@pytest.fixture
def linear(rng):
    with seeded(0):
        module = torch.nn.Linear(4, 1).double()
    X = torch.from_numpy(rng.normal(size=(30, 4)))
    return module, X, torch.from_numpy(rng.choice([-1.0, 1.0], size=30))


@pytest.mark.parametrize(("norm", "dual"), [("linf", 1), ("l2", 2)])
def test_gradient_is_that_of_the_closed_form(linear, norm, dual):
    module, X, y = linear
    robust = WorstCase(0.3, norm, steps=20, step=0.3)
    loss = robust(logistic)(module, (X, y), Recorded(30)).mean()
    found = torch.autograd.grad(loss, list(module.parameters()))
    margin = y * module(X)[:, 0] - 0.3 * module.weight.norm(p=dual)
    closed = torch.nn.functional.softplus(-margin).mean()
    assert loss.item() == pytest.approx(closed.item(), abs=1e-9)
    expected = torch.autograd.grad(closed, list(module.parameters()))
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-8)
    assert all(p.grad is None for p in module.parameters())
    assert module.training


def test_passes_are_counted(linear):
    module, X, y = linear
    calls = []

    def counted(module, batch):
        calls.append(module.training)
        return logistic(module, batch)

    for robust in (WorstCase(0.1, steps=5), WorstCase.fast(0.1)):
        calls.clear()
        step = Recorded(30)
        robust(counted)(module, (X, y), step)
        assert len(calls) == robust.passes
        assert calls == [False] * robust.steps + [True]  # the ascent sees evaluation mode
        assert step.notes == [{"passes": float(robust.passes)}]


@pytest.mark.parametrize(("norm", "dual"), [("linf", 1), ("l2", 2)])
def test_ball_and_box_are_those_of_the_rows_before_they_were_scaled(linear, norm, dual):
    module, X, y = linear
    mean, scale = np.array([5.0, -3, 0, 1]), np.array([10.0, 0.1, 1, 3])
    robust = WorstCase(0.3, norm, steps=20, step=0.3)(logistic, mean, scale)
    loss = robust(module, (X, y), Recorded(30))
    slope = module.weight[0] / torch.from_numpy(scale)
    closed = torch.nn.functional.softplus(0.3 * slope.norm(p=dual) - y * module(X)[:, 0])
    torch.testing.assert_close(loss, closed, rtol=0, atol=1e-9)
    seen = []

    def spy(module, batch):
        seen.append(batch[0].detach().numpy() * scale + mean)
        return logistic(module, batch)

    boxed = WorstCase(9.0, norm, steps=2, bounds=(-4.0, 4.0))
    boxed(spy, mean, scale)(module, (X, y), Recorded(30))
    assert np.concatenate(seen).min() >= -4 - 1e-12
    assert np.concatenate(seen).max() <= 4 + 1e-12


def test_free_learns_at_every_pass_and_climbs_by_the_same_one(linear):
    module, X, y = linear
    robust = WorstCase.free(0.3, replays=3, random_start=False)
    step = Recorded(30)
    losses = []
    for who, loss in robust(logistic)(module, (X, y), step):
        assert who is module
        loss.sum().backward()  # as the loop does; here the weights stay as they are
        losses.append(loss.detach())
    plain = logistic(module, (X, y)).detach()
    margin = y * module(X)[:, 0] - 0.3 * module.weight.abs().sum()
    worst = torch.nn.functional.softplus(-margin).detach()
    for found, expected in zip(losses, [plain, worst, worst], strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)
    assert robust.passes == 3
    assert step.notes == [{"passes": 3.0}]


def test_free_in_the_loop_updates_once_a_pass(rng):
    X = rng.normal(size=(40, 3)).astype(np.float32)
    y = np.where(X[:, 0] > 0, 1, -1).astype(np.float32)
    weights = []

    def spy(module, batch):
        weights.append((module.weight.detach().clone(), module.training))
        return logistic(module, batch)

    module = torch.nn.Linear(3, 1)
    options = {"max_epochs": 2, "batch_size": 20, "random_state": 0}
    run = train(module, WorstCase.free(0.1, 4)(spy), (X, y), validation=(X, y), **options)
    seen = torch.stack([w for w, training in weights if training])
    assert len(seen) == 2 * 2 * 4  # epochs, batches, replays
    assert (seen[1:] != seen[:-1]).any(dim=(1, 2)).all()
    assert run.history["passes"] == [4.0, 4.0]
    assert len(run.history["validation_loss"]) == 2


def test_what_the_objective_draws_is_the_same_in_each_step(rng):
    X, seen = rng.normal(size=(20, 3)).astype(np.float32), []

    def noisy(module, batch, step):
        seen.append(step.normal(3))
        return module(batch[0] + seen[-1]).square().sum(1)

    for case in (WorstCase(0.1, steps=3), WorstCase.free(0.1, 3)):
        seen.clear()
        train(torch.nn.Linear(3, 1), case(noisy), (X,), max_steps=2, batch_size=20, random_state=0)
        first, second = seen[: case.passes], seen[case.passes :]
        assert all(torch.equal(draw, first[0]) for draw in first)
        assert all(torch.equal(draw, second[0]) for draw in second)
        assert not torch.equal(first[0], second[0])


def test_nothing_to_move_is_standard_training(rng):
    X = rng.normal(size=(60, 3)).astype(np.float32)
    y = np.where(X[:, 0] > 0, 1, -1).astype(np.float32)
    weights = []
    for objective in (logistic, WorstCase(0.0)(logistic)):
        with seeded(0):
            module = torch.nn.Linear(3, 1)
        train(module, objective, (X, y), max_epochs=3, random_state=0)
        weights.append(module.weight.detach().clone())
    torch.testing.assert_close(weights[0], weights[1], rtol=0, atol=0)


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_rows_stay_in_ball_and_box(linear, norm):
    module, X, y = linear
    X = X.clamp(-1, 1)
    seen = []

    def spy(module, batch):
        seen.append(batch[0].detach())
        return logistic(module, batch)

    WorstCase(0.4, norm, steps=4, bounds=(-1, 1))(spy)(module, (X, y), Recorded(30))
    for rows in seen:
        moved = (rows - X).abs().amax(1) if norm == "linf" else (rows - X).norm(dim=1)
        assert moved.max() <= 0.4 * (1 + 1e-9)
        assert rows.abs().max() <= 1
    assert (seen[-1] != X).any()


def test_a_network_learns_to_withstand(rng):
    # the first feature is strong, many weak ones tell more together and are easily turned
    y = rng.integers(2, size=400)
    signs = 2 * y - 1
    X = np.c_[
        signs * rng.choice([1, -1], 400, p=[0.95, 0.05]),
        0.3 * signs[:, None] + rng.normal(size=(400, 20)) * 0.5,
    ]
    X = X.astype(np.float32)
    robust_rates = []

    def loss(module, batch):
        return torch.nn.functional.cross_entropy(module(batch[0]), batch[1], reduction="none")

    for objective in (loss, WorstCase(0.4, steps=3)(loss)):
        with seeded(0):
            module = torch.nn.Linear(21, 2)
        train(module, objective, (X, y), max_epochs=30, learning_rate=0.05, random_state=0)
        found = attacks.fgsm(module, X, y, 0.4, bounds=None)
        robust_rates.append(1 - found.success_rate)
    assert robust_rates[1] > robust_rates[0] + 0.2


def test_bad_values():
    with pytest.raises(ValueError, match="eps=-1"):
        WorstCase(-1)
    with pytest.raises(ValueError, match="norm='l1'"):
        WorstCase(0.1, "l1")
    with pytest.raises(ValueError, match="steps=-1"):
        WorstCase(0.1, steps=-1)
    with pytest.raises(ValueError, match="one or more, to learn at"):
        WorstCase.free(0.1, replays=0)
    with pytest.raises(ValueError, match=r"bounds=\(1, 0\)"):
        WorstCase(0.1, bounds=(1, 0))
