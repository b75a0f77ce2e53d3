"""fit as a transaction, and what an unfitted model says."""

from dataclasses import KW_ONLY, dataclass

import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from panlearn.core.estimator import Estimator, fitting
from panlearn.core.parameters import InvalidParameterError, Positive


@dataclass(eq=False, repr=False)
class Counter(Estimator):
    limit: Positive[int] = 3
    _: KW_ONLY
    warm_start: bool = False

    @fitting
    def fit(self, X, y=None):
        """Count X."""
        self.seen_before_ = hasattr(self, "count_")
        self.count_ = X
        self._private = X
        if self.count_ > self.limit:
            self.extra_ = 1
            raise RuntimeError("too many")
        return self

    @fitting
    def partial_fit(self, X, y=None):
        self.count_ = getattr(self, "count_", 0) + X
        if self.count_ > self.limit:
            raise RuntimeError("too many")
        return self


def test_a_failure_restores_everything():
    model = Counter().fit(2)
    before = dict(vars(model))
    with pytest.raises(RuntimeError, match="too many"):
        model.fit(9)
    assert vars(model) == before
    with pytest.raises(RuntimeError, match="too many"):
        model.partial_fit(5)
    assert vars(model) == before
    with pytest.raises(RuntimeError):
        (fresh := Counter()).fit(9)
    assert vars(Counter()) == vars(clone(fresh))


def test_parameters_are_checked_before_anything_else():
    model = Counter().fit(1).set_params(limit=0)
    with pytest.raises(InvalidParameterError, match="'limit'"):
        model.fit(2)
    assert model.count_ == 1


def test_fit_forgets_and_partial_fit_remembers():
    model = Counter().fit(1)
    assert not model.fit(2).seen_before_
    assert model.partial_fit(1).count_ == 3
    assert Counter(warm_start=True).fit(1).fit(2).seen_before_


def test_not_fitted():
    with pytest.raises(NotFittedError, match="This Counter is not fitted yet; call fit"):
        Counter()._require_fitted()
    assert not Counter().__sklearn_is_fitted__()
    Counter().fit(1)._require_fitted()


def test_the_wrapper_keeps_name_and_docstring():
    assert Counter.fit.__doc__ == "Count X."
    assert Counter.fit.__name__ == "fit"
    assert repr(Counter(limit=5)) == "Counter(limit=5)"
    with pytest.raises(TypeError):
        Counter(3, True)  # keyword only
