"""Language models: n-grams, perplexity and cross-entropy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from scipy.special import softmax

from panlearn.claims.claim import Evidence, at_least, claim, equal, true
from panlearn.text import NGramModel
from panlearn.theory.information import cross_entropy, entropy, kl_divergence

CATS = ["the cat sat on the mat", "the dog sat on the mat"]


def _rank(law: Callable[[np.ndarray], np.ndarray], at: np.ndarray) -> int:
    """The rank of the derivative of a law, by central differences."""
    at, h = at.ravel(), 1e-5
    steps = [(law(at + h * e) - law(at - h * e)) / (2 * h) for e in np.eye(len(at))]
    return int(np.linalg.matrix_rank(np.array(steps), tol=1e-8))


@claim("A126")
def windows_need_fewer_parameters() -> Iterator[Evidence]:
    """The joint law of m words out of N has N^m - 1 free parameters; a table of the next word given
    the last k has N^k (N - 1): a law for each context.

    The number is the rank of the derivative of the law by the scores that make it up.
    """
    n, k, m = 3, 1, 4
    words = [f"w{i}" for i in range(n - 2)]  # besides these the end and the unknown word
    names = ["</s>", "<unk>", *words]
    documents = [size * words for size in (1, 2, 3)]
    rng = np.random.default_rng(0)

    def joint_of(laws: np.ndarray) -> np.ndarray:
        """The law of m words after each context, each as probable."""
        steps = (
            laws[[a, *path[:-1]], path] for a in range(n) for path in product(range(n), repeat=m)
        )
        return np.array([np.prod(step) for step in steps]) / n

    model = NGramModel(k + 1, smoothing="add_k").fit(documents, sample_weight=rng.random(3))
    table = np.array([[model.probability(w, [a]) for w in names] for a in names])
    yield equal("sums of the laws", table.sum(axis=1), np.ones(n**k), 1e-12)
    yield equal("sum of the joint law", joint_of(table).sum(), 1.0, 1e-12)
    scores = np.log(table)
    by_window = _rank(lambda z: joint_of(softmax(z.reshape(n, n), axis=1)), scores)
    yield equal("free numbers of a window of k", by_window, n**k * (n - 1))
    whole = _rank(lambda z: softmax(z), rng.normal(size=n**m))
    yield equal("free numbers of the joint law", whole, n**m - 1)


@claim("A127")
def loss_is_a_sum_of_next_words() -> Iterator[Evidence]:
    """The loss of a language model is -sum_t log P(x_t | x_(t-k), ..., x_(t-1)), whose labels are
    the text itself; the uniform law gives log N for each token, and exp of the mean is the
    perplexity. The text prints the loss without the minus sign.
    """
    # all counts are one, and a discount of one leaves the uniform law
    uniform = NGramModel(1, discount=1.0).fit([list("abcdefgh")])
    n = 8 + 2
    losses = -np.concatenate(uniform.log_probabilities([list("hab"), ["unheard"]]))
    yield equal("uniform loss of each token", losses, np.full(len(losses), np.log(n)), 1e-12)
    model = NGramModel(3).fit(CATS)
    text = CATS[0].split()
    steps = [
        model.probability(word, text[:t])  # of its past the model reads two words
        for t, word in enumerate([*text, "</s>"])
    ]
    yield equal("loss of a text", -model.score(CATS[:1]), -np.log(steps).sum(), 1e-12)
    perplexity = np.exp(-np.mean(np.log(steps)))
    yield equal("perplexity", model.perplexity(CATS[:1]), perplexity, 1e-12)


@claim("B280")
def bigrams_are_shares_of_counts() -> Iterator[Evidence]:
    """The most likely bigram model is c(w1, w2) over the count of w1 as a context, so that the
    ends of sentences are left out or have a symbol of their own: otherwise rows do not sum to one,
    which the text overlooks. In its corpus P(mat | the) = 1/2, P(sat | cat) = P(on | sat) = 1.
    """
    model = NGramModel(2, smoothing="mle").fit(CATS)
    named = [("mat", "the", 0.5), ("sat", "cat", 1.0), ("on", "sat", 1.0)]
    for word, context, value in named:
        yield equal(f"P({word} | {context})", model.probability(word, [context]), value)
    rows = [sum(model.distribution([word]).values()) for word in model.words_]
    yield equal("sums of the rows", rows, np.ones(len(rows)), 1e-12)
    best, rng = model.score(CATS), np.random.default_rng(280)
    text = CATS[0].split()
    by_hand = sum(np.log(model.probability(w, text[:t])) for t, w in enumerate([*text, "</s>"]))
    yield equal("log-likelihood of a sentence", model.score(CATS[:1]), by_hand, 1e-12)
    laws = [np.array(list(model.distribution([c]).values())) for c in ("<s>", *model.words_)]
    seen = [2, 2, 1, 1, 4, 2, 2]  # how often each is a context: the start, cat, dog, ...
    contexts = ["<s>", *model.words_]
    count = [sum(text.split().count(c) for text in CATS) if c != "<s>" else 2 for c in contexts]
    yield true("contexts are counted", sorted(count) == sorted(seen))
    others = []
    for _ in range(200):
        noise = [0.9 * law + 0.1 * rng.dirichlet(np.ones(len(law))) for law in laws]
        pairs = zip(count, laws, noise, strict=True)
        others.append(-sum(n * cross_entropy(p, q) for n, p, q in pairs))
    yield at_least("likelihood over the best of 200 others", 2 * best, max(others))


@claim("B282")
def perplexity_is_exp_of_cross_entropy() -> Iterator[Evidence]:
    """Perplexity is prod p^(-1/N), exp of the cross-entropy in nats and 2 to that in bits; it is 8
    for the uniform law over 8, which has 3 bits. The text loses the logarithm of the cross-entropy
    and mixes n and N.
    """
    model = NGramModel(2).fit(CATS)
    logs = np.concatenate(model.log_probabilities(CATS))
    value = model.perplexity(CATS)
    yield equal("product of p^(-1/N)", np.prod(np.exp(logs) ** (-1 / len(logs))), value, 1e-12)
    yield equal("2^bits", 2 ** np.mean(-logs / np.log(2)), value, 1e-12)
    uniform = NGramModel(1, discount=1.0).fit([list("abcdef")])  # with end and unknown word 8
    yield equal("uniform over 8", uniform.perplexity([["a", "d"]]), 8.0, 1e-12)
    yield equal("its bits", np.log2(uniform.perplexity([["a", "d"]])), 3.0, 1e-12)


@claim("B283")
def cross_entropy_is_entropy_and_divergence() -> Iterator[Evidence]:
    """H(P, Q) = H(P) + KL(P || Q); so the law of the text itself has the least perplexity on it."""
    words = " ".join(CATS).split()
    own = NGramModel(1, smoothing="mle").fit([words])
    other = NGramModel(1, discount=0.7).fit([words])
    p, q = (np.array(list(m.distribution().values())) for m in (own, other))
    some = p > 0
    divergence = float((p[some] * np.log(p[some] / q[some])).sum())
    yield equal("H(P, Q)", cross_entropy(p, q), entropy(p) + divergence, 1e-12)
    perplexity = other.perplexity([words])
    yield equal("log perplexity of Q", np.log(perplexity), cross_entropy(p, q), 1e-12)
    yield at_least("divergence", divergence, 0.0)
    rng = np.random.default_rng(283)
    for p, q in rng.dirichlet(np.ones(6), (20, 2)):
        yield equal("H(P, Q)", cross_entropy(p, q), entropy(p) + kl_divergence(p, q), 1e-12)
