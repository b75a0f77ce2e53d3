r"""Errors elsewhere than on rows like those of the fit: the worst group, another domain, an enemy.

.. math:: \sup_a \mathrm{err}_a, \qquad
    E_{q} \, \ell = E_{p}\Bigl[\frac{q(x)}{p(x)} \ell\Bigr], \qquad
    E \sup_{\|\delta\| \le \epsilon} [f(x + \delta) \ne y]

Errors cost one pass, :math:`O(n)`, beside the predictions; weights of a shift cost a fit of the
classifier that finds them.

References
----------
Sagawa, Koh, Hashimoto, Liang (2020). Distributionally robust neural networks for group shifts.
arXiv:1911.08731

Sugiyama, Krauledat, Müller (2007). Covariate shift adaptation by importance weighted cross
validation. Journal of Machine Learning Research 8.

Madry, Makelov, Schmidt, Tsipras, Vladu (2018). Towards deep learning models resistant to
adversarial attacks. arXiv:1706.06083

Examples
--------
>>> from panlearn.trust import generalization
>>> found = generalization.group_errors([0, 1, 1, 0], [0, 1, 0, 0], ["a", "a", "b", "b"])
>>> found.worst, found.worst_group, found.average
(0.5, 'b', 0.25)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from panlearn.core.warning import warn
from panlearn.linear import LogisticRegression
from panlearn.trust._certified import robust_accuracy_curve
from panlearn.trust._groups import group_codes

__all__ = [
    "GroupErrors",
    "ShiftedError",
    "adversarial_error",
    "effective_size",
    "group_errors",
    "importance_weights",
    "shifted_error",
]


@dataclass(frozen=True, eq=False)
class GroupErrors:
    r"""The mean loss of each group, and the worst, :math:`\max_a \mathrm{err}_a`.

    Parameters
    ----------
    groups : list
        The groups.
    errors : ndarray of shape (n_groups,)
        The mean loss of each.
    counts : ndarray of shape (n_groups,)
        The rows of each.
    """

    groups: list
    errors: np.ndarray
    counts: np.ndarray

    @property
    def worst(self) -> float:
        """The largest error."""
        return float(self.errors.max())

    @property
    def worst_group(self) -> Any:
        """The group that has it."""
        return self.groups[int(self.errors.argmax())]

    @property
    def average(self) -> float:
        """The mean over all rows, which is never above the worst."""
        return float(self.counts @ self.errors / self.counts.sum())


def group_errors(y_true: Any, y_pred: Any, groups: Any, loss: Any = None) -> GroupErrors:
    r"""The mean loss of each group, :math:`\frac1{n_a} \sum_{i : a_i = a} \ell(y_i, \hat y_i)`.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        The truth and the predictions.
    groups : array-like of shape (n,) or (n, k)
        The group of each row; of several columns, the intersections.
    loss : callable, default=None
        ``loss(y_true, y_pred)`` of arrays, elementwise; zero-one by default.

    Returns
    -------
    GroupErrors
    """
    truth, predicted = np.asarray(y_true), np.asarray(y_pred)
    if len(truth) != len(predicted) or not len(truth):
        raise ValueError(f"y_true has {len(truth)} rows and y_pred {len(predicted)}")
    losses = (truth != predicted).astype(float) if loss is None else loss(truth, predicted)
    names, codes = group_codes(groups, len(truth), "groups")
    counts = np.bincount(codes, minlength=len(names))
    return GroupErrors(names, np.bincount(codes, weights=losses) / counts, counts)


def effective_size(weights: Any) -> float:
    r"""The number of rows that weights are worth, :math:`(\sum_i w_i)^2 / \sum_i w_i^2`."""
    w = np.asarray(weights, dtype=float)
    if not len(w) or not np.isfinite(w).all() or (w < 0).any() or not w.any():
        raise ValueError("weights must be finite, zero or more, and not all zero")
    w = w / w.max()
    return float(w.sum() ** 2 / (w @ w))


def importance_weights(source: Any, target: Any, classifier: Any = None) -> np.ndarray:
    r"""Weights :math:`q(x) / p(x)` of source rows, from a classifier that tells domains apart.

    .. math:: \frac{q(x)}{p(x)} = \frac{n_p}{n_q} \, \frac{P(\text{target} \mid x)}
        {1 - P(\text{target} \mid x)}

    Parameters
    ----------
    source, target : array-like of shapes (n, d) and (m, d)
        Rows of the domain with labels, and of the one without.
    classifier : classifier, default=None
        With ``predict_proba``; logistic regression by default.

    Returns
    -------
    ndarray of shape (n,)
        Of mean one. A warning tells if they are worth less than a tenth of the rows: the domains
        then hardly overlap, and a weighted error is that of a few rows.
    """
    first, second = np.asarray(source, dtype=float), np.asarray(target, dtype=float)
    labels = np.repeat([0, 1], [len(first), len(second)])
    model = clone(LogisticRegression() if classifier is None else classifier)
    chance = model.fit(np.vstack([first, second]), labels).predict_proba(first)[:, 1]
    chance = np.clip(chance, 1e-12, 1 - 1e-12)
    weights = len(first) / len(second) * chance / (1 - chance)
    weights /= weights.mean()
    size = effective_size(weights)
    if size < len(first) / 10:
        warn(
            f"the weights of {len(first)} rows are worth {size:.1f} of them: the domains hardly "
            "overlap, and what is estimated with them is not to be relied on"
        )
    return weights


@dataclass(frozen=True)
class ShiftedError:
    r"""A loss in another domain, :math:`\sum_i w_i \ell_i / \sum_i w_i`, and how sure it is.

    Parameters
    ----------
    error : float
        The weighted mean.
    standard_error : float
        Its standard error.
    effective_size : float
        How many rows the weights are worth.
    """

    error: float
    standard_error: float
    effective_size: float


def shifted_error(losses: Any, weights: Any) -> ShiftedError:
    r"""The error in another domain from losses here and `importance_weights`.

    .. math:: \hat e = \frac{\sum_i w_i \ell_i}{\sum_i w_i}, \qquad
        \widehat{\mathrm{se}}^2 = \frac{\sum_i w_i^2 (\ell_i - \hat e)^2}{(\sum_i w_i)^2}
    """
    values, w = np.asarray(losses, dtype=float), np.asarray(weights, dtype=float)
    if values.shape != w.shape:
        raise ValueError(f"losses have shape {values.shape} and weights {w.shape}")
    size = effective_size(w)
    error = float(w @ values / w.sum())
    spread = float(np.sqrt(w**2 @ (values - error) ** 2) / w.sum())
    return ShiftedError(error, spread, size)


def adversarial_error(model: Any, X: Any, y: Any, eps: float, **options: Any) -> float:
    r"""The error under attack, the part of rows that fall within a ball.

    .. math:: \frac1n \sum_i \max_{\|\delta\| \le \epsilon} [f(x_i + \delta) \ne y_i]

    Parameters
    ----------
    model, X, y, eps
        As in `attacks.pgd`.
    **options
        Of `attacks.pgd`, of which ``bounds`` must be given.

    Returns
    -------
    float
        A lower bound, for an attack may fail where another succeeds; at eps = 0 the error itself.
    """
    curve = robust_accuracy_curve(model, X, y, [0.0, float(eps)], **options)
    return float(1 - curve.accuracy[-1])
