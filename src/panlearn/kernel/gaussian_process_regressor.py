"""Gaussian process regression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy import linalg
from sklearn.base import MultiOutputMixin, RegressorMixin

from panlearn.core.estimator import fitting
from panlearn.core.learned import shapes
from panlearn.core.memory import require_memory
from panlearn.core.parameters import NonNegative, Positive, RandomState
from panlearn.core.progress import Iterative
from panlearn.core.random import generator
from panlearn.core.sources import ArrayRows
from panlearn.core.warning import warn
from panlearn.kernel._adapter import as_kernel
from panlearn.kernel._ascent import maximise_evidence
from panlearn.kernel._base import BLOCK, KernelMethod, rounded, times
from panlearn.kernel._evidence import condition, evidence
from panlearn.kernel._kernel import Kernel
from panlearn.kernel.kernels import RBF


@dataclass(eq=False, repr=False)
class GaussianProcessRegressor(MultiOutputMixin, RegressorMixin, Iterative, KernelMethod):
    r"""Regression by conditioning a Gaussian process, its kernel chosen by marginal likelihood.

    .. math::
        f \sim \mathcal{GP}(0, k), \quad y_i = f(x_i) + \varepsilon_i, \quad
        \mathbb{E}[f(x) \mid y] = k(x, X) (K + \alpha I)^{-1} y

    Parameters
    ----------
    kernel : kernel or callable, default=None
        A kernel of `panlearn.kernel.kernels` or of scikit-learn, or a function of two matrices of
        rows, or of two rows. None is a constant times an RBF kernel, both to be learned.
    alpha : float or array-like of shape (n_samples,), default=1e-10
        The variance of the noise, one for all rows or one a row. To learn it, add `White` to the
        kernel.
    optimizer : {'fmin_l_bfgs_b'}, default='fmin_l_bfgs_b'
        How the free parameters of the kernel are chosen; None leaves them as they are.
    n_restarts_optimizer : int, default=0
        Further starts, drawn log-uniformly within the bounds; the best end is kept.
    max_iter : int, default=1000
        The most iterations of an ascent.
    tol : float, default=2e-9
        It ends when an iteration gains no more than this share of the log marginal likelihood.
    normalize_y : bool, default=False
        Whether to centre and scale each target first, and undo it in the predictions.
    copy_X_train : bool, default=True
        Whether to keep a copy of X; if not, X must not change after the fit.
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
    The ascent is L-BFGS-B in the logarithms of the parameters. A step of it costs one Cholesky
    factorisation and the inverse from it, :math:`n^3` operations, both in the place of the kernel
    matrix, the only one of :math:`n^2` numbers. The matrix is made, and its derivatives are
    contracted with :math:`a a^\top - K^{-1}`, a tile at a time on all threads, one triangle only.
    With several starts the record is that of an ascent that goes on from the best end. All is done
    in float64. A parameter that ends at a bound is named in a warning. A step is :math:`O(n^3)`; of
    a prediction the mean costs :math:`O(n)` kernel values and the deviation :math:`O(n^2)`.

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

    learned = shapes(
        X_train_="(n_samples, n_features)",
        y_train_="(n_samples,) or (n_samples, n_targets)",
        y_train_mean_="() or (n_targets,)",
        y_train_std_="() or (n_targets,)",
        alpha_="(n_samples,) or (n_samples, n_targets)",
        L_="(n_samples, n_samples)",
    )

    kernel: Callable | None = None
    _: KW_ONLY
    alpha: NonNegative[float] | np.ndarray = 1e-10
    optimizer: Literal["fmin_l_bfgs_b"] | None = "fmin_l_bfgs_b"
    n_restarts_optimizer: NonNegative[int] = 0
    max_iter: Positive[int] = 1000
    tol: NonNegative[float] = 2e-9
    normalize_y: bool = False
    copy_X_train: bool = True
    random_state: RandomState = None

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; sparse ones are made dense.
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
        mean, scale = _moments(Y, self.normalize_y)
        Y = (Y - mean) / scale
        targets = Y.reshape(len(X), -1)

        def attributes(kernel: Kernel) -> dict[str, Any]:
            factor, weights, value, jitter = condition(kernel, rows, noise, targets)
            return {
                "kernel_": kernel,
                "L_": factor,
                "alpha_": weights.reshape(y.shape),
                "log_marginal_likelihood_value_": value,
                "jitter_": jitter,
                "X_train_": X.copy() if self.copy_X_train else X,
                "y_train_": Y,
                "y_train_mean_": mean,
                "y_train_std_": scale,
            }

        found = maximise_evidence(
            self,
            1.0 * RBF() if self.kernel is None else as_kernel(self.kernel, rows),
            lambda kernel: evidence(kernel, rows, noise, targets),
            rows=ArrayRows(X, y, None),
            attributes=attributes,
        )
        for name, value in found.items():
            setattr(self, name, value)
        if self.jitter_:
            warn(
                f"added {self.jitter_:.1e} to the diagonal of the kernel matrix so that it could "
                "be factorised; give a larger alpha, or add White to the kernel",
                linalg.LinAlgWarning,
            )
        return self

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Predict the target of each row, with its uncertainty on request.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; sparse ones are made dense.
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
        self._require_fitted()
        X = self._new_rows(X, self.X_train_).astype(np.float64)
        train, dtype = self.X_train_.astype(np.float64), self.X_train_.dtype
        mean, scale = self.y_train_mean_, self.y_train_std_
        predicted = rounded(times(self.kernel_, X, train, self.alpha_) * scale + mean, dtype)
        if not (return_std or return_cov):
            return predicted
        if return_cov:
            m, n = len(X), len(train)
            require_memory((2 * m, m + n), "the covariance with its workspace", "use fewer rows")
            V = self._whitened(train, X)
            covariance = np.array(self.kernel_._gram(X, None)) - V.T @ V
            return predicted, _per_target(covariance, scale**2).astype(dtype)
        step = max(1, BLOCK // len(train))
        explained = [
            np.square(self._whitened(train, X[i : i + step])).sum(axis=0)
            for i in range(0, len(X), step)
        ]
        variance = self.kernel_._diag(X) - np.concatenate(explained)
        std = np.sqrt(np.maximum(variance, 0))  # rounding may leave it below zero
        return predicted, _per_target(std, scale).astype(dtype)

    def _whitened(self, train: np.ndarray, X: np.ndarray) -> np.ndarray:
        """V = L⁻¹ K(train, X), so that VᵀV is what the training data explain of K(X, X)."""
        K = self.kernel_._gram(X, train).T  # the training rows last: about those it is computed
        return linalg.solve_triangular(self.L_, K, lower=True, check_finite=False)

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
