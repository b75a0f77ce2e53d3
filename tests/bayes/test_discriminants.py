"""Linear and quadratic discriminant analysis against the densities, and at the edges."""

import numpy as np
import pytest
from scipy import linalg, stats
from scipy.special import softmax

from panlearn.bayes import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis


@pytest.fixture
def data(rng):
    y = rng.choice(["a", "b", "c"], 150)
    X = rng.normal(size=(150, 3)) @ rng.normal(size=(3, 3))
    return X + (y == "b")[:, None] * 2.0 - (y == "c")[:, None] * [1.0, 0.0, 3.0], y


def _joint(X, y, covariances):
    labels = np.unique(y)
    return np.stack(
        [
            np.log(np.mean(y == c)) + stats.multivariate_normal(X[y == c].mean(axis=0), s).logpdf(X)
            for c, s in zip(labels, covariances, strict=True)
        ],
        axis=1,
    )


def _covariances(X, y):
    return [np.cov(X[y == c].T, bias=True) for c in np.unique(y)]


def test_quadratic_is_bayes_rule_on_normal_densities(data):
    X, y = data
    joint = _joint(X, y, _covariances(X, y))
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), joint, rtol=1e-11)
    np.testing.assert_allclose(model.predict_proba(X), softmax(joint, axis=1), atol=1e-12)


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_linear_is_bayes_rule_with_one_covariance(data, solver):
    X, y = data
    share = np.unique(y, return_counts=True)[1] / len(y)
    pooled = np.tensordot(share, _covariances(X, y), 1)
    joint = _joint(X, y, [pooled] * 3)
    model = LinearDiscriminantAnalysis(solver).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), softmax(joint, axis=1), atol=1e-10)
    log_proba = model.predict_log_proba(X)
    np.testing.assert_allclose(log_proba, np.log(softmax(joint, axis=1)), rtol=1e-8, atol=1e-10)


def test_the_projection_whitens_within_and_orders_between(data):
    X, y = data
    for solver in ("svd", "lsqr", "eigen"):
        model = LinearDiscriminantAnalysis(solver).fit(X, y)
        Z = model.transform(X)
        share = np.unique(y, return_counts=True)[1] / len(y)
        within = np.tensordot(share, _covariances(Z, y), 1)
        np.testing.assert_allclose(within, np.eye(2), atol=1e-10)
        means = np.stack([Z[y == c].mean(axis=0) for c in "abc"])
        spread = share @ (means - share @ means) ** 2
        assert spread[0] > spread[1]
        np.testing.assert_allclose(
            model.explained_variance_ratio_, spread / spread.sum(), rtol=1e-9
        )


def test_svd_keeps_digits_that_the_covariance_loses(rng):
    """Two columns that differ by 1e-7: the covariance has condition 1e14, its root 1e7."""
    z = rng.integers(-1000, 1000, size=(300, 2)).astype(float)
    y = (z[:, 1] > 0).astype(int)
    X = np.c_[z[:, 0], z[:, 0] + z[:, 1] / 2**23]
    model = LinearDiscriminantAnalysis(tol=1e-12).fit(X, y)
    plain = LinearDiscriminantAnalysis().fit(z, y)  # the same classes in plain coordinates
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(z), atol=1e-6)


def test_auto_shrinkage_needs_all_rows_again(data):
    X, y = data
    model = LinearDiscriminantAnalysis("lsqr", shrinkage="auto")
    batches = [(X[p], y[p]) for p in np.array_split(np.arange(150), 4)]
    np.testing.assert_allclose(model.fit(batches).coef_, model.fit(X, y).coef_, rtol=1e-9)
    with pytest.raises(ValueError, match="walked once"):
        model.fit(iter(batches))
    model = LinearDiscriminantAnalysis("lsqr", shrinkage="auto").partial_fit(*batches[0])
    with pytest.raises(ValueError, match="partial_fit"):
        model.partial_fit(*batches[1])


def test_auto_shrinkage_counts_weights(data, rng):
    X, y = data
    times = rng.integers(1, 4, 150)
    model = LinearDiscriminantAnalysis("lsqr", shrinkage="auto").fit(X, y, times)
    repeated = LinearDiscriminantAnalysis("lsqr", shrinkage="auto")
    repeated.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(model.covariance_, repeated.covariance_, rtol=1e-10)


def test_what_does_not_go_together_is_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="shrinkage"):
        LinearDiscriminantAnalysis(shrinkage=0.5).fit(X, y)
    with pytest.raises(ValueError, match="n_components must be at most 2"):
        LinearDiscriminantAnalysis(n_components=3).fit(X, y)
    with pytest.raises(ValueError, match="full rank"):
        LinearDiscriminantAnalysis("eigen").fit(np.c_[X, 0 * X], y)
    with pytest.raises(ValueError, match="one class"):
        LinearDiscriminantAnalysis().partial_fit(X[y == "a"], y[y == "a"])


def test_a_flat_class_draws_a_warning_and_a_finite_answer(data):
    X, y = data
    X = np.c_[X, X[:, 0]]
    with pytest.warns(linalg.LinAlgWarning, match=r"class [abc] has rank 3 with 4.*reg_param"):
        model = QuadraticDiscriminantAnalysis().fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    QuadraticDiscriminantAnalysis(reg_param=0.1).fit(X, y)  # says nothing


def test_units_do_not_matter_to_the_warning(data):
    X, y = data
    QuadraticDiscriminantAnalysis().fit(X * [1e-3, 1.0, 1e4], y)  # says nothing


POINTS = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 3.0], [1.0, 3.0], [5.0, 1.0]])
LABELS = np.array(["a", "a", "b", "b", "c"])
SHARP = [
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis("lsqr"),
    LinearDiscriminantAnalysis("eigen"),
    LinearDiscriminantAnalysis("lsqr", shrinkage=0.2),
    LinearDiscriminantAnalysis("lsqr", shrinkage="auto"),
    QuadraticDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(solver="eigen"),
]


@pytest.mark.parametrize("model", SHARP, ids=str)
@pytest.mark.parametrize("scale", [1e-120, 1e-20, 1.0, 1e20, 1e120])
def test_classes_that_are_points_get_the_rows_next_to_them(model, scale):
    """Without scatter the evidence is infinite, in whatever unit the rows are."""
    with pytest.warns(linalg.LinAlgWarning, match=r"varies about its mean|has rank 0"):
        model.fit(scale * POINTS, LABELS)
    near = scale * (POINTS + np.array([0.3, -0.2]))
    np.testing.assert_array_equal(model.predict(near), LABELS)
    np.testing.assert_allclose(model.predict_proba(near).max(axis=1), 1)


def test_one_class_that_is_a_point_beside_one_that_varies(rng):
    X = np.vstack([rng.normal(size=(20, 2)), np.tile([3.0, 3.0], (5, 1))])
    y = np.repeat([0, 1], [20, 5])
    model = LinearDiscriminantAnalysis().fit(X, y)  # the one that varies says how
    assert model.predict([[3.0, 3.0]]) == [1]
    assert model.predict([[0.0, 0.0]]) == [0]


def test_float32_denormals_are_refused_by_name(rng):
    X = (1e-42 * rng.normal(size=(30, 3))).astype(np.float32)
    y = np.arange(30) % 2
    with pytest.raises(ValueError, match=r"beyond float32.*rescale"):
        LinearDiscriminantAnalysis().fit(X, y)
    assert np.isfinite(QuadraticDiscriminantAnalysis().fit(X, y).predict_proba(X)).all()


def test_shrinkage_of_quadratic_discriminants_by_hand(rng):
    X = rng.normal(size=(40, 3)) * [1.0, 2.0, 5.0]
    y = np.arange(40) % 2
    model = QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.25, store_covariance=True)
    model.fit(X, y)
    for c in (0, 1):
        S = np.cov(X[y == c].T, bias=True)
        expected = 0.75 * S + 0.25 * np.trace(S) / 3 * np.eye(3)
        np.testing.assert_allclose(model.covariance_[c], expected, rtol=1e-10)
    with pytest.raises(ValueError, match="shrinkage is not for solver='svd'"):
        QuadraticDiscriminantAnalysis(shrinkage=0.25).fit(X, y)
