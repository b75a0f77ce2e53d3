"""Decisions that may be left to someone else."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length

from panlearn.bayes._decision import DecisionMaker
from panlearn.core.parameters import NonNegative


@dataclass(eq=False, repr=False)
class AbstainingClassifier(DecisionMaker):
    r"""Predict the most probable label, or abstain where a mistake is more likely than it is worth.

    .. math::
        \hat y(x) = \begin{cases}
        \arg\max_c p(c \mid x) & \text{if } 1 - \max_c p(c \mid x) \le \lambda \\
        \text{abstain} & \text{otherwise} \end{cases}

    which has the least expected cost if a mistake costs 1 and an abstention :math:`\lambda`.

    Parameters
    ----------
    estimator : classifier, default=None
        Gives the probabilities; `GaussianNB` by default.
    cost : float, default=1.0
        The cost :math:`\lambda` of an abstention. With k classes the best guess is wrong with
        probability 1 - 1/k at most, so at that cost or more, as by default, it never abstains.
    abstain_label : object, default=-1
        What `predict` says where it abstains; not one of the labels.

    Attributes
    ----------
    estimator_ : classifier
        The fitted inner classifier.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_features_in_ : int
        Number of features, if the inner classifier knows it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, likewise.

    Notes
    -----
    With two classes it abstains where the probability of either lies strictly between
    :math:`\lambda` and :math:`1 - \lambda`: nowhere if :math:`\lambda \ge 1/2`. If the label of
    abstention and the labels are not of one kind, numbers or strings, predictions are objects.
    Beside the inner classifier a row costs :math:`O(k)` for k labels.

    References
    ----------
    C. K. Chow (1970). On optimum recognition error and reject tradeoff. IEEE Transactions on
    Information Theory 16(1). doi:10.1109/TIT.1970.1054406

    Examples
    --------
    >>> from panlearn.bayes import AbstainingClassifier
    >>> model = AbstainingClassifier(cost=0.2).fit([[-2.0], [0.0], [0.0], [2.0]], [0, 0, 1, 1])
    >>> model.predict([[-2.0], [0.1], [2.0]])
    array([ 0, -1,  1])
    """

    estimator: Any = None
    _: KW_ONLY
    cost: NonNegative[float] = 1.0
    abstain_label: Any = -1

    def abstains(self, X: Any) -> np.ndarray:
        """Say for which rows it abstains.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of bool of shape (n_samples,)
        """
        return self._abstains(self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Predict the label of each row, or `abstain_label`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        probability = self.predict_proba(X)
        labels = self.classes_[probability.argmax(axis=1)]
        if not self._may_abstain():
            return labels
        label = np.asarray(self.abstain_label)
        kinds = {"U" if a.dtype.kind == "U" else a.dtype.kind in "biuf" for a in (labels, label)}
        both = np.result_type(labels, label) if len(kinds) == 1 else object
        labels = labels.astype(both)
        labels[self._abstains(probability)] = self.abstain_label
        return labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """One less the mean cost: a right label counts 1, an abstention 1 - cost, a mistake 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The true labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        float
        """
        check_consistent_length(X, y, sample_weight)
        probability = self.predict_proba(X)
        right = self.classes_[probability.argmax(axis=1)] == np.asarray(y)
        gain = np.where(self._abstains(probability), 1 - self.cost, right)
        return float(np.average(gain, weights=sample_weight))

    def _abstains(self, probability: np.ndarray) -> np.ndarray:
        return 1 - probability.max(axis=1) > self.cost

    def _may_abstain(self) -> bool:
        return self.cost < 1 - 1 / len(self.classes_)

    def _check(self) -> None:
        if np.ndim(self.abstain_label):
            raise ValueError(f"abstain_label must be one label; got {self.abstain_label!r}")
        if self._may_abstain() and self.abstain_label in self.classes_.tolist():
            raise ValueError(
                f"abstain_label={self.abstain_label!r} is among the labels; choose another"
            )
