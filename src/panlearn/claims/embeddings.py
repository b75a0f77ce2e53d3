"""Claims on words and documents as vectors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import log_expit, softmax
from sklearn.metrics import log_loss

from panlearn.claims.claim import Evidence, at_most, claim, equal, true
from panlearn.optimize import newton
from panlearn.text import Word2Vec
from panlearn.text._word2vec_kernels import _classify, _contrast, skip_gram


@claim("A178")
def softmax_skip_gram_is_a_distribution_over_the_predicted_word() -> Iterator[Evidence]:
    """P(w | c) = exp(x_w·z_c) / Σ_u exp(x_u·z_c) sums to one over the predicted word w.

    It is not symmetric, since x ≠ z. The gradient of its logarithm is observed minus expected. (The
    text sums the denominator over the vectors of the wrong side.)
    """
    rng = np.random.default_rng(178)
    h, Z = rng.normal(size=5), rng.normal(size=(7, 5))
    losses = [_classify(h, np.zeros(5), Z.copy(), w, np.empty(7), 0.0) for w in range(7)]
    yield equal("Σ_w exp(-loss of w) and one", np.exp(-np.array(losses)).sum(), 1.0, 1e-12)
    error, moved = np.zeros(5), Z.copy()
    _classify(h, error, moved, 3, np.empty(7), 1.0)
    surprise = np.eye(7)[3] - softmax(Z @ h)
    yield equal(
        "the step of z and (observed - expected) h", moved - Z, np.outer(surprise, h), 1e-12
    )
    yield equal("the step of h and z observed - expected", error, surprise @ Z, 1e-12)
    model = Word2Vec(6, negative=0, min_count=1, random_state=0).fit([list("aababcbcd")] * 20)
    P = softmax(model.vectors_ @ model.context_vectors_.T, axis=1)
    yield equal("sums over the predicted word of a fitted model", P.sum(axis=1), np.ones(4), 1e-6)
    yield true("P(w | c) and P(c | w) differ", np.abs(P - P.T).max() > 0.01)


@claim("A179")
def negative_sampling_is_logistic_regression() -> Iterator[Evidence]:
    """Σ_pos log σ(x·z) + Σ_neg log σ(-x·z) is logistic regression of real against fake pairs.

    That is, minus its cross-entropy with labels 1 and 0. (The text has log(1 - P(D = 0)) and the
    real pairs in the second sum: it is log P(D = 0), over the fake pairs.)
    """
    rng = np.random.default_rng(179)
    h, Z, negatives = rng.normal(size=5), rng.normal(size=(9, 5)), np.array([1, 4, 6, 7], np.uint32)
    error, moved = np.zeros(5), Z.copy()
    loss = _contrast(h, error, moved, 2, negatives, np.empty(5), 1.0)
    rows, labels = np.array([2, *negatives]), np.array([1, 0, 0, 0, 0])
    probability = np.exp(log_expit(Z[rows] @ h))
    yield equal("the loss and the cross-entropy", loss, log_loss(labels, probability) * 5, 1e-12)
    gradient = (labels - probability) @ Z[rows]
    yield equal("the step of x and the gradient of logistic regression", error, gradient, 1e-12)
    steps = np.outer(labels - probability, h)
    yield equal("the steps of z and its gradient", (moved - Z)[rows], steps, 1e-12)


@claim("A180")
def negative_sampling_finds_shifted_mutual_information() -> Iterator[Evidence]:
    """Without a bound on the rank, negative sampling has its optimum at x·z = PMI - log k.

    Where k negatives are drawn in proportion to the counts; PMI = log P(c, w) / (P(c) P(w)). If
    draws of the word itself are left out, as all programs do, -log(1 - P(w | c)) comes on top.
    """
    rng, k = np.random.default_rng(180), 3
    n = rng.integers(5, 60, size=(5, 5)).astype(float)
    rows, columns, total = n.sum(axis=1), n.sum(axis=0), n.sum()
    fake = k * np.outer(rows, columns) / total
    optimum = np.log(n * total / np.outer(rows, columns)) - np.log(k)

    def loss(s: np.ndarray) -> float:
        return float(-(n.ravel() * log_expit(s) + fake.ravel() * log_expit(-s)).sum())

    def slope(s: np.ndarray) -> np.ndarray:
        return fake.ravel() * np.exp(log_expit(s)) - n.ravel() * np.exp(log_expit(-s))

    def curvature(s: np.ndarray) -> np.ndarray:
        return np.diag((fake + n).ravel() * np.exp(log_expit(s) + log_expit(-s)))

    found = newton(loss, np.zeros(25), jac=slope, hess=curvature, tol=1e-12)
    yield equal("the optimum of 5 x 5 scores and PMI - log 3", found.x, optimum.ravel(), 1e-8)
    # the library's own steps, at a falling rate, on vectors of full length
    context, middle = (np.repeat(i.ravel(), n.ravel().astype(int)) for i in np.indices((5, 5)))
    X, Z = rng.normal(size=(5, 8)), np.zeros((5, 8))
    words, sums = np.arange(5, dtype=np.uint32), np.concatenate([[0.0], np.cumsum(columns)])
    for epoch in range(600):
        order = rng.permutation(len(context))
        pairs = context[order].astype(np.uint32), middle[order].astype(np.uint32)
        skip_gram(*pairs, X, Z, words, sums, k, 0.05 * (1 - epoch / 600), epoch)
    optimum -= np.log1p(-n / rows[:, None])
    error = np.abs(X @ Z.T - optimum).max()
    yield at_most("largest error of x·z after stochastic steps on full rank", error, 0.25)
