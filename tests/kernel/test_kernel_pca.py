"""Kernel PCA: the components, centring, both solvers, weights, and the way back."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import panlearn
from panlearn.kernel import KernelPCA
from panlearn.kernel.kernels import RBF, Linear, Matern
from panlearn.latent import PCA


def _centred(K, weight):
    P = np.eye(len(K)) - np.outer(np.ones(len(K)), weight / weight.sum())
    return P @ K @ P.T


def test_a_linear_kernel_gives_pca(rng):
    X = rng.normal(size=(40, 5)) @ np.diag([5, 3, 2, 1, 0.5]) + 100
    ours, plain = KernelPCA(3).fit(X), PCA(3).fit(X)
    assert_allclose(np.abs(ours.transform(X)), np.abs(plain.transform(X)), atol=1e-8)
    assert_allclose(ours.eigenvalues_ / 39, plain.explained_variance_, rtol=1e-9)
    back = plain.inverse_transform(plain.transform(X))
    assert_allclose(ours.inverse_transform(ours.transform(X)), back, atol=1e-8)
    assert KernelPCA().fit(X).n_components_ == 5  # the rank


@pytest.mark.parametrize("solver", ["dense", "arpack"])
def test_components_are_unit_directions_of_greatest_variance(rng, solver):
    X, weight = rng.normal(size=(50, 3)), rng.uniform(0.5, 2, 50)
    kernel = 1e3 + RBF([1.0, 2.0, 3.0])  # a common part is centred away
    model = KernelPCA(4, kernel=kernel, eigen_solver=solver, random_state=0, tol=0.0)
    model.fit(X, sample_weight=weight)
    K, root = _centred(RBF([1.0, 2.0, 3.0])(X), weight), np.sqrt(weight)
    values = np.linalg.eigvalsh(root[:, None] * K * root)[::-1][:4]
    assert_allclose(model.eigenvalues_, values, rtol=1e-9)
    assert_allclose(model.projection_.T @ K @ model.projection_, np.eye(4), atol=1e-8)
    scores = model.transform(X)
    assert_allclose(scores, model.X_transformed_fit_, atol=1e-8)
    assert_allclose(scores.T @ (weight[:, None] * scores), np.diag(values), atol=1e-7)
    assert_allclose(weight @ scores, 0, atol=1e-8)
    assert (scores[np.abs(scores).argmax(axis=0), range(4)] > 0).all()
    assert model.eigen_solver_ == solver


def test_new_rows_are_centred_by_the_training_rows(rng):
    X, new, kernel = rng.normal(size=(30, 2)), rng.normal(size=(7, 2)), Matern(1.3)
    model = KernelPCA(3, kernel=kernel).fit(X)
    K, cross = kernel(X), kernel(new, X)
    cross = cross - cross.mean(axis=1, keepdims=True) - K.mean(axis=0) + K.mean()
    expected = cross @ (model.eigenvectors_ / np.sqrt(model.eigenvalues_))
    assert_allclose(model.transform(new), expected, atol=1e-10)


def test_the_solver_is_chosen_by_size(rng):
    X = rng.normal(size=(600, 3))
    few = KernelPCA(3, kernel="rbf", random_state=0).fit(X)
    dense = KernelPCA(3, kernel="rbf", eigen_solver="dense").fit(X)
    assert (few.eigen_solver_, dense.eigen_solver_) == ("arpack", "dense")
    assert_allclose(few.eigenvalues_, dense.eigenvalues_, rtol=1e-9)
    assert_allclose(few.transform(X), dense.transform(X), atol=1e-6)
    assert KernelPCA(3, kernel="rbf").fit(X[:400]).eigen_solver_ == "dense"


def test_an_integer_weight_is_a_repeated_row(rng):
    X, weight = rng.normal(size=(20, 2)), rng.integers(0, 4, 20)
    one = KernelPCA(3, kernel="rbf").fit(X, sample_weight=weight)
    other = KernelPCA(3, kernel="rbf").fit(np.repeat(X, weight, axis=0))
    assert_allclose(one.eigenvalues_, other.eigenvalues_, rtol=1e-9)
    assert_allclose(one.transform(X), other.transform(X), atol=1e-8)
    assert_allclose(
        one.inverse_transform(one.transform(X)),
        other.inverse_transform(other.transform(X)),
        atol=1e-6,
    )


def test_a_pre_image_is_a_stationary_point_and_takes_noise_away(rng):
    angle = rng.uniform(0, 2 * np.pi, 200)
    clean = np.c_[np.cos(angle), np.sin(angle)]
    X = clean + 0.1 * rng.normal(size=clean.shape)
    model = KernelPCA(4, kernel="rbf", gamma=1.0).fit(X)
    back = model.inverse_transform(model.transform(X))
    assert np.linalg.norm(back, axis=1).std() < np.linalg.norm(X, axis=1).std() / 3
    share = model.transform(X) @ model.projection_.T + 1 / 200
    pulled = share * model.kernel_(back, X)
    assert_allclose(pulled @ X / pulled.sum(axis=1, keepdims=True), back, atol=1e-6)
    whole = KernelPCA(kernel="rbf", gamma=1.0).fit(X[:20])
    assert_allclose(whole.inverse_transform(whole.transform(X[:20])), X[:20], atol=1e-4)


def test_the_learned_way_back_is_ridge_regression(rng):
    X, weight = rng.normal(size=(30, 2)), rng.uniform(0.5, 2, 30)
    model = KernelPCA(3, kernel=RBF(0.8), fit_inverse_transform=True, alpha=0.3)
    model.fit(X, sample_weight=weight)
    Z = model.transform(X)
    dual = np.linalg.solve(RBF(0.8)(Z) + 0.3 * np.diag(1 / weight), X)
    assert_allclose(model.inverse_transform(Z[:5]), RBF(0.8)(Z[:5], Z) @ dual, atol=1e-8)


def test_what_cannot_be_is_refused(rng, tmp_path):
    X = rng.normal(size=(20, 2))
    with pytest.raises(ValueError, match="more than n_samples=20"):
        KernelPCA(21).fit(X)
    with pytest.raises(ValueError, match="needs n_components"):
        KernelPCA(eigen_solver="arpack").fit(X)
    with pytest.raises(ValueError, match="not valid"):
        KernelPCA(kernel=lambda x, z: np.abs(x - z).sum() ** 2 * (x @ z)).fit(X)
    model = KernelPCA(2, kernel=Matern()).fit(X)
    with pytest.raises(ValueError, match="fit_inverse_transform=True"):
        model.inverse_transform(model.transform(X))
    with pytest.raises(ValueError, match="shape"):
        model.inverse_transform(np.zeros((3, 3)))
    panlearn.save(model, tmp_path / "model")
    assert_allclose(panlearn.load(tmp_path / "model").transform(X), model.transform(X), rtol=0)


def test_a_flat_direction_has_no_score(rng):
    X = np.outer(rng.normal(size=10), [1.0, 2.0])
    model = KernelPCA(3, kernel=Linear()).fit(X)
    assert_allclose(model.eigenvalues_[1:], 0)
    assert_allclose(model.transform(X)[:, 1:], 0)


def test_negative_eigenvalues_of_a_sigmoid_have_no_component(rng):
    X = rng.normal(size=(30, 3))
    K = np.tanh(0.5 * X @ X.T - 1)
    P = np.eye(30) - 1 / 30
    values = np.linalg.eigvalsh(P @ K @ P)[::-1]
    assert values[-1] < -0.1
    model = KernelPCA(kernel="sigmoid", gamma=0.5, coef0=-1.0).fit(X)
    assert_allclose(model.eigenvalues_, values[values > 1e-9], atol=1e-9)
    assert_allclose(model.transform(X), model.X_transformed_fit_, atol=1e-8)


def test_rows_are_copied_unless_the_caller_says_not_to(rng):
    X = rng.normal(size=(20, 2))
    assert not np.shares_memory(KernelPCA(2, kernel="rbf").fit(X).X_fit_, X)
    lent = KernelPCA(2, kernel="rbf", copy_X=False).fit(X)
    assert np.shares_memory(lent.X_fit_, X)
    assert_allclose(lent.transform(X), KernelPCA(2, kernel="rbf").fit(X).transform(X), atol=1e-12)
