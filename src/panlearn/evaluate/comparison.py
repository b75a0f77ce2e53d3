r"""Whether one model is better than another, or chance: tests that know how scores depend.

.. math:: t = \frac{\bar d}{\sqrt{\bigl(\tfrac1k + \tfrac{n_{test}}{n_{train}}\bigr) s_d^2}}

Scores of folds and resamples share training rows, so that the plain t-test is too sure of itself;
the corrected one widens its error. `mcnemar` compares two classifiers on one test set by the rows
where they disagree, `bootstrap_difference` any metric by drawing rows of it.

`mcnemar` costs :math:`O(n)`, `bootstrap_difference` :math:`O(b n)` for b draws, and
`compare_models` a fit of each model a fold.

References
----------
Nadeau, Bengio (2003). Inference for the generalization error. doi:10.1023/A:1024068626366

McNemar (1947). Note on the sampling error of the difference between correlated proportions or
percentages. doi:10.1007/BF02295996

Efron, Tibshirani (1993). An introduction to the bootstrap. doi:10.1007/978-1-4899-4541-9

Examples
--------
>>> from panlearn.evaluate import comparison
>>> found = comparison.corrected_t_test([0.9, 0.92, 0.88], [0.8, 0.83, 0.79], 80, 20)
>>> round(found.difference, 4), found.p_value < 0.05
(0.0933, True)
>>> comparison.mcnemar([0, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 1]).p_value
0.25
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv, cross_val_score

from panlearn.core.parameters import RandomState
from panlearn.core.random import generator

__all__ = [
    "Comparison",
    "bootstrap_difference",
    "compare_models",
    "corrected_t_test",
    "mcnemar",
]


@dataclass(frozen=True)
class Comparison:
    r"""A difference :math:`\bar d` between two models, and how sure one can be of it.

    Parameters
    ----------
    difference : float
        The first model's less the second's.
    p_value : float
        How often chance alone makes a difference at least as large, of either sign.
    interval : tuple of float
        The interval of the difference, at the confidence that was asked for.
    """

    difference: float
    p_value: float
    interval: tuple[float, float]


def corrected_t_test(
    first: Any, second: Any, n_train: int, n_test: int, confidence: float = 0.95
) -> Comparison:
    r"""Compare scores of the same splits, with the corrected variance.

    .. math:: \widehat{\mathrm{Var}}(\bar d) = \Bigl(\frac1k + \frac{n_{test}}{n_{train}}\Bigr)
        s_d^2

    Parameters
    ----------
    first, second : array-like of shape (k,)
        The scores of the two models on the same splits.
    n_train, n_test : int
        How many rows a split trains on and tests on.
    confidence : float, default=0.95
        Of the interval.

    Returns
    -------
    Comparison
        With the t distribution of k - 1 degrees of freedom.
    """
    d = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    if d.ndim != 1 or len(d) < 2 or n_train < 1 or n_test < 1:
        raise ValueError("two or more splits are needed, and rows to train and to test on")
    mean = float(d.mean())
    error = float(np.sqrt((1 / len(d) + n_test / n_train) * d.var(ddof=1)))
    law = stats.t(len(d) - 1)
    if error == 0:
        return Comparison(mean, 0.0 if mean else 1.0, (mean, mean))
    half = float(law.ppf((1 + confidence) / 2)) * error
    return Comparison(mean, float(2 * law.sf(abs(mean) / error)), (mean - half, mean + half))


def compare_models(
    first: Any,
    second: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 10,
    scoring: Any = None,
    confidence: float = 0.95,
) -> Comparison:
    r"""Cross-validate two estimators on the same splits, and compare with `corrected_t_test`.

    .. math:: d_k = \text{score}_k(\text{first}) - \text{score}_k(\text{second})

    Parameters
    ----------
    first, second : estimator
        The models.
    X, y : array-like
        The rows and targets.
    cv : int or splitter, default=10
        The splits; a repeated one, with a ``random_state``, tells more.
    scoring : str or callable, default=None
        The score; the estimators' own by default.
    confidence : float, default=0.95
        Of the interval.

    Returns
    -------
    Comparison
    """
    splits = list(check_cv(cv, y, classifier=is_classifier(first)).split(X, y))
    scores = [cross_val_score(m, X, y, cv=splits, scoring=scoring) for m in (first, second)]
    train, test = (int(np.mean([len(s[i]) for s in splits])) for i in (0, 1))
    return corrected_t_test(scores[0], scores[1], train, test, confidence)


def mcnemar(
    y_true: Any, first: Any, second: Any, exact: bool = True, confidence: float = 0.95
) -> Comparison:
    r"""Compare two classifiers on one test set by the b and c rows that only one gets right.

    .. math:: b \sim \mathrm{Binomial}(b + c, \tfrac12) \quad\text{or}\quad
        \frac{(|b - c| - 1)^2}{b + c} \sim \chi^2_1

    Parameters
    ----------
    y_true, first, second : array-like of shape (n,)
        The true labels and both predictions.
    exact : bool, default=True
        The binomial test; else the chi-squared one with the correction for continuity.
    confidence : float, default=0.95
        Of Wald's interval of the difference of accuracies.

    Returns
    -------
    Comparison
        The difference is that of the accuracies.
    """
    truth, one, other = (np.asarray(v) for v in (y_true, first, second))
    if not truth.shape == one.shape == other.shape or truth.ndim != 1 or not len(truth):
        raise ValueError("y_true, first and second must be of one length")
    b, c = ((one == truth) & (other != truth)).sum(), ((one != truth) & (other == truth)).sum()
    n, apart = len(truth), int(b + c)
    if not apart:
        p = 1.0
    elif exact:
        p = float(stats.binomtest(int(b), apart).pvalue)
    else:
        p = float(stats.chi2(1).sf(max(abs(int(b) - int(c)) - 1, 0) ** 2 / apart))
    difference = (int(b) - int(c)) / n
    half = stats.norm.ppf((1 + confidence) / 2) * np.sqrt(max(apart / n - difference**2, 0) / n)
    return Comparison(difference, p, (float(difference - half), float(difference + half)))


def bootstrap_difference(
    metric: Callable[[Any, Any], float],
    y_true: Any,
    first: Any,
    second: Any,
    *,
    n_draws: int = 1000,
    confidence: float = 0.95,
    random_state: RandomState = None,
) -> Comparison:
    r"""Compare any metric of two predictions, :math:`m(y, \hat y_1) - m(y, \hat y_2)`, over draws.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, prediction) -> float``.
    y_true, first, second : array-like of shape (n,) or (n, ...)
        The truth and what the two models said of each row: labels, scores or probabilities.
    n_draws : int, default=1000
        The number of samples of n rows with replacement; both models see the same rows.
    confidence : float, default=0.95
        Of the percentile interval.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the draws.

    Returns
    -------
    Comparison
        The p-value is twice the smaller part of draws on one side of zero, ties on both.
    """
    truth, one, other = (np.asarray(v) for v in (y_true, first, second))
    if not len(truth) == len(one) == len(other):
        raise ValueError("y_true, first and second must be of one length")
    rng, n = generator(random_state), len(truth)
    draws = np.empty(n_draws)
    for i in range(n_draws):
        rows = rng.integers(n, size=n)
        draws[i] = metric(truth[rows], one[rows]) - metric(truth[rows], other[rows])
    low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2])
    below, above = ((draws <= 0).sum() + 1, (draws >= 0).sum() + 1)
    p = min(1.0, 2 * min(below, above) / (n_draws + 1))
    return Comparison(
        float(metric(truth, one) - metric(truth, other)), float(p), (float(low), float(high))
    )
