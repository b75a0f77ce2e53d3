"""Several processes under torchrun train as one does."""

import contextlib
import inspect
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.neural.test_games import GAMES, close, modules_of
from torch import nn

import panlearn
from panlearn.neural import Hook, train
from panlearn.neural._estimator import DeepEstimator
from panlearn.neural._random import seeded
from panlearn.transformer import BERTConfig

# All in one go, since to start a process takes long; the run that loses one imports little.
SCRIPT = """
import sys
import torch
from tests.neural.test_processes import learn, learn_every, play_all
out, lose = sys.argv[1], int(sys.argv[2])
torch.set_num_threads(1)
learn(out + "-ddp", "ddp", lose)
learn(out + "-fsdp", "fsdp")
from tests.alignment.test_online import tune_all
from tests.conftest import Library
learn_every(out + "-every", Library)
play_all(out + "-play")
tune_all(out + "-tune")
"""


def rank():
    """The number of this process, or nothing if it is alone."""
    return os.environ.get("RANK", "")


class Lose(Hook):
    """Kill the second process after a step."""

    def __init__(self, step):
        self.step = step

    def on_step(self, run):
        if run.step == self.step and rank() == "1":
            os.kill(os.getpid(), signal.SIGKILL)


def squares(module, batch):
    return (module(batch[0]) - batch[1])[:, 0] ** 2, batch[2]


def learn(out, strategy, lose=0):
    """Train with every setting that has to be shared."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(45, 3))  # batches of 8 leave 5 for the last: unequal shares
    y, w = X @ [[1.0], [2.0], [-1.0]], rng.integers(0, 3, 45).astype(float)
    own = int(rank() or 0)
    with seeded(own):  # the weights of process 0 count
        layers = nn.Linear(3, 6), nn.Tanh(), nn.LayerNorm(6), nn.Linear(6, 1)
        module = nn.Sequential(*layers).double()
    run = train(
        *(module, squares, (X, y, w)),
        batch_size=8,
        max_epochs=4,
        learning_rate=0.01,
        schedule="cosine",
        weight_decay=0.1,
        clip_norm=1.0,
        accumulate=2,
        ema_decay=0.5,
        validation=(X[:7], y[:7], w[:7]),
        patience=9,
        random_state=5 + own,
        strategy=strategy,
        hooks=[Lose(lose)],
        checkpoint=f"{out}-checkpoint",
        checkpoint_every=1,
        resume=True,
    )
    found = {"weights": module.state_dict(), "history": run.history, "steps": run.step}
    torch.save(found, f"{out}{rank()}")


def learn_every(out, library):
    """Fit every deep estimator; one that is new must say from what."""
    found = {}
    classes = [(n, c) for n, c in panlearn.all_estimators() if issubclass(c, DeepEstimator)]
    for strategy in ("ddp", "fsdp"):
        for name, cls in classes:
            if strategy == "fsdp" and hasattr(cls, "reward"):  # rollouts are refused there
                continue
            X, y = library.problem(cls)
            rows = slice(9)  # a batch of 7, and two for the last
            options = library.small(cls)
            options |= {"dropout": 0.3} if "dropout" in inspect.signature(cls).parameters else {}
            if name.startswith(("BERT", "Sentence")):
                options |= {"config": BERTConfig(dropout=0.3)}
            elif name == "WassersteinGAN" and strategy == "fsdp":  # no gradients of gradients
                options |= {"constraint": "clipping"}
            # Adam divides by gradients, and so magnifies rounding where they are near zero
            options |= {"optimizer": "sgd", "learning_rate": 0.01, "schedule": "linear"}
            options |= {"clip_norm": 1.0}
            model = cls(batch_size=7, max_epochs=1, random_state=0, strategy=strategy, **options)
            model.fit(X[rows], None if y is None else y[rows])
            found[f"{name} {strategy}"] = {k: torch.tensor(v) for k, v in model.weights_.items()}
    torch.save(found, f"{out}{rank()}")


def play_all(out):
    """Play the games of test_games, with a memory of weights for one of them."""
    found = {}
    for name in GAMES:
        target, objective, data = GAMES[name]()
        # batches of 5 leave one row at times, so that a process has none
        run = train(
            *(target, objective, data),
            batch_size=5,
            max_epochs=2,
            learning_rate=0.01,
            random_state=3,
            ema_decay=0.5 if name == "byol" else None,
        )
        states = {n: m.state_dict() for n, m in modules_of(target).items()}
        found[name] = {"states": states, "history": run.history}
    torch.save(found, f"{out}{rank()}")


def launch(out, lose=0):
    path = out.parent / "script.py"
    path.write_text(SCRIPT)
    python = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    return subprocess.run(
        [*python, str(path), str(out), str(lose)],
        capture_output=True,
        text=True,
        timeout=1800,  # a process that hangs, not a busy machine
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"},
    )


@contextlib.contextmanager
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def results(path):
    return torch.load(path, weights_only=True)


def same(one, other):
    # the same sums in another order, over twenty-four steps of Adam
    for name, value in one["weights"].items():
        torch.testing.assert_close(other["weights"][name], value, rtol=0, atol=1e-6)
    for name, values in one["history"].items():
        assert other["history"][name] == pytest.approx(values, rel=1e-6)
    assert one["steps"] == other["steps"]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    out = tmp_path_factory.mktemp("one") / "alone"
    with one_thread():
        learn(out, "ddp")
    return results(out)


@pytest.fixture(scope="module")
def lost(tmp_path_factory):
    """Two processes of which one is lost after step nine, and where they wrote."""
    out = tmp_path_factory.mktemp("two") / "both"
    return launch(out, lose=9), out


@pytest.fixture(scope="module")
def both(lost):
    """Where two processes wrote that went on from there."""
    _, out = lost
    done = launch(out)
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.slow
def test_a_lost_process_ends_the_other_with_what_to_do(lost):
    done, out = lost
    assert done.returncode != 0
    assert "lost another one after step" in done.stderr
    assert "resume=True" in done.stderr
    assert Path(f"{out}-ddp-checkpoint").exists()
    assert not Path(f"{out}-ddp0").exists()


@pytest.mark.slow
def test_two_processes_train_as_one_though_one_was_lost(alone, both):
    first, second = (results(f"{both}-ddp{rank}") for rank in "01")
    same(alone, first)
    same(first, second)


@pytest.mark.slow
def test_shards_train_as_the_whole(alone, both):
    for rank in "01":
        same(alone, results(f"{both}-fsdp{rank}"))


@pytest.mark.slow
def test_every_deep_estimator_learns_the_same_on_two_processes(both, library, tmp_path):
    with one_thread():
        library.quietly(lambda: learn_every(tmp_path / "alone", library))
    one = results(tmp_path / "alone")
    assert {"GPT ddp", "MLPClassifier fsdp", "RecurrentClassifier ddp"} <= set(one)
    for rank in "01":
        other = results(f"{both}-every{rank}")
        for name, weights in one.items():
            for key, value in weights.items():
                torch.testing.assert_close(  # float32 sums in another order
                    other[name][key], value, rtol=0, atol=1e-6, msg=f"{name} {key}"
                )


@pytest.mark.slow
def test_two_processes_play_as_one(both, tmp_path):
    with one_thread():
        play_all(tmp_path / "alone")
    one = results(tmp_path / "alone")
    assert one.keys() == GAMES.keys()
    for rank in "01":
        other = results(f"{both}-play{rank}")
        for name, game in one.items():
            for player, state in game["states"].items():
                close(
                    {k: v.numpy() for k, v in state.items()},
                    {k: v.numpy() for k, v in other[name]["states"][player].items()},
                )
            for metric, values in game["history"].items():
                np.testing.assert_allclose(other[name]["history"][metric], values, atol=1e-12)


@pytest.mark.slow
def test_two_processes_tune_as_one(both, library, tmp_path):
    from tests.alignment.test_online import tune_all

    with one_thread():
        library.quietly(lambda: tune_all(tmp_path / "alone"))
    one = results(tmp_path / "alone")
    assert one.keys() == {"GRPO", "PPO", "sft", "packed", "distill"}
    for rank in "01":
        other = results(f"{both}-tune{rank}")
        for tuner, weights in one.items():
            for name, value in weights.items():
                torch.testing.assert_close(other[tuner][name], value, rtol=0, atol=1e-6, msg=name)
