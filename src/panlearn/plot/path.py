"""Coefficients against the strength of a penalty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import clone

from panlearn.plot._axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class RegularizationPathDisplay:
    r"""How each coefficient grows as a penalty is relaxed.

    .. math:: \lambda \mapsto \hat w(\lambda) = \arg\min_w \; L(w) + \lambda \, \Omega(w)

    Parameters
    ----------
    values : array-like of shape (k,)
        The values of the penalty's parameter.
    coefficients : array-like of shape (d, k)
        One column of coefficients for each value, as `panlearn.linear.lasso_path` and
        scikit-learn's path functions return them.
    param_name : str, default="alpha"
        What the axis is called.
    feature_names : sequence of str, optional
        A name for each row; the largest at the weakest penalty are written beside their lines.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the lines were drawn.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from panlearn.plot import RegularizationPathDisplay
    >>> X, y = np.eye(4), np.arange(4.0)
    >>> display = RegularizationPathDisplay.from_estimator(
    ...     Ridge(), X, y, param_range=np.logspace(-3, 3, 7))
    >>> display.coefficients.shape
    (4, 7)
    """

    def __init__(
        self,
        values: Any,
        coefficients: Any,
        *,
        param_name: str = "alpha",
        feature_names: Any | None = None,
    ) -> None:
        self.values = np.asarray(values, dtype=float)
        self.coefficients = np.asarray(coefficients, dtype=float)
        self.param_name = param_name
        self.feature_names = None if feature_names is None else [str(n) for n in feature_names]
        if self.coefficients.ndim != 2 or self.coefficients.shape[1] != len(self.values):
            raise ValueError(
                f"coefficients must have a column for each of the {len(self.values)} values; "
                f"got shape {self.coefficients.shape}"
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        param_name: str = "alpha",
        param_range: Any,
        ax: Axes | None = None,
    ) -> Self:
        """Fit a clone for each value of a parameter and draw its ``coef_`` (one output)."""
        columns = []
        for value in param_range:
            model: Any = clone(estimator)
            model.set_params(**{param_name: value}).fit(X, y)
            columns.append(np.ravel(model.coef_))
        names = getattr(X, "columns", None)
        path = cls(
            param_range, np.stack(columns, axis=1), param_name=param_name, feature_names=names
        )
        return path.plot(ax=ax)

    def plot(self, *, labels: int = 8, ax: Axes | None = None) -> Self:
        """Draw a line for each coefficient on a logarithmic axis; name the largest ``labels``."""
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure
        self.ax_.plot(self.values, self.coefficients.T)
        self.ax_.set_xscale("log")
        self.ax_.axhline(0.0, color="0.5", linewidth=0.8)
        self.ax_.set(xlabel=self.param_name, ylabel="coefficient")
        if self.feature_names is not None:
            first = int(np.argmin(self.values))
            order = np.argsort(-np.abs(self.coefficients[:, first]), kind="stable")
            for j in order[:labels]:
                where = (self.values[first], self.coefficients[j, first])
                self.ax_.annotate(
                    self.feature_names[j], where, fontsize="small", ha="right", parse_math=False
                )
        return self
