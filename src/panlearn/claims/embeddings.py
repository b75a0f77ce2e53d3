"""Claims on words and documents as vectors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import log_expit, softmax
from sklearn.metrics import log_loss

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.optimize import newton
from panlearn.text import FastTextClassifier, GloVe, Word2Vec, cooccurrence
from panlearn.text._glove_training import importance
from panlearn.text._word2vec_kernels import _contrast, classify, skip_gram


@claim("A178")
def softmax_skip_gram_is_a_distribution_over_the_predicted_word() -> Iterator[Evidence]:
    """P(w | c) = exp(x_w·z_c) / Σ_u exp(x_u·z_c) sums to one over the predicted word w.

    It is not symmetric, since x ≠ z. The gradient of its logarithm is observed minus expected. (The
    text sums the denominator over the vectors of the wrong side.)
    """
    rng = np.random.default_rng(178)
    h, Z = rng.normal(size=5), rng.normal(size=(7, 5))
    losses = [classify(h, np.zeros(5), Z.copy(), w, np.empty(7), 0.0) for w in range(7)]
    yield equal("Σ_w exp(-loss of w) and one", np.exp(-np.array(losses)).sum(), 1.0, 1e-12)
    error, moved = np.zeros(5), Z.copy()
    classify(h, error, moved, 3, np.empty(7), 1.0)
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


@claim("A181")
def log_counts_are_factorised_with_bounded_weights() -> Iterator[Evidence]:
    """The weight f(n) = min{1, (n / n_max)^α} of a log count lies in [0, 1], and never falls.

    From n_max on it is one, for any α in [0, 1]; zero counts are left out, as they have no
    logarithm. The weighted loss falls. (The text writes α_max for n_max, leaves f out of the loss,
    and prints α = ½, where the authors take ¾.)
    """
    counts = np.linspace(0, 30, 301)[1:]
    for alpha in (0.0, 0.5, 0.75, 1.0):
        f = importance(counts, 10.0, alpha)
        yield true(f"0 ≤ f ≤ 1 for α = {alpha:g}", f.min() >= 0 and f.max() <= 1)
        yield at_least(f"smallest step of f for α = {alpha:g}", np.diff(f).min(), 0)
        full = f[counts >= 10]
        yield equal(f"f from n_max on for α = {alpha:g}", full, np.ones(len(full)))
    rng = np.random.default_rng(181)
    texts = [[f"w{i}" for i in rng.zipf(1.5, size=8) % 30] for _ in range(200)]
    model = GloVe(8, min_count=1, n_max=10.0, random_state=0).fit(texts)
    yield at_most("largest step of the loss in 25 epochs", np.diff(model.history_["loss"]).max(), 0)
    pairs = cooccurrence(texts, window=10).symmetric
    yield true("some pairs of words never met", pairs.nnz < pairs.shape[0] ** 2)


@claim("A182")
def fasttext_is_a_linear_classifier_of_low_rank() -> Iterator[Evidence]:
    """The score W Zᵀx of a bag of words x with K-vectors does not depend on the order of words.

    It is a linear classifier whose weights Z Wᵀ have a rank of at most K, with Z of |V| x K and
    W of C x K for C classes. (The text gives other shapes, of which the product does not exist.)
    """
    rng = np.random.default_rng(182)
    y = rng.integers(6, size=200)
    texts = [[f"w{i}" for i in 5 * c + rng.integers(12, size=9)] for c in y]
    model = FastTextClassifier(3, lr=0.5, random_state=0).fit(texts, y)
    scores = model.decision_function(texts)
    turned = model.decision_function([rng.permutation(t).tolist() for t in texts])
    yield equal("scores of shuffled words", turned, scores, 1e-12)
    index = {word: i for i, word in enumerate(model.words_)}
    X = np.zeros((200, len(index)))
    for row, words in zip(X, texts, strict=True):
        np.add.at(row, [index[w] for w in words], 1 / len(words))
    weights = model.vectors_.astype(float) @ model.class_vectors_.T.astype(float)
    yield equal("scores and those of the linear classifier", scores, X @ weights, 1e-12)
    yield at_most("rank of the weights of 6 classes", np.linalg.matrix_rank(weights, 1e-6), 3)
