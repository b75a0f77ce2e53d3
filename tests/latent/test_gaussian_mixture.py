"""GaussianMixture: EM under a floor, missing entries, labels, re-seeding."""

import copy
import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

from panlearn.core.gaussian import KINDS
from panlearn.core.random import generator
from panlearn.core.sources import ArrayRows
from panlearn.core.starts import best_of
from panlearn.latent import GaussianMixture, KMeans, _gaussians
from panlearn.latent._gaussians import Mixture, draw_missing, expect, fill
from panlearn.latent._mixture_starts import starts

every = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(autouse=True, params=[0, _gaussians.FEW], ids=["compiled", "by products"])
def way(request, monkeypatch):
    """Every fact holds for the kernel, and for what few rows go through instead."""
    monkeypatch.setattr(_gaussians, "FEW", request.param)


@pytest.fixture(name="X")
def blobs(rng):
    centres = np.array([[0.0, 0.0, 0.0], [8.0, 0.0, 2.0], [0.0, 8.0, -2.0]])
    shape = rng.normal(size=(3, 3)) / 2 + np.eye(3)
    return np.repeat(centres, 60, axis=0) + rng.normal(size=(180, 3)) @ shape


def densities(model, X):
    """The density by the definition, of the entries that are there."""
    d, out = X.shape[1], np.zeros(len(X))
    for i, row in enumerate(X):
        o = ~np.isnan(row)
        for j, (weight, mean) in enumerate(zip(model.weights_, model.means_, strict=True)):
            c = model.covariances_
            matrix = {
                "full": lambda c=c, j=j: c[j],
                "tied": lambda c=c: c,
                "diag": lambda c=c, j=j: np.diag(c[j]),
                "spherical": lambda c=c, j=j: c[j] * np.eye(d),
            }[model.covariance_type]()
            here = multivariate_normal(mean[o], matrix[np.ix_(o, o)]) if o.any() else None
            out[i] += weight * (1.0 if here is None else here.pdf(row[o]))
    return np.log(out)


@every
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("floor", [1e-6, 1.0])
def test_the_likelihood_never_falls(X, rng, kind, missing, floor):
    X = np.where(rng.random(X.shape) < missing, np.nan, X)
    for seed in range(3):
        model = GaussianMixture(
            4,
            covariance_type=kind,
            tol=0,
            max_iter=60,
            reg_covar=floor,
            init_params="k-means++",
            random_state=seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X)
        steps = np.diff(model.history_["log_likelihood"])
        assert steps.min() >= -1e-12  # rounding of a mean of order ten


@every
def test_density_of_complete_and_incomplete_rows(X, rng, kind):
    model = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
    np.testing.assert_allclose(model.score_samples(X), densities(model, X), rtol=1e-10)
    holes = np.where(rng.random(X.shape) < 0.4, np.nan, X)
    holes[0] = np.nan
    np.testing.assert_allclose(model.score_samples(holes), densities(model, holes), atol=1e-10)
    np.testing.assert_allclose(model.predict_proba(holes).sum(axis=1), 1)
    np.testing.assert_allclose(model.predict_proba(holes)[0], model.weights_)


def test_one_component_with_holes_has_the_stationary_likelihood(rng):
    X = rng.normal(size=(300, 3)) @ np.array([[1.0, 0.5, 0.2], [0, 1, 0.4], [0, 0, 1]])
    X[rng.random(X.shape) < 0.2] = np.nan
    model = GaussianMixture(tol=1e-13, max_iter=2000).fit(X)
    for axis in range(3):
        for step in (-1e-4, 1e-4):
            moved = GaussianMixture().fit(X)
            moved.means_, moved.covariances_ = model.means_.copy(), model.covariances_
            moved.means_[0, axis] += step
            assert moved.score(X) < model.score(X)


def test_no_eigenvalue_is_below_the_floor(rng):
    X = np.c_[rng.normal(size=100), np.zeros(100)]
    for kind in KINDS:
        model = GaussianMixture(2, covariance_type=kind, reg_covar=0.01, random_state=0).fit(X)
        values = np.linalg.eigvalsh(model.covariances_) if kind in ("full", "tied") else None
        least = model.covariances_.min() if values is None else values.min()
        assert least >= 0.01 * (1 - 1e-12)


def test_labels_hold_rows_in_their_components(X, rng):
    y = np.repeat([0, 1, 2], 60)
    model = GaussianMixture(3, use_labels=True, random_state=0).fit(X, y)
    for j in range(3):
        np.testing.assert_allclose(model.means_[j], X[y == j].mean(axis=0))
        np.testing.assert_allclose(model.covariances_[j], np.cov(X[y == j].T, bias=True))
    few = np.where(rng.random(180) < 0.9, -1, y)
    np.testing.assert_array_equal(
        GaussianMixture(3, use_labels=True, random_state=0).fit(X, few).predict(X), y
    )
    batches = [(X[i::3], few[i::3]) for i in range(3)]
    stream = GaussianMixture(3, use_labels=True, random_state=0).fit(batches)
    np.testing.assert_array_equal(stream.predict(X), y)
    with pytest.raises(ValueError, match="components 0 to 2"):
        GaussianMixture(3, use_labels=True).fit(X, y + 1)


def test_a_component_without_rows_starts_again(X):
    far = np.array([[0.0, 0.0, 0.0], [8.0, 0.0, 2.0], [1e4, 1e4, 1e4]])
    model = GaussianMixture(
        3, means_init=far, weights_init=[1 / 3] * 3, precisions_init=[np.eye(3)] * 3
    )
    with pytest.warns(ConvergenceWarning, match="component 2 .* lost all its rows"):
        model.fit(X)
    assert model.weights_.min() > 1e-3


def test_imputation_is_the_conditional_mean(rng):
    truth = np.array([[1.0, 0.8], [0.8, 1.0]])
    X = rng.multivariate_normal([1.0, -1.0], truth, size=2000)
    model = GaussianMixture().fit(X)
    filled = model.impute([[3.0, np.nan], [np.nan, np.nan]])
    (mean,), (covariance,) = model.means_, model.covariances_
    expected = mean[1] + covariance[1, 0] / covariance[0, 0] * (3 - mean[0])
    np.testing.assert_allclose(filled, [[3.0, expected], mean])


@every
def test_samples_have_the_density(X, kind):
    model = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
    rows, labels = model.sample(4000, random_state=0)
    # weights and means to four standard errors
    assert np.abs(np.bincount(labels) / 4000 - model.weights_).max() < 4 * 0.5 / 4000**0.5
    assert model.score(rows) == pytest.approx(model.score(X), abs=0.2)
    again, _ = model.sample(4000, random_state=0)
    np.testing.assert_array_equal(rows, again)


def test_anomalies_at_a_false_positive_rate(X):
    model = GaussianMixture(3, random_state=0).fit(X)
    rows, _ = model.sample(20_000, random_state=1)
    rate = (
        GaussianMixture(3, random_state=0)
        .fit(rows)
        .predict_anomaly(model.sample(20_000, random_state=2)[0], false_positive_rate=0.05)
    )
    # the threshold is estimated from 10 000 rows, the rate from 20 000: four standard errors
    assert rate.mean() == pytest.approx(0.05, abs=4 * (0.05 * 0.95 * (1 / 1e4 + 1 / 2e4)) ** 0.5)
    assert model.predict_anomaly([[50.0, 50.0, 50.0]]).all()
    with pytest.raises(ValueError, match="false_positive_rate"):
        model.predict_anomaly(X, false_positive_rate=2.0)


def test_more_starts_are_no_worse_and_criteria_choose(X):
    one = GaussianMixture(3, init_params="k-means++", random_state=1).fit(X)
    ten = GaussianMixture(3, init_params="k-means++", n_init=5, random_state=1).fit(X)
    assert ten.score(X) >= one.score(X) - 1e-3
    bic = [GaussianMixture(k, random_state=0).fit(X).bic(X) for k in (1, 2, 3, 4)]
    assert int(np.argmin(bic)) == 2


def test_a_column_of_nan_is_refused(X):
    X[:, 1] = np.nan
    with pytest.raises(ValueError, match="column 1 of X is NaN"):
        GaussianMixture().fit(X)


@every
def test_hard_assignment_maximises_the_likelihood_of_rows_and_components(X, kind):
    options = {"covariance_type": kind, "tol": 0, "max_iter": 30, "random_state": 2}
    model = GaussianMixture(4, assignment="hard", init_params="k-means++", **options)
    model.fit(X)  # hard steps end: the same components, no change at all
    assert model.converged_
    assert np.diff(model.history_["log_likelihood"]).min() >= -1e-12
    labels = model.predict(X)
    for j in range(4):
        np.testing.assert_allclose(model.means_[j], X[labels == j].mean(axis=0))
        assert model.weights_[j] == pytest.approx(np.mean(labels == j))


def test_the_first_step_of_partial_fit_is_a_step_of_em(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        once = GaussianMixture(3, max_iter=1, random_state=0).fit(X)
    step = GaussianMixture(3, random_state=0).partial_fit(X)
    for name in ("weights_", "means_", "covariances_", "precisions_"):
        np.testing.assert_allclose(getattr(step, name), getattr(once, name), rtol=1e-12)


@every
def test_a_step_of_partial_fit_mixes_the_expected_sums(X, kind):
    model = GaussianMixture(3, covariance_type=kind, learning_decay=0.8, random_state=0)
    model.partial_fit(X[::2])
    old, new = (model.weights_, model.means_, model.covariances_), X[1::2]
    responsibilities, share = model.predict_proba(new), 3**-0.8
    model.partial_fit(new)
    count = (1 - share) * old[0] + share * responsibilities.mean(axis=0)
    np.testing.assert_allclose(model.weights_, count, rtol=1e-10)
    total = (1 - share) * old[0][:, None] * old[1] + share * responsibilities.T @ new / len(new)
    np.testing.assert_allclose(model.means_, total / count[:, None], rtol=1e-10)
    if kind == "full":
        outer = np.einsum("kd,ke->kde", old[1], old[1]) + old[2]
        moments = (1 - share) * old[0][:, None, None] * outer
        moments += share * np.einsum("nk,nd,ne->kde", responsibilities, new, new) / len(new)
        about = np.einsum("kd,ke->kde", model.means_, model.means_)
        expected = moments / count[:, None, None] - about
        np.testing.assert_allclose(model.covariances_, expected, atol=1e-9)


def test_stepwise_em_nears_the_likelihood_of_em(X, rng):
    whole = GaussianMixture(3, random_state=0).fit(X)
    rows, _ = whole.sample(4000, random_state=0)
    stream = GaussianMixture(3, random_state=0)
    for batch in np.split(rows, 40):
        stream.partial_fit(batch)
    assert stream.n_iter_ == 40
    assert len(stream.history_["log_likelihood"]) == 40
    best = GaussianMixture(3, random_state=0).fit(rows)
    # of 4000 rows, the last ten batches count most: a loss of parameters / (2 x 1000) is ordinary
    assert stream.score(rows) > best.score(rows) - 29 / 2000
    seen = stream.predict_anomaly(rows, false_positive_rate=0.1).mean()
    assert seen == pytest.approx(0.1, abs=0.03)


def test_a_batch_may_lack_a_column_that_the_first_had(X):
    model = GaussianMixture(3, random_state=0).partial_fit(X)
    holes = X.copy()
    holes[:, 1] = np.nan
    model.partial_fit(holes)
    assert np.isfinite(model.score(X))
    with pytest.raises(ValueError, match="column 1"):
        GaussianMixture(3).partial_fit(holes)


def test_starts_side_by_side_find_the_best(X):
    model = GaussianMixture(4, n_init=6, init_params="k-means++", random_state=5)
    alone = []
    rows = ArrayRows(X, None, None)
    rng = generator(5)
    sample = model._sample(rows, rng)
    for start in starts(model, rows, sample, rng):
        one = GaussianMixture(
            4,
            weights_init=start.weights,
            means_init=start.means,
            precisions_init=np.linalg.inv(start.covariances),
        )
        alone.append(one.fit(X).score(X))
    assert len(alone) == 6
    assert model.fit(X).score(X) == pytest.approx(max(alone), rel=1e-10)


@every
def test_holes_in_the_training_rows_leave_the_false_positives_as_chosen(rng, kind):
    truth = rng.normal(size=(3, 3))
    X, fresh = rng.normal(size=(2, 3000, 3)) @ truth
    X[rng.random(X.shape) < 0.4] = np.nan
    for seed in range(5):  # 192 rows are empty, and no single draw may stand for all of them
        model = GaussianMixture(covariance_type=kind, random_state=seed + 122).fit(X)
        share = model.predict_anomaly(fresh, false_positive_rate=0.05).mean()
        # two binomial errors, of the quantile and of the share, three deviations of each; the
        # kinds that are not the truth have tails of their own
        assert share == pytest.approx(0.05, abs=0.017 if kind in ("full", "tied") else 0.03)
    with pytest.raises(ValueError, match="complete rows"):
        model.predict_anomaly(X)
    with pytest.raises(ValueError, match="complete rows"):
        model.predict_anomaly(sparse.csr_array(X))


@every
def test_missing_entries_are_drawn_from_their_conditional_law(rng, kind):
    means, k = np.array([[0.0, 0.0, 0.0], [6.0, 6.0, 0.0]]), KINDS[kind]
    a = rng.normal(size=(2, 3, 3))
    scatter = np.stack([k.part(m @ m.T) for m in a])
    at = Mixture(k, np.array([0.3, 0.7]), means, k.maximise(scatter, np.ones(2), 0.1))
    row = np.array([[3.0, np.nan, np.nan]])
    drawn = draw_missing(at, np.repeat(row, 20_000, axis=0), rng)
    assert (drawn[:, 0] == 3.0).all()
    # four standard errors of a mean
    error = 4 * drawn[:, 1:].std(axis=0) / np.sqrt(20_000)
    assert (np.abs(drawn.mean(axis=0) - fill(at, row)[0])[1:] < error).all()


@pytest.mark.parametrize("kind", ["full", "tied"])
def test_float32_rows_with_a_column_twice(rng, kind):
    X = 100 * np.repeat(rng.normal(size=(200, 2)), 2, axis=1).astype(np.float32)
    model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
    assert model.covariances_.dtype == np.float32
    matrices = np.atleast_3d(model.covariances_.T).T.astype(float)
    assert np.linalg.eigvalsh(matrices).min() > 0
    assert np.isfinite(model.score_samples(X)).all()


@pytest.mark.parametrize("kind", ["full", "diag"])
def test_labels_are_looked_at_in_every_step(X, kind):
    model = GaussianMixture(3, covariance_type=kind, use_labels=True, random_state=0)
    labels = np.repeat([0, 1, 2], 60)
    model.partial_fit(X, labels)
    with pytest.raises(ValueError, match="components 0 to 2"):
        model.partial_fit(X, labels + 1)


@every
def test_precisions_to_start_from_are_definite(X, kind):
    shape = KINDS[kind].shape(2, 3)
    with pytest.raises(ValueError, match="positive definite"):
        GaussianMixture(2, covariance_type=kind, precisions_init=np.full(shape, -1.0)).fit(X)


def test_the_best_of_several_starts_has_the_highest_objective(monkeypatch):
    X, reached = np.random.default_rng(0).normal(size=(60, 2)), []

    def watched(estimator, rows, starts, run, value):
        ends = [run(copy.copy(estimator), start) for start in starts]
        reached.extend(expect(end, X, hard=True).log_likelihood for end in ends)
        return best_of(estimator, rows, starts, run, value)

    monkeypatch.setattr("panlearn.latent.gaussian_mixture.best_of", watched)
    # here the start with the highest likelihood of the rows alone is another one
    hard = {"assignment": "hard", "init_params": "k-means++"}
    model = GaussianMixture(2, n_init=6, random_state=2, **hard).fit(X)
    end = Mixture(KINDS["full"], model.weights_, model.means_, model.covariances_)
    assert expect(end, X, hard=True).log_likelihood == pytest.approx(max(reached))


def test_many_rows_are_drawn_in_little_memory(X):
    model = GaussianMixture(3, random_state=0).fit(np.tile(X, (1, 10)))
    tracemalloc.start()
    model.sample(20_000, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * 20_000 * 30 * 8  # a matrix a row would be thirty times that


def test_fit_predict_is_fit_then_predict(X):
    weight, model = np.arange(len(X)) % 3.0, GaussianMixture(3, random_state=0)
    labels = model.fit_predict(X, sample_weight=weight)
    again = GaussianMixture(3, random_state=0).fit(X, sample_weight=weight)
    np.testing.assert_array_equal(labels, again.predict(X))


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_log_probabilities_far_from_all_components(rng, kind):
    X = rng.normal(size=(60, 2)) + np.repeat([[0, 0], [30, 0]], 30, axis=0)
    model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
    np.testing.assert_allclose(
        np.exp(model.predict_log_proba(X)), model.predict_proba(X), atol=1e-14
    )
    far = np.array([[-400.0, 3.0], [500.0, np.nan]])
    joint = np.empty((2, 2))
    full = {"full": model.covariances_, "tied": [model.covariances_] * 2}
    matrices = full.get(kind, [c * np.eye(2) for c in model.covariances_])
    for j, matrix in enumerate(matrices):
        for i, row in enumerate(far):
            o = ~np.isnan(row)
            law = multivariate_normal(model.means_[j][o], matrix[np.ix_(o, o)])
            joint[i, j] = law.logpdf(row[o]) + np.log(model.weights_[j])
    expected = joint - np.logaddexp(*joint.T)[:, None]
    assert expected.min() < -1000  # zero, as a probability
    np.testing.assert_allclose(model.predict_log_proba(far), expected, rtol=1e-9)


@pytest.mark.parametrize("factor", [1e-5, 1e5, 2.0**-40])
@pytest.mark.parametrize("cls", [GaussianMixture, KMeans])
def test_the_scale_of_the_weights_does_not_matter(rng, cls, factor):
    X = rng.normal(size=(90, 2)) + np.repeat([[0, 0], [5, 0], [0, 5]], 30, axis=0)
    weight = rng.uniform(0.1, 3, 90)
    one, other = (cls(3, random_state=0).fit(X, sample_weight=w) for w in (weight, factor * weight))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    if cls is KMeans:
        np.testing.assert_allclose(other.cluster_centers_, one.cluster_centers_, rtol=1e-9)
        assert other.inertia_ == pytest.approx(factor * one.inertia_)
    else:
        assert other.n_iter_ == one.n_iter_
        for name in ("weights_", "means_", "covariances_"):
            np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-7)
        assert other.lower_bound_ == pytest.approx(one.lower_bound_)
    if hasattr(one, "partial_fit"):
        first, second = (
            cls(3, random_state=0)
            .partial_fit(X[:60], sample_weight=w[:60])
            .partial_fit(X[60:], sample_weight=w[60:])
            for w in (weight, factor * weight)
        )
        np.testing.assert_array_equal(first.predict(X), second.predict(X))
