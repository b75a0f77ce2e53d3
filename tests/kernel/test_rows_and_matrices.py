"""What all kernel methods promise of their rows: copies, sparse rows, given matrices, same bits."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.model_selection import cross_val_score

import panlearn
from panlearn.kernel import (
    LSSVC,
    LSSVR,
    SVC,
    AsymmetricLSSVC,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelPCA,
    KernelRidge,
    LinearSVC,
)
from panlearn.kernel.kernels import RBF, Cosine, Laplacian, Linear, Matern, Minimum, White

MODELS = {
    "LSSVC": LSSVC(C=2.0),
    "LSSVC ovo": LSSVC(C=2.0, multi_class="ovo"),
    "LSSVC cg": LSSVC(C=2.0, solver="cg"),
    "LSSVR": LSSVR(C=2.0),
    "SVC": SVC(C=2.0, tol=1e-9),
    "AsymmetricLSSVC": AsymmetricLSSVC(C=2.0),
    "GaussianProcessClassifier": GaussianProcessClassifier(RBF(1.0)),
    "GaussianProcessRegressor": GaussianProcessRegressor(RBF(1.0) + White(0.1)),
    "KernelPCA": KernelPCA(3, kernel="rbf"),
    "KernelPCA way back": KernelPCA(3, kernel="rbf", fit_inverse_transform=True),
    "KernelRidge": KernelRidge(0.5, kernel="rbf"),
    "KernelRidge linear": KernelRidge(0.5),
    "LinearSVC": LinearSVC(),
}
ANSWERS = ["predict", "predict_proba", "decision_function", "transform", "latent_mean_and_variance"]


def problem(n=45, d=4):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    return X, np.arange(n) % 3, rng.normal(size=(7, d))


def answers(model, new):
    found = []
    for name in ANSWERS:
        if hasattr(model, name):
            part = getattr(model, name)(new)
            found += part if isinstance(part, tuple) else [part]
    if hasattr(model, "inverse_transform"):
        found.append(model.inverse_transform(model.transform(new)))
    return found


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", ["array", "fortran", "sparse"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_fitted_model_does_not_change_with_the_callers_arrays(name, kind, weighted):
    X, y, new = problem()
    X = {"array": X, "fortran": np.asfortranarray(X), "sparse": sparse.csr_array(X)}[kind]
    y = y.astype(float) if "R" in name[-9:] else y
    weight = np.ones(len(y))
    model = pickle.loads(pickle.dumps(MODELS[name]))
    takes_weights = weighted and name != "GaussianProcessRegressor"
    more = {"sample_weight": weight} if takes_weights else {}
    before = answers(model.fit(X, y, **more), new)
    (X.data if kind == "sparse" else X)[...] = 77.0
    y[...], weight[...] = 0, 5.0
    for a, b in zip(before, answers(model, new), strict=True):
        assert_array_equal(a, b)


def test_a_kernel_of_scikit_learn_is_copied_and_a_process_may_keep_x():
    from sklearn.gaussian_process import kernels as peer

    X, y, new = problem()
    kernel = peer.RBF(1.0, "fixed") + peer.WhiteKernel(0.1, "fixed")
    model = GaussianProcessRegressor(kernel).fit(X, y)
    before = model.predict(new)
    kernel.k1.length_scale = 9.0
    assert_array_equal(model.predict(new), before)
    assert model.X_train_ is not X
    assert GaussianProcessRegressor(RBF(1.0, "fixed"), copy_X_train=False).fit(X, y).X_train_ is X
    assert GaussianProcessClassifier(copy_X_train=False).fit(X, y).X_train_ is X


@pytest.mark.parametrize("name", MODELS)
def test_predictions_have_the_same_bits_in_any_buffer(name, tmp_path):
    X, y, _ = problem(60, 6)
    model = pickle.loads(pickle.dumps(MODELS[name])).fit(X, y)
    kept = getattr(model, "X_fit_", getattr(model, "X_train_", X))
    expected = answers(model, kept.copy())
    panlearn.save(model, tmp_path / "model")
    copies = (model, pickle.loads(pickle.dumps(model)), panlearn.load(tmp_path / "model"))
    for copy in copies:
        for rows in (kept, kept.copy(), getattr(copy, "X_fit_", kept)):
            for a, b in zip(expected, answers(copy, rows), strict=True):
                assert_array_equal(a, b)


@pytest.mark.slow
def test_the_same_bits_on_another_processor():
    """The test above under other routines of OpenBLAS, which any x86 processor can run."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    command += ["-k", "test_predictions_have_the_same_bits_in_any_buffer"]
    environment = {**os.environ, "OPENBLAS_CORETYPE": "Prescott"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stdout


def inner(X, Z=None):
    return X @ (X if Z is None else Z).T


GIVEN = [
    (KernelRidge(0.5), "predict"),
    (LSSVC(C=2.0), "decision_function"),
    (LSSVC(C=2.0, multi_class="ovo"), "decision_function"),
    (LSSVC(C=2.0, solver="cg", tol=1e-12), "decision_function"),
    (LSSVR(C=2.0), "predict"),
    (SVC(C=2.0, tol=1e-10), "decision_function"),
    (KernelPCA(3), "transform"),
    (KernelPCA(3, eigen_solver="arpack"), "transform"),
]


@pytest.mark.parametrize(("model", "answer"), GIVEN)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_given_matrix_is_the_kernel_of_its_rows(model, answer, weighted):
    X, y, new = problem()
    X += 0.1 * np.random.default_rng(5).normal(size=X.shape)
    weight = np.random.default_rng(0).integers(0, 3, len(y)) if weighted else None
    a = pickle.loads(pickle.dumps(model)).set_params(kernel="linear")
    b = pickle.loads(pickle.dumps(model)).set_params(kernel="precomputed")
    a.fit(X, y, sample_weight=weight), b.fit(inner(X), y, sample_weight=weight)
    expected = getattr(a, answer)(new)
    size = np.abs(expected).max()
    assert_allclose(getattr(b, answer)(inner(new, X)), expected, rtol=0, atol=1e-7 * size)
    with pytest.raises(ValueError, match="square"):
        b.fit(inner(X)[:, 1:], y)
    with pytest.raises(ValueError, match="features"):
        b.predict(new) if hasattr(b, "predict") else b.transform(new)


@pytest.mark.parametrize("model", [SVC(), LSSVC(), LSSVR(), KernelRidge()])
def test_cross_validation_cuts_rows_and_columns_of_a_given_matrix(model):
    X, y, _ = problem()
    score = cross_val_score(model.set_params(kernel="linear"), X, y)
    given = cross_val_score(model.set_params(kernel="precomputed"), inner(X), y)
    assert_allclose(given, score, rtol=1e-6)


def test_a_given_matrix_has_no_way_back_and_no_source():
    X, y, _ = problem()
    with pytest.raises(ValueError, match="fit_inverse_transform"):
        KernelPCA(2, kernel="precomputed", fit_inverse_transform=True).fit(inner(X))
    with pytest.raises(ValueError, match="kernel"):
        AsymmetricLSSVC(kernel="precomputed").fit(inner(X), y)


def test_float32_matrices_stay_float32():
    X, y, new = problem()
    model = KernelRidge(kernel="precomputed").fit(inner(X).astype(np.float32), y)
    assert model.predict(inner(new, X).astype(np.float32)).dtype == np.float32


KERNELS = ["linear", "poly", "rbf", "cosine", "laplacian", 2 * RBF(0.7) + White(0.1), Matern()]
SPARSE = [(m, a) for m, a in GIVEN if getattr(m, "eigen_solver", "auto") == "auto"]


@pytest.mark.parametrize(("model", "answer"), SPARSE)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_sparse_rows_are_dense_rows(model, answer, kernel, container):
    X, y, new = problem()
    a, b = (pickle.loads(pickle.dumps(model)).set_params(kernel=kernel) for _ in range(2))
    a.fit(X, y), b.fit(container(X), y)
    expected = getattr(a, answer)(new)
    size = np.abs(expected).max()
    for rows in (container(new), new):
        assert_allclose(getattr(b, answer)(rows), expected, rtol=0, atol=1e-6 * size)
    assert_allclose(getattr(a, answer)(container(new)), expected, rtol=0, atol=1e-12 * size)
    kept = b.support_vectors_ if isinstance(b, SVC) else b.X_fit_
    assert sparse.issparse(kept) == (kernel != "laplacian")


@pytest.mark.parametrize(
    "kernel", [Linear(), RBF(0.6), Matern([0.5, 1.0, 2.0, 3.0]), Cosine(), 3 * RBF() * Linear()]
)
def test_kernels_of_sparse_rows_entry_by_entry(kernel):
    X, _, new = problem()
    new[0] = 0
    A, B = sparse.csr_array(X), sparse.csr_array(new)
    assert kernel.takes_sparse
    assert_allclose(kernel._gram(A, B), kernel._gram(X, new), rtol=1e-12, atol=1e-12)
    assert_allclose(kernel._gram(A, None), kernel._gram(X, None), rtol=1e-12, atol=1e-12)
    assert_allclose(kernel._diag(B), kernel._diag(new), rtol=1e-12)


def test_entries_that_a_sparse_matrix_stores_twice_are_added_up():
    X, y, _ = problem()
    once = sparse.csr_array(X)
    twice = sparse.csr_array(
        (np.repeat(once.data / 2, 2), np.repeat(once.indices, 2), 2 * once.indptr), once.shape
    )
    stored = twice.data.copy()
    a, b = KernelRidge(kernel="rbf").fit(once, y), KernelRidge(kernel="rbf").fit(twice, y)
    assert_allclose(b.predict(twice), a.predict(once), rtol=1e-10)
    assert_array_equal(twice.data, stored)
    assert not (Laplacian() + RBF()).takes_sparse
    assert not (RBF() * Minimum()).takes_sparse


@pytest.mark.parametrize("model", [SVC(), KernelRidge(), LSSVC(), KernelPCA()])
def test_a_malformed_sparse_matrix_is_refused(model):
    X, y, _ = problem()
    good = sparse.csr_array(X)
    for break_it in (_point_outside, _fall_back):
        bad = break_it(good.copy())
        with pytest.raises(ValueError, match="malformed sparse"):
            model.fit(bad, y)
        fitted = model.fit(good, y)
        with pytest.raises(ValueError, match="malformed sparse"):
            fitted.transform(bad) if hasattr(fitted, "transform") else fitted.predict(bad)


def _point_outside(A):
    A.indices[0] = 10_000
    return A


def _fall_back(A):
    A.indptr[2] = A.indptr[1] - 1
    return A


@pytest.mark.parametrize("name", [n for n in MODELS if "linear" not in n and n != "LinearSVC"])
def test_rows_beyond_the_squares_of_floats_are_far_from_all(name):
    X, y, _ = problem()
    model = pickle.loads(pickle.dumps(MODELS[name])).fit(X, y)
    far = np.array([[1e200, 0, 0, 0], [-1e307, 1e307, 1e307, 1e307]])
    near_infinity = answers(model, np.full((1, 4), 1e30))
    for a, b in zip(answers(model, far), near_infinity, strict=True):
        assert_allclose(a, np.repeat(b, 2, axis=0), rtol=1e-6)


@pytest.mark.parametrize("name", [n for n in MODELS if n != "LinearSVC"])
def test_a_row_far_out_takes_no_digits_from_the_others(name):
    X, y, new = problem()
    model = pickle.loads(pickle.dumps(MODELS[name])).fit(X, y)
    alone = answers(model, new)
    for place in (0, 3, len(new)):
        together = answers(model, np.insert(new, place, 1e25, axis=0))
        for a, b in zip(alone, together, strict=True):
            assert_allclose(np.delete(b, place, axis=0), a, rtol=1e-7, atol=1e-10)


def test_a_training_row_far_out_takes_no_digits_from_the_others():
    X, _, _ = problem()
    K = RBF(0.8)(X)
    for place in (0, 20, len(X)):
        with_one = RBF(0.8)(np.insert(X, place, 1e25, axis=0))
        rest = np.delete(np.delete(with_one, place, axis=0), place, axis=1)
        assert_allclose(rest, K, rtol=1e-12, atol=1e-14)
