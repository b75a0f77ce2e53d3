"""A mixture of Gaussians for each class."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from panlearn.bayes._base import DensityRule, log_of, priors_of
from panlearn.core.capabilities import Capabilities
from panlearn.core.errors import visible
from panlearn.core.estimator import fitting
from panlearn.core.interrupts import interruption
from panlearn.core.labels import require_two_classes
from panlearn.core.parameters import NonNegative, Positive, RandomState
from panlearn.core.random import generator
from panlearn.core.starts import Starts
from panlearn.core.statistics import LabelCounts
from panlearn.core.validation import FLOATS, reject_hidden
from panlearn.latent import GaussianMixture


@dataclass(eq=False, repr=False)
class GaussianMixtureClassifier(DensityRule):
    r"""Bayes' rule with a mixture of Gaussians for the rows of each class.

    .. math::
        p(y = c \mid x) \propto \pi_c \sum_{j=1}^k w_{cj} \, \mathcal{N}(x \mid \mu_{cj},
        \Sigma_{cj})

    Parameters
    ----------
    n_components : int, default=1
        The number k of components of each class; 1 is quadratic discriminant analysis.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        A matrix each, one matrix for all of a class, a variance for each feature, or one variance.
    priors : array-like of shape (n_classes,), default=None
        Probabilities :math:`\pi_c` of the classes; by default their shares of the data.
    tol : float, default=1e-3
        EM ends when the mean log-likelihood of a class changes by no more than this.
    reg_covar : float, default=1e-6
        The floor of the eigenvalues of the covariances.
    max_iter : int, default=100
        The most iterations of one start.
    n_init : int, default=1
        How many starts to try for each class; the highest likelihood wins.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the starts.

    Attributes
    ----------
    mixtures_ : list of GaussianMixture
        The model of each class.
    priors_ : ndarray of shape (n_classes,)
        The probabilities :math:`\pi_c`.
    n_iter_ : int
        The most iterations that a class took.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    The likelihood of rows and labels falls apart into one mixture a class, so that EM runs for each
    on its own rows. NaN is a missing entry and is marginalised exactly, in `fit` and afterwards. A
    row that no class makes likely stands out in `score_samples`. An iteration costs
    :math:`O(n k d^2)` for k components a class.

    References
    ----------
    T. Hastie and R. Tibshirani (1996). Discriminant analysis by Gaussian mixtures. JRSS B 58(1).
    doi:10.1111/j.2517-6161.1996.tb02073.x

    Examples
    --------
    >>> from panlearn.bayes import GaussianMixtureClassifier
    >>> X = [[-4.2], [-4.0], [3.8], [4.2], [-0.2], [0.1], [0.3], [0.0]]
    >>> y = ["outer"] * 4 + ["inner"] * 4
    >>> model = GaussianMixtureClassifier(2, reg_covar=0.1, random_state=0).fit(X, y)
    >>> model.predict([[-4.1], [0.2], [4.0]])
    array(['outer', 'inner', 'outer'], dtype='<U5')
    """

    capabilities = Capabilities(any_order=True, missing=True, sparse=True)

    n_components: Positive[int] = 1
    _: KW_ONLY
    covariance_type: Literal["full", "tied", "diag", "spherical"] = "full"
    priors: np.ndarray | None = None
    tol: NonNegative[float] = 1e-3
    reg_covar: NonNegative[float] = 1e-6
    max_iter: Positive[int] = 100
    n_init: Starts = 1
    random_state: RandomState = None

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn a mixture for each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; NaN is missing.
        y : array-like of shape (n_samples,)
            The labels, of any type that sorts.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; an integer weight is a repeated row.

        Returns
        -------
        GaussianMixtureClassifier
            The model itself.
        """
        reject_hidden(X=X, y=y, sample_weight=sample_weight)
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=FLOATS, ensure_all_finite="allow-nan"
        )
        check_classification_targets(y)
        weight = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
        X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        seen = LabelCounts.of(y, weight)
        require_two_classes(seen.labels)
        self.classes_ = seen.labels
        self.priors_ = priors_of(self.priors, "priors", seen.labels, seen.count)
        rng = generator(self.random_state)
        with interruption():  # one that is asked for ends the mixture of every class
            self.mixtures_ = [
                self._mixture(X[y == c], c, weight[y == c], int(rng.integers(2**31)))
                for c in seen.labels
            ]
        self.n_iter_ = max(mixture.n_iter_ for mixture in self.mixtures_)
        return self

    def _mixture(self, X: Any, label: Any, weight: np.ndarray, seed: int) -> GaussianMixture:
        if X.shape[0] < self.n_components:
            raise ValueError(
                f"class {visible(str(label))} has {X.shape[0]} rows, fewer than n_components="
                f"{self.n_components}; ask for fewer components"
            )
        model = GaussianMixture(
            self.n_components,
            covariance_type=self.covariance_type,
            tol=self.tol,
            reg_covar=self.reg_covar,
            max_iter=self.max_iter,
            n_init=self.n_init,
            random_state=seed,
        )
        return model.fit(X, sample_weight=weight)

    def _log_joint(self, X: Any) -> np.ndarray:
        """Give log π_c + log p(x | c)."""
        densities = [mixture.score_samples(X) for mixture in self.mixtures_]
        return np.stack(densities, axis=1).astype(float) + log_of(self.priors_)
