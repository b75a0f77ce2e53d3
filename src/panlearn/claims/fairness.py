"""Three criteria of fairness, why they conflict, and what can be done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.evaluate.rates import rate_curve
from panlearn.linear import LogisticRegression
from panlearn.trust import CorrelationRemover, FairPostprocessor, FairRegularizer, fairness


def _rows(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows y, d, a from counts over (group, label, decision)."""
    cells = np.repeat(np.arange(counts.size), counts.ravel())
    a, y, d = np.unravel_index(cells, counts.shape)
    return y, d, a


@claim("A256")
def independence() -> Iterator[Evidence]:
    """Independence asks for equal acceptance P(D = 1 | A): gap 0 on a product table.

    Equal acceptance does not by itself rule out unfair practice, as the garbled text may mean.
    """
    y, d, a = _rows(np.array([[[6, 4], [3, 7]], [[12, 8], [6, 14]]]))
    yield equal("gap of a product table", fairness.group_rates(y, d, a).gaps["independence"], 0)
    y, d, a = _rows(np.array([[[6, 4], [3, 7]], [[2, 8], [1, 9]]]))
    table = fairness.group_rates(y, d, a)
    yield equal("acceptance", table.rates.acceptance, [11 / 20, 17 / 20], 1e-15)
    yield equal("gap", table.gaps["independence"], 6 / 20, 1e-12)


@claim("A257")
def separation() -> Iterator[Evidence]:
    """Separation asks for equal FPR and equal TPR, so equal FNR: the gap is the larger of two."""
    rng = np.random.default_rng(0)
    y, d, a = _rows(rng.integers(1, 20, size=(3, 2, 2)))
    table = fairness.group_rates(y, d, a)
    spread = [np.ptp(getattr(table.rates, n)) for n in ("fpr", "tpr", "fnr")]
    yield equal("gap", table.gaps["separation"], max(spread[:2]), 1e-12)
    yield equal("spread of TPR and FNR", spread[1], spread[2], 1e-12)


@claim("A258")
def sufficiency() -> Iterator[Evidence]:
    """Sufficiency asks for equal P(Y = 1 | R = r): of a decision, equal PPV and NPV."""
    y, d, a = _rows(np.array([[[8, 2], [2, 6]], [[4, 3], [1, 9]]]))
    table = fairness.group_rates(y, d, a)
    yield equal("same PPV, same NPV", table.gaps["sufficiency"], 0, 1e-12)
    yield at_least("though separation fails", table.gaps["separation"], 0.1)
    rng = np.random.default_rng(1)
    group, p = rng.integers(2, size=40_000), rng.random(40_000)
    y = (rng.random(40_000) < np.where(group, p, p**2)).astype(int)
    gap = fairness.group_calibration(y, p, group).sufficiency_gap
    yield at_least("binned gap of a score that means two things", gap, 0.2)


@claim("A259")
def calibration_by_group() -> Iterator[Evidence]:
    """Calibration in each group implies sufficiency; a sufficient r -> P(Y|r) is calibrated."""
    rng = np.random.default_rng(2)
    n = 200_000
    group = rng.integers(2, size=n)
    r = rng.beta(1 + group, 2 - group)
    y = (rng.random(n) < r).astype(int)
    found = fairness.group_calibration(y, r, group)
    yield at_most("largest calibration error", found.errors.max(), 0.01)
    yield at_most("sufficiency gap over bins", found.sufficiency_gap, 0.03)
    squared = fairness.group_calibration((rng.random(n) < r**2).astype(int), r**2, group)
    yield at_most("of r -> P(Y | r)", squared.errors.max(), 0.01)


@claim("A260")
def no_two_at_once() -> Iterator[Evidence]:
    """With other base rates and an informative, imperfect score no two of the criteria hold.

    Calibrated scores with bases .4 and .6 have unequal FPR and TPR. Equal base rates, or a perfect
    classifier, are the exceptions that the text's "mutually exclusive" leaves out.
    """
    rng = np.random.default_rng(3)
    n = 100_000
    group = rng.integers(2, size=n)
    r = np.where(group, rng.beta(3, 2, n), rng.beta(2, 3, n))
    y = (rng.random(n) < r).astype(int)
    d = (r > 0.5).astype(int)
    found = fairness.impossibility(y, d, group)
    yield equal("base rates", found.prevalence, [0.4, 0.6], 0.01)
    yield at_least("separation gap of a calibrated score", found.gaps["separation"], 0.25)
    yield at_least("independence gap", found.gaps["independence"], 0.25)
    yield true("not possible", not found.possible)
    yield at_least("spread of the implied FPR", np.ptp(found.implied_fpr), 0.2)
    yield true("a perfect classifier", fairness.impossibility(y, y, group).possible)
    same = np.tile([0, 1], n // 2)
    half = fairness.impossibility(np.repeat([0, 1], n // 2), d, same)
    yield true("equal base rates", half.possible)


@claim("A261")
def forced_false_positives() -> Iterator[Evidence]:
    """FPR = p/(1-p) (1-PPV)/PPV (1-FNR) in each group; acceptance = TPR p + FPR (1-p)."""
    rng = np.random.default_rng(4)
    y, d, a = _rows(rng.integers(1, 60, size=(8, 2, 2)))
    r = fairness.group_rates(y, d, a).rates
    yield equal("FPR", fairness.implied_fpr(r.prevalence, r.precision, r.fnr), r.fpr, 1e-12)
    mixed = r.tpr * r.prevalence + r.fpr * (1 - r.prevalence)
    yield equal("acceptance", r.acceptance, mixed, 1e-12)
    forced = fairness.implied_fpr([0.3, 0.6], 0.8, 0.2)
    yield at_least("equal PPV and FNR, other bases", np.ptp(forced), 0.1)


@claim("A262")
def unawareness_fails() -> Iterator[Evidence]:
    """Many features each weakly correlated with A recover it: 40 of correlation .25."""
    rng = np.random.default_rng(5)
    n = 4000
    group = rng.integers(2, size=n)
    shift = 2 * 0.25 / np.sqrt(1 - 0.25**2)
    X = shift * (group - 0.5)[:, None] + rng.normal(size=(n, 40))
    singles = [rate_curve(group, x).auroc for x in X.T]
    yield equal("mean AUC of one", np.mean(singles), 0.64, 0.02)
    model = LogisticRegression().fit(X[:2000], group[:2000])
    together = rate_curve(group[2000:], model.decision_function(X[2000:])).auroc
    yield at_least("AUC of all on other rows", together, 0.97)


@claim("A263")
def remedies() -> Iterator[Evidence]:
    """Thresholds by group equalise rates, residuals make cov(X, A) = 0, a penalty shrinks gaps.

    The first works on decisions, the second on features, the third in training.
    """
    rng = np.random.default_rng(6)
    n = 1500
    group = rng.integers(2, size=n)
    X = rng.normal(size=(n, 3)) + np.outer(group, [1.0, 0.5, 0])
    y = (X[:, 0] + rng.normal(size=n) > 0.7).astype(int)
    constraints: Any = (
        ("demographic_parity", [y >= 0]),
        ("equalized_odds", [y == 0, y == 1]),
    )
    for constraint, kinds in constraints:
        model = FairPostprocessor(constraint=constraint).fit(X, y, sensitive_features=group)
        q = model.decision_probability(X, group)
        gaps = [abs(q[k & (group == 0)].mean() - q[k & (group == 1)].mean()) for k in kinds]
        yield at_most(f"expected gap, {constraint}", max(gaps), 1 / np.bincount(group).max())
    Z = CorrelationRemover().fit_transform(X, sensitive_features=group)
    yield at_most("covariance with A", np.abs(np.cov(Z.T, group)[-1, :3]).max(), 1e-10)
    found = []
    for penalty in (0, 0.01, 0.1, 1, 10):
        scores = FairRegularizer(penalty).fit(X, y, sensitive_features=group).decision_function(X)
        found.append(abs(scores[group == 0].mean() - scores[group == 1].mean()))
    yield at_most("largest rise of the gap with the penalty", np.diff(found).max(), 0.01)
