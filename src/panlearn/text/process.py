r"""The strings of a list that are most like a query, and the scores of all pairs, as rapidfuzz's.

.. math::
    \operatorname{extract}(q) = \arg\max_c \; s(q, c)

for a similarity s of the query and each choice c, or the arguments of the least distance.

`extract` costs :math:`O(n)` scores for n choices and a sort of them, `cdist` :math:`O(n m)` scores
for m queries.

References
----------
M. Bachmann (2020). RapidFuzz: rapid fuzzy string matching. doi:10.5281/zenodo.5584996

Examples
--------
>>> from panlearn.text import process
>>> process.extract("appel", ["apple", "ape", "maple"], limit=2)
[('apple', 80.0, 0), ('ape', 75.0, 1)]
>>> process.extractOne("appel", {"a": "apple", "b": "ape"}, score_cutoff=90) is None
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from panlearn.core.memory import require_memory
from panlearn.text._scorers import Scorer, is_missing
from panlearn.text.fuzz import WRatio, ratio

__all__ = ["cdist", "extract", "extractOne"]

Processor = Callable[[Any], Any] | None
Match = tuple[Any, float, Any]


def extract(
    query: Any,
    choices: Iterable[Any] | Mapping[Any, Any],
    *,
    scorer: Scorer = WRatio,
    processor: Processor = None,
    limit: int | None = 5,
    score_cutoff: float | None = None,
    scorer_kwargs: Mapping[str, Any] | None = None,
) -> list[Match]:
    """Find the choices that are most like a query.

    Parameters
    ----------
    query : str or sequence
        What is looked for.
    choices : iterable or mapping
        What to choose among; one that is None is passed over.
    scorer : Scorer, default=WRatio
        A score of `panlearn.text.fuzz` or `panlearn.text.distance`; of a distance the least is
        best.
    processor : callable or None, default=None
        Applied to the query and to each choice before they are scored.
    limit : int or None, default=5
        How many at most; None for all.
    score_cutoff : float or None, default=None
        Only choices that score as well.
    scorer_kwargs : mapping or None, default=None
        Options of the scorer.

    Returns
    -------
    list of tuples (choice, score, index or key)
        The best first; of equal ones the first of the choices.
    """
    keyed = choices.items() if isinstance(choices, Mapping) else enumerate(choices)
    kept = [(key, choice) for key, choice in keyed if not is_missing(choice)]
    if is_missing(query) or not kept:
        return []
    scores = cdist(
        [query],
        [choice for _, choice in kept],
        scorer=scorer,
        processor=processor,
        scorer_kwargs=scorer_kwargs,
    )[0]
    order = np.argsort(scores if scorer.falling else -scores, kind="stable")
    if score_cutoff is not None:
        reached = scores <= score_cutoff if scorer.falling else scores >= score_cutoff
        order = order[reached[order]]
    return [(kept[i][1], scores[i].item(), kept[i][0]) for i in order[:limit].tolist()]


def extractOne(  # noqa: N802
    query: Any,
    choices: Iterable[Any] | Mapping[Any, Any],
    *,
    scorer: Scorer = WRatio,
    processor: Processor = None,
    score_cutoff: float | None = None,
    scorer_kwargs: Mapping[str, Any] | None = None,
) -> Match | None:
    """Find the choice that is most like a query, or None if no one reaches the cutoff.

    Parameters
    ----------
    query : str or sequence
        What is looked for.
    choices : iterable or mapping
        What to choose among; one that is None is passed over.
    scorer : Scorer, default=WRatio
        As in `extract`.
    processor : callable or None, default=None
        As in `extract`.
    score_cutoff : float or None, default=None
        As in `extract`.
    scorer_kwargs : mapping or None, default=None
        As in `extract`.

    Returns
    -------
    tuple (choice, score, index or key) or None
        Of equal ones the first of the choices.
    """
    given: dict[str, Any] = {"scorer": scorer, "processor": processor}
    given |= {"score_cutoff": score_cutoff, "scorer_kwargs": scorer_kwargs}
    found = extract(query, choices, limit=1, **given)
    return found[0] if found else None


def cdist(
    queries: Sequence[Any],
    choices: Sequence[Any],
    *,
    scorer: Scorer = ratio,
    processor: Processor = None,
    score_cutoff: float | None = None,
    dtype: Any = None,
    scorer_kwargs: Mapping[str, Any] | None = None,
) -> np.ndarray:
    """Score all pairs of two lists; each entry is what the scorer gives for the two.

    Parameters
    ----------
    queries : list of str or of sequences
        The first strings, one a row.
    choices : list of str or of sequences
        The second strings, one a column.
    scorer : Scorer, default=ratio
        A score of `panlearn.text.fuzz` or `panlearn.text.distance`.
    processor : callable or None, default=None
        Applied to each string before.
    score_cutoff : float or None, default=None
        Scores that do not reach it are the worst.
    dtype : dtype, default=None
        Of the result: int32 of distances that are whole numbers, else float64.
    scorer_kwargs : mapping or None, default=None
        Options of the scorer.

    Returns
    -------
    ndarray of shape (len(queries), len(choices))
    """
    shape = (len(queries), len(choices))
    require_memory(shape, "the matrix of scores", "take fewer strings")
    scores = scorer.table(queries, choices, processor, score_cutoff, **(scorer_kwargs or {}))
    if dtype is None and scorer.whole and scores.dtype.kind == "i" and scores.size:
        dtype = np.int32 if abs(scores).max() < 2**31 else np.int64
    return scores if dtype is None else scores.astype(dtype, copy=False)
