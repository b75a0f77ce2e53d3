"""Multinomial naive Bayes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.extmath import safe_sparse_dot

from panlearn.bayes._base import LOG_ZERO, GenerativeClassifier
from panlearn.bayes._class_statistics import ClassSums, long_blocks
from panlearn.bayes._discrete import class_log_prior, log_ratio, smoothing
from panlearn.core.learned import shapes
from panlearn.core.map_reduce import map_reduce
from panlearn.core.parameters import NonNegative
from panlearn.core.short_rows import shifted
from panlearn.core.sources import Rows


@dataclass(eq=False, repr=False)
class MultinomialNB(GenerativeClassifier):
    r"""Naive Bayes for counts, such as the words of a document.

    .. math::
        p(y = c \mid x) \propto \pi_c \prod_j \theta_{cj}^{x_j}, \qquad
        \theta_{cj} = \frac{N_{cj} + \alpha_j}{\sum_l (N_{cl} + \alpha_l)}

    where :math:`N_{cj}` is the total of feature j over the rows of class c.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Additive smoothing: 1 is Laplace's rule, 0 is maximum likelihood.
    force_alpha : bool, default=True
        Whether to keep an alpha below 1e-10 instead of raising it to that.
    fit_prior : bool, default=True
        Whether to learn the probabilities of the classes; if not, they are equal.
    class_prior : array-like of shape (n_classes,), default=None
        Probabilities :math:`\pi_c` of the classes, if they are known.

    Attributes
    ----------
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Logarithms of :math:`\theta_{cj}`.
    feature_count_ : ndarray of shape (n_classes, n_features)
        The totals :math:`N_{cj}`.
    class_log_prior_ : ndarray of shape (n_classes,)
        Logarithms of :math:`\pi_c`.
    class_count_ : ndarray of shape (n_classes,)
        Weight of the rows of each class.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    statistic_ : ClassSums
        The sums over the rows seen, from which `partial_fit` goes on.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    One pass over the stored entries of X. X may be an array, a sparse matrix, a stream of batches
    or a Dask collection, and `partial_fit` goes on, with the same numbers. Where a probability is
    zero (alpha = 0) a row with that feature is as good as impossible in the class, but its score
    stays finite. A dense X costs :math:`O(n d)`.

    References
    ----------
    A. McCallum and K. Nigam (1998). A comparison of event models for naive Bayes text
    classification. AAAI Workshop on Learning for Text Categorization.

    Examples
    --------
    >>> from panlearn.bayes import MultinomialNB
    >>> model = MultinomialNB().fit([[2, 0, 1], [1, 0, 1], [0, 3, 1]], ["ham", "ham", "spam"])
    >>> model.predict_proba([[0, 1, 0]]).round(3)
    array([[0.304, 0.696]])
    """

    learned = shapes(
        feature_count_="(n_classes, n_features)",
        feature_log_prob_="(n_classes, n_features)",
    )

    _: KW_ONLY
    alpha: NonNegative[float] | np.ndarray = 1.0
    force_alpha: bool = True
    fit_prior: bool = True
    class_prior: np.ndarray | None = None

    def _summarise(self, rows: Rows) -> ClassSums:
        return map_reduce(_sums, long_blocks(rows))

    def _solve(self, statistic: ClassSums, rows: Rows) -> None:
        self.class_log_prior_ = class_log_prior(self)
        self.class_count_, self.feature_count_ = statistic.classes.count, statistic.total
        smoothed = statistic.total + smoothing(self)
        whole = smoothed.sum(axis=1, keepdims=True)
        self.feature_log_prob_ = log_ratio(smoothed, whole, self.n_features_in_)

    def _log_joint(self, X: Any) -> np.ndarray:
        _require_counts(X)
        weights = np.maximum(self.feature_log_prob_, LOG_ZERO)
        return shifted(safe_sparse_dot(X, weights.T, dense_output=True), self.class_log_prior_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags


def _sums(X: Any, y: Any, weight: np.ndarray | None) -> ClassSums:
    _require_counts(X)
    return ClassSums.of(X, y, weight)


def _require_counts(X: Any) -> None:
    values = X.data if sparse.issparse(X) else X
    if values.size and values.min() < 0:
        assert_all_finite(values, input_name="X")  # minus infinity is worse than negative
        raise ValueError(
            f"Negative values in data passed to MultinomialNB: X holds {values.min()}, and counts "
            "are not negative; use GaussianNB, or shift the features"
        )
