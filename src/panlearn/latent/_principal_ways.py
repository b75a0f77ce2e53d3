"""Which way to take to the principal components of rows."""

from __future__ import annotations

from typing import Any, Literal

from scipy import sparse

from panlearn.core.memory import require_memory
from panlearn.core.random import generator
from panlearn.core.sources import ArrayRows, Rows
from panlearn.latent._spectrum import Spectrum, from_gram, from_rows, lanczos, randomised

Solver = Literal["covariance_eigh", "gram_eigh", "full", "arpack", "randomized"]


def choose(model: Any, rows: Rows, k: int | None) -> Solver:
    """The way that the model asks for, or an exact one, by the kind and shape of the rows."""
    if not isinstance(rows, ArrayRows):
        if model.svd_solver not in ("auto", "covariance_eigh"):
            raise ValueError(
                f"svd_solver={model.svd_solver!r} needs the rows in memory; with a stream or a "
                "Dask collection leave it at 'auto' or 'covariance_eigh'"
            )
        return "covariance_eigh"
    if model.svd_solver in ("full", "gram_eigh") and sparse.issparse(rows.X):
        raise TypeError(
            f"svd_solver={model.svd_solver!r} does not take sparse X; use 'auto', "
            "'covariance_eigh', 'arpack' or 'randomized', or make X dense with X.toarray()"
        )
    if model.svd_solver != "auto":
        return model.svd_solver
    n, d = rows.X.shape
    if not sparse.issparse(rows.X):
        return "covariance_eigh" if n >= d else "gram_eigh"
    few = k is not None and k <= 0.1 * min(n, d)
    return "arpack" if few and d > 1000 else "covariance_eigh"


def decompose(model: Any, rows: ArrayRows, solver: Solver, k: int | None) -> Spectrum:
    """Go this way, for k components or all of them."""
    n, d = rows.X.shape
    require_room(k, n, d)
    if solver == "full":
        return from_rows(rows)
    if solver == "gram_eigh":
        require_memory((n, n), "the products of the rows", "use svd_solver='randomized'")
        return from_gram(rows, k)
    if model.n_components == "mle":
        raise ValueError(f"n_components='mle' needs all variances: not svd_solver={solver!r}")
    rng = generator(model.random_state)
    if solver == "randomized":
        k = min(n, d) if k is None else k
        powers = model.iterated_power
        if powers == "auto":
            powers = 7
        return randomised(rows, k, rng, model.n_oversamples, powers)
    if k is None or k >= min(n, d):
        raise ValueError(
            f"svd_solver='arpack' finds fewer than min(n_samples, n_features)={min(n, d)} "
            f"components, and n_components={model.n_components!r}; ask for fewer, or use 'auto'"
        )
    return lanczos(rows, k, model.tol, rng)


def require_room(k: int | None, n: int, d: int) -> None:
    """Refuse more components than n rows of d columns can have."""
    if k is not None and k > min(n, d):
        what = "n_features" if d <= n else "min(n_samples, n_features)"
        raise ValueError(f"n_components={k} is more than {what}={min(n, d)}; ask for fewer")
