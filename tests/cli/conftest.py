"""A way to run the command."""

import pytest
from click.testing import CliRunner

from panlearn.cli import main
from panlearn.compare import running, timed


@pytest.fixture
def run(monkeypatch):
    """Run the command in this process; the result has exit_code, stdout and stderr.

    Models that are compared run here too, one after the other: a process for each command takes
    longer than all the rest. What a process adds is tested in tests/compare, and the whole command
    with its processes in test_comparing.py.
    """

    def here(self, job, *arguments, limit):
        return job(*self._shared, *arguments)

    def invoke(*arguments):
        return CliRunner().invoke(main, [str(a) for a in arguments])

    monkeypatch.setattr(running, "n_threads", lambda: 1)
    monkeypatch.setattr(timed.TimedWorker, "run", here)
    return invoke
