"""The coefficients of a linear model as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from panlearn.plot._axes import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class CoefficientsDisplay:
    r"""The largest coefficients of a linear model, by name.

    .. math:: \hat y = w_0 + \sum_j w_j x_j, \qquad \text{one bar for each } w_j

    A bar says how much the prediction moves when its feature moves by one unit and the others stay,
    so that bars compare only where the features share a scale.

    Parameters
    ----------
    coefficients : ndarray of shape (d,) or (k, d)
        One row for each output or class.
    feature_names : sequence of str
        A name for each column.
    output_names : sequence of str, optional
        A name for each row.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the bars were drawn.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from panlearn.plot import CoefficientsDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> display = CoefficientsDisplay.from_estimator(Ridge().fit(X, y), max_features=3)
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['bp', 's5', 'bmi']
    """

    def __init__(
        self, coefficients: Any, feature_names: Any, output_names: Any | None = None
    ) -> None:
        self.coefficients = np.atleast_2d(np.asarray(coefficients, dtype=float))
        self.feature_names = [str(name) for name in feature_names]
        self.output_names = output_names
        if self.coefficients.shape[1] != len(self.feature_names):
            raise ValueError(
                f"{self.coefficients.shape[1]} coefficients and {len(self.feature_names)} names"
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: Any | None = None,
        max_features: int = 20,
        ax: Axes | None = None,
    ) -> Self:
        """Draw ``coef_`` of a fitted linear model, or of the last step of a fitted pipeline."""
        check_is_fitted(estimator)
        model: Any = estimator
        if isinstance(estimator, Pipeline):
            model = estimator[-1]
            if feature_names is None:
                steps: Any = estimator[:-1]
                feature_names = _plain([str(n) for n in steps.get_feature_names_out()])
        if not hasattr(model, "coef_"):
            raise ValueError(f"{type(model).__name__} has no coef_ to draw")
        coefficients = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
        coefficients = np.atleast_2d(coefficients)
        if feature_names is None:
            default = [f"x{j}" for j in range(coefficients.shape[1])]
            feature_names = getattr(model, "feature_names_in_", default)
        outputs = getattr(model, "classes_", range(len(coefficients)))
        names = [str(c) for c in outputs] if len(coefficients) > 1 else None
        return cls(coefficients, feature_names, names).plot(max_features=max_features, ax=ax)

    def plot(self, *, max_features: int = 20, ax: Axes | None = None) -> Self:
        """Draw the ``max_features`` features of largest coefficient, the largest on top."""
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure
        size = np.max(np.abs(self.coefficients), axis=0)
        chosen = np.argsort(-size, kind="stable")[:max_features][::-1]
        outputs = len(self.coefficients)
        height = 0.8 / outputs
        for k, row in enumerate(self.coefficients):
            label = None if self.output_names is None else self.output_names[k]
            offset = ((outputs - 1) / 2 - k) * height
            self.ax_.barh(np.arange(len(chosen)) + offset, row[chosen], height, label=label)
        self.ax_.set_yticks(np.arange(len(chosen)), [self.feature_names[j] for j in chosen])
        self.ax_.axvline(0.0, color="0.5", linewidth=0.8)
        self.ax_.set_xlabel("coefficient")
        if self.output_names is not None:
            self.ax_.legend()
        return self


def _plain(names: list[str]) -> list[str]:
    """Leave out the prefixes of a ColumnTransformer where the names stay different without."""
    short = [name.partition("__")[2] or name for name in names]
    return short if len(set(short)) == len(short) else names
