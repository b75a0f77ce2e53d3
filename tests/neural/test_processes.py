"""Several processes under torchrun train as one does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

SCRIPT = """
import os, signal, sys
import numpy as np, torch
from torch import nn
from panlearn.neural import Hook, train
from panlearn.neural._random import seeded

torch.set_num_threads(1)
out, strategy, lose = sys.argv[1], sys.argv[2], int(sys.argv[3])
rng = np.random.default_rng(0)
X = rng.normal(size=(45, 3))  # batches of 8 leave 5 for the last: unequal shares
y, w = X @ [[1.0], [2.0], [-1.0]], rng.integers(0, 3, 45).astype(float)
with seeded(int(os.environ.get("RANK", 0))):  # the weights of process 0 count
    module = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.LayerNorm(6), nn.Linear(6, 1)).double()

def objective(module, batch):
    return (module(batch[0]) - batch[1])[:, 0] ** 2, batch[2]

class Lose(Hook):
    def on_step(self, run):
        if run.step == lose and os.environ.get("RANK") == "1":
            os.kill(os.getpid(), signal.SIGKILL)

run = train(module, objective, (X, y, w), batch_size=8, max_epochs=4, learning_rate=0.01,
    schedule="cosine", weight_decay=0.1, clip_norm=1.0, accumulate=2, ema_decay=0.5,
    validation=(X[:7], y[:7], w[:7]), patience=9, random_state=5 + int(os.environ.get("RANK", 0)),
    strategy=strategy, hooks=[Lose()], checkpoint=out + "-checkpoint", checkpoint_every=1,
    resume=True)
torch.save({"weights": module.state_dict(), "history": run.history, "steps": run.step},
           out + os.environ.get("RANK", ""))
"""


def launch(processes, out, strategy="ddp", lose=0, script=SCRIPT):
    python = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command = [*python, "--nproc_per_node", str(processes)] if processes > 1 else [sys.executable]
    path = out.parent / "script.py"
    path.write_text(script)
    return subprocess.run(
        [*command, str(path), str(out), strategy, str(lose), str(Path(__file__).parents[1])],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"},
    )


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
    done = launch(1, out)
    assert done.returncode == 0, done.stderr
    return results(out)


@pytest.mark.slow
def test_two_processes_train_as_one_and_a_lost_one_costs_a_restart(alone, tmp_path):
    lost = launch(2, tmp_path / "lost", lose=9)
    assert lost.returncode != 0
    assert "lost another one after step" in lost.stderr
    assert "resume=True" in lost.stderr
    assert (tmp_path / "lost-checkpoint").exists()
    again = launch(2, tmp_path / "lost")
    assert again.returncode == 0, again.stderr
    same(alone, results(tmp_path / "lost0"))
    same(results(tmp_path / "lost0"), results(tmp_path / "lost1"))


@pytest.mark.slow
def test_shards_train_as_the_whole(alone, tmp_path):
    sharded = launch(2, tmp_path / "shards", strategy="fsdp")
    assert sharded.returncode == 0, sharded.stderr
    for rank in "01":
        same(alone, results(tmp_path / f"shards{rank}"))


# Every deep estimator learns the same on two processes; one that is new must say from what.
EVERY = """
import inspect, os, sys
import torch
import panlearn
sys.path.insert(0, sys.argv[4])
from conftest import Library
from panlearn.neural._estimator import DeepEstimator
from panlearn.transformer import BERTConfig

torch.set_num_threads(1)
found = {}
classes = [(n, c) for n, c in panlearn.all_estimators() if issubclass(c, DeepEstimator)]
for strategy in ("ddp", "fsdp"):  # in one go, since to start a process takes long
    for name, cls in classes:
        if strategy == "fsdp" and hasattr(cls, "reward"):  # rollouts are refused there
            continue
        X, y = Library.problem(cls)
        rows = slice(23)  # batches of 7 leave two for the last
        options = Library.small(cls)
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
torch.save(found, sys.argv[1] + os.environ.get("RANK", ""))
"""


@pytest.mark.slow
def test_every_deep_estimator_learns_the_same_on_two_processes(tmp_path):
    single = launch(1, tmp_path / "alone", script=EVERY)
    assert single.returncode == 0, single.stderr
    both = launch(2, tmp_path / "both", script=EVERY)
    assert both.returncode == 0, both.stderr
    one = results(tmp_path / "alone")
    assert {"GPT ddp", "MLPClassifier fsdp", "RecurrentClassifier ddp"} <= set(one)
    for rank in "01":
        other = results(tmp_path / f"both{rank}")
        for name, weights in one.items():
            for key, value in weights.items():
                torch.testing.assert_close(  # float32 sums in another order
                    other[name][key], value, rtol=0, atol=1e-6, msg=f"{name} {key}"
                )
