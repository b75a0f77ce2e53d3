"""The Chinese restaurant and the Indian buffet: draws and laws of the priors."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln


def draw_partition(n: int, concentration: float, rng: np.random.Generator) -> np.ndarray:
    """Seat n guests, each at a new table by the concentration or beside an earlier guest by one."""
    labels = np.zeros(n, dtype=np.int64)
    for i, coin in enumerate(rng.random(n)):
        place = coin * (concentration + i) - concentration
        labels[i] = labels[int(place)] if place >= 0 else labels[:i].max(initial=-1) + 1
    return labels


def log_partition_law(counts: np.ndarray, concentration: float) -> float:
    """K log α + Σ log (n_k - 1)! - log α (α + 1) ... (α + n - 1)."""
    tables = len(counts) * np.log(concentration) + gammaln(counts).sum()
    return float(tables + gammaln(concentration) - gammaln(concentration + counts.sum()))


def draw_dishes(n: int, mass: float, rng: np.random.Generator) -> np.ndarray:
    """Serve n guests: guest i takes a dish of m others by m / i, then Poisson(α / i) new ones."""
    Z = np.zeros((n, 0), dtype=bool)
    for i in range(1, n + 1):
        taken = rng.random(Z.shape[1]) < Z[: i - 1].sum(axis=0) / i
        Z[i - 1] = taken
        new = np.zeros((n, rng.poisson(mass / i)), dtype=bool)
        new[i - 1] = True
        Z = np.hstack([Z, new])
    return Z


def log_dishes_law(Z: np.ndarray, mass: float) -> float:
    """The law of the columns without their order, of which there must be no empty one.

    K log α - Σ_h log K_h! - α H_n + Σ_k log (n - m_k)! (m_k - 1)! / n!, with K_h the number of
    columns that are the same.
    """
    n, k = Z.shape
    m = Z.sum(axis=0)
    same = np.unique([column.tobytes() for column in Z.T], return_counts=True)[1]
    harmonic = (1 / np.arange(1, n + 1)).sum()
    dishes = gammaln(n - m + 1) + gammaln(m) - gammaln(n + 1)
    return float(k * np.log(mass) - gammaln(same + 1).sum() - mass * harmonic + dishes.sum())
