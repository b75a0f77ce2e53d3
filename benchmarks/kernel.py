"""Kernel methods against scikit-learn and gpytorch; LS-SVMs, which have no peer, against SciPy."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import sklearn.decomposition as peer_decomposition
import sklearn.gaussian_process as peer_gp
import sklearn.kernel_ridge as peer
from scipy import linalg
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import kernels as peer_kernels

from benchmarks.harness import Workload
from panlearn.kernel import (
    LSSVC,
    LSSVR,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelPCA,
    KernelRidge,
)
from panlearn.kernel.kernels import RBF, Constant, White


def surface(n=1500, d=4, seed=0):
    """The first rows of a set that does not grow with n below 2000."""
    rng, size = np.random.default_rng(seed), max(n, 2000)
    X = rng.uniform(-2, 2, (size, d))
    f = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + np.cos(X[:, 2]) * X[:, 0]
    return X[:n], (f + 0.1 * rng.standard_normal(size))[:n]


def sides(n):
    X, y = surface(n)
    return X, np.where(y > 0, 1, -1)


def clusters(n=4000, d=50, k=10):
    rng = np.random.default_rng(0)
    label = rng.integers(0, k, n)
    return 2 * rng.standard_normal((k, d))[label] + rng.standard_normal((n, d))


def fit(model):
    return lambda data: model.fit(*data)


def evidence(data, model):
    return {"log marginal likelihood": model.log_marginal_likelihood_value_}


def fitted(data, model):
    return {"R2": model.score(*data)}


def accuracy(data, model):
    return {**evidence(data, model), "accuracy": model.score(*data)}


def spectrum(data, model):
    return {"sum of eigenvalues": model.eigenvalues_.sum()}


def gpytorch_fit(data):
    """Exact Gaussian process with one length a column, Cholesky throughout, L-BFGS as it comes."""
    import gpytorch
    import torch

    X, y = (torch.from_numpy(part) for part in data)

    class Process(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(X, y, likelihood)
            self.mean = gpytorch.means.ZeroMean()
            rbf = gpytorch.kernels.RBFKernel(ard_num_dims=X.shape[1])
            self.covariance = gpytorch.kernels.ScaleKernel(rbf)

        def forward(self, rows):
            moments = self.mean(rows), self.covariance(rows)
            return gpytorch.distributions.MultivariateNormal(*moments)

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Process(likelihood).double()
    model.covariance.outputscale, model.covariance.base_kernel.lengthscale = 1.0, 1.0
    likelihood.noise = 0.1
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimiser = torch.optim.LBFGS(model.parameters(), max_iter=50, line_search_fn="strong_wolfe")

    def closure():
        optimiser.zero_grad()
        loss = -objective(model(X), y)
        loss.backward()
        return loss

    exact = gpytorch.settings.fast_computations(False, False, False)
    with gpytorch.settings.max_cholesky_size(10_000), exact:
        optimiser.step(closure)
        with torch.no_grad():
            value = float(objective(model(X), y)) * len(X)
    return SimpleNamespace(log_marginal_likelihood_value_=value)


def dense_system(gamma, C):
    """The bordered system of an LS-SVM, written out and given to SciPy."""

    def solve(data):
        X, y = data
        n = len(X)
        A = np.ones((n + 1, n + 1))
        A[1:, 1:] = np.exp(-gamma * cdist(X, X, "sqeuclidean")) + np.eye(n) / C
        A[0, 0] = 0
        x = linalg.solve(A, np.r_[0.0, y], assume_a="sym", check_finite=False)
        return SimpleNamespace(dual_coef_=x[1:], intercept_=x[0])

    return solve


def residual(gamma, C):
    """How far a solution of the bordered system is from solving it."""

    def quality(data, model):
        X, y = data
        dual, bias = np.ravel(model.dual_coef_), float(np.ravel(model.intercept_)[0])
        rows = np.arange(0, len(X), max(1, len(X) // 500))
        left = np.exp(-gamma * cdist(X[rows], X, "sqeuclidean")) @ dual + dual[rows] / C + bias
        return {"largest residual": np.abs(left - y[rows]).max()}

    return quality


def workloads() -> Iterator[Workload]:
    theirs = peer_kernels.ConstantKernel(1.0) * peer_kernels.RBF(np.ones(4))
    theirs += peer_kernels.WhiteKernel(0.1)
    ours = Constant(1.0) * RBF(np.ones(4)) + White(0.1)
    contenders = {
        "panlearn": fit(GaussianProcessRegressor(ours, alpha=1e-8)),
        "scikit-learn": fit(peer_gp.GaussianProcessRegressor(theirs, alpha=1e-8)),
    }
    yield Workload(
        "Gaussian process ARD 1500 x 4",
        "GaussianProcessRegressor",
        surface,
        contenders,
        evidence,
        bar=3.0,
    )
    if importlib.util.find_spec("gpytorch"):
        yield Workload(
            "Gaussian process ARD 1500 x 4, gpytorch",
            "GaussianProcessRegressor",
            surface,
            {"panlearn": contenders["panlearn"], "gpytorch": gpytorch_fit},
            evidence,
        )
    yield Workload(
        "Gaussian process classifier 500 x 4",
        "GaussianProcessClassifier",
        lambda: sides(500),
        {
            "panlearn": fit(GaussianProcessClassifier(1.0 * RBF(1.0))),
            "scikit-learn": fit(
                peer_gp.GaussianProcessClassifier(
                    peer_kernels.ConstantKernel(1.0) * peer_kernels.RBF(1.0)
                )
            ),
        },
        accuracy,
    )
    yield Workload(
        "kernel PCA RBF 4000 x 50, 10 components",
        "KernelPCA",
        lambda: (clusters(),),
        {
            "panlearn": fit(KernelPCA(10, kernel="rbf", gamma=0.01, random_state=0)),
            "scikit-learn randomized": fit(
                peer_decomposition.KernelPCA(
                    10, kernel="rbf", gamma=0.01, eigen_solver="randomized", random_state=0
                )
            ),
        },
        spectrum,
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
    yield Workload(
        "LS-SVM classifier RBF 2000 x 4",
        "LSSVC",
        lambda: sides(2000),
        {
            "panlearn": fit(LSSVC(1.0, gamma=0.5)),
            "SciPy, dense system": dense_system(0.5, 1.0),
        },
        residual(0.5, 1.0),
    )
    yield Workload(
        "LS-SVM regression RBF 8000 x 4",
        "LSSVR",
        lambda: surface(8000),
        {
            "panlearn, conjugate gradients": fit(LSSVR(1.0, gamma=0.5, solver="cg")),
            "SciPy, dense system": dense_system(0.5, 1.0),
        },
        residual(0.5, 1.0),
    )
