"""What linear classifiers share: scores of rows, and the label with the highest."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from panlearn.core.learned import shapes
from panlearn.core.short_rows import first_largest
from panlearn.linear._base import LinearPredictor


class LinearClassifier(ClassifierMixin, LinearPredictor):
    """A classifier with one affine score for two classes and one a class for more; abstract.

    A fitted one has ``classes_``, and ``coef_`` of shape (1 or n_classes, n_features).
    """

    learned = shapes(
        coef_="(1, n_features) or (n_classes, n_features)",
        intercept_="(1,) or (n_classes,)",
    )

    classes_: np.ndarray

    def decision_function(self, X: Any) -> np.ndarray:
        """Score each row; with two classes a positive score stands for ``classes_[1]``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        scores = self._score_rows(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Predict the label of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else first_largest(scores)
        return self.classes_[best]
