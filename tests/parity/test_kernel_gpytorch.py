"""Gaussian processes against gpytorch, in float64: the same kernel, the same numbers."""

import numpy as np
import pytest

from panlearn.kernel import GaussianProcessRegressor
from panlearn.kernel.kernels import RBF, Constant, Matern, White

torch = pytest.importorskip("torch")
gpytorch = pytest.importorskip("gpytorch")

CASES = {
    "rbf": (RBF, {}, 0.8),
    "rbf, a length a column": (RBF, {}, (0.6, 1.7, 3.0)),
    "matern 1/2": (Matern, {"nu": 0.5}, 1.2),
    "matern 3/2, a length a column": (Matern, {"nu": 1.5}, (0.6, 1.7, 3.0)),
    "matern 5/2": (Matern, {"nu": 2.5}, 0.9),
}
VARIANCE, NOISE = 1.7, 0.05


class Process(gpytorch.models.ExactGP):
    def __init__(self, X, y, likelihood, kernel):
        super().__init__(X, y, likelihood)
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(kernel)

    def forward(self, X):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(X), self.covar_module(X))


def data():
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, (45, 3))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.normal(size=45)
    return X, y, rng.uniform(-3, 3, (15, 3))


def theirs(name, X, y):
    kind, options, length = CASES[name]
    parts = {"ard_num_dims": X.shape[1] if isinstance(length, tuple) else None, **options}
    kernel = {RBF: gpytorch.kernels.RBFKernel, Matern: gpytorch.kernels.MaternKernel}[kind](**parts)
    likelihood = gpytorch.likelihoods.GaussianLikelihood(
        noise_constraint=gpytorch.constraints.GreaterThan(1e-8)
    )
    model = Process(torch.tensor(X), torch.tensor(y), likelihood, kernel).double()
    model.covar_module.outputscale = VARIANCE
    kernel.lengthscale = torch.tensor(length, dtype=torch.float64)
    likelihood.noise = NOISE
    return model, likelihood


def log_likelihood(model, likelihood, X, y):
    model.train(), likelihood.train()
    total = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    return total(model(torch.tensor(X)), torch.tensor(y)) * len(y)  # theirs is a mean over rows


@pytest.mark.parametrize("name", CASES)
def test_the_same_kernel_gives_the_same_numbers(name):
    X, y, new = data()
    kind, options, length = CASES[name]
    kernel = Constant(VARIANCE) * kind(length, **options) + White(NOISE)
    ours = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(X, y)
    model, likelihood = theirs(name, X, y)
    with gpytorch.settings.fast_computations(False, False, False):
        value = log_likelihood(model, likelihood, X, y)
        value.backward()
        model.eval(), likelihood.eval()
        with torch.no_grad(), gpytorch.settings.skip_posterior_variances(False):
            predicted = likelihood(model(torch.tensor(new)))
            mean, variance = predicted.mean.numpy(), predicted.variance.numpy()
            covariance = predicted.covariance_matrix.numpy()
    found, gradient = ours.log_marginal_likelihood(eval_gradient=True)
    assert found == pytest.approx(value.item(), rel=1e-6)
    ours_mean, std = ours.predict(new, return_std=True)
    np.testing.assert_allclose(ours_mean, mean, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(std**2, variance, rtol=1e-6)
    ours_covariance = ours.predict(new, return_cov=True)[1]
    np.testing.assert_allclose(ours_covariance, covariance, rtol=1e-6, atol=1e-6)
    # their derivative is in the argument of a softplus: dl/dr = (dl/d log p) (1 - exp(-p)) / p
    kernel_of = model.covar_module.base_kernel
    lengths = np.atleast_1d(length)
    slopes = kernel_of.raw_lengthscale.grad.numpy().ravel() * lengths / -np.expm1(-lengths)
    np.testing.assert_allclose(gradient[1 : 1 + len(lengths)], slopes, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["rbf", "rbf, a length a column", "matern 5/2"])
def test_the_optimum_is_no_worse(name):
    X, y, _ = data()
    kind, options, length = CASES[name]
    kernel = Constant(VARIANCE) * kind(length, **options) + White(NOISE)
    ours = GaussianProcessRegressor(kernel, alpha=0.0).fit(X, y)
    model, likelihood = theirs(name, X, y)
    climb = torch.optim.LBFGS(model.parameters(), max_iter=200, line_search_fn="strong_wolfe")

    def loss():
        climb.zero_grad()
        value = -log_likelihood(model, likelihood, X, y)
        value.backward()
        return value

    with gpytorch.settings.fast_computations(False, False, False):
        climb.step(loss)
        best = -loss().item()
    assert ours.log_marginal_likelihood_value_ >= best - 1e-6 * abs(best)
