r"""Entropy, divergences and distances of laws: of tables, of samples and of Gaussians.

.. math:: H(p) = -\sum_i p_i \log p_i, \qquad
    \mathrm{KL}(p \| q) = \sum_i p_i \log \frac{p_i}{q_i} = H(p, q) - H(p)

A table holds probabilities or counts over cells, in any shape, and is made to sum to one; 0 log 0
is 0. A sample is rows of numbers: its entropy and information are estimated by nearest neighbours,
its distances (`wasserstein`, `mmd`) are exact for the sample. Gaussians are given by means and
covariances. All is in nats unless a base is given.

A table costs its cells; of n rows neighbours cost about :math:`O(n \log n)`, `mmd`
:math:`O(n^2 d)`, and `wasserstein` :math:`O(n \log n)` on a line and :math:`O(n^3)` elsewhere.

References
----------
Cover, Thomas (2006). Elements of information theory. doi:10.1002/047174882X

Nowozin, Cseke, Tomioka (2016). f-GAN: training generative neural samplers using variational
divergence minimization. arXiv:1606.00709

Kozachenko, Leonenko (1987). Sample estimate of the entropy of a random vector. Problems of
Information Transmission 23.

Wang, Kulkarni, Verdú (2009). Divergence estimation for multidimensional densities via
k-nearest-neighbor distances. doi:10.1109/TIT.2009.2016060

Kraskov, Stögbauer, Grassberger (2004). Estimating mutual information.
doi:10.1103/PhysRevE.69.066138

Gretton, Borgwardt, Rasch, Schölkopf, Smola (2012). A kernel two-sample test. Journal of Machine
Learning Research 13.

Peyré, Cuturi (2019). Computational optimal transport. doi:10.1561/2200000073

Examples
--------
>>> from panlearn.theory import information
>>> round(information.entropy([0.5, 0.25, 0.25], base=2), 6)
1.5
>>> information.kl_divergence([0.5, 0.5], [1.0, 0.0])
inf
>>> round(information.wasserstein([0, 1, 2, 3], [0, 1, 2, 3], [2, 2, 0, 0], [0, 1, 1, 2]), 6)
1.75
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.special import entr, rel_entr, xlogy

from panlearn.theory._divergences import (
    FDivergence,
    best_critic,
    conjugate,
    f_divergence,
    table,
    tables,
    variational_bound,
)
from panlearn.theory._samples import (
    donsker_varadhan,
    infonce,
    label_mutual_information,
    median_gamma,
    mmd,
    sample_entropy,
    sample_kl_divergence,
    sample_mutual_information,
)
from panlearn.theory._transport import (
    Transport,
    gaussian_wasserstein,
    optimal_transport,
    wasserstein,
)

__all__ = [
    "FDivergence",
    "Transport",
    "best_critic",
    "conditional_entropy",
    "conjugate",
    "cross_entropy",
    "donsker_varadhan",
    "entropy",
    "f_divergence",
    "gaussian_entropy",
    "gaussian_kl_divergence",
    "gaussian_mutual_information",
    "gaussian_wasserstein",
    "infonce",
    "js_divergence",
    "kl_divergence",
    "label_mutual_information",
    "median_gamma",
    "mmd",
    "mutual_information",
    "optimal_transport",
    "sample_entropy",
    "sample_kl_divergence",
    "sample_mutual_information",
    "variational_bound",
    "wasserstein",
]


def entropy(p: Any, base: float | None = None) -> float:
    r"""The entropy :math:`H(p) = -\sum_i p_i \log p_i`, from 0 to the logarithm of the cells."""
    return float(entr(table(p)).sum() / _unit(base))


def cross_entropy(p: Any, q: Any, base: float | None = None) -> float:
    r"""The cross-entropy :math:`H(p, q) = -\sum_i p_i \log q_i`, least at q = p."""
    first, second = tables(p, q)
    if ((second == 0) & (first > 0)).any():
        return np.inf
    return float(-xlogy(first, np.where(first > 0, second, 1.0)).sum() / _unit(base))


def kl_divergence(p: Any, q: Any, base: float | None = None) -> float:
    r"""The divergence :math:`\sum_i p_i \log (p_i / q_i)`, infinite if q = 0 < p anywhere."""
    return max(float(rel_entr(*tables(p, q)).sum() / _unit(base)), 0.0)


def js_divergence(p: Any, q: Any, base: float | None = None) -> float:
    r"""The mean of the divergences of p and q from their middle m, at most log 2.

    .. math:: \mathrm{JS}(p, q) = \tfrac12 \mathrm{KL}(p \| m) + \tfrac12 \mathrm{KL}(q \| m),
        \qquad m = (p + q) / 2
    """
    first, second = tables(p, q)
    middle = (first + second) / 2
    total = rel_entr(first, middle).sum() + rel_entr(second, middle).sum()
    return max(float(total / 2 / _unit(base)), 0.0)


def conditional_entropy(joint: Any, base: float | None = None) -> float:
    r"""The entropy of the rows given the column, :math:`H(X \mid Y) = H(X, Y) - H(Y)`."""
    cells = _joint(joint)
    return float((entr(cells).sum() - entr(cells.sum(axis=0)).sum()) / _unit(base))


def mutual_information(joint: Any, base: float | None = None) -> float:
    r"""The information :math:`\sum_{ij} p_{ij} \log (p_{ij} / p_i p_j)` of a joint table."""
    cells = _joint(joint)
    return kl_divergence(cells, np.outer(cells.sum(axis=1), cells.sum(axis=0)), base)


def gaussian_entropy(cov: Any) -> float:
    r"""The differential entropy :math:`\tfrac12 \log \det (2 \pi e \Sigma)` of a Gaussian."""
    factor = _factor(cov, "cov")
    return float(len(factor) / 2 * np.log(2 * np.pi * np.e) + np.log(np.diag(factor)).sum())


def gaussian_kl_divergence(mean1: Any, cov1: Any, mean2: Any, cov2: Any) -> float:
    r"""The divergence of one Gaussian from another.

    .. math:: \tfrac12 \Bigl[\log \frac{|\Sigma_2|}{|\Sigma_1|} - d
        + \operatorname{tr}(\Sigma_2^{-1} \Sigma_1)
        + (\mu_2 - \mu_1)^\top \Sigma_2^{-1} (\mu_2 - \mu_1)\Bigr]
    """
    first, second = _factor(cov1, "cov1"), _factor(cov2, "cov2")
    shift = np.atleast_1d(np.asarray(mean2, dtype=float) - np.asarray(mean1, dtype=float))
    logs = np.log(np.diag(second)).sum() - np.log(np.diag(first)).sum()
    trace = np.square(solve_triangular(second, first, lower=True)).sum()
    distance = shift @ cho_solve((second, True), shift)
    return max(float(logs + (trace - len(first) + distance) / 2), 0.0)


def gaussian_mutual_information(cov: Any, first: Any) -> float:
    r"""The information :math:`\tfrac12 \log (|\Sigma_{11}| |\Sigma_{22}| / |\Sigma|)`.

    It is that of two blocks of a Gaussian: the coordinates that `first` lists, and the others.
    """
    whole = np.atleast_2d(np.asarray(cov, dtype=float))
    chosen = np.zeros(len(whole), dtype=bool)
    chosen[np.atleast_1d(first)] = True
    blocks = [whole[np.ix_(part, part)] for part in (chosen, ~chosen) if part.any()]
    logs = [np.log(np.diag(_factor(c, "cov"))).sum() for c in (*blocks, whole)]
    return max(float(sum(logs[:-1]) - logs[-1]), 0.0)


def _unit(base: float | None) -> float:
    if base is None:
        return 1.0
    if not base > 1:
        raise ValueError(f"base={base!r} must be above 1, or None for nats")
    return float(np.log(base))


def _joint(joint: Any) -> np.ndarray:
    cells = table(joint, "joint")
    if cells.ndim != 2:
        raise ValueError(f"joint must be a table of two variables; it has shape {cells.shape}")
    return cells


def _factor(cov: Any, name: str) -> np.ndarray:
    matrix = np.atleast_2d(np.asarray(cov, dtype=float))
    try:
        return cholesky(matrix, lower=True)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise ValueError(
            f"{name} must be a positive definite matrix; it has shape {matrix.shape}"
        ) from error
