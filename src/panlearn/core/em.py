r"""The one EM driver: an expectation and a maximisation, over rows wherever they are.

References
----------
A. P. Dempster, N. M. Laird and D. B. Rubin (1977). Maximum likelihood from incomplete data via
the EM algorithm. JRSS B 39(1). doi:10.1111/j.2517-6161.1977.tb01600.x
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np

from panlearn.core.map_reduce import map_reduce
from panlearn.core.progress import Iterations
from panlearn.core.sources import Rows


class ExpectedStatistic(Protocol):
    """A statistic of an expectation step: mergeable, with the likelihood that it saw."""

    weight: float
    log_likelihood: float


Parameters = TypeVar("Parameters")


def expectation_maximisation(
    estimator: Any,
    rows: Rows,
    parameters: Parameters,
    *,
    expect: Callable[..., Any],
    maximise: Callable[[Parameters, Any], Parameters],
    max_iter: int,
    tol: float,
    attributes: Callable[[Parameters], dict[str, Any]] | None = None,
) -> Parameters:
    r"""Alternate the two steps until the mean log-likelihood changes by no more than `tol`.

    .. math::
        s = \sum_i \mathbb{E}_{z \mid x_i, \theta_t} [T(x_i, z)], \qquad
        \theta_{t+1} = \arg\max_\theta \; \mathbb{E}[\log p(X, Z \mid \theta)]

    Parameters
    ----------
    estimator : Iterative
        Receives ``n_iter_``, ``converged_`` and ``history_["log_likelihood"]`` (mean of a row).
    rows : Rows
        The data; walked once an iteration.
    parameters
        The start.
    expect : callable
        ``expect(parameters, X, y, weight)`` of a block gives a statistic with ``weight`` and
        ``log_likelihood``.
    maximise : callable
        ``maximise(parameters, statistic)`` gives the next parameters, from those that the
        expectation was taken at and what it gave.
    max_iter, tol
        The end of the loop; tol is in nats per row.
    attributes : callable, default=None
        ``attributes(parameters)`` gives the fitted attributes, for callbacks.

    Returns
    -------
    parameters
        The last, which are the best: with an exact maximisation the likelihood never falls.
    """
    last = -np.inf
    with Iterations(estimator, max_iter=max_iter, tol=tol, rows=rows) as loop:
        for _ in loop:
            current = parameters

            def summary(X: Any, y: Any, weight: Any, at: Parameters = current) -> Any:
                return expect(at, X, y, weight)

            statistic: Any = map_reduce(summary, rows)
            value = statistic.log_likelihood / statistic.weight
            parameters = maximise(parameters, statistic)
            loop.record(
                log_likelihood=value,
                change=abs(value - last),
                attributes=functools.partial(attributes, parameters) if attributes else None,
            )
            last = value
    return parameters
