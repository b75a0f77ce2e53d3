"""Categorical naive Bayes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite

from panlearn.bayes._base import LOG_ZERO, DensityClassifier
from panlearn.bayes._class_statistics import ClassStatistic, Labelled
from panlearn.bayes._discrete import class_log_prior, log_ratio, smoothing
from panlearn.core.learned import shapes
from panlearn.core.map_reduce import map_reduce
from panlearn.core.parameters import NonNegative, Positive
from panlearn.core.sources import Rows
from panlearn.core.statistics import LabelCounts

MOST_CATEGORIES = 1 << 24


@dataclass(frozen=True)
class CategoryCounts(ClassStatistic):
    r"""How often each category of each feature occurs in each class.

    Attributes
    ----------
    classes : LabelCounts
    n_categories : ndarray of shape (d,)
        The categories of a feature are 0, ..., n - 1.
    count : ndarray of shape (n_classes, sum of n_categories)
        Weighted counts, feature after feature.
    """

    n_categories: np.ndarray
    count: np.ndarray

    @classmethod
    def of(cls, X: Any, y: Any, weight: np.ndarray | None = None) -> Self:
        """Count a block."""
        block = Labelled.of(X, y, weight)
        X = categories(block.X)
        n, k = X.max(axis=0, initial=-1) + 1, len(block.classes.labels)
        cells = block.codes[:, None] * n.sum() + _starts(n) + X
        weights = np.broadcast_to(block.weight[:, None], X.shape)
        count = np.bincount(cells.ravel(), weights.ravel(), minlength=k * n.sum())
        return cls(block.classes, n, count.reshape(k, n.sum()))

    def with_categories(self, n: np.ndarray) -> Self:
        """Make room for at least n categories a feature."""
        n = np.maximum(n, self.n_categories)
        if (n == self.n_categories).all():
            return self
        count = np.zeros((len(self.count), n.sum()))
        shift = np.repeat(_starts(n) - _starts(self.n_categories), self.n_categories)
        count[:, np.arange(self.count.shape[1]) + shift] = self.count
        return type(self)(self.classes, n, count)

    def by_feature(self) -> list[np.ndarray]:
        """Cut the counts into one array of shape (n_classes, n_categories) a feature."""
        return np.split(self.count, _starts(self.n_categories)[1:], axis=1)

    def _placed(self, classes: LabelCounts, place: Callable[[np.ndarray], np.ndarray]) -> Self:
        return type(self)(classes, self.n_categories, place(self.count))

    def _merged(self, other: Any, classes: LabelCounts) -> Self:
        a, b = self.with_categories(other.n_categories), other.with_categories(self.n_categories)
        return type(self)(classes, a.n_categories, a.count + b.count)

    def __mul__(self, factor: float) -> Self:
        return type(self)(factor * self.classes, self.n_categories, factor * self.count)


def _starts(n: np.ndarray) -> np.ndarray:
    return np.cumsum(n) - n


def categories(X: Any) -> np.ndarray:
    """Rows of categories 0, 1, 2, ... as integers, or an error that says what else they are."""
    X = X.toarray() if sparse.issparse(X) else X
    with np.errstate(invalid="ignore"):  # what is no number is none of the integers either
        codes = X.astype(np.int64)
    few = codes.min(initial=0) >= 0 and codes.max(initial=0) < MOST_CATEGORIES
    if not (few and (codes == X).all()):
        assert_all_finite(X, input_name="X")
        value = X[(X < 0) | (np.floor(X) != X) | (X >= MOST_CATEGORIES)][0]
        what = "Negative values in data passed to" if value < 0 else "No category in data passed to"
        raise ValueError(
            f"{what} CategoricalNB: X holds {value}, and categories are the whole numbers from 0 "
            "up, few of them; encode them with sklearn.preprocessing.OrdinalEncoder"
        )
    return codes


@dataclass(eq=False, repr=False)
class CategoricalNB(DensityClassifier):
    r"""Naive Bayes for features that take one of several values without order.

    .. math::
        p(y = c \mid x) \propto \pi_c \prod_j \theta_{cj x_j}, \qquad
        \theta_{cjv} = \frac{N_{cjv} + \alpha}{N_c + \alpha n_j}

    where :math:`N_{cjv}` of the :math:`N_c` rows of class c have value v of the :math:`n_j` values
    of feature j.

    Parameters
    ----------
    alpha : float, default=1.0
        Additive smoothing: 1 is Laplace's rule, 0 is maximum likelihood.
    force_alpha : bool, default=True
        Whether to keep an alpha below 1e-10 instead of raising it to that.
    fit_prior : bool, default=True
        Whether to learn the probabilities of the classes; if not, they are equal.
    class_prior : array-like of shape (n_classes,), default=None
        Probabilities :math:`\pi_c` of the classes, if they are known.
    min_categories : int or array-like of shape (n_features,), default=None
        The least number of categories of a feature, if the data may not hold all of them.

    Attributes
    ----------
    feature_log_prob_ : list of n_features ndarrays of shape (n_classes, n_categories)
        Logarithms of :math:`\theta_{cjv}`.
    category_count_ : list of n_features ndarrays of shape (n_classes, n_categories)
        The counts :math:`N_{cjv}`.
    n_categories_ : ndarray of shape (n_features,)
        The numbers :math:`n_j`.
    class_log_prior_ : ndarray of shape (n_classes,)
        Logarithms of :math:`\pi_c`.
    class_count_ : ndarray of shape (n_classes,)
        The counts :math:`N_c`.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    statistic_ : CategoryCounts
        The counts of the rows seen, from which `partial_fit` goes on.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    The categories of a feature are the numbers 0, 1, 2 and so on, as
    `sklearn.preprocessing.OrdinalEncoder` makes them; a batch may bring new ones. A category above
    all that were counted says nothing about the class: its factor is left out. One pass,
    :math:`O(n d)`. X may be an array, a stream of batches or a Dask collection, and `partial_fit`
    goes on, with the same numbers.

    References
    ----------
    T. M. Mitchell (1997). Machine Learning, chapter 6. McGraw-Hill.

    Examples
    --------
    >>> from panlearn.bayes import CategoricalNB
    >>> model = CategoricalNB().fit([[0, 2], [0, 1], [1, 0], [2, 0]], ["no", "no", "yes", "yes"])
    >>> model.predict_proba([[0, 0]]).round(3), model.n_categories_
    (array([[0.5, 0.5]]), array([3, 3]))
    """

    learned = shapes(
        n_categories_="(n_features,)",
        category_count_="n_features of (n_classes, n_categories_i)",
        feature_log_prob_="n_features of (n_classes, n_categories_i)",
    )

    _: KW_ONLY
    alpha: NonNegative[float] = 1.0
    force_alpha: bool = True
    fit_prior: bool = True
    class_prior: np.ndarray | None = None
    min_categories: Positive[int] | np.ndarray | None = None

    def _summarise(self, rows: Rows) -> CategoryCounts:
        return map_reduce(CategoryCounts.of, rows)

    def _solve(self, statistic: CategoryCounts, rows: Rows) -> None:
        self.class_log_prior_ = class_log_prior(self)
        self.class_count_, alpha = statistic.classes.count, smoothing(self)
        counts = statistic.with_categories(self._least_categories())
        self.n_categories_, self.category_count_ = counts.n_categories, counts.by_feature()
        self.feature_log_prob_ = [
            log_ratio(count + alpha, self.class_count_[:, None] + alpha * n, n)
            for count, n in zip(self.category_count_, self.n_categories_, strict=True)
        ]

    def _least_categories(self) -> np.ndarray:
        least = np.asarray(0 if self.min_categories is None else self.min_categories)
        if least.dtype.kind not in "iu" or least.shape not in ((), (self.n_features_in_,)):
            raise ValueError(
                f"min_categories must be an int or {self.n_features_in_} of them, one a feature; "
                f"got {self.min_categories!r}"
            )
        if least.max() > MOST_CATEGORIES:
            raise ValueError(f"min_categories must not exceed {MOST_CATEGORIES}; got {least.max()}")
        return least

    def _log_joint(self, X: Any) -> np.ndarray:
        n = self.n_categories_
        # after the categories of each feature one more, the unknown, which has no say
        table = np.insert(np.hstack(self.feature_log_prob_), np.cumsum(n), 0, axis=1)
        table = np.maximum(table, LOG_ZERO)
        cells = np.minimum(categories(X), n) + _starts(n + 1)
        joint = np.repeat(self.class_log_prior_[:, None], len(cells), axis=1)
        for column in cells.T:
            joint += table.take(column, axis=1, mode="clip")
        return joint.T

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags
