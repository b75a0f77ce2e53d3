"""Runs that end too soon go on where they were, bit for bit."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from panlearn.neural import Hook, train
from panlearn.neural._checkpoint import NAME, CheckpointError, read, write
from panlearn.neural._random import seeded

# A run with everything that has a memory. The child of a fork saves at every step and is killed.
KILLED = """
import os, random, signal, sys, time
from pathlib import Path
import numpy as np, torch
import torch._dynamo  # what a first optimiser imports, so that the children need not
from torch import nn
from panlearn.neural import train
from panlearn.neural._checkpoint import NAME, read
from panlearn.neural._random import seeded

torch.set_num_threads(1)
X = np.random.default_rng(0).normal(size=(40, 3))
y = X @ [[1.0], [2.0], [-1.0]]

def run(folder):
    with seeded(0):
        module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Dropout(0.3),
                               nn.Linear(4, 1)).double()
    def objective(module, batch):
        time.sleep(0.002)  # so that kills come in the middle of things
        return (module(batch[0]) - batch[1]) ** 2
    return train(module, objective, (X, y), batch_size=7, max_epochs=60, learning_rate=0.01,
        schedule="cosine", weight_decay=0.1, ema_decay=0.9, validation=(X[:9], y[:9]), patience=58,
        checkpoint=folder, checkpoint_every=1 if folder else None, resume=folder is not None,
        random_state=5)

def stamp(folder):
    path = Path(folder) / NAME
    return path.stat().st_mtime_ns if path.exists() else 0

folder, kills = sys.argv[1], int(sys.argv[2])
clock, killed, reached = random.Random(0), 0, set()
while killed < kills:
    child = os.fork()
    if child == 0:
        run(folder)
        os._exit(0)
    before, patience = stamp(folder), time.monotonic() + 30
    while killed % 2 and stamp(folder) == before and time.monotonic() < patience:
        time.sleep(0.001)  # every other time it gets a step further, on a busy machine too
    time.sleep(clock.uniform(0.0, 0.04))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status):  # it was through before the signal
        break
    killed += 1
    reached.add((read(Path(folder)) or {"step": 0})["step"])
resumed, whole = run(folder), run(None)
for a, b in zip(resumed.module.state_dict().values(), whole.module.state_dict().values()):
    assert torch.equal(a, b)
assert resumed.history == whole.history
assert resumed.step == whole.step
print(killed, len(reached) > 5)
"""


@pytest.mark.slow
def test_a_run_that_is_killed_twenty_times_ends_with_the_same_bits(tmp_path, tally):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), "20"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["20", "True"]
    tally["kills", "the same bits at the end"] += 20
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def network(width=4):
    with seeded(0):
        return nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, 1))


def squares(module, batch):
    return (module(batch[0]) - batch[1]) ** 2


@pytest.fixture
def data(rng):
    X = rng.normal(size=(30, 2)).astype(np.float32)
    return X, X[:, :1] * X[:, 1:]


def weights(module):
    return torch.cat([p.detach().flatten() for p in module.parameters()])


@pytest.mark.parametrize("stop", [1, 4, 5, 13])
@pytest.mark.parametrize("every", [None, 1])
def test_a_stopped_run_resumes_exactly(data, tmp_path, stop, every):
    settings = dict(batch_size=8, max_epochs=5, random_state=3, learning_rate=0.01)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau
    settings["schedule"] = plateau if stop == 13 else torch.optim.lr_scheduler.ExponentialLR
    if stop != 13:
        from functools import partial

        settings["schedule"] = partial(settings["schedule"], gamma=0.9)
    whole = train(network(), squares, data, **settings)
    saved = dict(checkpoint=tmp_path, checkpoint_every=every)
    with pytest.raises(SystemExit):
        train(network(), squares, data, **settings, **saved, hooks=[Terminate(stop)])
    resumed = train(network(), squares, data, **settings, **saved, resume=True)
    assert torch.equal(weights(resumed.module), weights(whole.module))
    assert resumed.history == whole.history


class Terminate(Hook):
    """Send this process the signal that a cluster sends."""

    def __init__(self, step):
        self.step = step

    def on_step(self, run):
        if run.step == self.step:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)


def test_sigterm_saves_and_says_how_to_go_on(data, tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit, match=r"after step 3; start it again with resume=True"):
        train(network(), squares, data, checkpoint=tmp_path, hooks=[Terminate(3)], batch_size=8)
    assert signal.getsignal(signal.SIGTERM) is before
    assert read(tmp_path)["step"] == 3


def test_a_finished_run_can_be_made_longer(data, tmp_path):
    settings = dict(batch_size=8, random_state=3)
    whole = train(network(), squares, data, max_epochs=6, **settings)
    train(network(), squares, data, max_epochs=2, checkpoint=tmp_path, **settings)
    more = train(
        network(), squares, data, max_epochs=6, checkpoint=tmp_path, resume=True, **settings
    )
    assert torch.equal(weights(more.module), weights(whole.module))
    again = train(
        network(), squares, data, max_epochs=6, checkpoint=tmp_path, resume=True, **settings
    )
    assert again.stopped == "max_epochs"
    assert torch.equal(weights(again.module), weights(whole.module))


def test_a_folder_with_a_run_is_not_written_over(data, tmp_path):
    train(network(), squares, data, checkpoint=tmp_path, max_epochs=1)
    before = (tmp_path / NAME).read_bytes()
    with pytest.raises(CheckpointError, match="resume=True"):
        train(network(), squares, data, checkpoint=tmp_path, max_epochs=1)
    assert (tmp_path / NAME).read_bytes() == before


def test_bad_checkpoints_are_refused_and_kept(data, tmp_path):
    path = tmp_path / NAME
    train(network(), squares, data, checkpoint=tmp_path, max_epochs=1)
    good = path.read_bytes()

    def resume(module):
        return train(module, squares, data, checkpoint=tmp_path, resume=True, max_epochs=2)

    with pytest.raises(CheckpointError, match="another module"):
        resume(network(width=5))
    for bad, says in [
        (good[:-9], "no checkpoint"),
        (good[:-9] + b"x" * 9, "checksum"),
        (b"", "no checkpoint"),
        (b"hello, world", "no checkpoint"),
    ]:
        path.write_bytes(bad)
        with pytest.raises(CheckpointError, match=says):
            resume(network())
        assert path.read_bytes() == bad
    save_file({"w": torch.ones(2)}, path)
    with pytest.raises(CheckpointError, match="not written by"):
        resume(network())
    path.write_bytes(good)
    assert resume(network()).epoch == 2


def test_any_state_comes_back_as_it_was(tmp_path):
    shared = torch.arange(6.0).reshape(2, 3)
    state = {
        "tensors": {"a": shared, "b": shared, "t": shared.T, "half": torch.ones(2).bfloat16()},
        "numbers": [1, 2.5, float("inf"), None, True, "text", (1, 2)],
        "by number": {0: {"step": torch.tensor(3)}},
        "nothing": torch.zeros(0, 4),
    }
    write(tmp_path, state)
    back = read(tmp_path)
    assert back["numbers"] == state["numbers"]
    assert back["by number"][0]["step"] == 3
    assert back["nothing"].shape == (0, 4)
    for name, tensor in state["tensors"].items():
        assert torch.equal(back["tensors"][name], tensor)
        assert back["tensors"][name].dtype == tensor.dtype
    with pytest.raises(TypeError, match="cannot write a object"):
        write(tmp_path, {"x": object()})
    assert read(tmp_path)["numbers"] == state["numbers"]
    assert read(tmp_path / "empty") is None
