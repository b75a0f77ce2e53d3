"""Rates of decisions, their curves, and errors beyond the average one."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal
from panlearn.evaluate.rates import Rates, rate_curve, rates, rates_at
from panlearn.linear import LogisticRegression
from panlearn.trust import attacks, generalization


def _scored(seed: int, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return y, np.round(y + rng.normal(size=n), 1)  # rounded, so that scores tie


@claim("A61")
def names_of_rates() -> Iterator[Evidence]:
    """FPR = FP / #(y = -1), TPR = TP / #(y = +1), FNR = FN / #(y = +1), FDR = FP / #(said +1).

    Precision is TP / #(said +1); TPR + FNR = 1, FDR = 1 - precision. The text has the FNR and the
    FDR with #(y = -1) below.
    """
    rng = np.random.default_rng(0)
    for _ in range(5):
        y, said = rng.choice([-1, 1], size=(2, 97))
        found = rates(y, said)
        counts = {(a, b): int(((y == a) & (said == b)).sum()) for a in (-1, 1) for b in (-1, 1)}
        positive, negative = int((y == 1).sum()), int((y == -1).sum())
        accepted = int((said == 1).sum())
        for name, value, expected in (
            ("FPR", found.fpr, Fraction(counts[-1, 1], negative)),
            ("TPR", found.tpr, Fraction(counts[1, 1], positive)),
            ("FNR", found.fnr, Fraction(counts[1, -1], positive)),
            ("precision", found.precision, Fraction(counts[1, 1], accepted)),
            ("FDR", found.fdr, Fraction(counts[-1, 1], accepted)),
        ):
            yield equal(name, value, float(expected), 1e-15)
        yield equal("TPR + FNR", found.tpr + found.fnr, 1, 1e-15)
        yield equal("FDR + precision", found.fdr + found.precision, 1, 1e-15)


@claim("A62")
def thresholds_trade() -> Iterator[Evidence]:
    """As the threshold rises TPR and FPR do not rise, and the FNR does not fall."""
    y, s = _scored(1)
    swept = [rates_at(y, s, t) for t in np.linspace(-4, 5, 91)]
    yield at_most("largest rise of the TPR", np.diff([r.tpr for r in swept]).max(), 0)
    yield at_most("largest rise of the FPR", np.diff([r.fpr for r in swept]).max(), 0)
    yield at_least("largest fall of the FNR", np.diff([r.fnr for r in swept]).min(), 0)


@claim("A63")
def area_under_the_roc() -> Iterator[Evidence]:
    """The ROC is (FPR, TPR) over thresholds; its area is P(s+ > s-) + P(tie) / 2.

    It stays if the score is transformed by an increasing function. The text calls the area a plot.
    """
    y, s = _scored(2)
    gaps = s[y == 1][:, None] - s[y == 0]
    pairs = (gaps > 0).mean() + (gaps == 0).mean() / 2
    yield equal("area and pairs", rate_curve(y, s).auroc, pairs, 1e-12)
    yield equal("after exp(3 s)", rate_curve(y, np.exp(3 * s)).auroc, pairs, 1e-12)


@claim("A64")
def harmonic_mean() -> Iterator[Evidence]:
    """F1 = 2 / (1/recall + 1/precision) = 2TP / (2TP + FP + FN): 2/3 for 30, 10 and 20.

    It lies in [0, 1], and not above the arithmetic mean. The text has 2 / (recall + precision).
    """
    found = Rates(30, 10, 40, 20)
    yield equal("F1 of 30, 10, 20", found.f1, 2 / 3, 1e-15)
    for counts in np.random.default_rng(3).integers(1, 50, size=(50, 4)):
        found = Rates(*counts.astype(float))
        yield equal("F1", found.f1, 2 / (1 / found.tpr + 1 / found.precision), 1e-12)
        yield at_most("F1 and the mean", found.f1, (found.tpr + found.precision) / 2 + 1e-15)


@claim("A65")
def worst_group() -> Iterator[Evidence]:
    """The worst group's error is at least any weighted average of the groups' errors."""
    rng = np.random.default_rng(4)
    y, p, groups = rng.integers(2, size=300), rng.integers(2, size=300), rng.integers(5, size=300)
    found = generalization.group_errors(y, p, groups)
    for weights in rng.dirichlet(np.ones(5), size=50):
        yield at_most("weighted average", weights @ found.errors, found.worst + 1e-15)
    yield at_most("average over rows", found.average, found.worst)


@claim("A66")
def adversarial_error() -> Iterator[Evidence]:
    """E sup [f(x') != y] over a ball is at least the error, grows with eps, and is it at eps = 0.

    The text maximises over y, or compares f(x) with f(x') instead of y.
    """
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=200) > 0).astype(int)
    model = LogisticRegression().fit(X, y)
    eps = [0, 0.05, 0.1, 0.3, 1]
    curve = attacks.robust_accuracy_curve(model, X, y, eps, bounds=None, steps=10, random_state=0)
    yield equal("at eps = 0", curve.accuracy[0], model.score(X, y))
    yield at_most("largest rise of the accuracy", np.diff(curve.accuracy).max(), 0)
    exact = [(attacks.linear_margin(model, X, y, e) > 0).mean() for e in eps]
    yield equal("attack and closed form", curve.accuracy, exact)


@claim("B281")
def precision_recall_f1() -> Iterator[Evidence]:
    """Precision TP/(TP+FP), recall TP/(TP+FN), F1 their harmonic mean: .75, .6, .667 for 6, 2, 4.

    A rate with nothing to divide by is nan here, never 0 or 1 by fiat.
    """
    found = Rates(6, 2, 0, 4)
    yield equal("6, 2, 4", [found.precision, found.tpr, found.f1], [0.75, 0.6, 2 / 3], 1e-15)
    empty = Rates(0, 0, 5, 0)
    yield equal("nothing to divide by", np.isnan([empty.precision, empty.tpr, empty.f1]), [1, 1, 1])
