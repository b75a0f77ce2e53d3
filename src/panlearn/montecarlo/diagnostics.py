r"""Whether chains have converged, and how much they know: R-hat and effective sample sizes.

.. math::
    \hat R = \sqrt{\frac{\hat V}{W}}, \qquad
    \hat V = \frac{n - 1}{n} W + \frac{B}{n}, \qquad
    \mathrm{ESS} = \frac{m n}{\tau}, \qquad \tau = 1 + 2 \sum_{t \ge 1} \rho_t

where W is the variance within m chains of n draws and B / n the variance of their means. Draws come
as an array of shape (chains, draws) or (chains, draws, dim); the answer has the shape of what is
left, a number or one a dimension. The draws are replaced by normal scores of their ranks, so that a
law without a variance does no harm, and each chain is cut in halves, so that a drift shows.

Notes
-----
Autocovariances come from one FFT of all chains, :math:`O(m n \log n)`. Their sum is cut by Geyer's
initial monotone sequence: pairs of neighbours are summed while they are positive, and none may
exceed the one before. A series with NaN has NaN for every diagnostic; one that never moves has
no R-hat and counts every draw.

References
----------
A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Bürkner (2021). Rank-normalization, folding,
and localization: an improved R-hat for assessing convergence of MCMC. Bayesian Analysis 16(2).
doi:10.1214/20-BA1221

C. J. Geyer (1992). Practical Markov chain Monte Carlo. Statistical Science 7(4).
doi:10.1214/ss/1177011137

Examples
--------
>>> import numpy as np
>>> from panlearn.montecarlo import diagnostics
>>> draws = np.random.default_rng(0).normal(size=(4, 1000))
>>> float(diagnostics.rhat(draws).round(2)), bool(diagnostics.ess_bulk(draws) > 3500)
(1.0, True)
>>> bool(diagnostics.rhat(draws + np.arange(4)[:, None]) > 1.5)
True
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import fft, special, stats

__all__ = ["autocorrelation", "ess_bulk", "ess_mean", "ess_tail", "mcse_mean", "rhat", "split_rhat"]


def autocorrelation(draws: ArrayLike) -> np.ndarray:
    r"""Autocorrelations :math:`\rho_t` of each chain at the lags 0, ..., draws - 1."""
    x = _three(draws)
    covariance = _autocovariance(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        return _like(covariance / covariance[:, :1], draws)


def split_rhat(draws: ArrayLike) -> Any:
    r"""The classical :math:`\hat R` of half chains, without ranks."""
    return _shaped(_rhat(_halves(_three(draws))), draws)


def rhat(draws: ArrayLike) -> Any:
    r""":math:`\hat R` of the ranks of half chains, in location or in spread, whichever is worse."""
    x = _halves(_three(draws))
    folded = np.abs(x - np.median(x, axis=(0, 1)))
    # where all draws are as far from the median, as of signs, their spread has nothing to say
    return _shaped(np.fmax(_rhat(_scores(x)), _rhat(_scores(folded))), draws)


def ess_bulk(draws: ArrayLike) -> Any:
    r"""Draws that as many independent ones would match for the centre of the law."""
    return _shaped(_ess(_scores(_halves(_three(draws)))), draws)


def ess_tail(draws: ArrayLike) -> Any:
    r"""The same for the quantiles at 5 % and 95 %, whichever is worse."""
    x = _three(draws)
    sides = [_ess(_halves(_below(x, share))) for share in (0.05, 0.95)]
    return _shaped(np.minimum(*sides), draws)


def ess_mean(draws: ArrayLike) -> Any:
    r"""The same for the mean: the draws themselves, not their ranks."""
    return _shaped(_ess(_halves(_three(draws))), draws)


def mcse_mean(draws: ArrayLike) -> Any:
    r"""The standard error of the mean of all draws, :math:`s / \sqrt{\mathrm{ESS}}`."""
    x = _three(draws)
    spread = x.std(axis=(0, 1), ddof=1)
    return _shaped(spread / np.sqrt(_ess(_halves(x))), draws)


def _three(draws: ArrayLike) -> np.ndarray:
    """Draws of shape (chains, draws, dim), or an error that says what they are."""
    x = np.asarray(draws, dtype=float)
    if x.ndim not in (2, 3) or x.shape[0] < 1 or x.shape[1] < 4:
        raise ValueError(
            f"draws must have shape (chains, draws) or (chains, draws, dim) with four draws or "
            f"more a chain; got shape {x.shape}"
        )
    return x if x.ndim == 3 else x[:, :, None]


def _shaped(values: np.ndarray, draws: ArrayLike) -> Any:
    """One number for draws of two axes, one a dimension for three."""
    return values if np.ndim(draws) == 3 else values[0]


def _like(values: np.ndarray, draws: ArrayLike) -> np.ndarray:
    return values if np.ndim(draws) == 3 else values[:, :, 0]


def _halves(x: np.ndarray) -> np.ndarray:
    """Each chain as two; of an odd number of draws the middle one is left out."""
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, -half:]])


def _scores(x: np.ndarray) -> np.ndarray:
    r"""Normal scores :math:`\Phi^{-1}((r - 3/8) / (n + 1/4))` of the ranks r among all draws."""
    flat = x.reshape(-1, x.shape[2])
    ranks = stats.rankdata(flat, axis=0)
    ranks[:, np.isnan(flat).any(axis=0)] = np.nan
    return special.ndtri((ranks - 0.375) / (len(flat) + 0.25)).reshape(x.shape)


def _below(x: np.ndarray, share: float) -> np.ndarray:
    """Whether each draw is at most the quantile of all; NaN stays."""
    bound = np.quantile(x, share, axis=(0, 1))
    return np.where(np.isnan(bound), np.nan, x <= bound)


def _rhat(x: np.ndarray) -> np.ndarray:
    n = x.shape[1]
    within = x.var(axis=1, ddof=1).mean(axis=0)
    between = n * x.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt((between / within + n - 1) / n)


def _autocovariance(x: np.ndarray) -> np.ndarray:
    """Autocovariances along the draws, each divided by their number, so that they are one law's."""
    n = x.shape[1]
    power = _power(x)
    return fft.irfft(power, fft.next_fast_len(2 * n, real=True), axis=1)[:, :n] / n


def _power(x: np.ndarray) -> np.ndarray:
    n = x.shape[1]
    length = fft.next_fast_len(2 * n, real=True)  # zeros behind: no draw wraps round
    spectrum = fft.rfft(x - x.mean(axis=1, keepdims=True), length, axis=1)
    return spectrum.real**2 + spectrum.imag**2


def _ess(x: np.ndarray) -> np.ndarray:
    """Effective sample size of chains, by Geyer's initial monotone sequence."""
    m, n, _ = x.shape
    length = fft.next_fast_len(2 * n, real=True)
    # the mean over chains is taken before the inverse transform: one of it for each dimension
    covariance = fft.irfft(_power(x).mean(axis=0), length, axis=0)[:n] / n
    within = covariance[0] * n / (n - 1)
    total = covariance[0] + (x.mean(axis=1).var(axis=0, ddof=1) if m > 1 else 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = 1 - (within - covariance) / total
    rho[0] = 1.0
    size = float(m * n)
    tau = np.array([_geyer(column) for column in rho.T])
    constant = np.ptp(x, axis=(0, 1)) < np.finfo(float).resolution
    return np.where(constant, size, size / np.maximum(tau, 1 / np.log10(size)))


def _geyer(rho: np.ndarray) -> float:
    r"""The time :math:`\tau` from autocorrelations, cut where a pair of neighbours is negative."""
    if np.isnan(rho).any():
        return np.nan
    last = (len(rho) - 1) // 2  # pairs that may count: the end of a chain is all noise
    pairs = rho[: 2 * last : 2] + rho[1 : 2 * last : 2]
    negative = np.flatnonzero(pairs < 0)
    cut = int(negative[0]) if len(negative) else last - 1
    # half of the pair at the cut makes tau less biased; of a negative pair, a positive half only
    rest = max(rho[2 * cut], 0.0) if len(negative) else rho[2 * cut]
    return -1 + 2 * np.minimum.accumulate(pairs[:cut]).sum() + rest
