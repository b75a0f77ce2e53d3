"""A mixture in coordinates of what few rows span is the mixture of all their columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.stats import multivariate_normal

from panlearn.latent import GaussianMixture
from panlearn.latent._mixture_span import RowSpan

LEARNED = ("weights_", "means_", "covariances_", "precisions_", "density_quantiles_")


def clouds(rng, n=24, d=70, k=3):
    return rng.normal(size=(n, d)) + 3 * rng.normal(size=(k, d))[np.arange(n) % k]


@pytest.fixture
def spanned(monkeypatch):
    """The spans of the fits, in a list; None where the columns were kept."""
    taken, of = [], RowSpan.of

    def spied(*arguments):
        taken.append(of(*arguments))
        return taken[-1]

    monkeypatch.setattr(RowSpan, "of", spied)
    return taken


def assert_same(monkeypatch, spanned, X, *rest, k=3, rtol=1e-6, **parameters):
    """Fit in the span and in all columns."""
    inside = GaussianMixture(k, random_state=0, **parameters).fit(X, *rest)
    assert spanned.pop() is not None
    monkeypatch.setattr(RowSpan, "of", lambda *_: None)
    outside = GaussianMixture(k, random_state=0, **parameters).fit(X, *rest)
    assert inside.n_iter_ == outside.n_iter_
    for name in LEARNED:
        found, expected = getattr(inside, name), getattr(outside, name)
        assert found.dtype == expected.dtype
        assert_allclose(found, expected, rtol=rtol, atol=rtol * np.abs(expected).max())
    for name, expected in outside.history_.items():
        assert_allclose(inside.history_[name][-1:], expected[-1:], rtol=1e-8, atol=1e-6)
    assert_allclose(inside.score_samples(X), outside.score_samples(X), rtol=1e-6)
    return inside


@pytest.mark.parametrize("covariance_type", ["full", "tied"])
@pytest.mark.parametrize("assignment", ["soft", "hard"])
@pytest.mark.parametrize("reg_covar", [1e-6, 1.0])
def test_the_mixture_of_all_columns(
    rng, monkeypatch, spanned, covariance_type, assignment, reg_covar
):
    kind = {"covariance_type": covariance_type, "assignment": assignment, "reg_covar": reg_covar}
    model = assert_same(monkeypatch, spanned, clouds(rng), **kind)
    matrices = np.broadcast_to(model.covariances_, (3, 70, 70))
    assert_allclose(np.linalg.eigvalsh(matrices)[:, 0], reg_covar, rtol=1e-6)
    identity = np.broadcast_to(np.eye(70), model.covariances_.shape)
    assert_allclose(model.precisions_ @ model.covariances_, identity, atol=1e-6)


def test_the_likelihood_is_that_of_the_density(rng, spanned):
    """That before the last maximisation is, where the loop ends as nothing changes."""
    X = clouds(rng)
    model = GaussianMixture(3, random_state=0).fit(X)
    assert spanned.pop() is not None
    parts = zip(model.weights_, model.means_, model.covariances_, strict=True)
    density = [np.log(w) + multivariate_normal(m, C).logpdf(X) for w, m, C in parts]
    expected = np.logaddexp.reduce(density).mean()
    assert_allclose(model.lower_bound_, expected, rtol=1e-8)
    assert_allclose(model.history_["log_likelihood"][-1], expected, rtol=1e-8)
    assert_allclose(model.score(X), expected, rtol=1e-8)


@pytest.mark.parametrize("case", ["offset", "constant", "copies", "float32", "one", "same"])
def test_hard_rows(rng, monkeypatch, spanned, case):
    X, k, rtol = clouds(rng), 3, 1e-6
    if case == "offset":
        X += 1e6
    elif case == "constant":
        X[:, 3] = 7
    elif case == "copies":
        X[12:] = X[:12]
    elif case == "float32":
        X, rtol = X.astype(np.float32), 1e-4
    else:
        X, k = X[:1] if case == "one" else np.repeat(X[:1], 5, axis=0), 1
    assert_same(monkeypatch, spanned, X, k=k, rtol=rtol)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_rows_of_another_scale(rng, monkeypatch, spanned, scale):
    assert_same(monkeypatch, spanned, scale * clouds(rng), reg_covar=1e-6 * scale**2)


def test_weights_labels_and_several_starts(rng, monkeypatch, spanned):
    X, weight = clouds(rng), rng.integers(0, 3, 24)
    y = np.where(rng.random(24) < 0.5, np.arange(24) % 3, -1)
    assert_same(monkeypatch, spanned, X, y, weight, use_labels=True, n_init=3)


@pytest.mark.filterwarnings("ignore:component .* of the mixture lost all its rows")
@pytest.mark.parametrize(
    ("change", "parameters"),
    [
        (lambda X: X[:, :40], {}),
        (lambda X: np.where(np.arange(X.size).reshape(X.shape) == 5, np.nan, X), {}),
        (sparse.csr_array, {}),
        (lambda X: 1e5 * X, {}),  # a rounding of the largest eigenvalue is above the floor
        (lambda X: X, {"reg_covar": 0.0}),
        (lambda X: X, {"means_init": np.eye(3, 70)}),
        (lambda X: X, {"precisions_init": np.stack([np.eye(70)] * 3)}),
        (lambda X: X, {"init_params": "random"}),
        (lambda X: X, {"covariance_type": "diag"}),
        (lambda X: X, {"warm_start": True}),
    ],
)
def test_where_the_columns_are_kept(rng, spanned, change, parameters):
    GaussianMixture(3, random_state=0, **parameters).fit(change(clouds(rng)))
    assert spanned == [None]
