"""Rates of groups, with how sure they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from panlearn.plot._axes import axes_or_new
from panlearn.trust.fairness import FairnessReport, fairness_report

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class FairnessDisplay:
    r"""A rate of each group with its bootstrap interval.

    .. math:: r_a \in [q_{\alpha/2}, q_{1 - \alpha/2}]

    Parameters
    ----------
    report : FairnessReport
        What `panlearn.trust.fairness.fairness_report` found.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the points were drawn.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> from panlearn.plot import FairnessDisplay
    >>> display = FairnessDisplay.from_predictions(
    ...     [0, 1] * 50, [0, 1, 1, 1] * 25, ["a", "b"] * 50, random_state=0)
    >>> [tick.get_text() for tick in display.ax_.get_yticklabels()]
    ['a', 'b']
    """

    def __init__(self, report: FairnessReport) -> None:
        self.report = report

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        sensitive_features: Any,
        *,
        rate: str = "acceptance",
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Count and draw decisions; further options are those of `fairness_report`."""
        report = fairness_report(y_true, y_pred, sensitive_features, **options)
        return cls(report).plot(rate=rate, ax=ax)

    def plot(self, *, rate: str = "acceptance", ax: Axes | None = None) -> Self:
        """Draw one rate: acceptance, tpr, fpr, precision, npv or accuracy."""
        if rate not in self.report.intervals:
            raise ValueError(f"rate={rate!r} must be one of {list(self.report.intervals)}")
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure
        groups = self.report.table.groups
        values = np.asarray(getattr(self.report.table.rates, rate))
        low, high = self.report.intervals[rate].T
        place = np.arange(len(groups))
        self.ax_.hlines(place, low, high, color="0.6")
        self.ax_.plot(values, place, "o")
        self.ax_.set_yticks(place, [str(group) for group in groups])
        self.ax_.set_xlabel(rate)
        return self
