"""What a fit may touch: the estimator's learned attributes, and nothing else in the world."""

import copy
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

import panlearn

TESTS = str(Path(__file__).parents[1])  # where the problems of every class are
RUN_ALL = """
import hashlib, inspect, json, warnings
import numpy as np
import panlearn
from panlearn.core.map_reduce import map_reduce
from panlearn.core.sources import ArrayRows
from panlearn.core.statistics import Moments, RootMoments
from sklearn.base import is_classifier
from sklearn.utils import get_tags
import torch
from conftest import Library
threads = torch.get_num_threads()
LARGE = ("CLIP", "GPT", "ZeroShotClassifier")  # networks that use all threads, which order sums
warnings.simplefilter("ignore")

def content(value):
    if isinstance(value, dict):
        return b"".join(repr(k).encode() + content(v) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return b"".join(map(content, value))
    if isinstance(value, np.ndarray) and value.dtype == object:
        return content(value.tolist())
    if hasattr(value, "indptr"):
        return content([value.data, value.indices, value.indptr])
    if isinstance(value, (float, int, str, np.ndarray, np.generic)):
        return np.asarray(value).tobytes()
    # a part, as a tree of a forest
    return content(state(value)) if hasattr(value, "__dict__") and not callable(value) else b""

def state(thing):
    return dict(sorted(vars(thing).items()))

def digest(thing):
    return hashlib.sha256(content(state(thing))).hexdigest()

rng = np.random.default_rng(0)
bits, outputs = {}, {}
for n, d in [(60, 4), (3000, 200)]:  # one block, and several
    X = rng.normal(size=(n, d))
    signal = X @ np.linspace(1, -1, d) + rng.normal(size=n)
    for kind in (Moments, RootMoments):
        summary = lambda X, y, weight: kind.of(X, y)
        bits[f"{kind.__name__} {n}"] = digest(map_reduce(summary, ArrayRows(X, signal, None)))
    for name, cls in panlearn.all_estimators():
        if n > 60 and ("dask" not in cls.capabilities.sources or name == "HistogramDensity"):
            continue  # a grid of 200 dimensions has more cells than numbers
        # the bits are those of a walk, wherever it ends: a short one shows as much
        options = {"random_state": 3} | Library.small(cls)
        if n == 60:
            options |= {"max_epochs": 2, "n_estimators": 5, "max_iter": 10, "epochs": 2}
            options |= {"n_iter": 30, "n_burn_in": 10}
        names = inspect.signature(cls).parameters
        seed = {name: value for name, value in options.items() if name in names}
        if n > 60 and not get_tags(cls()).input_tags.two_d_array:
            continue  # the texts are the same, and of sequences there are no weights to compare
        if n == 60:
            rows, y = Library.problem(cls)
        else:
            rows = np.abs(np.round(X)) if get_tags(cls()).input_tags.positive_only else X
            y = (signal > 0).astype(int) if is_classifier(cls()) else signal
        torch.set_num_threads(1 if name in LARGE else threads)
        model = cls(**seed, **Library.required(cls)).fit(rows, y)
        if n == 60:
            bits[name] = digest(model)
        elif hasattr(model, "coef_"):
            outputs[name] = model.coef_.ravel().tolist()
print(json.dumps([bits, outputs]))
"""


def _start(**environment):
    return subprocess.Popen(
        [sys.executable, "-c", RUN_ALL],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([TESTS, *sys.path]), **environment},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_same_numbers_in_fresh_processes_whatever_the_hash_seed_and_the_threads(tally):
    started = [
        _start(PYTHONHASHSEED="1", OMP_NUM_THREADS="1"),
        _start(PYTHONHASHSEED="2", OMP_NUM_THREADS="2"),
    ]
    printed = [process.communicate()[0] for process in started]
    assert [process.returncode for process in started] == [0, 0]
    (bits, outputs), (threaded_bits, threaded_outputs) = map(json.loads, printed)
    assert bits == threaded_bits
    tally["models in fresh processes", "the same bits"] += len(bits)
    # LAPACK on two threads orders the sums of a large factorisation differently: not the same
    # bits, but the promised digits
    for name, value in outputs.items():
        np.testing.assert_allclose(threaded_outputs[name], value, rtol=1e-8, err_msg=name)


def test_pickle_gives_the_same_model(every_class, library):
    X, _ = library.problem(every_class)
    model = library.fitted(every_class)
    library.same(pickle.loads(pickle.dumps(model)), model, X, rtol=0)
    library.same(copy.deepcopy(model), model, X, rtol=0)


def test_save_and_load_give_the_same_model(every_class, library, tmp_path):
    X, _ = library.problem(every_class)
    model = library.fitted(every_class)
    panlearn.save(model, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model")
    assert type(loaded) is every_class
    ours, theirs = (
        {name: value for name, value in m.get_params().items() if not hasattr(value, "get_params")}
        for m in (loaded, model)
    )
    assert ours == theirs
    assert library.learned(loaded).keys() == library.learned(model).keys()
    library.same(loaded, model, X, rtol=0)


def test_save_and_load_before_fit(every_class, tmp_path):
    panlearn.save(every_class(), tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model")
    assert loaded.get_params() == every_class().get_params()
    assert not loaded.__sklearn_is_fitted__()


def test_a_loaded_model_goes_on_learning_as_the_saved_one(online_class, library, tmp_path):
    X, y = library.problem(online_class)
    model = library.make(online_class)
    first = {"classes": np.unique(y)} if is_classifier(model) else {}
    model.partial_fit(X[:40], None if y is None else y[:40], **first)
    panlearn.save(model, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model")
    late = (X[40:], None if y is None else y[40:])
    library.same(loaded.partial_fit(*late), model.partial_fit(*late), X, rtol=0)


def test_a_failing_fit_leaves_the_model_as_it_was(any_class, library):
    X, y = library.problem(any_class)
    model = copy.deepcopy(library.fitted(any_class))
    before, state = library.outputs(model, X), set(vars(model))
    images = get_tags(model).input_tags.three_d_array
    deep = X[:, :, None, None, None] if images else X[:, :, None]
    for method in ("fit", "partial_fit"):
        if hasattr(model, method):
            if method == "partial_fit" and any_class.capabilities.missing:
                continue  # what is missing in one part may be there in another
            with pytest.raises(ValueError, match=r"NaN|keeps nothing to go on from"):
                getattr(model, method)(np.full((9, 4), np.nan), None if y is None else y[:9])
            with pytest.raises((ValueError, TypeError)):
                getattr(model, method)(deep, y)
    assert set(vars(model)) == state
    for name, value in library.outputs(model, X).items():
        np.testing.assert_array_equal(value, before[name])


def test_a_failing_first_fit_leaves_no_trace(any_class, library):
    X, y = library.problem(any_class)
    model = library.make(any_class)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full_like(X, np.nan), y)
    assert vars(model) == before
    with pytest.raises(NotFittedError):
        library.outputs(model, X) or model.sample()


def test_fit_twice_is_fit_once(every_class, library):
    X, y = library.problem(every_class)
    other, target = library.problem(every_class, n=45, d=3, seed=1)
    model = library.brief(every_class)
    library.quietly(lambda: model.fit(other, target).fit(X, y))
    once = library.fitted(every_class)
    assert library.learned(model).keys() == library.learned(once).keys()
    library.same(model, once, X, rtol=0)


def test_fit_changes_neither_data_nor_parameters(any_class, library):
    X, y = library.problem(any_class)
    model = library.brief(any_class)
    copies, parameters = copy.deepcopy((X, y)), dict(model.get_params())
    library.quietly(lambda: model.fit(X, y))
    library.outputs(model, X)
    np.testing.assert_array_equal(X, copies[0])
    np.testing.assert_array_equal(y, copies[1])
    assert model.get_params() == parameters


def test_numpys_global_generator_is_neither_read_nor_written(every_class, library):
    X, y = library.problem(every_class)
    state = {"random_state": 1} if hasattr(every_class(), "random_state") else {}
    np.random.seed(1)  # noqa: NPY002
    first = library.brief(every_class, **state)
    library.quietly(lambda: first.fit(X, y))
    after = np.random.get_state()[1:3]  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    untouched = np.random.get_state()[1:3]  # noqa: NPY002
    np.testing.assert_array_equal(after[0], untouched[0])
    assert after[1] == untouched[1]
    np.random.seed(2)  # noqa: NPY002
    second = library.brief(every_class, **state)
    library.quietly(lambda: second.fit(X, y))
    library.same(first, second, X, rtol=0)
