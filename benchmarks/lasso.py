"""The lasso against celer, skglm and scikit-learn, at the same duality gap."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse
from sklearn import linear_model

from benchmarks.harness import Law, Workload, law
from panlearn.linear import ElasticNet, Lasso, lasso_path


def wide(n=2000, p=10_000, nonzero=100, snr=10.0, seed=0, dtype=np.float64):
    """Centred Gaussian features in Fortran order, and a grid down to a hundredth of alpha_max."""
    rng = np.random.default_rng(seed)
    X = np.asfortranarray(rng.standard_normal((n, p)))
    w = np.zeros(p)
    chosen = rng.choice(p, nonzero, replace=False)
    w[chosen] = rng.choice([-1.0, 1.0], nonzero) * (0.5 + rng.random(nonzero))
    signal = X @ w
    y = signal + rng.standard_normal(n) * signal.std() / np.sqrt(snr)
    X, y = np.asfortranarray(X - X.mean(axis=0), dtype=dtype), (y - y.mean()).astype(dtype)
    largest = np.abs(X.T @ y).max() / n
    return X, y, np.geomspace(largest, largest / 100, 100)


def tall(n=20_000, p=200, seed=0):
    rng = np.random.default_rng(seed)
    X = np.asfortranarray(rng.standard_normal((n, p)) + rng.standard_normal((n, 1)))
    return X, X[:, :20].sum(axis=1) + rng.standard_normal(n) + 3


def text_like(n=20_000, p=50_000, seed=0):
    """Sparse rows of about a hundred non-negative entries."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, p), density=0.002, format="csc", rng=rng, dtype=np.float64)
    return X, X[:, :200] @ rng.standard_normal(200) + 0.1 * rng.standard_normal(n)


def panlearn_path(tol):
    return lambda data: lasso_path(data[0], data[1], alphas=data[2], tol=tol)[1]


def celer_path(tol):
    def call(data):
        from celer import celer_path

        return celer_path(data[0], data[1], pb="lasso", alphas=data[2], tol=tol)[1]

    return call


def skglm_path(tol):
    """Its tolerance bounds the gradient, and is chosen here for a gap no smaller than celer's."""

    def call(data):
        from skglm.datafits import Quadratic
        from skglm.penalties import L1
        from skglm.solvers import AndersonCD

        solver = AndersonCD(tol=tol, fit_intercept=False, warm_start=True, ws_strategy="subdiff")
        return solver.path(data[0], data[1], Quadratic(), L1(1.0), alphas=data[2])[1]

    return call


def sklearn_path(tol):
    def call(data):
        options = dict(alphas=data[2], tol=tol, max_iter=10_000)
        return linear_model.lasso_path(data[0], data[1], **options)[1]

    return call


def path_gap(data, coefs):
    """The largest gap of the path over the objective of zero, and the features of the last fit."""
    X, y, alphas = (a.astype(np.float64, copy=False) for a in data)
    n, yy, worst = len(y), y @ y, 0.0
    for alpha, w in zip(alphas, coefs.T.astype(np.float64, copy=False), strict=True):
        r = y - X @ w
        scale = min(1.0, n * alpha / np.abs(X.T @ r).max())
        primal = r @ r / 2 + n * alpha * np.abs(w).sum()
        worst = max(worst, primal - scale * (r @ y) + scale**2 * (r @ r) / 2)
    return {"max relative gap": worst / (yy / 2), "features": np.count_nonzero(coefs[:, -1])}


def objective(alpha, l1_ratio=1.0):
    def measure(data, model):
        X, y = data
        residual, w = y - model.predict(X), model.coef_
        penalty = l1_ratio * np.abs(w).sum() + (1 - l1_ratio) / 2 * w @ w
        value = residual @ residual / (2 * len(y)) + alpha * penalty
        return {"objective": value, "features": np.count_nonzero(w)}

    return measure


def fit(model):
    return lambda data: model.fit(*data)


def workloads() -> Iterator[Workload]:
    for tol, gradient, peers in ((1e-4, 2e-4, True), (1e-6, 1e-6, False)):
        contenders = {
            "panlearn": panlearn_path(tol),
            "celer": celer_path(tol),
            "skglm": skglm_path(gradient),
        }
        if peers:
            contenders["scikit-learn"] = sklearn_path(tol)
        yield Workload(
            f"lasso path, 100 alphas, 2000 x 10000, gap {tol:g}",
            "lasso_path",
            wide,
            contenders,
            path_gap,
        )
    yield Workload(
        "lasso path, 100 alphas, 2000 x 10000, gap 1e-4, float32",
        "lasso_path",
        lambda: wide(dtype=np.float32),
        # celer's path does not take float32
        {"panlearn": panlearn_path(1e-4), "scikit-learn": sklearn_path(1e-4)},
        path_gap,
    )
    yield Workload(
        "lasso, 20000 x 200, correlated",
        "Lasso",
        tall,
        {
            "panlearn": fit(Lasso(0.01, tol=1e-6)),
            "scikit-learn": fit(linear_model.Lasso(0.01, tol=1e-6)),
        },
        objective(0.01),
    )
    yield Workload(
        "elastic net, 2000 x 10000, one alpha",
        "ElasticNet",
        lambda: wide()[:2],
        {
            "panlearn": fit(ElasticNet(0.1, l1_ratio=0.7, tol=1e-5)),
            "scikit-learn": fit(linear_model.ElasticNet(0.1, l1_ratio=0.7, tol=1e-5)),
        },
        objective(0.1, 0.7),
    )
    yield Workload(
        "lasso, sparse 20000 x 50000",
        "Lasso",
        text_like,
        {
            "panlearn": fit(Lasso(2e-5, tol=1e-5)),
            "scikit-learn": fit(linear_model.Lasso(2e-5, tol=1e-5)),
        },
        objective(2e-5),
    )


def growth() -> dict[str, Law]:
    def columns(p):
        X, y, alphas = wide(500, p, 50)
        return lambda: lasso_path(X, y, alphas=alphas[:50])

    def rows(n):
        X, y, alphas = wide(n, 2000, 50)
        return lambda: lasso_path(X, y, alphas=alphas[:50])

    return {
        "lasso_path in p from 2000 to 20000 (n = 500)": law([2000, 6000, 20_000], columns),
        "lasso_path in n from 300 to 3000 (p = 2000)": law([300, 1000, 3000], rows),
    }
