"""Ranking and retrieval against networkx, summa, bm25s and rank_bm25."""

import json
import os
import subprocess
import sys
from pydoc_data.topics import topics

import numpy as np
import pytest
from scipy import sparse

from panlearn.retrieval import BM25, DenseIndex, reciprocal_rank_fusion
from panlearn.text import TextRank, WordTokenizer, pagerank

WORDS = WordTokenizer()
TEXTS = list(topics.values())
QUERIES = ["how are names bound in a class body", "with statement context manager exit", "yield"]


@pytest.mark.parametrize("weighted", [False, True])
def test_pagerank_and_networkx(weighted, rng):
    networkx = pytest.importorskip("networkx")
    W = sparse.random_array((300, 300), density=0.01, rng=rng, format="csr")
    if not weighted:
        W.data[:] = 1.0
    G = networkx.from_scipy_sparse_array(W, create_using=networkx.DiGraph)
    v, u = rng.random(300), rng.random(300)
    laws = {"personalization": v, "dangling": u}
    theirs = {k: dict(enumerate(law)) for k, law in laws.items()}
    for ours, peers in (({}, {}), (laws, theirs)):
        expected = networkx.pagerank(G, tol=1e-14, max_iter=500, **peers)
        got = pagerank(W, tol=1e-13, **ours)
        np.testing.assert_allclose(got, [expected[i] for i in range(300)], atol=1e-12)


def _invented(rng, n):
    """Sentences of words that are no stop words and that a stemmer leaves as they are."""
    words = [a + b + c for a in "zkvr" for b in "ou" for c in "bdgm"]
    p = 1 / np.arange(1, len(words) + 1)
    drawn = rng.choice(words, size=12 * n, p=p / p.sum()).tolist()
    # summa links a word to itself, which counts in the sum of its weights and nowhere else
    drawn = [w for w, last in zip(drawn, ["", *drawn], strict=False) if w != last]
    return [" ".join(drawn[i : i + 9]).capitalize() + "." for i in range(0, len(drawn), 9)][:n]


def test_text_rank_and_summa(rng):
    """Their ranks are an eigenvector of another length."""
    summa = pytest.importorskip("summa")
    from summa import keywords, summarizer
    from summa.pagerank_weighted import pagerank_weighted_scipy

    assert summa
    sentences = _invented(rng, 12)
    text = " ".join(sentences)
    peer = pagerank_weighted_scipy(summarizer.get_graph(text))
    theirs = np.abs([float(peer[s.lower().rstrip(".")]) for s in sentences])
    np.testing.assert_allclose(
        TextRank().sentence_ranks(sentences), theirs / theirs.sum(), atol=1e-9
    )
    assert TextRank().summary(text, 4) == summarizer.summarize(text, ratio=0.34, split=True)

    peer = pagerank_weighted_scipy(keywords.get_graph(text))
    total = sum(abs(float(x)) for x in peer.values())
    ours = TextRank().word_ranks(text)
    assert set(ours) == set(peer)
    for word, rank in ours.items():
        assert rank == pytest.approx(abs(float(peer[word])) / total, abs=1e-9)


@pytest.mark.parametrize("variant", ["lucene", "robertson", "atire", "bm25l", "bm25+"])
def test_bm25_and_bm25s(variant):
    bm25s = pytest.importorskip("bm25s")
    tokens = [WORDS(t) for t in TEXTS]
    for k1, b, delta in ((1.5, 0.75, 0.5), (0.9, 0.3, 1.0)):
        peer = bm25s.BM25(method=variant, k1=k1, b=b, delta=delta, dtype="float64")
        peer.index(tokens, show_progress=False)
        model = BM25(k1, b, variant=variant, delta=delta).fit(TEXTS)
        ours = model.scores(QUERIES)
        for query, row in zip(QUERIES, ours, strict=True):
            asked = WORDS(query)
            expected = peer.get_scores(asked)
            np.testing.assert_allclose(row, expected, rtol=2e-6, atol=2e-6)  # float32
            hits = model.search(query, 5)
            found, scores = peer.retrieve([asked], k=5, show_progress=False)
            np.testing.assert_allclose(hits.scores, scores[0], rtol=2e-6, atol=2e-6)
            assert hits.ids.tolist() == found[0].tolist()


def test_bm25_and_rank_bm25():
    peer = pytest.importorskip("rank_bm25")
    tokens = [WORDS(t) for t in TEXTS]
    for variant, cls in (("bm25okapi", peer.BM25Okapi), ("bm25+", peer.BM25Plus)):
        theirs = cls(tokens, k1=1.2, b=0.6)
        ours = BM25(1.2, 0.6, variant=variant).fit(TEXTS).scores(QUERIES)
        for query, row in zip(QUERIES, ours, strict=True):
            expected = theirs.get_scores(WORDS(query))
            np.testing.assert_allclose(row, expected, rtol=2e-6, atol=2e-6)


def test_bm25l_and_rank_bm25_differ_by_a_slip_of_theirs():
    """rank_bm25 multiplies the factor of BM25L by the count of the word once more."""
    peer = pytest.importorskip("rank_bm25")
    texts = ["a1 b1", "b1 c1 c1", "d1 d1 d1 d1"]
    theirs = peer.BM25L([t.split() for t in texts]).get_scores(["c1"])
    model = BM25(variant="bm25l").fit(texts)
    floor = model.scores(["c1"])[0, 0]  # of a document without the word
    saturated = model.scores(["c1"])[0, 1]
    assert floor > 0
    assert theirs[1] == pytest.approx(2 * saturated, rel=1e-6)


@pytest.mark.parametrize("metric", ["inner_product", "cosine"])
def test_dense_index_and_faiss(metric, rng):
    faiss = pytest.importorskip("faiss")
    X, Q = (rng.normal(size=(n, 24)).astype(np.float32) for n in (500, 40))
    peer = faiss.IndexFlatIP(24)
    theirs = [
        a / np.linalg.norm(a, axis=1, keepdims=True) if metric == "cosine" else a for a in (X, Q)
    ]
    peer.add(theirs[0])
    scores, ids = peer.search(theirs[1], 10)
    for i, hits in enumerate(DenseIndex(metric=metric).fit(X).search(Q, 10)):
        assert hits.ids.tolist() == ids[i].tolist()
        np.testing.assert_allclose(hits.scores, scores[i], rtol=1e-5, atol=1e-5)  # float32


RANX = """
import json, sys, ranx
rankings = json.loads(sys.argv[1])
runs = [ranx.Run({"q": {str(d): -float(i) for i, d in enumerate(r)}}) for r in rankings]
print(json.dumps(ranx.fuse(runs, method="rrf", params={"k": 60}).to_dict()["q"]))
"""


def test_fusion_and_ranx(rng):
    """Their compilation takes a minute, so that it is turned off, in a process of its own."""
    pytest.importorskip("ranx")
    rankings = [rng.permutation(30)[:20].tolist() for _ in range(3)]
    command = [sys.executable, "-W", "ignore", "-c", RANX, json.dumps(rankings)]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    theirs = json.loads(ran.stdout.splitlines()[-1])
    ours = reciprocal_rank_fusion(rankings)
    assert {str(i) for i in ours.ids} == set(theirs)
    for label, score in zip(ours.ids, ours.scores, strict=True):
        assert score == pytest.approx(theirs[str(label)], rel=1e-12)
