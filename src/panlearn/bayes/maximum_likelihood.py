"""Maximum likelihood in closed form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy import linalg
from scipy.special import gammaln, xlog1py, xlogy
from sklearn.utils import check_array
from sklearn.utils.validation import _check_sample_weight

Family = Literal[
    "normal",
    "poisson",
    "exponential",
    "geometric",
    "binomial",
    "categorical",
    "multivariate_normal",
]


@dataclass(frozen=True)
class MaximumLikelihood:
    """The result of `maximum_likelihood`.

    Attributes
    ----------
    family : str
        The distribution.
    parameters : dict
        The estimates by name.
    standard_errors : dict
        Large-sample standard errors by the same names, from the Fisher information.
    log_likelihood : float
        The log-likelihood at the estimates.
    """

    family: str
    parameters: dict[str, Any]
    standard_errors: dict[str, Any]
    log_likelihood: float


def maximum_likelihood(
    sample: Any, family: Family, *, sample_weight: Any = None, n_trials: int | None = None
) -> MaximumLikelihood:
    r"""Estimate the parameters of a distribution by maximum likelihood, in closed form.

    .. math::
        \hat\theta = \arg\max_\theta \sum_i w_i \log p(x_i \mid \theta)

    ===================  ==========================================================
    normal               mean :math:`\bar x`, variance :math:`\frac1n \sum (x_i - \bar x)^2`
    poisson              rate :math:`\bar x`
    exponential          rate :math:`1 / \bar x`
    geometric            p = :math:`1 / \bar x`, on 1, 2, ...: tosses up to the first success
    binomial             p = :math:`\bar x / N`
    categorical          the share of each value
    multivariate_normal  mean :math:`\bar x`, covariance
                         :math:`\frac1n \sum (x_i - \bar x)(x_i - \bar x)^\top`
    ===================  ==========================================================

    Parameters
    ----------
    sample : array-like of shape (n_samples,) or (n_samples, n_features)
        Independent draws; a table for the multivariate normal alone. Categories may be of any type
        that sorts.
    family : str
        One of the names in the table.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights; an integer weight is a repeated draw.
    n_trials : int, default=None
        Trials N of the binomial.

    Returns
    -------
    MaximumLikelihood
        ``parameters``, ``standard_errors`` (dicts by name; of the categorical, arrays in the order
        of ``parameters["values"]``) and ``log_likelihood``.

    Notes
    -----
    The variance and the covariance divide by n, so they are too small by the factor (n - 1) / n on
    average. Standard errors are those of the Fisher information; at the edge of the parameters'
    range, where a probability is 0 or 1, they are 0 and mean nothing. One pass, :math:`O(n)`;
    categories are sorted, :math:`O(n \log n)`, and a covariance costs :math:`O(n d^2)`.

    References
    ----------
    E. L. Lehmann and G. Casella (1998). Theory of Point Estimation. Springer. doi:10.1007/b98854

    Examples
    --------
    >>> from panlearn.bayes import maximum_likelihood
    >>> found = maximum_likelihood([2, 0, 3, 1, 4], "poisson")
    >>> found.parameters, round(found.standard_errors["rate"], 4)
    ({'rate': 2.0}, 0.6325)
    """
    if family not in get_args(Family):
        raise ValueError(f"family must be one of {get_args(Family)}; got {family!r}")
    if (family == "binomial") != (n_trials is not None):
        raise ValueError("n_trials goes with family='binomial', which needs it, and no other")
    if family == "categorical":
        x = check_array(sample, ensure_2d=False, dtype=None, input_name="sample")
    else:
        x = check_array(sample, ensure_2d=False, dtype=np.float64, input_name="sample")
    if x.ndim != (2 if family == "multivariate_normal" else 1):
        raise ValueError(f"family {family!r} does not take a sample of {x.ndim} dimensions")
    w = _check_sample_weight(sample_weight, x, dtype=np.float64, ensure_non_negative=True)
    x, w = x[w > 0], w[w > 0]
    if n_trials is not None:
        return _binomial(x, w, n_trials)
    return _SOLVERS[family](x, w)


def _normal(x: np.ndarray, w: np.ndarray) -> MaximumLikelihood:
    n, mean = w.sum(), _mean(x, w)
    variance = w @ (x - mean) ** 2 / n
    _require(variance > 0, "normal", "two different values at least")
    loglik = -n / 2 * (np.log(2 * np.pi * variance) + 1)
    errors = {"mean": np.sqrt(variance / n), "variance": variance * np.sqrt(2 / n)}
    return _result("normal", {"mean": mean, "variance": variance}, errors, loglik)


def _poisson(x: np.ndarray, w: np.ndarray) -> MaximumLikelihood:
    _require(_whole(x) and (x >= 0).all(), "poisson", "whole numbers from 0 up")
    n, rate = w.sum(), _mean(x, w)
    loglik = w @ (xlogy(x, rate) - rate - gammaln(x + 1))
    return _result("poisson", {"rate": rate}, {"rate": np.sqrt(rate / n)}, loglik)


def _exponential(x: np.ndarray, w: np.ndarray) -> MaximumLikelihood:
    _require((x >= 0).all() and x.any(), "exponential", "numbers from 0 up, not all 0")
    n, rate = w.sum(), 1 / _mean(x, w)
    loglik = n * (np.log(rate) - 1)
    return _result("exponential", {"rate": rate}, {"rate": rate / np.sqrt(n)}, loglik)


def _geometric(x: np.ndarray, w: np.ndarray) -> MaximumLikelihood:
    _require(_whole(x) and (x >= 1).all(), "geometric", "whole numbers from 1 up")
    n, p = w.sum(), 1 / _mean(x, w)
    loglik = n * np.log(p) + w @ xlog1py(x - 1, -p)
    return _result("geometric", {"p": p}, {"p": p * np.sqrt((1 - p) / n)}, loglik)


def _binomial(x: np.ndarray, w: np.ndarray, trials: int) -> MaximumLikelihood:
    allowed = _whole(x) and (x >= 0).all() and (x <= trials).all()
    _require(allowed, "binomial", f"whole numbers from 0 to n_trials={trials}")
    n, p = w.sum(), _mean(x, w) / trials
    ways = gammaln(trials + 1) - gammaln(x + 1) - gammaln(trials - x + 1)
    loglik = w @ (ways + xlogy(x, p) + xlog1py(trials - x, -p))
    return _result("binomial", {"p": p}, {"p": np.sqrt(p * (1 - p) / (n * trials))}, loglik)


def _categorical(x: np.ndarray, w: np.ndarray) -> MaximumLikelihood:
    values, codes = np.unique(x, return_inverse=True)
    n, count = w.sum(), np.bincount(codes, w)
    p = count / n
    parameters = {"values": values, "probabilities": p}
    errors = {"probabilities": np.sqrt(p * (1 - p) / n)}
    return _result("categorical", parameters, errors, count @ np.log(p))


def _multivariate_normal(x: np.ndarray, w: np.ndarray) -> MaximumLikelihood:
    (_, d), n = x.shape, w.sum()
    mean = _mean(x, w)
    centred = (x - mean) * np.sqrt(w / n)[:, None]
    covariance = centred.T @ centred
    values = linalg.svdvals(centred)
    full = len(values) == d and values[-1] > len(x) * np.finfo(float).eps * values[0]
    _require(full, "multivariate_normal", "rows that vary along every direction")
    variances = np.diag(covariance)
    errors = {
        "mean": np.sqrt(variances / n),
        "covariance": np.sqrt((np.outer(variances, variances) + covariance**2) / n),
    }
    loglik = -n / 2 * (d * (np.log(2 * np.pi) + 1) + 2 * np.log(values).sum())
    parameters = {"mean": mean, "covariance": covariance}
    return _result("multivariate_normal", parameters, errors, loglik)


_SOLVERS: dict[str, Callable[[np.ndarray, np.ndarray], MaximumLikelihood]] = {
    "normal": _normal,
    "poisson": _poisson,
    "exponential": _exponential,
    "geometric": _geometric,
    "categorical": _categorical,
    "multivariate_normal": _multivariate_normal,
}


def _mean(x: np.ndarray, w: np.ndarray) -> Any:
    """The weighted mean, corrected by the mean of what it leaves."""
    share = w / w.sum()
    mean = share @ x
    return mean + share @ (x - mean)


def _whole(x: np.ndarray) -> bool:
    return bool((np.floor(x) == x).all())


def _require(condition: Any, family: str, what: str) -> None:
    if not condition:
        raise ValueError(f"the {family} distribution is fitted to {what}; the sample has others")


def _result(
    family: str, parameters: dict[str, Any], errors: dict[str, Any], loglik: Any
) -> MaximumLikelihood:
    def plain(values: dict[str, Any]) -> dict[str, Any]:
        return {k: float(v) if np.ndim(v) == 0 else v for k, v in values.items()}

    return MaximumLikelihood(family, plain(parameters), plain(errors), float(loglik))
