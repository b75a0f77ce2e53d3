r"""Fairness between groups: three criteria, their gaps with intervals, and why not all can hold.

.. math:: \underbrace{D \perp A}_{\text{independence}} \qquad
    \underbrace{D \perp A \mid Y}_{\text{separation}} \qquad
    \underbrace{Y \perp A \mid D}_{\text{sufficiency}}

A decision D is compared between the groups A of a sensitive column, or of the intersections of
several. Independence asks for equal acceptance, separation for equal true and false positive rates,
sufficiency for equal predictive values. With unequal base rates and a decision that is informative
and errs, no two of them hold at once: `impossibility` shows it on your data.

Rates cost one pass, :math:`O(n)`, and their intervals are drawn from the counts, :math:`O(b g)` for
b draws and g groups.

References
----------
Barocas, Hardt, Narayanan (2023). Fairness and machine learning. MIT Press.

Chouldechova (2017). Fair prediction with disparate impact. doi:10.1089/big.2016.0047

Kleinberg, Mullainathan, Raghavan (2017). Inherent trade-offs in the fair determination of risk
scores. arXiv:1609.05807

Examples
--------
>>> from panlearn.trust import fairness
>>> y, d, sex = [1, 0, 1, 0, 1, 0, 1, 0], [1, 0, 1, 1, 1, 0, 0, 0], list("mmmmffff")
>>> table = fairness.group_rates(y, d, sex)
>>> table.groups, table.rates.acceptance
(['f', 'm'], array([0.25, 0.75]))
>>> table.gaps["independence"], table.gaps["separation"]
(0.5, 0.5)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from panlearn.core.parameters import RandomState
from panlearn.core.random import generator
from panlearn.core.warning import warn
from panlearn.evaluate.calibration import Reliability, calibration_error, reliability
from panlearn.evaluate.rates import Rates
from panlearn.trust._groups import codes_of, group_codes

__all__ = [
    "FairnessReport",
    "GroupCalibration",
    "GroupRates",
    "Impossibility",
    "fairness_report",
    "group_calibration",
    "group_rates",
    "implied_fpr",
    "impossibility",
]


def _spread(values: np.ndarray) -> np.ndarray:
    """The largest less the smallest along the last axis; groups without the rate do not count."""
    known = ~np.isnan(values)
    high = np.where(known, values, -np.inf).max(axis=-1)
    low = np.where(known, values, np.inf).min(axis=-1)
    return np.where(known.any(axis=-1), high - low, np.nan)


def _gaps(rates: Rates) -> dict[str, np.ndarray]:
    """Each criterion's largest difference between groups, on the last axis."""
    spread = {
        name: _spread(np.asarray(getattr(rates, name)))
        for name in ("acceptance", "tpr", "fpr", "precision", "npv", "accuracy")
    }
    return {
        "independence": spread["acceptance"],
        "separation": np.fmax(spread["tpr"], spread["fpr"]),
        "sufficiency": np.fmax(spread["precision"], spread["npv"]),
        "equal_opportunity": spread["tpr"],
        "accuracy": spread["accuracy"],
    }


@dataclass(frozen=True, eq=False)
class GroupRates:
    r"""The rates of each group, and the largest difference of each kind between groups.

    .. math:: \text{gap} = \max_a r_a - \min_a r_a

    Parameters
    ----------
    groups : list
        The groups; tuples for intersections.
    rates : Rates
        Counts of shape (n_groups,): any rate of it is an array over groups.
    """

    groups: list
    rates: Rates

    @property
    def counts(self) -> np.ndarray:
        """The weight of each group."""
        return self.rates.tp + self.rates.fp + self.rates.tn + self.rates.fn

    @property
    def gaps(self) -> dict[str, float]:
        """The gap of independence, separation, sufficiency, equal opportunity and accuracy."""
        return {name: float(value) for name, value in _gaps(self.rates).items()}

    @property
    def worst_group(self) -> Any:
        """The group of least accuracy."""
        return self.groups[int(np.argmin(self.rates.accuracy))]


def group_rates(
    y_true: Any,
    y_pred: Any,
    sensitive_features: Any,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
) -> GroupRates:
    r"""Count the decisions of each group, :math:`TP_a, FP_a, TN_a, FN_a`, in one pass.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        The true labels and the decisions.
    sensitive_features : array-like of shape (n,) or (n, k), or a frame
        The group of each row; of several columns, the intersections.
    pos_label : label, default=None
        The label that is positive; by default the greater of two.
    sample_weight : array-like of shape (n,), default=None
        Weights.

    Returns
    -------
    GroupRates
    """
    groups, cells = _cells(y_true, y_pred, sensitive_features, pos_label)
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    counts = np.bincount(cells, weights=weights, minlength=4 * len(groups)).astype(float)
    return GroupRates(groups, _rates(counts))


def _cells(y_true: Any, y_pred: Any, sensitive: Any, pos_label: Any) -> tuple[list, np.ndarray]:
    truth, predicted = np.asarray(y_true), np.asarray(y_pred)
    if truth.ndim != 1 or truth.shape != predicted.shape or not len(truth):
        raise ValueError(
            f"y_true and y_pred must be of one length; shapes {truth.shape} and {predicted.shape}"
        )
    labels, y = codes_of(truth, "y_true")
    others, d = codes_of(predicted, "y_pred")
    positive = pos_label
    if positive is None:
        known = sorted({*labels, *others})
        if len(known) > 2:
            raise ValueError(f"labels {known[:5]} are more than two; name one as pos_label")
        positive = 1 if len(known) == 1 and known[0] in (0, -1) else known[-1]
    groups, codes = group_codes(sensitive, len(truth))
    is_positive = np.array([label == positive for label in labels], dtype=np.intp)
    accepted = np.array([label == positive for label in others], dtype=np.intp)
    return groups, 4 * codes + 2 * is_positive[y] + accepted[d]


def _rates(counts: np.ndarray) -> Rates:
    """Rates of cells (..., 4 k), in each group true negative, false positive, miss, hit."""
    table = counts.reshape(*counts.shape[:-1], -1, 4)
    tn, fp, fn, tp = np.moveaxis(table, -1, 0)
    return Rates(tp, fp, tn, fn)


@dataclass(frozen=True, eq=False)
class FairnessReport:
    r"""Rates and gaps with their intervals :math:`[q_{\alpha/2}, q_{1 - \alpha/2}]`.

    Parameters
    ----------
    table : GroupRates
        What was counted.
    gaps : dict of {str: tuple of float}
        Each gap, and the ends of its interval.
    intervals : dict of {str: ndarray of shape (n_groups, 2)}
        The ends for each group of "acceptance", "tpr", "fpr", "precision", "npv", "accuracy".
    small_groups : list
        The groups with fewer rows than were asked for.
    """

    table: GroupRates
    gaps: dict[str, tuple[float, float, float]]
    intervals: dict[str, np.ndarray]
    small_groups: list


def fairness_report(
    y_true: Any,
    y_pred: Any,
    sensitive_features: Any,
    *,
    pos_label: Any = None,
    n_draws: int = 1000,
    confidence: float = 0.95,
    min_group: int = 30,
    random_state: RandomState = None,
) -> FairnessReport:
    r"""The rates and gaps of `group_rates` with bootstrap intervals, and a warning of small groups.

    .. math:: (n_{ayd}^*) \sim \mathrm{Multinomial}(n, \, n_{ayd} / n)

    Parameters
    ----------
    y_true, y_pred, sensitive_features, pos_label
        As in `group_rates`.
    n_draws : int, default=1000
        The number of bootstrap samples.
    confidence : float, default=0.95
        The part of the draws within an interval.
    min_group : int, default=30
        A group of fewer rows is named in a warning: its rates say little.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the draws.

    Returns
    -------
    FairnessReport

    Notes
    -----
    To draw rows with replacement and to count them is to draw the counts, which is what is done:
    the cost of a draw is that of a few numbers a group, however many rows there are. Gaps are
    never negative, so that those of equal groups are above zero by chance: look at the lower end.
    """
    groups, cells = _cells(y_true, y_pred, sensitive_features, pos_label)
    counts = np.bincount(cells, minlength=4 * len(groups))
    n = int(counts.sum())
    table = GroupRates(groups, _rates(counts.astype(float)))
    sizes = counts.reshape(-1, 4).sum(axis=1)
    small = [group for group, size in zip(groups, sizes, strict=True) if size < min_group]
    if small:
        shown = ", ".join(map(repr, small[:5])) + (" and others" if len(small) > 5 else "")
        warn(
            f"{len(small)} of {len(groups)} groups have fewer than {min_group} rows ({shown}); "
            "their rates say little: merge them, or gather more rows"
        )
    drawn = _rates(generator(random_state).multinomial(n, counts / n, size=n_draws).astype(float))
    ends = [(1 - confidence) / 2, (1 + confidence) / 2]
    found = {}
    for name, values in _gaps(drawn).items():
        low, high = _quantiles(values, ends)
        found[name] = (table.gaps[name], float(low), float(high))
    names = ("acceptance", "tpr", "fpr", "precision", "npv", "accuracy")
    intervals = {name: _quantiles(np.asarray(getattr(drawn, name)), ends).T for name in names}
    return FairnessReport(table, found, intervals, small)


def _quantiles(values: np.ndarray, ends: list[float]) -> np.ndarray:
    """Quantiles over draws; a rate that no draw has is nan, without a warning."""
    empty = np.isnan(values).all(axis=0)
    return np.where(empty, np.nan, np.nanquantile(np.where(empty, 0.0, values), ends, axis=0))


@dataclass(frozen=True, eq=False)
class GroupCalibration:
    r"""The calibration of a score in each group: :math:`P(Y = 1 \mid R = r, A = a)` beside r.

    Parameters
    ----------
    groups : list
        The groups.
    tables : list of Reliability
        The table of each group.
    errors : ndarray of shape (n_groups,)
        The expected calibration error of each group, without the part of chance.
    sufficiency_gap : float
        The largest difference of observed frequencies between two groups in one bin, over bins in
        which each of them has at least 30 rows.
    """

    groups: list
    tables: list[Reliability]
    errors: np.ndarray
    sufficiency_gap: float


def group_calibration(
    y_true: Any, y_prob: Any, sensitive_features: Any, n_bins: int = 10
) -> GroupCalibration:
    r"""Whether a score means the same in every group, :math:`P(Y = 1 \mid R = r, A = a) = r`.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        0 and 1.
    y_prob : array-like of shape (n,)
        The score, in [0, 1].
    sensitive_features : array-like of shape (n,) or (n, k), or a frame
        The group of each row.
    n_bins : int, default=10
        Bins of equal width.

    Returns
    -------
    GroupCalibration
    """
    y, p = np.asarray(y_true, dtype=float), np.asarray(y_prob, dtype=float)
    groups, codes = group_codes(sensitive_features, len(y))
    tables = [reliability(y[codes == g], p[codes == g], n_bins) for g in range(len(groups))]
    errors = [
        calibration_error(y[codes == g], p[codes == g], n_bins, debiased=True)
        for g in range(len(groups))
    ]
    bins = np.searchsorted(np.linspace(0, 1, n_bins + 1)[1:-1], p, side="left")
    place = codes * n_bins + bins
    size, hits = (np.bincount(place, w, minlength=len(groups) * n_bins) for w in (None, y))
    with np.errstate(invalid="ignore", divide="ignore"):
        seen = np.where(size >= 30, hits / size, np.nan).reshape(len(groups), n_bins)
    gaps = _spread(seen.T)
    gap = float(np.nanmax(gaps)) if not np.isnan(gaps).all() else np.nan
    return GroupCalibration(groups, tables, np.array(errors), gap)


def implied_fpr(prevalence: Any, precision: Any, fnr: Any) -> Any:
    r"""The false positive rate that the other rates of a group force.

    .. math:: \mathrm{FPR} = \frac{p}{1 - p} \, \frac{1 - \mathrm{PPV}}{\mathrm{PPV}} \,
        (1 - \mathrm{FNR})
    """
    p, ppv = np.asarray(prevalence, dtype=float), np.asarray(precision, dtype=float)
    return p / (1 - p) * (1 - ppv) / ppv * (1 - np.asarray(fnr, dtype=float))


@dataclass(frozen=True, eq=False)
class Impossibility:
    r"""Why the three criteria cannot hold together here: base rates p differ.

    .. math:: \mathrm{FPR}_a = \frac{p_a}{1 - p_a} \, \frac{1 - \mathrm{PPV}}{\mathrm{PPV}} \,
        (1 - \mathrm{FNR})

    Parameters
    ----------
    groups : list
        The groups.
    prevalence : ndarray of shape (n_groups,)
        The base rate of each.
    implied_fpr : ndarray of shape (n_groups,)
        The false positive rate that each would have if all had the precision and the miss rate of
        the whole.
    gaps : dict of {str: float}
        The gaps of independence, separation and sufficiency as they are.
    possible : bool
        Whether the criteria could hold together: the base rates are equal, or nothing is decided
        wrongly.
    """

    groups: list
    prevalence: np.ndarray
    implied_fpr: np.ndarray
    gaps: dict[str, float]
    possible: bool


def impossibility(
    y_true: Any, y_pred: Any, sensitive_features: Any, *, pos_label: Any = None
) -> Impossibility:
    r"""Show on these rows what equal precision and miss rates would make of the false positives.

    .. math:: p_a \ne p_b \;\Rightarrow\; \mathrm{FPR}_a \ne \mathrm{FPR}_b

    Parameters
    ----------
    y_true, y_pred, sensitive_features, pos_label
        As in `group_rates`.

    Returns
    -------
    Impossibility
    """
    table = group_rates(y_true, y_pred, sensitive_features, pos_label=pos_label)
    rates = table.rates
    whole = Rates(*(float(v.sum()) for v in (rates.tp, rates.fp, rates.tn, rates.fn)))
    with np.errstate(invalid="ignore", divide="ignore"):
        implied = implied_fpr(rates.prevalence, whole.precision, whole.fnr)
    gaps = {k: table.gaps[k] for k in ("independence", "separation", "sufficiency")}
    possible = bool(np.ptp(rates.prevalence) < 1e-12 or whole.accuracy == 1)
    return Impossibility(table.groups, rates.prevalence, implied, gaps, possible)
