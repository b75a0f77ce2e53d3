"""FactorAnalysis and ProbabilisticPCA: maxima, missing entries, densities."""

import warnings

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning

import panlearn
from panlearn.latent import PCA, FactorAnalysis, ProbabilisticPCA
from panlearn.latent._factors import Factors, expect, maximise
from panlearn.latent.factor_analysis import SMALL, leading, turn

both = pytest.mark.parametrize("cls", [FactorAnalysis, ProbabilisticPCA])


@pytest.fixture(name="X")
def rows(rng):
    noise = rng.normal(size=(200, 7)) * np.linspace(0.4, 0.9, 7)
    loadings = np.array([[2.0, 2, 2, 1, 0, 0, 1], [0, 0, 1, 1, 2, 2, -1]])
    return rng.normal(size=(200, 2)) @ loadings + noise + np.arange(7)


@pytest.fixture(name="holes")
def incomplete(X, rng):
    missing = rng.random(X.shape) < 0.25
    missing[:, ::2] = False  # few patterns, so that the tests are quick
    return np.where(missing, np.nan, X)


def dense_score(model, X):
    """The density by the definition, of the entries that are there."""
    covariance, out = model.get_covariance(), np.zeros(len(X))
    for i, row in enumerate(X):
        o = ~np.isnan(row)
        if o.any():
            out[i] = multivariate_normal(model.mean_[o], covariance[np.ix_(o, o)]).logpdf(row[o])
    return out


@both
def test_density_posterior_and_imputation_by_the_definition(cls, X, holes):
    model = cls(2).fit(X)
    holes[0] = np.nan
    np.testing.assert_allclose(model.score_samples(holes), dense_score(model, holes), rtol=1e-9)
    covariance, W = model.get_covariance(), model.components_.T
    z, filled = model.transform(holes), model.impute(holes)
    for i in range(20):
        o = ~np.isnan(holes[i])
        gain = np.linalg.solve(covariance[np.ix_(o, o)], holes[i, o] - model.mean_[o])
        np.testing.assert_allclose(z[i], W[o].T @ gain, atol=1e-10)
        expected = model.mean_[~o] + covariance[np.ix_(~o, o)] @ gain
        np.testing.assert_allclose(filled[i, ~o], expected, atol=1e-10)
        np.testing.assert_array_equal(filled[i, o], holes[i, o])
    np.testing.assert_allclose(model.get_precision(), np.linalg.inv(covariance), rtol=1e-8)
    np.testing.assert_allclose(model.inverse_transform(z), z @ W.T + model.mean_)


@both
def test_no_parameter_near_by_is_more_likely(cls, X, holes):
    """With and without holes, at a maximum every way along a parameter leads down."""
    for data in (X, holes):
        model = cls(2, tol=1e-10, max_iter=20_000).fit(data)
        best = model.score(data)
        for name in ("components_", "mean_", "noise_variance_"):
            value = np.atleast_1d(np.array(getattr(model, name), dtype=float))
            for place in np.ndindex(value.shape):
                for step in (-0.01, 0.01):
                    moved = value.copy()
                    moved[place] += step
                    other = panlearn_copy(model)
                    setattr(
                        other,
                        name,
                        moved if name != "noise_variance_" or len(value) > 1 else float(moved[0]),
                    )
                    assert other.score(data) < best + 1e-12


def panlearn_copy(model):
    other = type(model)(**model.get_params())
    vars(other).update(vars(model))
    return other


@both
@pytest.mark.parametrize("missing", [False, True])
def test_the_likelihood_never_falls(cls, X, holes, missing):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = cls(2, tol=0, max_iter=60).fit(holes if missing else X)
    steps = np.diff(model.history_["log_likelihood"])
    assert steps.min(initial=0.0) >= -1e-12  # rounding of a mean of order ten
    last = model.history_["log_likelihood"][-1]
    assert model.score(holes if missing else X) == pytest.approx(last, abs=1e-3)


def test_moments_stand_for_the_rows(X, rng):
    """The sums over as many rows as features are the sums over all."""
    from panlearn.core.statistics import Moments
    from panlearn.latent._factors import stand_ins

    at = Factors(np.zeros(7), rng.normal(size=(7, 2)), rng.random(7) + 0.1)
    moments = Moments.of(X)
    few = stand_ins(moments)
    one = expect(at, few.X, None, few.weight, complete=True)
    all_ = expect(at, X - X.mean(axis=0), complete=True)
    assert one.log_likelihood == pytest.approx(all_.log_likelihood)
    np.testing.assert_allclose(one.gram[0, :2, :2], all_.gram[0, :2, :2], rtol=1e-10)
    np.testing.assert_allclose(one.cross[:, :2], all_.cross[:, :2], atol=1e-8)
    np.testing.assert_allclose(one.square, all_.square, rtol=1e-10)


def test_closed_form_of_probabilistic_pca(X):
    model, pca, n = ProbabilisticPCA(2).fit(X), PCA().fit(X), len(X)
    values = pca.explained_variance_ * (n - 1) / n
    assert model.noise_variance_ == pytest.approx(values[2:].mean())
    np.testing.assert_allclose(model.explained_variance_, values[:2])
    lengths = np.sqrt(values[:2] - model.noise_variance_)
    np.testing.assert_allclose(model.components_, lengths[:, None] * pca.components_[:2], atol=1e-9)
    assert model.n_iter_ == 1


def test_em_with_nothing_missing_reaches_the_closed_form(X):
    """The rows with holes come twice, the second time with next to no weight."""
    nearly = np.r_[X, X[:1]]
    nearly[-1, 0] = np.nan
    weight = np.r_[np.ones(len(X)), 1e-12]
    for cls in (FactorAnalysis, ProbabilisticPCA):
        one = cls(2, tol=1e-11, max_iter=5000).fit(X)
        other = cls(2, tol=1e-11, max_iter=5000).fit(nearly, sample_weight=weight)
        np.testing.assert_allclose(other.get_covariance(), one.get_covariance(), rtol=1e-4)
        np.testing.assert_allclose(other.transform(X), one.transform(X), atol=1e-3)


def test_factor_analysis_finds_the_factors_and_is_equivariant(rng):
    W, noise = rng.normal(size=(6, 2)), rng.uniform(0.2, 1.0, 6)
    X = rng.normal(size=(20_000, 2)) @ W.T + rng.normal(size=(20_000, 6)) * np.sqrt(noise)
    model = FactorAnalysis(2, tol=1e-12).fit(X)
    # the entries of a covariance of order one are off by about 1 / sqrt(20 000)
    np.testing.assert_allclose(model.get_covariance(), W @ W.T + np.diag(noise), atol=0.15)
    np.testing.assert_allclose(model.noise_variance_, noise, atol=0.1)
    inner = model.components_ @ (model.components_ / model.noise_variance_).T
    assert np.abs(inner - np.diag(np.diag(inner))).max() < 1e-8 * inner.max()
    scale = 10.0 ** np.arange(-3, 3)
    scaled = FactorAnalysis(2, tol=1e-12).fit(X * scale)
    np.testing.assert_allclose(scaled.components_, model.components_ * scale, rtol=1e-6)
    np.testing.assert_allclose(scaled.noise_variance_, model.noise_variance_ * scale**2, rtol=1e-6)


@pytest.mark.parametrize("rotation", ["varimax", "quartimax"])
def test_a_rotation_keeps_the_density_and_makes_loadings_simple(rng, rotation):
    simple = np.zeros((6, 2))
    simple[:3, 0], simple[3:, 1] = [2.0, 1.5, 1.0], [1.8, 1.2, 1.6]
    X = rng.normal(size=(3000, 2)) @ simple.T + 0.5 * rng.normal(size=(3000, 6))
    plain, turned = FactorAnalysis(2).fit(X), FactorAnalysis(2, rotation=rotation).fit(X)
    np.testing.assert_allclose(plain.score_samples(X), turned.score_samples(X), rtol=1e-10)
    order = np.argsort(-turned.components_[:, 0])
    np.testing.assert_allclose(turned.components_[order].T, simple, atol=0.15)
    R = turn(plain.components_.T, 1.0)
    np.testing.assert_allclose(R @ R.T, np.eye(2), atol=1e-12)


@both
def test_samples_have_the_moments(cls, X):
    model = cls(2).fit(X)
    rows = model.sample(50_000, random_state=0)
    np.testing.assert_allclose(rows.mean(axis=0), model.mean_, atol=0.05)
    np.testing.assert_allclose(np.cov(rows.T), model.get_covariance(), atol=0.1)
    np.testing.assert_array_equal(rows, model.sample(50_000, random_state=0))


@both
def test_streams_with_holes_and_more_rows(cls, X, holes):
    holes = holes[:90]
    whole = cls(2, tol=1e-7).fit(holes)
    parts = [holes[i::3] for i in range(3)]
    stream = cls(2, tol=1e-7).fit(panlearn.Batches(parts))
    np.testing.assert_allclose(stream.components_, whole.components_, rtol=1e-8)
    with pytest.raises(ValueError, match="walked once"):
        cls(2).fit(iter(parts))
    with pytest.raises(ValueError, match="no moments are kept"):
        whole.partial_fit(X)
    with pytest.raises(ValueError, match="complete rows"):
        cls(2).partial_fit(holes)
    holes[:, 3] = np.nan
    with pytest.raises(ValueError, match="column 3"):
        cls(2).fit(holes)


def test_flat_features_and_bad_parameters(X):
    X[:, 1] = 4.0
    for cls in (FactorAnalysis, ProbabilisticPCA):
        assert np.isfinite(cls(2).fit(X).score(X))
        with pytest.raises(ValueError, match="n_components=8"):
            cls(8).fit(X)
    with pytest.raises(ValueError, match="7 positive numbers"):
        FactorAnalysis(2, noise_variance_init=[1.0, 2.0]).fit(X)


def test_criteria_choose_the_number_of_factors(X):
    for cls in (FactorAnalysis, ProbabilisticPCA):
        bic = [cls(k).fit(X).bic(X) for k in (1, 2, 3)]
        assert bic[1] < bic[0]
    assert int(np.argmin([FactorAnalysis(k).fit(X).bic(X) for k in (1, 2, 3)])) == 1


@both
def test_the_start_of_one_column_with_gaps_is_the_answer(cls, rng):
    """The law of what was seen: gaps take nothing from the variance that EM begins with."""
    x = 3 + 2 * rng.normal(size=(40, 1))
    x[:24] = np.nan
    seen = x[24:, 0]
    best = norm.logpdf(seen, seen.mean(), seen.std()).sum() / len(x)
    history = cls(1).fit(x).history_["log_likelihood"]
    np.testing.assert_allclose(history[0], best, rtol=1e-9)


def test_a_step_with_free_factors_goes_as_far_as_one_without(rng):
    """Liu, Rubin and Wu: the likelihood rises at least as far as by EM, from wherever it starts."""
    X = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 4)) + 0.5 * rng.normal(size=(30, 4)) + 3
    X[rng.random(X.shape) < 0.3] = np.nan
    X = X[~np.isnan(X).all(axis=1)]

    def likelihood(at):
        covariance = at.loadings @ at.loadings.T + np.diag(at.noise)
        total = 0.0
        for row in X:
            seen = ~np.isnan(row)
            law = multivariate_normal(at.mean[seen], covariance[np.ix_(seen, seen)])
            total += law.logpdf(row[seen])
        return total

    def posterior(at, row):
        seen = ~np.isnan(row)
        slopes = at.loadings[seen].T / at.noise[seen]
        covariance = np.linalg.inv(np.eye(2) + slopes @ at.loadings[seen])
        return covariance @ slopes @ (row - at.mean)[seen], covariance

    for _ in range(5):
        start = Factors(rng.normal(size=4), rng.normal(size=(4, 2)), rng.uniform(0.5, 2, 4))
        sums = expect(start, X, None, np.ones(len(X)))
        slopes = np.linalg.solve(sums.gram, sums.cross[:, :, None])[:, :, 0]
        residual = sums.square - (sums.cross * slopes).sum(axis=1)
        plain = Factors(start.mean + slopes[:, -1], slopes[:, :-1], residual / sums.count)
        longer = maximise(start, sums)[0]
        assert likelihood(plain) > likelihood(start)
        assert likelihood(longer) > likelihood(plain)
        means, within = zip(*(posterior(start, row) for row in X), strict=True)
        spread = np.cov(np.array(means).T, bias=True) + np.mean(within, axis=0)
        expected = plain.loadings @ spread @ plain.loadings.T
        np.testing.assert_allclose(longer.loadings @ longer.loadings.T, expected, rtol=1e-9)


def test_no_variance_of_the_noise_can_be_moved_to_a_higher_likelihood(rng):
    """Collinear features leave some of them without noise, where EM crawls for hundreds of steps.

    The slope of -2 log-likelihood by psi is the diagonal of C⁻¹ (C - S) C⁻¹.
    """
    for X in (load_diabetes().data * 100, rng.normal(size=(200, 10))):
        model = FactorAnalysis(4).fit(X)
        C, S = model.get_covariance(), np.cov(X.T, bias=True)
        precision = np.linalg.inv(C)
        slope = model.noise_variance_ * np.diag(precision @ (C - S) @ precision)
        at_floor = model.noise_variance_ < 2e-9 * np.diag(S)
        assert at_floor.any()
        np.testing.assert_allclose(slope[~at_floor], 0, atol=1e-5)
        assert (slope[at_floor] > -1e-4).all()  # such a C keeps half of the digits
        assert model.n_iter_ < 10


@pytest.mark.parametrize("shape", [(150, 400), (400, 150), (200, 200)])
@pytest.mark.parametrize("size", [1.0, 3e4])  # with 1e-9 of the noise in some columns
def test_leading_vectors_of_a_large_matrix(rng, shape, size):
    n, d = shape
    A = rng.normal(size=(n, 3)) @ rng.normal(size=(3, d)) + rng.normal(size=shape)
    A[:, :5] *= size
    A /= np.sqrt(n)
    assert A.size > SMALL
    values, vectors, rest = leading(A, 4)
    _, lengths, expected = np.linalg.svd(A, full_matrices=False)
    np.testing.assert_allclose(values, lengths[:4] ** 2, rtol=1e-12)
    np.testing.assert_allclose(np.abs(np.einsum("ij,ij->i", vectors, expected[:4])), 1, rtol=1e-12)
    left = (lengths[4:, None] * expected[4:]) ** 2
    np.testing.assert_allclose(rest, left.sum(axis=0), rtol=1e-9)
