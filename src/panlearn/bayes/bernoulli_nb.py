"""Bernoulli naive Bayes."""

from __future__ import annotations

import functools
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.extmath import safe_sparse_dot

from panlearn.bayes._base import LOG_ZERO, DensityClassifier
from panlearn.bayes._class_statistics import ClassSums, long_blocks
from panlearn.bayes._discrete import class_log_prior, log_ratio, smoothing
from panlearn.core.learned import shapes
from panlearn.core.map_reduce import map_reduce
from panlearn.core.parameters import NonNegative
from panlearn.core.sources import Rows


@dataclass(eq=False, repr=False)
class BernoulliNB(DensityClassifier):
    r"""Naive Bayes for features that are there or not.

    .. math::
        p(y = c \mid x) \propto \pi_c \prod_j \theta_{cj}^{x_j} (1 - \theta_{cj})^{1 - x_j}, \qquad
        \theta_{cj} = \frac{N_{cj} + \alpha_j}{N_c + 2 \alpha_j}

    where :math:`N_c` rows are in class c and :math:`N_{cj}` of them have feature j.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Additive smoothing: 1 is Laplace's rule, 0 is maximum likelihood.
    force_alpha : bool, default=True
        Whether to keep an alpha below 1e-10 instead of raising it to that.
    binarize : float, default=0.0
        A feature is there if its value is above this; None if X holds only 0 and 1.
    fit_prior : bool, default=True
        Whether to learn the probabilities of the classes; if not, they are equal.
    class_prior : array-like of shape (n_classes,), default=None
        Probabilities :math:`\pi_c` of the classes, if they are known.

    Attributes
    ----------
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Logarithms of :math:`\theta_{cj}`.
    feature_count_ : ndarray of shape (n_classes, n_features)
        The counts :math:`N_{cj}`.
    class_log_prior_ : ndarray of shape (n_classes,)
        Logarithms of :math:`\pi_c`.
    class_count_ : ndarray of shape (n_classes,)
        The counts :math:`N_c`.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    statistic_ : ClassSums
        The counts of the rows seen, from which `partial_fit` goes on.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    One pass over the stored entries of X. X may be an array, a sparse matrix, a stream of batches
    or a Dask collection, and `partial_fit` goes on, with the same numbers. A feature that is absent
    counts as evidence, which is what sets this model apart from `MultinomialNB`. A dense X costs
    :math:`O(n d)`.

    References
    ----------
    A. McCallum and K. Nigam (1998). A comparison of event models for naive Bayes text
    classification. AAAI Workshop on Learning for Text Categorization.

    Examples
    --------
    >>> from panlearn.bayes import BernoulliNB
    >>> model = BernoulliNB().fit([[1, 1], [1, 0], [0, 1], [0, 1]], ["a", "a", "b", "b"])
    >>> model.predict_proba([[1, 1]]).round(3)
    array([[0.667, 0.333]])
    """

    learned = shapes(
        feature_count_="(n_classes, n_features)",
        feature_log_prob_="(n_classes, n_features)",
    )

    _: KW_ONLY
    alpha: NonNegative[float] | np.ndarray = 1.0
    force_alpha: bool = True
    binarize: float | None = 0.0
    fit_prior: bool = True
    class_prior: np.ndarray | None = None

    def _summarise(self, rows: Rows) -> ClassSums:
        return map_reduce(functools.partial(_sums, self.binarize), long_blocks(rows))

    def _solve(self, statistic: ClassSums, rows: Rows) -> None:
        self.class_log_prior_ = class_log_prior(self)
        self.class_count_, self.feature_count_ = statistic.classes.count, statistic.total
        alpha = smoothing(self)
        whole = self.class_count_[:, None] + 2 * alpha
        self.feature_log_prob_ = log_ratio(statistic.total + alpha, whole, 2)

    def _log_joint(self, X: Any) -> np.ndarray:
        X = binary(X, self.binarize)
        with np.errstate(divide="ignore"):
            absent = np.log(-np.expm1(self.feature_log_prob_))
        scores = _evidence(X, _finite(self.feature_log_prob_), _finite(absent))
        if not (np.isfinite(absent).all() and np.isfinite(self.feature_log_prob_).all()):
            # count the impossible features: infinite terms would swallow the finite ones
            present, absent = np.isneginf(self.feature_log_prob_), np.isneginf(absent)
            scores += LOG_ZERO * _evidence(X, present.astype(float), absent.astype(float))
        return scores + self.class_log_prior_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


def _finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isneginf(values), 0.0, values)


def _evidence(X: Any, present: np.ndarray, absent: np.ndarray) -> np.ndarray:
    """sum_j (x_j present_cj + (1 - x_j) absent_cj), for dense or sparse x of 0 and 1."""
    return safe_sparse_dot(X, (present - absent).T, dense_output=True) + absent.sum(axis=1)


def _sums(threshold: float | None, X: Any, y: Any, weight: np.ndarray | None) -> ClassSums:
    return ClassSums.of(binary(X, threshold), y, weight)


def binary(X: Any, threshold: float | None) -> Any:
    """Turn a block into 0 and 1: above the threshold or not; sparse stays sparse if it can."""
    if sparse.issparse(X):
        X = X.copy()
        X.sum_duplicates()
        if threshold is not None and threshold < 0:
            X = X.toarray()  # what is not stored is above the threshold
    values = X.data if sparse.issparse(X) else X
    assert_all_finite(values, input_name="X")
    if threshold is None:
        if not np.isin(values, (0, 1)).all():
            raise ValueError("with binarize=None X must hold only 0 and 1; give binarize a number")
        return X
    values = (values > threshold).astype(float)
    if sparse.issparse(X):
        X.data = values
        return X
    return values
