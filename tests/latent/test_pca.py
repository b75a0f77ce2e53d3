"""PCA: its definition, its ways, its density."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import multivariate_normal

from panlearn.core.sources import ArrayRows, Batches
from panlearn.latent import PCA
from panlearn.latent._spectrum import from_gram, from_moments, from_rows, randomised
from panlearn.latent.pca import _moments


@pytest.fixture(name="X")
def rows(rng):
    return rng.normal(size=(200, 6)) @ rng.normal(size=(6, 6)) + 5


def test_components_are_eigenvectors_of_the_covariance(X):
    model = PCA().fit(X)
    assert model.svd_solver_ == "covariance_eigh"
    covariance = np.cov(X.T)
    np.testing.assert_allclose(
        covariance @ model.components_.T,
        model.components_.T * model.explained_variance_,
        atol=1e-12,
    )
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(6), atol=1e-13)
    np.testing.assert_allclose(model.get_covariance(), covariance, atol=1e-12)
    np.testing.assert_allclose(model.get_precision() @ covariance, np.eye(6), atol=1e-9)
    assert model.explained_variance_ratio_.sum() == pytest.approx(1)


@pytest.mark.parametrize("weighted", [False, True])
def test_all_ways_one_answer(X, rng, weighted):
    weight = rng.integers(0, 3, len(X)).astype(float) if weighted else None
    models = [
        PCA(3, svd_solver=solver, random_state=0).fit(X, sample_weight=weight)
        for solver in ("covariance_eigh", "gram_eigh", "full", "arpack", "randomized")
    ]
    for model in models[1:]:
        assert model.svd_solver_ == model.svd_solver
        for name in ("components_", "explained_variance_", "singular_values_", "mean_"):
            # eigenvalues of the squares: twice the digits of the gaps are lost
            np.testing.assert_allclose(
                getattr(model, name), getattr(models[0], name), rtol=1e-8, atol=1e-9
            )
        assert model.noise_variance_ == pytest.approx(models[0].noise_variance_)


def test_the_way_is_chosen_by_shape(rng):
    assert PCA().fit(rng.normal(size=(100, 10))).svd_solver_ == "covariance_eigh"
    assert PCA(2).fit(rng.normal(size=(20, 60))).svd_solver_ == "gram_eigh"
    many = sparse.random(50, 1010, 0.05, "csr", rng=rng)
    assert PCA(3).fit(many).svd_solver_ == "arpack"
    assert PCA(3).fit([many[:20], many[20:]]).svd_solver_ == "covariance_eigh"


def assert_same(one, other, rank):
    """The same model, but for directions in which the rows do not vary, which may be any."""
    assert one.n_components_ == other.n_components_
    scale = one.explained_variance_[0]
    for name in ("explained_variance_", "noise_variance_"):
        np.testing.assert_allclose(
            getattr(other, name), getattr(one, name), rtol=1e-8, atol=1e-12 * scale, err_msg=name
        )
    ratio = "explained_variance_ratio_"
    np.testing.assert_allclose(getattr(other, ratio), getattr(one, ratio), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(other.mean_, one.mean_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(other.components_[:rank], one.components_[:rank], atol=1e-8)
    k = one.n_components_
    np.testing.assert_allclose(other.components_ @ other.components_.T, np.eye(k), atol=1e-10)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 40),
    d=st.integers(1, 40),
    share=st.floats(0, 1),
    weighted=st.booleans(),
    sparsely=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_noise_of_any_shape_has_one_answer_from_any_source(n, d, share, weighted, sparsely, seed):
    """Noise has no gap in its spectrum: what approximates shows there first."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.5, 2, d) + 3
    if sparsely:
        X *= rng.random(X.shape) < 0.5
    weight = rng.integers(1, 4, n).astype(float) if weighted else None
    k = None if share < 0.2 else max(1, round(share * min(n, d)))
    cuts = np.sort(rng.integers(0, n + 1, 3))
    parts = [p for p in np.split(np.arange(n), cuts) if len(p)]
    batches = [(X[p], None, None if weight is None else weight[p]) for p in parts]
    whole = PCA(k).fit(X, sample_weight=weight)
    rank = np.linalg.matrix_rank(X - np.average(X, axis=0, weights=weight), tol=1e-7)
    assert whole.n_components_ == (k or max(rank, 1))
    assert_same(whole, PCA(k).fit(Batches(batches)), rank)
    assert_same(whole, PCA(k).fit(iter(batches)), rank)
    grown = PCA(k)
    for batch in batches:
        grown.partial_fit(*batch)
    assert_same(whole, grown, rank)
    assert_same(whole, PCA(k).fit(sparse.csr_array(X), sample_weight=weight), rank)
    centred = X - np.average(X, axis=0, weights=weight)
    root = np.sqrt(np.ones(n) if weight is None else weight)[:, None]
    values = np.linalg.svd(root * centred, compute_uv=False)[: whole.n_components_]
    np.testing.assert_allclose(whole.singular_values_[:rank], values[:rank], rtol=1e-8)


@pytest.mark.parametrize(("n", "d", "k"), [(90, 30, 4), (300, 70, 3), (40, 150, 5), (30, 40, None)])
def test_noise_on_dask_and_by_every_exact_way(rng, n, d, k):
    from_array = pytest.importorskip("dask.array").from_array
    X = rng.normal(size=(n, d))
    exact, rank = PCA(k, svd_solver="full").fit(X), min(n - 1, d)
    assert_same(exact, PCA(k).fit(X), rank)
    assert_same(exact, PCA(k).fit(from_array(X, chunks=(17, -1))), rank)
    assert_same(exact, PCA(k, svd_solver="covariance_eigh").fit(X), rank)
    assert_same(exact, PCA(k, svd_solver="gram_eigh").fit(X), rank)
    if k is not None:
        assert_same(exact, PCA(k, svd_solver="arpack", random_state=0).fit(X), rank)


@pytest.mark.parametrize("shape", [(200, 30), (20, 50)])
@pytest.mark.parametrize("way", ["auto", "full", "stream"])
def test_flat_float32_rows(rng, shape, way):
    """The roundings of float32 rows are no directions in which they vary."""
    n, d = shape
    low = rng.normal(size=(n, 3)) @ rng.normal(size=(3, d)) + rng.normal(size=d) * 5
    X = low.astype(np.float32)
    data = [X[: n // 2], X[n // 2 :]] if way == "stream" else X
    solver = "full" if way == "full" else "auto"
    assert PCA(svd_solver=solver).fit(data).n_components_ == 3
    model = PCA(min(n, d), svd_solver=solver, whiten=True).fit(data)
    k = min(n, d)
    assert model.components_.dtype == model.explained_variance_.dtype == np.float32
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(k), atol=1e-5)
    exact = np.linalg.svd(low - low.mean(axis=0), compute_uv=False)[:3] ** 2 / (n - 1)
    np.testing.assert_allclose(model.explained_variance_[:3], exact, rtol=1e-5)
    tail = model.explained_variance_[3:]
    assert (tail >= 0).all()
    assert (tail <= 1e-10 * exact[0]).all()
    assert 0 <= model.noise_variance_ <= 1e-10 * exact[0]
    scores = model.transform(X)
    assert scores.dtype == np.float32
    assert np.isfinite(model.score_samples(X)).all()
    np.testing.assert_allclose(scores[:, :3].std(axis=0, ddof=1), 1, rtol=1e-4)
    assert np.abs(scores[:, 3:]).max() < 1e-2
    np.testing.assert_allclose(model.inverse_transform(scores), X, atol=1e-4)


@pytest.mark.parametrize("factor", [1e-5, 1e5, 1 / 75])
@pytest.mark.parametrize("shape", [(50, 6), (12, 30)])
def test_the_scale_of_the_weights_moves_variances_alone(rng, shape, factor):
    X, weight = rng.normal(size=shape), rng.uniform(0.5, 2.5, shape[0])
    weight *= 75 / weight.sum()
    base, scaled = (PCA(3).fit(X, sample_weight=w) for w in (weight, weight * factor))
    np.testing.assert_allclose(scaled.components_, base.components_, atol=1e-9)
    np.testing.assert_allclose(
        scaled.explained_variance_ratio_, base.explained_variance_ratio_, rtol=1e-10
    )
    n = 75 * factor  # the scatter is a multiple; the divisor is n - 1 from two rows on
    divisor = n - 1 if n >= 2 else n / 2
    np.testing.assert_allclose(
        scaled.explained_variance_ / base.explained_variance_, factor * 74 / divisor, rtol=1e-10
    )
    batches = [(X[i::2], None, factor * weight[i::2]) for i in range(2)]
    assert_same(scaled, PCA(3).fit(batches), 3)


def test_one_row_has_no_variance():
    for data in ([[1.0, 2.0]], [np.ones((1, 2))]):
        with pytest.raises(ValueError, match="more than 1 sample"):
            PCA().fit(data)
    with pytest.raises(ValueError, match=r"min\(n_samples, n_features\)=3"):
        PCA(4).fit([np.eye(2, 5), np.eye(1, 5)])
    with pytest.raises(ValueError, match="fewer than"):
        PCA(3, svd_solver="arpack").fit(np.eye(3))


def test_sparse_rows_randomised(rng):
    X = sparse.random(80, 1200, 0.1, "csr", rng=rng) * 3
    weight = rng.random(80)
    ours = PCA(4, svd_solver="randomized", random_state=0).fit(X, sample_weight=weight)
    dense = PCA(4, svd_solver="full").fit(X.toarray(), sample_weight=weight)
    np.testing.assert_allclose(ours.explained_variance_, dense.explained_variance_, rtol=1e-2)
    assert ours.noise_variance_ == pytest.approx(dense.noise_variance_, rel=1e-3)


def test_signs_are_settled_when_two_entries_are_equally_large(rng):
    x = rng.normal(size=300)
    X = np.c_[x, -x] + 0.1 * rng.normal(size=(300, 2))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for rows in (X, X[::-1], X * (1 + 1e-14)):
        np.testing.assert_allclose(PCA(1).fit(rows).components_, [[0.5**0.5, -(0.5**0.5)]])


def test_share_of_the_variance(X):
    ratio = PCA().fit(X).explained_variance_ratio_.cumsum()
    for share in (0.1, 0.7, 0.99):
        k = PCA(share).fit(X).n_components_
        assert ratio[k - 1] > share
        assert k == 1 or ratio[k - 2] <= share


def test_flat_rows_have_as_many_components_as_they_vary_in(rng):
    X = rng.normal(size=(100, 2)) @ rng.normal(size=(2, 5)) + 7
    assert PCA().fit(X).n_components_ == 2
    assert PCA(svd_solver="full").fit(X).n_components_ == 2
    assert PCA().fit(np.ones((30, 2))).n_components_ == 1
    with pytest.raises(ValueError, match=r"n_components=9 is more than n_features=5"):
        PCA(9).fit(X)


@pytest.mark.parametrize("middle", [0.0, 0.3, 3.0, 1e8])
def test_scores_keep_their_digits_wherever_the_rows_lie(rng, middle):
    X = rng.normal(size=(50, 6)) + middle
    model = PCA(3).fit(X)
    rows, mean, way = (a.astype(np.longdouble) for a in (X, model.mean_, model.components_.T))
    np.testing.assert_allclose(model.transform(X), (rows - mean) @ way, rtol=0, atol=4e-15)


@pytest.mark.parametrize("rows", [1000, 7, 1])  # in one part, in many, row by row
def test_whitening_and_the_way_back(X, monkeypatch, rows):
    monkeypatch.setattr("panlearn.latent.pca.rows_together", lambda width: rows)
    model = PCA(whiten=True).fit(X)
    np.testing.assert_allclose(np.cov(model.transform(X).T), np.eye(6), atol=1e-10)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-10)
    short = PCA(2).fit(X)
    error = ((X - short.inverse_transform(short.transform(X))) ** 2).sum() / (len(X) - 1)
    assert error == pytest.approx(4 * short.noise_variance_)
    with pytest.raises(ValueError, match=r"\(n_samples, 2\)"):
        short.inverse_transform(X)


@pytest.mark.parametrize("k", [1, 3, 6])
def test_density(X, k):
    model = PCA(k).fit(X)
    expected = multivariate_normal(model.mean_, model.get_covariance()).logpdf(X)
    np.testing.assert_allclose(model.score_samples(X), expected, rtol=1e-9)
    np.testing.assert_allclose(model.score_samples(sparse.csr_array(X)), expected, rtol=1e-9)
    assert model.score(X) == pytest.approx(expected.mean())


def test_partial_fit_after_another_way_is_refused(X):
    model = PCA(2, svd_solver="full").fit(X)
    with pytest.raises(ValueError, match="kept no statistics"):
        model.partial_fit(X)
    with pytest.raises(ValueError, match="in memory"):
        PCA(svd_solver="full").fit([X, X])
    with pytest.raises(TypeError, match="sparse"):
        PCA(svd_solver="full").fit(sparse.csr_array(X))


def test_spectra_agree(X, rng):
    rows = ArrayRows(X, None, None)
    one = from_moments(_moments(rows), rows.dtype)
    for other in (from_rows(rows), from_gram(rows), randomised(rows, 6, rng)):
        np.testing.assert_allclose(other.squares, one.squares, rtol=1e-9)
        assert other.total == pytest.approx(one.total)
        assert other.rank == one.rank == 6
