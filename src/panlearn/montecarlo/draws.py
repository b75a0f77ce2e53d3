"""What samplers return: draws, and how they came about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import logsumexp

from panlearn.core.extras import require
from panlearn.core.parameters import RandomState
from panlearn.core.random import generator
from panlearn.core.value import Value
from panlearn.montecarlo import diagnostics
from panlearn.montecarlo._pareto import tail_shape


@dataclass(frozen=True, eq=False, repr=False)
class Draws(Value):
    r"""Draws of several chains, all of one law once the chains have converged.

    .. math:: \mathbb{E}_p f \approx \frac{1}{m n} \sum_{c=1}^m \sum_{t=1}^n f(x_{ct})

    Parameters
    ----------
    draws : ndarray of shape (chains, draws, dim)
        The positions, without the warm-up.
    acceptance : ndarray of shape (chains,)
        The mean probability, or for independent draws the share, with which proposals were
        accepted after the warm-up.
    log_density : ndarray of shape (chains, draws) or None, default=None
        Logarithms of the density of the draws, if the sampler computes them.
    divergences : ndarray of shape (chains,) or None, default=None
        How often the dynamics of each chain broke down after the warm-up; none if not given.
    n_warmup : int, default=0
        Steps of the warm-up, which are not among the draws.
    thin : int, default=1
        Steps from one draw to the next.
    info : dict
        What the warm-up tuned, or other facts of the method, by name.

    Notes
    -----
    ``arviz.from_dict(**draws.to_dict())`` gives the data set of arviz up to version 0.23,
    ``arviz.from_dict(draws.to_dict())`` from 1.0. Means of m chains of n draws cost
    :math:`O(m n d)`, and what `diagnostics` tells :math:`O(m n \log n)` a coordinate.

    References
    ----------
    C. P. Robert, G. Casella (2004). Monte Carlo statistical methods. doi:10.1007/978-1-4757-4145-2

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.montecarlo import metropolis_hastings
    >>> start = np.random.default_rng(0).normal(size=(8, 2))
    >>> draws = metropolis_hastings(lambda x: -(x**2).sum(axis=1) / 2, start, random_state=0)
    >>> draws
    Draws(chains=8, draws=1000, dim=2, acceptance=0.29, divergences=0)
    >>> draws.mean().shape, bool((draws.summary()["rhat"] < 1.02).all())
    ((2,), True)
    """

    draws: np.ndarray
    acceptance: np.ndarray
    log_density: np.ndarray | None = None
    divergences: Any = None
    n_warmup: int = 0
    thin: int = 1
    info: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if np.ndim(self.draws) != 3:
            raise ValueError(f"draws must have three axes; got shape {np.shape(self.draws)}")
        chains, n, _ = self.draws.shape
        if self.divergences is None:
            object.__setattr__(self, "divergences", np.zeros(chains, dtype=int))
        shapes = {"acceptance": (chains,), "divergences": (chains,), "log_density": (chains, n)}
        for name, shape in shapes.items():
            value = getattr(self, name)
            if value is not None and np.shape(value) != shape:
                raise ValueError(f"{name} must have shape {shape}; got {np.shape(value)}")

    def __repr__(self) -> str:
        chains, n, dim = self.draws.shape
        return (
            f"Draws(chains={chains}, draws={n}, dim={dim}, acceptance={self.acceptance.mean():.2f},"
            f" divergences={np.sum(self.divergences)})"
        )

    def mean(self) -> np.ndarray:
        """Mean of each dimension over all draws of all chains."""
        return self.draws.mean(axis=(0, 1))

    def covariance(self) -> np.ndarray:
        """Covariance of the dimensions over all draws, of shape (dim, dim)."""
        flat = self.flat()
        return np.atleast_2d(np.cov(flat, rowvar=False))

    def quantile(self, share: float | Sequence[float]) -> np.ndarray:
        """Quantiles of each dimension over all draws."""
        return np.quantile(self.draws, share, axis=(0, 1))

    def flat(self) -> np.ndarray:
        """The draws of all chains one after another, of shape (chains * draws, dim)."""
        return self.draws.reshape(-1, self.draws.shape[2])

    def summary(self) -> dict[str, Any]:
        """Mean, spread, their precision and R-hat of each dimension, and the divergences in all.

        ``pandas.DataFrame(draws.summary())`` has one row a dimension.
        """
        return {
            "mean": self.mean(),
            "std": self.draws.std(axis=(0, 1), ddof=1),
            "mcse_mean": diagnostics.mcse_mean(self.draws),
            "ess_bulk": diagnostics.ess_bulk(self.draws),
            "ess_tail": diagnostics.ess_tail(self.draws),
            "rhat": diagnostics.rhat(self.draws),
            "divergences": int(np.sum(self.divergences)),
        }

    def to_frame(self, names: Sequence[str] | None = None) -> Any:
        """A pandas data frame: one row a draw; columns ``chain``, ``draw`` and one a dimension."""
        chains, n, dim = self.draws.shape
        columns = dict(zip(_names(names, dim), self.flat().T, strict=True))
        index = {"chain": np.repeat(np.arange(chains), n), "draw": np.tile(np.arange(n), chains)}
        return require("pandas").DataFrame({**index, **columns})

    def to_dict(self, names: Sequence[str] | None = None) -> dict[str, dict[str, np.ndarray]]:
        """The groups that arviz reads: ``posterior``, by name or as one ``x``, and statistics."""
        posterior = {"x": self.draws}
        if names is not None:
            columns = np.moveaxis(self.draws, 2, 0)
            posterior = dict(zip(_names(names, self.draws.shape[2]), columns, strict=True))
        groups: dict[str, dict[str, np.ndarray]] = {"posterior": posterior}
        if self.log_density is not None:
            groups["sample_stats"] = {"lp": self.log_density}
        return groups


@dataclass(frozen=True, eq=False, repr=False)
class WeightedDraws(Value):
    r"""Draws from one law q that stand for another, p, by their weights.

    .. math::
        w_i = \frac{\tilde p(x_i)}{q(x_i)}, \quad x_i \sim q, \qquad
        \mathbb{E}_p f \approx \frac1n \sum_i w_i f(x_i)
        \quad \text{or} \quad \frac{\sum_i w_i f(x_i)}{\sum_i w_i}

    Parameters
    ----------
    draws : ndarray of shape (n_draws, dim)
        The positions.
    log_weights : ndarray of shape (n_draws,)
        Logarithms of the weights.

    Notes
    -----
    The first mean, which needs normalised densities, is unbiased; the second, which needs no
    constant, has a bias of order 1/n. Above 0.7 the shape `pareto_k` of the tail of the
    weights says that n would have to be beyond reach: q has too thin tails or sits elsewhere. Means
    cost :math:`O(n)` values of the function, the shape of the tail a sort, :math:`O(n \log n)`.

    References
    ----------
    A. Vehtari, D. Simpson, A. Gelman, Y. Yao, J. Gabry (2024). Pareto smoothed importance sampling.
    JMLR 25(72).

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.montecarlo import WeightedDraws
    >>> coin = WeightedDraws(np.array([[0.0], [1.0], [1.0]]), np.log([2.0, 1.0, 1.0]))
    >>> coin.expectation(lambda x: x[:, 0]), round(coin.ess, 3)
    (0.5, 2.667)
    """

    draws: np.ndarray
    log_weights: np.ndarray

    def __post_init__(self) -> None:
        if np.ndim(self.draws) != 2 or np.shape(self.log_weights) != self.draws.shape[:1]:
            raise ValueError(
                "draws must have shape (n_draws, dim) and log_weights (n_draws,); got "
                f"{np.shape(self.draws)} and {np.shape(self.log_weights)}"
            )

    def __repr__(self) -> str:
        n, dim = self.draws.shape
        return (
            f"WeightedDraws(draws={n}, dim={dim}, ess={self.ess:.1f}, pareto_k={self.pareto_k:.2f})"
        )

    @property
    def weights(self) -> np.ndarray:
        """The weights, scaled to sum to one."""
        return np.exp(self.log_weights - logsumexp(self.log_weights))

    @property
    def ess(self) -> float:
        r"""Kish's effective sample size :math:`(\sum_i w_i)^2 / \sum_i w_i^2`."""
        return float(1 / np.sum(self.weights**2))

    @property
    def pareto_k(self) -> float:
        """Shape of the generalised Pareto law that fits the largest weights."""
        return tail_shape(self.log_weights)

    @property
    def log_normaliser(self) -> float:
        r"""Logarithm of the mean weight, which estimates :math:`\log \int \tilde p`."""
        return float(logsumexp(self.log_weights) - np.log(len(self.log_weights)))

    def expectation(self, function: Callable, *, normalise: bool = True) -> Any:
        """Mean of ``function(draws)`` under p; without `normalise`, by the weights as they are."""
        values = np.asarray(function(self.draws), dtype=float)
        weights = self.weights if normalise else np.exp(self.log_weights) / len(self.log_weights)
        return _plain(weights @ values)

    def standard_error(self, function: Callable, *, normalise: bool = True) -> Any:
        """Standard error of `expectation`, by the spread of what is averaged."""
        values = np.asarray(function(self.draws), dtype=float)
        n = len(values)
        if not normalise:
            terms = (np.exp(self.log_weights) * values.T).T
            return _plain(terms.std(axis=0, ddof=1) / np.sqrt(n))
        deviations = values - self.weights @ values
        return _plain(np.sqrt(self.weights**2 @ deviations**2))

    def resample(self, n_draws: int, random_state: RandomState = None) -> np.ndarray:
        """Draws of p without weights: rows picked with their weights as probabilities."""
        rng = generator(random_state)
        return self.draws[rng.choice(len(self.draws), size=n_draws, p=self.weights)]


def _plain(value: Any) -> Any:
    return float(value) if np.ndim(value) == 0 else value


def _names(names: Sequence[str] | None, dim: int) -> list[str]:
    chosen = [f"x{j}" for j in range(dim)] if names is None else list(names)
    if len(set(chosen)) != dim or len(chosen) != dim:
        raise ValueError(f"names must be {dim} different names, one a dimension; got {chosen}")
    return chosen
