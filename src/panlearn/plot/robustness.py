"""Accuracy under attack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from panlearn.plot._axes import axes_or_new
from panlearn.trust.attacks import RobustCurve, robust_accuracy_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class RobustAccuracyDisplay:
    r"""The accuracy that an attack leaves, against the radius of its ball.

    .. math:: \epsilon \mapsto \frac1n \sum_i
        \bigl[f(\tilde x) = y_i \;\forall \tilde x \in B(x_i, \epsilon)\bigr]

    Parameters
    ----------
    curve : RobustCurve
        What `panlearn.trust.attacks.robust_accuracy_curve` found.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the line was drawn.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from panlearn.plot import RobustAccuracyDisplay
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1]
    >>> model = LogisticRegression().fit(X, y)
    >>> display = RobustAccuracyDisplay.from_estimator(model, X, y, [0, 1.5, 3], bounds=None)
    >>> display.ax_.lines[0].get_ydata()
    array([1. , 0.5, 0. ])
    """

    def __init__(self, curve: RobustCurve) -> None:
        self.curve = curve

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        eps: Sequence[float],
        *,
        label: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Attack and draw a model; further options are those of `robust_accuracy_curve`."""
        return cls(robust_accuracy_curve(estimator, X, y, eps, **options)).plot(label=label, ax=ax)

    def plot(self, *, label: str | None = None, ax: Axes | None = None) -> Self:
        """Draw the line; call it again on the same axes to compare models."""
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure
        self.ax_.plot(self.curve.eps, self.curve.accuracy, marker="o", label=label)
        self.ax_.set(xlabel="radius of the attack", ylabel="accuracy", ylim=(-0.02, 1.02))
        if label is not None:
            self.ax_.legend()
        return self
