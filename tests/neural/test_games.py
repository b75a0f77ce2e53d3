"""Players, moves, steps: the same numbers in pieces, on processes, and after a kill."""

import itertools

import numpy as np
import pytest
import torch
from torch import nn

from panlearn.neural import Hook, Player, train
from panlearn.neural._random import seeded
from panlearn.neural._step import Dropout

RING = torch.exp(2j * torch.pi * torch.arange(8) / 8)
RING = torch.stack([RING.real, RING.imag], dim=1).double()


def mlp(*sizes, seed=0, dropout=0.0):
    with seeded(seed):
        layers = []
        for n_in, n_out in itertools.pairwise(sizes):
            layers += [nn.Linear(n_in, n_out), nn.Tanh(), Dropout(dropout)]
        return nn.Sequential(*layers[:-2]).double()


def gan():
    """Three moves of a critic whose slope is bounded, and one of the generator."""

    def objective(players, batch, step):
        (real,) = batch
        generator, critic = players["generator"], players["critic"]
        for _ in range(3):
            fake = generator(step.normal(2, dtype=real.dtype)).detach()
            mix = step.uniform(1, dtype=real.dtype)
            between = (mix * real + (1 - mix) * fake).requires_grad_()
            (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
            steep = (slope.norm(dim=1) - 1) ** 2
            yield critic, (critic(fake) - critic(real))[:, 0] + steep
        yield generator, -critic(generator(step.normal(2, dtype=real.dtype)))

    players = {
        "generator": Player(mlp(2, 16, 2), learning_rate=1e-3),
        "critic": Player(mlp(2, 16, 1, seed=1), optimizer="rmsprop", clip_norm=5.0),
    }
    noise = torch.linspace(-0.1, 0.1, 46, dtype=torch.float64)[:, None]
    return players, objective, (RING.repeat(6, 1)[:46] + noise,)


def byol():
    """A student that guesses what its teacher makes of another view."""

    def objective(student, batch, step):
        (x,) = batch
        one, other = (x + 0.1 * step.normal(2, dtype=x.dtype) for _ in range(2))
        with torch.no_grad():
            target = student.teacher[0](other)
        step.note(spread=target.std(dim=1))
        guess = student.module[1](student.module[0](one))
        return 2 - 2 * nn.functional.cosine_similarity(guess, target)

    online = nn.ModuleList([mlp(2, 8, 4, dropout=0.2), mlp(4, 4, 4, seed=1)])
    return Player(online, teacher=0.9), objective, (RING.repeat(3, 1)[:22],)


def contrastive():
    """Each row must find its other view among those of the whole batch."""

    def objective(module, batch, step):
        x, y = batch
        a, b = nn.functional.normalize(module(x)), nn.functional.normalize(module(y))
        scores = a @ step.gather(b).T / 0.2
        mine = step.share.low + torch.arange(len(x))
        return nn.functional.cross_entropy(scores, mine, reduction="none")

    x = RING.repeat(3, 1)[:22]
    return mlp(2, 8, 4), objective, (x, x.flip(1))


def bandit():
    """Rollouts inside the step, then two moves of the policy and one of its value."""

    def objective(players, batch, step):
        (x,) = batch
        policy, value = players["policy"], players["value"]
        with torch.no_grad():
            before = policy(x).log_softmax(1)
            edges = before.exp().cumsum(1)
            action = (edges < step.uniform(1, dtype=x.dtype)).sum(1).clamp(max=3)
            reward = (action == (x[:, 0] > 0).long() + 2 * (x[:, 1] > 0).long()).to(x)
            advantage = reward - value(x)[:, 0]
        step.note(reward=reward)
        rows = torch.arange(len(x))
        for _ in range(2):
            ratio = (policy(x).log_softmax(1) - before)[rows, action].exp()
            yield policy, -torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
        yield "value", (value(x)[:, 0] - reward) ** 2

    players = {"policy": mlp(2, 16, 4), "value": mlp(2, 8, 1, seed=1)}
    return players, objective, (RING.repeat(5, 1)[:37] * 0.9,)


GAMES = {"gan": gan, "byol": byol, "contrastive": contrastive, "bandit": bandit}


def modules_of(target):
    """The modules of what is trained, by name."""
    players = target if isinstance(target, dict) else {"": target}
    return {n: p.given if isinstance(p, Player) else p for n, p in players.items()}


SETTINGS = dict(batch_size=8, max_epochs=3, learning_rate=0.01, random_state=3)


def play(name, **settings):
    target, objective, data = GAMES[name]()
    run = train(target, objective, data, **{**SETTINGS, **settings})
    states = {n: m.state_dict() for n, m in modules_of(target).items()}
    return run, {f"{n}.{k}": v.numpy() for n, s in states.items() for k, v in s.items()}


def close(one, other, atol=1e-12):
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_allclose(other[name], value, rtol=0, atol=atol, err_msg=name)


@pytest.mark.parametrize("name", GAMES)
def test_pieces_make_the_same_moves(name):
    run, whole = play(name)
    cut, pieces = play(name, accumulate=3)
    close(whole, pieces)
    for metric, values in run.history.items():
        np.testing.assert_allclose(cut.history[metric], values, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", GAMES)
def test_a_run_that_is_cut_short_and_made_longer_ends_with_the_same_bits(name, tmp_path):
    run, whole = play(name)
    saved = dict(checkpoint=tmp_path, max_epochs=3)
    for stop in (2, 5):  # in the middle of an epoch
        play(name, **saved, max_steps=stop, resume=stop > 2)
    resumed, weights = play(name, **saved, resume=True)
    assert resumed.step == run.step
    for key, value in whole.items():
        np.testing.assert_array_equal(weights[key], value)
    assert resumed.history == run.history


def test_a_yield_is_one_update_of_its_player_alone():
    """A game by hand: the same three moves of the critic and one of the generator."""
    players, objective, data = gan()
    train(players, objective, data, batch_size=46, max_steps=1, order="given", random_state=3)
    moved = {n: p.moves for n, p in players.items()}
    assert moved == {"generator": 1, "critic": 3}

    def only_first(players, batch, step):
        yield "a", players["a"](batch[0]) - players["b"](batch[0])

    pair = {"a": mlp(2, 3, 1), "b": mlp(2, 3, 1, seed=1)}
    before = {n: nn.utils.parameters_to_vector(m.parameters()).detach() for n, m in pair.items()}
    train(pair, only_first, data, max_steps=3, random_state=0)
    after = {n: nn.utils.parameters_to_vector(m.parameters()).detach() for n, m in pair.items()}
    assert not torch.equal(after["a"], before["a"])
    assert torch.equal(after["b"], before["b"])


def test_players_have_settings_of_their_own_and_take_the_rest_from_the_run():
    players, objective, data = gan()
    seen = []

    class Rates(Hook):
        def on_step(self, run):
            seen.append({name: player.rate for name, player in run.players.items()})

    train(players, objective, data, max_steps=1, hooks=[Rates()], learning_rate=0.5)
    assert seen == [{"generator": 1e-3, "critic": 0.5}]
    assert type(players["critic"].optimizer) is torch.optim.RMSprop
    assert type(players["generator"].optimizer) is torch.optim.AdamW


def test_the_teacher_follows_by_an_average_that_warms_up():
    student, objective, data = byol()
    path, teacher = [], []

    class Follow(Hook):
        def on_step(self, run):
            path.append(nn.utils.parameters_to_vector(student.module.parameters()).detach().clone())
            teacher.append(nn.utils.parameters_to_vector(student.teacher.parameters()).clone())

    start = nn.utils.parameters_to_vector(student.module.parameters()).detach().clone()
    train(student, objective, data, **SETTINGS, hooks=[Follow()])
    average = start
    for t, (point, told) in enumerate(zip(path, teacher, strict=True)):
        decay = min(0.9, (1 + t) / (10 + t))
        average = decay * average + (1 - decay) * point
        torch.testing.assert_close(told, average, rtol=0, atol=1e-14)
    assert not any(p.requires_grad for p in student.teacher.parameters())


def test_an_average_that_warms_up_is_of_use_after_few_steps():
    """With 0.999 from the first step the average would still be the first weights."""
    X = torch.linspace(-1, 1, 40, dtype=torch.float64)[:, None]
    with seeded(0):
        line = nn.Linear(1, 1).double()
    squares = lambda module, batch: (module(batch[0]) - 3 * batch[0] - 1) ** 2  # noqa: E731
    train(line, squares, (X,), max_steps=200, learning_rate=0.1, ema_decay=0.999, random_state=0)
    assert abs(line.weight.item() - 3) < 0.2
    assert abs(line.bias.item() - 1) < 0.2


def test_the_average_follows_buffers_and_copies_counters():
    with seeded(0):
        module = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1)).double()
    means = []

    class Buffers(Hook):
        def on_step(self, run):
            means.append(run.module[1].running_mean.clone())

    data = (torch.randn(64, 2, generator=torch.Generator().manual_seed(0)).double(),)
    objective = lambda module, batch: module(batch[0]) ** 2  # noqa: E731
    settings = {**SETTINGS, "ema_decay": 0.5}
    run = train(module, objective, data, **settings, hooks=[Buffers()])
    average = torch.zeros(3, dtype=torch.float64)
    for t, mean in enumerate(means):
        decay = min(0.5, (1 + t) / (10 + t))
        average = decay * average + (1 - decay) * mean
    torch.testing.assert_close(module[1].running_mean, average, rtol=0, atol=1e-14)
    assert module[1].num_batches_tracked == run.step


def test_notes_become_columns_of_the_history_weighted_by_their_entries():
    players, objective, data = bandit()
    run = train(players, objective, data, batch_size=8, max_epochs=2, validation=data)
    assert {"reward", "validation_reward", "policy_loss", "value_loss"} <= set(run.history)

    def noting(module, batch, step):
        step.note(rows=batch[0][:, 0], twice=2.0)
        return module(batch[0])

    X = np.arange(11.0)[:, None]
    history = train(nn.Linear(1, 1).double(), noting, (X,), batch_size=4, max_epochs=1).history
    assert history["rows"] == [pytest.approx(5.0)]
    assert history["twice"] == [2.0]


def test_what_is_no_game_is_refused():
    pair = {"a": mlp(2, 3, 1), "b": mlp(2, 3, 1)}
    data = (torch.zeros(4, 2, dtype=torch.float64),)
    with pytest.raises(TypeError, match="2 players, so the objective must be a generator"):
        train(pair, lambda players, batch: players["a"](batch[0]), data)

    def strange(players, batch):
        yield players["a"](batch[0])

    with pytest.raises(TypeError, match=r"yields \(player, losses\).*got a Tensor"):
        train(pair, strange, data)

    def unknown(players, batch):
        yield "c", players["a"](batch[0])

    with pytest.raises(ValueError, match=r"'c' does not play; the players are \['a', 'b'\]"):
        train(pair, unknown, data)
    with pytest.raises(ValueError, match="has no teacher"):
        train(Player(mlp(2, 3, 1)), lambda player, batch: player.teacher(batch[0]), data)
    with pytest.raises(ValueError, match=r"teacher=1\.5"):
        Player(mlp(2, 3, 1), teacher=1.5)
    with pytest.raises(TypeError, match="a dict of these; got a list"):
        train([mlp(2, 3, 1)], strange, data)

    def game(module, batch):
        yield module, module(batch[0])

    with pytest.raises(ValueError, match="evaluates several times cannot play a game"):
        train(mlp(2, 3, 1), game, data, optimizer="lbfgs")
