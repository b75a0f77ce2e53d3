"""Claims on Gaussian mixtures and EM."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

from panlearn.bayes import GaussianMixtureClassifier, QuadraticDiscriminantAnalysis
from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal
from panlearn.core.sources import ArrayRows
from panlearn.core.starts import RowSample
from panlearn.latent import GaussianMixture, KMeans
from panlearn.latent._mixture_starts import starts


def _rows() -> np.ndarray:
    rng = np.random.default_rng(137)
    return np.r_[rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) * [2.0, 0.5] + [4.0, 1.0]]


def _fit(X: np.ndarray, **parameters: object) -> GaussianMixture:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return GaussianMixture(3, init_params="k-means++", **parameters).fit(X)  # type: ignore[arg-type]


@claim("A139")
def names_of_components_do_not_matter() -> Iterator[Evidence]:
    """The likelihood of a mixture is the same under all K! orders of its components."""
    X = _rows()
    model = _fit(X, random_state=0)
    value = model.score(X)
    weights, means, covariances = model.weights_, model.means_, model.covariances_
    worst = 0.0
    for order in itertools.permutations(range(3)):
        chosen = list(order)
        model.weights_, model.means_ = weights[chosen], means[chosen]
        model.covariances_ = covariances[chosen]
        worst = max(worst, abs(model.score(X) - value))
    yield at_most("largest change of the log-likelihood", worst, 1e-10)


@claim("A141")
def responsibilities_sum_to_one() -> Iterator[Evidence]:
    """Responsibilities π_k N_k / Σ π_l N_l of a row sum to 1, however far the row is.

    A thousand units away, where each density underflows, they are still those of the formula.
    """
    model = _fit(_rows(), random_state=0)
    far = np.array([[1e3, 1e3], [-1e3, 0.0], [0.0, 1e3], [-1e6, 0.0], [1e8, 1e8]])
    rows = np.r_[_rows(), far]
    found = model.predict_proba(rows)
    yield equal("sums and 1", found.sum(axis=1), np.ones(len(rows)), 1e-12)
    parts = zip(model.weights_, model.means_, model.covariances_, strict=True)
    joint = np.stack(
        [np.log(w) + multivariate_normal(m, c).logpdf(rows) for w, m, c in parts], axis=1
    )
    yield at_most("largest density of the far rows", np.exp(joint[-5:]).max(), 0.0)
    expected = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    yield equal("the formula in logarithms", found, expected, 1e-9)


@claim("A144")
def em_never_lowers_the_likelihood() -> Iterator[Evidence]:
    """EM never lowers the log-likelihood; "increases", as the text has it, is too strong.

    At a stationary point it stays. The maximisation must be exact: a floor under the covariances
    keeps the property if it is a constraint of the maximisation, not if it is added afterwards.
    """
    X = _rows()
    for floor, n_starts in ((1e-9, 30), (0.5, 10)):
        fits = [
            _fit(X, tol=0, max_iter=60, reg_covar=floor, random_state=s) for s in range(n_starts)
        ]
        steps = [np.diff(m.history_["log_likelihood"]).min() for m in fits]
        yield at_least(f"smallest step at a floor of {floor}", min(steps), -1e-9)
        early = [m for m in fits if len(m.history_["log_likelihood"]) < 60]
        changes = [m.history_["change"][-1] for m in early]
        yield equal("changes of those that stood still before 60 iterations", sum(changes), 0)


@claim("A149")
def labels_make_em_a_discriminant_analysis() -> Iterator[Evidence]:
    """With every label given, EM is the fit of a Gaussian a class, in one maximisation; with none
    it is plain EM; with some, the rows that have one keep it.

    The text's indicator is that of the label of the row itself, γ_j(x_i) = 1[j = y_i].
    """
    X, y = _rows(), np.repeat([0, 1], 60)
    settings: dict[str, Any] = {"reg_covar": 1e-12, "random_state": 0, "tol": 1e-10}
    model = GaussianMixture(2, use_labels=True, **settings).fit(X, y)
    for j in range(2):
        yield equal(f"mean of class {j}", model.means_[j], X[y == j].mean(axis=0), 1e-10)
        covariance = np.cov(X[y == j].T, bias=True)
        yield equal(f"covariance of class {j}", model.covariances_[j], covariance, 1e-10)
    yield equal("weights", model.weights_, [0.5, 0.5], 1e-12)
    once = GaussianMixture(2, use_labels=True, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        once.set_params(max_iter=1).fit(X, y)
    yield equal("after one iteration", once.covariances_, model.covariances_, 1e-10)
    plain = GaussianMixture(2, max_iter=500, **settings).fit(X)
    unlabelled = GaussianMixture(2, max_iter=500, use_labels=True, **settings)
    unlabelled.fit(X, np.full(120, -1))
    for name in ("weights_", "means_", "covariances_"):
        yield equal(
            f"{name} without labels", getattr(unlabelled, name), getattr(plain, name), 1e-10
        )
    some = y.copy()
    some[:3], some[60:63], some[3:60], some[63:] = 1, 0, -1, -1  # wrong ones, which are kept too
    partly = GaussianMixture(2, max_iter=5000, use_labels=True, **settings).fit(X, some)
    q = partly.predict_proba(X)
    q[some >= 0] = np.eye(2)[some[some >= 0]]
    yield equal("means at the end", partly.means_, (q.T @ X) / q.sum(axis=0)[:, None], 1e-5)
    yield equal("weights at the end", partly.weights_, q.mean(axis=0), 1e-5)


def _total(model: GaussianMixture) -> float:
    """The integral of the density over a square that holds all but a part in 1e5 of it."""
    side = np.linspace(-14, 20, 341)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    return float(np.exp(model.score_samples(grid)).sum() * (side[1] - side[0]) ** 2)


@claim("A137")
def a_mixture_is_a_density() -> Iterator[Evidence]:
    """p(x) = Σ_k π_k N(x | μ_k, Σ_k), the marginal of p(x, z), integrates to 1.

    The text's list of shapes repeats μ, and its sum over components is garbled.
    """
    X = _rows()
    model = _fit(X, random_state=0, reg_covar=0.05)
    yield equal("integral and 1", _total(model), 1.0, 1e-4)
    yield equal("sum of the weights and 1", model.weights_.sum(), 1.0, 1e-12)
    joint = [
        multivariate_normal(m, c).logpdf(X) + np.log(w)
        for w, m, c in zip(model.weights_, model.means_, model.covariances_, strict=True)
    ]
    yield equal(
        "log density and the sum over z", model.score_samples(X), logsumexp(joint, axis=0), 1e-9
    )


@claim("A138")
def parameters_do_not_grow_with_the_rows() -> Iterator[Evidence]:
    """Without the assignments a mixture has K − 1 + KD + KD(D + 1)/2 parameters, for any N."""
    X = _rows()
    for rows in (X, np.r_[X, X]):
        model = _fit(rows, random_state=0)
        free = 3 - 1 + 3 * 2 + 3 * 2 * 3 // 2
        criterion = (model.aic(rows) + 2 * len(rows) * model.score(rows)) / 2
        yield equal(f"parameters for {len(rows)} rows", criterion, free, 1e-6)


def _collapsing(X: np.ndarray, widths: list[float]) -> list[float]:
    """Mean negative log-likelihood with one of two components on a row, ever narrower."""
    model = GaussianMixture(2, covariance_type="spherical", random_state=0).fit(X)
    model.means_ = np.stack([X[0], X.mean(axis=0)])
    values = []
    for width in widths:
        model.covariances_ = np.array([width**2, X.var()])
        values.append(-model.score(X) * len(X))
    return values


@claim("A140")
def the_likelihood_has_no_bound() -> Iterator[Evidence]:
    """A component on one row with σ → 0 sends the negative log-likelihood to −∞.

    It falls by d ln 10 a decade of σ, once the other rows are left to the other component.
    """
    X = _rows()
    values = _collapsing(X, [1e-3, 1e-4, 1e-5, 1e-6])
    yield equal("falls and d ln 10", -np.diff(values), np.full(3, 2 * np.log(10)), 1e-6)


@claim("A150")
def a_mixture_a_class() -> Iterator[Evidence]:
    """p(y | x) ∝ p(y) p(x | y) with a mixture for p(x | y); with one component it is QDA."""
    X, y = _rows(), np.repeat([0, 1], 60)
    one = GaussianMixtureClassifier(1, reg_covar=0).fit(X, y)
    quadratic = QuadraticDiscriminantAnalysis().fit(X, y)
    yield equal(
        "probabilities of one component", one.predict_proba(X), quadratic.predict_proba(X), 1e-9
    )
    two = GaussianMixtureClassifier(2, random_state=0).fit(X, y)
    joint = np.stack([m.score_samples(X) for m in two.mixtures_], axis=1) + np.log(two.priors_)
    expected = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    yield equal("probabilities and Bayes' rule", two.predict_proba(X), expected, 1e-10)


@claim("A151")
def where_em_starts() -> Iterator[Evidence]:
    """EM starts at equal weights, means by k-means++, and spheres at the variance of the rows."""
    X = _rows()
    model = GaussianMixture(3, init_params="k-means++")
    sample = RowSample.of(X, None, size=1000)
    start = starts(model, ArrayRows(X, None, None), sample, np.random.default_rng(0))[0]
    yield equal("weights", start.weights, np.full(3, 1 / 3), 1e-12)
    sphere = X.var(axis=0).mean() * np.eye(2)
    yield equal("covariances", start.covariances, np.stack([sphere] * 3), 1e-10)
    distance = ((start.means[:, None] - X) ** 2).sum(axis=2).min(axis=1)
    yield equal("distance of the means from rows", distance, np.zeros(3), 1e-20)


@claim("A152")
def held_out_rows_choose_the_number() -> Iterator[Evidence]:
    """The likelihood of the training rows does not fall with k; that of other rows has a peak."""
    rng = np.random.default_rng(152)
    centres = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])
    X, other = (np.repeat(centres, 30, axis=0) + rng.normal(size=(90, 2)) for _ in range(2))
    options = {"n_init": 3, "tol": 1e-4, "reg_covar": 0.01, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        models = [GaussianMixture(k, **options).fit(X) for k in range(1, 7)]  # type: ignore[arg-type]
    training = [m.score(X) for m in models]
    yield at_least("smallest rise in training", np.diff(training).min(), -1e-3)
    yield equal("best k on other rows", 1 + int(np.argmax([m.score(other) for m in models])), 3)


@claim("A153")
def a_threshold_has_its_rate() -> Iterator[Evidence]:
    """p(x) < τ with τ the α-quantile of the density of ordinary rows flags a share α of them."""
    truth = GaussianMixture(2, random_state=0).fit(_rows())
    n, rate = 4000, 0.05
    X, _ = truth.sample(n, random_state=1)
    new, _ = truth.sample(n, random_state=2)
    model = GaussianMixture(2, random_state=0).fit(X)
    flagged = model.predict_anomaly(new, false_positive_rate=rate).mean()
    error = 3 * np.sqrt(2 * rate * (1 - rate) / n)  # the threshold is estimated too
    yield equal("share flagged and α", flagged, rate, error)


@claim("A154")
def the_conditional_mean_is_the_best_guess() -> Iterator[Evidence]:
    """μ_2 + Σ_21 Σ_11⁻¹(x_1 − μ_1), weighed by responsibilities, has the least squared error."""
    model = GaussianMixture(2, random_state=0).fit(_rows())
    X, _ = model.sample(40_000, random_state=0)
    holes = X.copy()
    holes[:, 1] = np.nan
    guess = model.impute(holes)[:, 1]
    error = np.mean((X[:, 1] - guess) ** 2)
    bins = np.searchsorted(np.quantile(X[:, 0], np.linspace(0, 1, 201)[1:-1]), X[:, 0])
    means = np.bincount(bins, X[:, 1]) / np.bincount(bins)  # regression by narrow bins
    yield equal(
        "error over that of a regression", error / np.mean((X[:, 1] - means[bins]) ** 2), 1, 0.02
    )
    shifted = [np.mean((X[:, 1] - guess - s) ** 2) for s in (-0.1, 0.1)]
    yield at_least("error of guesses moved by 0.1", min(shifted), error)
    one = GaussianMixture().fit(_rows())
    mean, covariance = one.means_[0], one.covariances_[0]
    line = mean[1] + covariance[1, 0] / covariance[0, 0] * (2.0 - mean[0])
    yield equal("one Gaussian and its line", one.impute([[2.0, np.nan]])[0, 1], line, 1e-10)


@claim("A155")
def clusters_need_not_be_round() -> Iterator[Evidence]:
    """k-means forces round, hard clusters; a mixture with full covariances does not."""
    rng = np.random.default_rng(155)
    X = rng.normal(size=(200, 2)) * [6.0, 0.4]
    truth = np.repeat([0, 1], 100)
    X[truth == 1, 1] += 3

    def accuracy(labels: np.ndarray) -> float:
        share = float(np.mean(labels == truth))
        return max(share, 1 - share)

    mixture = GaussianMixture(2, tol=1e-6, max_iter=500, random_state=0).fit(X)
    clusters = KMeans(2, n_init=10, random_state=0).fit(X)
    yield at_least("accuracy of the mixture", accuracy(mixture.predict(X)), 0.98)
    yield at_most("accuracy of k-means", accuracy(clusters.labels_), 0.8)


@claim("B240")
def responsibilities_and_density_are_normalised() -> Iterator[Evidence]:
    """Responsibilities sum to 1, also far away, and the density of a mixture integrates to 1."""
    model = _fit(_rows(), random_state=0, reg_covar=0.05)
    far = np.array([[1e3, -1e3], [1e8, 1e8], [0.0, 0.0]])
    yield equal("sums and 1", model.predict_proba(far).sum(axis=1), np.ones(3), 1e-12)
    yield equal("integral and 1", _total(model), 1.0, 1e-4)


@claim("B242")
def a_floor_keeps_the_likelihood_bounded() -> Iterator[Evidence]:
    """With μ_j = x_n and σ_j → 0 the likelihood grows like −D log σ_j; a floor prevents it.

    N(x | x, σ²I) is (2π)^{−D/2} σ^{−D}, which the text prints for D = 1. One Gaussian alone is safe
    because the other rows send the likelihood to zero.
    """
    X = _rows()
    values = _collapsing(X, [10.0**-k for k in range(3, 8)])
    yield at_least("least rise a decade", -np.diff(values).max(), 2 * np.log(10) - 1e-6)
    floor = 0.01
    model = _fit(X, random_state=0, reg_covar=floor, tol=0, max_iter=100)
    least = np.linalg.eigvalsh(model.covariances_).min()
    yield at_least("least eigenvalue with a floor", least, floor * (1 - 1e-9))


@claim("B243")
def components_have_no_order() -> Iterator[Evidence]:
    """Permuting the components in any of K! ways leaves the likelihood as it is."""
    X = _rows()
    model = _fit(X, random_state=1)
    value, learned = model.score(X), (model.weights_, model.means_, model.covariances_)
    worst = 0.0
    for order in itertools.permutations(range(3)):
        model.weights_, model.means_, model.covariances_ = (a[list(order)] for a in learned)
        worst = max(worst, abs(model.score(X) - value))
    yield at_most("largest change", worst, 1e-12)
