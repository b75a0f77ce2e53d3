"""Logistic regression, or a network, whose scores do not tell groups apart."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from panlearn.core.estimator import Estimator, fitting
from panlearn.core.extras import require
from panlearn.core.parameters import NonNegative, Positive
from panlearn.core.validation import reject_hidden
from panlearn.linear import LogisticRegression
from panlearn.trust._fair_objective import fair_objective
from panlearn.trust._groups import group_codes


@dataclass(eq=False, repr=False)
class FairRegularizer(ClassifierMixin, Estimator):
    r"""Logistic regression, or a network, with a penalty on differences of mean scores of groups.

    .. math::
        \min_{W, b} \; C \sum_i s_i \, \ell_i(W, b) + \frac12 \|W\|_2^2
        + \lambda \, C n \sum_{c, a} \bigl\| W (\bar x_{ca} - \bar x_c) \bigr\|^2

    where c runs over the parts of the rows that are compared, all of them or those of one label,
    and a over the groups in each.

    Parameters
    ----------
    penalty : float, default=1.0
        The strength :math:`\lambda`; at 0 it is logistic regression.
    constraint : str, default="demographic_parity"
        Compare mean scores of all rows for "demographic_parity", of those of the last label for
        "equal_opportunity", of each label for "equalized_odds".
    C : float, default=1.0
        The inverse strength of the ridge.
    max_iter : int, default=100
        The most iterations of the solver.
    tol : float, default=1e-8
        Its tolerance.
    estimator : MLPClassifier, default=None
        A network to train in place of logistic regression, with its own settings; `C`, `max_iter`
        and `tol` do not matter then.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The coefficients, without an `estimator`.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts, without an `estimator`.
    estimator_ : MLPClassifier
        The network, if one was given.
    n_iter_ : int
        Iterations of the solver.
    converged_ : bool
        Whether it reached the tolerance.
    history_ : dict
        What it recorded, an iteration.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if they were given.

    Notes
    -----
    The penalty is a quadratic form of the coefficients, so that a linear change of the features
    makes the problem an ordinary logistic regression, which `panlearn.linear.LogisticRegression`
    solves exactly. A network is given the same penalty on the mean loss, of the mean scores in each
    batch: small batches of rare groups make it noisy. Mean scores are a proxy of rates: look at
    `fairness.fairness_report` after. The group is an argument of ``fit`` alone, with metadata
    routing: a prediction does not need it. The change of the features costs :math:`O(n d^2)`, the
    rest is the regression's.

    References
    ----------
    R. Berk, H. Heidari, S. Jabbari, M. Joseph, M. Kearns, J. Morgenstern, S. Neel and A. Roth
    (2017). A convex framework for fair regression. arXiv:1706.02409

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.trust import FairRegularizer
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(2, size=500)
    >>> X = rng.normal(size=(500, 2)) + np.outer(group, [1, 0])
    >>> y = (X.sum(axis=1) + rng.normal(size=500) > 0.5).astype(int)
    >>> gaps = []
    >>> for penalty in (0.0, 10.0):
    ...     scores = FairRegularizer(penalty).fit(X, y, sensitive_features=group)
    ...     scores = scores.decision_function(X)
    ...     gaps.append(scores[group == 1].mean() - scores[group == 0].mean())
    >>> bool(gaps[1] < 0.1 * gaps[0])
    True
    """

    penalty: NonNegative[float] = 1.0
    _: KW_ONLY
    constraint: Literal["demographic_parity", "equal_opportunity", "equalized_odds"] = (
        "demographic_parity"
    )
    C: Positive[float] = 1.0
    max_iter: Positive[int] = 100
    tol: NonNegative[float] = 1e-8
    estimator: Any = None

    @fitting
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, sensitive_features: Any = None
    ) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, k), default=None
            The group of each row; without it there is no penalty.

        Returns
        -------
        self
            The model itself.
        """
        reject_hidden(X=X, y=y)
        rows, labels = validate_data(self, X, y, dtype=[np.float64, np.float32])
        labels = column_or_1d(labels)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, rows, ensure_non_negative=True)
        if self.estimator is not None:
            return self._fit_network(rows, labels, weights, sensitive_features)
        differences = self._differences(rows, labels, weights, sensitive_features)
        inner = LogisticRegression(C=self.C, max_iter=self.max_iter, tol=self.tol)
        root = _inverse_root(differences)
        inner.fit(rows if root is None else rows @ root, labels, sample_weight=weights)
        self.classes_, self.intercept_ = inner.classes_, inner.intercept_
        self.coef_ = inner.coef_ if root is None else inner.coef_ @ root
        self.n_iter_, self.converged_ = inner.n_iter_, inner.converged_
        self.history_ = inner.history_
        return self

    def _differences(
        self, rows: np.ndarray, labels: np.ndarray, weights: Any, sensitive: Any
    ) -> np.ndarray:
        """The differences of means that the penalty holds, each times its root of a factor."""
        if sensitive is None or not self.penalty:
            return np.zeros((0, rows.shape[1]), dtype=rows.dtype)
        groups, codes = group_codes(sensitive, len(rows))
        weight = np.ones(len(rows)) if weights is None else weights
        kinds = np.unique(labels)
        parts = {
            "demographic_parity": [np.ones(len(rows), dtype=bool)],
            "equal_opportunity": [labels == kinds[-1]],
            "equalized_odds": [labels == kind for kind in kinds],
        }[self.constraint]
        found = []
        for part in parts:
            whole = np.average(rows[part], axis=0, weights=weight[part])
            for g in range(len(groups)):
                own = part & (codes == g)
                if weight[own].sum() > 0:
                    found.append(np.average(rows[own], axis=0, weights=weight[own]) - whole)
        strength = 2 * self.penalty * self.C * weight.sum()
        return (np.sqrt(strength) * np.array(found)).astype(rows.dtype)

    def _fit_network(
        self, rows: np.ndarray, labels: np.ndarray, weights: Any, sensitive: Any
    ) -> Self:
        """Train the network on its loss and the penalty."""
        require("torch")
        from panlearn.neural import MLPClassifier
        from panlearn.neural._changes import changing

        if not isinstance(self.estimator, MLPClassifier):
            raise ValueError(f"estimator must be an MLPClassifier or None; got {self.estimator!r}")
        inner = clone(self.estimator)
        there = slice(None) if weights is None else weights > 0
        part, group = self._cells(labels, sensitive)

        def regularize(objective: Any, data: Any) -> tuple[Any, Any]:
            return fair_objective(objective, self.penalty), (*data, part[there], group[there])

        with changing(inner, regularize):
            inner.fit(rows, labels, sample_weight=weights)
        self.estimator_, self.classes_ = inner, inner.classes_
        self.n_iter_, self.converged_ = inner.n_iter_, inner.converged_
        self.history_ = inner.history_
        return self

    def _cells(self, labels: np.ndarray, sensitive: Any) -> tuple[np.ndarray, np.ndarray]:
        """For each row, in which part of the rows it is compared, or -1, and its group."""
        kinds, part = np.unique(labels, return_inverse=True)
        if sensitive is None:
            return np.full(len(labels), -1), np.zeros(len(labels), dtype=np.int64)
        _, group = group_codes(sensitive, len(labels))
        if self.constraint == "demographic_parity":
            part = np.zeros(len(labels), dtype=np.int64)
        elif self.constraint == "equal_opportunity":
            part = np.where(part == len(kinds) - 1, 0, -1)
        return part.astype(np.int64), group.astype(np.int64)

    @property
    def _predicts_as(self) -> Any:
        """The network that gives the scores, if there is one."""
        return self.estimator_

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes; of two, the score of the second.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        self._require_fitted()
        reject_hidden(X=X)
        rows = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        if hasattr(self, "estimator_"):
            scores = self.estimator_.predict_log_proba(rows)
            return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores
        coefficients = self.coef_.astype(rows.dtype, copy=False)
        scores = rows @ coefficients.T + self.intercept_.astype(rows.dtype)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns are in the order of ``classes_``.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return softmax(scores, axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable label.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[chosen]


def _inverse_root(differences: np.ndarray) -> np.ndarray | None:
    """The root of (I + D'D)^-1, by which features are changed; None for the identity."""
    if not len(differences):
        return None
    _, values, directions = np.linalg.svd(differences, full_matrices=False)
    shrink = 1 / np.sqrt(1 + values**2) - 1
    return np.eye(differences.shape[1], dtype=differences.dtype) + (
        directions.T * shrink @ directions
    )
