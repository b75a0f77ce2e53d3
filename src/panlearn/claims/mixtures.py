"""Claims on Gaussian mixtures and EM."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal
from panlearn.latent import GaussianMixture


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
    """Responsibilities π_k N_k / Σ π_l N_l of a row sum to 1, however far the row is."""
    model = _fit(_rows(), random_state=0)
    far = np.r_[_rows(), [[1e3, 1e3], [-1e6, 0.0]]]
    yield equal("sums and 1", model.predict_proba(far).sum(axis=1), np.ones(len(far)), 1e-12)


@claim("A144")
def em_never_lowers_the_likelihood() -> Iterator[Evidence]:
    """EM never lowers the log-likelihood; "increases", as the text has it, is too strong.

    At a stationary point it stays. The maximisation must be exact: a floor under the covariances
    keeps the property if it is a constraint of the maximisation, not if it is added afterwards.
    """
    X = _rows()
    for floor in (1e-9, 0.5):
        fits = [_fit(X, tol=0, max_iter=40, reg_covar=floor, random_state=s) for s in range(6)]
        steps = [np.diff(m.history_["log_likelihood"]).min() for m in fits]
        yield at_least(f"smallest step at a floor of {floor}", min(steps), -1e-9)


@claim("A149")
def labels_make_em_a_discriminant_analysis() -> Iterator[Evidence]:
    """With every label given, EM is the fit of a Gaussian a class, in one maximisation.

    The text's indicator is that of the label of the row itself, γ_j(x_i) = 1[j = y_i].
    """
    X, y = _rows(), np.repeat([0, 1], 60)
    model = GaussianMixture(2, use_labels=True, reg_covar=1e-12, random_state=0).fit(X, y)
    for j in range(2):
        yield equal(f"mean of class {j}", model.means_[j], X[y == j].mean(axis=0), 1e-10)
        covariance = np.cov(X[y == j].T, bias=True)
        yield equal(f"covariance of class {j}", model.covariances_[j], covariance, 1e-10)
