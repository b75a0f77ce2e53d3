r"""Bias and variance of any estimator under any loss, by fitting it to samples of the rows.

.. math:: E_S \, L(y, f_S(x)) = \underbrace{L(y, \bar f(x))}_{\text{bias}}
    + \text{variance and what it does}, \qquad \bar f(x) = \arg\min_z E_S \, L(z, f_S(x))

For the squared loss the main prediction :math:`\bar f` is the mean, and loss is bias plus variance
exactly. For the zero-one loss it is the majority vote, and variance may help where the vote is
wrong: the net effect is the loss less the bias.

There are b fits for b draws, and :math:`O(b m)` predictions of m test rows.

References
----------
Geman, Bienenstock, Doursat (1992). Neural networks and the bias/variance dilemma.
doi:10.1162/neco.1992.4.1.1

Domingos (2000). A unified bias-variance decomposition and its applications. ICML.

Examples
--------
>>> import numpy as np
>>> from sklearn.tree import DecisionTreeRegressor
>>> from panlearn.evaluate import bias_variance
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(80, 1))
>>> y = X[:, 0] + rng.normal(size=80)
>>> deep = bias_variance.bias_variance(DecisionTreeRegressor(), X, y, X, y, n_draws=20,
...                                    random_state=0)
>>> flat = bias_variance.bias_variance(DecisionTreeRegressor(max_depth=1), X, y, X, y, n_draws=20,
...                                    random_state=0)
>>> deep.variance > flat.variance, deep.bias < flat.bias
(True, True)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from panlearn.core.parameters import RandomState
from panlearn.core.random import generator

__all__ = ["BiasVariance", "bias_variance"]

Loss = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class BiasVariance:
    r"""The parts of the expected loss, means over the test rows.

    .. math:: \text{loss} = \text{bias} + \text{net variance}

    Parameters
    ----------
    loss : float
        The mean loss of the fits.
    bias : float
        The loss of the main prediction; with noisy labels the noise is in it.
    variance : float
        The mean loss of the fits against the main prediction.
    main : ndarray of shape (n_test,)
        The main prediction of each row.
    predictions : ndarray of shape (n_draws, n_test)
        What each fit predicted.
    """

    loss: float
    bias: float
    variance: float
    main: np.ndarray
    predictions: np.ndarray

    @property
    def net_variance(self) -> float:
        """What varying fits add to the loss: the variance itself under the squared loss."""
        return self.loss - self.bias


def bias_variance(
    estimator: Any,
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    *,
    loss: str | Loss = "squared",
    n_draws: int = 100,
    random_state: RandomState = None,
) -> BiasVariance:
    r"""Split the expected loss of an estimator into bias and variance over bootstrap samples.

    .. math:: \text{bias} = \frac1n \sum_i L(y_i, \bar f(x_i)), \qquad
        \text{variance} = \frac1{n B} \sum_{i, b} L(\bar f(x_i), f_b(x_i))

    Parameters
    ----------
    estimator : estimator
        With ``fit`` and ``predict``; it is cloned for each fit and left as it was.
    X, y : array-like
        The rows that samples are drawn from, with replacement.
    X_test, y_test : array-like
        The rows that the loss is measured on.
    loss : {"squared", "absolute", "zero_one"} or callable, default="squared"
        The loss L(truth, prediction) of arrays, elementwise.
    n_draws : int, default=100
        The number of fits.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the samples.

    Returns
    -------
    BiasVariance

    Notes
    -----
    The main prediction is the mean, the median or the mode for the named losses; for a loss of
    your own it is the one among the predictions of a row whose mean loss against all is least. The
    estimator's own randomness is part of the variance unless its ``random_state`` is fixed.
    """
    if n_draws < 2:
        raise ValueError(f"n_draws={n_draws!r} must be 2 or more")
    if not callable(loss) and loss not in _LOSSES:
        raise ValueError(f"loss must be callable or one of {list(_LOSSES)}; got {loss!r}")
    function, main_of = (loss, _least_loss) if callable(loss) else _LOSSES[loss]
    rng, truth, n = generator(random_state), np.asarray(y_test), len(y)
    predictions = []
    for _ in range(n_draws):
        rows = rng.integers(n, size=n)
        model = clone(estimator).fit(_safe_indexing(X, rows), _safe_indexing(y, rows))
        predictions.append(np.asarray(model.predict(X_test)))
    votes = np.array(predictions)
    main = main_of(votes, function)
    return BiasVariance(
        float(np.mean(function(truth, votes))),
        float(np.mean(function(truth, main))),
        float(np.mean(function(main, votes))),
        main,
        votes,
    )


def _least_loss(votes: np.ndarray, loss: Loss) -> np.ndarray:
    """Of the predictions of each row, the first whose mean loss against all is least."""
    costs = np.array([np.mean(loss(candidate, votes), axis=0) for candidate in votes])
    return votes[costs.argmin(axis=0), np.arange(votes.shape[1])]


def _mode(votes: np.ndarray, loss: Loss) -> np.ndarray:
    labels, codes = np.unique(votes, return_inverse=True)
    counts = np.apply_along_axis(np.bincount, 0, codes.reshape(votes.shape), minlength=len(labels))
    return labels[counts.argmax(axis=0)]


_LOSSES: dict[str, tuple[Loss, Callable[[np.ndarray, Loss], np.ndarray]]] = {
    "squared": (lambda y, z: (y - z) ** 2, lambda votes, _: votes.mean(axis=0)),
    "absolute": (lambda y, z: np.abs(y - z), lambda votes, _: np.median(votes, axis=0)),
    "zero_one": (lambda y, z: (y != z).astype(float), _mode),
}
