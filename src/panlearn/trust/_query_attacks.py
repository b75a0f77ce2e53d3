"""Attacks that ask for labels alone, theft of models, and transfer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from panlearn.core.parameters import RandomState
from panlearn.core.random import generator
from panlearn.trust._balls import AttackResult, checked_rows, norms
from panlearn.trust._targets import target_of


class _Labels:
    """The labels that a model gives, counted."""

    def __init__(self, model: Any) -> None:
        if hasattr(model, "predict"):
            self.ask: Callable[[np.ndarray], np.ndarray] = lambda X: np.asarray(model.predict(X))
        else:
            target = target_of(model)
            self.ask = lambda X: target.scores(X).argmax(axis=1)
        self.queries = 0

    def __call__(self, X: np.ndarray) -> np.ndarray:
        self.queries += len(X)
        return self.ask(X)


def boundary(
    model: Any,
    X: Any,
    y: Any,
    *,
    bounds: Any,
    starts: Any = None,
    steps: int = 10,
    n_directions: int = 100,
    random_state: RandomState = None,
) -> AttackResult:
    r"""Walk along the boundary to a near row that is labelled otherwise, asking for labels alone.

    .. math:: \hat n = \frac1m \sum_k \bigl(2 \, [f(b + h u_k) \ne y] - 1\bigr) u_k

    Parameters
    ----------
    model : torch.nn.Module, or anything with ``predict``
        It is asked for labels only.
    X, y, bounds
        As in `pgd`.
    starts : array-like of shape (m, ...), default=None
        Rows to walk from, labelled otherwise than the row that is attacked; by default those of X.
    steps : int, default=10
        Estimates of the normal, and steps along it, for each row.
    n_directions : int, default=100
        Labels asked for an estimate.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the directions.

    Returns
    -------
    AttackResult
        The nearest row found in the Euclidean norm; the row itself where no start is labelled
        otherwise, and success tells.
    """
    rows, low, high = checked_rows(X, bounds, 0.0)
    rng, labels, ask = generator(random_state), np.asarray(y), _Labels(model)
    pool = rows if starts is None else np.asarray(starts, dtype=rows.dtype)
    known = ask(pool)
    found = rows.copy()
    for i, row in enumerate(rows):
        if ask(row[None])[0] != labels[i]:
            continue  # wrong as it is
        others = pool[known != labels[i]]
        if len(others):
            far = norms(others - row, "l2")
            start = others[int(far.argmin())]
            found[i] = _walk(ask, row, labels[i], start, steps, n_directions, low, high, rng)
    predicted, delta = ask(found), found - rows
    return AttackResult(
        found,
        predicted != labels,
        predicted,
        norms(delta, "linf"),
        norms(delta, "l2"),
        ask.queries,
    )


def _walk(
    ask: _Labels,
    row: np.ndarray,
    label: Any,
    start: np.ndarray,
    steps: int,
    n_directions: int,
    low: Any,
    high: Any,
    rng: np.random.Generator,
) -> np.ndarray:
    best = bisect(ask, row, label, start)
    for t in range(1, steps + 1):
        distance = float(np.linalg.norm(best - row))
        normal = boundary_normal(ask, best, label, 0.01 * distance, n_directions, rng)
        length = distance / np.sqrt(t)
        while length > 1e-6 * distance:
            tried = np.clip(best + length * normal, low, high).astype(row.dtype)
            if ask(tried[None])[0] != label:
                nearer = bisect(ask, row, label, tried)
                if np.linalg.norm(nearer - row) < distance:
                    best = nearer
                break
            length /= 2
    return best


def bisect(
    ask: Callable[[np.ndarray], np.ndarray], row: Any, label: Any, start: Any, tol: float = 1e-6
) -> np.ndarray:
    r"""The point next to the boundary on the segment from a row to one that is labelled otherwise.

    .. math:: x + t (s - x), \qquad t = \inf\{t : f(x + t (s - x)) \ne y\} \text{ within tol}

    `ask` maps rows to labels. The point is on the other side.
    """
    near, far = np.asarray(row), np.asarray(start)
    low, high = 0.0, 1.0
    while high - low > tol:
        middle = (low + high) / 2
        if ask((near + middle * (far - near)).astype(near.dtype)[None])[0] != label:
            high = middle
        else:
            low = middle
    return (near + high * (far - near)).astype(near.dtype)


def boundary_normal(
    ask: Callable[[np.ndarray], np.ndarray],
    point: Any,
    label: Any,
    radius: float,
    n_directions: int = 100,
    random_state: RandomState = None,
) -> np.ndarray:
    r"""The normal of the boundary at a point, from labels of points around it.

    .. math:: \hat n \propto \frac1m \sum_k (s_k - \bar s) \, u_k, \qquad
        s_k = \pm 1 \text{ as } f(b + h u_k) \ne y \text{ or not}
    """
    centre, rng = np.asarray(point), generator(random_state)
    directions = rng.normal(size=(n_directions, *centre.shape))
    directions /= norms(directions, "l2").reshape(-1, *[1] * centre.ndim)
    other = ask((centre + radius * directions).astype(centre.dtype)) != label
    signs = np.where(other, 1.0, -1.0)
    if 0 < other.sum() < len(other):
        signs -= signs.mean()
    normal = np.tensordot(signs, directions, axes=1)
    length = np.linalg.norm(normal)
    return normal / length if length > 0 else normal


def score_gradient(
    score: Callable[[np.ndarray], np.ndarray], X: Any, difference: float = 1e-4
) -> np.ndarray:
    r"""The gradient of a score at each row by differences: d + 1 questions, an error of order h.

    .. math:: \hat\nabla g(x) = \sum_{i=1}^d \frac{g(x + h e_i) - g(x)}{h} \, e_i
    """
    rows = np.atleast_2d(np.asarray(X, dtype=float))
    base = np.asarray(score(rows), dtype=float)
    columns = [
        (np.asarray(score(rows + difference * e), dtype=float) - base) / difference
        for e in np.eye(rows.shape[1])
    ]
    return np.stack(columns, axis=1)


def steal_affine(score: Callable[[np.ndarray], np.ndarray], d: int) -> tuple[np.ndarray, float]:
    r"""The coefficients and intercept of an affine score from d + 1 questions.

    .. math:: b = g(0), \qquad w_i = g(e_i) - g(0)
    """
    answers = np.asarray(score(np.vstack([np.zeros((1, d)), np.eye(d)])), dtype=float)
    return answers[1:] - answers[0], float(answers[0])


def steal(model: Any, queries: Any, surrogate: Any) -> Any:
    r"""Train a surrogate on the labels that a model gives to rows of one's own choice.

    .. math:: \hat f = \arg\min_{f'} \sum_i \ell\bigl(f'(x_i), f(x_i)\bigr)

    `surrogate` is a classifier, of which a fitted clone comes back. Attack it with exact gradients,
    then see with `transfer` what the model makes of it.
    """
    rows = np.asarray(queries)
    return clone(surrogate).fit(rows, _Labels(model)(rows))


def transfer(result: AttackResult, model: Any, y: Any) -> np.ndarray:
    r"""Whether rows found against one model fool another, :math:`f'(\tilde x_i) \ne y_i`."""
    return _Labels(model)(result.adversarial) != np.asarray(y)
