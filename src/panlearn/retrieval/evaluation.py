r"""How good a search is, and how well answers name their sources.

`ranking_metrics` compares rankings with what is relevant: recall, the reciprocal rank of the first
relevant document, and nDCG. `faithfulness` is the share of sentences of answers that cite a passage
that exists.

A measure costs :math:`O(q k)` for q queries and k places.

References
----------
C. D. Manning, P. Raghavan and H. Schütze (2008). Introduction to Information Retrieval, chapter 8.
Cambridge University Press. doi:10.1017/CBO9780511809071

Examples
--------
>>> from panlearn.retrieval import evaluation
>>> evaluation.ranking_metrics([["a", "b"], ["c", "d"]], [["b"], ["c"]], k=2)["mrr"]
0.75
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from panlearn.retrieval._answers import cited, sentences
from panlearn.retrieval._labels import Hits, check_k

__all__ = ["faithfulness", "ranking_metrics"]


def ranking_metrics(rankings: Sequence[Any], relevant: Sequence[Any], k: int = 10) -> dict:
    r"""Compare the first k documents of rankings with those that are relevant.

    .. math::
        \mathrm{recall} = \frac{|R \cap F_k|}{|R|}, \qquad
        \mathrm{MRR} = \frac{1}{\min\{i : f_i \in R\}}, \qquad
        \mathrm{nDCG} = \frac{\sum_{i \le k} g(f_i) / \log_2(i + 1)}
                             {\max_\pi \sum_{i \le k} g(\pi_i) / \log_2(i + 1)}

    each averaged over queries.

    Parameters
    ----------
    rankings : sequence of Hits or of sequences of ids
        What was found for each query, best first.
    relevant : sequence of collections of ids, or of mappings from ids to gains
        What should have been found for each; a gain is above zero, one if it is not given.
    k : int, default=10
        How many documents of each ranking are looked at.

    Returns
    -------
    dict of {str: float}
        ``recall``, ``mrr`` and ``ndcg``, means over queries.

    Examples
    --------
    >>> from panlearn.retrieval.evaluation import ranking_metrics
    >>> ranking_metrics([["a", "b", "c"]], [{"b": 1.0}], k=3)
    {'recall': 1.0, 'mrr': 0.5, 'ndcg': 0.6309297535714575}
    """
    k = check_k(k)
    if len(rankings) != len(relevant):
        raise ValueError(f"there are {len(rankings)} rankings and {len(relevant)} sets of relevant")
    if not len(rankings):
        raise ValueError("there is no ranking, so nothing to measure")
    rows = []
    for i, (ranking, wanted) in enumerate(zip(rankings, relevant, strict=True)):
        ids = ranking.ids.tolist() if isinstance(ranking, Hits) else list(ranking)
        gains = _gains(wanted, i)
        if len(set(ids)) < len(ids):
            raise ValueError(f"ranking {i} names a document twice")
        got = np.array([gains.get(label, 0.0) for label in ids[:k]])
        hits = np.flatnonzero(got)
        best = np.sort(list(gains.values()))[::-1][:k]
        first = 1 / (hits[0] + 1) if len(hits) else 0.0
        rows.append((len(hits) / len(gains), first, _discounted(got) / _discounted(best)))
    names = ("recall", "mrr", "ndcg")
    return dict(zip(names, np.mean(rows, axis=0).tolist(), strict=True))


def _gains(wanted: Any, i: int) -> dict[Any, float]:
    if isinstance(wanted, str):
        raise TypeError(f"relevant {i} is {wanted!r}; ids come in a list: give [{wanted!r}]")
    gains = dict(wanted) if isinstance(wanted, Mapping) else dict.fromkeys(wanted, 1.0)
    if not gains:
        raise ValueError(f"nothing is relevant for query {i}; leave it out")
    if not all(np.isfinite(g) and g > 0 for g in gains.values()):
        raise ValueError(f"gains of query {i} must be above zero; got {gains!r}")
    return gains


def _discounted(gains: np.ndarray) -> float:
    return float((gains / np.log2(np.arange(2, len(gains) + 2))).sum())


def faithfulness(answers: Any) -> float:
    r"""Give the share of the sentences of answers that cite a passage that exists.

    .. math::
        \frac{\#\{\text{sentences with } [i],\ 1 \le i \le n\}}{\#\{\text{sentences}\}}

    Parameters
    ----------
    answers : Answer or sequence of Answer
        Answers of `RAG`; those that found nothing are left out.

    Returns
    -------
    float
        From 0 to 1; NaN if no answer found anything.

    Examples
    --------
    >>> from panlearn.retrieval import Answer
    >>> from panlearn.retrieval.evaluation import faithfulness
    >>> text = "Iron rusts [1]. Gold does not."
    >>> faithfulness(Answer("?", text, ids=["metals"], passages=["Iron rusts. ..."]))
    0.5
    """
    each = answers if isinstance(answers, Sequence) else [answers]
    known = [
        any(1 <= number <= len(answer.passages) for number in cited(sentence))
        for answer in each
        if answer.found
        for sentence in sentences(answer.text)
    ]
    return float(np.mean(known)) if known else float("nan")
