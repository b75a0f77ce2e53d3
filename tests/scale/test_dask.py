"""Dask collections on a cluster of two worker processes, one of which may die."""

import inspect
import os
import threading
import time

import numpy as np
import pytest
from sklearn.utils import get_tags

from panlearn.linear import LinearRegression, Ridge

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def _fit(cls, library, *data, **more):
    # every pass goes through the scheduler, and where the passes end is not compared
    few = {"max_iter": 3} if "max_iter" in inspect.signature(cls).parameters else {}
    return library.quietly(lambda: library.brief(cls, **few).fit(*data, **more))


def _close(model, expected, library=None):
    if not hasattr(expected, "coef_"):
        library.same_parameters(model, expected)
        return
    scale = np.abs(expected.coef_).max()
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=0, atol=1e-8 * scale)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, rtol=1e-8, atol=1e-8 * scale)


def test_arrays_and_frames_give_the_fit_of_the_array(client, stream_class, library):
    X, y = library.problem(stream_class, n=400)
    y = np.zeros(400) if y is None else y
    weight = np.random.default_rng(1).random(400)
    expected = _fit(stream_class, library, X, y, sample_weight=weight)
    arrays = [da.from_array(a, chunks=150) for a in (X, y, weight)]
    _close(_fit(stream_class, library, *arrays), expected, library)

    frame = pd.DataFrame(X, columns=list("abcd")).assign(target=y, weight=weight)
    partitions = dd.from_pandas(frame, npartitions=3)
    model = _fit(
        stream_class,
        library,
        partitions[list("abcd")],
        partitions["target"],
        sample_weight=partitions["weight"],
    )
    _close(model, expected, library)
    assert list(model.feature_names_in_) == list("abcd")
    assert library.outputs(model, frame[list("abcd")])


def test_partitions_of_no_rows_and_unknown_sizes(client, stream_class, library):
    X, y = library.problem(stream_class, n=400)
    y = np.zeros(400) if y is None else y
    frame = pd.DataFrame(X, columns=list("abcd")).assign(target=y, weight=1.0, row=np.arange(400))
    partitions = dd.from_pandas(frame, npartitions=4)
    kept = partitions[partitions["row"] >= 150]  # the first is empty now, the second shorter
    model = _fit(
        stream_class, library, kept[list("abcd")], kept["target"], sample_weight=kept["weight"]
    )
    _close(model, _fit(stream_class, library, X[150:], y[150:]), library)
    values = kept.to_dask_array()
    _close(
        _fit(stream_class, library, values[:, :4], values[:, 4].astype(y.dtype)),
        _fit(stream_class, library, X[150:], y[150:]),
        library,
    )


def test_bad_partitions_are_refused_by_name(client, stream_class, library):
    X, y = library.problem(stream_class)
    broken = X.copy()
    missing = get_tags(stream_class()).input_tags.allow_nan
    broken[-1, 0] = np.inf if missing else np.nan
    targets = None if y is None else da.from_array(y, chunks=20)
    with pytest.raises(ValueError, match="infinity" if missing else "NaN"):
        _fit(stream_class, library, da.from_array(broken, chunks=20), targets)
    if y is None:
        return
    with pytest.raises(ValueError, match="must be Dask too"):
        _fit(stream_class, library, da.from_array(X, chunks=20), y)
    with pytest.raises(ValueError, match="requires y"):
        _fit(stream_class, library, da.from_array(X, chunks=20))
    with pytest.raises(ValueError, match=r"samples|length|inconsistent|rows|chunks"):
        _fit(stream_class, library, da.from_array(X, chunks=20), da.from_array(y[:50], chunks=20))


def test_several_targets_and_float32(client):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(200, 3)), rng.normal(size=(200, 2))
    model = Ridge(alpha=[0.5, 2.0]).fit(da.from_array(X, chunks=60), da.from_array(Y, chunks=60))
    _close(model, Ridge(alpha=[0.5, 2.0]).fit(X, Y))
    single = LinearRegression().fit(
        da.from_array(X.astype(np.float32), chunks=60), da.from_array(Y[:, 0], chunks=60)
    )
    assert single.coef_.dtype == np.float32


def test_a_worker_killed_in_the_middle_of_a_fit_does_not_change_the_answer(client, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=400)

    killed = tmp_path / "killed"

    def slow(block, block_info=None):
        """The first blocks are done at once; the others wait for the end of a worker."""
        patience = time.monotonic() + 600
        while block_info[0]["chunk-location"][0] > 1 and time.monotonic() < patience:
            if os.path.exists(killed):
                break
            time.sleep(0.01)
        return block

    rows = da.from_array(X, chunks=(40, 3)).map_blocks(slow, meta=np.empty((0, 3)))
    outcome = []
    fit = threading.Thread(
        target=lambda: outcome.append(LinearRegression().fit(rows, da.from_array(y, chunks=40)))
    )
    pids = client.run(os.getpid)
    fit.start()
    victim = _busy_worker(client)
    os.kill(pids[victim], 9)
    killed.touch()
    fit.join(timeout=1200)
    assert not fit.is_alive()
    assert pids[victim] not in client.run(os.getpid).values()
    _close(outcome[0], LinearRegression().fit(X, y))


def _busy_worker(client):
    """Wait until tasks are done and others run; return a worker that runs one."""
    for _ in range(30_000):
        running = [address for address, tasks in client.processing().items() if tasks]
        if running and any(client.has_what().values()):
            return running[0]
        time.sleep(0.02)
    raise AssertionError("no task was seen running")
