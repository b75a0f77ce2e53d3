"""Rank fusion: several rankings of the same documents made one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from panlearn.retrieval._labels import Hits, as_labels, ranks


def reciprocal_rank_fusion(
    rankings: Sequence[Any], k: float = 60, *, weights: Any = None, n: int | None = None
) -> Hits:
    r"""Fuse rankings by the sum of the reciprocals of a document's places in them.

    .. math::
        \mathrm{RRF}(d) = \sum_{r} \frac{w_r}{k + \mathrm{rank}_r(d)}

    Parameters
    ----------
    rankings : sequence of Hits or of sequences of ids
        Each ranking, best first; the first place is 1. A document that a ranking lacks gets
        nothing from it.
    k : float, default=60
        How much the first places stand out: the smaller, the more. Not negative.
    weights : array-like of shape (n_rankings,), default=None
        How much each ranking counts, not negative; one if not given.
    n : int or None, default=None
        How many documents to give; all if None.

    Returns
    -------
    Hits
        ``ids`` and ``scores``, best first; documents of equal score in the order of their ids.

    Notes
    -----
    Only places count, so that scores of different scales, such as BM25's and cosines, need no
    calibration. It costs :math:`O(m \log m)` for m places in all.

    References
    ----------
    G. V. Cormack, C. L. A. Clarke and S. Büttcher (2009). Reciprocal rank fusion outperforms
    Condorcet and individual rank learning methods. SIGIR 2009, 758-759.
    doi:10.1145/1571941.1572114

    Examples
    --------
    >>> from panlearn.retrieval import reciprocal_rank_fusion
    >>> words, vectors = ["a", "b", "c"], ["c", "a"]
    >>> fused = reciprocal_rank_fusion([words, vectors])
    >>> fused.ids
    array(['a', 'c', 'b'], dtype=object)
    >>> fused.scores.round(5)
    array([0.03252, 0.03227, 0.01613])
    """
    if not np.isfinite(k) or k < 0:
        raise ValueError(f"k must be a number of at least 0; got {k!r}")
    if n is not None and n < 1:
        raise ValueError(f"n must be at least 1, or None; got {n!r}")
    importance = np.ones(len(rankings)) if weights is None else np.asarray(weights, dtype=float)
    if importance.shape != (len(rankings),) or not (importance >= 0).all():
        raise ValueError(
            f"weights must be {len(rankings)} numbers, one a ranking, not negative; got {weights!r}"
        )
    scores: dict[Any, float] = {}
    for ranking, weight in zip(rankings, importance.tolist(), strict=True):
        labels = as_labels(ranking.ids if isinstance(ranking, Hits) else ranking)
        for place, label in enumerate(labels.tolist(), start=1):
            scores[label] = scores.get(label, 0.0) + weight / (k + place)
    labels, values = as_labels(list(scores)), np.array(list(scores.values()), dtype=float)
    by_id = ranks(labels)
    best = by_id[np.argsort(-values[by_id], kind="stable")][:n]
    return Hits(labels[best], values[best])
