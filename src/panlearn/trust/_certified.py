"""What can be promised: radii within which no attack succeeds, and accuracy under attack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta, norm

from panlearn.core.parameters import RandomState
from panlearn.core.random import generator
from panlearn.trust._balls import Norm
from panlearn.trust._gradient_attacks import codes_of_labels, pgd
from panlearn.trust._targets import LinearTarget, target_of


def linear_radius(model: Any, X: Any, y: Any, norm: Norm = "linf") -> np.ndarray:
    r"""The distance of each row to where a linear classifier is wrong, exactly; 0 if it is wrong.

    .. math:: r(x) = \min_{j \ne y} \frac{(w_y - w_j)^\top x + b_y - b_j}{\|w_y - w_j\|_*}

    with the dual norm, that of sums of absolute values for "linf". No attack within it succeeds,
    and one just beyond does.
    """
    return np.maximum(_linear_margins(model, X, y, norm, 0.0, scaled=True), 0.0)


def linear_margin(model: Any, X: Any, y: Any, eps: float, norm: Norm = "linf") -> np.ndarray:
    r"""The worst margin, :math:`\min_j z_y - z_j - \epsilon \|w_y - w_j\|_*`, in a ball."""
    return _linear_margins(model, X, y, norm, eps, scaled=False)


def _linear_margins(model: Any, X: Any, y: Any, kind: str, eps: float, scaled: bool) -> np.ndarray:
    target = target_of(model)
    if not isinstance(target, LinearTarget):
        raise ValueError(
            f"{type(model).__name__} is not linear; use attacks.smoothed_radius, or pgd for a "
            "bound from the other side"
        )
    rows = np.asarray(X, dtype=float)
    scores = target.scores(rows)
    weights = np.asarray(target.coef, dtype=float)
    weights = np.vstack([np.zeros_like(weights), weights]) if len(weights) == 1 else weights
    codes = codes_of_labels(target.classes, y, len(rows), "y")
    own = np.arange(len(rows))
    gaps = scores[own, codes][:, None] - scores
    apart = weights[codes][:, None, :] - weights[None]
    sizes = np.abs(apart).sum(axis=2) if kind == "linf" else np.linalg.norm(apart, axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        margins = gaps / sizes if scaled else gaps - eps * sizes
    margins[own, codes] = np.inf
    return margins.min(axis=1)


@dataclass(frozen=True, eq=False)
class Smoothed:
    r"""Labels of the smoothed classifier :math:`\arg\max_c P(f(x + \sigma Z) = c)`, and radii.

    Parameters
    ----------
    predicted : ndarray of shape (n,)
        The most frequent label under noise.
    radius : ndarray of shape (n,)
        The Euclidean distance within which it is that label, each with the confidence that was
        asked for; 0 where it abstains.
    """

    predicted: np.ndarray
    radius: np.ndarray

    @property
    def abstains(self) -> np.ndarray:
        """Where nothing can be promised."""
        return self.radius == 0


def smoothed_radius(
    model: Any,
    X: Any,
    sigma: float,
    *,
    n_samples: int = 1000,
    n_selection: int = 100,
    confidence: float = 0.999,
    random_state: RandomState = None,
) -> Smoothed:
    r"""Certify any classifier with Gaussian noise on its input.

    .. math:: R = \sigma \, \Phi^{-1}(\underline{p_A}), \qquad
        P(\underline{p_A} \le p_A) \ge 1 - \alpha

    Parameters
    ----------
    model : anything with ``predict``
        The classifier, which is asked for labels of noisy rows.
    X : array-like of shape (n, ...)
        The rows.
    sigma : float
        The standard deviation of the noise.
    n_samples : int, default=1000
        Noisy copies of a row to estimate the probability of its label.
    n_selection : int, default=100
        Other copies, to choose that label first.
    confidence : float, default=0.999
        With which each radius holds: the bound is that of Clopper and Pearson.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the noise.

    Returns
    -------
    Smoothed
    """
    if not sigma > 0 or not 0 < confidence < 1:
        raise ValueError(
            f"sigma={sigma!r} must be above zero and confidence={confidence!r} in (0, 1)"
        )
    rows, rng = np.asarray(X, dtype=float), generator(random_state)
    chosen, radii = [], np.zeros(len(rows))
    for i, row in enumerate(rows):
        noise = rng.normal(scale=sigma, size=(n_selection + n_samples, *row.shape))
        said = np.asarray(model.predict(row + noise))
        labels, counts = np.unique(said[:n_selection], return_counts=True)
        label = labels[int(counts.argmax())]
        hits = int((said[n_selection:] == label).sum())
        lower = float(beta.ppf(1 - confidence, hits, n_samples - hits + 1)) if hits else 0.0
        radii[i] = sigma * norm.ppf(lower) if lower > 0.5 else 0.0
        chosen.append(label)
    return Smoothed(np.array(chosen), radii)


@dataclass(frozen=True, eq=False)
class RobustCurve:
    r"""The accuracy that an attack leaves within a ball, for each radius.

    .. math:: \frac1n \sum_i \bigl[f(\tilde x) = y_i \;\forall \tilde x \in B(x_i, \epsilon)\bigr]

    Parameters
    ----------
    eps : ndarray of shape (k,)
        The radii, increasing.
    accuracy : ndarray of shape (k,)
        The part of rows that the attack left right: an upper bound on the robust accuracy.
    """

    eps: np.ndarray
    accuracy: np.ndarray


def robust_accuracy_curve(
    model: Any, X: Any, y: Any, eps: Sequence[float], **options: Any
) -> RobustCurve:
    r"""Accuracy under `pgd` at each radius :math:`\epsilon`; a row that fell stays fallen.

    Parameters
    ----------
    model, X, y
        As in `pgd`.
    eps : sequence of float
        The radii.
    **options
        Of `pgd`, of which ``bounds`` must be given.

    Returns
    -------
    RobustCurve
        It starts at the accuracy itself if eps has 0, and never rises.
    """
    radii = np.sort(np.asarray(eps, dtype=float))
    rows, labels = np.asarray(X), np.asarray(y)
    standing = np.ones(len(rows), dtype=bool)
    accuracy = []
    for radius in radii:
        left = np.flatnonzero(standing)
        if len(left):
            found = pgd(model, rows[left], labels[left], float(radius), **options)
            standing[left[found.success]] = False
        accuracy.append(standing.mean())
    return RobustCurve(radii, np.array(accuracy))
