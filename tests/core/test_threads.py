"""threads: an ordered map on any number of threads, which ends at an error or an interrupt."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info

from panlearn.core.threads import in_parts, n_threads, one_blas_thread, rows_together, threads


def blas_threads():
    return {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_results_come_in_the_order_of_the_items(n_jobs):
    def late(i):
        time.sleep(0.001 * (3 - i % 4))
        return i

    with threads(n_jobs) as run:
        assert list(run(late, range(12))) == list(range(12))
        assert list(run(late, iter(range(12)))) == list(range(12))
        assert list(run(late, [])) == []


@pytest.mark.parametrize(("n", "sizes"), [(0, []), (7, [3, 3, 1]), (12, [3, 3, 3, 3])])
def test_few_stretches_of_rows_are_done_by_the_thread_that_asks(n, sizes):
    found = in_parts(lambda part: [threading.current_thread(), *range(100)[part]], n, 3)
    assert [len(rows) for _, *rows in found] == sizes
    assert [i for _, *rows in found for i in rows] == list(range(n))
    assert {thread for thread, *_ in found} <= {threading.current_thread()}


def test_many_stretches_of_rows_go_on_threads(monkeypatch):
    monkeypatch.setattr("panlearn.core.threads.n_threads", lambda n_jobs: 2)
    meeting = threading.Barrier(2, timeout=60)

    def call(part):
        if part.start < 6:  # one thread would wait here for ever
            meeting.wait()
        return list(range(100)[part])

    found = in_parts(call, 40, 3)
    assert [len(rows) for rows in found] == [3] * 13 + [1]
    assert [i for rows in found for i in rows] == list(range(40))


@pytest.mark.parametrize("width", [1, 10, 1000, 10**5, 10**9])
def test_parts_stay_in_the_cache_or_are_worth_a_product(width):
    rows = rows_together(width)
    assert rows >= 1
    assert rows >= 256 or rows * width > 2**21
    assert rows == 1 or rows * width <= 2**22
    assert rows <= 256 or rows * width <= 2**18


def test_items_are_shared_by_the_threads():
    meeting = threading.Barrier(3, timeout=60)
    with threads(3) as run:
        assert sorted(run(lambda _: meeting.wait(), range(3))) == [0, 1, 2]


def meet(n):
    """The threads of a map, every one of which has taken part."""
    meeting = threading.Barrier(n, timeout=60)

    def who(_):
        meeting.wait()
        return threading.get_ident()

    with threads(n) as run:
        return set(run(who, range(n)))


def test_threads_are_left_to_the_next_map_of_as_many(monkeypatch):
    made = []

    def pool(count):
        made.append(count)
        return ThreadPoolExecutor(count)

    monkeypatch.setattr("panlearn.core.threads.ThreadPoolExecutor", pool)
    monkeypatch.setattr("panlearn.core.threads._Crew.spare", {})
    assert [len(meet(count)) for count in (3, 3, 2, 3, 2)] == [3, 3, 2, 3, 2]
    assert made == [3, 2]


def test_the_thread_that_asks_does_a_share_of_a_list():
    assert threading.get_ident() in meet(2)


def test_an_error_waits_for_the_results_before_it_whoever_made_them():
    """One of the two calls is that of the thread that asks."""
    second = threading.Event()

    def fail(i):
        if i == 0:
            assert second.wait(60)
            return "first"
        second.set()
        raise ZeroDivisionError

    with threads(2) as run:
        results = run(fail, [0, 1])
        assert next(results) == "first"
        with pytest.raises(ZeroDivisionError):
            next(results)


class Stop(BaseException):
    """As an interrupt: no error that a call may have."""


@pytest.mark.parametrize("here", [True, False])
def test_what_is_no_error_ends_it_at_once_where_one_asks_and_is_told_by_others(here):
    begun, meeting, main = [], threading.Barrier(2, timeout=60), threading.current_thread()

    def stop(i):
        begun.append(i)
        if i < 2:
            meeting.wait()
        if (threading.current_thread() is main) == here:
            raise Stop
        time.sleep(0.05)

    with pytest.raises(Stop), threads(2) as run:
        list(run(stop, range(200)))
    assert len(begun) < 10


def test_maps_within_maps_have_threads_of_their_own():
    meet(2)  # which leaves two
    with threads(2) as run:
        assert all(len(inner) == 2 for inner in run(lambda _: meet(2), range(4)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_starts_threads_of_its_own():
    meet(2)
    child = os.fork()
    if not child:
        os._exit(0 if len(meet(2)) == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize(("n_jobs", "n_items"), [(1, 3), (None, 3), (2, 1)])
def test_one_thread_or_one_item_needs_no_other_thread(n_jobs, n_items):
    with threads(n_jobs) as run:
        found = set(run(lambda _: threading.current_thread(), range(n_items)))
    assert found == {threading.current_thread()}


def test_nothing_is_done_before_it_is_asked_for():
    with threads(2) as run:
        run(lambda _: pytest.fail("called"), range(3))


def test_an_iterator_is_read_as_threads_get_free():
    def source():
        for i in range(50):
            read.append(i)
            yield i

    read, most = [], 0
    with threads(2) as run:
        for done, _ in enumerate(run(lambda i: i, source())):
            most = max(most, len(read) - done)
    assert len(read) == 50
    assert most <= 3


def test_the_first_error_comes_out_and_what_has_not_begun_does_not_begin():
    begun, before = [], set(threading.enumerate())

    def fail(i):
        begun.append(i)
        if i in (1, 3):
            raise ZeroDivisionError(f"item {i}")
        time.sleep(0.01)

    with pytest.raises(ZeroDivisionError, match="item 1"), threads(2) as run:
        list(run(fail, range(200)))
    assert len(begun) < 20
    assert set(threading.enumerate()) <= before


@pytest.fixture
def interruptible():
    """As at a terminal: a process in the background may have been told to ignore the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("where", ["while it waits", "between results"])
def test_an_interrupt_ends_it(interruptible, where):
    begun, before = [], set(threading.enumerate())

    def interrupt(i):
        begun.append(i)
        time.sleep(0.02)
        if i == 1 and where == "while it waits":
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    def work():
        with threads(2) as run:
            for _ in run(interrupt, range(200)):
                if where == "between results":
                    raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert len(begun) < 20
    assert set(threading.enumerate()) <= before


def test_blas_has_one_thread_inside_and_gets_its_threads_back():
    before = blas_threads()
    with threads(2) as run:
        assert list(run(lambda _: blas_threads(), range(2))) == [{1}, {1}]
    assert blas_threads() == before


def test_blas_gets_its_threads_back_even_from_two_holds_at_once():
    before, first_ends, second_begins = blas_threads(), threading.Event(), threading.Event()

    def second():
        with one_blas_thread():
            second_begins.set()
            first_ends.wait(5)

    with one_blas_thread():
        other = threading.Thread(target=second)
        other.start()
        second_begins.wait(5)
    assert blas_threads() == {1}
    first_ends.set()
    other.join()
    assert blas_threads() == before


def test_the_error_state_of_the_caller_holds_in_the_threads():
    def divide(x):
        return np.float64(1) / np.float64(x)

    with threads(2) as run:
        with np.errstate(divide="ignore"):
            assert list(run(divide, [0, 0])) == [np.inf, np.inf]
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            list(run(divide, [0, 0]))


@pytest.mark.parametrize("setting", ["0", "1"])
def test_the_environment_limits_the_threads_of_the_machine(monkeypatch, use_threads, setting):
    use_threads(4)
    monkeypatch.setenv("OMP_NUM_THREADS", setting)
    assert n_threads() == 1
    assert n_threads(3) == 3


@pytest.mark.parametrize("setting", ["", "many", "9"])
def test_else_there_are_as_many_as_cores(monkeypatch, use_threads, setting):
    use_threads(4)
    monkeypatch.setenv("OMP_NUM_THREADS", setting)
    assert n_threads() == n_threads(-1) == 4


def test_none_is_one_or_what_joblib_is_told():
    assert n_threads(None) == 1
    with joblib.parallel_config(backend="threading", n_jobs=3):
        assert n_threads(None) == 3
