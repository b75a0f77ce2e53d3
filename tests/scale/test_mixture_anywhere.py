"""The same call of GaussianMixture on a frame with holes, a stream and a Dask array."""

import numpy as np
import pytest

from panlearn import Batches
from panlearn.latent import GaussianMixture

da = pytest.importorskip("dask.array")
pd = pytest.importorskip("pandas")


def rows_with_holes(n=1500, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 4 * rng.integers(3, size=(n, 1))
    X[rng.random(size=X.shape) < 0.05] = np.nan
    X[np.isnan(X).all(axis=1), 0] = 0.0
    return X


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
def test_a_frame_with_holes_a_stream_and_a_dask_array_give_the_same_mixture(
    covariance_type, library
):
    X = rows_with_holes()
    sources = {
        "frame": pd.DataFrame(X, columns=list("abcd")),
        "stream": Batches(lambda: (X[i : i + 400] for i in range(0, len(X), 400))),
        "dask": da.from_array(X, chunks=(600, 4)),
    }
    fitted = {
        name: GaussianMixture(3, covariance_type=covariance_type, tol=1e-7, random_state=0).fit(
            data
        )
        for name, data in sources.items()
    }
    for name in ("stream", "dask"):
        library.same_parameters(fitted["frame"], fitted[name], rtol=1e-8)
    np.testing.assert_allclose(np.sort(fitted["frame"].means_[:, 0]), [0, 4, 8], atol=0.3)
