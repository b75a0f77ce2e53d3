"""Topic models against tomotopy and scikit-learn."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import NMF

from benchmarks.harness import Workload
from panlearn.text import PLSA, LatentDirichletAllocation

N, LENGTH, WORDS, TOPICS = 2000, 100, 5000, 20


def documents():
    """Tokens of documents that mix few of twenty topics, as strings; and the topics."""
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.full(WORDS, 0.02), TOPICS)
    theta = rng.dirichlet(np.full(TOPICS, 0.1), N)
    edges = phi.cumsum(axis=1)
    texts = []
    for share in theta:
        topic = rng.choice(TOPICS, LENGTH, p=share)
        words = [min(int(np.searchsorted(edges[k], rng.random())), WORDS - 1) for k in topic]
        texts.append([str(w) for w in words])
    return texts, phi


def ours(data):
    return LatentDirichletAllocation(
        TOPICS, doc_topic_prior=0.1, topic_word_prior=0.01, optim_interval=0, random_state=0
    ).fit(data[0])


def tomotopy(data):
    import tomotopy

    model = tomotopy.LDAModel(k=TOPICS, alpha=0.1, eta=0.01, seed=1)
    for document in data[0]:
        model.add_doc(document)
    model.optim_interval = 0
    model.train(200, workers=1)
    return model


def distance(components, words, phi):
    """Mean distance in total variation from the true topics, each to its own."""
    found = np.zeros_like(phi)
    found[:, [int(w) for w in words]] = components
    cost = 0.5 * np.abs(found[:, None] - phi).sum(axis=2)
    return float(cost[linear_sum_assignment(cost)].mean())


def quality(data, model):
    if isinstance(model, LatentDirichletAllocation):
        score, laws, words = (
            model.history_["log_likelihood"][-1],
            model.components_,
            model.words_.tolist(),
        )
    else:
        score, words = model.ll_per_word, list(model.used_vocabs)
        laws = np.array([model.get_topic_word_dist(k) for k in range(TOPICS)])
    return {
        "log likelihood of a word": float(score),
        "distance from the truth": distance(laws, words, data[1]),
        "perplexity": _perplexity(laws, words, data[0][:100]),
    }


def _perplexity(laws, words, texts):
    """Left to right, by one estimator for both: a model that holds these topics."""
    model = LatentDirichletAllocation(len(laws))
    model.components_, model.words_ = laws, np.array(words, dtype=object)
    model.doc_topic_prior_ = np.full(len(laws), 0.1)
    return model.perplexity(texts)


def counts():
    rng = np.random.default_rng(1)
    law = rng.dirichlet(np.full(10, 0.2), 2000) @ rng.dirichlet(np.full(1000, 0.05), 10)
    return rng.poisson(100 * law).astype(float)


def divergence(X, law):
    law = law * X.sum(axis=1, keepdims=True) / law.sum(axis=1, keepdims=True)
    some = X > 0
    return float((X[some] * np.log(X[some] / law[some])).sum() / X.sum())


def workloads():
    yield Workload(
        "LDA by Gibbs sampling, 200 sweeps of 2000 documents of 100 words, 5000 words, 20 topics",
        "text.LatentDirichletAllocation",
        documents,
        {"panlearn": ours, "tomotopy, one worker": tomotopy},
        quality,
    )
    yield Workload(
        "PLSA, 100 steps, 2000 documents, 1000 words, 10 topics",
        "text.PLSA",
        counts,
        {
            "panlearn": lambda X: PLSA(10, max_iter=100, tol=0, random_state=0).fit(X),
            "scikit-learn NMF": lambda X: (lambda m: (m.fit_transform(X), m.components_))(
                NMF(
                    10,
                    beta_loss="kullback-leibler",
                    solver="mu",
                    max_iter=100,
                    tol=0,
                    init="random",
                    random_state=0,
                )
            ),
        },
        lambda X, m: {
            "divergence": divergence(
                X, m.doc_topic_ @ m.components_ if isinstance(m, PLSA) else m[0] @ m[1]
            )
        },
    )
