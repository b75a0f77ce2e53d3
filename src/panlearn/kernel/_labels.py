"""Labels for machines that learn numbers: one against the rest, or one against one."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from panlearn.core.short_rows import first_largest
from panlearn.kernel._base import KernelMethod


class KernelClassifier(ClassifierMixin, KernelMethod):
    """A kernel method that scores classes; abstract.

    A fitted one has ``classes_``; the final class gives ``decision_function``.
    """

    classes_: np.ndarray

    def predict(self, X: Any) -> np.ndarray:
        """Predict the label of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else first_largest(scores)
        return self.classes_[best]


def present(X: Any, y: Any, weight: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """The rows that weigh something, with weights in float64: a zero weight is an absent row."""
    if weight is None:
        return X, y, np.ones(len(y))
    keep = weight > 0
    return X[keep], y[keep], weight[keep].astype(np.float64)


def signs(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """One column of ±1 a class, or one in all for two classes."""
    if n_classes == 2:
        return 2.0 * codes[:, None] - 1
    return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
