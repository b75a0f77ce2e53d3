"""Support vector machines against scikit-learn's, which are libsvm and liblinear."""

import numpy as np
import pytest
import sklearn.svm as peer
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_moons
from sklearn.preprocessing import StandardScaler, scale

from panlearn.kernel import SVC, LinearSVC


def _scaled(load, step=1):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X)[::step], y[::step]


DATA = {
    "iris": _scaled(load_iris),
    "wine": _scaled(load_wine),
    "cancer": _scaled(load_breast_cancer),
    "digits": _scaled(load_digits, 4),
    "moons": make_moons(150, noise=0.3, random_state=0),
}
KERNELS = {
    "rbf": dict(kernel="rbf", gamma=0.1),
    "large C": dict(kernel="rbf", gamma=0.1, C=100.0),
    "poly": dict(kernel="poly", gamma=0.1, coef0=1.0, degree=2),
    "linear": dict(kernel="linear"),
    "class weights": dict(kernel="rbf", gamma=0.1, class_weight={0: 2.0, 1: 0.5}),
    "scale": dict(),
}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("weighted", [False, True])
def test_svc(name, kernel, weighted):
    X, y = DATA[name]
    weighted = weighted and kernel != "scale"  # our variance is weighted too
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    options = dict(**KERNELS[kernel], tol=1e-5, decision_function_shape="ovo")
    ours, theirs = SVC(**options).fit(X, y, weight), peer.SVC(**options).fit(X, y, weight)
    # two solutions within tol=1e-5; the linear kernel of these rows is far from well conditioned
    a, b = ours.decision_function(X), theirs.decision_function(X)
    np.testing.assert_allclose(a, b, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)
    assert abs(len(ours.support_) - len(theirs.support_)) <= 2
    objective = _dual(ours, X, y) - _dual(theirs, X, y)
    assert abs(objective) <= 1e-6 * abs(_dual(theirs, X, y))


def _dual(model, X, y):
    """The sum over the pairs of Σα − ½ βᵀKβ, from what was learned."""
    if hasattr(model, "dual_objective_"):
        return model.dual_objective_.sum()
    classes, total = model.classes_, 0.0
    ends = np.r_[0, np.cumsum(model.n_support_)]
    for i in range(len(classes)):
        for j in range(i + 1, len(classes)):
            at = np.r_[ends[i] : ends[i + 1], ends[j] : ends[j + 1]]
            beta = np.r_[
                model.dual_coef_[j - 1, ends[i] : ends[i + 1]],
                model.dual_coef_[i, ends[j] : ends[j + 1]],
            ]
            S = model.support_vectors_[at]
            total += np.abs(beta).sum() - 0.5 * beta @ _matrix(model, S) @ beta
    return total


def _matrix(model, S):
    inner, gamma = S @ S.T, model._gamma
    if model.kernel == "linear":
        return inner
    if model.kernel == "poly":
        return (gamma * inner + model.coef0) ** model.degree
    squares = inner.diagonal()
    return np.exp(-gamma * (squares[:, None] + squares - 2 * inner))


@pytest.mark.parametrize("name", DATA)
def test_votes_and_labels(name):
    X, y = DATA[name]
    ours, theirs = SVC(gamma=0.1, tol=1e-5), peer.SVC(gamma=0.1, tol=1e-5, break_ties=True)
    ours.fit(X, y), theirs.fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    assert ours.dual_coef_.shape[0] == theirs.dual_coef_.shape[0]


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_rows(kernel, container):
    X, y = load_digits(return_X_y=True)
    X, y = container(X[:300] / 16), y[:300]
    options = dict(**KERNELS[kernel], tol=1e-6, decision_function_shape="ovo")
    ours, theirs = SVC(**options).fit(X, y), peer.SVC(**options).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    np.testing.assert_allclose(
        ours.support_vectors_.toarray(), theirs.support_vectors_.toarray(), rtol=1e-12
    )
    if kernel == "linear":
        np.testing.assert_allclose(ours.coef_, theirs.coef_.toarray(), atol=1e-3)


def test_a_given_matrix_and_a_function():
    X, y = DATA["wine"]
    K = X @ X.T
    for kernel, rows, new in (("precomputed", K, K[:9]), (lambda A, B: A @ B.T, X, X[:9])):
        options = dict(kernel=kernel, tol=1e-6)
        ours, theirs = SVC(**options).fit(rows, y), peer.SVC(**options).fit(rows, y)
        np.testing.assert_allclose(
            ours.decision_function(new), theirs.decision_function(new), atol=1e-3
        )


def test_ties_of_votes_go_to_the_first_class_if_so_wished():
    # a wheel of three classes: near its hub each beats one other and loses to the third
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 240)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) * rng.uniform(0.2, 1, (240, 1))
    y = (angle // (2 * np.pi / 3)).astype(int)
    X += 0.3 * rng.normal(size=X.shape)
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 60)] * 2), axis=-1).reshape(-1, 2)
    labels = {}
    for break_ties in (False, True):
        options = dict(gamma=5.0, tol=1e-8, break_ties=break_ties)
        ours, theirs = SVC(**options).fit(X, y), peer.SVC(**options).fit(X, y)
        labels[break_ties] = ours.predict(grid)
        np.testing.assert_array_equal(labels[break_ties], theirs.predict(grid))
    assert (labels[False] != labels[True]).any()


@pytest.mark.parametrize("name", ["iris", "cancer", "moons"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("weighted", [False, True])
def test_linear_svc_without_intercept(name, loss, weighted):
    X, y = DATA[name]
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    options = dict(C=0.5, loss=loss, fit_intercept=False, random_state=0)
    ours = LinearSVC(**options, tol=1e-9).fit(X, y, weight)
    theirs = peer.LinearSVC(**options, tol=1e-7, dual=True, max_iter=1_000_000).fit(X, y, weight)
    size = np.abs(theirs.coef_).max()
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4 * size)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("dual", [False, True])
def test_linear_svc_is_no_worse_with_an_intercept(loss, dual):
    X, y = load_breast_cancer(return_X_y=True)
    X, sign = scale(X), 2 * y - 1

    def objective(model):
        gap = np.maximum(0, 1 - sign * model.decision_function(X))
        return 0.5 * np.sum(model.coef_**2) + (gap if loss == "hinge" else gap**2).sum()

    ours = LinearSVC(loss=loss, dual=dual, random_state=0, max_iter=20_000).fit(X, y)
    theirs = peer.LinearSVC(loss=loss, random_state=0, max_iter=20_000, dual=True).fit(X, y)
    assert objective(ours) <= objective(theirs) * (1 + 1e-6)
    assert abs(ours.score(X, y) - theirs.score(X, y)) < 0.005


@pytest.mark.parametrize("coef0", [0.1, -0.5])
def test_the_sigmoid_kernel(coef0):
    X, y = DATA["moons"]
    options = dict(kernel="sigmoid", gamma=0.05, coef0=coef0, tol=1e-6)
    ours, theirs = SVC(**options).fit(X, y), peer.SVC(**options).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
