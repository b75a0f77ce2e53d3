"""The multivariate normal law as a value: what is done to it gives another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular

from panlearn.core.parameters import RandomState
from panlearn.core.random import generator
from panlearn.core.value import Value


@dataclass(frozen=True, eq=False)
class MultivariateNormal(Value):
    r"""A Gaussian law, whose marginals, conditionals, products and linear maps are Gaussian again.

    .. math:: p(x) = (2 \pi)^{-d/2} \det(\Sigma)^{-1/2}
        e^{-\frac12 (x - \mu)^\top \Sigma^{-1} (x - \mu)}

    Parameters
    ----------
    mean : array-like of shape (d,)
        The mean.
    covariance : array-like of shape (d, d)
        The covariance, symmetric; it may be singular where no density is asked for.
    """

    mean: Any
    covariance: Any

    def __post_init__(self) -> None:
        mean = np.atleast_1d(np.asarray(self.mean, dtype=float))
        covariance = np.atleast_2d(np.asarray(self.covariance, dtype=float))
        if mean.ndim != 1 or covariance.shape != (len(mean), len(mean)):
            raise ValueError(
                f"a mean of shape {mean.shape} needs a covariance of {len(mean)} x {len(mean)}; "
                f"it has shape {covariance.shape}"
            )
        scale = np.abs(covariance).max(initial=0.0)
        if not np.isfinite(scale + np.abs(mean).max(initial=0.0)):
            raise ValueError("mean and covariance must be finite")
        if np.abs(covariance - covariance.T).max(initial=0.0) > 1e-8 * scale:
            raise ValueError("covariance must be symmetric; give (C + C.T) / 2")
        if np.linalg.eigvalsh(covariance).min(initial=0.0) < -1e-8 * scale:
            raise ValueError("covariance must have no negative eigenvalue")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "covariance", (covariance + covariance.T) / 2)

    def logpdf(self, x: Any) -> np.ndarray:
        """The log density of each row, or of one point."""
        points = np.asarray(x, dtype=float)
        factor = self._factor()
        deviations = np.atleast_2d(points.reshape(-1, len(self.mean))) - self.mean
        white = solve_triangular(factor, deviations.T, lower=True)
        normaliser = len(self.mean) / 2 * np.log(2 * np.pi) + np.log(np.diag(factor)).sum()
        values = -normaliser - np.square(white).sum(axis=0) / 2
        return values if points.ndim == 2 else values[0]

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> np.ndarray:
        """Draw rows; of a singular law too."""
        values, vectors = np.linalg.eigh(self.covariance)
        noise = generator(random_state).normal(size=(n_samples, len(self.mean)))
        return self.mean + noise * np.sqrt(np.maximum(values, 0)) @ vectors.T

    def marginal(self, indices: Any) -> MultivariateNormal:
        r"""The law :math:`N(\mu_1, \Sigma_{11})` of some of the coordinates."""
        kept = np.arange(len(self.mean))[np.atleast_1d(indices)]
        return MultivariateNormal(self.mean[kept], self.covariance[np.ix_(kept, kept)])

    def conditional(self, indices: Any, values: Any) -> MultivariateNormal:
        r"""The law of the other coordinates, in their order, given the values of these.

        .. math:: N\bigl(\mu_2 + \Sigma_{21} \Sigma_{11}^{-1} (x_1 - \mu_1),\;
            \Sigma_{22} - \Sigma_{21} \Sigma_{11}^{-1} \Sigma_{12}\bigr)
        """
        given = np.zeros(len(self.mean), dtype=bool)
        order = np.arange(len(self.mean))[np.atleast_1d(indices)]
        given[order] = True
        across = self.covariance[np.ix_(~given, order)]
        inside = self.covariance[np.ix_(order, order)]
        gain = np.linalg.lstsq(inside, across.T, rcond=None)[0].T  # of a singular block too
        surprise = np.broadcast_to(np.asarray(values, dtype=float), order.shape) - self.mean[order]
        return MultivariateNormal(
            self.mean[~given] + gain @ surprise,
            self.covariance[np.ix_(~given, ~given)] - gain @ across.T,
        )

    def affine(self, matrix: Any, shift: Any = 0.0, noise: Any = 0.0) -> MultivariateNormal:
        r"""The law :math:`N(A \mu + b, A \Sigma A^\top + R)` of A x + b and a noise."""
        A = np.atleast_2d(np.asarray(matrix, dtype=float))
        R = np.atleast_2d(noise) if np.ndim(noise) else noise * np.eye(len(A))
        return MultivariateNormal(A @ self.mean + shift, A @ self.covariance @ A.T + R)

    def joint(self, matrix: Any, shift: Any = 0.0, noise: Any = 0.0) -> MultivariateNormal:
        """The law of x stacked on A x + b and a noise: condition on the second to learn of x."""
        A = np.atleast_2d(np.asarray(matrix, dtype=float))
        image, across = self.affine(A, shift, noise), A @ self.covariance
        blocks = [[self.covariance, across.T], [across, image.covariance]]
        return MultivariateNormal(np.concatenate([self.mean, image.mean]), np.block(blocks))

    def product(self, other: MultivariateNormal) -> tuple[MultivariateNormal, float]:
        r"""The normalised product of two densities, and the logarithm of its integral.

        .. math:: N(x; \mu_1, \Sigma_1) N(x; \mu_2, \Sigma_2)
            = N(\mu_1; \mu_2, \Sigma_1 + \Sigma_2) \, N(x; \mu, \Sigma),
            \quad \Sigma^{-1} = \Sigma_1^{-1} + \Sigma_2^{-1}
        """
        total = MultivariateNormal(other.mean, self.covariance + other.covariance)
        gain = cho_solve((total._factor(), True), self.covariance).T
        merged = MultivariateNormal(
            self.mean + gain @ (other.mean - self.mean),
            self.covariance - gain @ self.covariance,
        )
        return merged, float(total.logpdf(self.mean))

    def __add__(self, other: MultivariateNormal) -> MultivariateNormal:
        """The law of the sum of independent draws."""
        if not isinstance(other, MultivariateNormal):
            return NotImplemented
        return MultivariateNormal(
            self.mean + other.mean,
            self.covariance + other.covariance,
        )

    def generating_function(self, t: Any) -> Any:
        r"""The moments' :math:`E e^{t^\top x} = e^{t^\top \mu + t^\top \Sigma t / 2}`."""
        point = np.atleast_1d(t)
        return np.exp(point @ self.mean + point @ self.covariance @ point / 2)

    def _factor(self) -> np.ndarray:
        try:
            return cholesky(self.covariance, lower=True)
        except LinAlgError as error:
            raise ValueError("the covariance is singular, and such a law has no density") from error
