"""Rates of a decision along its threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from panlearn.evaluate.rates import RateCurve, rate_curve
from panlearn.plot._axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class RatesDisplay:
    r"""Rates, or the mean cost, against the threshold from which rows are accepted.

    .. math:: \tau \mapsto r(\tau)

    Parameters
    ----------
    curve : RateCurve
        The rates at every threshold, as `panlearn.evaluate.rates.rate_curve` counts them.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the lines were drawn.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> from panlearn.plot import RatesDisplay
    >>> display = RatesDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> [line.get_label() for line in display.ax_.lines]
    ['tpr', 'fpr', 'precision']
    """

    def __init__(self, curve: RateCurve) -> None:
        self.curve = curve

    @classmethod
    def from_predictions(
        cls, y_true: Any, score: Any, *, pos_label: Any = None, **options: Any
    ) -> Self:
        """Count and draw scores; further options are those of `plot`."""
        return cls(rate_curve(y_true, score, pos_label=pos_label)).plot(**options)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **options: Any) -> Self:
        """Draw the scores of a fitted classifier of two classes; its second class is positive."""
        if hasattr(estimator, "decision_function"):
            score = estimator.decision_function(X)
        else:
            score = estimator.predict_proba(X)[:, 1]
        return cls.from_predictions(y, score, pos_label=estimator.classes_[1], **options)

    def plot(
        self,
        *,
        rates: Sequence[str] = ("tpr", "fpr", "precision"),
        costs: tuple[float, float] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the named rates; with costs of a false positive and negative, their mean too."""
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure
        thresholds = self.curve.thresholds[1:]  # the first is infinite
        for name in rates:
            values = np.asarray(getattr(self.curve.rates, name))[1:]
            self.ax_.step(thresholds, values, where="pre", label=name)
        if costs is not None:
            values = self.curve.rates.cost(*costs)[1:]
            self.ax_.step(thresholds, values, where="pre", label="mean cost", color="0.3")
            best = self.curve.best_threshold(*costs)
            if np.isfinite(best):
                self.ax_.axvline(best, color="0.6", linestyle="--")
        self.ax_.set_xlabel("threshold")
        self.ax_.legend()
        return self
