"""map_reduce: the same statistic for any blocks, threads and sources."""

import threading
import time

import numpy as np
import pytest
from scipy import sparse

from panlearn.core import map_reduce as module
from panlearn.core import sources
from panlearn.core.map_reduce import map_reduce
from panlearn.core.sources import ArrayRows
from panlearn.core.statistics import Moments


def _moments(X, y, weight):
    return Moments.of(X, weight=weight)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(sources, "BLOCK_BYTES", 1)  # 256 rows, the least
    monkeypatch.setattr(module, "_is_small", lambda block: False)


def test_blocks_give_the_statistic_of_the_whole(rng, small_blocks):
    X, weight = rng.normal(size=(2000, 3)) + 1e6, rng.random(2000)
    whole = Moments.of(X, weight=weight)
    for rows in (X, np.asfortranarray(X), sparse.csr_array(X)):
        total = map_reduce(_moments, ArrayRows(rows, None, weight))
        np.testing.assert_allclose(total.scatter, whole.scatter, rtol=1e-10)
        np.testing.assert_allclose(total.mean, whole.mean, rtol=1e-15)


def test_the_bits_do_not_depend_on_the_threads(rng, small_blocks, use_threads):
    rows = ArrayRows(rng.normal(size=(3000, 3)), None, None)
    totals = []
    for threads in (1, 2, 3, 8):
        use_threads(threads)
        totals.append(map_reduce(_moments, rows))
    for total in totals[1:]:
        np.testing.assert_array_equal(total.scatter, totals[0].scatter)


def test_few_blocks_wait_at_a_time(small_blocks, use_threads):
    use_threads(2)
    made, done, most = [0], [0], [0]

    class Rows(ArrayRows):
        def __iter__(self):
            for block in super().__iter__():
                made[0] += 1
                most[0] = max(most[0], made[0] - done[0])
                yield block

    def slow(X, y, weight):
        time.sleep(0.001)
        done[0] += 1
        return Moments.of(X)

    map_reduce(slow, Rows(np.ones((256 * 40, 1)), None, None))
    assert done[0] == 40
    assert most[0] <= 4


def test_an_error_in_a_block_comes_out_and_the_threads_end(small_blocks, rng):
    def fail(X, y, weight):
        raise ZeroDivisionError("in a block")

    before = set(threading.enumerate())
    with pytest.raises(ZeroDivisionError, match="in a block"):
        map_reduce(fail, ArrayRows(rng.normal(size=(2000, 2)), None, None))
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize(("value", "says"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_what_is_not_finite_is_refused_by_name(value, says):
    X = np.ones((5, 2))
    X[3, 1] = value
    with pytest.raises(ValueError, match=f"X contains {says}"):
        map_reduce(_moments, ArrayRows(X, None, None))
    assert not map_reduce(_moments, ArrayRows(X, None, None), require_finite=False).is_finite


def test_sums_that_overflow_are_refused_with_a_remedy():
    with pytest.raises(ValueError, match=r"overflow.*StandardScaler"):
        map_reduce(_moments, ArrayRows(np.array([[1e200], [-1e200]]), None, None))


def test_weights_that_are_all_zero_are_refused():
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        map_reduce(_moments, ArrayRows(np.ones((3, 1)), None, np.zeros(3)))
