"""Decisions when some mistakes cost more than others."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from panlearn.bayes._decision import DecisionMaker
from panlearn.core.learned import shapes


@dataclass(eq=False, repr=False)
class CostSensitiveClassifier(DecisionMaker):
    r"""Predict the label whose expected cost is least.

    .. math::
        \hat y(x) = \arg\min_j \sum_i p(y = i \mid x) \, C_{ij}

    Parameters
    ----------
    estimator : classifier, default=None
        Gives the probabilities; `GaussianNB` by default.
    costs : array-like of shape (n_classes, n_classes), default=None
        The cost :math:`C_{ij}` of predicting class j when the truth is i, in the order of the
        sorted labels; negative for a gain. By default every mistake costs 1.

    Attributes
    ----------
    estimator_ : classifier
        The fitted inner classifier.
    costs_ : ndarray of shape (n_classes, n_classes)
        The costs as they were at the fit.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_features_in_ : int
        Number of features, if the inner classifier knows it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, likewise.

    Notes
    -----
    With two classes and no cost for what is right the rule is a threshold: predict the second if
    its probability exceeds :math:`c_{FP} / (c_{FP} + c_{FN})`. The probabilities are those of the
    inner classifier, so the decisions are as good as its calibration. Beside the inner classifier a
    row costs :math:`O(k^2)` for k labels.

    References
    ----------
    C. Elkan (2001). The foundations of cost-sensitive learning. International Joint Conference on
    Artificial Intelligence.

    Examples
    --------
    Missing the second class costs four times as much as a false alarm:

    >>> from panlearn.bayes import CostSensitiveClassifier, GaussianNB
    >>> X, y = [[-2.0], [0.0], [0.0], [2.0]], [0, 0, 1, 1]
    >>> model = CostSensitiveClassifier(GaussianNB(), costs=[[0, 1], [4, 0]]).fit(X, y)
    >>> model.predict_proba([[-0.5]]).round(2), model.predict([[-0.5]])
    (array([[0.73, 0.27]]), array([1]))
    """

    learned = shapes(
        costs_="(n_decisions, n_classes)",
    )

    estimator: Any = None
    _: KW_ONLY
    costs: np.ndarray | None = None

    def expected_cost(self, X: Any) -> np.ndarray:
        """Expected cost of predicting each label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns are in the order of ``classes_``.
        """
        probability = self.predict_proba(X)
        return probability @ self.costs_.astype(probability.dtype)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the label of least expected cost.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        cost = self.expected_cost(X)
        return self.classes_[cost.argmin(axis=1)]

    def _check(self) -> None:
        self.costs_ = self._cost_matrix()

    def _cost_matrix(self) -> np.ndarray:
        k = len(self.classes_)
        if self.costs is None:
            return 1 - np.eye(k)
        try:
            costs = np.array(self.costs, dtype=float)  # a copy: the caller's stays the caller's
        except (TypeError, ValueError) as error:
            raise ValueError(f"costs must hold numbers; got {self.costs!r}") from error
        if costs.shape != (k, k) or not np.isfinite(costs).all():
            raise ValueError(
                f"costs must be a finite table of {k} x {k}, truth by prediction, in the order of "
                f"the classes {self.classes_.tolist()}; got {self.costs!r}"
            )
        return costs
