"""Vectors of words and classes of documents against gensim and scikit-learn."""

from functools import partial
from itertools import permutations

import gensim.models
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from benchmarks.harness import Workload
from panlearn.text import FastTextClassifier, GloVe, Word2Vec

TOPICS = 100


def topical(n=5_000_000, n_words=20_000, length=20):
    """Sentences of a topic that changes now and then; words by Zipf's law, word w of topic w % 100.

    Three words in ten are of any topic.
    """
    rng = np.random.default_rng(0)
    switch, drawn = rng.random(n) < 0.05, rng.integers(0, TOPICS, n)
    topic = drawn[np.maximum.accumulate(np.where(switch, np.arange(n), 0))]

    def zipf(size):
        share = np.cumsum(1 / np.arange(1, size + 1))
        return np.searchsorted(share / share[-1], rng.random(n))

    own, any_topic = zipf(n_words // TOPICS) * TOPICS + topic, zipf(n_words)
    words = np.where(rng.random(n) < 0.3, any_topic, own).reshape(-1, length)
    return [list(map(str, sentence)) for sentence in words.tolist()]


def people(n=150_000):
    """Sentences with a person of one of 20 houses and 10 ranks, words of both, and of neither."""
    rng = np.random.default_rng(0)
    who = rng.integers([20, 10], size=(n, 2))
    near = [who[:, [0]] * 10 + rng.integers(10, size=(n, 2)), rng.integers(3000, size=(n, 2))]
    near.insert(1, who[:, [1]] * 10 + rng.integers(10, size=(n, 2)))
    words = np.hstack([np.char.add(k, i.astype(str)) for k, i in zip("hrw", near, strict=True)])
    words = rng.permuted(words, axis=1).tolist()
    return [
        [*w[:3], f"p{house}_{rank}", *w[3:]] for w, (house, rank) in zip(words, who, strict=True)
    ]


def learned(model):
    """The words and vectors of ours or of gensim's."""
    if isinstance(model, Word2Vec | GloVe):
        return model.words_.tolist(), model.vectors_
    return model.wv.index_to_key, model.wv.vectors


def purity(vectors, topic, asked, others):
    """The share of the ten nearest of the `others` that have the topic of those `asked`."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit[asked] @ unit[others].T
    cosines[np.asarray(asked)[:, None] == np.asarray(others)] = -2
    near = np.argpartition(-cosines, 10, axis=1)[:, :10]
    return float((topic[others][near] == topic[asked][:, None]).mean())


def by_frequency(model):
    """Vectors, topics, and the words in the order in which Zipf's law has them."""
    words, vectors = learned(model)
    rank = np.array([int(w) for w in words])
    return vectors, rank % TOPICS, np.argsort(rank)


def purity_of_all(_, model):
    vectors, topic, order = by_frequency(model)
    return {"purity of neighbours": purity(vectors, topic, order, order)}


def topic_quality(_, model):
    vectors, topic, order = by_frequency(model)
    return {
        "purity of 2000 frequent": purity(vectors, topic, order[:2000], order[:4000]),
        "of 2000 rare": purity(vectors, topic, order[14000:16000], order[14000:18000]),
    }


def analogy_quality(_, model):
    words, vectors = learned(model)
    place = {w: i for i, w in enumerate(words)}
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    grid = np.array([[place[f"p{h}_{r}"] for r in range(10)] for h in range(20)])
    rng, right = np.random.default_rng(0), []
    pairs = list(permutations(range(20), 2))
    for h, i in (pairs[j] for j in rng.choice(len(pairs), 60, replace=False)):
        for r, s in permutations(range(10), 2):
            a, b, c, wanted = grid[h, r], grid[h, s], grid[i, r], grid[i, s]
            cosines = unit @ (unit[b] - unit[a] + unit[c])
            cosines[[a, b, c]] = -np.inf
            right.append(cosines.argmax() == wanted)
    return {"analogies": float(np.mean(right))}


def subjects(n=50_000):
    """Documents of 40 words on 20 subjects: two are of the subject, by Zipf's law."""
    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, 1001)
    y = rng.integers(20, size=n)
    own = np.minimum(rng.zipf(1.3, size=(n, 2)), 500) + 1000 + 300 * y[:, None]
    shared = rng.choice(1000, p=share / share.sum(), size=(n, 38))
    words = rng.permuted(np.hstack([own, shared]), axis=1)
    texts = [" ".join(f"word{i}" for i in row) for row in words.tolist()]
    half = n // 2
    return texts[:half], y[:half], texts[half:], y[half:]


def word2vec(size=100, **options):
    ours = {"random_state": 1, **options}
    theirs = {"seed": 1, "workers": 2, **options}
    return {
        "panlearn": lambda texts: Word2Vec(size, n_jobs=2, **ours).fit(texts),
        "gensim": lambda texts: gensim.models.Word2Vec(texts, vector_size=size, **theirs),
    }


def workloads():
    yield Workload(
        "Word2Vec skip-gram, 5e6 tokens, 20,000 words, 5 negatives, one epoch",
        "text.Word2Vec",
        topical,
        word2vec(epochs=1, sg=1),
        topic_quality,
    )
    yield Workload(
        "Word2Vec skip-gram, planted analogies, 1e6 tokens, three epochs",
        "text.Word2Vec",
        people,
        word2vec(epochs=3, sg=1),
        analogy_quality,
    )
    yield Workload(
        "Word2Vec skip-gram of 300 dimensions, planted analogies, 1e6 tokens, one epoch",
        "text.Word2Vec",
        people,
        word2vec(300, epochs=1, sg=1),
        analogy_quality,
    )
    yield Workload(
        "GloVe, 1e6 tokens, 5000 words, window 5, 50 dimensions, ten epochs",
        "text.GloVe",
        partial(topical, 1_000_000, 5_000),
        {"panlearn": lambda texts: GloVe(50, window=5, epochs=10, random_state=1).fit(texts)},
        purity_of_all,
    )
    yield Workload(
        "FastTextClassifier, 25,000 documents, 20 subjects, five epochs",
        "text.FastTextClassifier",
        subjects,
        {
            "panlearn": lambda data: FastTextClassifier(20, epoch=5, random_state=0).fit(*data[:2]),
            "scikit-learn, logistic regression": lambda data: make_pipeline(
                CountVectorizer(), LogisticRegression(C=0.1)
            ).fit(*data[:2]),
        },
        lambda data, model: {"accuracy": float(model.score(*data[2:]))},
    )
