"""What generative classifiers share: how they learn, and Bayes' rule."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin

from panlearn.bayes._class_statistics import ClassStatistic
from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.estimator import Estimator, fitting
from panlearn.core.labels import require_two_classes
from panlearn.core.learned import shapes
from panlearn.core.mergeable import Mergeable
from panlearn.core.plain import known_rows
from panlearn.core.short_rows import first_largest, softmax
from panlearn.core.sources import ArrayRows, Rows
from panlearn.core.validation import read_rows

LOG_ZERO = -1e30  # stands for log 0: no evidence outweighs it, and sums with it stay finite


class ClassLearner(ClassifierMixin, Mergeable):
    """A classifier that is learned from a statistic of each class; abstract."""

    capabilities = Capabilities(sources=ANYWHERE, any_order=True, partial_fit="exact", sparse=True)

    classes_: np.ndarray

    def _read_training(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Rows:
        return read_rows(self, X, y, sample_weight, targets="labels", reset=reset)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        rows = self._read_training(X, y, sample_weight, reset=True)
        statistic: ClassStatistic = self._summarise(rows)
        require_two_classes(statistic.classes.labels)
        return self._take(statistic, rows)

    @fitting
    def partial_fit(  # type: ignore[override]  # the arguments of scikit-learn's classifiers
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from more data as if it had been there from the start.

        Parameters
        ----------
        X, y
            As in `fit`.
        classes : array-like of shape (n_classes,), default=None
            Labels that may come later; those that come unannounced are learned too. If it is given,
            y must hold no others.
        sample_weight
            As in `fit`.

        Returns
        -------
        self
            The model itself.
        """
        rows, seen = self._read_more(X, y, sample_weight)
        statistic: ClassStatistic = self._summarise(rows)
        if classes is not None:
            named = np.unique(np.asarray(classes))
            if other := [c for c in statistic.classes.labels if c not in named]:
                raise ValueError(f"y holds labels {other}, which are not among classes {named}")
            statistic = statistic.declare(named)
        return self._take(seen + statistic, rows)

    def _take(self, statistic: Any, rows: Rows) -> Self:
        self.classes_ = statistic.classes.labels
        return super()._take(statistic, rows)

    def _priors(self, given: Any, name: str) -> np.ndarray:
        """Probabilities of the classes: those given, or their shares of the weight."""
        return priors_of(given, name, self.classes_, self.statistic_.classes.count)


def priors_of(given: Any, name: str, classes: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Probabilities of classes: those given, checked, or their shares of the weight."""
    if given is None:
        return count / count.sum()
    try:
        priors = np.array(given, dtype=float)  # a copy: the caller's array stays the caller's
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers; got {given!r}") from error
    if priors.shape != count.shape:
        raise ValueError(
            f"{name} needs one number for each of the classes {classes.tolist()}; "
            f"got shape {priors.shape}"
        )
    if not (priors >= 0).all() or abs(priors.sum() - 1) > 1e-8:
        raise ValueError(
            f"{name} must be probabilities that sum to 1; got {priors}, with sum {priors.sum()}"
        )
    return priors


def log_of(probability: np.ndarray) -> np.ndarray:
    """Logarithms with `LOG_ZERO` for the logarithm of zero."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(probability), LOG_ZERO)


class BayesRule(ClassifierMixin, Estimator):
    """A classifier that decides by a model of rows and classes, p(x, y); abstract."""

    learned = shapes(
        class_count_="(n_classes,)",
        class_prior_="(n_classes,)",
        class_log_prior_="(n_classes,)",
        priors_="(n_classes,)",
    )

    classes_: np.ndarray

    @abstractmethod
    def _log_joint(self, X: Any) -> np.ndarray:
        """Give log p(x, y), (n, k), for a block of rows, dense or sparse."""

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable label of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        joint, _ = self._score_rows(X)
        return self.classes_[first_largest(joint)]

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of the joint probability of each row and each class, log p(x, y).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns are in the order of ``classes_``.
        """
        return rounded(*self._score_rows(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of the probability of each class, finite where the probability underflows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns are in the order of ``classes_``.
        """
        joint, dtype = self._score_rows(X)
        values = joint - logsumexp(joint, axis=1, keepdims=True)
        # a probability that rounds to one has the logarithm zero
        return rounded(np.where(values > -np.finfo(dtype).epsneg, 0.0, values), dtype)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class given the row, by Bayes' rule.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns are in the order of ``classes_``.
        """
        joint, dtype = self._score_rows(X)
        return rounded(softmax(joint), dtype)

    def _score_rows(self, X: Any) -> tuple[np.ndarray, np.dtype]:
        """The joint log-probabilities of rows given by the user, and the floats of those."""
        self._require_fitted()
        missing = self.__sklearn_tags__().input_tags.allow_nan
        X = known_rows(self, X, accept_sparse="csr", allow_nan=missing)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            parts = [self._log_joint(block.X) for block in ArrayRows(X, None, None)]
        # a row that is beyond all classes has no finite density; it still has a nearest class
        joint = np.concatenate(parts) if len(parts) > 1 else parts[0]
        return np.fmax(joint, -1e300, out=joint), X.dtype


class DensityRule(BayesRule):
    """Bayes' rule with a p(x) that is a normalised density of the rows; abstract."""

    def score_samples(self, X: Any) -> np.ndarray:
        r"""Log density of each row, :math:`\log p(x) = \log \sum_c p(c) \, p(x \mid c)`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        joint, dtype = self._score_rows(X)
        return rounded(logsumexp(joint, axis=1), dtype)


class GenerativeClassifier(BayesRule, ClassLearner):
    """A classifier that models the rows of each class, p(x | y), and the classes; abstract."""


class DensityClassifier(DensityRule, GenerativeClassifier):
    """A generative classifier whose p(x) is a normalised density of the rows; abstract."""


def rounded(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Round to the floats of the input; what is beyond them becomes the least or largest."""
    ends = np.finfo(dtype)
    return np.clip(values, ends.min, ends.max).astype(dtype, copy=False)
