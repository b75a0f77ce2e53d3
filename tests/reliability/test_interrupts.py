"""Ctrl-C, once and twice, in every kind of loop: what was learned is kept, or nothing changes."""

import importlib
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import panlearn
from panlearn.core import interrupts
from panlearn.core.interrupts import interrupted, interruption, passes

FOREVER = 10**6
SAMPLER = {"n_iter": FOREVER, "n_burn_in": FOREVER - 1}
EM = {"n_components": 3, "tol": 0.0, "max_iter": FOREVER}
# What would learn for hours; each but the last few learned for nothing when it was interrupted.
LONG = {
    "SVC": {"C": 1e6, "tol": 1e-9},
    "LSSVC": {"solver": "cg", "tol": 1e-300, "max_iter": FOREVER},
    "LSSVR": {"solver": "cg", "tol": 1e-300, "max_iter": FOREVER},
    "LatentDirichletAllocation": SAMPLER,
    "Word2Vec": {"epochs": FOREVER, "min_count": 1},
    "GloVe": {"epochs": FOREVER, "min_count": 1},
    "FastTextClassifier": {"epoch": FOREVER, "lr": 1e-3},
    "BernoulliRBM": {"n_iter": FOREVER},
    "DirichletProcessMixture": SAMPLER,
    "IndianBuffetFactors": SAMPLER,
    "GPLVM": {"max_iter": FOREVER},
    "GaussianMixtureClassifier": EM,
    "GaussianMixture": {**EM, "n_init": 3},
    "KMeans": {"n_clusters": 40, "tol": 0.0, "max_iter": FOREVER, "n_init": 50},
}


@pytest.fixture
def listening(monkeypatch):
    """Ctrl-C as in a program of its own; the runner of the tests may have switched it off."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield monkeypatch
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def press(listening):
    """Press Ctrl-C at the beginning of each loop, so that it ends after its first pass."""
    importlib.import_module("panlearn.core.compilation")  # listens too, as long as it is imported
    real = signal.signal

    def begin(number, handler):
        before = real(number, handler)
        if handler is not signal.default_int_handler:
            signal.raise_signal(number)
        return before

    listening.setattr(interrupts.signal, "signal", begin)
    return listening


@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_keeps_what_was_learned(name, library, press, tally):
    cls = dict(panlearn.all_estimators())[name]
    rng = np.random.default_rng(0)
    X, y = library.problem(cls, n=400)
    if name == "SVC":
        X, y = rng.normal(size=(1500, 3)), rng.integers(2, size=1500)  # nothing to tell apart
    elif name == "BernoulliRBM":
        X = (X > 0).astype(float)
    model = library.make(cls, **LONG[name])
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    answers = library.outputs(model, X[:20])
    assert answers
    for method, value in answers.items():
        if np.asarray(value).dtype.kind == "f":
            assert np.isfinite(value).all(), method
    tally["interrupts", "the best so far kept"] += 1


def test_the_second_ctrl_c_is_raised_and_leaves_the_model(library, press):
    X = np.abs(np.sign(library.problem(panlearn.latent.BernoulliRBM)[0]))
    model = panlearn.latent.BernoulliRBM(3, n_iter=1, random_state=0).fit(X)
    before = dict(vars(model))
    model.set_params(n_iter=FOREVER)
    counted = interrupts.passes

    def impatient(estimator, count):  # in the middle of a pass
        for i in counted(estimator, count):
            signal.raise_signal(signal.SIGINT)
            yield i

    press.setattr("panlearn.latent.bernoulli_rbm.passes", impatient)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert {**vars(model), "n_iter": 1} == before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class Impatient:
    """Press Ctrl-C in the second iteration."""

    def __init__(self):
        self.begun = 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        self.begun += context.task_name == "iteration"
        if self.begun == 2:
            signal.raise_signal(signal.SIGINT)

    def on_fit_task_end(self, estimator, context):
        pass


@pytest.mark.parametrize("name", ["LogisticRegression", "MLPClassifier", "NMF", "GaussianHMM"])
def test_a_loop_that_reports_ends_with_the_iteration_under_way(name, library, listening):
    cls = dict(panlearn.all_estimators())[name]
    X, y = library.problem(cls)
    model = library.make(cls).set_callbacks(Impatient())
    with pytest.warns(ConvergenceWarning, match="it was interrupted at iteration [12] "):
        model.fit(X, y)
    assert not model.converged_
    assert library.outputs(model, X)


def test_loops_within_a_loop_and_on_threads_share_the_event(listening):
    from panlearn.core.threads import threads

    with interruption() as outer:
        with interruption() as inner:
            assert inner is outer
        assert not interrupted()
        signal.raise_signal(signal.SIGINT)
        assert interrupted()
        with threads(2) as run:
            assert list(run(lambda i: interrupted(), range(3))) == [True] * 3
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert not interrupted()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_a_handler_of_the_user_stays(listening):
    heard = []
    signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    with interruption() as asked:
        signal.raise_signal(signal.SIGINT)
        assert not asked.is_set()
    assert heard == [signal.SIGINT]


def test_passes_are_a_range(listening):
    assert list(passes(object(), 3)) == [0, 1, 2]
    for _ in passes(object(), 9):
        break
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.warns(ConvergenceWarning, match="int was interrupted after 2 of 9 passes"):
        assert _walked(9, press_at=1) == [0, 1]
    assert _walked(3, press_at=2) == [0, 1, 2]  # in the last one there is nothing to warn of


def _walked(count, press_at):
    seen = []
    for i in passes(1, count):
        seen.append(i)
        if i == press_at:
            signal.raise_signal(signal.SIGINT)
    return seen


KERNELS = """
import os, signal, sys, threading, time
import numpy as np
from panlearn.text import Word2Vec
from panlearn.tree import AdaBoostClassifier, DecisionTreeClassifier, RandomForestClassifier
from panlearn.neighbors import KNeighborsClassifier

signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
small, large = rng.normal(size=(60, 4)), rng.normal(size=(40_000, 20))
made = {
    "tree": (DecisionTreeClassifier(), "fit"),
    "forest": (RandomForestClassifier(50, n_jobs=1), "fit"),
    "boosting": (AdaBoostClassifier(n_estimators=10_000), "fit"),
}
for name, (model, method) in made.items():
    model.fit(small, (small[:, 0] > 0).astype(int))  # what is compiled is compiled
    before = dict(vars(model))
    y = rng.integers(2, size=len(large))
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()  # on a busy machine it may ring before the fit begins
        getattr(model, method)(large, y)
    except KeyboardInterrupt:
        print(name, "KeyboardInterrupt", vars(model) == before)
    except BaseException as error:
        print(name, type(error).__name__, repr(error))
    else:
        print(name, "was too quick")
    timer.join()
os.kill(os.getpid(), signal.SIGINT)
model.fit(large, y)
"""


def test_in_a_compiled_kernel_it_is_a_keyboard_interrupt_and_the_model_is_as_before(
    tally,
):
    done = subprocess.run(
        [sys.executable, "-c", KERNELS],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    assert lines == [f"{name} KeyboardInterrupt True" for name in ("tree", "forest", "boosting")]
    assert done.returncode in (130, -signal.SIGINT), done.stderr
    tally["interrupts", "raised, the model as before"] += len(lines)
