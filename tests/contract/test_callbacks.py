"""Iterative estimators report to scikit-learn's callbacks and keep a record."""

import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.exceptions import ConvergenceWarning


class Stopper:
    """Ask to stop after some iterations, and note what was seen."""

    def __init__(self, after):
        self.after, self.ends, self.torn_down = after, 0, 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        self.torn_down += 1

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        if context.task_name == "iteration":
            self.ends += 1
            return self.ends >= self.after
        return None


def _slow(cls, library):
    """A model that would iterate for long."""
    most = "max_iter" if hasattr(cls(), "max_iter") else "max_epochs"  # deep models count epochs
    return library.brief(cls, **{most: 50}, **({"tol": 0.0} if hasattr(cls(), "tol") else {}))


def test_the_record_of_the_iterations(looping_class, library):
    model = library.fitted(looping_class)
    assert isinstance(model.n_iter_, int)
    assert model.n_iter_ >= 1
    assert isinstance(model.converged_, bool)
    assert isinstance(model.history_, dict)
    for name, values in model.history_.items():
        assert isinstance(values, list), name
        assert len(values) == model.n_iter_, name
        assert all(type(v) is float for v in values), name


def test_too_few_iterations_warn_and_say_what_to_do(looping_class, library):
    X, y = library.problem(looping_class)
    if not hasattr(looping_class(), "tol"):
        pytest.skip("has no tolerance")
    model = library.make(looping_class, max_iter=1, tol=1e-13)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    if model.converged_:
        pytest.skip("one iteration is enough")
    texts = [str(w.message) for w in caught if w.category is ConvergenceWarning]
    assert len(texts) == 1
    for part in (
        looping_class.__name__,
        "iteration 1",
        "change of",
        "tol=1e-13",
        "max_iter",
    ):
        assert part in texts[0]


def test_a_callback_that_returns_true_stops_the_fit(looping_class, library):
    X, y = library.problem(looping_class)
    stopper = Stopper(after=2)
    model = _slow(looping_class, library).set_callbacks(stopper)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert model.n_iter_ <= 2
    assert stopper.ends == model.n_iter_
    assert stopper.torn_down == 1
    for value in library.outputs(model, X).values():
        if np.asarray(value).dtype.kind not in "UO":  # tags of words are no numbers
            assert np.isfinite(np.asarray(value, dtype=float)).all()


def test_a_failing_fit_tears_callbacks_down(iterative_class, library):
    X, y = library.problem(iterative_class)
    stopper = Stopper(after=2)
    model = _slow(iterative_class, library).set_callbacks(stopper)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full_like(X, np.nan), y)
    library.quietly(lambda: model.fit(X, y))
    assert stopper.torn_down in (1, 2)  # a fit that fails before its loop has set nothing up


def test_scikit_learns_own_callbacks(looping_class, library, capsys):
    X, y = library.problem(looping_class)
    model = library.fitted(looping_class)
    scoring = "accuracy" if is_classifier(model) else "r2" if is_regressor(model) else None
    callbacks = [ProgressBar(), *([ScoringMonitor(scoring=scoring)] if scoring else [])]
    watched = library.brief(looping_class).set_callbacks(*callbacks)
    library.quietly(lambda: watched.fit(X, y))
    library.same(watched, model, X, rtol=0)
    if scoring:
        scores = callbacks[1].get_logs()
        rows = [r for r in scores.data if r["task_name"] == "iteration"]
        assert len(rows) == watched.n_iter_
        assert np.isclose(rows[-1][scoring], watched.score(X, y))
