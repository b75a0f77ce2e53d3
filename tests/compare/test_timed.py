import os
import signal
import subprocess
import sys
import time

import cloudpickle
import numpy as np
import pytest

from panlearn.compare.timed import JobCrashedError, TimedWorker
from panlearn.core import jit

cloudpickle.register_pickle_by_value(sys.modules[__name__])


def total(x):
    return os.getpid(), float(x.sum())


def spin(x):
    while True:
        pass


def leave(x):
    os._exit(9)


def chat(x):
    os.write(1, b"chatter")


def refuse(x):
    raise ValueError("no")


class OddError(Exception):
    """Cannot be unpickled: the message is not what it is made of."""

    def __init__(self, first, second):
        if not isinstance(second, str):
            raise TypeError("a thing of two parts")
        super().__init__(first)

    def __reduce__(self):
        return OddError, ("a", 1)


def odd(x):
    raise OddError("a", "b")


@pytest.fixture(scope="module")
def worker():
    """One for all, since a process takes long to start; it is another after a kill."""
    with TimedWorker(np.ones(3)) as worker:
        yield worker


def test_jobs_share_one_process_that_is_not_this_one(worker):
    first, second = (worker.run(total, limit=30) for _ in range(2))
    assert first == second
    assert first[0] != os.getpid()
    assert first[1] == 3.0


def test_without_a_limit_there_is_no_process(worker):
    assert worker.run(total, limit=None) == (os.getpid(), 3.0)


def test_a_busy_loop_is_stopped_and_the_next_job_runs(worker):
    pid, _ = worker.run(total, limit=30)
    with pytest.raises(TimeoutError, match="stopped after 1 s"):
        worker.run(spin, limit=1.0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert worker.run(total, limit=30)[1] == 3.0


def test_a_crash_is_an_error_and_the_next_job_runs(worker):
    with pytest.raises(JobCrashedError):
        worker.run(leave, limit=30)
    assert worker.run(total, limit=30)[1] == 3.0


def test_an_exception_comes_back(worker):
    with pytest.raises(ValueError, match="no"):
        worker.run(refuse, limit=30)


def test_what_a_job_prints_does_not_reach_the_terminal(worker, capfd):
    worker.run(chat, limit=30)
    assert capfd.readouterr().out == ""


PARENT = """
import os, sys, time
import cloudpickle
from panlearn.compare.timed import TimedWorker

def spin(path):
    open(path, "w").write(str(os.getpid()))
    while True:
        pass

cloudpickle.register_pickle_by_value(sys.modules[__name__])
with TimedWorker(sys.argv[1]) as worker:
    worker.run(spin, limit=3000)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_worker_ends_with_the_process_that_started_it(number, tmp_path):
    place = tmp_path / "pid"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(place)], env=env)
    for _ in range(6000):
        if place.exists() and place.read_text():
            break
        time.sleep(0.1)
    worker = int(place.read_text())
    parent.send_signal(number)
    assert parent.wait() == -number
    for _ in range(6000):
        if not _runs(worker):
            break
        time.sleep(0.1)
    assert not _runs(worker)


STARTING = """
import os, signal, subprocess, sys
from panlearn.compare.timed import TimedWorker

class Ending(subprocess.Popen):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        print(self.pid, flush=True)
        os.kill(os.getpid(), signal.SIGTERM)

subprocess.Popen = Ending
with TimedWorker(bytes(10**7)) as worker:
    worker.run(len, limit=3000)
"""


def test_a_worker_that_is_starting_ends_without_a_word():
    """The parent is ended before it has sent anything; what starts then has nothing to read."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", STARTING]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGTERM
    assert done.stderr == ""
    for _ in range(6000):
        if not _runs(int(done.stdout)):
            break
        time.sleep(0.1)
    assert not _runs(int(done.stdout))


def test_a_result_that_cannot_be_read_costs_no_other_job(worker):
    with pytest.raises(TypeError, match="a thing of two parts"):
        worker.run(odd, limit=30)
    assert worker.run(total, limit=30)[1] == 3.0


def _runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def compile_for(x, seconds):
    for compiling in (True, False):
        for watcher in jit.watchers:
            watcher(compiling)
        time.sleep(seconds if compiling else 0)
    return float(x.sum())


def test_compiling_is_not_counted(worker):
    assert worker.run(compile_for, 3.5, limit=3.0) == 3.0
