"""What people see in a real terminal: no name of a model is cut, whatever the width."""

import os
import pty
import re
import subprocess
import sys

import pytest

import panlearn

CHILD = """
import fcntl, struct, sys, termios
import numpy as np
from sklearn.model_selection import KFold
from panlearn.cli.comparing import _print
from panlearn.compare.leaderboard import Leaderboard
from panlearn.compare.metrics import metrics_for
from panlearn.compare.report import Part
from panlearn.compare.scoring import Row
from panlearn.compare.table import as_table

table = as_table(np.arange(20.0)[:, None], np.arange(20) % 2)
metrics = metrics_for("classification", table.y)
rng = np.random.default_rng(0)
names = ["baseline", *sys.argv[1:]]
rows = [
    Row(name, None, {m.name: rng.random(5) for m in metrics}, 0.1, 0.01, 1.0) for name in names
]
board = Leaderboard(rows, table, metrics, KFold(5, shuffle=True, random_state=0))
for columns in (80, 120):
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    print(f"=== {columns}", flush=True)
    _print([Part("title", board, (), [])])
    sys.stdout.flush()
"""


@pytest.fixture(scope="module")
def screens():
    """The leaderboard of all classifiers as terminals of 80 and of 120 columns show it."""
    names = [name for name, _ in panlearn.all_estimators("classifier")]
    master, slave = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "TERM")}
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, *names],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**environment, "TERM": "xterm-256color"},
    )
    os.close(slave)
    seen = b""
    try:
        while block := os.read(master, 65536):
            seen += block
    except OSError:  # Linux says so where the other end is closed
        pass
    finally:
        os.close(master)
    assert child.wait() == 0, seen.decode()
    text = re.sub(r"\x1b\[[0-9;]*m", "", seen.decode()).replace("\r\n", "\n")
    _, narrow, wide = re.split(r"=== .*\n", text)
    return {80: narrow, 120: wide}, ["baseline", *names]


@pytest.mark.parametrize("columns", [80, 120])
def test_no_name_is_cut_and_no_line_of_the_table_is_too_long(screens, columns):
    shown, names = screens
    table = shown[columns].partition("≈ the folds")[0]
    lines = [line for line in table.splitlines() if re.match(r"\w+ (≈ )? *\d", line)]
    assert len(lines) == len(names) > 20
    assert sorted(line.split()[0] for line in lines) == sorted(names)
    assert max(map(len, lines)) <= columns
    assert "…" not in table
    for line in lines:  # whole numbers, with the spread of the metric that ranks
        assert re.search(r"\d\.\d{3} ± \d\.\d{3}", line)


@pytest.mark.parametrize("columns", [80, 120])
def test_sentences_break_between_words(screens, columns):
    """No line is longer than the terminal, which would break it anywhere."""
    text = screens[0][columns]
    assert max(map(len, text.splitlines())) <= columns
    summary = text.partition("at 95 %\n")[2]
    assert len(summary) > 80
    assert "baseline" in summary


def test_a_wider_terminal_shows_more(screens):
    shown, _ = screens
    assert "no room for" in shown[80]
    assert len(shown[120].splitlines()[1].split()) > len(shown[80].splitlines()[1].split())
