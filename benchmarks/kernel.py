"""Kernel methods against scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import sklearn.gaussian_process as peer_gp
import sklearn.kernel_ridge as peer
from sklearn.gaussian_process import kernels as peer_kernels

from benchmarks.harness import Workload
from panlearn.kernel import GaussianProcessRegressor, KernelRidge
from panlearn.kernel.kernels import RBF, Constant, White


def surface(n=1500, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, d))
    f = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + np.cos(X[:, 2]) * X[:, 0]
    return X, f + 0.1 * rng.standard_normal(n)


def fit(model):
    return lambda data: model.fit(*data)


def evidence(data, model):
    return {"log marginal likelihood": model.log_marginal_likelihood_value_}


def fitted(data, model):
    return {"R2": model.score(*data)}


def workloads() -> Iterator[Workload]:
    theirs = peer_kernels.ConstantKernel(1.0) * peer_kernels.RBF(np.ones(4))
    theirs += peer_kernels.WhiteKernel(0.1)
    ours = Constant(1.0) * RBF(np.ones(4)) + White(0.1)
    yield Workload(
        "Gaussian process ARD 1500 x 4",
        "GaussianProcessRegressor",
        surface,
        {
            "panlearn": fit(GaussianProcessRegressor(ours, alpha=1e-8)),
            "scikit-learn": fit(peer_gp.GaussianProcessRegressor(theirs, alpha=1e-8)),
        },
        evidence,
        bar=3.0,
        repeats=2,
    )
    yield Workload(
        "kernel ridge RBF 4000 x 4",
        "KernelRidge",
        lambda: surface(4000),
        {
            "panlearn": fit(KernelRidge(0.1, kernel="rbf", gamma=0.5)),
            "scikit-learn": fit(peer.KernelRidge(alpha=0.1, kernel="rbf", gamma=0.5)),
        },
        fitted,
    )
