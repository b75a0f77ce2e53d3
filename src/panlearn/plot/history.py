"""What an iterative fit recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from panlearn.plot._axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class HistoryDisplay:
    r"""A recorded quantity against the iterations of a fit.

    .. math:: k \mapsto f(x_k), \qquad k = 1, \dots, \text{n\_iter\_}

    Parameters
    ----------
    history : mapping of str to sequence of float
        One value an iteration under each name, as in ``history_``.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the lines were drawn.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> from panlearn.plot import HistoryDisplay
    >>> display = HistoryDisplay({"objective": [4.0, 2.0, 1.0]}).plot()
    >>> display.ax_.get_xlabel()
    'iteration'
    """

    def __init__(self, history: Mapping[str, Sequence[float]]) -> None:
        self.history = {str(name): np.asarray(v, dtype=float) for name, v in history.items()}

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        keys: Sequence[str] | None = None,
        log: bool = False,
        ax: Axes | None = None,
    ) -> Self:
        """Draw ``history_`` of a fitted estimator."""
        check_is_fitted(estimator)
        if not hasattr(estimator, "history_"):
            raise ValueError(f"{type(estimator).__name__} keeps no history_")
        return cls(estimator.history_).plot(keys=keys, log=log, ax=ax)

    def plot(
        self, *, keys: Sequence[str] | None = None, log: bool = False, ax: Axes | None = None
    ) -> Self:
        """Draw the named quantities, or all; on a logarithmic axis if asked."""
        unknown = [key for key in keys or [] if key not in self.history]
        if unknown:
            raise ValueError(f"no {unknown[0]!r} in the history; it has {list(self.history)}")
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure
        for key in keys or self.history:
            values = self.history[key]
            self.ax_.plot(np.arange(1, len(values) + 1), values, label=key)
        self.ax_.set_xlabel("iteration")
        if log:
            self.ax_.set_yscale("log")
        self.ax_.legend()
        return self
