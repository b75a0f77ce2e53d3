"""Several processes under torchrun train as one does."""

import os
import subprocess
import sys

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


def launch(processes, out, strategy="ddp", lose=0):
    python = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command = [*python, "--nproc_per_node", str(processes)] if processes > 1 else [sys.executable]
    script = out.parent / "script.py"
    script.write_text(SCRIPT)
    return subprocess.run(
        [*command, str(script), str(out), strategy, str(lose)],
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


@pytest.mark.slow
def test_two_processes_train_as_one_and_a_lost_one_costs_a_restart(tmp_path):
    alone = tmp_path / "alone"
    assert launch(1, alone).returncode == 0
    lost = launch(2, tmp_path / "lost", lose=9)
    assert lost.returncode != 0
    assert "lost another one after step" in lost.stderr
    assert "resume=True" in lost.stderr
    assert (tmp_path / "lost-checkpoint").exists()
    again = launch(2, tmp_path / "lost")
    assert again.returncode == 0, again.stderr
    same(results(alone), results(tmp_path / "lost0"))
    same(results(tmp_path / "lost0"), results(tmp_path / "lost1"))


@pytest.mark.slow
def test_shards_train_as_the_whole(tmp_path):
    assert launch(1, tmp_path / "alone").returncode == 0
    sharded = launch(2, tmp_path / "shards", strategy="fsdp")
    assert sharded.returncode == 0, sharded.stderr
    for rank in "01":
        same(results(tmp_path / "alone"), results(tmp_path / f"shards{rank}"))
