"""Least-squares support vector machines, for labels and for numbers."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.multiclass import _ovr_decision_function

from panlearn.core.estimator import fitting
from panlearn.core.labels import encode_labels
from panlearn.core.learned import shapes
from panlearn.core.parameters import Positive
from panlearn.kernel._base import KernelMethod, KernelOrMatrix, rounded
from panlearn.kernel._bordered import Solver, solve_bordered
from panlearn.kernel._labels import KernelClassifier, present, signs


@dataclass(eq=False, repr=False)
class LSSVC(KernelClassifier):
    r"""Least-squares support vector machine for classification.

    .. math::
        \min_{w, b, e} \; \tfrac12 \|w\|^2 + \tfrac{C}{2} \sum_i s_i e_i^2
        \quad \text{with} \quad y_i \, (w^\top \varphi(x_i) + b) = 1 - e_i

    Parameters
    ----------
    C : float, default=1.0
        The weight of the errors; a smaller one regularises more.
    kernel : str, kernel or callable, default='rbf'
        "linear", "poly", "polynomial", "rbf", "laplacian", "cosine" or "sigmoid"; a kernel of
        `panlearn.kernel.kernels` or of scikit-learn; a function of two matrices of rows, or of
        two rows; or "precomputed": X is then the matrix of the rows with the training rows.
    degree : int, default=3
        The degree of "poly".
    gamma : float, 'scale' or 'auto', default='scale'
        The factor in "rbf", :math:`\exp(-\gamma \|x - z\|^2)`, "laplacian", "poly" and "sigmoid";
        "scale" is 1 / (n_features * X.var()) and "auto" is 1 / n_features.
    coef0 : float, default=0.0
        The constant in "poly" and "sigmoid".
    multi_class : {'ovr', 'ovo'}, default='ovr'
        With three classes or more: each against the rest, which needs one factorisation for all, or
        each against each, which needs one for each pair, of its rows.
    solver : {'auto', 'cholesky', 'cg'}, default='auto'
        How the system is solved; "auto" takes conjugate gradients from 8000 rows.
    tol : float, default=1e-8
        Relative residual at which conjugate gradients stop.
    max_iter : int, default=1000
        The most iterations of conjugate gradients.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted; with two, ``classes_[1]`` is on the positive side.
    dual_coef_ : ndarray of shape (n_samples, n_machines)
        The signed multipliers :math:`\alpha_i y_i`, one column a machine: one for two classes,
        then one a class or a pair.
    intercept_ : ndarray of shape (n_machines,)
        The biases b.
    X_fit_ : {ndarray, csr matrix} of shape (n_samples, n_features)
        A copy of the rows of the training data whose weight is not zero; for "precomputed" their
        positions, (n_samples, 1).
    kernel_ : Kernel or None
        The kernel as it was used; None for "precomputed".
    n_iter_ : int
        Iterations of conjugate gradients, the most of any machine; 1 for a factorisation.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X had names.

    Notes
    -----
    The multipliers are :math:`\alpha_i = C s_i e_i`, of either sign and hardly ever zero: the
    machine is not sparse. As labels are ±1 it is ridge regression on them with a bias that is not
    penalised, and one linear system gives it: by Cholesky with the Schur complement for the bias,
    :math:`O(n^3)`, or by conjugate gradients with the diagonal as preconditioner, :math:`O(n^2)` an
    iteration, which keep no matrix if it would not fit.

    References
    ----------
    J. A. K. Suykens and J. Vandewalle (1999). Least squares support vector machine classifiers.
    Neural Processing Letters 9(3). doi:10.1023/A:1018628609742

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from panlearn.kernel import LSSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> round(LSSVC(C=10.0).fit(X, y).score(X, y), 2)
    0.99
    """

    learned = shapes(
        dual_coef_="(n_samples, n_machines)",
        intercept_="(n_machines,)",
    )

    C: Positive[float] = 1.0
    _: KW_ONLY
    kernel: KernelOrMatrix = "rbf"
    degree: Positive[int] = 3
    gamma: Literal["scale", "auto"] | Positive[float] = "scale"
    coef0: float = 0.0
    multi_class: Literal["ovr", "ovo"] = "ovr"
    solver: Solver = "auto"
    tol: Positive[float] = 1e-8
    max_iter: Positive[int] = 1000

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; for "precomputed" the kernel matrix, (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the errors; an integer weight is a repeated row.

        Returns
        -------
        LSSVC
            The model itself.
        """
        matrix, y, weight = self._read(X, y, sample_weight, "labels", keep_sparse=True)
        X, y, weight = present(self._rows(matrix), y, weight)
        self.classes_, codes = encode_labels(y)
        kernel = self._choose_kernel(X, matrix, weight)
        options: Any = dict(solver=self.solver, tol=self.tol, max_iter=self.max_iter)
        k, ridge = len(self.classes_), 1 / (self.C * weight)
        if k == 2 or self.multi_class == "ovr":
            solution = solve_bordered(kernel, X, ridge, signs(codes, k), **options)
            self.dual_coef_, self.intercept_, self.n_iter_ = solution
        else:
            pairs = list(combinations(range(k), 2))
            self.dual_coef_ = np.zeros((len(y), len(pairs)))
            self.intercept_, self.n_iter_ = np.empty(len(pairs)), 1
            for column, (i, j) in enumerate(pairs):
                rows = (codes == i) | (codes == j)
                target = signs(codes[rows] == j, 2)
                dual, bias, n_iter = solve_bordered(kernel, X[rows], ridge[rows], target, **options)
                self.dual_coef_[rows, column], self.intercept_[column] = dual[:, 0], bias[0]
                self.n_iter_ = max(self.n_iter_, n_iter)
        self._keep(kernel, X)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Score each row; with two classes a positive score stands for ``classes_[1]``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; for "precomputed" their kernel matrix with the training rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            One against one, the votes of the pairs, with their sum of scores to break ties.
        """
        self._require_fitted()
        scores = rounded(self._times(X, self.dual_coef_) + self.intercept_, self.X_fit_.dtype)
        if len(self.classes_) == 2:
            return scores[:, 0]
        if self.multi_class == "ovr":
            return scores
        votes = _ovr_decision_function(scores > 0, scores, len(self.classes_))
        return votes.astype(scores.dtype, copy=False)


@dataclass(eq=False, repr=False)
class LSSVR(MultiOutputMixin, RegressorMixin, KernelMethod):
    r"""Least-squares support vector machine for regression.

    .. math::
        \min_{w, b, e} \; \tfrac12 \|w\|^2 + \tfrac{C}{2} \sum_i s_i e_i^2
        \quad \text{with} \quad y_i = w^\top \varphi(x_i) + b + e_i

    Parameters
    ----------
    C : float, default=1.0
        The weight of the errors; a smaller one regularises more.
    kernel : str, kernel or callable, default='rbf'
        As for `LSSVC`.
    degree : int, default=3
        The degree of "poly".
    gamma : float, 'scale' or 'auto', default='scale'
        The factor in "rbf", "laplacian", "poly" and "sigmoid"; "scale" is
        1 / (n_features * X.var()) and "auto" is 1 / n_features.
    coef0 : float, default=0.0
        The constant in "poly" and "sigmoid".
    solver : {'auto', 'cholesky', 'cg'}, default='auto'
        How the system is solved; "auto" takes conjugate gradients from 8000 rows.
    tol : float, default=1e-8
        Relative residual at which conjugate gradients stop.
    max_iter : int, default=1000
        The most iterations of conjugate gradients.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        The multipliers :math:`a_i = C s_i e_i`.
    intercept_ : float or ndarray of shape (n_targets,)
        The bias b.
    X_fit_ : {ndarray, csr matrix} of shape (n_samples, n_features)
        A copy of the rows of the training data whose weight is not zero; for "precomputed" their
        positions, (n_samples, 1).
    kernel_ : Kernel or None
        The kernel as it was used; None for "precomputed".
    n_iter_ : int
        Iterations of conjugate gradients; 1 for a factorisation.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X had names.

    Notes
    -----
    Kernel ridge regression with the penalty 1 / C and a bias that is not penalised, so that a
    constant added to y is added to the predictions. Solved as `LSSVC` is, all targets at once. The
    factorisation costs :math:`O(n^3)`, an iteration of conjugate gradients :math:`O(n^2)`.

    References
    ----------
    J. A. K. Suykens, T. Van Gestel, J. De Brabanter, B. De Moor and J. Vandewalle (2002). Least
    squares support vector machines. World Scientific. doi:10.1142/5089

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.kernel import LSSVR
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> model = LSSVR(C=1000.0, gamma=1.0).fit(X, 5 + np.sin(X[:, 0]))
    >>> model.predict([[np.pi / 2]]).round(2)
    array([6.])
    """

    learned = shapes(
        dual_coef_="(n_samples,) or (n_samples, n_targets)",
        intercept_="() or (n_targets,)",
    )

    C: Positive[float] = 1.0
    _: KW_ONLY
    kernel: KernelOrMatrix = "rbf"
    degree: Positive[int] = 3
    gamma: Literal["scale", "auto"] | Positive[float] = "scale"
    coef0: float = 0.0
    solver: Solver = "auto"
    tol: Positive[float] = 1e-8
    max_iter: Positive[int] = 1000

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
            Weights of the errors; an integer weight is a repeated row.

        Returns
        -------
        LSSVR
            The model itself.
        """
        matrix, y, weight = self._read(X, y, sample_weight, "numbers", keep_sparse=True)
        X, y, weight = present(self._rows(matrix), y, weight)
        kernel = self._choose_kernel(X, matrix, weight)
        Y = y.astype(np.float64).reshape(len(y), -1)
        scale = np.abs(Y).max(axis=0)  # so that neither tiny nor huge targets leave the floats
        scale[scale == 0] = 1
        dual, bias, self.n_iter_ = solve_bordered(
            kernel,
            X,
            1 / (self.C * weight),
            Y / scale,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self.dual_coef_ = (dual * scale).reshape(y.shape)
        self.intercept_ = bias * scale if y.ndim > 1 else float(bias[0] * scale[0])
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
        return rounded(self._times(X, self.dual_coef_) + self.intercept_, self.X_fit_.dtype)
