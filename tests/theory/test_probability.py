"""Tables, Gaussians, generating functions and tails against enumeration, quadrature and SciPy."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from panlearn.theory import probability


@pytest.fixture
def law(rng):
    A = rng.normal(size=(4, 4))
    return probability.MultivariateNormal(rng.normal(size=4), A @ A.T + 0.1 * np.eye(4))


def test_density_agrees_with_scipy(law, rng):
    X = rng.normal(size=(5, 4))
    expected = stats.multivariate_normal(law.mean, law.covariance).logpdf(X)
    np.testing.assert_allclose(law.logpdf(X), expected, rtol=1e-10)
    assert law.logpdf(X[0]) == pytest.approx(expected[0])


def test_joint_density_is_marginal_times_conditional(law, rng):
    x = rng.normal(size=4)
    for given in ([0], [3, 1], [0, 1, 2]):
        rest = [i for i in range(4) if i not in given]
        first = law.marginal(given).logpdf(x[given])
        second = law.conditional(given, x[given]).logpdf(x[rest])
        assert first + second == pytest.approx(law.logpdf(x), abs=1e-9)
    precision = np.linalg.inv(law.covariance)  # the other way to a conditional
    np.testing.assert_allclose(
        law.conditional([0, 1], [0, 0]).covariance, np.linalg.inv(precision[2:, 2:]), atol=1e-9
    )


def test_product_is_the_product_of_densities(law, rng):
    other = probability.MultivariateNormal(rng.normal(size=4), np.diag([1.0, 2, 3, 4]))
    merged, log_scale = law.product(other)
    for x in rng.normal(size=(4, 4)):
        both = law.logpdf(x) + other.logpdf(x)
        assert merged.logpdf(x) + log_scale == pytest.approx(both, abs=1e-8)


def test_linear_maps_sums_and_observations(law, rng):
    A, b, R = rng.normal(size=(2, 4)), rng.normal(size=2), np.diag([0.5, 0.2])
    image = law.affine(A, b, R)
    np.testing.assert_allclose(image.covariance, A @ law.covariance @ A.T + R, atol=1e-10)
    joint = law.joint(A, b, R)
    learned = joint.conditional([4, 5], [1.0, -1.0])
    gain = law.covariance @ A.T @ np.linalg.inv(image.covariance)  # the Kalman update
    np.testing.assert_allclose(
        learned.mean, law.mean + gain @ ([1.0, -1.0] - image.mean), atol=1e-9
    )
    np.testing.assert_allclose(
        learned.covariance, law.covariance - gain @ A @ law.covariance, atol=1e-9
    )
    total = law + probability.MultivariateNormal(np.ones(4), np.eye(4))
    np.testing.assert_allclose(total.covariance, law.covariance + np.eye(4))
    np.testing.assert_allclose(
        law.affine(A, b, 0.5).covariance, A @ law.covariance @ A.T + 0.5 * np.eye(2)
    )


def test_draws_and_generating_function(law):
    X = law.sample(100_000, random_state=0)
    np.testing.assert_allclose(X.mean(axis=0), law.mean, atol=0.05)
    np.testing.assert_allclose(np.cov(X.T), law.covariance, atol=0.15)
    t = np.array([0.1, -0.2, 0.05, 0.1])
    assert law.generating_function(t) == pytest.approx(np.exp(X @ t).mean(), rel=0.02)
    np.testing.assert_array_equal(law.sample(3, random_state=1), law.sample(3, random_state=1))


def test_singular_laws():
    line = probability.MultivariateNormal([0, 0], [[1, 1], [1, 1]])
    assert line.conditional(0, 2.0).mean == pytest.approx([2.0])
    assert np.ptp(line.sample(5, random_state=0), axis=1).max() < 1e-9
    with pytest.raises(ValueError, match="no density"):
        line.logpdf([0, 0])


@pytest.mark.parametrize(
    ("mean", "covariance", "message"),
    [
        ([0, 0], [[1, 0]], "needs a covariance of 2 x 2"),
        ([0, 0], [[1, 0.5], [0, 1]], "symmetric"),
        ([0, 0], [[1, 2], [2, 1]], "negative eigenvalue"),
        ([np.nan], [[1]], "finite"),
    ],
)
def test_bad_laws_are_refused(mean, covariance, message):
    with pytest.raises(ValueError, match=message):
        probability.MultivariateNormal(mean, covariance)


def test_tables(rng):
    joint = rng.dirichlet(np.ones(12)).reshape(3, 4)
    np.testing.assert_allclose(probability.marginal(joint, 1), joint.sum(axis=0), atol=1e-15)
    given = probability.condition(joint, 0)
    np.testing.assert_allclose(given * joint.sum(axis=1)[:, None], joint, atol=1e-15)
    prior = joint.sum(axis=1)
    np.testing.assert_allclose(
        probability.bayes(prior, given), joint / joint.sum(axis=0), atol=1e-14
    )
    x, y = np.arange(3.0), np.array([0, 1, 4, 9.0])
    by_hand = (joint * np.outer(x, y)).sum() - (prior @ x) * (joint.sum(axis=0) @ y)
    assert probability.covariance(joint, x, y) == pytest.approx(by_hand, abs=1e-12)
    assert probability.dependence(np.outer([0.2, 0.8], [0.5, 0.5])) < 1e-15
    assert probability.dependence(np.eye(2) / 2) == pytest.approx(0.25)
    # two coins of one hidden kind: dependent, and independent given the kind
    kinds = np.stack([np.outer(c, c) / 2 for c in ([0.9, 0.1], [0.2, 0.8])], axis=2)
    assert probability.dependence(kinds) < 1e-15
    assert probability.dependence(kinds.sum(axis=2)) > 0.1
    assert np.isnan(probability.condition([[1, 0], [1, 0]], 1)[:, 1]).all()
    with pytest.raises(ValueError, match="probability zero"):
        probability.bayes([1, 1], [0, 0])
    with pytest.raises(ValueError, match="2 rows"):
        probability.bayes([1, 1], [1, 1, 1])


@pytest.mark.parametrize(
    ("mgf", "scipy_law"),
    [
        (lambda t: probability.bernoulli_mgf(t, 0.3), stats.bernoulli(0.3)),
        (lambda t: probability.binomial_mgf(t, 5, 0.3), stats.binom(5, 0.3)),
        (lambda t: probability.poisson_mgf(t, 2.5), stats.poisson(2.5)),
        (lambda t: probability.normal_mgf(t, 1.0, 4.0), stats.norm(1, 2)),
        (lambda t: probability.gamma_mgf(t, 2.5, 0.5), stats.gamma(2.5, scale=0.5)),
    ],
)
def test_generating_functions(mgf, scipy_law):
    expected = [scipy_law.moment(k) for k in (1, 2, 3, 4)]
    np.testing.assert_allclose(probability.moments(mgf, 4), expected, rtol=1e-9)
    central = [scipy_law.mean(), scipy_law.var(), scipy_law.stats("s") * scipy_law.std() ** 3]
    np.testing.assert_allclose(probability.cumulants(mgf, 3), central, rtol=1e-9, atol=1e-10)
    t = 0.7
    if hasattr(scipy_law.dist, "pmf"):
        series = sum(np.exp(t * k) * scipy_law.pmf(k) for k in range(100))
    else:
        series = quad(
            lambda x: np.exp(t * x) * scipy_law.pdf(x), *np.clip(scipy_law.support(), -60, 60)
        )[0]
    assert mgf(t) == pytest.approx(series, rel=1e-8)


def test_gamma_has_no_generating_function_beyond_its_rate():
    assert probability.gamma_mgf(2.0, 3.0, 0.5) == np.inf


def test_density_of_a_sum():
    step = 1e-3
    x = np.arange(0, 1, step)
    triangle = probability.density_of_sum(np.ones_like(x), np.ones_like(x), step)
    z = step * np.arange(len(triangle))
    np.testing.assert_allclose(triangle, 1 - np.abs(z - 1), atol=2e-3)


def test_tail_bounds():
    for t in (0.5, 1.0, 3.0):
        for law in (stats.norm(1, 2), stats.expon(), stats.binom(20, 0.3), stats.poisson(4)):
            for name, row in probability.tail_bounds(law, t).items():
                assert row["exact"] <= row["bound"] + 1e-12, (law, name)
    assert "markov" not in probability.tail_bounds(stats.norm(), 1.0)
    coin = probability.tail_bounds(stats.bernoulli(0.5), 0.5)  # both bounds are equalities
    assert coin["chebyshev"]["ratio"] == pytest.approx(1)
    assert coin["cantelli"] == {"bound": 0.5, "exact": 0.5, "ratio": 1.0}
    values, weights = probability.chebyshev_extremal(2.0, 3.0)
    assert weights @ values**2 == pytest.approx(2)
    assert weights[np.abs(values) >= 3].sum() == pytest.approx(probability.chebyshev(2.0, 3.0))


def test_exponential_bounds():
    n, t = 50, 0.15
    exact = stats.binom(n, 0.3).sf(np.ceil(n * (0.3 + t)) - 1)
    hoeffding = probability.hoeffding(n, t)
    bernstein = probability.bernstein(n, t, 0.21, 0.7)
    chernoff = probability.chernoff(
        lambda s: n * np.log(probability.bernoulli_mgf(s, 0.3)), n * (0.3 + t)
    )
    assert exact <= chernoff <= min(hoeffding, bernstein)
    assert hoeffding == pytest.approx(np.exp(-2 * n * t**2))
    assert bernstein == pytest.approx(np.exp(-n * t**2 / (0.42 + 1.4 * t / 3)))
    normal = probability.chernoff(lambda s: s**2 / 2, 3.0)
    assert normal == pytest.approx(np.exp(-4.5), rel=1e-6)
    assert probability.markov(2.0, 1.0) == 1.0
    with pytest.raises(ValueError, match="above zero"):
        probability.chebyshev(1.0, 0.0)
    with pytest.raises(ValueError, match="zero or more"):
        probability.markov(-1.0, 2.0)
