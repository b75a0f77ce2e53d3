"""A sum and a solve give both ways to fit."""

from dataclasses import dataclass

import numpy as np
import pytest

from panlearn.core.map_reduce import map_reduce
from panlearn.core.mergeable import Mergeable
from panlearn.core.statistics import Moments
from panlearn.core.validation import read_rows


@dataclass(eq=False, repr=False)
class Centre(Mergeable):
    shrink: float = 1.0
    _kept_none_if = "it was told its centre"

    def _read_training(self, X, y, sample_weight, *, reset):
        return read_rows(self, X, None, sample_weight, reset=reset)

    def _summarise(self, rows):
        return map_reduce(lambda X, y, weight: Moments.of(X, weight=weight), rows)

    def _solve(self, statistic, rows):
        if self.shrink == 0:
            raise ValueError("nothing is left")
        self.centre_ = self.shrink * statistic.mean


def test_parts_of_any_size_give_the_fit_of_all(rng):
    X, weight = rng.normal(size=(30, 3)), rng.random(30)
    expected = weight @ X / weight.sum()
    np.testing.assert_allclose(Centre().fit(X, sample_weight=weight).centre_, expected)
    model = Centre()
    for part in (slice(20, 30), slice(0, 1), slice(1, 20)):
        assert model.partial_fit(X[part], sample_weight=weight[part]) is model
    np.testing.assert_allclose(model.centre_, expected)
    assert model.statistic_.weight == pytest.approx(weight.sum())


def test_fit_begins_anew_and_a_changed_parameter_holds_for_all_that_was_seen(rng):
    X = rng.normal(size=(30, 3))
    model = Centre().fit(X).fit(X[:10])
    np.testing.assert_allclose(model.centre_, X[:10].mean(axis=0))
    model.set_params(shrink=0.5).partial_fit(X[10:])
    np.testing.assert_allclose(model.centre_, 0.5 * X.mean(axis=0))


def test_a_solve_that_fails_leaves_what_was_learned(rng):
    X = rng.normal(size=(30, 3))
    model = Centre().fit(X)
    before = model.statistic_
    for learn in (model.set_params(shrink=0.0).fit, model.partial_fit):
        with pytest.raises(ValueError, match="nothing is left"):
            learn(X)
        assert model.statistic_ is before
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2])


def test_what_kept_no_statistic_says_why_it_cannot_go_on(rng):
    model = Centre()
    model.centre_ = np.zeros(3)
    with pytest.raises(ValueError, match=r"kept no statistics.*told its centre.*partial_fit"):
        model.partial_fit(rng.normal(size=(5, 3)))
