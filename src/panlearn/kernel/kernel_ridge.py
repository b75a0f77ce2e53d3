"""Kernel ridge regression."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from panlearn.core.estimator import fitting
from panlearn.core.learned import shapes
from panlearn.core.parameters import NonNegative, Positive
from panlearn.kernel._base import KernelMethod, KernelOrMatrix, rounded
from panlearn.kernel._solve import solve_psd
from panlearn.kernel._tiles import gram


@dataclass(eq=False, repr=False)
class KernelRidge(MultiOutputMixin, RegressorMixin, KernelMethod):
    r"""Ridge regression in the feature space of a kernel.

    .. math::
        \min_{f} \; \sum_i s_i \, (y_i - f(x_i))^2 + \alpha \|f\|_k^2,
        \qquad f(x) = \sum_i a_i \, k(x_i, x)

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1.0
        The strength of the penalty; an array gives each target its own.
    kernel : str, kernel or callable, default='linear'
        "linear", "poly", "polynomial", "rbf", "laplacian", "cosine" or "sigmoid"; a kernel of
        `panlearn.kernel.kernels` or of scikit-learn; a function of two matrices of rows, or of
        two rows; or "precomputed": X is then the matrix of the rows with the training rows.
    gamma : float, default=None
        The factor in "rbf", :math:`\exp(-\gamma \|x - z\|^2)`, "laplacian", "poly" and "sigmoid";
        None is 1 / n_features.
    degree : int, default=3
        The degree of "poly".
    coef0 : float, default=1.0
        The constant in "poly" and "sigmoid".

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        The coefficients a.
    X_fit_ : {ndarray, csr matrix} of shape (n_samples, n_features)
        A copy of the rows of the training data; for "precomputed" their positions, (n_samples, 1).
    kernel_ : Kernel or None
        The kernel as it was used; None for "precomputed".
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X had names.

    Notes
    -----
    One Cholesky factorisation of :math:`S^{1/2} K S^{1/2} + \alpha I`, in float64 whatever the
    floats of X: :math:`O(n^3)` time, :math:`O(n^2)` memory, which is asked for before it is taken.
    If the matrix is singular to rounding the solution of least norm is taken, with a warning.
    Predictions are made a block of rows at a time. The solution is the posterior mean of a
    Gaussian process whose noise has the variance alpha.

    References
    ----------
    C. Saunders, A. Gammerman and V. Vovk (1998). Ridge regression learning algorithm in dual
    variables. ICML, 515-521.

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.kernel import KernelRidge
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> model = KernelRidge(alpha=1e-3, kernel="rbf", gamma=1.0).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[np.pi / 2]]).round(3)
    array([1.])
    """

    learned = shapes(
        dual_coef_="(n_samples,) or (n_samples, n_targets)",
    )

    alpha: NonNegative[float] | np.ndarray = 1.0
    _: KW_ONLY
    kernel: KernelOrMatrix = "linear"
    gamma: Positive[float] | None = None
    degree: Positive[int] = 3
    coef0: float = 1.0

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; for "precomputed" the kernel matrix, (n_samples, n_samples).
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; an integer weight is a repeated row.

        Returns
        -------
        KernelRidge
            The model itself.
        """
        matrix, y, weight = self._read(X, y, sample_weight, "numbers", keep_sparse=True)
        X, Y = self._rows(matrix), y.astype(np.float64).reshape(len(y), -1)
        alpha = _penalties(self.alpha, Y.shape[1])
        kernel = self._choose_kernel(X, matrix)
        K = gram(kernel, X)
        if weight is not None:
            root = np.sqrt(weight.astype(np.float64))[:, None]
            K *= root * root.T
            Y = Y * root
        dual = np.empty_like(Y)
        for strength in np.unique(alpha):
            A = K if np.all(alpha == strength) else K.copy()
            A.flat[:: len(A) + 1] += strength
            dual[:, alpha == strength] = solve_psd(A, Y[:, alpha == strength])
        self.dual_coef_ = (dual if weight is None else dual * root).reshape(y.shape)
        self._keep(kernel, X)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the target of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; for "precomputed" their kernel matrix with the training rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        self._require_fitted()
        return rounded(self._times(X, self.dual_coef_), self.X_fit_.dtype)


def _penalties(alpha: Any, n_targets: int) -> np.ndarray:
    """One penalty a target, or a clear error."""
    try:
        values = np.asarray(alpha, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"alpha must be a number or one a target: {error}") from error
    if values.ndim > 1 or values.size not in (1, n_targets):
        raise ValueError(f"alpha has shape {values.shape} and y has {n_targets} targets")
    if not np.all(np.isfinite(values) & (values >= 0)):
        raise ValueError(f"alpha must be finite and not negative; got {alpha}")
    return np.broadcast_to(values.ravel(), n_targets)
