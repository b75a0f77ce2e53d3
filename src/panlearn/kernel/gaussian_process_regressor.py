"""Gaussian process regression."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy import linalg
from sklearn.base import MultiOutputMixin, RegressorMixin

from panlearn.core.estimator import fitting
from panlearn.core.parameters import NonNegative, RandomState
from panlearn.core.random import generator
from panlearn.kernel._adapter import as_kernel
from panlearn.kernel._base import KernelMethod, gram, times
from panlearn.kernel._evidence import condition, evidence, maximise_evidence
from panlearn.kernel._kernel import Kernel
from panlearn.kernel.kernels import RBF, Constant


@dataclass(eq=False, repr=False)
class GaussianProcessRegressor(MultiOutputMixin, RegressorMixin, KernelMethod):
    r"""Regression by conditioning a Gaussian process, its kernel chosen by marginal likelihood.

    .. math::
        f \sim \mathcal{GP}(0, k), \quad y_i = f(x_i) + \varepsilon_i, \quad
        \mathbb{E}[f(x) \mid y] = k(x, X) (K + \alpha I)^{-1} y

    Parameters
    ----------
    kernel : kernel or callable, default=None
        A kernel of `panlearn.kernel.kernels` or of scikit-learn, or a function of two matrices of
        rows, or of two rows. None is an RBF kernel of length one, which is not optimised.
    alpha : float or array-like of shape (n_samples,), default=1e-10
        The variance of the noise, one for all rows or one a row. To learn it, add `White` to the
        kernel.
    optimizer : {'fmin_l_bfgs_b'}, default='fmin_l_bfgs_b'
        How the free parameters of the kernel are chosen; None leaves them as they are.
    n_restarts_optimizer : int, default=0
        Further starts, drawn log-uniformly within the bounds; the best end is kept.
    normalize_y : bool, default=False
        Whether to centre and scale each target first, and undo it in the predictions.
    random_state : int, Generator or RandomState, default=None
        Draws the further starts.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with the parameters that were chosen.
    X_train_ : ndarray of shape (n_samples, n_features)
        The rows of the training data.
    y_train_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Their targets, normalised if so wished.
    y_train_mean_, y_train_std_ : ndarray of shape () or (n_targets,)
        What was taken from the targets, and what they were divided by.
    L_ : ndarray of shape (n_samples, n_samples)
        The lower Cholesky factor of the kernel matrix with noise and jitter.
    alpha_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        The weights of the rows, :math:`(K + \alpha I)^{-1} y`.
    log_marginal_likelihood_value_ : float
        The logarithm of the marginal likelihood, summed over targets.
    jitter_ : float
        What had to be added to the diagonal for the factorisation to go through; zero, if nothing.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X had names.

    Notes
    -----
    A step of the ascent costs one Cholesky factorisation and the inverse from it, :math:`n^3`
    operations, and for all the parameters a few matrix products: the derivatives are contracted
    with :math:`a a^\top - K^{-1}` before they are made. All is done in float64. A parameter that
    ends at a bound is named in a warning.

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams (2006). Gaussian processes for machine learning. MIT
    Press. doi:10.7551/mitpress/3206.001.0001

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.kernel import GaussianProcessRegressor
    >>> from panlearn.kernel.kernels import RBF, White
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(30)
    >>> model = GaussianProcessRegressor(1.0 * RBF() + White(0.1)).fit(X, y)
    >>> mean, std = model.predict([[1.5], [20.0]], return_std=True)
    >>> bool(std[1] > 3 * std[0])
    True
    """

    kernel: Callable | None = None
    _: KW_ONLY
    alpha: NonNegative[float] | np.ndarray = 1e-10
    optimizer: Literal["fmin_l_bfgs_b"] | None = "fmin_l_bfgs_b"
    n_restarts_optimizer: NonNegative[int] = 0
    normalize_y: bool = False
    random_state: RandomState = None

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from training data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The targets.

        Returns
        -------
        GaussianProcessRegressor
            The model itself.
        """
        X, y, _ = self._read(X, y, None, "numbers")
        noise = _noise(self.alpha, len(X))
        rows, Y = X.astype(np.float64), y.astype(np.float64)
        self.y_train_mean_, self.y_train_std_ = _moments(Y, self.normalize_y)
        Y = (Y - self.y_train_mean_) / self.y_train_std_
        targets = Y.reshape(len(X), -1)
        kernel = _default() if self.kernel is None else as_kernel(self.kernel, rows)
        if self.optimizer is not None and len(kernel.theta):
            kernel = maximise_evidence(
                kernel,
                rows,
                noise,
                targets,
                n_restarts=self.n_restarts_optimizer,
                rng=generator(self.random_state),
            )
        K = gram(kernel, rows, copies=4)
        self.L_, weights, self.log_marginal_likelihood_value_, self.jitter_ = condition(
            K, noise, targets
        )
        if self.jitter_:
            warnings.warn(
                f"added {self.jitter_:.1e} to the diagonal of the kernel matrix so that it could "
                "be factorised; give a larger alpha, or add White to the kernel",
                linalg.LinAlgWarning,
                stacklevel=3,
            )
        self.alpha_, self.kernel_ = weights.reshape(y.shape), kernel
        self.X_train_, self.y_train_ = X, Y
        return self

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Predict the target of each row, with its uncertainty on request.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        return_std : bool, default=False
            Whether to give the standard deviation of each prediction too.
        return_cov : bool, default=False
            Whether to give the covariance of the predictions too.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_targets)
            The mean; alone, or first of two.
        std or covariance : ndarray of shape (n_samples,) or (n_samples, n_samples)
            With a last axis of n_targets if y had one. If the kernel holds noise, it is in it.
        """
        if return_std and return_cov:
            raise ValueError("ask for return_std or return_cov, not both: the one is in the other")
        X = self._new_rows(X).astype(np.float64)
        train, dtype = self.X_train_.astype(np.float64), self.X_train_.dtype
        mean, scale = self.y_train_mean_, self.y_train_std_
        predicted = (times(self.kernel_, X, train, self.alpha_) * scale + mean).astype(dtype)
        if not (return_std or return_cov):
            return predicted
        V = linalg.solve_triangular(
            self.L_, self.kernel_._gram(train, X), lower=True, check_finite=False
        )
        if return_cov:
            covariance = np.array(self.kernel_._gram(X, None)) - V.T @ V
            return predicted, _per_target(covariance, scale**2).astype(dtype)
        variance = self.kernel_._diag(X) - np.einsum("ij,ij->j", V, V)
        std = np.sqrt(np.maximum(variance, 0))  # rounding may leave it below zero
        return predicted, _per_target(std, scale).astype(dtype)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw functions from the posterior and give their values at the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples_X, n_features)
            The rows.
        n_samples : int, default=1
            How many functions.
        random_state : int, Generator or RandomState, default=None
            Draws them.

        Returns
        -------
        ndarray of shape (n_samples_X, n_samples) or (n_samples_X, n_targets, n_samples)
        """
        mean, covariance = self.predict(X, return_cov=True)
        C = np.moveaxis(covariance[..., None] if mean.ndim == 1 else covariance, 2, 0)
        values, vectors = np.linalg.eigh(C.astype(np.float64))
        root = vectors * np.sqrt(np.maximum(values, 0))[:, None, :]
        noise = generator(random_state).standard_normal((len(root), mean.shape[0], n_samples))
        draws = np.moveaxis(root @ noise, 0, 1)
        draws = (draws + mean.reshape(len(mean), -1, 1)).astype(mean.dtype)
        return draws[:, 0] if mean.ndim == 1 else draws

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """Give the log marginal likelihood of the training data.

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
        X, Y = self.X_train_.astype(np.float64), self.y_train_.reshape(len(self.X_train_), -1)
        value, gradient = evidence(kernel, X, _noise(self.alpha, len(X)), Y)
        return (value, gradient) if eval_gradient else value


def _default() -> Kernel:
    return Constant(1.0, "fixed") * RBF(1.0, "fixed")


def _moments(Y: np.ndarray, normalize: bool) -> tuple[Any, Any]:
    """What is taken from the targets, and what they are divided by."""
    if not normalize:
        return np.zeros(Y.shape[1:]), np.ones(Y.shape[1:])
    scale = Y.std(axis=0)
    return Y.mean(axis=0), np.where(scale > 0, scale, 1.0)


def _per_target(values: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Values that all targets share, each in its own scale on a last axis."""
    return values * scale if np.ndim(scale) == 0 else values[..., None] * scale


def _noise(alpha: Any, n: int) -> np.ndarray:
    try:
        noise = np.asarray(alpha, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"alpha must be a number or one a row: {error}") from error
    if noise.ndim > 1 or noise.size not in (1, n):
        raise ValueError(f"alpha has shape {noise.shape} and X has {n} rows")
    if not np.all(np.isfinite(noise) & (noise >= 0)):
        raise ValueError(f"alpha must be finite and not negative; got {alpha}")
    return np.broadcast_to(noise.ravel(), n)
