"""The loop: what it minimises, in which order, and what it leaves behind."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from panlearn.neural import Hook, batches, train
from panlearn.neural._random import seeded
from panlearn.neural._run import DivergenceError
from panlearn.optimize import rules, schedules


def network(seed=0, dropout=0.0, dtype=torch.float64):
    with seeded(seed):
        layers = nn.Sequential(
            nn.Linear(3, 8), nn.Tanh(), nn.Dropout(dropout), nn.LayerNorm(8), nn.Linear(8, 2)
        )
    return layers.to(dtype)


def squares(module, batch):
    x, y = batch
    return ((module(x) - y) ** 2).sum(1)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(50, 3))
    return X, np.stack([X @ [1.0, -2.0, 0.5], np.sin(X[:, 0])], axis=1)


def weights(module):
    return np.concatenate([p.detach().numpy().ravel() for p in module.parameters()])


def trained(data, module=None, objective=squares, **settings):
    module = network() if module is None else module
    settings = {"max_epochs": 3, "batch_size": 16, "random_state": 1, **settings}
    return train(module, objective, data, **settings)


def by_hand(data, steps, optimizer, batch_size=16, module=None):
    """A plain loop over the rows in their order."""
    module = network() if module is None else module
    X, y = (torch.from_numpy(a) for a in data)
    step = optimizer(module.parameters())
    for t in range(steps):
        low = (t * batch_size) % len(X) if t else 0
        rows = slice(low, low + batch_size)
        step.zero_grad()
        squares(module, (X[rows], y[rows])).mean().backward()
        step.step()
    return weights(module)


def test_it_takes_the_steps_of_a_plain_loop(data):
    run = trained(data, order="given", batch_size=10, max_steps=12, max_epochs=None)
    expected = by_hand(data, 12, lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=0), 10)
    np.testing.assert_allclose(weights(run.module), expected, rtol=1e-12)
    assert run.step == 12
    assert run.stopped == "max_steps"


@pytest.mark.parametrize("accumulate", [2, 3, 7])
def test_a_batch_in_pieces_is_the_same_step(data, accumulate):
    whole, pieces = trained(data), trained(data, accumulate=accumulate)
    # sums in another order: rounding alone
    np.testing.assert_allclose(weights(pieces.module), weights(whole.module), rtol=0, atol=1e-12)
    np.testing.assert_allclose(pieces.history["loss"], whole.history["loss"], rtol=1e-12)


@pytest.mark.parametrize("accumulate", [1, 3])
def test_weights_are_repetitions_and_zero_is_absent(data, accumulate):
    X, y = data
    w = np.arange(50) % 4
    weighted = trained(
        (X, y, w.astype(float)),
        objective=lambda m, b: (squares(m, b[:2]), b[2]),
        batch_size=50,
        accumulate=accumulate,
    )
    rows = np.repeat(np.arange(50), w)
    repeated = trained((X[rows], y[rows]), batch_size=len(rows))
    # Adam divides by gradients, and so magnifies rounding where they are near zero
    np.testing.assert_allclose(weights(weighted.module), weights(repeated.module), atol=1e-9)


def test_the_same_seed_gives_the_same_bits_and_no_global_generator_moves(data):
    before = torch.get_rng_state()
    one = trained(data, network(dropout=0.5))
    assert torch.equal(before, torch.get_rng_state())
    torch.rand(5)
    np.testing.assert_array_equal(
        weights(one.module), weights(trained(data, network(dropout=0.5)).module)
    )
    other = trained(data, network(dropout=0.5), random_state=2)
    assert np.abs(weights(one.module) - weights(other.module)).max() > 1e-4


def test_a_numpy_generator_seeds_and_is_advanced(data):
    rng = np.random.default_rng(3)
    first, second = (weights(trained(data, random_state=rng).module) for _ in range(2))
    assert np.abs(first - second).max() > 1e-6
    again = weights(trained(data, random_state=np.random.default_rng(3)).module)
    np.testing.assert_array_equal(first, again)


def test_every_optimiser_of_torch_by_name_lowers_the_loss(data):
    from panlearn.neural._optimizers import _NAMES

    for name in sorted(set(_NAMES) - {"sparseadam", "muon"}):  # not for dense, only for matrices
        rate = {"lbfgs": 0.5, "adadelta": 1.0, "sgd": 0.05}.get(name, 0.01)
        run = trained(data, optimizer=name, learning_rate=rate, batch_size=50, max_epochs=20)
        assert run.history["loss"][-1] < run.history["loss"][0], name


@pytest.mark.parametrize(
    ("rule", "theirs"),
    [
        (rules.Gradient(momentum=0.9), lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9)),
        (rules.Adam(), lambda p: torch.optim.Adam(p, lr=1e-3)),
        (rules.RMSProp(), lambda p: torch.optim.RMSprop(p, lr=1e-3)),
    ],
)
def test_the_rules_of_optimize_step_as_torch_does(data, rule, theirs):
    run = trained(data, order="given", batch_size=50, max_epochs=20, optimizer=rule)
    expected = by_hand(data, 20, theirs, 50)
    np.testing.assert_allclose(weights(run.module), expected, rtol=0, atol=1e-10)


def test_a_class_or_a_function_builds_the_optimiser(data):
    from functools import partial

    named = trained(data, optimizer="sgd", learning_rate=0.02)
    for given in (torch.optim.SGD, partial(torch.optim.SGD, momentum=0.0)):
        run = trained(data, optimizer=given, learning_rate=0.02)
        np.testing.assert_allclose(weights(run.module), weights(named.module), atol=1e-12)
    run = trained(data, optimizer=lambda groups: torch.optim.SGD(groups, lr=0.02))
    np.testing.assert_allclose(weights(run.module), weights(named.module), atol=1e-12)


def test_schedules_set_the_rate_of_each_step(data):
    class Rates(Hook):
        def __init__(self):
            self.seen = []

        def on_step(self, run):
            self.seen.append(run.learning_rate)

    def rates(schedule):
        hook = Rates()
        trained(data, schedule=schedule, learning_rate=0.5, hooks=[hook], max_epochs=5)
        return np.array(hook.seen)

    steps = np.arange(20)  # five epochs of four batches
    np.testing.assert_allclose(rates("constant"), 0.5)
    np.testing.assert_allclose(rates("linear"), 0.5 * (1 - steps / 20))
    np.testing.assert_allclose(rates("cosine"), 0.25 * (1 + np.cos(np.pi * steps / 20)))
    np.testing.assert_allclose(rates(schedules.inverse_time(0.1)), 0.5 / (1 + 0.1 * steps))
    np.testing.assert_allclose(rates("warmup_cosine"), 0.5 * schedules.warmup_cosine(1, 20)(steps))
    from functools import partial

    step_lr = partial(torch.optim.lr_scheduler.StepLR, step_size=7, gamma=0.1)
    expected = 0.5 * 0.1 ** ((steps + 1) // 7)  # seen after the scheduler's step
    np.testing.assert_allclose(rates(step_lr), expected)


def test_decay_leaves_out_biases_and_norms(data):
    module = network()

    def flat(module, batch):  # no gradient: only decay moves a weight
        return 0.0 * squares(module, batch)

    before = {k: v.clone() for k, v in module.named_parameters()}
    trained(data, module, flat, optimizer="sgd", learning_rate=0.1, weight_decay=0.5, max_steps=1)
    for name, p in module.named_parameters():
        factor = 0.95 if p.ndim == 2 else 1.0
        np.testing.assert_allclose(p.detach(), factor * before[name].detach(), rtol=1e-12)


def test_clipping_bounds_the_step(data):
    module = network()
    before = weights(module)
    trained(data, module, optimizer="sgd", learning_rate=1.0, clip_norm=1e-3, max_steps=1)
    assert np.linalg.norm(weights(module) - before) == pytest.approx(1e-3, rel=1e-3)


def test_the_average_of_the_weights(data):
    class Path(Hook):
        def __init__(self):
            self.weights = []

        def on_step(self, run):
            self.weights.append(weights(run.module))

    start, path = weights(network()), Path()
    run = trained(data, ema_decay=0.8, hooks=[path], validation=data)
    average = start
    for t, point in enumerate(path.weights):
        decay = min(0.8, (1 + t) / (10 + t))  # which warms up
        average = decay * average + (1 - decay) * point
    np.testing.assert_allclose(weights(run.module), average, rtol=1e-12)
    module = network()
    with torch.no_grad():
        for p, value in zip(module.parameters(), run.module.parameters(), strict=True):
            p.copy_(value)
        loss = squares(module, tuple(map(torch.from_numpy, data))).mean().item()
    assert run.history["validation_loss"][-1] == pytest.approx(loss, rel=1e-12)


def test_early_stopping_goes_back_to_the_best_weights(data):
    X, y = data
    shifted = (X[:20], y[:20] + 5)  # learning the first makes the second worse, sooner or later
    seen = []

    class Watch(Hook):
        def on_epoch(self, run):
            seen.append(weights(run.module))

    run = trained(
        data, validation=shifted, patience=4, max_epochs=500, learning_rate=0.05, hooks=[Watch()]
    )
    losses = run.history["validation_loss"]
    best = int(np.argmin(losses))
    assert run.stopped == "patience"
    assert run.epoch == best + 1 + 4
    np.testing.assert_array_equal(weights(run.module), seen[best])


def test_a_loss_that_is_not_finite_stops_with_step_batch_and_finite_weights(data):
    X, y = data
    y = y.copy()
    y[33, 0] = np.nan
    module = network()
    with pytest.raises(DivergenceError, match=r"step 3.*learning_rate") as caught:
        trained((X, y), module, order="given", batch_size=10, max_epochs=2)
    assert caught.value.step == 3
    assert torch.isnan(caught.value.batch[1]).any()
    expected = by_hand(data, 3, lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=0), 10)
    np.testing.assert_allclose(weights(module), expected, rtol=1e-12)


def test_weights_that_are_no_longer_finite_are_put_back(data):
    class Poison(Hook):
        def on_step(self, run):
            if run.step == 20:
                next(run.module.parameters()).data.fill_(math.nan)

    module = network()
    with pytest.raises(DivergenceError, match="step 20"):
        trained(data, module, hooks=[Poison()], max_epochs=30)
    assert np.isfinite(weights(module)).all()


def test_mixed_precision_computes_in_bfloat16_and_keeps_the_weights(data):
    X, y = (a.astype(np.float32) for a in data)
    kinds = set()

    def objective(module, batch):
        kinds.add(module(batch[0]).dtype)
        return squares(module, batch)

    mixed = trained((X, y), network(dtype=torch.float32), objective, precision="bfloat16")
    plain = trained((X, y), network(dtype=torch.float32))
    assert kinds == {torch.bfloat16}
    assert {p.dtype for p in mixed.module.parameters()} == {torch.float32}
    # three digits of bfloat16
    np.testing.assert_allclose(mixed.history["loss"], plain.history["loss"], rtol=0.02)


def test_hooks_are_called_and_stop_the_run(data):
    class Count(Hook):
        def __init__(self):
            self.calls = []

        def on_begin(self, run):
            self.calls.append("begin")

        def on_step(self, run):
            self.calls.append("step")
            return run.step == 6

        def on_epoch(self, run):
            self.calls.append("epoch")

        def on_end(self, run):
            self.calls.append("end")

    hook = Count()
    run = trained(data, hooks=[hook], max_epochs=9)
    assert hook.calls == ["begin", *["step"] * 4, "epoch", "step", "step", "epoch", "end"]
    assert run.stopped == "hook"
    assert len(run.history["loss"]) == 2


def test_progress_shows_loss_rate_and_time_left(data, capsys):
    trained(data, verbose=True, validation=data)
    last = capsys.readouterr().err.splitlines()[-1]
    for part in ("epoch 3", "step 12/12", "loss", "validation loss", "steps/s", "0:00:00 left"):
        assert part in last


def test_ctrl_c_keeps_what_was_learned(data):
    class Interrupt(Hook):
        def on_step(self, run):
            if run.step == 5:
                raise KeyboardInterrupt

    run = trained(data, hooks=[Interrupt()])
    assert run.stopped == "interrupted"
    assert run.step == 5
    assert np.abs(weights(run.module) - weights(network())).max() > 0


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"optimizer": "adamm"}, "optimizer='adamm' must be one of .*adamw"),
        ({"schedule": "cosin"}, "schedule='cosin' must be one of constant"),
        ({"precision": "float8"}, "precision"),
        ({"patience": 3}, "validation"),
        ({"max_epochs": 0}, "max_epochs"),
        ({"ema_decay": 1.0}, "ema_decay"),
        ({"clip_norm": 0.0}, "clip_norm"),
        ({"batch_size": 0}, "batch_size"),
        ({"order": "random"}, "order='random'"),
        ({"order": [99]}, "row numbers"),
        ({"strategy": "dp"}, "strategy"),
        ({"resume": True}, "folder"),
    ],
)
def test_wrong_settings_are_refused_by_name(data, settings, says):
    with pytest.raises((ValueError, TypeError), match=says):
        trained(data, **settings)


def test_nothing_to_train_is_an_error(data):
    module = network().requires_grad_(False)
    with pytest.raises(ValueError, match="nothing to train"):
        trained(data, module)
    with pytest.raises(ValueError, match="no batch"):
        trained(batches.Stream(lambda: iter([]), length=3))
