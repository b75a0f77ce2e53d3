"""Rules of probability: tables, expectations, generating functions, Gaussians, tails."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import stats
from scipy.integrate import quad

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.theory import information, probability


def _joint(seed: int, *shape: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(int(np.prod(shape)))).reshape(shape)


@claim("A215")
def sum_product_bayes() -> Iterator[Evidence]:
    """p(x) = sum_y p(x, y), p(x, y) = p(y | x) p(x) and p(y | x) = p(x | y) p(y) / p(x)."""
    joint = _joint(0, 3, 4)
    px, py = probability.marginal(joint, 0), probability.marginal(joint, 1)
    yield equal("sum rule", px, [sum(row) for row in joint], 1e-14)
    given_x, given_y = probability.condition(joint, 0), probability.condition(joint, 1)
    yield equal("product rule", given_x * px[:, None], joint, 1e-14)
    yield equal("Bayes' rule", probability.bayes(py, given_y.T).T, given_x, 1e-14)


@claim("A216")
def independence() -> Iterator[Evidence]:
    """P(X, Y | Z) = P(X | Z) P(Y | Z) just if P(X | Y, Z) = P(X | Z); independence makes Cov = 0.

    Not conversely: with X uniform on (-1, 1), Y = X^2 has covariance zero and depends on X.
    """
    rng = np.random.default_rng(1)
    x, y = rng.dirichlet(np.ones(3), 2), rng.dirichlet(np.ones(4), 2)
    apart = np.einsum("zi,zj,z->ijz", x, y, [0.3, 0.7])
    for name, joint, bound in (("apart", apart, True), ("any", _joint(1, 3, 4, 2), False)):
        given_yz = probability.condition(joint, (1, 2))
        pair = probability.condition(probability.marginal(joint, (0, 2)), 1)
        gap = np.abs(given_yz - pair[:, None, :]).max()
        factors = probability.dependence(joint)
        if bound:
            yield at_most(f"departure of the product, {name}", factors, 1e-14)
            yield at_most(f"departure of P(X | Y, Z), {name}", gap, 1e-14)
        else:
            yield at_least(f"departure of the product, {name}", factors, 1e-3)
            yield at_least(f"departure of P(X | Y, Z), {name}", gap, 1e-3)
    product = np.outer(x[0], y[0])
    zero = probability.covariance(product, rng.normal(size=3), rng.normal(size=4))
    yield equal("covariance if independent", zero, 0, 1e-14)
    grid = (np.arange(-50, 51)) / 50
    values = np.unique(grid**2)
    table = (grid[:, None] ** 2 == values).astype(float)
    yield equal("covariance of X and X^2", probability.covariance(table, grid, values), 0, 1e-14)
    yield at_least("their mutual information", information.mutual_information(table), 1.0)


@claim("A217")
def expectations() -> Iterator[Evidence]:
    """E X = int t f(t) dt, Cov = E (X - EX)(Y - EY), Var = E X^2 - (E X)^2.

    The text loses the t of the first integral and misplaces a bracket of the second.
    """
    law = stats.gamma(2.5, scale=0.7)
    first, second = probability.moments(lambda t: probability.gamma_mgf(t, 2.5, 0.7), 2)
    yield equal("E X", first, quad(lambda t: t * law.pdf(t), 0, np.inf)[0], 1e-8)
    spread = quad(lambda t: (t - first) ** 2 * law.pdf(t), 0, np.inf)[0]
    yield equal("Var X", second - first**2, spread, 1e-8)
    joint, x, y = _joint(2, 3, 4), np.array([0.0, 1, 5]), np.array([-1.0, 0, 2, 3])
    mixed = (joint * np.outer(x, y)).sum() - (joint.sum(1) @ x) * (joint.sum(0) @ y)
    yield equal("Cov and E XY - EX EY", probability.covariance(joint, x, y), mixed, 1e-12)


def _gaussian(seed: int, d: int) -> probability.MultivariateNormal:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d))
    return probability.MultivariateNormal(rng.normal(size=d), A @ A.T + 0.1 * np.eye(d))


@claim("A218")
def variance_of_affine_maps() -> Iterator[Evidence]:
    """Var(Ax + b) = A Var(x) A', for a number a^2 Var(x); X X' and covariances are PSD.

    The text writes a^2 Var(x) for a matrix too.
    """
    rng = np.random.default_rng(3)
    X, A, b = rng.normal(size=(50, 3)), rng.normal(size=(2, 3)), rng.normal(size=2)
    sample = probability.MultivariateNormal(X.mean(axis=0), np.cov(X.T))
    image = sample.affine(A, b)
    yield equal("covariance of the mapped rows", image.covariance, np.cov((X @ A.T + b).T), 1e-10)
    line = probability.MultivariateNormal(1.0, 4.0).affine(-3.0, 2.0)
    yield equal("a number", line.covariance, [[36.0]])
    lowest = min(np.linalg.eigvalsh(S).min() for S in (sample.covariance, X @ X.T))
    yield at_least("least eigenvalue", lowest, -1e-12)


@claim("A219")
def variance_of_sums() -> Iterator[Evidence]:
    """Var(sum a_i X_i) = sum a_i^2 Var X_i + 2 sum_{i<j} a_i a_j Cov: a' Sigma a.

    The second formula of the text lacks the 2.
    """
    law, a = _gaussian(4, 4), np.array([1.0, -2, 0.5, 3])
    S = law.covariance
    pairs = sum(a[i] * a[j] * S[i, j] for i in range(4) for j in range(i + 1, 4))
    by_terms = a**2 @ np.diag(S) + 2 * pairs
    yield equal("variance of the sum", law.affine(a).covariance, [[by_terms]], 1e-12)


@claim("A220")
def densities_and_scaling() -> Iterator[Evidence]:
    """The density is the derivative of the cdf; that of aY is f_Y(z / a) / |a|, also for a < 0."""
    law = probability.MultivariateNormal(0.5, 2.0)
    t, h = np.linspace(-3, 3, 13), 1e-5
    rise = np.diff(stats.norm(0.5, np.sqrt(2)).cdf(np.stack([t - h, t + h])), axis=0)[0] / (2 * h)
    yield equal("density and slope of the cdf", np.exp(law.logpdf(t[:, None])), rise, 1e-9)
    scaled = np.exp(law.affine(-2.0).logpdf(t[:, None]))
    yield equal("density of -2 Y", scaled, np.exp(law.logpdf(t[:, None] / -2)) / 2, 1e-12)


@claim("A221")
def generating_functions() -> Iterator[Evidence]:
    """Bernoulli 1-p+pe^t, binomial its n-th power, Poisson exp(lam (e^t - 1)), normal, gamma.

    The normal's is exp(mu t + s^2 t^2 / 2), that of a gamma variable of shape a and scale b
    (1 - bt)^(-a) for t < 1/b. The text prints four of the five wrongly.
    """
    t = 0.4
    for name, found, law in (
        ("Bernoulli", probability.bernoulli_mgf(t, 0.3), stats.bernoulli(0.3)),
        ("binomial", probability.binomial_mgf(t, 7, 0.3), stats.binom(7, 0.3)),
        ("Poisson", probability.poisson_mgf(t, 2.0), stats.poisson(2.0)),
    ):
        series = sum(np.exp(t * k) * law.pmf(k) for k in range(80))
        yield equal(name, found, series, 1e-8)
    for name, found, law, ends in (
        ("normal", probability.normal_mgf(t, 1.0, 4.0), stats.norm(1, 2), (-40, 60)),
        ("gamma", probability.gamma_mgf(t, 2.5, 0.5), stats.gamma(2.5, scale=0.5), (0, 200)),
    ):
        yield equal(
            name, found, quad(lambda x, law=law: np.exp(t * x) * law.pdf(x), *ends)[0], 1e-8
        )
    yield equal("gamma from 1/b on", np.isinf(probability.gamma_mgf(2.0, 2.5, 0.5)), 1)


@claim("A222")
def generating_functions_of_sums() -> Iterator[Evidence]:
    """M of sum a_i X_i is prod M_i(a_i t) for independent X_i; moments are derivatives at 0.

    Independence suffices: the same law for all, which the text asks for, is not needed.
    """
    t = 0.3
    power = probability.bernoulli_mgf(t, 0.2) ** 6
    yield equal("binomial as a sum", probability.binomial_mgf(t, 6, 0.2), power, 1e-12)
    x, y = stats.bernoulli(0.3), stats.poisson(1.5)
    both = sum(np.exp(t * (2 * i - j)) * x.pmf(i) * y.pmf(j) for i in range(2) for j in range(60))
    product = probability.bernoulli_mgf(2 * t, 0.3) * probability.poisson_mgf(-t, 1.5)
    yield equal("2 X - Y of two laws", product, both, 1e-12)
    h = 1e-4
    second = sum(s * probability.poisson_mgf(u, 1.5) for s, u in ((1, h), (-2, 0), (1, -h))) / h**2
    exact = probability.moments(lambda t: probability.poisson_mgf(t, 1.5), 2)[1]
    yield equal("second moment and difference", exact, second, 1e-5)
    yield equal("second moment", exact, 1.5 + 1.5**2, 1e-10)
    law, a = _gaussian(5, 3), np.array([0.2, -0.1, 0.3])
    line = law.affine(a)
    one = probability.normal_mgf(1.0, float(line.mean[0]), float(line.covariance[0, 0]))
    yield equal("vector version of a Gaussian", law.generating_function(a), one, 1e-12)


@claim("A223")
def density_of_a_sum() -> Iterator[Evidence]:
    """The density of X + Y is the convolution: uniforms make a triangle, normals a normal."""
    step = 1e-3
    ones = np.ones(1000)
    triangle = probability.density_of_sum(ones, ones, step)
    z = step * (1 + np.arange(len(triangle)))  # both grids start at the middle of a cell
    yield equal("triangle", triangle, 1 - np.abs(z - 1), 1e-3)
    grid = np.arange(-12, 12, step)
    first, second = (
        probability.MultivariateNormal(1.0, 1.0),
        probability.MultivariateNormal(-0.5, 2.0),
    )
    densities = [np.exp(law.logpdf(grid[:, None])) for law in (first, second)]
    convolved = probability.density_of_sum(densities[0], densities[1], step)
    points = 2 * grid[0] + step * np.arange(len(convolved))
    yield equal("normals", convolved, np.exp((first + second).logpdf(points[:, None])), 1e-8)


@claim("A224")
def normal_density() -> Iterator[Evidence]:
    """The prefactor of the normal density is (2 pi)^(-d/2) det(Sigma)^(-1/2), not its square."""
    law = _gaussian(6, 2)
    side = 10 * np.sqrt(np.diag(law.covariance))
    axes = [m + np.linspace(-s, s, 401) for m, s in zip(law.mean, side, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    cell = np.prod(2 * side / 400)
    yield equal("integral", np.exp(law.logpdf(grid)).sum() * cell, 1, 1e-8)
    x = np.random.default_rng(6).normal(size=(20, 2))
    reference = stats.multivariate_normal(law.mean, law.covariance).logpdf(x)
    yield equal("log density", law.logpdf(x), reference, 1e-10)


@claim("A225")
def gaussian_blocks() -> Iterator[Evidence]:
    """x1 ~ N(mu1, S11) and x2 | x1 ~ N(mu2 + S21 S11^-1 (x1 - mu1), S22 - S21 S11^-1 S12)."""
    law = _gaussian(7, 5)
    for x in np.random.default_rng(7).normal(size=(10, 5)):
        parts = law.marginal([0, 1]).logpdf(x[:2]) + law.conditional([0, 1], x[:2]).logpdf(x[2:])
        yield equal("log p(x1) + log p(x2 | x1) and log p(x)", parts, law.logpdf(x), 1e-9)


@claim("A226")
def chebyshev_is_tight() -> Iterator[Evidence]:
    """P(|X - mu| >= e) <= s^2 / e^2, with equality for a law of three points."""
    for law in (stats.binom(12, 0.4), stats.poisson(3), stats.bernoulli(0.1)):
        for e in (0.5, 1.7, 3.0):
            row = probability.tail_bounds(law, e)["chebyshev"]
            yield at_most(f"tail of {law.dist.name} at {e}", row["exact"], row["bound"] + 1e-12)
    values, weights = probability.chebyshev_extremal(2.0, 3.0)
    yield equal("its variance", weights @ values**2, 2, 1e-12)
    tail = weights[np.abs(values) >= 3].sum()
    yield equal("tail of the three points", tail, probability.chebyshev(2.0, 3.0), 1e-12)
    yield true("the bound says something", tail < 1)
