r"""Rates of a yes-or-no decision: every name at one threshold, and along all of them.

.. math:: \mathrm{TPR} = \frac{TP}{TP + FN}, \quad \mathrm{FPR} = \frac{FP}{FP + TN}, \quad
    \text{precision} = \frac{TP}{TP + FP}, \quad F_1 = \frac{2 \, TP}{2 \, TP + FP + FN}

`Rates` holds the four counts, numbers or arrays, and every rate is a property of it; a rate whose
denominator is zero is nan, never a silent 0 or 1. `rate_curve` counts at all thresholds in one
sort. A row is accepted if its score reaches the threshold.

`rate_curve` costs :math:`O(n \log n)`, one threshold :math:`O(n)`.

References
----------
Fawcett (2006). An introduction to ROC analysis. doi:10.1016/j.patrec.2005.10.010

Martin, Doddington, Kamm, Ordowski, Przybocki (1997). The DET curve in assessment of detection task
performance. Eurospeech.

Examples
--------
>>> from panlearn.evaluate import rates
>>> found = rates.rates([1, 1, 0, 0, 0], [1, 0, 1, 0, 0])
>>> found.tpr, found.fpr, found.precision
(0.5, 0.3333333333333333, 0.5)
>>> curve = rates.rate_curve([1, 1, 0, 0], [0.9, 0.4, 0.4, 0.1])
>>> curve.auroc, curve.thresholds
(0.875, array([inf, 0.9, 0.4, 0.1]))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from panlearn.core.parameters import RandomState
from panlearn.core.random import generator

__all__ = ["RateCurve", "Rates", "RocBand", "bootstrap_roc", "rate_curve", "rates", "rates_at"]


def _ratio(numerator: Any, denominator: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(np.equal(denominator, 0), np.nan, np.divide(numerator, denominator))
    return value if value.ndim else float(value)


@dataclass(frozen=True, eq=False)
class Rates:
    r"""The four counts of a decision, and every rate that has a name.

    .. math:: TP + FN = P, \qquad FP + TN = N

    Parameters
    ----------
    tp, fp, tn, fn : float or ndarray
        The weight of rows accepted rightly and wrongly, and rejected rightly and wrongly.
    """

    tp: Any
    fp: Any
    tn: Any
    fn: Any

    @property
    def tpr(self) -> Any:
        """True positive rate, also recall, sensitivity, hit rate and power: TP / P."""
        return _ratio(self.tp, self.tp + self.fn)

    @property
    def fpr(self) -> Any:
        """False positive rate, also fall-out, false alarm rate, type I error: FP / N."""
        return _ratio(self.fp, self.fp + self.tn)

    @property
    def fnr(self) -> Any:
        """False negative rate, also miss rate, type II error: FN / P."""
        return _ratio(self.fn, self.tp + self.fn)

    @property
    def tnr(self) -> Any:
        """True negative rate, also specificity and selectivity: TN / N."""
        return _ratio(self.tn, self.fp + self.tn)

    @property
    def precision(self) -> Any:
        """Positive predictive value: TP among the accepted."""
        return _ratio(self.tp, self.tp + self.fp)

    @property
    def npv(self) -> Any:
        """Negative predictive value: TN among the rejected."""
        return _ratio(self.tn, self.tn + self.fn)

    @property
    def fdr(self) -> Any:
        """False discovery rate: FP among the accepted, 1 - precision."""
        return _ratio(self.fp, self.tp + self.fp)

    @property
    def false_omission_rate(self) -> Any:
        """FN among the rejected, 1 - npv."""
        return _ratio(self.fn, self.tn + self.fn)

    @property
    def accuracy(self) -> Any:
        """What is decided rightly, of all."""
        return _ratio(self.tp + self.tn, self._total)

    @property
    def balanced_accuracy(self) -> Any:
        """The mean of the true positive and the true negative rate."""
        return (self.tpr + self.tnr) / 2

    @property
    def prevalence(self) -> Any:
        """What is positive, of all: the base rate."""
        return _ratio(self.tp + self.fn, self._total)

    @property
    def acceptance(self) -> Any:
        """What is accepted, of all: the selection rate."""
        return _ratio(self.tp + self.fp, self._total)

    @property
    def f1(self) -> Any:
        """The harmonic mean of precision and recall."""
        return self.f_beta(1.0)

    @property
    def jaccard(self) -> Any:
        """TP of all that is positive or accepted, also critical success index."""
        return _ratio(self.tp, self.tp + self.fp + self.fn)

    @property
    def youden(self) -> Any:
        """Youden's J, also informedness: TPR - FPR."""
        return self.tpr - self.fpr

    @property
    def matthews(self) -> Any:
        """Matthews' correlation of decision and truth, also phi."""
        rows = (self.tp + self.fn) * (self.fp + self.tn)
        columns = (self.tp + self.fp) * (self.tn + self.fn)
        root = np.sqrt(np.asarray(rows, dtype=float)) * np.sqrt(np.asarray(columns, dtype=float))
        return _ratio(self.tp * self.tn - self.fp * self.fn, root)

    @property
    def positive_likelihood_ratio(self) -> Any:
        """TPR / FPR: how much an acceptance raises the odds."""
        return _ratio(self.tpr, self.fpr)

    @property
    def negative_likelihood_ratio(self) -> Any:
        """FNR / TNR: how much a rejection lowers the odds."""
        return _ratio(self.fnr, self.tnr)

    def f_beta(self, beta: float) -> Any:
        """The mean of precision and recall in which recall counts beta times as much."""
        b = beta**2
        return _ratio((1 + b) * self.tp, (1 + b) * self.tp + b * self.fn + self.fp)

    def cost(self, fp: float = 1.0, fn: float = 1.0) -> Any:
        """The mean cost of a row, if a false positive and a false negative cost so much."""
        return _ratio(fp * self.fp + fn * self.fn, self._total)

    @property
    def _total(self) -> Any:
        return self.tp + self.fp + self.tn + self.fn


def rates(y_true: Any, y_pred: Any, *, pos_label: Any = None, sample_weight: Any = None) -> Rates:
    r"""Count a decision: :math:`TP = \sum_i s_i [y_i = 1, \hat y_i = 1]` and the other three.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        The true and the predicted labels.
    pos_label : label, default=None
        The label that is positive; by default the greater of two.
    sample_weight : array-like of shape (n,), default=None
        Weights.

    Returns
    -------
    Rates
    """
    truth, predicted = np.asarray(y_true), np.asarray(y_pred)
    if truth.shape != predicted.shape:
        raise ValueError(f"y_true has shape {truth.shape} and y_pred {predicted.shape}")
    labels = np.unique(np.concatenate([np.unique(truth), np.unique(predicted)]))
    label = _positive_label(labels, pos_label)
    return _count(truth == label, predicted == label, _weights(sample_weight, len(truth)))


def rates_at(
    y_true: Any,
    score: Any,
    threshold: float,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
) -> Rates:
    r"""Count the decision :math:`s(x) \ge \tau`; arguments as in `rates` and `rate_curve`."""
    positive, values = _checked(y_true, score, pos_label)
    return _count(positive, values >= threshold, _weights(sample_weight, len(values)))


@dataclass(frozen=True, eq=False)
class RateCurve:
    r"""The rates at every threshold where they change, from accepting nothing to everything.

    .. math:: \tau \mapsto (\mathrm{FPR}(\tau), \mathrm{TPR}(\tau))

    Parameters
    ----------
    thresholds : ndarray of shape (k,)
        Decreasing, the first infinite.
    rates : Rates
        Counts of shape (k,).
    """

    thresholds: np.ndarray
    rates: Rates

    @property
    def auroc(self) -> float:
        """The area under the ROC: P(s+ > s-) + P(s+ = s-) / 2."""
        return float(np.trapezoid(self.rates.tpr, self.rates.fpr))

    @property
    def average_precision(self) -> float:
        """The sum of precisions, each weighted by the recall that it adds."""
        recall, precision = self.rates.tpr, self.rates.precision
        return float(np.diff(recall) @ precision[1:])

    @property
    def equal_error_rate(self) -> float:
        """The error at which misses and false alarms are alike, on the line between thresholds."""
        gap = self.rates.fnr - self.rates.fpr  # falls from 1 to -1
        right = int(np.argmax(gap <= 0))
        share = gap[right - 1] / (gap[right - 1] - gap[right])
        return float((1 - share) * self.rates.fpr[right - 1] + share * self.rates.fpr[right])

    @property
    def det(self) -> tuple[np.ndarray, np.ndarray]:
        """False alarms and misses as normal deviates: for normal scores the curve is a line."""
        return norm.ppf(self.rates.fpr), norm.ppf(self.rates.fnr)

    def best_threshold(self, fp: float = 1.0, fn: float = 1.0) -> float:
        """The highest threshold of least mean cost, if the two mistakes cost so much."""
        return float(self.thresholds[int(np.argmin(self.rates.cost(fp, fn)))])

    def at(self, threshold: float) -> Rates:
        """The rates of accepting scores that reach a threshold."""
        i = int(np.searchsorted(-self.thresholds, -threshold, side="right")) - 1
        counts = self.rates
        return Rates(*(float(v[i]) for v in (counts.tp, counts.fp, counts.tn, counts.fn)))


def rate_curve(
    y_true: Any, score: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> RateCurve:
    r"""Count at every threshold :math:`\tau` at once, in one sort.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        The true labels, of two kinds.
    score : array-like of shape (n,)
        The scores; a higher one speaks for the positive label.
    pos_label : label, default=None
        The label that is positive; by default the greater of two.
    sample_weight : array-like of shape (n,), default=None
        Weights.

    Returns
    -------
    RateCurve
    """
    positive, values = _checked(y_true, score, pos_label)
    weights = _weights(sample_weight, len(values))
    order = np.argsort(-values, kind="stable")
    ends = np.flatnonzero(np.diff(values[order], append=-np.inf))  # the last row of each score
    accepted = [
        np.concatenate([[0.0], np.cumsum(np.where(side, weights, 0.0)[order])[ends]])
        for side in (positive, ~positive)
    ]
    tp, fp = accepted
    counts = Rates(tp, fp, fp[-1] - fp, tp[-1] - tp)
    return RateCurve(np.concatenate([[np.inf], values[order][ends]]), counts)


@dataclass(frozen=True, eq=False)
class RocBand:
    r"""What resampling the rows does to a ROC: a band of :math:`\mathrm{TPR}` at each FPR.

    Parameters
    ----------
    fpr : ndarray of shape (k,)
        A grid of false positive rates.
    low, high : ndarray of shape (k,)
        The ends of the interval of the true positive rate there.
    auroc : tuple of float
        The ends of the interval of the area.
    """

    fpr: np.ndarray
    low: np.ndarray
    high: np.ndarray
    auroc: tuple[float, float]


def bootstrap_roc(
    y_true: Any,
    score: Any,
    *,
    pos_label: Any = None,
    n_draws: int = 1000,
    confidence: float = 0.95,
    grid: int = 101,
    random_state: RandomState = None,
) -> RocBand:
    r"""Percentile intervals :math:`[q_{\alpha/2}, q_{1 - \alpha/2}]` of the ROC and of its area.

    Parameters
    ----------
    y_true, score, pos_label
        As in `rate_curve`.
    n_draws : int, default=1000
        The number of samples of n rows with replacement, positives and negatives apart.
    confidence : float, default=0.95
        The part of the draws within the interval.
    grid : int, default=101
        The number of false positive rates of the band.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the draws.

    Returns
    -------
    RocBand

    Notes
    -----
    Rows are sorted once; a draw is a count of each row, and its curve a cumulative sum.
    """
    positive, values = _checked(y_true, score, pos_label)
    rng, fprs = generator(random_state), np.linspace(0, 1, grid)
    levels, where = np.unique(-values, return_inverse=True)  # a level a threshold, best first
    sides = [np.sort(where[positive]), np.sort(where[~positive])]
    areas, curves = np.empty(n_draws), np.empty((n_draws, grid))
    for b in range(n_draws):
        tpr, fpr = (
            np.concatenate([[0.0], np.cumsum(_drawn(side, len(levels), rng)) / len(side)])
            for side in sides
        )
        areas[b] = np.trapezoid(tpr, fpr)
        curves[b] = np.interp(fprs, fpr, tpr)
    ends = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.quantile(curves, ends, axis=0)
    left, right = np.quantile(areas, ends)
    return RocBand(fprs, low, high, (float(left), float(right)))


def _drawn(levels: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """How often each level occurs among as many rows drawn with replacement."""
    rows = rng.integers(len(levels), size=len(levels))
    return np.bincount(levels[rows], minlength=size)


def _count(positive: np.ndarray, accepted: np.ndarray, weights: np.ndarray) -> Rates:
    cells = np.bincount(2 * positive + accepted, weights=weights, minlength=4)
    return Rates(*(float(cells[i]) for i in (3, 1, 0, 2)))


def _weights(sample_weight: Any, n: int) -> np.ndarray:
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if weights.shape != (n,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"sample_weight must be {n} numbers, zero or more; got {weights.shape}")
    return weights


def _positive_label(labels: np.ndarray, pos_label: Any) -> Any:
    if pos_label is not None:
        return pos_label
    if len(labels) > 2:
        raise ValueError(f"labels {labels.tolist()[:5]} are more than two; name one as pos_label")
    if len(labels) == 1 and labels[0] in (0, -1):
        return 1
    return labels[-1]


def _checked(y_true: Any, score: Any, pos_label: Any) -> tuple[np.ndarray, np.ndarray]:
    truth, values = np.asarray(y_true), np.asarray(score, dtype=float)
    if truth.ndim != 1 or truth.shape != values.shape:
        raise ValueError(
            f"y_true and score must be of one length; shapes are {truth.shape} and {values.shape}"
        )
    if not np.isfinite(values).all():
        raise ValueError("score must be finite")
    positive = truth == _positive_label(np.unique(truth), pos_label)
    if positive.all() or not positive.any():
        raise ValueError("y_true has one kind of label; both are needed for rates along thresholds")
    return positive, values
