"""Boosting of weak classifiers by reweighting of the rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.metrics import accuracy_score
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from panlearn.core.capabilities import Capabilities
from panlearn.core.estimator import fitting
from panlearn.core.labels import encode_labels
from panlearn.core.learned import shapes
from panlearn.core.parameters import Positive, RandomState
from panlearn.core.random import generator
from panlearn.tree._base import (
    MemberCount,
    ProbabilisticClassifier,
    read_training,
    set_classes,
)
from panlearn.tree._features import presort
from panlearn.tree._members import checked_base, seeded_copy
from panlearn.tree._stump import best_stump, cut_into_blocks, reweight, stump_tree
from panlearn.tree.decision_tree import DecisionTreeClassifier


@dataclass(eq=False, repr=False)
class AdaBoostClassifier(ProbabilisticClassifier):
    r"""AdaBoost for any number of classes (SAMME): each member attends to the mistakes before it.

    .. math::
        F(x) = \sum_m \alpha_m\, e_{h_m(x)}, \qquad
        \alpha_m = \eta \Bigl( \log \frac{1 - \epsilon_m}{\epsilon_m} + \log (K - 1) \Bigr), \qquad
        w_i \leftarrow w_i\, e^{\alpha_m [h_m(x_i) \ne y_i]}

    Parameters
    ----------
    estimator : classifier, default=None
        What is boosted, such as ``DecisionTreeClassifier(max_depth=3)``; its fit takes
        sample_weight. None for stumps: trees that ask one question.
    n_estimators : int, default=50
        The most members, 100,000 at most.
    learning_rate : float, default=1.0
        The factor :math:`\eta` of each member's weight.
    random_state : int, Generator or RandomState, default=None
        Seeds an estimator that takes a random_state; stumps need none.
    warm_start : bool, default=False
        Keep the members of the last fit, and boost on up to n_estimators: the same members as of
        one fit, if the data are the same and random_state is an integer.

    Attributes
    ----------
    estimators_ : list of classifiers
        The members, in order.
    estimator_weights_ : ndarray of shape (n_members,)
        Their weights :math:`\alpha`.
    estimator_errors_ : ndarray of shape (n_members,)
        Their errors :math:`\epsilon` under the weights that they were fitted with.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    feature_importances_ : ndarray of shape (n_features,)
        Those of the members, averaged with their weights, if they have them.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    For stumps the rows are sorted by each feature once and cut into some 255 blocks. A member costs
    one pass that sums the weights of each block in the order of memory, :math:`O(n d)`; the rows
    inside a block are walked only where a bound from the convexity of the Gini score says that they
    may hold the best threshold, so the stump is exact.

    With two classes and learning rate 1, a member's error under the weights that it leaves to the
    next is exactly one half. Boosting stops early at a member without error, which then decides
    alone with what came before, and before a member that is no better than chance; if the first
    is, it is kept alone.

    References
    ----------
    Y. Freund and R. E. Schapire (1997). A decision-theoretic generalization of on-line learning and
    an application to boosting. Journal of Computer and System Sciences 55(1).
    doi:10.1006/jcss.1997.1504

    J. Zhu, H. Zou, S. Rosset and T. Hastie (2009). Multi-class AdaBoost. Statistics and Its
    Interface 2(3). doi:10.4310/SII.2009.v2.n3.a8

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from panlearn.tree import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=20).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.92
    True
    """

    learned = shapes(
        estimator_weights_="(n_members,)",
        estimator_errors_="(n_members,)",
        feature_importances_="(n_features,)",
    )

    capabilities = Capabilities(missing=True, sparse=True)

    estimator: Any = None
    _: KW_ONLY
    n_estimators: MemberCount = 50
    learning_rate: Positive[float] = 1.0
    random_state: RandomState = None
    warm_start: bool = False

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Boost on training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; NaN is a missing value.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights that the boosting starts from.

        Returns
        -------
        AdaBoostClassifier
            The model itself.
        """
        X, y, weight = read_training(self, X, y, sample_weight, "labels")
        X = X if sparse.issparse(X) else np.ascontiguousarray(X)
        self.classes_, codes = encode_labels(y)
        learn = self._stumps(X, codes) if self.estimator is None else self._copies(X, codes)
        k = len(self.classes_)
        weight = weight / weight.max()
        weight /= weight.sum()
        old = list(getattr(self, "estimators_", []))  # of a warm start: their weights once more
        members: list[Any] = []
        alphas, errors = [], []
        for m in range(self.n_estimators):
            member = learn(weight) if m >= len(old) else old[m]
            wrong = self._votes(member, X) != codes
            error, alpha = reweight(weight, wrong, k, float(self.learning_rate))
            if error >= 1 - 1 / k and members:
                break
            members.append(member)
            alphas.append(alpha)
            errors.append(error)
            if not 0 < error < 1 - 1 / k:
                break
        self.estimators_ = members
        self.estimator_weights_, self.estimator_errors_ = np.array(alphas), np.array(errors)
        if all(hasattr(member, "feature_importances_") for member in members):
            importances = [member.feature_importances_ for member in members]
            self.feature_importances_ = np.average(importances, axis=0, weights=alphas)
        return self

    def _stumps(self, X: Any, codes: np.ndarray) -> Callable[[np.ndarray], Any]:
        """A function from weights to the best stump."""
        k, d = len(self.classes_), X.shape[1]
        features = presort(X)
        blocks = cut_into_blocks(features)

        def learn(weight: np.ndarray) -> DecisionTreeClassifier:
            member = DecisionTreeClassifier(max_depth=1)
            set_classes(member, [self.classes_])
            member.n_features_in_ = d
            member.tree_ = stump_tree(features, *best_stump(blocks, codes, weight, k))
            return member

        return learn

    def _copies(self, X: Any, codes: np.ndarray) -> Callable[[np.ndarray], Any]:
        """A function from weights to a fitted copy of the estimator."""
        base = checked_base(self.estimator)
        if not has_fit_parameter(base, "sample_weight"):
            raise ValueError(f"estimator must take sample_weight in fit; got {base!r}")
        rng = generator(self.random_state)
        return lambda weight: seeded_copy(base, rng).fit(
            X, self.classes_[codes], sample_weight=weight.copy()
        )

    def _votes(self, member: Any, X: Any) -> np.ndarray:
        """The place of each row's predicted label among the classes."""
        if isinstance(member, DecisionTreeClassifier):  # X is checked already
            return member.tree_.value.argmax(axis=1)[member.tree_.apply(X)]
        return np.searchsorted(self.classes_, member.predict(X))

    def _staged_votes(self, X: Any) -> Iterator[tuple[np.ndarray, float]]:
        """The summed weights of the members that vote for each class, and of all, so far."""
        votes, at = np.zeros((X.shape[0], len(self.classes_))), np.arange(X.shape[0])
        mass = 0.0
        for member, alpha in zip(self.estimators_, self.estimator_weights_, strict=True):
            votes[at, self._votes(member, X)] += alpha
            mass += alpha
            yield votes, mass

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """Score each row by the first member, by the first two, and so on.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Yields
        ------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            As `decision_function` gives it.
        """
        X = self._rows(X)
        for votes, mass in self._staged_votes(X):
            yield scores_of(votes, mass, X.dtype)

    def decision_function(self, X: Any) -> np.ndarray:
        """Score each row by the weighted votes of the members.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            At most 1; with two classes their difference, and a positive score stands for
            ``classes_[1]``.
        """
        X = self._rows(X)
        votes, mass = deque(self._staged_votes(X), maxlen=1).pop()
        return scores_of(votes, mass, X.dtype)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict the probability of each class: the softmax of its score.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        scores = self.decision_function(X)
        return probabilities_of(scores)

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Predict the probabilities by the first member, by the first two, and so on.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
        """
        for scores in self.staged_decision_function(X):
            yield probabilities_of(scores)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Predict the labels by the first member, by the first two, and so on.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; NaN is a missing value.

        Yields
        ------
        ndarray of shape (n_samples,)
        """
        for probabilities in self.staged_predict_proba(X):
            yield self.classes_[probabilities.argmax(axis=1)]

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Measure the accuracy of the first member, of the first two, and so on.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; NaN is a missing value.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Yields
        ------
        float
        """
        for labels in self.staged_predict(X):
            yield float(accuracy_score(y, labels, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "fit"):
            inner = get_tags(self.estimator).input_tags
            tags.input_tags.allow_nan, tags.input_tags.sparse = inner.allow_nan, inner.sparse
        return tags


def scores_of(votes: np.ndarray, mass: float, dtype: Any) -> np.ndarray:
    """What `AdaBoostClassifier.decision_function` gives: of a sum zero over the classes."""
    k = votes.shape[1]
    scores = ((votes / mass * k - 1) / (k - 1)).astype(dtype)
    return scores[:, 1] - scores[:, 0] if k == 2 else scores


def probabilities_of(scores: np.ndarray) -> np.ndarray:
    """The softmax of what `AdaBoostClassifier.decision_function` gives."""
    if scores.ndim == 1:
        return softmax(np.column_stack([-scores, scores]) / 2, axis=1)
    return softmax(scores / (scores.shape[1] - 1), axis=1)
