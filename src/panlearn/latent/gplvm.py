"""Latent positions of a Gaussian process."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy import linalg
from scipy.optimize import minimize
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning

from panlearn.core.estimator import Estimator, fitting
from panlearn.core.interrupts import interrupted, interruption
from panlearn.core.learned import shapes
from panlearn.core.memory import require_memory
from panlearn.core.parameters import Positive
from panlearn.core.threads import one_blas_thread
from panlearn.core.warning import warn
from panlearn.latent._embedding import signed
from panlearn.latent._latent_positions import (
    COVARIANCES,
    Process,
    log_likelihood,
    minimise_rows,
)
from panlearn.latent._rows import coordinates, power_of_two, rows_in_memory

REST = 1e-4  # the rise of the objective, a value of X, at which it is said to rest
FAR = 1e30  # in units of the training rows; farther away every position is as good
LOGS = (-14.0, 7.0)  # the range of the logarithms of the variances, for rows of unit variance


@dataclass(eq=False, repr=False)
class GPLVM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""Positions in a latent space from which Gaussian processes give the features.

    .. math::
        \max_{Z, \theta} \; -\tfrac d2 \log |K| - \tfrac12 \operatorname{tr} K^{-1} X X^\top
        - \tfrac12 \|Z\|_F^2, \qquad K_{ij} = k_\theta(z_i, z_j) + \sigma^2 [i = j]

    Parameters
    ----------
    n_components : int, default=2
        The dimension of the latent space.
    kernel : {"rbf", "linear"}, default="rbf"
        The covariance: :math:`s \exp(-\frac12 \|z - z'\|^2)`, whose length is one because the
        prior of the positions sets their scale; or :math:`z^\top z'`, which is probabilistic
        principal component analysis.
    max_iter : int, default=500
        The most iterations of the ascent.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The latent positions of the training rows, turned to their principal axes.
    log_likelihood_ : float
        log p(X | Z) of the training rows.
    kernel_variance_ : float
        The variance s of the covariance; one for the linear one.
    noise_variance_ : float
        :math:`\sigma^2`.
    mean_ : ndarray of shape (n_features,)
        The mean of the rows.
    X_ : ndarray of shape (n_samples, n_features)
        The training rows.
    n_iter_ : int
        Iterations.
    converged_ : bool
        Whether the objective had come to rest.
    history_ : dict
        ``objective`` after each iteration.
    n_features_in_ : int
        Number of features d.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    The objective is climbed by L-BFGS in all positions and the logarithms of the variances at
    once, with analytic gradients, from the principal components; it stops when an iteration
    raises it by less than 1e-4 for each value of X. It has local maxima. An iteration is
    :math:`O(n^2 (n + d))`, so this is for up to some thousand rows.

    `transform` places each new row alone: from the position of the nearest training row it
    maximises the predictive density of the row times the prior, by BFGS.

    References
    ----------
    N. Lawrence (2005). Probabilistic non-linear principal component analysis with Gaussian process
    latent variable models. Journal of Machine Learning Research 6.

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.latent import GPLVM
    >>> t = np.linspace(-1, 1, 30)
    >>> X = np.c_[t, t**2, np.sin(3 * t)]
    >>> model = GPLVM(1).fit(X)
    >>> steps = np.sign(np.diff(model.embedding_[:, 0]))
    >>> bool((steps == steps[0]).all())
    True
    """

    learned = shapes(
        X_="(n_samples, n_features)",
        embedding_="(n_samples, n_components)",
        mean_="(n_features,)",
    )

    n_components: Positive[int] = 2
    _: KW_ONLY
    kernel: Literal["rbf", "linear"] = "rbf"
    max_iter: Positive[int] = 500

    @fitting
    @one_blas_thread()  # the same bits for any number of threads
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the latent positions of the training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : object, default=None
            Ignored.

        Returns
        -------
        GPLVM
            The model itself.
        """
        X = rows_in_memory(self, X)
        (n, d), q = X.shape, self.n_components
        if q > max(n, d):
            raise ValueError(f"n_components={q} is more than the rows and features of X; lower it")
        require_memory((5, n, n), "what GPLVM needs, five covariances,", "take fewer rows")
        self.X_, self.mean_ = X.copy(), _mean(X)
        Y, unit = self._scaled()
        kernel = COVARIANCES[self.kernel]
        free = 2 if kernel.scaled else 1
        seen: list[float] = []

        def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
            Z, logs = parameters[:-free].reshape(n, q), parameters[-free:]
            s, noise = np.exp(logs[0]) if kernel.scaled else 1.0, np.exp(logs[-1])
            value, slope, to_s, to_noise = log_likelihood(kernel, Z, s, noise, Y)
            value -= 0.5 * np.vdot(Z, Z)
            to_logs = [to_s, to_noise][-free:]
            return -value, -np.r_[(slope - Z).ravel(), to_logs]

        def watch(intermediate_result: Any) -> None:
            seen.append(-float(intermediate_result.fun))
            rests = len(seen) > 1 and seen[-1] - seen[-2] < REST * n * d
            if rests or interrupted():
                raise StopIteration

        start = np.r_[_principal(Y, q).ravel(), [0.0, np.log(0.1)][-free:]]
        with interruption() as asked:
            found = minimize(
                loss,
                start,
                jac=True,
                method="L-BFGS-B",
                bounds=[(None, None)] * (n * q) + [LOGS] * free,
                callback=watch,
                options={"maxiter": min(self.max_iter, 10**9), "ftol": 0.0, "gtol": 1e-9},
            )
        self.n_iter_ = max(1, int(found.nit))
        self.converged_ = found.status != 1 and not asked.is_set()
        shift = n * d * np.log(unit)
        self.history_ = {"objective": [value - shift for value in seen or [-float(found.fun)]]}
        if not self.converged_:
            why = (
                "it was interrupted" if asked.is_set() else f"max_iter={self.max_iter} was reached"
            )
            warn(
                f"GPLVM did not converge: {why} at iteration {self.n_iter_}; raise max_iter",
                ConvergenceWarning,
            )
        Z, logs = found.x[:-free].reshape(n, q), found.x[-free:]
        s, noise = float(np.exp(logs[0])) if kernel.scaled else 1.0, float(np.exp(logs[-1]))
        self.log_likelihood_ = log_likelihood(kernel, Z, s, noise, Y)[0] - shift
        centre = Z.mean(axis=0) if kernel.scaled else 0.0
        _, axes = linalg.eigh((Z - centre).T @ (Z - centre))
        # the prior has its say on the mean: positions are turned about the origin, not moved
        self.embedding_ = signed(Z @ axes[:, ::-1]).astype(X.dtype, copy=False)
        self.kernel_variance_ = s * unit**2 if kernel.scaled else 1.0
        self.noise_variance_ = noise * unit**2
        return self

    def _scaled(self) -> tuple[np.ndarray, float]:
        """The training rows about their mean, with a mean square of one, and the unit."""
        Y = self.X_.astype(float) - self.mean_
        peak = power_of_two(float(np.abs(Y).max()))
        if not 1e-152 < peak < 1e140:
            raise ValueError("the squares of X overflow or vanish: rescale its columns")
        size = float(np.sqrt(np.mean((Y / peak) ** 2)))
        if size * peak <= 1e-13 * np.abs(self.X_).max():  # constant but for rounding
            return np.zeros_like(Y), 1.0
        return Y / peak / size, peak * size

    def _process(self) -> tuple[Process, np.ndarray, float]:
        """The process in the units of the training, its rows, and the unit."""
        self._require_fitted()
        kernel, (Y, unit) = COVARIANCES[self.kernel], self._scaled()
        Z = self.embedding_.astype(float)
        s = self.kernel_variance_ / unit**2 if kernel.scaled else 1.0
        noise = self.noise_variance_ / unit**2
        K = kernel.gram(Z, Z, s) + noise * (1 + 1e-10) * np.eye(len(Z))
        inverse = linalg.cho_solve(linalg.cho_factor(K), np.eye(len(Z)))
        return Process(kernel, Z, s, noise, inverse, inverse @ Y), Y, unit

    def transform(self, X: Any) -> np.ndarray:
        """Place new rows in the latent space.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        process, known, unit = self._process()
        X = rows_in_memory(self, X, reset=False)
        Y = (X.astype(float) - self.mean_) / unit
        if np.abs(Y).max(initial=0.0) > FAR:
            raise ValueError(f"X has rows {FAR:g} times as far away as the training rows; scale it")
        squares = (known**2).sum(axis=1) - 2 * Y @ known.T
        start = process.Z[squares.argmin(axis=1)]
        Z = minimise_rows(lambda z, rows: process.loss(z, Y[rows]), start)
        return Z.astype(X.dtype, copy=False)

    def inverse_transform(self, Z: Any) -> np.ndarray:
        """Give the mean of the features at latent positions.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            The positions.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        process, _, unit = self._process()
        positions = coordinates(Z, process.Z.shape[1]).astype(float)
        k = process.kernel.gram(positions, process.Z, process.s)
        return (unit * (k @ process.weights) + self.mean_).astype(self.X_.dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _mean(X: np.ndarray) -> np.ndarray:
    """The mean of the rows, without overflow."""
    unit = power_of_two(float(max(X.max(), -X.min())))
    return (unit * (X / unit).mean(axis=0, dtype=float)).astype(X.dtype, copy=False)


def _principal(Y: np.ndarray, q: int) -> np.ndarray:
    """The first q principal components, each of variance one where it has any."""
    U, sizes, _ = linalg.svd(Y, full_matrices=False)
    start = np.zeros((len(Y), q))
    real = int(min(q, np.sum(sizes > 1e-10 * max(sizes[0], 1e-300))))
    start[:, :real] = signed(U[:, :real]) * np.sqrt(len(Y))
    return start
