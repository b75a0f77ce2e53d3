"""Attacks that climb the loss: one step, or many with a projection."""

from __future__ import annotations

from typing import Any

import numpy as np

from panlearn.core.parameters import RandomState
from panlearn.core.random import generator
from panlearn.trust._balls import (
    AttackResult,
    Norm,
    checked_rows,
    drawn,
    norms,
    project,
    steepest,
)
from panlearn.trust._targets import Gradient, Target, log_odds, target_of


def pgd(
    model: Any,
    X: Any,
    y: Any,
    eps: float,
    *,
    bounds: Any,
    norm: Norm = "linf",
    steps: int = 40,
    step: float | None = None,
    restarts: int = 1,
    random_start: bool = True,
    momentum: float = 0.0,
    targets: Any = None,
    gradient: Gradient = "auto",
    difference: float = 1e-4,
    random_state: RandomState = None,
) -> AttackResult:
    r"""Projected gradient ascent on the loss within a ball, the best iterate of each row kept.

    .. math:: \delta_{t+1} = P_\epsilon\bigl(\delta_t + \alpha \,
        \arg\max_{\|v\| \le 1} \langle \nabla_x \ell(x + \delta_t, y), v \rangle \bigr)

    Parameters
    ----------
    model : torch.nn.Module, or a fitted classifier
        A module takes X as a tensor and gives a score for each class, or one for two. Of a
        classifier, panlearn's networks, every model with ``coef_``, and with an RBF, linear or
        polynomial kernel SVC, LSSVC and GaussianProcessClassifier of two classes have exact
        gradients; any other, a pipeline too, is asked for scores.
    X : array-like of shape (n, ...)
        The rows, as the model takes them.
    y : array-like of shape (n,)
        The true labels; for a module, numbers of columns.
    eps : float
        The radius of the ball.
    bounds : tuple (low, high) of float or array-like, or None
        The box of valid rows, which must hold X; None for no box. It has no default, for a box
        that does not fit the data weakens an attack silently.
    norm : {"linf", "l2"}, default="linf"
        The norm of the ball.
    steps : int, default=40
        Steps of each start.
    step : float, default=None
        Their length; 2.5 eps / steps by default.
    restarts : int, default=1
        Starts, of which each row keeps the best.
    random_start : bool, default=True
        Whether to start at random in the ball; else the first start is the row itself.
    momentum : float, default=0.0
        How much of the former direction is kept, from 0 to 1.
    targets : array-like of shape (n,), default=None
        Labels that the model is to be led to; by default any but the true one will do.
    gradient : {"auto", "exact", "differences", "random"}, default="auto"
        The exact gradient where there is one, else differences of scores along every coordinate;
        or along some random directions.
    difference : float, default=1e-4
        The step of the differences.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the starts and directions.

    Returns
    -------
    AttackResult
        Success is what the model says when asked again about the rows that are returned.

    Notes
    -----
    What is climbed is the logarithm of the odds of the other classes, whose gradient points where
    that of the cross-entropy does and does not vanish where a model is very sure of itself.
    """
    if norm not in ("linf", "l2"):
        raise ValueError(f"norm={norm!r} must be 'linf' or 'l2'")
    if steps < 1 or restarts < 1 or not 0 <= momentum <= 1:
        raise ValueError(
            f"steps={steps!r} and restarts={restarts!r} must be 1 or more, momentum in [0, 1]; "
            f"got {momentum!r}"
        )
    rows, low, high = checked_rows(X, bounds, eps)
    rng = generator(random_state)
    target = target_of(model, gradient, difference, rng)
    codes, sign, wanted = _goal(target, rows, y, targets)
    length = 2.5 * eps / steps if step is None else step
    best, best_rank = rows.copy(), np.full(len(rows), -np.inf)
    for attempt in range(restarts):
        delta = np.zeros_like(rows)
        if random_start or attempt:
            delta = drawn(rows.shape, eps, norm, rng).astype(rows.dtype)
        velocity = np.zeros_like(rows)
        for t in range(steps + 1):
            here = np.clip(rows + delta, low, high)
            if t == steps:
                scores = target.scores(here)
            else:
                scores, slope = target.loss_and_gradient(here, wanted)
            rank = _rank(scores, codes, wanted, sign)
            better = rank > best_rank
            best[better], best_rank[better] = here[better], rank[better]
            if t < steps:
                velocity = momentum * velocity + (steepest(slope, "l2") if momentum else slope)
                moved = here - rows + sign * length * steepest(velocity, norm)
                delta = project(moved.astype(rows.dtype), eps, norm)
    return _result(target, rows, best, codes, wanted, targets is not None)


def fgsm(
    model: Any,
    X: Any,
    y: Any,
    eps: float,
    *,
    bounds: Any,
    targets: Any = None,
    gradient: Gradient = "auto",
    difference: float = 1e-4,
) -> AttackResult:
    r"""One step of :math:`\epsilon \, \mathrm{sign}(\nabla_x \ell)`, to a corner of a cube.

    It maximises the linearised loss over the ball of the largest coordinate. Arguments and result
    are those of `pgd`.
    """
    return _one_step(model, X, y, eps, bounds, "linf", targets, gradient, difference)


def l2_step(
    model: Any,
    X: Any,
    y: Any,
    eps: float,
    *,
    bounds: Any,
    targets: Any = None,
    gradient: Gradient = "auto",
    difference: float = 1e-4,
) -> AttackResult:
    r"""One step along the gradient, :math:`\epsilon \, \nabla_x \ell / \|\nabla_x \ell\|_2`.

    It maximises the linearised loss over the Euclidean ball. Arguments and result are those of
    `pgd`.
    """
    return _one_step(model, X, y, eps, bounds, "l2", targets, gradient, difference)


def _one_step(
    model: Any,
    X: Any,
    y: Any,
    eps: float,
    bounds: Any,
    norm: str,
    targets: Any,
    gradient: Gradient,
    difference: float,
) -> AttackResult:
    rows, low, high = checked_rows(X, bounds, eps)
    target = target_of(model, gradient, difference)
    codes, sign, wanted = _goal(target, rows, y, targets)
    slope = target.loss_and_gradient(rows, wanted)[1]
    moved = rows + (sign * eps * steepest(slope, norm)).astype(rows.dtype)
    found = np.clip(moved, low, high)
    return _result(target, rows, found, codes, wanted, targets is not None)


def _goal(
    target: Target, rows: np.ndarray, y: Any, targets: Any
) -> tuple[np.ndarray, int, np.ndarray]:
    """Codes of the labels, whether to climb or descend, and the labels whose loss it is."""
    codes = codes_of_labels(target.classes, y, len(rows), "y")
    if targets is None:
        return codes, 1, codes
    return codes, -1, codes_of_labels(target.classes, targets, len(rows), "targets")


def codes_of_labels(classes: np.ndarray, y: Any, n: int, name: str) -> np.ndarray:
    """The column of each label; of a module, whose columns have no names, the label itself."""
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ValueError(f"{name} must hold {n} labels; it has shape {labels.shape}")
    if not len(classes):
        if labels.dtype.kind not in "iu":
            raise ValueError(f"{name} must hold numbers of the module's columns")
        return labels.astype(np.int64)
    codes = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    if (classes[codes] != labels).any():
        raise ValueError(f"{name} holds labels that are not among {classes.tolist()[:5]}")
    return codes.astype(np.int64)


def _rank(scores: np.ndarray, codes: np.ndarray, wanted: np.ndarray, sign: int) -> np.ndarray:
    """Higher is better for the attack: success first, then the loss."""
    loss = sign * log_odds(scores, wanted)
    predicted = scores.argmax(axis=1)
    done = predicted == wanted if sign < 0 else predicted != codes
    return np.arctan(loss) + 10.0 * done  # arctan: order kept, and no loss outweighs success


def _result(
    target: Target,
    rows: np.ndarray,
    found: np.ndarray,
    codes: np.ndarray,
    wanted: np.ndarray,
    targeted: bool,
) -> AttackResult:
    predicted = target.scores(found).argmax(axis=1)
    success = predicted == wanted if targeted else predicted != codes
    names = target.classes[predicted] if len(target.classes) else predicted
    delta = found - rows
    return AttackResult(
        found, success, names, norms(delta, "linf"), norms(delta, "l2"), target.queries
    )
