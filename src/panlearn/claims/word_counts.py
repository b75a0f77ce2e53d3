"""Counts of words: co-occurrence, point-wise mutual information, and tf-idf."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.text import CooccurrenceEmbedding, TfidfVectorizer, cooccurrence, pmi
from panlearn.text._term_matrix import TermFrequency, term_frequency

SENTENCES = "The cat sat on the mat. The dog sat on the mat."


def _mutual_information(p: np.ndarray) -> float:
    chance = np.outer(p.sum(axis=1), p.sum(axis=0))
    there = p > 0
    return float(np.sum(p[there] * np.log(p[there] / chance[there])))


@claim("A175")
def windows_count_pairs() -> Iterator[Evidence]:
    """Words within a window of radius R are the pairs of places with 1 <= |i - j| <= R. Their
    matrix is symmetric and sums to 2 sum_(r <= R) (T - r): 108 for T = 20 and R = 3.
    """
    words = [str(n) for n in np.random.default_rng(175).integers(6, size=20)]
    C = cooccurrence([words], window=3).symmetric.toarray()
    yield equal("sum of the counts", C.sum(), 108)
    yield equal("symmetry", C, C.T)
    pairs = [
        (a, b) for i, a in enumerate(words) for j, b in enumerate(words) if 1 <= abs(i - j) <= 3
    ]
    names = sorted(set(words))
    yield equal("each pair", C, [[pairs.count((a, b)) for b in names] for a in names])


@claim("A176")
def eigenvectors_embed_words() -> Iterator[Evidence]:
    """The k eigenvalues of the co-occurrence matrix that are largest in absolute value give its
    best approximation of rank k, V_k L_k V_k', with factor V_k |L_k|^(1/2). The matrix is symmetric
    but need not be positive semi-definite, so the signs must be kept: two words in turn have the
    eigenvalues +99 and -99. The text has exponents 1/k for 1/2 and takes a root that need not be
    real.
    """
    turns = CooccurrenceEmbedding(2, window=1, weighting="count").fit([["a", "b"] * 50])
    yield equal("eigenvalues of words in turn", np.sort(turns.eigenvalues_), [-99, 99], 1e-10)
    E = turns.vectors_
    yield equal("with signs", (E * turns.signs_) @ E.T, [[0, 99], [99, 0]], 1e-10)
    yield at_least("distance without them", np.abs(E @ E.T - [[0, 99], [99, 0]]).max(), 98)
    words = [str(n) for n in np.random.default_rng(176).integers(9, size=400)]
    C = cooccurrence([words], window=2).symmetric.toarray()
    spectrum = np.sort(np.abs(np.linalg.eigvalsh(C)))[::-1]
    for k in (1, 3, 6):
        model = CooccurrenceEmbedding(k, window=2, weighting="count").fit([words])
        near = (model.vectors_ * model.signs_) @ model.vectors_.T
        error, best = np.linalg.norm(C - near), np.linalg.norm(spectrum[k:])
        yield equal(f"error of rank {k} and of the best", error, best, 1e-9 * C.sum())


@claim("A177")
def pmi_is_a_log_ratio() -> Iterator[Evidence]:
    """pmi(v, w) = log P(v, w) / (P(v) P(w)) = log P(v | w) / P(v). It is symmetric, zero for
    independent words, and its mean under P(v, w) is the mutual information, at least zero.
    """
    rng = np.random.default_rng(177)
    p = rng.dirichlet(np.ones(12)).reshape(3, 4)
    found = pmi(p)
    conditional = p / p.sum(axis=0)
    yield equal("the conditional form", found, np.log(conditional / p.sum(axis=1)[:, None]), 1e-12)
    yield equal("symmetry", pmi(p.T), found.T, 1e-12)
    yield equal("its mean", np.sum(p * found), _mutual_information(p), 1e-12)
    yield at_least("mutual information", _mutual_information(p), 0)
    independent = np.outer(rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4)))
    yield equal("independence", pmi(independent), np.zeros((3, 4)), 1e-12)


@claim("B285")
def sentences_bound_windows() -> Iterator[Evidence]:
    """In the two sentences on the cat and the dog, with their boundary respected, neighbours in
    order (the, cat, dog, sat, on, mat) are counted by the rows (0, 1, 1, 0, 0, 2),
    (0, 0, 0, 1, 0, 0), (0, 0, 0, 1, 0, 0), (0, 0, 0, 0, 2, 0), (2, 0, 0, 0, 0, 0) and 0: ten in
    all.
    """
    seen = cooccurrence([SENTENCES])
    order = [seen.words.tolist().index(w) for w in "the cat dog sat on mat".split()]
    expected = np.zeros((6, 6))
    expected[0, [1, 2, 5]], expected[1, 3], expected[2, 3] = (1, 1, 2), 1, 1
    expected[3, 4], expected[4, 0] = 2, 2
    yield equal("forward co-occurrences", seen.forward.toarray()[np.ix_(order, order)], expected)
    yield equal("their sum", seen.forward.sum(), 10)
    across = cooccurrence([SENTENCES], boundary=None).forward
    yield equal("one more across the boundary", across.sum(), 11)


@claim("B286")
def pmi_of_neighbours() -> Iterator[Evidence]:
    """PMI = log p(x, y) / (p(x) p(y)) = log p(x | y) / p(x) = log p(y | x) / p(y). In the two
    sentences PMI(sat, on) = ln 5 and PMI(the, mat) = ln 2.5 with the marginals of the pairs, ln 7.2
    and ln 3.6 with the frequencies of the 12 words. The second line of the text has lost the
    logarithm, and PMI is not unbounded above: it is at most min(-log p(x), -log p(y)).
    """
    seen = cooccurrence([SENTENCES])
    at = {word: i for i, word in enumerate(seen.words.tolist())}
    pairs, words = pmi(seen.forward), pmi(seen.forward, marginals=[seen.count, seen.count])
    for x, y, of_pairs, of_words in (("sat", "on", 5, 7.2), ("the", "mat", 2.5, 3.6)):
        yield equal(f"PMI({x}, {y})", pairs[at[x], at[y]], np.log(of_pairs), 1e-9)
        yield equal(f"by the words, PMI({x}, {y})", words[at[x], at[y]], np.log(of_words), 1e-9)
    p = seen.forward.toarray() / 10
    i, j = np.nonzero(p)
    met, left, right = pairs.toarray()[i, j], p.sum(axis=1)[i], p.sum(axis=0)[j]
    yield equal("log p(x | y) / p(x)", met, np.log(p[i, j] / right / left), 1e-12)
    yield equal("log p(y | x) / p(y)", met, np.log(p[i, j] / left / right), 1e-12)
    bound = np.minimum(-np.log(left), -np.log(right))
    yield at_most("excess over the bound", np.max(met - bound), 1e-12)
    yield equal("what always meets attains it", pmi(np.eye(4)).diagonal(), [np.log(4)] * 4, 1e-12)


@claim("B287")
def mean_pmi_is_mutual_information() -> Iterator[Evidence]:
    """The mean of PMI under p(x, y) is the mutual information, at least zero. For three words
    it is log p(x, y, z) / (p(x) p(y) p(z)), whose mean is the total correlation.
    """
    rng = np.random.default_rng(287)
    for i in range(3):
        p = rng.dirichlet(0.3 * np.ones(20)).reshape(4, 5)
        yield equal(f"mean of table {i}", np.sum(p * pmi(p)), _mutual_information(p), 1e-12)
        yield at_least("mutual information", np.sum(p * pmi(p)), 0)
    triple = rng.dirichlet(np.ones(24)).reshape(2, 3, 4)
    x, y, z = triple.sum(axis=(1, 2)), triple.sum(axis=(0, 2)), triple.sum(axis=(0, 1))
    expected = np.log(triple / (x[:, None, None] * y[:, None] * z))
    yield equal("three words", pmi(triple), expected, 1e-12)
    entropies = [-np.sum(q * np.log(q)) for q in (x, y, z, triple)]
    total = sum(entropies[:3]) - entropies[3]
    yield equal("mean of three, the total correlation", np.sum(triple * pmi(triple)), total, 1e-12)


@claim("B288")
def term_frequencies_have_forms() -> Iterator[Evidence]:
    """The frequency of a term may be raw, relative, boolean, log(1 + f), or augmented,
    0.5 + 0.5 f / max f. Counts (3, 1, 0) give (.75, .25, 0), (1, 1, 0) and (1, 2/3, .5): the last,
    to the letter, gives half a term that does not occur; sparse vectors leave it at zero.
    """
    forms: dict[TermFrequency, list[float]] = {
        "raw": [3, 1, 0],
        "relative": [0.75, 0.25, 0],
        "boolean": [1, 1, 0],
        "log": [np.log(4), np.log(2), 0],
        "augmented": [1, 2 / 3, 0],
    }
    for tf, expected in forms.items():
        model = TfidfVectorizer(tf=tf, idf="none", norm=None).fit(["aa aa aa bb", "cc"])
        found = model.transform(["aa aa aa bb"]).toarray()[0]
        yield equal(tf, found, expected, 1e-15)
    stored = sparse.csr_matrix(([3.0, 1.0, 0.0], ([0, 0, 0], [0, 1, 2])))
    yield equal(
        "augmented to the letter", term_frequency(stored, "augmented"), [1, 2 / 3, 0.5], 1e-15
    )


@claim("B289")
def a_cat_in_ten_million_documents() -> Iterator[Evidence]:
    """A word that is 3 of the 100 of a document has tf = .03; in 1,000 of 10 million documents it
    has idf = 4 to base 10, so tf-idf = .12. With the natural logarithm, which the text names, they
    are 9.210340 and .276310: the base is a parameter.
    """
    document = ["cat"] * 3 + ["other"] * 97
    for base, idf, weight in ((10, 4, 0.12), (None, 9.210340, 0.276310)):
        model = TfidfVectorizer(tf="relative", idf="plain", idf_offset=0.0, base=base, norm=None)
        model.fit([document, ["other"]], sample_weight=[1000, 1e7 - 1000])
        yield equal(f"idf, base {base or 'e'}", model.idf_[0], idf, 1e-6)
        yield equal("tf-idf", model.transform([document])[0, 0], weight, 1e-6)


@claim("B290")
def idf_is_zero_for_terms_of_every_document() -> Iterator[Evidence]:
    """The plain idf, log N / n, is at least zero, and zero just for a term of every document. The
    smoothed, log (1 + N) / (1 + n), is finite even for a term that was in none. The other form of
    the text, log (N - n + 1/2) / (n + 1/2) + 1, may be negative.
    """
    texts = ["all one", "all two", "all one three"]
    plain = TfidfVectorizer(idf="plain", idf_offset=0.0).fit(texts)
    idf = dict(zip(plain.get_feature_names_out(), plain.idf_, strict=True))
    yield equal(
        "idf of all, one, two",
        [idf[t] for t in ("all", "one", "two")],
        [0, np.log(3 / 2), np.log(3)],
        1e-15,
    )
    yield true("zero for that term alone", [t for t, v in idf.items() if v <= 0] == ["all"])
    smooth = TfidfVectorizer(idf="smooth", idf_offset=0.0)
    smooth.fit(texts)
    values = smooth._inverse_frequency(np.array([0.0, 1.0, 3.0]), 3.0)
    yield equal("smoothed, of 0, 1 and 3 documents", values, np.log([4, 2, 1]), 1e-15)
    other = TfidfVectorizer(idf="probabilistic").fit(texts)
    yield equal("the other form, of every document", other.idf_[0], np.log(0.5 / 3.5) + 1, 1e-15)
    yield at_most("which is negative", other.idf_[0], 0)


@claim("B291")
def tf_idf_bounds_mutual_information() -> Iterator[Evidence]:
    """With p(d) = 1/N, the mean over documents of the sum of tf-idf is at most the mutual
    information of term and document, and equal if each term is spread evenly over the documents
    that hold it: (aabb), (aacc), (aadd) have ln(3) / 2 for both. The text states equality for all
    and lost the formula.
    """
    model = TfidfVectorizer(tf="relative", idf="plain", idf_offset=0.0, norm=None)

    def both(texts: list[list[str]]) -> tuple[float, float]:
        weights = model.fit_transform(texts).sum() / len(texts)
        relative = TfidfVectorizer(tf="relative", idf="none", norm=None).fit_transform(texts)
        return float(weights), _mutual_information(relative.toarray() / len(texts))

    even = both([list("aabb"), list("aacc"), list("aadd")])
    yield equal("even spread", even, [np.log(3) / 2] * 2, 1e-12)
    rng = np.random.default_rng(291)
    for i in range(5):
        weights, information = both([list(rng.choice(list("abcdef"), 12)) for _ in range(4)])
        yield at_least(f"information beyond tf-idf, corpus {i}", information - weights, 1e-6)
