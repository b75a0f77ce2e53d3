"""The loop of an iterative fit: history, convergence, interruption, callbacks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.callback import ProgressBar
from sklearn.exceptions import ConvergenceWarning

from panlearn.core.estimator import Estimator, fitting
from panlearn.core.progress import Iterations, Iterative


@dataclass(eq=False, repr=False)
class Halving(Iterative, Estimator):
    """x is halved until it moves by no more than tol; `trouble` happens at iteration `at`."""

    max_iter: int = 50
    tol: float = 1e-3
    trouble: Any = None
    at: int = 3

    @fitting
    def fit(self, X=None, y=None):
        x = 1.0
        with Iterations(self, max_iter=self.max_iter, tol=self.tol) as loop:
            for iteration in loop:
                if self.trouble and iteration == self.at:
                    raise self.trouble
                x = x / 2
                loop.record(change=x, value=x, attributes=lambda x=x: {"x_": x})
        self.x_ = x
        return self


def test_it_converges_and_keeps_the_record():
    model = Halving().fit()
    assert model.x_ == 2.0**-10
    assert (model.n_iter_, model.converged_) == (10, True)
    assert model.history_ == {"value": [2.0**-k for k in range(1, 11)]} | {
        "change": [2.0**-k for k in range(1, 11)]
    }


def test_the_warning_names_iteration_change_tolerance_and_remedy():
    expected = (
        r"Halving did not converge: max_iter=4 was reached at iteration 4 with a change of 0\.0625 "
        r"above tol=0\.001; raise max_iter"
    )
    with pytest.warns(ConvergenceWarning, match=expected):
        model = Halving(max_iter=4).fit()
    assert not model.converged_
    assert model.x_ == 2.0**-4


def test_ctrl_c_keeps_the_last_whole_iteration():
    with pytest.warns(ConvergenceWarning, match="it was interrupted at iteration 3"):
        model = Halving(trouble=KeyboardInterrupt()).fit()
    assert model.x_ == 2.0**-3
    assert (model.n_iter_, model.converged_) == (3, False)
    assert len(model.history_["value"]) == 3


def test_ctrl_c_before_the_first_iteration_is_raised_and_leaves_the_model():
    model = Halving().fit()
    before = dict(vars(model), trouble=KeyboardInterrupt(), at=0)
    model.set_params(trouble=before["trouble"], at=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit()
    assert vars(model) == before


def test_another_error_is_raised_and_leaves_the_model():
    model = Halving().fit()
    model.set_params(trouble=ZeroDivisionError("no"), at=3)
    before = dict(vars(model))
    with pytest.raises(ZeroDivisionError, match="no"):
        model.fit()
    assert vars(model) == before


def test_a_change_that_is_nan_is_no_convergence():
    @dataclass(eq=False, repr=False)
    class Lost(Iterative, Estimator):
        @fitting
        def fit(self, X=None, y=None):
            with Iterations(self, max_iter=3, tol=1.0) as loop:
                for _ in loop:
                    loop.record(change=np.nan)
            return self

    with pytest.warns(ConvergenceWarning, match="change of nan"):
        assert not Lost().fit().converged_


class Spy:
    def __init__(self, stop_after=None):
        self.seen, self.models, self.stop_after, self.torn_down = [], [], stop_after, 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        self.torn_down += 1

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.seen.append(context.task_name)
        if fitted_estimator is not None:
            self.models.append(fitted_estimator.x_)
        return self.stop_after is not None and len(self.seen) >= self.stop_after


def test_callbacks_see_each_iteration_and_the_model_so_far():
    spy = Spy()
    model = Halving().set_callbacks(spy).fit()
    assert spy.seen.count("iteration") == model.n_iter_
    assert spy.models[:3] == [0.5, 0.25, 0.125]
    assert spy.torn_down == 1


def test_a_callback_stops_the_loop():
    with pytest.warns(ConvergenceWarning, match="a callback asked to stop at iteration 2"):
        model = Halving().set_callbacks(Spy(stop_after=2)).fit()
    assert model.x_ == 0.25


def test_callbacks_are_torn_down_when_a_fit_fails():
    spy = Spy()
    with pytest.raises(ZeroDivisionError):
        Halving(trouble=ZeroDivisionError()).set_callbacks(spy).fit()
    assert spy.torn_down == 1


def test_a_progress_bar_runs(capsys):
    assert Halving().set_callbacks(ProgressBar()).fit().converged_
