"""Claims on ranking: BM25, rank fusion, PageRank and TextRank."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from panlearn.claims.claim import Evidence, at_most, claim, equal, true
from panlearn.retrieval import BM25, reciprocal_rank_fusion
from panlearn.retrieval._labels import Hits
from panlearn.text import TextRank, pagerank


def _factor(f: int, others: int, k1: float) -> float:
    """The factor of the count f of a word in a document of f + others words, by BM25 as printed.

    The idf of the word is that of one document in two hundred, and is divided out. The documents
    beside are as long, so that this one has the mean length.
    """
    texts = [["word"] * f + ["other"] * others] + [["filler"] * (f + others)] * 199
    score = BM25(k1, variant="atire").fit(texts).scores([["word"]])[0, 0]
    return float(score / np.log(200))


@claim("B292")
def bm25_saturates_and_normalises() -> Iterator[Evidence]:
    """The factor f (k1 + 1) / (f + k1 (1 - b + b |D| / avgdl)) of BM25 is 1.375 for f = 2, a
    document of mean length and k1 = 1.2; it tends to k1 + 1 as f grows; with b = 0 the length of
    the document has no part in it; with k1 = 0 it is one for every word that is there.
    """
    yield equal("factor at f = 2, k1 = 1.2", _factor(2, 8, k1=1.2), 1.375, 1e-6)
    values = [_factor(f, 0, k1=1.2) for f in (1, 10, 100, 10_000)]
    yield true("it grows with f", np.all(np.diff(values) > 0))
    yield equal("limit k1 + 1", values[-1], 2.2, 2.2 * 1.2 / 10_000)
    texts = [["word"] * 2 + ["other"] * n for n in (0, 5, 500)] + [["filler"]] * 20
    flat = BM25(b=0.0, variant="atire").fit(texts).scores([["word"]])[0, :3]
    yield equal("b = 0: scores of a short and a long document", flat[0], flat[2])
    long = BM25(b=0.75, variant="atire").fit(texts).scores([["word"]])[0, :3]
    yield true("b = 0.75: the longer, the lower", np.all(np.diff(long) < 0))
    binary = [_factor(f, 3, k1=0.0) for f in (1, 2, 50)]
    yield equal("k1 = 0: factors of three counts", binary, np.ones(3), 1e-6)


@claim("B294")
def pagerank_is_a_stationary_law() -> Iterator[Evidence]:
    """PageRank is the stationary law of a walk that follows the edges with probability d = 0.85 and
    else jumps anywhere: it sums to one and is the leading eigenvector of that walk's matrix.
    TextRank is the same on a graph of words.
    """
    rng = np.random.default_rng(0)
    graph = (rng.random((40, 40)) < 0.1) * rng.random((40, 40))
    graph[7] = 0.0
    rank = pagerank(graph, tol=1e-14)
    yield equal("sum of the ranks", rank.sum(), 1.0, 1e-13)
    degree = graph.sum(axis=1, keepdims=True)
    walk = np.where(degree > 0, graph / np.where(degree > 0, degree, 1), 1 / 40)
    google = 0.85 * walk + 0.15 / 40
    yield equal("ranks and their next step", rank @ google, rank, 1e-13)
    values, vectors = np.linalg.eig(google.T)
    first = int(np.argmax(np.abs(values)))
    leading = np.real(vectors[:, first] / vectors[:, first].sum())
    yield equal("leading eigenvalue", np.abs(values[first]), 1.0, 1e-12)
    yield equal("leading eigenvector and ranks", leading, rank, 1e-10)
    second = np.sort(np.abs(values))[-2]
    yield at_most("the second eigenvalue, which sets the rate", second, 0.85 + 1e-12)
    words = "red fox sees red hen sees fox".split()
    ranks = TextRank(stop_words=()).word_ranks(" ".join(words))
    links = np.zeros((4, 4))
    for a, b in pairwise(words):
        i, j = list(ranks).index(a), list(ranks).index(b)
        links[i, j] = links[j, i] = 1.0
    yield equal("TextRank and the graph of words", list(ranks.values()), pagerank(links), 1e-9)


@claim("B293")
def fusion_counts_places_alone() -> Iterator[Evidence]:
    """Reciprocal rank fusion scores a document by the sum of 1 / (k + rank), k = 60: places 1 and 3
    give 0.0322665. Scores of any scale fuse alike, for only places count, and a document that moves
    up in one ranking does not fall in the fused one.
    """
    fused = reciprocal_rank_fusion([["a", "b", "c"], ["b", "c", "a"]])
    score = dict(zip(fused.ids.tolist(), fused.scores.tolist(), strict=True))
    yield equal("score of places 1 and 3", score["a"], 0.0322665, 5e-8)
    yield equal("and exactly", score["a"], 1 / 61 + 1 / 63, 1e-17)
    places, scores = np.arange(5), np.linspace(2, 1, 5)
    plain = reciprocal_rank_fusion([Hits(places, scores), Hits(places[::-1], scores)])
    scaled = reciprocal_rank_fusion([Hits(places, 1e6 * scores), Hits(places[::-1], scores)])
    yield equal("scores after a change of scale", scaled.scores, plain.scores)
    rng = np.random.default_rng(0)
    falls = 0
    for _ in range(200):
        one, other = rng.permutation(8).tolist(), rng.permutation(8).tolist()
        at = int(rng.integers(1, 8))
        moved = one.copy()
        moved[at - 1], moved[at] = moved[at], moved[at - 1]
        before = reciprocal_rank_fusion([one, other]).ids.tolist().index(one[at])
        after = reciprocal_rank_fusion([moved, other]).ids.tolist().index(one[at])
        falls += after > before
    yield equal("falls after a move up, of 200", falls, 0)
