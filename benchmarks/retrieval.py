"""Ranking and retrieval against bm25s, rank_bm25, faiss and networkx."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import bm25s
import faiss
import networkx
import numpy as np
from rank_bm25 import BM25Okapi
from scipy import sparse

from benchmarks.harness import Law, Workload, law
from panlearn.core.threads import n_threads
from panlearn.retrieval import BM25, IVF, DenseIndex
from panlearn.text import pagerank

WORDS = 50_000


@functools.cache
def corpus(n=100_000, n_queries=1000, length=60, seed=0):
    """Documents of words by Zipf's law, and queries of six words of a document each."""
    rng = np.random.default_rng(seed)
    p = 1 / np.arange(10, WORDS + 10)
    lengths = rng.integers(length // 2, length * 3 // 2, n)
    drawn = np.searchsorted(np.cumsum(p) / p.sum(), rng.random(lengths.sum()))
    documents = np.split(np.minimum(drawn, WORDS - 1), np.cumsum(lengths)[:-1])
    queries = [np.unique(rng.choice(documents[rng.integers(n)], 6)) for _ in range(n_queries)]
    return [[" ".join(f"w{i}" for i in t) for t in texts] for texts in (documents, queries)]


def peer_tokens(texts):
    return bm25s.tokenize(texts, stopwords=None, show_progress=False, token_pattern=r"\S+")


def peer_index(tokens):
    model = bm25s.BM25(method="lucene", k1=1.5, b=0.75, backend="numba")
    model.index(tokens, show_progress=False)
    return model


def index_ours(data):
    model = BM25().fit(data[0])
    model.search("w1")  # its scores are worked out now, as the peer's are
    return model


def scores_of(data, model):
    queries = data[1][:200]
    if isinstance(model, BM25):
        found = [hits.scores for hits in model.search(queries)]
    else:
        found = model.retrieve(peer_tokens(queries), k=10, show_progress=False)[1]
    return {"sum of the scores of 200 queries": np.sum(found, dtype=float)}


@functools.cache
def indexed():
    texts, queries = corpus()
    return index_ours((texts, queries)), peer_index(peer_tokens(texts)), queries


def ready():
    ours, peer, queries = indexed()
    return ours, peer, queries, peer_tokens(queries)


def ready_short():
    ours, peer, queries = indexed()
    queries = [" ".join(query.split()[:2]) for query in queries]
    return ours, peer, queries, peer_tokens(queries)


def ask_ours(data):
    return np.array([hits.scores for hits in data[0].search(data[2])])


def ask_peer(data):
    return data[1].retrieve(data[3], k=10, show_progress=False, n_threads=n_threads())[1]


def total(data, scores):
    return {"sum of scores": np.sum(scores, dtype=float), "queries": len(scores)}


def small():
    texts, queries = corpus()
    texts, queries = texts[:10_000], queries[:20]
    ours = BM25(variant="bm25okapi").fit(texts)
    ours.search(queries)
    return ours, BM25Okapi([t.split() for t in texts]), queries


def ask_okapi(data):
    return np.array([np.sort(data[1].get_scores(q.split()))[::-1][:10] for q in data[2]])


def vectors(n=100_000, m=1000, d=128, seed=0):
    rng = np.random.default_rng(seed)
    X, Q = (rng.standard_normal((k, d)).astype(np.float32) for k in (n, m))
    flat = faiss.IndexFlatIP(d)
    flat.add(X)
    return DenseIndex(metric="inner_product").fit(X), flat, Q


def nearest_ours(data):
    return np.array([hits.scores for hits in data[0].search(data[2])])


def nearest_peer(data):
    faiss.omp_set_num_threads(n_threads())
    return data[1].search(data[2], 10)[0]


LISTS, PROBES = 500, 8


def listed(n=50_000, m=1000, d=64, seed=0):
    """Vectors around a thousand centres, as those of texts are, in lists; and the nearest ten."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((1000, d))
    X, Q = (centres[rng.integers(1000, size=k)] + rng.standard_normal((k, d)) for k in (n, m))
    X, Q = (a.astype(np.float32) for a in (X, Q))
    ours = DenseIndex(approximation=IVF(LISTS, n_probe=PROBES)).fit(X)
    peer = faiss.index_factory(d, f"IVF{LISTS},Flat", faiss.METRIC_INNER_PRODUCT)
    unit, asked = (a / np.linalg.norm(a, axis=1, keepdims=True) for a in (X, Q))
    peer.train(unit)
    peer.add(unit)
    peer.nprobe = PROBES
    exact = DenseIndex().fit(X)
    nearest = np.array([hits.ids for hits in exact.search(Q)])
    return {"ours": ours, "peer": peer, "exact": exact, "Q": Q, "asked": asked, "nearest": nearest}


def lists_ours(data):
    return [hits.ids for hits in data["ours"].search(data["Q"])]


def lists_peer(data):
    faiss.omp_set_num_threads(n_threads())
    return data["peer"].search(data["asked"], 10)[1]


def lists_exact(data):
    return [hits.ids for hits in data["exact"].search(data["Q"])]


def recall(data, found):
    pairs = zip(data["nearest"], found, strict=True)
    return {"recall of ten": float(np.mean([np.isin(a, b).mean() for a, b in pairs]))}


def graph(n=100_000, m=1_000_000, seed=0):
    """Links to nodes of which few are much linked, as a matrix and as networkx has them."""
    rng = np.random.default_rng(seed)
    target, source = (n * rng.random(m) ** 2).astype(int), rng.integers(0, n, m)
    edges = np.unique(np.stack([source, target], axis=1)[source != target], axis=0)
    matrix = sparse.csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    network = networkx.DiGraph()
    network.add_nodes_from(range(n))
    network.add_edges_from(map(tuple, edges.tolist()))
    return matrix, network, pagerank(matrix, tol=1e-14)


def rank_peer(data):
    ranks = networkx.pagerank(data[1], tol=1e-6 / data[0].shape[0])
    return np.array([ranks[i] for i in range(data[0].shape[0])])


def error(data, ranks):
    return {"error": np.abs(ranks - data[2]).sum()}


def workloads() -> Iterator[Workload]:
    yield Workload(
        "BM25: index 1e5 documents, from text",
        "BM25",
        corpus,
        {"panlearn": index_ours, "bm25s": lambda data: peer_index(peer_tokens(data[0]))},
        scores_of,
    )
    yield Workload(
        "BM25: first 10 of 1e5 documents, 1000 queries",
        "BM25",
        ready,
        {"panlearn": ask_ours, "bm25s (numba, threads)": ask_peer},
        total,
    )
    yield Workload(
        "BM25: first 10 of 1e5 documents, 1000 queries of two words",
        "BM25",
        ready_short,
        {"panlearn": ask_ours, "bm25s (numba, threads)": ask_peer},
        total,
    )
    yield Workload(
        "BM25: first 10 of 1e4 documents, 20 queries, Okapi",
        "BM25",
        small,
        {"panlearn": ask_ours, "rank_bm25": ask_okapi},
        total,
    )
    yield Workload(
        "dense: first 10 of 1e5 x 128, float32, 1000 queries",
        "DenseIndex",
        vectors,
        {"panlearn": nearest_ours, "faiss IndexFlatIP": nearest_peer},
        total,
    )
    yield Workload(
        f"dense: first 10 of 5e4 x 64 by {PROBES} of {LISTS} lists, 1000 queries",
        "DenseIndex",
        listed,
        {"panlearn": lists_ours, "faiss IVF": lists_peer},
        recall,
    )
    yield Workload(
        f"dense: first 10 of 5e4 x 64, {PROBES} of {LISTS} lists against all, 1000 queries",
        "DenseIndex",
        listed,
        {"panlearn, lists": lists_ours, "panlearn, exact": lists_exact},
        recall,
    )
    yield Workload(
        "PageRank, 1e5 nodes, 1e6 edges",
        "pagerank",
        graph,
        {"panlearn": lambda data: pagerank(data[0], tol=1e-6), "networkx": rank_peer},
        error,
        bar=10.0,
    )


def growth() -> dict[str, Law]:
    def documents(n):
        model = BM25().fit(corpus()[0][:n])
        return lambda: model.search(corpus()[1][:200])

    return {"BM25 search in documents": law([10_000, 30_000, 100_000], documents)}
