"""Linear discriminant analysis, as a classifier and as a projection."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from scipy import linalg
from scipy.special import expit, log_expit, log_softmax
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.extmath import safe_sparse_dot

from panlearn.bayes._base import ClassLearner, log_of
from panlearn.bayes._class_statistics import ClassRoots
from panlearn.bayes._ledoit_wolf import class_covariances
from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.learned import shapes
from panlearn.core.map_reduce import map_reduce
from panlearn.core.parameters import Fraction, NonNegative, Positive
from panlearn.core.plain import known_rows
from panlearn.core.short_rows import softmax
from panlearn.core.sources import Rows
from panlearn.core.statistics import _triangle, with_fixed_signs
from panlearn.core.warning import warn
from panlearn.linear._classifier import LinearClassifier


@dataclass(eq=False, repr=False)
class LinearDiscriminantAnalysis(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, LinearClassifier, ClassLearner
):
    r"""A normal distribution with one covariance for all classes; also a projection.

    .. math::
        p(y = c \mid x) \propto \pi_c \, \mathcal{N}(x; \mu_c, \Sigma), \qquad
        \log p(y = c \mid x) = x^\top \Sigma^{-1} \mu_c
        - \tfrac12 \mu_c^\top \Sigma^{-1} \mu_c + \log \pi_c + \text{const}

    and the projection onto the directions along which the class means lie furthest apart in
    units of :math:`\Sigma`.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}, default="svd"
        "svd" never forms :math:`\Sigma` and keeps the most digits; "lsqr" and "eigen" solve with it
        and can shrink it.
    shrinkage : float or "auto", default=None
        How far the covariance of each class is moved towards a multiple of the identity: a part
        from 0 to 1, or "auto" for the choice of Ledoit and Wolf. Not with "svd".
    priors : array-like of shape (n_classes,), default=None
        Probabilities :math:`\pi_c` of the classes; by default their shares of the data.
    n_components : int, default=None
        Dimension of the projection, at most the number of classes less one, which is the default,
        and at most the number of features.
    store_covariance : bool, default=False
        Whether to set `covariance_` with "svd" too.
    tol : float, default=0.0001
        With "svd", directions in which the rows vary by less than this, with the features scaled
        to unit variance, are left out.

    Attributes
    ----------
    coef_ : ndarray of shape (1 or n_classes, n_features)
        The weights of the scores.
    intercept_ : ndarray of shape (1 or n_classes,)
        Their intercepts.
    means_ : ndarray of shape (n_classes, n_features)
        The means :math:`\mu_c`.
    covariance_ : ndarray of shape (n_features, n_features)
        The covariance :math:`\Sigma`: those of the classes, of maximum likelihood, weighted by
        :math:`\pi_c`. With "svd" only if `store_covariance`.
    priors_ : ndarray of shape (n_classes,)
        The probabilities :math:`\pi_c`.
    xbar_ : ndarray of shape (n_features,)
        The mean of the class means, weighted by :math:`\pi_c`.
    scalings_ : ndarray of shape (n_features, n_directions)
        The directions of the projection, best first.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of each in the distances between the classes.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    statistic_ : ClassRoots
        The moments of the rows seen, from which `partial_fit` goes on.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    One pass over the rows finds a factor of the scatter of each class by QR, :math:`O(n d^2)`; all
    solvers go on from these, so X may be an array, a sparse matrix, a stream of batches or a Dask
    collection, and `partial_fit` goes on, with the same numbers. It keeps :math:`O(d^2)` numbers a
    class. Where no class varies about its mean, rows are given to the nearest mean, with a
    warning. ``shrinkage="auto"`` needs the fourth moments of rows that are scaled by the variances
    of all rows: a second pass, so no one-shot iterator and no `partial_fit`.

    References
    ----------
    R. A. Fisher (1936). The use of multiple measurements in taxonomic problems. Annals of Eugenics
    7(2). doi:10.1111/j.1469-1809.1936.tb02137.x

    O. Ledoit and M. Wolf (2004). A well-conditioned estimator for large-dimensional covariance
    matrices. Journal of Multivariate Analysis 88(2). doi:10.1016/S0047-259X(03)00096-4

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from panlearn.bayes import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> round(model.score(X, y), 3), model.explained_variance_ratio_.round(3)
    (0.98, array([0.991, 0.009]))
    >>> model.transform(X).shape
    (150, 2)
    """

    learned = shapes(
        priors_="(n_classes,)",
        means_="(n_classes, n_features)",
        xbar_="(n_features,)",
        explained_variance_ratio_="(*,)",
        scalings_="(n_features, n_directions)",
        coef_="(1, n_features) or (n_classes, n_features)",
        intercept_="(1,) or (n_classes,)",
    )

    capabilities = Capabilities(sources=ANYWHERE, any_order=True, partial_fit="exact", sparse=True)

    solver: Literal["svd", "lsqr", "eigen"] = "svd"
    _: KW_ONLY
    shrinkage: Literal["auto"] | Fraction[float] | None = None
    priors: np.ndarray | None = None
    n_components: Positive[int] | None = None
    store_covariance: bool = False
    tol: NonNegative[float] = 1e-4

    def _summarise(self, rows: Rows) -> ClassRoots:
        if self.solver == "svd" and self.shrinkage is not None:
            raise ValueError("shrinkage is not for solver='svd'; use 'lsqr' or 'eigen'")
        return map_reduce(ClassRoots.of, rows)

    def _solve(self, statistic: ClassRoots, rows: Rows) -> None:
        k, d = statistic.mean.shape
        if k < 2:
            raise ValueError(
                f"all rows so far are of one class, {self.classes_.tolist()}; give rows of two "
                "classes, or name the classes that will come"
            )
        most = min(k - 1, d)
        if self.n_components is not None and self.n_components > most:
            raise ValueError(
                f"n_components must be at most {most}, the lesser of the number of features and "
                f"that of classes less one; got {self.n_components}"
            )
        priors = self._priors(self.priors, "priors")
        self.priors_, self.means_, self.xbar_ = priors, statistic.mean, priors @ statistic.mean
        if self.solver != "svd" or self.store_covariance:
            covariances = class_covariances(statistic, rows, self.shrinkage)
            self.covariance_ = np.tensordot(priors, covariances[:k], 1)
            deviation = np.sqrt(self.covariance_.diagonal())
            if self._constant(deviation).all():
                self.covariance_ = np.diag(self._narrow() ** 2)
                covariances[k] += self.covariance_
        if self.solver == "svd":
            coef = self._solve_svd(statistic)
        elif self.solver == "lsqr":
            coef = self._solve_lsqr()
        else:
            coef = self._solve_eigen(covariances[k])
        self._set_scores(coef, rows.dtype)

    def _constant(self, deviation: np.ndarray) -> np.ndarray:
        """Which features do not vary in any class: beyond the rounding of their means."""
        return deviation <= np.finfo(float).eps * np.abs(self.means_).max(axis=0)

    def _narrow(self) -> np.ndarray:
        """Standard deviations for classes that are points: any row is of the nearest class."""
        warn(
            "No class varies about its mean, so the rows say nothing of the covariance: it is "
            "taken as small beside the distances of the means; give more rows of each class",
            linalg.LinAlgWarning,
        )
        apart = np.abs(self.means_ - self.xbar_).max(axis=0)
        narrow = max(self.tol, np.finfo(float).eps) * apart
        return np.where(narrow > 0, narrow, 1.0)  # means that are equal, or as good as

    def _solve_svd(self, statistic: ClassRoots) -> np.ndarray:
        """Whiten within the classes, then rotate to where their means lie furthest apart."""
        weight, k = statistic.weight, len(self.classes_)
        within = _triangle(np.vstack(statistic.roots)) / np.sqrt(weight)
        deviation = np.linalg.norm(within, axis=0)
        constant = self._constant(deviation)
        if constant.all():
            deviation = self._narrow()
            within = np.diag(deviation)
        else:
            deviation[constant], within[:, constant] = 1.0, 0.0
        _, values, axes = np.linalg.svd(within / deviation, full_matrices=False)
        rank = int(np.sum(values > self.tol))
        whiten = (axes[:rank] / deviation).T / values[:rank]
        share = np.sqrt(weight * self.priors_ / (k - 1))
        between = (share[:, None] * (self.means_ - self.xbar_)) @ whiten
        _, spread, turn = np.linalg.svd(between, full_matrices=False)
        self._explain(spread**2)
        kept = turn[spread > self.tol * spread.max(initial=0.0)]
        self.scalings_ = with_fixed_signs(whiten @ kept.T)
        return (self.means_ - self.xbar_) @ self.scalings_ @ self.scalings_.T

    def _solve_lsqr(self) -> np.ndarray:
        """Solve for the scores; the directions follow from a problem of the size of the classes."""
        apart = np.sqrt(self.priors_)[:, None] * (self.means_ - self.xbar_)
        solved = linalg.lstsq(self.covariance_, np.vstack([self.means_, apart]).T)[0]
        coef, along = np.hsplit(solved, 2)
        values, turn = (a[..., ::-1] for a in linalg.eigh(apart @ along))
        self._explain(values)
        kept = values > self.tol**2 * values[0]
        self.scalings_ = with_fixed_signs(along @ turn[:, kept] / np.sqrt(values[kept]))
        return coef.T

    def _solve_eigen(self, total: np.ndarray) -> np.ndarray:
        """Maximise the ratio of between-class to within-class variance."""
        try:
            values, vectors = linalg.eigh(total - self.covariance_, self.covariance_)
        except linalg.LinAlgError as error:
            raise ValueError(
                "solver='eigen' needs a covariance of full rank; give shrinkage, or use "
                "solver='svd'"
            ) from error
        self._explain(values[::-1])
        self.scalings_ = with_fixed_signs(vectors[:, ::-1])
        return self.means_ @ self.scalings_ @ self.scalings_.T

    def _explain(self, spread: np.ndarray) -> None:
        components = self.n_components or min(len(self.classes_) - 1, self.n_features_in_)
        self.explained_variance_ratio_ = (spread / (spread.sum() or 1.0))[:components]

    def _set_scores(self, coef: np.ndarray, dtype: np.dtype) -> None:
        """Scores x'w_c + b_c; with two classes their difference."""
        # half-way between mean and origin: (mu_c - xbar)' w_c has the digits that mu_c' w_c loses
        origin = self.xbar_ if self.solver == "svd" else np.zeros_like(self.xbar_)
        halves = np.einsum("cj,cj->c", self.means_ - origin, coef) / 2
        intercept = log_of(self.priors_) - halves - coef @ origin
        if len(self.classes_) == 2:
            coef, intercept = np.diff(coef, axis=0), np.diff(intercept)
        with np.errstate(over="ignore"):
            self.coef_, self.intercept_ = coef.astype(dtype), intercept.astype(dtype)
        if not (np.isfinite(self.coef_).all() and np.isfinite(self.intercept_).all()):
            raise ValueError(
                f"the coefficients are beyond {np.dtype(dtype)}: the columns of X vary too little "
                "for these floats; rescale them, for example with StandardScaler"
            )
        self.means_ = self.means_.astype(dtype, copy=False)

    def transform(self, X: Any) -> np.ndarray:
        """Project rows onto the directions that separate the classes best.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        self._require_fitted()
        X = known_rows(self, X, accept_sparse="csr")
        scalings = self.scalings_[:, : self._n_features_out]
        shift = self.xbar_ @ scalings if self.solver == "svd" else 0.0
        projected = safe_sparse_dot(X, scalings, dense_output=True) - shift
        return projected.astype(X.dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        components = self.n_components or len(self.classes_) - 1
        return min(components, self.scalings_.shape[1])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns are in the order of ``classes_``.
        """
        scores = self._score_rows(X)
        if scores.shape[1] == 1:
            return expit(np.hstack([-scores, scores]))
        return softmax(scores)

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
        scores = self._score_rows(X)
        if scores.shape[1] == 1:
            return log_expit(np.hstack([-scores, scores]))
        return log_softmax(scores, axis=1)
