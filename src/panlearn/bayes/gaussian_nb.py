"""Gaussian naive Bayes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse

from panlearn.bayes._base import DensityClassifier, log_of, rounded
from panlearn.bayes._class_statistics import ClassVariances
from panlearn.core.learned import shapes
from panlearn.core.map_reduce import map_reduce
from panlearn.core.parameters import NonNegative
from panlearn.core.sources import Rows


@dataclass(eq=False, repr=False)
class GaussianNB(DensityClassifier):
    r"""Naive Bayes with a normal distribution for each feature in each class.

    .. math::
        p(y = c \mid x) \propto \pi_c \prod_j \mathcal{N}(x_j; \mu_{cj}, \sigma_{cj}^2)

    Parameters
    ----------
    priors : array-like of shape (n_classes,), default=None
        Probabilities :math:`\pi_c` of the classes; by default their shares of the data.
    var_smoothing : float, default=1e-09
        Every variance is raised by this part of the largest variance of a feature.

    Attributes
    ----------
    theta_ : ndarray of shape (n_classes, n_features)
        The means :math:`\mu_{cj}`.
    var_ : ndarray of shape (n_classes, n_features)
        The variances :math:`\sigma_{cj}^2`, those of maximum likelihood and `epsilon_`.
    class_prior_ : ndarray of shape (n_classes,)
        The probabilities :math:`\pi_c`.
    class_count_ : ndarray of shape (n_classes,)
        Weight of the rows of each class.
    epsilon_ : float
        What the variances were raised by.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    statistic_ : ClassVariances
        The moments of the rows seen, from which `partial_fit` goes on.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    One pass over the rows, :math:`O(n d)`: a block is centred at its class means before it is
    squared, and blocks are merged by Chan's update, so features at an offset of 1e8 keep their
    digits. X may be an array, a sparse matrix, a stream of batches or a Dask collection, and
    `partial_fit` goes on, with the same numbers. Features that are not independent within a class
    are counted as if they were, which makes the probabilities too extreme.

    References
    ----------
    T. F. Chan, G. H. Golub and R. J. LeVeque (1983). Algorithms for computing the sample variance.
    The American Statistician 37(3). doi:10.1080/00031305.1983.10483115

    D. J. Hand and K. Yu (2001). Idiot's Bayes: not so stupid after all? International Statistical
    Review 69(3). doi:10.1111/j.1751-5823.2001.tb00465.x

    Examples
    --------
    >>> from panlearn.bayes import GaussianNB
    >>> model = GaussianNB().fit([[-2.0], [-1.0], [1.0], [3.0]], ["low", "low", "high", "high"])
    >>> model.theta_.ravel(), model.predict([[0.0]])
    (array([ 2. , -1.5]), array(['high'], dtype='<U4'))
    """

    learned = shapes(
        theta_="(n_classes, n_features)",
        var_="(n_classes, n_features)",
    )

    _: KW_ONLY
    priors: np.ndarray | None = None
    var_smoothing: NonNegative[float] = 1e-9

    def _summarise(self, rows: Rows) -> ClassVariances:
        return map_reduce(ClassVariances.of, rows)

    def _solve(self, statistic: ClassVariances, rows: Rows) -> None:
        self.class_prior_ = self._priors(self.priors, "priors")
        self.class_count_ = statistic.classes.count
        share = self.class_count_ / statistic.weight
        between = share @ (statistic.mean - share @ statistic.mean) ** 2
        largest = np.max(statistic.scatter.sum(axis=0) / statistic.weight + between)
        # where nothing varies, any width will do
        self.epsilon_ = self.var_smoothing * float(largest if largest > 0 else 1.0)
        self.theta_ = rounded(statistic.mean, rows.dtype)
        self.var_ = rounded(self._variances(), rows.dtype)

    def _variances(self) -> np.ndarray:
        """The variances in float64, whatever the floats of X."""
        count = np.maximum(self.statistic_.classes.count, np.finfo(float).tiny)[:, None]
        return self.statistic_.scatter / count + self.epsilon_

    def _log_joint(self, X: Any) -> np.ndarray:
        """Give log pi_c - sum_j (log(2 pi sigma^2) + ((x - mu) / sigma)^2) / 2."""
        X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)
        # without smoothing a feature may be constant in a class: then narrow beside the others
        means, variances = self.statistic_.mean, self._variances()
        widest = np.max(variances + (means - means.mean(axis=0)) ** 2)
        variances = np.where(variances > 0, variances, np.finfo(float).eps * widest)
        deviation = np.sqrt(np.maximum(variances, np.finfo(float).tiny))
        constant = log_of(self.class_prior_) - np.log(np.sqrt(2 * np.pi) * deviation).sum(axis=1)
        squares = np.empty((len(X), len(self.classes_)))
        for c, (mean, width) in enumerate(zip(means, deviation, strict=True)):
            z = (X - mean) / width
            squares[:, c] = np.einsum("ij,ij->i", z, z)
        return constant - squares / 2
