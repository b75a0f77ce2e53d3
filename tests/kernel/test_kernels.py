"""Kernels: values, algebra, derivatives, validity, and what is adapted to them."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import kernels as peer
from sklearn.metrics import pairwise

import panlearn
from panlearn.kernel import (
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelPCA,
    KernelRidge,
)
from panlearn.kernel._adapter import as_kernel
from panlearn.kernel._tiles import gram
from panlearn.kernel.kernels import (
    RBF,
    AllSubsets,
    Constant,
    Cosine,
    Laplacian,
    Linear,
    Matern,
    Minimum,
    Periodic,
    Polynomial,
    Sigmoid,
    White,
    is_psd,
    is_valid,
)

KERNELS = [
    *(Linear(), Cosine(), AllSubsets(), Constant(2.5), White(0.3), Polynomial(3, 0.5, 0.7)),
    *(RBF(0.7), RBF([1.0, 2.0, 0.5]), Laplacian(2.0), Laplacian([1.0, 2.0, 0.5])),
    *(Matern(1.3, nu=0.5), Matern([1.0, 2.0, 0.5], nu=1.5), Matern([1.0, 2.0, 0.5], nu=2.5)),
    *(Periodic(1.3, 2.7), 2 * RBF(1.0) + White(0.1), RBF(2.0) * Linear() + 1.0),
    *(np.exp(Polynomial(2, 0.1, 0.3)), RBF().scaled(lambda X: X[:, 0]), 0.5 + Linear()),
    *(RBF().on([0]) + Linear().on([1, 2]), np.float64(2) * Matern(nu=2.5).on([2])),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=range(len(KERNELS)))
def test_derivatives_are_those_of_finite_differences(kernel, rng):
    X, W = rng.normal(size=(12, 3)) + 5, rng.normal(size=(12, 12))
    theta, step = kernel.theta, 1e-6
    sides = [
        [np.vdot(W, kernel.with_theta(theta + s * e)(X)) for s in (step, -step)]
        for e in np.eye(len(theta))
    ]
    numeric = np.array([(a - b) / (2 * step) for a, b in sides])
    # differences of step 1e-6 lose half of the digits of the sum
    assert_allclose(kernel.gradient(X, W), numeric, rtol=1e-5, atol=1e-7 * np.abs(W).sum())
    assert len(kernel.names) == len(theta) == len(kernel.bounds)


@pytest.mark.parametrize("kernel", KERNELS, ids=range(len(KERNELS)))
def test_derivatives_between_two_sets_of_rows_are_a_part_of_those_of_all(kernel, rng):
    X, Z, W = rng.normal(size=(9, 3)), rng.normal(size=(5, 3)), rng.normal(size=(9, 5))
    K, pull = kernel._pullback(X, Z)
    assert_allclose(K, kernel(X, Z), rtol=1e-10, atol=1e-12)
    whole = np.zeros((14, 14))
    whole[:9, 9:] = W
    expected = kernel.gradient(np.vstack([X, Z]), whole)
    assert_allclose(pull(W), expected, rtol=1e-9, atol=1e-12 * np.abs(W).sum())
    with pytest.raises(ValueError, match="weight has shape"):
        kernel.gradient(X, W)


@pytest.mark.parametrize("kernel", KERNELS, ids=range(len(KERNELS)))
def test_the_matrix_is_symmetric_positive_and_has_the_diagonal(kernel, rng):
    X, Z = rng.normal(size=(20, 3)), rng.normal(size=(7, 3))
    K = kernel(X)
    assert_allclose(K, K.T, rtol=1e-12, atol=1e-13)
    assert_allclose(kernel.diag(X), K.diagonal(), rtol=1e-12, atol=1e-13)
    assert is_valid(kernel, X)
    assert_allclose(kernel(X, Z).T, kernel(Z, X), rtol=1e-11, atol=1e-13)
    cross = kernel(np.vstack([X, Z]))[:20, 20:]
    assert_allclose(kernel(X, Z), cross, rtol=1e-11, atol=1e-13)


def test_values_are_those_of_the_formulas_and_of_the_peer(rng):
    X, Z = rng.normal(size=(9, 3)) + 100, rng.normal(size=(5, 3)) + 100  # an offset costs nothing
    scale = np.array([1.0, 2.0, 0.5])
    assert_allclose(RBF(scale)(X, Z), peer.RBF(scale)(X, Z), rtol=1e-10)
    for nu in (0.5, 1.5, 2.5):
        assert_allclose(Matern(scale, nu=nu)(X, Z), peer.Matern(scale, nu=nu)(X, Z), rtol=1e-9)
    assert_allclose(Laplacian(2.0)(X, Z), pairwise.laplacian_kernel(X, Z, 0.5), rtol=1e-12)
    assert_allclose(Cosine()(X, Z), pairwise.cosine_similarity(X, Z), rtol=1e-12)
    ours = Polynomial(4, 0.2, 1.5)(X, Z)
    assert_allclose(ours, pairwise.polynomial_kernel(X, Z, 4, 0.2, 1.5), rtol=1e-12)
    ours = Sigmoid(0.01, -100.5)(X, Z)
    assert_allclose(ours, pairwise.sigmoid_kernel(X, Z, 0.01, -100.5), rtol=1e-9)
    one, other = X[:, :1], Z[:, :1]
    assert_allclose(
        Periodic(1.3, 2.7)(one, other), peer.ExpSineSquared(1.3, 2.7)(one, other), rtol=1e-9
    )
    assert Minimum()([[1.0, 5.0]], [[2.0, 3.0]]) == 4
    assert AllSubsets()([[1.0, 5.0]], [[2.0, 3.0]]) == 3 * 16


def test_explicit_feature_maps(rng):
    X = rng.normal(size=(6, 4))
    subsets = [c for r in range(5) for c in itertools.combinations(range(4), r)]
    features = np.column_stack([np.prod(X[:, c], axis=1) for c in subsets])
    assert_allclose(AllSubsets()(X), features @ features.T, rtol=1e-12)
    K = Polynomial(4, coef0=1.0)(rng.normal(size=(80, 3)))
    assert np.linalg.matrix_rank(K, tol=1e-10 * K.max()) == math.comb(7, 3)


INVALID = {
    "larger": lambda x, z: max(x[0], z[0]),
    "cosine of the sum": lambda x, z: np.cos(x[0] + z[0]),
    "minus distance": lambda x, z: -abs(x[0] - z[0]),
    "tanh": lambda x, z: np.tanh(x @ z - 1),
    "not symmetric": lambda x, z: x[0] + 2 * z[0],
}
VALID = {
    "geometric series": lambda x, z: 1 / (1 - x[0] * z[0]),
    "power of two": lambda x, z: 2 ** (x[0] * z[0]),
    "cosine of the difference": lambda x, z: np.cos(x[0] - z[0]),
    "smaller": lambda x, z: min(x[0], z[0]),
    "smaller over larger": lambda x, z: min(x[0], z[0]) / max(x[0], z[0]),
}


@pytest.mark.parametrize("name", [*VALID, *INVALID])
def test_valid_and_invalid_kernels(name, rng):
    X = rng.uniform(0.05, 0.95, (40, 1))
    assert is_valid({**VALID, **INVALID}[name], X) == (name in VALID)


def test_positive_semi_definite_matrices():
    assert is_psd([[2.0, 1.0], [1.0, 2.0]])
    assert not is_psd(np.diag([0.0, -1.0]))  # though no leading minor is negative
    assert not is_psd([[1.0, 2.0], [0.0, 1.0]])
    assert not is_psd(np.ones((2, 3)))


def test_kernels_are_values(rng):
    kernel = 2 * RBF(np.array([1.0, 2.0])) + White(0.1)
    twin = 2 * RBF((1.0, 2.0)) + White(0.1)
    assert kernel == twin
    assert hash(kernel) == hash(twin)
    moved = kernel.with_theta(kernel.theta + 1)
    assert_allclose(np.exp(moved.theta), np.e * np.exp(kernel.theta))
    fixed = RBF(3.0, length_scale_bounds="fixed") + White(0.1)
    assert fixed.names == ["White.noise_level"]
    with pytest.raises(AttributeError):
        kernel.left = RBF()
    with pytest.raises(TypeError):
        RBF() + "noise"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: RBF(0.0), "length_scale of RBF must be positive"),
        (lambda: RBF([1.0, np.nan]), "positive"),
        (lambda: RBF(1.0, (2.0, 1.0)), "length_scale_bounds"),
        (lambda: Matern(nu=3.0), "nu must be"),
        (lambda: -1 * RBF(), "positive"),
        (lambda: RBF([1.0, 2.0])([[1.0, 2.0, 3.0]]), "2 values and X has 3"),
        (lambda: RBF()([[1.0]], [[1.0, 2.0]]), "1 columns and Z has 2"),
        (lambda: RBF().on([5])([[1.0, 2.0]]), "columns"),
        (lambda: RBF().scaled(lambda X: X)([[1.0, 2.0]]), "one number a row"),
    ],
)
def test_what_makes_no_kernel_is_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_functions_of_matrices_and_of_rows_are_told_apart(rng):
    for d in (1, 2, 3, 6):  # also where a product of two rows would fit a matrix
        X, Z = rng.normal(size=(d, d)), rng.normal(size=(d, d))
        for function in (lambda x, z: x @ z, np.dot, pairwise.linear_kernel, lambda A, B: A @ B.T):
            assert_allclose(as_kernel(function, X)(X, Z), X @ Z.T, rtol=1e-12)


def test_kernels_of_scikit_learn_keep_their_parameters(rng):
    X, W = rng.normal(size=(8, 2)), np.ones((8, 8))
    theirs = peer.ConstantKernel(2.0) * peer.RBF([1.0, 2.0]) + peer.WhiteKernel(0.1)
    ours = 2 * RBF([1.0, 2.0]) + White(0.1)
    adapted = as_kernel(theirs, X)
    assert_allclose(adapted.theta, ours.theta)
    assert len(adapted.names) == 4
    assert_allclose(adapted.bounds, ours.bounds)
    moved = adapted.theta + 0.1
    assert_allclose(adapted.with_theta(moved)(X), ours.with_theta(moved)(X), rtol=1e-12)
    assert_allclose(adapted.gradient(X, W), ours.gradient(X, W), rtol=1e-10)


def test_models_with_kernels_are_saved_unless_a_function_is_inside(rng, tmp_path):
    X = rng.uniform(size=(10, 3))
    kernel = np.exp(0.1 * RBF([1.0, 2.0, 3.0])) * Matern(nu=2.5).on([0]) + Minimum()
    model = KernelRidge(kernel=kernel).fit(X, X[:, 0])
    panlearn.save(model, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model")
    assert loaded.kernel == loaded.kernel_ == kernel
    assert_allclose(loaded.predict(X), model.predict(X), rtol=0)
    with pytest.raises(TypeError, match="cannot save a function"):
        panlearn.save(KernelRidge(kernel=RBF().scaled(lambda X: X[:, 0])), tmp_path / "other")


@pytest.mark.parametrize("kernel", KERNELS, ids=range(len(KERNELS)))
def test_the_matrix_in_tiles_is_the_matrix(kernel, rng, monkeypatch):
    X = rng.normal(size=(40, 3))
    monkeypatch.setattr("panlearn.kernel._tiles.TILE", 7)
    monkeypatch.setattr("panlearn.kernel._tiles.FEW", 0)
    assert_allclose(gram(kernel, X), kernel(X), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "method", [GaussianProcessClassifier, GaussianProcessRegressor, KernelPCA, KernelRidge]
)
def test_a_matrix_that_does_not_fit_is_not_begun(method, rng, monkeypatch):
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    monkeypatch.setattr("panlearn.core.memory.SMALL", 0)
    monkeypatch.setattr("panlearn.core.memory.available", lambda: 1000)
    with pytest.raises(MemoryError, match="the kernel matrix"):
        method().fit(X, y)
