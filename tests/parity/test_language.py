"""Language models against nltk."""

import numpy as np
import pytest
from tests.text.test_hmm_tagger import corpus

from panlearn.text import HMMTagger, NGramModel, SpellCorrector

TEXTS = ["a b a c a b", "b a b", "c", "a a a b c b a", "b c b c a d", "d a b a c", "a d d"]


def padded(words, order):
    return ["<s>"] * (order - 1) + words + ["</s>"]


@pytest.mark.parametrize("order", [2, 3])
def test_kneser_ney_of_the_higher_orders_is_that_of_nltk(order):
    """nltk does not discount single words; above that order the formulas are the same."""
    lm = pytest.importorskip("nltk.lm")
    documents = [text.split() for text in TEXTS]
    grams = [
        tuple(words[i - k + 1 : i + 1])
        for words in (padded(d, order) for d in documents)
        for k in range(1, order + 1)
        for i in range(order - 1, len(words))
    ]
    vocabulary = {w for d in documents for w in d} | {"</s>"}
    peer = lm.KneserNeyInterpolated(order, discount=0.4)
    peer.fit([grams], vocabulary_text=["<s>", *sorted(vocabulary)])
    model = NGramModel(order, discount=0.4).fit(documents)
    contexts = sorted({gram[:-1] for gram in grams if len(gram) == order})
    for context in contexts:
        law = model.distribution(context)
        ours = np.array([law[w] for w in sorted(vocabulary)])
        theirs = np.array([peer.score(w, context) for w in sorted(vocabulary)])
        # what each order adds, less the share that comes down from single words
        share, single = 1.0, model.distribution(["x"] * (order - 1))
        for k in range(1, order):
            h = context[-k:]
            counts = peer.counts[h]
            total = counts.N() if k == order - 1 else peer.estimator._continuation_counts("", h)[1]
            share *= 0.4 * len(counts) / total
        below = np.array([single[w] for w in sorted(vocabulary)])
        their_below = np.array([peer.estimator.unigram_score(w) for w in sorted(vocabulary)])
        np.testing.assert_allclose(ours - share * below, theirs - share * their_below, atol=1e-12)


@pytest.mark.parametrize("name", ["MLE", "Laplace", "Lidstone"])
def test_shares_and_added_counts_are_those_of_nltk(name):
    lm = pytest.importorskip("nltk.lm")
    documents = [text.split() for text in TEXTS]
    grams = [
        tuple(words[i - k + 1 : i + 1])
        for words in (padded(d, 2) for d in documents)
        for k in (1, 2)
        for i in range(1, len(words))
    ]
    vocabulary = sorted({w for d in documents for w in d} | {"</s>"})
    peer, k = (lm.Lidstone(0.3, 2), 0.3) if name == "Lidstone" else (getattr(lm, name)(2), 1.0)
    peer.fit([grams], vocabulary_text=vocabulary)  # with the unknown word, as here
    smoothing = "mle" if name == "MLE" else "add_k"
    model = NGramModel(2, smoothing=smoothing, k=k).fit(documents)
    for context in ("a", "b", "d", "<s>"):
        law = model.distribution([context])
        for word in vocabulary:
            assert law[word] == pytest.approx(peer.score(word, [context]), rel=1e-12)


def test_the_tagger_is_as_right_as_those_of_nltk(rng):
    tnt = pytest.importorskip("nltk.tag.tnt")
    hmm = pytest.importorskip("nltk.tag.hmm")
    (X, y), (new, tags) = corpus(rng, 150, 50), corpus(rng, 40, 80)
    model = HMMTagger().fit(X, y)
    tagged = [list(zip(*pair, strict=True)) for pair in zip(X, y, strict=True)]
    peers = [tnt.TnT(), hmm.HiddenMarkovModelTagger.train(tagged)]
    peers[0].train(tagged)
    for peer in peers:
        found = [[tag for _, tag in peer.tag(words)] for words in new]
        right = np.mean(
            [a == b for f, t in zip(found, tags, strict=True) for a, b in zip(f, t, strict=True)]
        )
        assert model.score(new, tags) >= right


def test_the_corrector_finds_what_symspellpy_finds(rng):
    symspellpy = pytest.importorskip("symspellpy")
    letters = list("abcde")
    words = {"".join(rng.choice(letters, n)) for n in rng.integers(3, 9, 400)}
    counts = {word: int(rng.integers(1, 1000)) for word in sorted(words)}
    peer = symspellpy.SymSpell(max_dictionary_edit_distance=2, prefix_length=7)
    for word, count in counts.items():
        peer.create_dictionary_entry(word, count)
    model = SpellCorrector.from_counts(counts)
    for _ in range(100):
        word = "".join(rng.choice(letters, rng.integers(2, 10)))
        theirs = peer.lookup(word, symspellpy.Verbosity.ALL, max_edit_distance=2)
        ours = model.suggest(word, n=10**6)
        assert {s.word: s.distance for s in ours} == {t.term: t.distance for t in theirs}
