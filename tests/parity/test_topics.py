"""Topic models against tomotopy, gensim and scikit-learn."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import NMF
from sklearn.decomposition import LatentDirichletAllocation as ScikitLearn

from panlearn.text import PLSA, LatentDirichletAllocation

LENGTH, WORDS, TOPICS = 60, 200, 5


def corpus(rng, n=300):
    phi = rng.dirichlet(np.full(WORDS, 0.05), TOPICS)
    theta = rng.dirichlet(np.full(TOPICS, 0.2), n)
    return [[f"w{w:03d}" for w in rng.choice(WORDS, LENGTH, p=share @ phi)] for share in theta], phi


def test_lda_is_as_likely_as_that_of_tomotopy(rng):
    tomotopy = pytest.importorskip("tomotopy")
    documents, _ = corpus(rng)
    peer = tomotopy.LDAModel(k=TOPICS, alpha=0.2, eta=0.05, seed=1)
    for document in documents:
        peer.add_doc(document)
    peer.optim_interval = 0
    peer.train(200, workers=1)
    model = LatentDirichletAllocation(
        TOPICS, doc_topic_prior=0.2, topic_word_prior=0.05, optim_interval=0, random_state=0
    ).fit(documents)
    # the same log p(w, z) of a token; both chains have come to their level
    ours = np.mean(model.history_["log_likelihood"][-20:])
    assert ours == pytest.approx(peer.ll_per_word, abs=0.01)
    laws = np.array([peer.get_topic_word_dist(k) for k in range(TOPICS)])
    place = {word: i for i, word in enumerate(peer.used_vocabs)}
    theirs = laws[:, [place[word] for word in model.words_]]
    distance = np.abs(model.components_[:, None] - theirs).sum(axis=2) / 2
    assert sorted(distance.argmin(axis=1)) == list(range(TOPICS))
    assert distance.min(axis=1).max() < 0.1  # of a sample there and of a mean here


def test_lda_learns_the_priors_that_tomotopy_learns(rng):
    tomotopy = pytest.importorskip("tomotopy")
    documents, _ = corpus(rng)
    peer = tomotopy.LDAModel(k=TOPICS, alpha=1.0, eta=0.05, seed=1)
    for document in documents:
        peer.add_doc(document)
    peer.train(300, workers=1)
    model = LatentDirichletAllocation(
        TOPICS, doc_topic_prior=1.0, topic_word_prior=0.05, n_iter=300, random_state=0
    ).fit(documents)
    assert model.doc_topic_prior_.sum() == pytest.approx(peer.alpha.sum(), rel=0.15)


def test_plsa_is_nmf_of_the_kullback_leibler_loss(rng):
    """Both maximise one likelihood; from one start each step of EM is one multiplicative step."""
    counts = rng.poisson(1.0, (40, 15)).astype(float)
    model = PLSA(3, max_iter=2000, tol=1e-9, random_state=0).fit(counts)
    size = counts.sum(axis=1, keepdims=True)
    peer = NMF(
        3, beta_loss="kullback-leibler", solver="mu", init="custom", max_iter=20_000, tol=1e-12
    )
    W = peer.fit_transform(counts, W=size * model.doc_topic_, H=model.components_.copy())
    law = size * (model.doc_topic_ @ model.components_)
    np.testing.assert_allclose(W @ peer.components_, law, atol=1e-2)


def held_out(laws, documents, alpha=0.2):
    """Perplexity of the second halves given the first: shares by EM, nothing of either library."""
    total, n = 0.0, 0
    for document in documents:
        first, second = document[: LENGTH // 2], document[LENGTH // 2 :]
        share = np.full(len(laws), 1 / len(laws))
        for _ in range(200):
            joint = share[:, None] * laws[:, first]
            share = (joint / joint.sum(axis=0)).sum(axis=1) + alpha
            share /= share.sum()
        total += np.log(share @ laws[:, second]).sum()
        n += len(second)
    return np.exp(-total / n)


def from_truth(laws, phi):
    """The mean total variation between topics and the true ones, best matched."""
    distance = np.abs(laws[:, None] - phi).sum(axis=2) / 2
    return distance[linear_sum_assignment(distance)].mean()


def numbered(documents):
    return [np.array([int(word[1:]) for word in document]) for document in documents]


def whole_laws(model):
    """Topics over all words: one that did not occur has no probability, but for rounding."""
    laws = np.full((TOPICS, WORDS), 1e-12)
    laws[:, [int(word[1:]) for word in model.words_]] = model.components_
    return laws


def test_lda_is_as_good_as_that_of_gensim_and_scikit_learn(rng):
    gensim = pytest.importorskip("gensim")
    documents, phi = corpus(rng, 400)
    ids, train, test = numbered(documents), documents[:300], numbered(documents)[300:]
    model = LatentDirichletAllocation(
        TOPICS, doc_topic_prior=0.2, topic_word_prior=0.05, optim_interval=0, random_state=0
    ).fit(train)
    counts = np.array([np.bincount(row, minlength=WORDS) for row in ids[:300]])
    batch = ScikitLearn(
        TOPICS, doc_topic_prior=0.2, topic_word_prior=0.05, max_iter=60, random_state=0
    ).fit(counts)
    bags = [[(w, int(n)) for w, n in enumerate(row) if n] for row in counts]
    names = {w: f"w{w:03d}" for w in range(WORDS)}
    with np.errstate(invalid="ignore"):  # some processors flag a product of gensim's
        streamed = gensim.models.LdaModel(
            bags, TOPICS, names, alpha=[0.2] * TOPICS, eta=0.05, passes=30, random_state=0
        )
    laws = {
        "ours": whole_laws(model),
        "scikit-learn": batch.components_ / batch.components_.sum(axis=1, keepdims=True),
        "gensim": streamed.get_topics().astype(float),
    }
    found = {name: (held_out(law, test), from_truth(law, phi)) for name, law in laws.items()}
    best = min(value for value, _ in found.values())
    assert found["ours"][0] < 1.01 * best, found  # perplexity, within a hundredth of the best
    assert found["ours"][0] < 1.03 * held_out(phi, test), found  # and near that of the truth
    assert found["ours"][1] < min(0.15, 0.01 + min(d for _, d in found.values())), found


def test_lda_in_batches_is_as_good_as_the_online_one_of_scikit_learn(rng):
    documents, phi = corpus(rng, 500)
    ids, test = numbered(documents), numbered(documents)[400:]
    model = LatentDirichletAllocation(
        TOPICS, doc_topic_prior=0.2, topic_word_prior=0.05, optim_interval=0, random_state=0
    )
    peer = ScikitLearn(
        TOPICS, doc_topic_prior=0.2, topic_word_prior=0.05, total_samples=400, random_state=0
    )
    for start in range(0, 400, 100):
        part = slice(start, start + 100)
        model.partial_fit(documents[part])
        counts = np.array([np.bincount(row, minlength=WORDS) for row in ids[part]])
        for _ in range(20):  # one step a call, where ours makes its sweeps
            peer.partial_fit(counts)
    theirs = peer.components_ / peer.components_.sum(axis=1, keepdims=True)
    ours = whole_laws(model)
    assert held_out(ours, test) < 1.01 * held_out(theirs, test)
    assert held_out(ours, test) < 1.05 * held_out(phi, test)
    assert from_truth(ours, phi) < 0.15
