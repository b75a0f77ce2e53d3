"""Topic models against tomotopy and scikit-learn."""

import numpy as np
import pytest
from sklearn.decomposition import NMF

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
