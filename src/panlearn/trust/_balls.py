"""Balls that perturbations stay in, and the result of an attack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Norm = Literal["linf", "l2"]


def _column(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    return values.reshape(-1, *[1] * (like.ndim - 1))


def norms(delta: np.ndarray, norm: str) -> np.ndarray:
    """The length of each row's perturbation."""
    flat = delta.reshape(len(delta), -1)
    return np.abs(flat).max(axis=1, initial=0.0) if norm == "linf" else np.linalg.norm(flat, axis=1)


def project(delta: np.ndarray, eps: float, norm: str) -> np.ndarray:
    """The nearest perturbation of length at most eps, row by row."""
    if norm == "linf":
        return np.clip(delta, -eps, eps)
    length = norms(delta, "l2")
    scale = np.where(length > eps, eps / np.maximum(length, 1e-300), 1.0)
    return delta * _column(scale, delta).astype(delta.dtype)


def steepest(gradient: np.ndarray, norm: str) -> np.ndarray:
    """The perturbation of length one that gains most along a gradient; zero for a zero gradient."""
    if norm == "linf":
        return np.sign(gradient)
    length = norms(gradient, "l2")
    safe = np.where(length > 0, length, 1.0)
    return gradient / _column(safe, gradient).astype(gradient.dtype)


def drawn(shape: tuple[int, ...], eps: float, norm: str, rng: np.random.Generator) -> np.ndarray:
    """A perturbation drawn uniformly from the ball."""
    if norm == "linf":
        return rng.uniform(-eps, eps, size=shape)
    d = int(np.prod(shape[1:]))
    direction = steepest(rng.normal(size=shape), "l2")
    radius = eps * rng.random(shape[0]) ** (1 / d)
    return direction * _column(radius, direction)


@dataclass(frozen=True, eq=False)
class AttackResult:
    r"""What an attack found: :math:`\tilde x_i` with :math:`\|\tilde x_i - x_i\| \le \epsilon`.

    Parameters
    ----------
    adversarial : ndarray of the shape of X
        The best attempt for every row, also where it failed.
    success : ndarray of bool of shape (n,)
        Whether the model, asked again about `adversarial`, is wrong (or says the target).
    predicted : ndarray of shape (n,)
        What the model says of `adversarial`: labels, or the numbers of columns of a module.
    linf, l2 : ndarray of shape (n,)
        How far each row was moved.
    queries : int
        Rows that the model was asked about in all.
    """

    adversarial: np.ndarray
    success: np.ndarray
    predicted: np.ndarray
    linf: np.ndarray
    l2: np.ndarray
    queries: int

    @property
    def success_rate(self) -> float:
        """The part of the rows on which the attack succeeded."""
        return float(self.success.mean())

    def table(self) -> dict[str, np.ndarray]:
        """Columns for a data frame: success, prediction and both distances of each row."""
        return {
            "success": self.success,
            "predicted": self.predicted,
            "linf": self.linf,
            "l2": self.l2,
        }


def checked_rows(X: Any, bounds: Any, eps: float) -> tuple[np.ndarray, Any, Any]:
    """Rows as floats, and the ends of the box; rows outside of it are refused, never clipped."""
    rows = np.asarray(X)
    rows = rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)
    if rows.ndim < 2 or not len(rows) or not np.isfinite(rows).all():
        raise ValueError(f"X must be finite rows; it has shape {rows.shape}")
    if not (np.isfinite(eps) and eps >= 0):
        raise ValueError(f"eps={eps!r} must be a finite number, zero or more")
    if bounds is None:
        return rows, -np.inf, np.inf
    try:
        low, high = (np.asarray(b, dtype=rows.dtype) for b in bounds)
    except (TypeError, ValueError) as error:
        raise ValueError(f"bounds={bounds!r} must be a pair (low, high), or None") from error
    if not np.all(low < high):
        raise ValueError(f"bounds={bounds!r} must have low below high")
    if (rows < low).any() or (rows > high).any():
        raise ValueError(
            f"X goes from {rows.min():.4g} to {rows.max():.4g}, beyond bounds={bounds!r}; give the "
            "bounds of the data as the model takes them, after any scaling, or None"
        )
    return rows, low, high
