"""Decisions of a fitted score that treat groups alike."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.multiclass import check_classification_targets

from panlearn.core.capabilities import Capabilities
from panlearn.core.estimator import Estimator, fitting
from panlearn.core.parameters import Fraction, NonNegative
from panlearn.core.splitmix import mixed
from panlearn.linear import LogisticRegression
from panlearn.trust._fair_thresholds import best_mixtures, corners
from panlearn.trust._groups import group_codes


@dataclass(eq=False, repr=False)
class FairPostprocessor(ClassifierMixin, Estimator):
    r"""Choose thresholds per group, at random where needed, so that rates are alike.

    .. math::
        \min_{q} \; E[c_{FP} \, D (1 - Y) + c_{FN} \, (1 - D) Y] \quad\text{s.t.}\quad
        \max_a r_a - \min_a r_a \le \epsilon, \qquad
        P(D = 1 \mid s, a) = \sum_k q_{ak} [s \ge \tau_{ak}]

    Parameters
    ----------
    estimator : classifier, default=None
        Gives the score; logistic regression by default. `sklearn.frozen.FrozenEstimator` keeps one
        that is fitted as it is.
    constraint : str, default="equalized_odds"
        Which rates r are to be alike: of true and of false positives for "equalized_odds", of
        acceptance for "demographic_parity", of true positives for "equal_opportunity".
    tolerance : float, default=0.0
        The gap :math:`\epsilon` that is allowed on the rows of the fit.
    false_positive_cost, false_negative_cost : float, default=1.0
        What the two mistakes cost.
    seed : int, default=0
        Changes which rows a random threshold accepts.

    Attributes
    ----------
    estimator_ : classifier
        The fitted inner classifier.
    classes_ : ndarray of shape (2,)
        The labels; the second is the one that is accepted.
    groups_ : list
        The groups of the fit; one if no sensitive features were given.
    thresholds_ : list of ndarray
        The thresholds of each group, one or few.
    probabilities_ : list of ndarray
        How often each is used.
    cost_ : float
        The mean expected cost on the rows of the fit.
    n_features_in_ : int
        Number of features, if the inner classifier knows it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, likewise.

    Notes
    -----
    The best decision rule lies on the hull of each group's ROC, whose corners are found by isotonic
    regression in one sort; a linear program over the corners is then exact. The group is an
    argument of ``fit`` and ``predict``, with metadata routing, and need not be a feature. A random
    threshold is drawn from the row itself: the same row gets the same decision, in any batch and in
    any process. Give rows that the inner classifier did not learn from if it overfits. Sorting
    the scores costs :math:`O(n \log n)`.

    References
    ----------
    M. Hardt, E. Price and N. Srebro (2016). Equality of opportunity in supervised learning.
    arXiv:1610.02413

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.trust import FairPostprocessor, fairness
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(2, size=2000)
    >>> X = rng.normal(size=(2000, 2)) + 0.5 * group[:, None]
    >>> y = (X[:, 0] + rng.normal(size=2000) > 0.5).astype(int)
    >>> model = FairPostprocessor(constraint="demographic_parity")
    >>> d = model.fit(X, y, sensitive_features=group).predict(X, sensitive_features=group)
    >>> fairness.group_rates(y, d, group).gaps["independence"] < 0.02
    True
    """

    capabilities = Capabilities(sparse=True)  # as far as the wrapped classifier takes it

    estimator: Any = None
    _: KW_ONLY
    constraint: Literal["equalized_odds", "demographic_parity", "equal_opportunity"] = (
        "equalized_odds"
    )
    tolerance: Fraction[float] = 0.0
    false_positive_cost: NonNegative[float] = 1.0
    false_negative_cost: NonNegative[float] = 1.0
    seed: NonNegative[int] = 0

    @property
    def _inner(self) -> Any:
        return LogisticRegression() if self.estimator is None else self.estimator

    @fitting
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, sensitive_features: Any = None
    ) -> Self:
        """Fit the inner classifier, then the thresholds.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels, of two kinds.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, if the inner classifier takes them.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, k), default=None
            The group of each row; without it all rows are one group.

        Returns
        -------
        self
            The model itself.
        """
        if not hasattr(self._inner, "predict"):
            raise ValueError(f"estimator must be a classifier; got {self.estimator!r}")
        more = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_ = clone(self._inner).fit(X, y, **more)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        labels = column_or_1d(y)
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) != 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{'multiclass' if len(self.classes_) > 2 else 'one class'}: "
                f"{self.classes_.tolist()[:5]}"
            )
        scores = self._scores(X)
        given = 1.0 if sample_weight is None else sample_weight
        weights = np.broadcast_to(np.asarray(given, dtype=float), len(codes))
        self.groups_, members = self._groups(sensitive_features, len(codes))
        hulls = []
        for g, group in enumerate(self.groups_):
            own = members == g
            hull = corners(codes[own] == 1, scores[own], weights[own])
            if not (hull.tp[-1] > 0 and (hull.fp[-1] > 0 or self.constraint != "equalized_odds")):
                raise ValueError(
                    f"group {group!r} lacks rows of a label, so that its rates are unknown; merge "
                    "it with another"
                )
            hulls.append(hull)
        found = best_mixtures(
            hulls,
            self.constraint,
            self.tolerance,
            self.false_positive_cost,
            self.false_negative_cost,
        )
        self.thresholds_, self.probabilities_ = found.thresholds, found.probabilities
        self.cost_ = found.cost
        return self

    def decision_probability(self, X: Any, sensitive_features: Any = None) -> np.ndarray:
        """Probability with which each row is accepted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, k), default=None
            Their groups, which must be among those of the fit.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        self._require_fitted()
        scores = self._scores(X)
        groups, codes = self._groups(sensitive_features, len(scores))
        if unknown := [group for group in groups if group not in self.groups_]:
            raise ValueError(
                f"sensitive_features has {unknown[:3]}, and the fit had {self.groups_[:5]} only"
            )
        chance = np.zeros(len(scores))
        for g, group in enumerate(groups):
            own, at = codes == g, self.groups_.index(group)
            for threshold, share in zip(self.thresholds_[at], self.probabilities_[at], strict=True):
                chance[own] += share * (scores[own] >= threshold)
        return chance

    def predict(self, X: Any, sensitive_features: Any = None) -> np.ndarray:
        """Decide for each row; the same row is always decided alike.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, k), default=None
            Their groups, which must be among those of the fit.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        chance = self.decision_probability(X, sensitive_features)
        draw = _uniform_of_rows(X, self._scores(X), self.seed)
        return self.classes_[(draw < chance).astype(int)]

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, sensitive_features: Any = None
    ) -> float:
        """Accuracy of the decisions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The true labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.
        sensitive_features : array-like of shape (n_samples,) or (n_samples, k), default=None
            Their groups.

        Returns
        -------
        float
        """
        decided = self.predict(X, sensitive_features)
        return float(accuracy_score(y, decided, sample_weight=sample_weight))

    def _scores(self, X: Any) -> np.ndarray:
        if hasattr(self.estimator_, "predict_proba"):
            return np.asarray(self.estimator_.predict_proba(X)[:, 1], dtype=float)
        if hasattr(self.estimator_, "decision_function"):
            return np.asarray(self.estimator_.decision_function(X), dtype=float)
        return (np.asarray(self.estimator_.predict(X)) == self.classes_[1]).astype(float)

    @staticmethod
    def _groups(sensitive: Any, n: int) -> tuple[list, np.ndarray]:
        if sensitive is None:
            return ["all"], np.zeros(n, dtype=np.intp)
        return group_codes(sensitive, n)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._inner).input_tags
        tags.classifier_tags.multi_class = False
        return tags


def _uniform_of_rows(X: Any, scores: np.ndarray, seed: int) -> np.ndarray:
    """A number from [0, 1) for each row that hangs on its features and the seed.

    Rows that are not numbers in an array stand in by their scores, as float32: the last bits of a
    score hang on how many rows are asked for at once.
    """
    values = np.asarray(X) if not hasattr(X, "format") else np.empty(0)
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        values = scores[:, None].astype(np.float32)
    columns = values.astype(np.float64).T
    bits = np.full(len(scores), np.uint64(int(seed) % 2**64))
    for column in columns:
        bits = mixed(bits ^ (np.ascontiguousarray(column + 0.0)).view(np.uint64))
        bits = bits + np.uint64(0x9E3779B97F4A7C15)
    return (mixed(bits) >> np.uint64(11)) * 2.0**-53
