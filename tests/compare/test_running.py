"""Several models at a time: each on its share of the cores, and all of them end at Ctrl-C."""

import os
import signal
import subprocess
import sys
import time

import cloudpickle
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from panlearn.compare import running
from panlearn.compare.running import run_each
from panlearn.compare.scoring import Row

cloudpickle.register_pickle_by_value(sys.modules[__name__])
COLUMNS = pd.DataFrame({"a": np.arange(5.0)})


class Named(BaseEstimator):
    def __init__(self, name=""):
        self.name = name


@pytest.fixture
def two_cores(monkeypatch):
    monkeypatch.setattr(running, "n_threads", lambda: 2)


def meet(folder, name, pipeline):
    """Say that this one is here and wait for the other, which must run at the same time."""
    open(os.path.join(folder, name), "w").close()
    for _ in range(600):
        if len(os.listdir(folder)) == 2:
            return Row(name, pipeline, warnings=(os.environ["OMP_NUM_THREADS"],))
        time.sleep(0.1)
    raise RuntimeError("alone")


@pytest.mark.usefixtures("two_cores")
def test_two_models_run_at_a_time_each_on_one_core(tmp_path):
    rows, interrupted = run_each(
        {"none": "no reason", "one": Named("one"), "two": Named("two")},
        (str(tmp_path),),
        meet,
        (),
        columns=COLUMNS,
        time_limit=90.0,
        progress=running.silent,
    )
    assert not interrupted
    assert [row.name for row in rows] == ["none", "one", "two"]
    assert [row.error for row in rows] == ["no reason", "", ""]
    assert rows[1].warnings == rows[2].warnings == ("1",)


def test_cores_are_shared_and_a_process_without_limit_has_all(monkeypatch):
    for cores, expected in ((1, (1, 1)), (2, (2, 1)), (4, (4, 1)), (64, (4, 16))):
        monkeypatch.setattr(running, "n_threads", lambda cores=cores: cores)
        assert running.at_once(60.0) == expected
        assert running.at_once(None) == (1, cores)
        assert bool(running.said_of_threads(60.0)) == (cores > 1)
        assert running.said_of_threads(None) == []


INTERRUPTED = """
import os, signal, sys, time
import pandas as pd
from sklearn.base import BaseEstimator
from panlearn.compare import running
from panlearn.compare.scoring import Row

class Named(BaseEstimator):
    pass

def job(folder, name, pipeline):
    if name == "quick":
        return Row(name, pipeline)
    open(os.path.join(folder, f"{name} {os.getpid()}"), "w").close()
    time.sleep(3000)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
running.n_threads = lambda: 2
names = ["quick", "slow", "slower", "last"]
rows, interrupted = running.run_each(
    {name: Named() for name in names}, (sys.argv[1],), job, (),
    columns=pd.DataFrame({"a": [1.0, 2.0]}), time_limit=2000.0, progress=running.silent,
)
print(interrupted, [row.error for row in rows])
"""


def test_ctrl_c_ends_all_at_once_and_keeps_what_is_done(tmp_path):
    """As by a terminal, which sends it to the whole group of the process."""
    folder = tmp_path / "running"
    folder.mkdir()
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", INTERRUPTED, str(folder)]
    started = subprocess.Popen(
        command, env=env, stdout=-1, stderr=-1, text=True, start_new_session=True
    )
    for _ in range(6000):  # a busy machine starts them late
        if len(os.listdir(folder)) == 2:
            break
        time.sleep(0.1)
    pids = [int(name.split()[1]) for name in os.listdir(folder)]
    os.killpg(started.pid, signal.SIGINT)
    out, err = started.communicate(timeout=600)
    assert err == ""
    assert out == "True ['', 'interrupted', 'interrupted', 'not run: interrupted']\n"
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
