"""Decision theory: what to do with the probability of each class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin

from panlearn.bayes import (
    AbstainingClassifier,
    BernoulliNB,
    CostSensitiveClassifier,
    GaussianNB,
    QuadraticDiscriminantAnalysis,
)
from panlearn.claims.claim import Evidence, claim, equal, true


class _Probabilities(ClassifierMixin, BaseEstimator):
    """A classifier whose rows are the probabilities themselves."""

    def fit(self, X: Any, y: Any) -> _Probabilities:
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.asarray(X)


def _simplex(k: int, n: int = 500) -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.ones(k), size=n)


def _grid(n: int = 10001) -> np.ndarray:
    """Probabilities of the classes -1 and +1, in rows."""
    p = np.linspace(0, 1, n)
    return np.stack([1 - p, p], axis=1)


@claim("A67")
def error_under_a_shift_of_domain() -> Iterator[Evidence]:
    """The error on another distribution of x is the training error weighted by p_test / p_train."""
    rng = np.random.default_rng(0)

    def draw(mean: float, n: int = 100_000) -> tuple[np.ndarray, np.ndarray]:
        x = rng.normal(mean, 1, size=(n, 1))
        return x, rng.random(n) < stats.norm.cdf(2 * x[:, 0])

    x, y = draw(0.0)
    model = GaussianNB().fit(x[:200], y[:200])
    weight = np.exp(stats.norm.logpdf(x[:, 0], 0.7) - stats.norm.logpdf(x[:, 0]))
    weighted = 1 - model.score(x, y, sample_weight=weight)
    other = 1 - model.score(*draw(0.7))
    yield equal("weighted error / error on the other domain", weighted / other, 1.0, 0.05)


@claim("A68")
def most_probable_label() -> Iterator[Evidence]:
    """Under 0-1 loss the best action is the most probable label, at risk 1 - max p.

    The text writes the error probability itself where it means the function that minimises it.
    """
    p = _simplex(4)
    risks = np.stack([1 - p[:, action] for action in range(4)], axis=1)  # P(y != action)
    model = CostSensitiveClassifier(_Probabilities()).fit(p[:4], range(4))
    yield equal("decisions", model.predict(p), risks.argmin(axis=1))
    yield equal("their risk", risks.min(axis=1), 1 - p.max(axis=1), 1e-15)
    yield equal("expected 0-1 cost", model.expected_cost(p), risks, 1e-15)


@claim("A69")
def flipped_labels() -> Iterator[Evidence]:
    """Labels flipped with probability r < 1/2 leave the Bayes rule alone; its error is r.

    With r > 1/2 the rule is the opposite of the true label, with error 1 - r.
    """
    x = np.array([[0.0], [1.0]])
    for r in (0.1, 0.3, 0.7):
        # all cases of (x, flip), with their probabilities as weights
        rows, truth = np.repeat(x, 2, axis=0), np.repeat([-1, 1], 2)
        labels, weight = truth * np.tile([1, -1], 2), np.tile([1 - r, r], 2)
        model = BernoulliNB(alpha=0.0).fit(rows, labels, sample_weight=weight)
        expected = [-1, 1] if r < 0.5 else [1, -1]
        yield equal(f"rule at r = {r}", model.predict(x), expected)
        error = 1 - model.score(rows, labels, sample_weight=weight)
        yield equal(f"error at r = {r}", error, min(r, 1 - r), 1e-12)


@claim("A70")
def costs_move_the_threshold() -> Iterator[Evidence]:
    """With costs c_FP and c_FN predict +1 iff p(+1 | x) > c_FP / (c_FP + c_FN).

    The text's c_FN / (c_FP + c_FN) bounds p(-1 | x) from above, not p(+1 | x) from below.
    """
    p = _grid()
    for false_positive, false_negative in [(1.0, 4.0), (3.0, 1.0), (1.0, 1.0)]:
        costs = np.array([[0.0, false_positive], [false_negative, 0.0]])
        model = CostSensitiveClassifier(_Probabilities(), costs=costs).fit(p[:2], [-1, 1])
        threshold = false_positive / (false_positive + false_negative)
        positive = model.predict(p) == 1
        clear = np.abs(p[:, 1] - threshold) > 1e-9  # a tie may fall either way
        yield equal(f"threshold {threshold:g}", positive[clear], p[clear, 1] > threshold)
        other = p[clear, 0] < false_negative / (false_positive + false_negative)
        yield equal("the same by p(-1 | x)", positive[clear], other)


@claim("A71")
def when_to_abstain() -> Iterator[Evidence]:
    """If abstaining costs c, abstain iff c < p(-1 | x) < 1 - c: never if c >= 1/2.

    The text does not say that the interval needs c < 1/2.
    """
    p = _grid()
    for cost in (0.05, 0.2, 0.4, 0.5, 0.7):
        model = AbstainingClassifier(_Probabilities(), cost=cost, abstain_label=0)
        model.fit(p[:2], [-1, 1])
        edge = np.minimum(np.abs(p[:, 0] - cost), np.abs(p[:, 0] - 1 + cost)) < 1e-9
        inside = (cost < p[:, 0]) & (p[:, 0] < 1 - cost)
        yield equal(f"abstentions at c = {cost}", (model.predict(p) == 0)[~edge], inside[~edge])
        if cost >= 0.5:
            yield true(f"none at c = {cost}", not model.abstains(p).any())


@claim("A72")
def generative_classifier() -> Iterator[Evidence]:
    """The largest p(y | x) is where log p(y) + log p(x | y) is largest; normalised it sums to 1."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    X = rng.normal(size=(200, 2)) + y[:, None]
    for model in (GaussianNB().fit(X, y), QuadraticDiscriminantAnalysis().fit(X, y)):
        joint, p = model.predict_joint_log_proba(X), model.predict_proba(X)
        name = type(model).__name__
        yield equal(f"predictions of {name}", model.predict(X), joint.argmax(axis=1))
        yield equal(f"the same by p(y | x) of {name}", p.argmax(axis=1), joint.argmax(axis=1))
        yield equal(f"sums of p(y | x) of {name}", p.sum(axis=1), np.ones(200), 1e-14)


@claim("A73")
def the_joint_says_more_than_the_conditional() -> Iterator[Evidence]:
    """p(y | x) follows from p(x, y) and not the other way: two joints may share it."""
    conditional = np.array([[0.9, 0.1], [0.3, 0.7]])  # p(y | x), x in rows
    learned = []
    for marginal in ([0.5, 0.5], [0.2, 0.8]):
        joint = np.array(marginal)[:, None] * conditional
        rows, labels = np.repeat([[0.0], [1.0]], 2, axis=0), np.tile([0, 1], 2)
        model = BernoulliNB(alpha=0.0).fit(rows, labels, sample_weight=joint.ravel())
        learned.append(np.exp(model.predict_joint_log_proba([[0.0], [1.0]])))
        yield equal(f"joint at p(x) = {marginal}", learned[-1], joint, 1e-12)
        p = model.predict_proba([[0.0], [1.0]])
        yield equal(f"conditional at p(x) = {marginal}", p, conditional, 1e-12)
    yield true("the joints differ", np.abs(learned[0] - learned[1]).max() > 0.1)
