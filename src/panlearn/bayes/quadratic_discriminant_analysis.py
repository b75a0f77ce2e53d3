"""Quadratic discriminant analysis: the Gaussian Bayes classifier."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from scipy import linalg, sparse

from panlearn.bayes._base import DensityClassifier, log_of, rounded
from panlearn.bayes._class_statistics import ClassRoots
from panlearn.bayes._ledoit_wolf import class_covariances
from panlearn.core.learned import shapes
from panlearn.core.map_reduce import map_reduce
from panlearn.core.parameters import Fraction, NonNegative
from panlearn.core.sources import Rows
from panlearn.core.statistics import with_fixed_signs
from panlearn.core.warning import warn


@dataclass(eq=False, repr=False)
class QuadraticDiscriminantAnalysis(DensityClassifier):
    r"""A normal distribution with its own covariance for each class.

    .. math::
        p(y = c \mid x) \propto \pi_c \, \mathcal{N}(x; \mu_c, \Sigma_c), \qquad
        \Sigma_c = (1 - \rho) S_c / N_c + \rho I

    where :math:`S_c` is the scatter of the rows of class c about their mean and :math:`\rho` is
    `reg_param`; with :math:`\rho = 0` this is maximum likelihood.

    Parameters
    ----------
    solver : {"svd", "eigen"}, default="svd"
        "svd" never forms :math:`\Sigma_c` and keeps the most digits; "eigen" can shrink it.
    shrinkage : float or "auto", default=None
        How far the covariance of each class is moved towards a multiple of the identity: a part
        from 0 to 1, or "auto" for the choice of Ledoit and Wolf. Not with "svd".
    priors : array-like of shape (n_classes,), default=None
        Probabilities :math:`\pi_c` of the classes; by default their shares of the data.
    reg_param : float, default=0.0
        How far the covariances are moved towards the identity.
    store_covariance : bool, default=False
        Whether to set `covariance_`.
    tol : float, default=0.0001
        A class is said to be flat, in a warning, if with its features scaled to unit variance the
        least of its standard deviations along any direction is not above this part of the largest.

    Attributes
    ----------
    means_ : ndarray of shape (n_classes, n_features)
        The means :math:`\mu_c`.
    rotations_ : list of n_classes ndarrays of shape (n_features, n_features)
        The principal axes of each class, in columns.
    scalings_ : list of n_classes ndarrays of shape (n_features,)
        The variances along them, largest first.
    covariance_ : list of n_classes ndarrays of shape (n_features, n_features)
        The covariances :math:`\Sigma_c`, if `store_covariance`.
    priors_ : ndarray of shape (n_classes,)
        The probabilities :math:`\pi_c`.
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
    One pass over the rows finds a factor of each scatter by QR, :math:`O(n d^2)`, and its singular
    values give axes and variances with the accuracy of a solver on the rows themselves. X may be an
    array, a sparse matrix, a stream of batches or a Dask collection, and `partial_fit` goes on,
    with the same numbers. It keeps :math:`O(d^2)` numbers a class. A class that does not vary
    along some direction has no density; that variance is taken as the rounding error of the
    largest, and a warning says so. ``shrinkage="auto"`` takes a second pass, so no one-shot
    iterator and no `partial_fit`.

    References
    ----------
    T. Hastie, R. Tibshirani and J. Friedman (2009). The Elements of Statistical Learning, section
    4.3. Springer. doi:10.1007/978-0-387-84858-7

    J. H. Friedman (1989). Regularized discriminant analysis. Journal of the American Statistical
    Association 84(405). doi:10.1080/01621459.1989.10478752

    Examples
    --------
    >>> from panlearn.bayes import QuadraticDiscriminantAnalysis
    >>> X = [[-1.0], [1.0], [-4.0], [4.0]]
    >>> model = QuadraticDiscriminantAnalysis().fit(X, ["near", "near", "far", "far"])
    >>> model.predict([[0.5], [3.0], [-3.0]])
    array(['near', 'far', 'far'], dtype='<U4')
    """

    learned = shapes(
        priors_="(n_classes,)",
        means_="(n_classes, n_features)",
        rotations_="n_classes of (n_features, n_features)",
        scalings_="n_classes of (n_features,)",
    )

    _: KW_ONLY
    solver: Literal["svd", "eigen"] = "svd"
    shrinkage: Literal["auto"] | Fraction[float] | None = None
    priors: np.ndarray | None = None
    reg_param: Fraction[float] = 0.0
    store_covariance: bool = False
    tol: NonNegative[float] = 1e-4

    def _summarise(self, rows: Rows) -> ClassRoots:
        if self.solver == "svd" and self.shrinkage is not None:
            raise ValueError("shrinkage is not for solver='svd'; use 'eigen'")
        return map_reduce(ClassRoots.of, rows)

    def _solve(self, statistic: ClassRoots, rows: Rows) -> None:
        self.priors_ = self._priors(self.priors, "priors")
        self.means_ = statistic.mean.astype(rows.dtype, copy=False)
        if self.solver == "svd":
            weight = np.maximum(statistic.classes.count, np.finfo(float).tiny)
            pairs = zip(statistic.roots, weight, strict=True)
            axes = [_principal_axes(root / np.sqrt(w)) for root, w in pairs]
        else:
            axes = [_eigen(c) for c in class_covariances(statistic, rows, self.shrinkage)[:-1]]
        self.rotations_ = [vectors for vectors, _ in axes]
        self.scalings_ = [(1 - self.reg_param) * v + self.reg_param for _, v in axes]
        apart = float(np.abs(statistic.mean - statistic.mean.mean(axis=0)).max())
        largest = max(v[0] for v in self.scalings_) or apart**2
        for c, variances in enumerate(self.scalings_):
            if not (self.reg_param or self.shrinkage) and statistic.classes.count[c]:
                self._warn_if_flat(c)
            # at the level of rounding, of the distances of the means if no class varies
            floor = len(variances) * np.finfo(float).eps * (variances[0] or largest or 1.0)
            self.scalings_[c] = np.maximum(variances, max(floor, np.finfo(float).tiny))
        if self.store_covariance:
            parts = zip(self.rotations_, self.scalings_, strict=True)
            self.covariance_ = [(v * s) @ v.T for v, s in parts]

    def _warn_if_flat(self, c: int) -> None:
        root, d = self.statistic_.roots[c], self.n_features_in_
        size = np.linalg.norm(root, axis=0)
        least = np.sqrt(self.scalings_[c][-1] * self.statistic_.classes.count[c])
        if least > self.tol * np.sqrt(d) * size.max(initial=0.0):
            return  # with columns of length one the values differ no more than this
        scaled = root / np.where(size > 0, size, 1.0)
        values = np.linalg.svd(scaled, compute_uv=False) if len(root) else np.zeros(1)
        rank = int(np.sum(values > self.tol * values[0]))
        if rank < d:
            warn(
                f"The covariance of class {self.classes_[c]} has rank {rank} with {d} features, to "
                f"the tolerance tol={self.tol:g}; raise reg_param, "
                "drop features that depend on others, or give more rows",
                linalg.LinAlgWarning,
            )

    def decision_function(self, X: Any) -> np.ndarray:
        """Score each row; with two classes the log-odds of ``classes_[1]``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With more classes, log p(x, y) of each.
        """
        joint, dtype = self._score_rows(X)
        return rounded(joint[:, 1] - joint[:, 0] if joint.shape[1] == 2 else joint, dtype)

    def _log_joint(self, X: Any) -> np.ndarray:
        """Give log pi_c - (log det(2 pi Sigma_c) + |Sigma_c^(-1/2) (x - mu_c)|^2) / 2."""
        X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)
        scores = np.empty((len(X), len(self.classes_)))
        for c, (axes, variances) in enumerate(zip(self.rotations_, self.scalings_, strict=True)):
            white = (X - self.statistic_.mean[c]) @ (axes / np.sqrt(variances))
            squares = np.einsum("ij,ij->i", white, white)
            scores[:, c] = -(squares + np.log(2 * np.pi * variances).sum()) / 2
        return scores + log_of(self.priors_)


def _eigen(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Axes in columns, with fixed signs, and variances, of a covariance."""
    values, vectors = linalg.eigh(covariance, check_finite=False)
    return with_fixed_signs(vectors[:, ::-1]), np.maximum(values[::-1], 0)


def _principal_axes(root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Axes in columns, with fixed signs, and variances, of the covariance root' root."""
    d = root.shape[1]
    padded = root if len(root) >= d else np.vstack([root, np.zeros((d - len(root), d))])
    _, values, vectors = np.linalg.svd(padded, full_matrices=False)
    return with_fixed_signs(vectors.T), values**2
