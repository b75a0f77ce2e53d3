"""Gaussian process classification."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy import linalg
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from panlearn.core.estimator import fitting
from panlearn.core.labels import encode_labels
from panlearn.core.learned import shapes
from panlearn.core.parameters import NonNegative, Positive, RandomState
from panlearn.core.progress import Iterative
from panlearn.core.short_rows import first_largest
from panlearn.core.sources import ArrayRows
from panlearn.core.threads import one_blas_thread
from panlearn.core.warning import warn
from panlearn.kernel._adapter import as_kernel
from panlearn.kernel._ascent import maximise_evidence
from panlearn.kernel._base import BLOCK, FEW, KernelMethod, rounded
from panlearn.kernel._kernel import Constant, Kernel
from panlearn.kernel._labels import present, signs
from panlearn.kernel._laplace import Mode, approximate, average_logistic, gradient
from panlearn.kernel.kernels import RBF


@dataclass(eq=False, repr=False)
class GaussianProcessClassifier(ClassifierMixin, Iterative, KernelMethod):
    r"""Classification by a Gaussian process behind a logistic function, after Laplace.

    .. math::
        f \sim \mathcal{GP}(0, k), \quad p(y_i = 1 \mid f) = \sigma(f(x_i)), \quad
        p(f \mid y) \approx \mathcal{N}\big(\hat f, (K^{-1} + W)^{-1}\big), \quad
        p(y = 1 \mid x) = \mathbb{E}[\sigma(f(x)) \mid y]

    where :math:`\hat f` is the mode of the posterior and W the curvature of the likelihood there.

    Parameters
    ----------
    kernel : kernel or callable, default=None
        A kernel of `panlearn.kernel.kernels` or of scikit-learn, or a function of two matrices of
        rows, or of two rows. None is an RBF kernel of length one, which is not optimised.
    optimizer : {'fmin_l_bfgs_b'}, default='fmin_l_bfgs_b'
        How the free parameters of the kernel are chosen; None leaves them as they are.
    n_restarts_optimizer : int, default=0
        Further starts, drawn log-uniformly within the bounds; the best end is kept.
    max_iter_predict : int, default=100
        The most Newton iterations to the mode.
    max_iter : int, default=1000
        The most iterations of an ascent.
    tol : float, default=2e-9
        It ends when an iteration gains no more than this share of the log marginal likelihood.
    copy_X_train : bool, default=True
        Whether to keep a copy of X; if not, X must not change after the fit.
    random_state : int, Generator or RandomState, default=None
        Draws the further starts.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    kernel_ : Kernel
        The kernel with the parameters that were chosen, the same for all classes.
    X_train_ : ndarray of shape (n_samples, n_features)
        The rows of the training data whose weight is not zero.
    y_train_, sample_weight_ : ndarray of shape (n_samples,)
        The places of their labels in ``classes_``, and their weights.
    alpha_ : ndarray of shape (n_samples, n_machines)
        The weights of the rows, :math:`K^{-1} \hat f`, one column a machine: one for two classes,
        else one a class.
    W_sr_ : ndarray of shape (n_samples, n_machines)
        The square roots of the curvatures W.
    L_ : ndarray of shape (n_machines, n_samples, n_samples)
        The lower Cholesky factors of :math:`I + W^{1/2} K W^{1/2}`.
    log_marginal_likelihood_value_ : float
        Laplace's approximation to the logarithm of the marginal likelihood, the mean over machines.
    n_iter_ : int
        Iterations of the last ascent; 1 if there was nothing to choose.
    converged_ : bool
        Whether it converged.
    history_ : dict
        ``log_marginal_likelihood`` after, and relative ``change`` of it in, each iteration.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X had names.

    Notes
    -----
    More than two classes are learned each against the rest, with one kernel for all, and their
    probabilities are divided by their sum. A step of the ascent costs a Cholesky factorisation for
    each Newton iteration to the mode, of which there are few, since each starts from the mode
    before; the gradient, with the part that the mode's own move has in it, costs one inverse more.
    The average of the logistic function over the normal posterior is exact to rounding: the
    logistic function is a mixture of 32 normal ones. All is done in float64, as for
    `GaussianProcessRegressor`. A factorisation is :math:`O(n^3)`, and more than two classes need
    one each.

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams (2006). Gaussian processes for machine learning, chapters
    3 and 5. MIT Press. doi:10.7551/mitpress/3206.001.0001

    C. K. I. Williams and D. Barber (1998). Bayesian classification with Gaussian processes. IEEE
    Transactions on Pattern Analysis and Machine Intelligence 20(12). doi:10.1109/34.735807

    D. F. Andrews and C. L. Mallows (1974). Scale mixtures of normal distributions. JRSS B 36(1).
    doi:10.1111/j.2517-6161.1974.tb00989.x

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from panlearn.kernel import GaussianProcessClassifier
    >>> from panlearn.kernel.kernels import RBF
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianProcessClassifier(10.0 * RBF(1.0)).fit(X[::3], y[::3])
    >>> round(model.score(X, y), 2)
    0.96
    >>> model.predict_proba([[6.0, 3.0, 5.0, 1.8], [30.0, 30.0, 30.0, 30.0]]).round(2)
    array([[0.22, 0.14, 0.64],
           [0.33, 0.33, 0.33]])
    """

    learned = shapes(
        X_train_="(n_samples, n_features)",
        y_train_="(n_samples,) < n_classes",
        sample_weight_="(n_samples,)",
        alpha_="(n_samples, n_machines)",
        W_sr_="(n_samples, n_machines)",
        L_="(n_machines, n_samples, n_samples)",
    )

    kernel: Callable | None = None
    _: KW_ONLY
    optimizer: Literal["fmin_l_bfgs_b"] | None = "fmin_l_bfgs_b"
    n_restarts_optimizer: NonNegative[int] = 0
    max_iter_predict: Positive[int] = 100
    max_iter: Positive[int] = 1000
    tol: NonNegative[float] = 2e-9
    copy_X_train: bool = True
    random_state: RandomState = None

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; sparse ones are made dense.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the likelihood; an integer weight is a repeated row.

        Returns
        -------
        GaussianProcessClassifier
            The model itself.
        """
        X, y, weight = present(*self._read(X, y, sample_weight, "labels"))
        if weight.sum() > 1e150:
            raise ValueError(
                f"sample_weight sums to {weight.sum():.3g}, so that squares of the posterior's "
                "slopes leave the floats; divide it by its largest value"
            )
        self.classes_, codes = encode_labels(y)
        rows, targets = X.astype(np.float64), signs(codes, len(self.classes_))
        start = np.zeros_like(targets)  # each mode is sought from the one before
        reached = True

        def evidence(kernel: Kernel) -> tuple[float, np.ndarray]:
            nonlocal start
            K, modes = approximate(kernel, rows, targets, weight, start, self.max_iter_predict)
            start = np.column_stack([mode.weights for mode in modes])
            return _value(modes), gradient(kernel, rows, K, modes)

        def attributes(kernel: Kernel) -> dict[str, Any]:
            nonlocal reached
            _, modes = approximate(kernel, rows, targets, weight, start, self.max_iter_predict)
            reached = all(mode.reached for mode in modes)
            return {
                "kernel_": kernel,
                "X_train_": X.copy() if self.copy_X_train else X,
                "alpha_": np.column_stack([mode.weights for mode in modes]),
                "W_sr_": np.column_stack([mode.root for mode in modes]),
                "L_": np.stack([mode.factor for mode in modes]),
                "log_marginal_likelihood_value_": _value(modes),
                "classes_": self.classes_,
                "y_train_": codes,
                "sample_weight_": weight,
            }

        given = Constant(1.0, "fixed") * RBF(1.0, "fixed") if self.kernel is None else self.kernel
        kernel = as_kernel(given, rows)
        seen = ArrayRows(X, y, None if sample_weight is None else weight)
        found = maximise_evidence(self, kernel, evidence, rows=seen, attributes=attributes)
        for name, value in found.items():
            setattr(self, name, value)
        if not reached:
            warn(
                "Newton's method did not reach the mode of the posterior in max_iter_predict="
                f"{self.max_iter_predict} iterations; raise max_iter_predict",
                ConvergenceWarning,
            )
        return self

    def latent_mean_and_variance(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Give the mean and the variance of the latent function at each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; sparse ones are made dense.

        Returns
        -------
        mean, variance : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, of the one function that is high where ``classes_[1]`` is likely.
        """
        parts = self._posterior(X)
        mean, variance = (rounded(part, self.X_train_.dtype) for part in parts)
        return (mean[:, 0], variance[:, 0]) if len(self.classes_) == 2 else (mean, variance)

    def _posterior(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of each latent function at rows given by the user, in float64."""
        self._require_fitted()
        X = self._new_rows(X, self.X_train_).astype(np.float64)
        train = self.X_train_.astype(np.float64)
        step = max(1, BLOCK // len(train))
        with one_blas_thread(len(train) <= FEW):
            parts = [self._latent(X[i : i + step], train) for i in range(0, len(X), step)]
        mean, variance = (np.concatenate(part) for part in zip(*parts, strict=True))
        return mean, variance

    def _latent(self, X: np.ndarray, train: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The mean kᵀa and the variance k(x, x) − ‖L⁻¹ W½ k‖² for each machine."""
        K = self.kernel_._gram(X, train).T  # the training rows last: about those it is computed
        variance = np.empty((len(X), len(self.L_)))
        for column, (L, root) in enumerate(zip(self.L_, self.W_sr_.T, strict=True)):
            V = linalg.solve_triangular(L, root[:, None] * K, lower=True, check_finite=False)
            variance[:, column] = self.kernel_._diag(X) - np.einsum("ij,ij->j", V, V)
        return K.T @ self.alpha_, np.maximum(variance, 0)  # rounding may leave it below zero

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, averaged over the posterior of the latent function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; sparse ones are made dense.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns are in the order of ``classes_``.
        """
        mean, variance = self._posterior(X)
        if len(self.classes_) == 2:
            mean = np.hstack([-mean, mean])
        p = np.maximum(average_logistic(mean, variance), np.finfo(np.float32).tiny)
        return (p / p.sum(axis=1, keepdims=True)).astype(self.X_train_.dtype)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities that `predict_proba` gives; these are above zero.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; sparse ones are made dense.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns are in the order of ``classes_``.
        """
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Predict the label of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; sparse ones are made dense.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        best = first_largest(self.predict_proba(X))
        return self.classes_[best]

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """Give the approximate log marginal likelihood of the training data, a mean over machines.

        Parameters
        ----------
        theta : array-like of shape (n_parameters,), default=None
            Logarithms of the free parameters of the kernel; None are those that were chosen.
        eval_gradient : bool, default=False
            Whether to give the gradient in theta too.

        Returns
        -------
        float, or float and ndarray of shape (n_parameters,)
        """
        self._require_fitted()
        if theta is None and not eval_gradient:
            return self.log_marginal_likelihood_value_
        kernel = self.kernel_ if theta is None else self.kernel_.with_theta(theta)
        rows, targets = self.X_train_.astype(np.float64), signs(self.y_train_, len(self.classes_))
        K, modes = approximate(
            kernel, rows, targets, self.sample_weight_, self.alpha_, self.max_iter_predict
        )
        return (_value(modes), gradient(kernel, rows, K, modes)) if eval_gradient else _value(modes)


def _value(modes: list[Mode]) -> float:
    return float(np.mean([mode.value for mode in modes]))
