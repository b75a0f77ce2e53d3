r"""Calibration: whether what is called 70 percent happens in 70 of 100 cases.

.. math:: \mathrm{ECE} = \sum_b \frac{n_b}{n} \, |\bar y_b - \bar p_b|, \qquad
    \text{Brier} = \underbrace{\textstyle\sum_b \frac{n_b}{n} (\bar y_b - \bar p_b)^2}_{\text{
    reliability}} - \underbrace{\textstyle\sum_b \frac{n_b}{n} (\bar y_b - \bar y)^2}_{\text{
    resolution}} + \underbrace{\bar y (1 - \bar y)}_{\text{uncertainty}} + \text{within bins}

The plain error of a perfectly calibrated model is not zero: chance alone moves the observed
frequency of a bin. ``debiased=True`` takes off what chance makes of it.

A measure costs a sort at most, :math:`O(n \log n)`.

References
----------
Murphy (1973). A new vector partition of the probability score.
doi:10.1175/1520-0450(1973)012<0595:ANVPOT>2.0.CO;2

Guo, Pleiss, Sun, Weinberger (2017). On calibration of modern neural networks. arXiv:1706.04599

Kumar, Liang, Ma (2019). Verified uncertainty calibration. arXiv:1909.10155

Examples
--------
>>> from panlearn.evaluate import calibration
>>> table = calibration.reliability([0, 1, 1, 1], [0.2, 0.2, 0.9, 0.9], n_bins=2)
>>> table.predicted, table.observed
(array([0.2, 0.9]), array([0.5, 1. ]))
>>> round(calibration.calibration_error([0, 1, 1, 1], [0.2, 0.2, 0.9, 0.9], n_bins=2), 6)
0.2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, softmax
from scipy.stats import norm
from sklearn.calibration import CalibratedClassifierCV

__all__ = [
    "BrierSplit",
    "Reliability",
    "brier_split",
    "calibrated",
    "calibration_error",
    "reliability",
    "temperature",
    "with_temperature",
]


@dataclass(frozen=True, eq=False)
class Reliability:
    r"""What was predicted and what was seen, :math:`\bar p_b` and :math:`\bar y_b`, bin by bin.

    Parameters
    ----------
    predicted, observed : ndarray of shape (k,)
        The mean probability and the frequency of the positives, of the bins that hold rows.
    weight : ndarray of shape (k,)
        The weight of the rows in each bin.
    edges : ndarray
        The ends of all bins.
    """

    predicted: np.ndarray
    observed: np.ndarray
    weight: np.ndarray
    edges: np.ndarray


def reliability(
    y_true: Any,
    y_prob: Any,
    n_bins: int = 10,
    strategy: Literal["uniform", "quantile"] = "uniform",
    sample_weight: Any = None,
) -> Reliability:
    r"""The table of a reliability diagram, :math:`\bar p_b` beside :math:`\bar y_b`.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Whether each row was positive: 0 and 1, or False and True.
    y_prob : array-like of shape (n,)
        The probability that was given to it.
    n_bins : int, default=10
        The number of bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, or of about equally many rows.
    sample_weight : array-like of shape (n,), default=None
        Weights.

    Returns
    -------
    Reliability
    """
    y, p, weights = _checked(y_true, y_prob, sample_weight)
    if n_bins < 1 or strategy not in ("uniform", "quantile"):
        raise ValueError(
            f"n_bins={n_bins!r} must be 1 or more and strategy={strategy!r} uniform or quantile"
        )
    levels = np.linspace(0, 1, n_bins + 1)
    edges = levels if strategy == "uniform" else np.unique(np.quantile(p, levels))
    bins = np.searchsorted(edges[1:-1], p, side="left")
    total, mass, hits = (
        np.bincount(bins, weights=w, minlength=max(len(edges) - 1, 1))
        for w in (weights, weights * p, weights * y)
    )
    used = total > 0
    return Reliability(mass[used] / total[used], hits[used] / total[used], total[used], edges)


def calibration_error(
    y_true: Any,
    y_prob: Any,
    n_bins: int = 10,
    strategy: Literal["uniform", "quantile"] = "uniform",
    norm_order: Literal[1, 2] = 1,
    debiased: bool = False,
) -> float:
    r"""The calibration error :math:`(\sum_b \frac{n_b}{n} |\bar y_b - \bar p_b|^r)^{1/r}` of bins.

    Parameters
    ----------
    y_true, y_prob, n_bins, strategy
        As in `reliability`.
    norm_order : {1, 2}, default=1
        The exponent r: 1 is the expected calibration error.
    debiased : bool, default=False
        Take off what chance adds: for r = 2 the variance
        :math:`\bar y_b (1 - \bar y_b) / (n_b - 1)` of each bin, which is exact in the mean, and for
        r = 1 the excess of a folded normal of that variance. The result is at least 0.

    Returns
    -------
    float
    """
    if norm_order not in (1, 2):
        raise ValueError(f"norm_order={norm_order!r} must be 1 or 2")
    table = reliability(y_true, y_prob, n_bins, strategy)
    gap, share = np.abs(table.observed - table.predicted), table.weight / table.weight.sum()
    if not debiased:
        return float((share @ gap**norm_order) ** (1 / norm_order))
    variance = table.observed * (1 - table.observed) / np.maximum(table.weight - 1, 1)
    if norm_order == 2:
        return float(np.sqrt(max(share @ (gap**2 - variance), 0.0)))
    deviation = np.sqrt(np.maximum(variance, 1e-300))
    z = gap / deviation
    folded = deviation * (2 * norm.pdf(z) + z * (1 - 2 * norm.cdf(-z)))  # E |N(gap, variance)|
    return float(max(share @ (2 * gap - folded), 0.0))


@dataclass(frozen=True)
class BrierSplit:
    r"""The mean squared error of probabilities, in parts: reliability - resolution + uncertainty.

    .. math:: \text{brier} = \text{reliability} - \text{resolution} + \text{uncertainty}
        + \text{within}

    Parameters
    ----------
    brier : float
        The score itself.
    reliability : float
        How far bins are from calibrated: less is better.
    resolution : float
        How far bins are from each other: more is better.
    uncertainty : float
        The variance of the labels, which no model changes.
    within : float
        What the spread of probabilities inside a bin adds; zero if bins are the values themselves.
    """

    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within: float


def brier_split(
    y_true: Any, y_prob: Any, n_bins: int | None = None, sample_weight: Any = None
) -> BrierSplit:
    r"""Split the Brier score :math:`\frac1n \sum_i (p_i - y_i)^2` after Murphy.

    Parameters
    ----------
    y_true, y_prob, sample_weight
        As in `reliability`.
    n_bins : int, default=None
        Bins of equal width; by default each value of the probability is a bin of its own, and the
        three parts are the whole.

    Returns
    -------
    BrierSplit
    """
    y, p, weights = _checked(y_true, y_prob, sample_weight)
    share = weights / weights.sum()
    if n_bins is None:
        bins = np.unique(p, return_inverse=True)[1]
    else:
        bins = np.searchsorted(np.linspace(0, 1, n_bins + 1)[1:-1], p, side="left")
    total, mass, hits = (np.bincount(bins, weights=w) for w in (share, share * p, share * y))
    used = total > 0
    predicted, observed = mass[used] / total[used], hits[used] / total[used]
    base = share @ y
    brier = share @ (p - y) ** 2
    reliable = total[used] @ (observed - predicted) ** 2
    resolved = total[used] @ (observed - base) ** 2
    rest = brier - reliable + resolved - base * (1 - base)
    return BrierSplit(*(float(v) for v in (brier, reliable, resolved, base * (1 - base), rest)))


def calibrated(estimator: Any, method: str = "temperature", cv: Any = 5) -> Any:
    r"""Wrap a classifier so that its probabilities are recalibrated on rows it did not learn from.

    .. math:: \hat p(x) = c(s(x)), \qquad c \text{ fitted on held-out scores}

    Parameters
    ----------
    estimator : classifier
        With ``decision_function`` or ``predict_proba``.
    method : {"temperature", "isotonic", "sigmoid"}, default="temperature"
        One number for all classes, a monotone step function, or Platt's curve.
    cv : int or splitter, default=5
        How rows are held out.

    Returns
    -------
    sklearn.calibration.CalibratedClassifierCV
        Not fitted yet.
    """
    if method not in ("temperature", "isotonic", "sigmoid"):
        raise ValueError(f"method={method!r} must be temperature, isotonic or sigmoid")
    return CalibratedClassifierCV(estimator, method=method, cv=cv)


def temperature(y_true: Any, logits: Any) -> float:
    r"""The temperature :math:`\arg\min_T -\sum_i \log \operatorname{softmax}(z_i / T)_{y_i}`.

    Parameters
    ----------
    y_true : array-like of int of shape (n,)
        The column of the true class.
    logits : array-like of shape (n, n_classes)
        Scores, or logarithms of probabilities.

    Returns
    -------
    float
        Above 1 if the model is too sure of itself.
    """
    labels, scores = np.asarray(y_true), np.asarray(logits, dtype=float)
    if scores.ndim != 2 or labels.shape != scores.shape[:1] or labels.dtype.kind not in "iu":
        raise ValueError("logits must have a row for each label, and labels be columns of it")
    right = scores[np.arange(len(labels)), labels]

    def loss(log_inverse: float) -> float:
        inverse = np.exp(log_inverse)
        return float(np.mean(logsumexp(inverse * scores, axis=1) - inverse * right))

    run = minimize_scalar(loss, bounds=(-7, 7), method="bounded", options={"xatol": 1e-10})
    return float(np.exp(-run.x))


def with_temperature(logits: Any, T: float) -> np.ndarray:
    r"""The probabilities :math:`\operatorname{softmax}(z / T)`; the order of classes stays."""
    if not T > 0:
        raise ValueError(f"T={T!r} must be above zero")
    return softmax(np.asarray(logits, dtype=float) / T, axis=-1)


def _checked(y_true: Any, y_prob: Any, weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    y, p = np.asarray(y_true, dtype=float), np.asarray(y_prob, dtype=float)
    if y.ndim != 1 or y.shape != p.shape or not len(y):
        raise ValueError(
            f"y_true and y_prob must be of one length; shapes are {y.shape} and {p.shape}"
        )
    if not np.isin(y, (0, 1)).all():
        raise ValueError("y_true must hold 0 and 1; for one class of several give y == label")
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("y_prob must lie in [0, 1]")
    weights = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    return y, p, weights
