"""One call of GaussianMixture on 1e8 values: an array, a stream of batches, two Dask workers.

There is no peer: the array in memory is ours, and so are the others. What counts is that the
parameters are the same; the last column says how far the means are from those of the array.
"""

import functools

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from benchmarks.harness import Workload
from panlearn import Batches
from panlearn.latent import GaussianMixture

N, D, BATCH = 10_000_000, 10, 500_000


def batch(i):
    """Three overlapping clouds in ten dimensions; part i of them."""
    rng = np.random.default_rng(i)
    X = rng.standard_normal((BATCH, D))
    X += 3.0 * rng.integers(3, size=(BATCH, 1))
    return X


def batches():
    return (batch(i) for i in range(N // BATCH))


def fit(data):
    return GaussianMixture(
        3, means_init=np.outer([0.0, 3.0, 6.0], np.ones(D)), max_iter=5, random_state=0
    ).fit(data)


def on_two_workers(_):
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        parts = [da.from_delayed(_delayed(i), (BATCH, D), float) for i in range(N // BATCH)]
        return fit(da.concatenate(parts).persist())


def _delayed(i):
    import dask

    return dask.delayed(batch)(i)


@functools.cache
def in_memory():
    return fit(np.concatenate(list(batches())))


def workloads():
    yield Workload(
        "GaussianMixture 1e7 x 10, 3 components, 5 iterations",
        "latent.GaussianMixture",
        lambda: np.concatenate(list(batches())),
        {
            "panlearn": fit,
            "panlearn, a stream": lambda _: fit(Batches(batches)),
            "panlearn, two Dask workers": on_two_workers,
        },
        lambda _, m: {
            "log likelihood": float(m.lower_bound_),
            "largest difference of a mean": float(np.abs(m.means_ - in_memory().means_).max()),
        },
        bar=0.0,
    )
