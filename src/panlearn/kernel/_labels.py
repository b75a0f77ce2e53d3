"""Labels for machines that learn numbers: one against the rest, or one against one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight

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
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(1)]


def present(X: Any, y: Any, weight: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """The rows that weigh something, with weights in float64: a zero weight is an absent row."""
    if weight is None:
        return X, y, np.ones(len(y))
    keep = weight > 0
    return X[keep], y[keep], weight[keep].astype(np.float64)


def encode(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sorted labels and the code of each row; one label alone is refused."""
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"the data hold one class only, {classes.tolist()}; a classifier needs two or more"
        )
    return classes, codes


def signs(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """One column of ±1 a class, or one in all for two classes."""
    if n_classes == 2:
        return 2.0 * codes[:, None] - 1
    return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)


def balance(given: Any, classes: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The weight of each class: 1, what a dictionary says, or inverse to its share of the rows."""
    names = classes.tolist()
    if unknown := [c for c in given if c not in names] if isinstance(given, Mapping) else []:
        raise ValueError(f"class_weight names {unknown}, which are not among the classes {names}")
    share = compute_class_weight(given, classes=classes, y=classes[codes], sample_weight=weight)
    if not (np.isfinite(share) & (share > 0)).all():
        raise ValueError(f"class_weight must be finite and positive; got {given!r}")
    return share
