"""A regression line with what it does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from panlearn.plot._axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class PredictiveBandDisplay:
    r"""The mean of a prediction and a band of some standard deviations around it.

    .. math:: \hat\mu(x) \pm c \, \hat\sigma(x)

    Parameters
    ----------
    x : array-like of shape (n,)
        The feature, increasing.
    mean, std : array-like of shape (n,)
        The prediction and its standard deviation.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the band was drawn.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import BayesianRidge
    >>> from panlearn.plot import PredictiveBandDisplay
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> y = 2 * X[:, 0] + 0.1 * np.sin(40 * X[:, 0])
    >>> display = PredictiveBandDisplay.from_estimator(BayesianRidge().fit(X, y), X, y)
    >>> bool(np.all(display.std > 0))
    True
    """

    def __init__(self, x: Any, mean: Any, std: Any) -> None:
        self.x, self.mean, self.std = (np.asarray(v, dtype=float) for v in (x, mean, std))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any | None = None,
        *,
        width: float = 2.0,
        grid: int = 200,
        ax: Axes | None = None,
    ) -> Self:
        """Draw a fitted regressor with ``predict(X, return_std=True)`` over its one feature.

        The rows of X set the range, a quarter wider on both sides; with y they are drawn too.
        """
        values = np.asarray(X, dtype=float)
        if values.ndim != 2 or values.shape[1] != 1:
            raise ValueError(f"a band needs one feature; X has shape {values.shape}")
        low, high = values.min(), values.max()
        margin = (high - low) / 4
        x = np.linspace(low - margin, high + margin, grid)
        rows = type(X)(x[:, None], columns=X.columns) if hasattr(X, "columns") else x[:, None]
        mean, std = estimator.predict(rows, return_std=True)
        display = cls(x, mean, std).plot(width=width, ax=ax)
        if y is not None:
            display.ax_.plot(values[:, 0], y, "o", color="0.4", markersize=3, zorder=3)
        return display

    def plot(self, *, width: float = 2.0, ax: Axes | None = None) -> Self:
        """Draw the mean and the band of ``width`` standard deviations on each side."""
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure
        (line,) = self.ax_.plot(self.x, self.mean, label="mean")
        low, high = self.mean - width * self.std, self.mean + width * self.std
        label = f"± {width:g} standard deviations"
        self.ax_.fill_between(self.x, low, high, color=line.get_color(), alpha=0.2, label=label)
        self.ax_.legend()
        return self
