"""Least-squares support vector machine with a kernel that need not be symmetric."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy import linalg

from panlearn.core.estimator import fitting
from panlearn.core.labels import encode_labels
from panlearn.core.learned import shapes
from panlearn.core.memory import require_memory
from panlearn.core.parameters import Positive
from panlearn.core.warning import warn
from panlearn.kernel._base import KernelLike, refuse_overflow, rounded
from panlearn.kernel._kernel import Kernel
from panlearn.kernel._labels import KernelClassifier, present, signs


@dataclass(eq=False, repr=False)
class AsymmetricLSSVC(KernelClassifier):
    r"""Least-squares support vector machine for a kernel with a source and a target (AsK-LS).

    .. math::
        \min_{\omega, \nu, b} \; \omega^\top \nu + \tfrac{C}{2} \sum_i s_i (e_i^2 + h_i^2)
        \quad \text{with} \quad
        y_i \, (\omega^\top \varphi_s(x_i) + b_1) = 1 - e_i, \;
        y_i \, (\nu^\top \varphi_t(x_i) + b_2) = 1 - h_i

    where :math:`k(x, z) = \varphi_s(x)^\top \varphi_t(z)` and k(x, z) may differ from k(z, x).

    Parameters
    ----------
    C : float, default=1.0
        The weight of the errors; a smaller one regularises more.
    kernel : str, kernel or callable, default='rbf'
        As for `LSSVC`, but not "precomputed"; most often a function, of two matrices of rows or of
        two rows, with the source first.
    degree : int, default=3
        The degree of "poly".
    gamma : float, 'scale' or 'auto', default='scale'
        The factor in "rbf", "laplacian", "poly" and "sigmoid"; "scale" is
        1 / (n_features * X.var()) and "auto" is 1 / n_features.
    coef0 : float, default=0.0
        The constant in "poly" and "sigmoid".

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted; with two, ``classes_[1]`` is on the positive side.
    source_coef_ : ndarray of shape (n_samples, n_machines)
        The signed multipliers of the training rows as targets, with which a row is scored as
        source.
    target_coef_ : ndarray of shape (n_samples, n_machines)
        The signed multipliers of the training rows as sources, with which a row is scored as
        target.
    source_intercept_, target_intercept_ : ndarray of shape (n_machines,)
        The biases of the two.
    X_fit_ : ndarray of shape (n_samples, n_features)
        A copy of the rows of the training data whose weight is not zero.
    kernel_ : Kernel
        The kernel as it was used.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X had names.

    Notes
    -----
    The conditions of a stationary point are one symmetric indefinite system of 2n + 2 unknowns,
    factorised once for all classes, each against the rest. With a symmetric kernel both functions
    are that of `LSSVC`. The system is singular if 1 / C is a singular value of the centred kernel
    matrix; then the solution of least norm is taken, with a warning. Along singular vectors whose
    value is far below 1 / C the machine takes the kernel for a likeness, and expects rows to go
    with their class; along those far above, it learns from the labels how classes go with each
    other. A row is given the class that the mean of its two scores favours. The factorisation costs
    :math:`O(n^3)` time and :math:`O(n^2)` memory.

    References
    ----------
    M. He, F. He, L. Shi, X. Huang and J. A. K. Suykens (2023). Learning with asymmetric kernels:
    least squares and feature interpretation. IEEE Transactions on Pattern Analysis and Machine
    Intelligence 45(8). arXiv:2202.01397

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.kernel import AsymmetricLSSVC
    >>> def follows(x, z):  # x counts for what comes after it
    ...     return np.exp(-abs(x[0] - z[0])) * (1.0 if z[0] >= x[0] else 0.3)
    >>> X = np.arange(8.0)[:, None]
    >>> y = np.repeat(["early", "late"], 4)
    >>> model = AsymmetricLSSVC(C=10.0, kernel=follows).fit(X, y)
    >>> model.predict([[1.5], [6.5]])
    array(['early', 'late'], dtype='<U5')
    """

    learned = shapes(
        source_coef_="(n_samples, n_machines)",
        target_coef_="(n_samples, n_machines)",
        source_intercept_="(n_machines,)",
        target_intercept_="(n_machines,)",
    )

    C: Positive[float] = 1.0
    _: KW_ONLY
    kernel: KernelLike = "rbf"
    degree: Positive[int] = 3
    gamma: Literal["scale", "auto"] | Positive[float] = "scale"
    coef0: float = 0.0

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the errors; an integer weight is a repeated row.

        Returns
        -------
        AsymmetricLSSVC
            The model itself.
        """
        X, y, weight = present(*self._read(X, y, sample_weight, "labels"))
        self.classes_, codes = encode_labels(y)
        self.kernel_ = self._choose_kernel(X, X, weight)
        n = len(X)
        require_memory((2, 2 * n + 2, 2 * n + 2), "the system with its factor", "use fewer rows")
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            K = refuse_overflow(self.kernel_._gram(X.astype(np.float64, copy=False), None))
        Y = signs(codes, len(self.classes_))
        a, b, *biases = _solve(K, 1 / (self.C * weight), Y)
        self.target_coef_, self.source_coef_ = a, b
        self.source_intercept_, self.target_intercept_ = biases
        self._keep(self.kernel_, X)
        return self

    def source_decision_function(self, X: Any) -> np.ndarray:
        r"""Score each row as a source, :math:`\sum_i \beta_i y_i k(x, x_i) + b_1`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        self._require_fitted()
        scores = self._times(X, self.source_coef_)
        return self._shaped(scores + self.source_intercept_)

    def target_decision_function(self, X: Any) -> np.ndarray:
        r"""Score each row as a target, :math:`\sum_i \alpha_i y_i k(x_i, x) + b_2`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        self._require_fitted()
        X = self._new_rows(X, self.X_fit_)
        scores = _times_transposed(self.kernel_, X, self.X_fit_, self.target_coef_)
        return self._shaped(scores + self.target_intercept_)

    def decision_function(self, X: Any) -> np.ndarray:
        """Score each row by the mean of its scores as source and as target.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        self._require_fitted()
        return (self.source_decision_function(X) + self.target_decision_function(X)) / 2

    def _shaped(self, scores: np.ndarray) -> np.ndarray:
        scores = rounded(scores, self.X_fit_.dtype)
        return scores[:, 0] if len(self.classes_) == 2 else scores


def _solve(
    K: np.ndarray, ridge: np.ndarray, Y: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """a, b, b₁, b₂ with Ra + Kb + b₁ = y, Kᵀa + Rb + b₂ = y, 1ᵀa = 1ᵀb = 0, R = diag(ridge)."""
    n, k = Y.shape
    A, right = np.zeros((2 * n + 2, 2 * n + 2)), np.zeros((2 * n + 2, k))
    A[:n, n : 2 * n], A[n : 2 * n, :n] = K, K.T
    A[np.arange(2 * n), np.arange(2 * n)] += np.tile(ridge, 2)
    A[:n, 2 * n] = A[2 * n, :n] = A[n : 2 * n, 2 * n + 1] = A[2 * n + 1, n : 2 * n] = 1
    right[: 2 * n] = np.tile(Y, (2, 1))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", linalg.LinAlgWarning)
            x = linalg.solve(A, right, assume_a="sym", check_finite=False)
    except (linalg.LinAlgError, linalg.LinAlgWarning):
        warn(
            "1 / C is close to a singular value of the kernel matrix, so the system is singular: "
            "took the solution of least norm; change C a little",
            linalg.LinAlgWarning,
        )
        x = linalg.lstsq(A, right, check_finite=False)[0]
    return x[:n], x[n : 2 * n], x[2 * n], x[2 * n + 1]


def _times_transposed(
    kernel: Kernel, X: np.ndarray, Z: np.ndarray, coefficients: np.ndarray, step: int = 512
) -> np.ndarray:
    """K(Z, X)ᵀ times coefficients, in blocks of the rows of X."""
    X, Z = X.astype(np.float64), Z.astype(np.float64, copy=False)  # no array with itself: `times`
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        parts = [kernel._gram(Z, X[i : i + step]).T @ coefficients for i in range(0, len(X), step)]
    return np.concatenate(parts)
