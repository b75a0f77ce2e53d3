"""Fits in threads side by side learn what they learn alone, and leave PyTorch as it was."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import joblib
import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score

import panlearn
from panlearn.neural import Hook, MLPClassifier, RecurrentClassifier, train
from panlearn.neural._estimator import DeepEstimator

DEEP = {name: cls for name, cls in panlearn.all_estimators() if issubclass(cls, DeepEstimator)}
DROPS_OUT = {"MLPClassifier", "MLPRegressor", "RecurrentClassifier", "RecurrentTagger"}


def weights(library, name):
    """What a class learns in a step or two, with dropout where it is a parameter of its own."""
    X, y = library.problem(DEEP[name])
    rows = slice(11)
    options = library.small(DEEP[name]) | ({"dropout": 0.3} if name in DROPS_OUT else {})
    # Adam divides by gradients, and so magnifies rounding where they are near zero
    options |= {"optimizer": "sgd", "learning_rate": 0.01}
    model = DEEP[name](batch_size=7, max_epochs=1, random_state=0, **options)
    return model.fit(X[rows], None if y is None else y[rows]).weights_


def test_deep_models_learn_in_eight_threads_what_they_learn_alone(library, tally):
    torch.manual_seed(5)
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    alone = {name: weights(library, name) for name in DEEP}
    # neighbours in time are of different classes, and each meets itself
    order = [name for pair in zip(DEEP, reversed(DEEP), strict=True) for name in pair]
    with ThreadPoolExecutor(8) as pool:
        for name, found in zip(order, pool.map(partial(weights, library), order), strict=True):
            for key, value in alone[name].items():
                # sums are cut by the number of threads of PyTorch, which threads of ours lower
                np.testing.assert_allclose(
                    found[key], value, rtol=1e-5, atol=1e-6, err_msg=f"{name} {key}"
                )
            tally["fits on eight threads", "the same weights"] += 1
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize(
    "model", [MLPClassifier(dropout=0.5), MLPClassifier(), RecurrentClassifier()]
)
def test_cross_validation_in_threads_is_that_without(model):
    X, y = load_iris(return_X_y=True)
    X = X if isinstance(model, MLPClassifier) else X[:, :, None]
    model.set_params(random_state=0, max_epochs=2)
    alone = cross_val_score(model, X, y, cv=4)
    with joblib.parallel_config("threading"):
        np.testing.assert_array_equal(cross_val_score(model, X, y, cv=4, n_jobs=4), alone)


FORK = """
import os, signal, sys
import numpy as np, torch
from panlearn.neural import MLPClassifier

torch.set_num_threads(2)
rng = np.random.default_rng(0)
X, y = rng.normal(size=(512, 64)).astype("f4"), rng.integers(2, size=512)
model = MLPClassifier((512, 512), max_epochs=1, batch_size=256, random_state=0)
model.fit(X, y)  # large enough for both threads
child = os.fork()
if child == 0:
    signal.alarm(60)
    again = model.fit(X, y).predict_proba(X)
    os._exit(0 if np.isfinite(again).all() and torch.get_num_threads() == 1 else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_large_network_learns_in_a_forked_child():
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    env.pop("OMP_NUM_THREADS", None)
    done = subprocess.run([sys.executable, "-c", FORK], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_small_network_computes_on_one_thread_and_leaves_the_others_to_the_caller():
    inside, between = [], []

    class Look(Hook):
        def on_step(self, run):
            between.append(torch.get_num_threads())

    def objective(module, batch):
        inside.append(torch.get_num_threads())
        return module(batch[0]).square().sum(1)

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        data = (np.ones((6, 2), dtype=np.float32),)
        train(torch.nn.Linear(2, 1), objective, data, batch_size=3, max_epochs=1, hooks=[Look()])
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert inside == [1, 1]
    assert between == [3, 3]
