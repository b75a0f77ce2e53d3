"""Gaussian-process latent variables: gradients, principal components, new rows."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.optimize import approx_fprime, minimize
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

from panlearn.latent import GPLVM, PCA
from panlearn.latent._latent_positions import COVARIANCES, log_likelihood, minimise_rows

both = pytest.mark.parametrize("name", ["rbf", "linear"])


@both
def test_the_likelihood_and_its_gradients(rng, name):
    kernel = COVARIANCES[name]
    Z, Y = rng.normal(size=(7, 2)), rng.normal(size=(7, 3))

    def value(parameters):
        s = np.exp(parameters[-2])
        return log_likelihood(kernel, parameters[:-2].reshape(7, 2), s, np.exp(parameters[-1]), Y)[
            0
        ]

    at = np.r_[Z.ravel(), np.log(1.3), np.log(0.2)]
    found, slope, to_s, to_noise = log_likelihood(kernel, Z, 1.3, 0.2, Y)
    K = kernel.gram(Z, Z, 1.3) + 0.2 * np.eye(7)
    expected = multivariate_normal(np.zeros(7), K).logpdf(Y.T).sum()
    assert found == pytest.approx(expected, rel=1e-8)
    numeric = approx_fprime(at, value, 1e-6)
    np.testing.assert_allclose(slope.ravel(), numeric[:-2], atol=1e-3, rtol=1e-4)
    assert to_noise == pytest.approx(numeric[-1], rel=1e-4)
    if kernel.scaled:
        assert to_s == pytest.approx(numeric[-2], rel=1e-4)


@both
def test_the_loss_of_new_rows_and_its_gradient(rng, name):
    X = rng.normal(size=(12, 4))
    process, _, _ = GPLVM(kernel=name).fit(X)._process()
    z, y = rng.normal(size=(3, 2)), rng.normal(size=(3, 4))
    loss, slope = process.loss(z, y)
    for i in range(3):
        numeric = approx_fprime(z[i], lambda v, i=i: process.loss(v[None], y[[i]])[0][0], 1e-6)
        np.testing.assert_allclose(slope[i], numeric, rtol=1e-4, atol=1e-4)
        # the density of the row given the training rows, from the joint covariance
        Z = np.vstack([process.Z, z[[i]]])
        K = process.kernel.gram(Z, Z, process.s) + process.noise * np.eye(13)
        gain = np.linalg.solve(K[:12, :12], K[:12, 12])
        mean = process.weights.T @ K[:12, 12]
        variance = K[12, 12] - K[12, :12] @ gain
        exact = -multivariate_normal(mean, variance * np.eye(4)).logpdf(y[i])
        exact += 0.5 * z[i] @ z[i] - 2 * np.log(2 * np.pi)
        assert loss[i] == pytest.approx(exact, rel=1e-5)


def test_rows_are_minimised_as_by_the_library_and_alone(rng):
    centre, scale = rng.normal(size=(20, 3)), rng.uniform(0.1, 5, size=(20, 3))

    def loss(z, rows):
        gap = z - centre[rows]
        value = (scale[rows] * gap**2).sum(axis=1) + (gap**4).sum(axis=1)
        return value, 2 * scale[rows] * gap + 4 * gap**3

    start = np.zeros((20, 3))
    np.testing.assert_allclose(minimise_rows(loss, start), centre, atol=1e-5)
    one = minimise_rows(lambda z, rows: loss(z, np.array([4])), start[:1])
    np.testing.assert_allclose(one[0], minimise_rows(loss, start)[4], atol=1e-12)
    rosen = minimize(lambda v: loss(v[None], [3])[0][0], np.zeros(3)).x
    np.testing.assert_allclose(minimise_rows(loss, start)[3], rosen, atol=1e-4)


def test_the_linear_kernel_finds_the_principal_subspace(rng):
    X = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 6)) * 3 + rng.normal(size=(50, 6)) + 4
    model = GPLVM(2, kernel="linear", max_iter=2000).fit(X)
    scores = PCA(2).fit_transform(X)
    # the ascent stops when it hardly rises, and the objective is flat at its top
    assert np.sin(subspace_angles(model.embedding_, scores)).max() < 0.05


def test_a_curve_is_unrolled_and_the_objective_rises(rng):
    t = np.sort(rng.uniform(-1, 1, 60))
    X = np.c_[t, t**2, np.sin(2 * t), np.exp(t)] + 0.02 * rng.normal(size=(60, 4))
    model = GPLVM(1).fit(X)
    rank = np.argsort(np.argsort(model.embedding_[:, 0]))
    assert abs(np.corrcoef(rank, np.arange(60))[0, 1]) > 0.99
    assert (np.diff(model.history_["objective"]) >= 0).all()
    assert np.sqrt(model.noise_variance_) == pytest.approx(0.02, rel=0.4)
    back = model.inverse_transform(model.embedding_)
    assert np.sqrt(np.mean((back - X) ** 2)) < 0.03
    placed = model.transform(X)
    assert np.abs(placed - model.embedding_).max() < 0.1 * np.ptp(model.embedding_)


def test_units_do_not_matter_but_to_the_likelihood(rng):
    X = rng.normal(size=(30, 3))
    plain, large = GPLVM().fit(X), GPLVM().fit(2.0**20 * X)
    np.testing.assert_allclose(large.embedding_, plain.embedding_, atol=1e-6)
    assert large.log_likelihood_ == pytest.approx(plain.log_likelihood_ - 90 * 20 * np.log(2))
    assert large.noise_variance_ == pytest.approx(2.0**40 * plain.noise_variance_)


def test_too_few_iterations_warn_and_too_many_dimensions_are_refused(rng):
    X = rng.normal(size=(20, 3))
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        model = GPLVM(max_iter=3).fit(X)
    assert not model.converged_
    assert model.n_iter_ == 3
    with pytest.raises(ValueError, match="n_components=21"):
        GPLVM(21).fit(X)


def test_positions_of_another_space_are_refused(rng):
    model = GPLVM(2).fit(rng.normal(size=(10, 3)))
    with pytest.raises(ValueError, match=r"\(n_samples, 2\).*\(1, 3\)"):
        model.inverse_transform([[0.0, 0.0, 0.0]])
