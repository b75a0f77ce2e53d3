"""fit as a transaction, and what an unfitted model says."""

from dataclasses import KW_ONLY, dataclass

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_info, threadpool_limits

from panlearn.core.estimator import Estimator, fitting
from panlearn.core.parameters import InvalidParameterError, Positive
from panlearn.core.threads import is_little


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


@dataclass(eq=False, repr=False)
class Watcher(Estimator):
    @fitting
    def fit(self, X, y=None):
        """Remember how many threads BLAS has."""
        self.threads_ = {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}
        return self


class PairWatcher(Watcher):
    most_rows = 500


@pytest.mark.parametrize(
    ("rows", "one", "one_of_pairs"),
    [
        (np.zeros((200, 10)), True, True),
        (sparse.csr_array((500, 500)), True, True),
        (sparse.csr_array((400, 1600)), True, True),
        (sparse.csr_array((400, 1700)), False, False),
        (np.zeros((501, 501)), True, False),
        (np.zeros((700, 700)), False, False),
        (np.zeros((150, 3000)), True, True),
        (np.zeros((1, 3000)), False, False),
        (np.zeros((1000, 100)), True, False),
        (np.zeros((20_000, 20)), True, False),
        (np.zeros((2 * 10**6, 1)), True, False),
        (np.zeros((2 * 10**6, 2)), False, False),
        (np.zeros(5), False, False),
        (1, False, False),
    ],
)
def test_blas_has_one_thread_for_small_products(rows, one, one_of_pairs):
    with threadpool_limits(2, "blas"):
        assert Watcher().fit(rows).threads_ == ({1} if one else {2})
        assert PairWatcher().fit(rows).threads_ == ({1} if one_of_pairs else {2})
        assert Watcher().fit(1).threads_ == {2}


def test_rows_that_nobody_has_counted_are_not_few():
    da = pytest.importorskip("dask.array", reason="Dask is not installed")
    rows = da.from_array(np.zeros((40, 2)), chunks=(10, 2))
    assert is_little(np.zeros((40, 2)), 40)
    assert not is_little(rows[rows[:, 0] > 1], 40)
    dd = pytest.importorskip("dask.dataframe", reason="Dask's tables are not installed")
    assert not is_little(dd.from_dask_array(rows), 40)


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
