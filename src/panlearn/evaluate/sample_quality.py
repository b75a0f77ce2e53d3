r"""How good generated samples are: distances, a test, a classifier, fidelity and variety.

.. math:: \text{precision} = \frac1m \sum_j \bigl[y_j \in \bigcup_i B(x_i, r_k(x_i))\bigr],
    \qquad \text{recall} = \frac1n \sum_i \bigl[x_i \in \bigcup_j B(y_j, r_k(y_j))\bigr]

A number alone says little: `compare_samples` puts beside each what one half of the real rows
reaches against the other half, which is as good as a generator can get at that size. Rows are plain
columns, on like scales; of images, name a network whose features stand for them.

Distances of all pairs cost :math:`O(n^2 d)`, moments :math:`O(n d^2 + d^3)`, and columns
:math:`O(n d \log n)`.

References
----------
Heusel, Ramsauer, Unterthiner, Nessler, Hochreiter (2017). GANs trained by a two time-scale update
rule converge to a local Nash equilibrium. arXiv:1706.08500

Gretton, Borgwardt, Rasch, Schölkopf, Smola (2012). A kernel two-sample test. Journal of Machine
Learning Research 13.

Lopez-Paz, Oquab (2017). Revisiting classifier two-sample tests. arXiv:1610.06545

Kynkäänniemi, Karras, Laine, Lehtinen, Aila (2019). Improved precision and recall metric for
assessing generative models. arXiv:1904.06991

Naeem, Oh, Uh, Choi, Yoo (2020). Reliable fidelity and diversity metrics for generative models.
arXiv:2002.09797

Examples
--------
>>> import numpy as np
>>> from panlearn.evaluate import sample_quality
>>> rng = np.random.default_rng(0)
>>> real, good, bad = (rng.normal(m, s, size=(300, 2)) for m, s in ((0, 1), (0, 1), (0, 0.1)))
>>> sample_quality.precision_recall(real, bad)["recall"] < 0.1
True
>>> sample_quality.mmd_test(real, good, random_state=0).p_value > 0.05
True
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.utils.validation import check_is_fitted

from panlearn.core.extras import require
from panlearn.core.parameters import RandomState
from panlearn.core.random import generator
from panlearn.theory import information

__all__ = [
    "TwoSampleTest",
    "classifier_test",
    "column_distances",
    "compare_samples",
    "density_coverage",
    "frechet_distance",
    "mmd_test",
    "pair_distance",
    "precision_recall",
]


@dataclass(frozen=True)
class TwoSampleTest:
    r"""The statistic of a test that two samples have one law, and its p-value.

    .. math:: p = P(T \ge t \mid \text{one law})

    Parameters
    ----------
    statistic : float
        The statistic t.
    p_value : float
        How often samples of one law give as much.
    """

    statistic: float
    p_value: float


def frechet_distance(real: Any, generated: Any, features: Any = None) -> float:
    r"""The squared distance of Fréchet between Gaussians of the same moments.

    .. math:: \|\mu_1 - \mu_2\|^2 + \operatorname{tr}\bigl(\Sigma_1 + \Sigma_2
        - 2 (\Sigma_1 \Sigma_2)^{1/2}\bigr)

    With Inception features it is known as FID. It is too large for few rows: compare equal sizes.

    Parameters
    ----------
    real, generated : array-like of shapes (n, ...) and (m, ...)
        The samples: rows, or images.
    features : callable, torch.nn.Module or transformer, default=None
        What stands for the samples: a function of them, a network, or a model with `transform`,
        which is trained on the real ones if it is not fitted. None takes them as they are.

    Returns
    -------
    float
    """
    first, second = _described(real, generated, features)
    moments = [(v.mean(axis=0), np.atleast_2d(np.cov(v.T))) for v in (first, second)]
    return information.gaussian_wasserstein(*moments[0], *moments[1]) ** 2


def mmd_test(
    real: Any,
    generated: Any,
    gamma: float | None = None,
    n_permutations: int = 200,
    random_state: RandomState = None,
) -> TwoSampleTest:
    r"""Test by the maximum mean discrepancy, against permutations of all rows.

    .. math:: p = \frac{1 + \#\{b : \mathrm{MMD}^2_b \ge \mathrm{MMD}^2\}}{1 + B}

    Parameters
    ----------
    real, generated : array-like of shapes (n, d) and (m, d)
        The samples.
    gamma : float, default=None
        The scale of the kernel; the median of distances by default.
    n_permutations : int, default=200
        The number B of permutations.
    random_state : int, Generator, RandomState or None, default=None
        Seeds them.

    Returns
    -------
    TwoSampleTest
        The statistic is the unbiased :math:`\mathrm{MMD}^2`. Memory is quadratic in the rows.
    """
    first, second = _pair(real, generated)
    scale = information.median_gamma(first, second) if gamma is None else gamma
    rows, n = np.vstack([first, second]), len(first)
    kernel = np.exp(-scale * cdist(rows, rows, "sqeuclidean"))
    np.fill_diagonal(kernel, 0.0)
    rng, m = generator(random_state), len(second)
    member = np.zeros((len(rows), n_permutations + 1))
    member[:n, 0] = 1
    for b in range(1, n_permutations + 1):
        member[rng.permutation(len(rows))[:n], b] = 1
    inside = kernel @ member  # for each row and permutation, the kernel to the first sample
    own = (member * inside).sum(axis=0)
    across = ((1 - member) * inside).sum(axis=0)
    other = kernel.sum() - own - 2 * across
    values = own / (n * (n - 1)) + other / (m * (m - 1)) - 2 * across / (n * m)
    # one law up to rounding: a permutation that gives the very same split counts
    reached = (values[1:] >= values[0] - 1e-12).sum()
    return TwoSampleTest(float(values[0]), float((1 + reached) / (1 + n_permutations)))


def classifier_test(
    real: Any,
    generated: Any,
    classifier: Any = None,
    cv: int = 5,
    random_state: RandomState = None,
) -> TwoSampleTest:
    r"""Test whether a classifier can tell the samples apart on rows that it did not learn from.

    .. math:: \text{accuracy} \sim \mathrm{Binomial}(n, \tfrac12) / n \quad\text{if one law}

    Parameters
    ----------
    real, generated : array-like of shapes (n, d) and (m, d)
        The samples; the larger is cut to the size of the smaller.
    classifier : classifier, default=None
        Boosted trees by default.
    cv : int, default=5
        The number of folds.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the cut and the folds.

    Returns
    -------
    TwoSampleTest
        The statistic is the balanced accuracy, 1/2 if the samples cannot be told apart.
    """
    first, second = _pair(real, generated)
    rng, n = generator(random_state), min(len(first), len(second))
    X = np.vstack([v[rng.permutation(len(v))[:n]] for v in (first, second)])
    y = np.repeat([0, 1], n)
    seed = int(rng.integers(2**31))
    model = HistGradientBoostingClassifier(random_state=seed) if classifier is None else classifier
    folds = StratifiedKFold(cv, shuffle=True, random_state=seed)
    right = int((cross_val_predict(model, X, y, cv=folds) == y).sum())
    p = stats.binomtest(right, 2 * n, alternative="greater").pvalue
    return TwoSampleTest(right / (2 * n), float(p))


def precision_recall(real: Any, generated: Any, n_neighbors: int = 5) -> dict[str, float]:
    r"""The part of generated rows near real ones, and of real rows near generated ones.

    Near is within the distance of a row of the other sample to its k-th neighbour.
    """
    first, second = _pair(real, generated)
    return {
        "precision": float(_inside(first, second, n_neighbors).any(axis=0).mean()),
        "recall": float(_inside(second, first, n_neighbors).any(axis=0).mean()),
    }


def density_coverage(real: Any, generated: Any, n_neighbors: int = 5) -> dict[str, float]:
    r"""The density and coverage of balls :math:`B_i` around real rows, which outliers cannot cheat.

    .. math:: \text{density} = \frac1{k m} \sum_{ij} [y_j \in B_i], \qquad
        \text{coverage} = \frac1n \sum_i \bigl[\exists j : y_j \in B_i\bigr]
    """
    first, second = _pair(real, generated)
    inside = _inside(first, second, n_neighbors)
    return {
        "density": float(inside.sum() / (n_neighbors * len(second))),
        "coverage": float(inside.any(axis=1).mean()),
    }


def column_distances(real: Any, generated: Any) -> np.ndarray:
    r"""The distance :math:`W_1 / \sigma` of each column, in standard deviations of the real one."""
    first, second = _pair(real, generated)
    scale = first.std(axis=0)
    scale[scale == 0] = 1.0
    found = [information.wasserstein(a, b) for a, b in zip(first.T, second.T, strict=True)]
    return np.array(found) / scale


def pair_distance(real: Any, generated: Any) -> float:
    r"""The mean :math:`|\rho_{ij} - \rho'_{ij}|` of rank correlations over pairs of columns."""
    first, second = _pair(real, generated)
    if first.shape[1] < 2:
        raise ValueError("pairs need two columns or more")
    tables = []
    for rows in (first, second):
        ranks = stats.rankdata(rows, axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            tables.append(np.nan_to_num(np.corrcoef(ranks.T)))  # a constant column has none
    upper = np.triu_indices(first.shape[1], 1)
    return float(np.abs(tables[0] - tables[1])[upper].mean())


def compare_samples(
    real: Any,
    generated: Any,
    n_neighbors: int = 5,
    random_state: RandomState = None,
    features: Any = None,
) -> dict[str, dict[str, float]]:
    r"""Every measure of this module, beside what real rows reach against real rows.

    .. math:: \text{value} = m(R_1, G), \qquad \text{real} = m(R_1, R_2)

    Parameters
    ----------
    real, generated : array-like of shapes (n, d) and (m, d)
        The samples; with `features` also images.
    n_neighbors : int, default=5
        Of the measures by neighbours.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the halves and the tests.
    features : callable, torch.nn.Module or transformer, default=None
        What stands for the samples, as in `frechet_distance`.

    Returns
    -------
    dict of {name: {"value", "real"}}
        The real rows are cut into halves :math:`R_1, R_2`; as many generated rows are used.
    """
    first, second = _described(real, generated, features)
    rng = generator(random_state)
    half = min(len(first) // 2, len(second))
    shuffled = first[rng.permutation(len(first))]
    reference, others = shuffled[:half], shuffled[half : 2 * half]
    chosen = second[rng.permutation(len(second))[:half]]
    seed = int(rng.integers(2**31))

    def measures(sample: np.ndarray) -> dict[str, float]:
        found = {
            "frechet_distance": frechet_distance(reference, sample),
            "mmd": mmd_test(reference, sample, random_state=seed).statistic,
            "classifier_accuracy": classifier_test(reference, sample, random_state=seed).statistic,
            **precision_recall(reference, sample, n_neighbors),
            **density_coverage(reference, sample, n_neighbors),
            "column_distance": float(column_distances(reference, sample).mean()),
        }
        if reference.shape[1] > 1:
            found["pair_distance"] = pair_distance(reference, sample)
        return found

    values, best = measures(chosen), measures(others)
    return {name: {"value": values[name], "real": best[name]} for name in values}


def _inside(centres: np.ndarray, points: np.ndarray, k: int) -> np.ndarray:
    """Whether each point lies in the ball of each centre, to its k-th neighbour."""
    if not 1 <= k < len(centres):
        raise ValueError(f"n_neighbors={k!r} must be from 1 to below the {len(centres)} rows")
    radius = KDTree(centres).query(centres, [k + 1])[0]
    return cdist(centres, points) <= radius


def _described(real: Any, generated: Any, features: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both samples as rows of features."""
    if features is None:
        return _pair(real, generated)
    real, generated = np.asarray(real), np.asarray(generated)
    describe = features
    if hasattr(features, "transform"):
        known = _is_fitted(features)
        describe = (features if known else clone(features).fit(real)).transform
    elif hasattr(features, "state_dict"):  # a network of torch, on its own device and floats
        describe = functools.partial(_outputs, features)
    return _pair(*(np.asarray(describe(rows)).reshape(len(rows), -1) for rows in (real, generated)))


def _is_fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _outputs(module: Any, rows: np.ndarray) -> np.ndarray:
    torch = require("torch")
    like = next(module.parameters(), torch.zeros(()))
    with torch.no_grad():
        return module(torch.as_tensor(rows).to(like)).cpu().numpy()


def _pair(real: Any, generated: Any) -> tuple[np.ndarray, np.ndarray]:
    rows = []
    for name, values in (("real", real), ("generated", generated)):
        table = np.asarray(values, dtype=float)
        table = table[:, None] if table.ndim == 1 else table
        if table.ndim != 2 or len(table) < 2 or not np.isfinite(table).all():
            raise ValueError(f"{name} must be two finite rows or more; shape {table.shape}")
        rows.append(table)
    if rows[0].shape[1] != rows[1].shape[1]:
        raise ValueError(
            f"real has {rows[0].shape[1]} columns and generated {rows[1].shape[1]}; give the same"
        )
    return rows[0], rows[1]
