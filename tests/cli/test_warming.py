import json
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

import panlearn
from panlearn.cli import trials as module
from panlearn.cli import warming
from panlearn.core import jit


@pytest.fixture
def two(monkeypatch):
    """Two trials of our own, run in this process: one compiles two kernels, one breaks."""

    def compile_two():
        for compiling in (True, False) * 2:
            for watcher in jit.watchers:
                watcher(compiling)

    def breaks():
        raise RuntimeError("out of order")

    made = {"Compiles": compile_two, "Breaks": breaks}
    monkeypatch.setattr(module, "trials", lambda family: made if family == "tree" else {})
    monkeypatch.setattr(warming, "_in_processes", map)


@pytest.mark.usefixtures("two")
def test_every_trial_is_run_and_what_fails_is_said(run):
    result = run("warm", "--json")
    assert result.exit_code == 1
    said = json.loads(result.stdout)
    assert (said["tried"], said["compiled"]) == (2, 2)
    assert said["failed"] == {"tree.Breaks": "RuntimeError: out of order"}
    assert "tree.Breaks: RuntimeError" in run("warm", "tree").stderr
    assert json.loads(run("warm", "linear", "--json").stdout)["tried"] == 0


def test_an_unknown_family_is_refused(run):
    result = run("warm", "oak")
    assert result.exit_code == 2
    assert "no family 'oak'" in result.stderr


def test_a_family_with_kernels_has_trials_and_one_without_has_none():
    assert "DecisionTreeClassifier in float32" in module.trials("tree")
    assert module.trials("theory") == {}


@pytest.mark.parametrize("family", ["linear", "bayes", "tree", "latent", "sequence", "text"])
def test_there_is_a_problem_for_every_class(family):
    for name in getattr(panlearn, family).__all__:
        cls = getattr(getattr(panlearn, family), name)
        if isinstance(cls, type) and hasattr(cls, "capabilities"):
            X, y = module.problem(cls, n=20)
            assert y is None or len(y) == len(X)


def test_a_worker_that_grew_and_was_replaced_is_no_matter_for_the_user(monkeypatch):
    class Pool(ThreadPoolExecutor):
        def submit(self, function, *arguments):
            warnings.warn("A worker stopped while some jobs were given", UserWarning, stacklevel=1)
            return super().submit(function, *arguments)

    monkeypatch.setattr("joblib.externals.loky.ProcessPoolExecutor", Pool)
    assert list(warming._in_processes(len, ["one"])) == [3]


FIRST_TEXT = """
import sys
from panlearn.cli.trials import trial, writer
if {compiles}:
    name, compiled = trial(({family!r}, {name!r}))
    assert isinstance(compiled, int) and compiled > 0, compiled
else:
    model = writer({family!r})
    model.generate("a", max_tokens=3)
    model.generate("a", max_tokens=3, temperature=1.0)
    assert "numba" not in sys.modules
"""


@pytest.mark.parametrize(
    ("family", "name"), [("transformer", "GPT writes"), ("statespace", "Mamba writes")]
)
def test_a_first_text_after_warming_compiles_nothing(family, name, tmp_path):
    for compiles in (True, False):
        subprocess.run(
            [sys.executable, "-c", FIRST_TEXT.format(compiles=compiles, family=family, name=name)],
            check=True,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        )
