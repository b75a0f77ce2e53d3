"""LDA: the sampler against enumeration, the estimates against closed forms."""

import itertools

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

import panlearn
from panlearn.text import PLSA, LatentDirichletAllocation, WordTokenizer
from panlearn.text import latent_dirichlet_allocation as lda
from panlearn.text._topic_kernels import fold_in, left_to_right
from panlearn.text._topics import of_tokens

FRUIT, SEA = "apple pear plum fig apple".split(), "ship wave port sail ship".split()


def planted(rng, n=120, length=40, n_words=60, n_topics=4):
    """Documents on disjoint topics, and the topics."""
    phi = np.zeros((n_topics, n_words))
    for k, words in enumerate(np.split(np.arange(n_words), n_topics)):
        phi[k, words] = rng.dirichlet(np.ones(len(words)))
    theta = rng.dirichlet(np.full(n_topics, 0.2), n)
    ids = np.array([rng.choice(n_words, length, p=t @ phi) for t in theta])
    return [[f"w{i:03d}" for i in row] for row in ids], phi


def log_joint(ids, offsets, topics, alpha, beta, n_words):
    """Log p(w, z) from the tables of counts."""
    value, k = 0.0, len(alpha)
    for start, stop in itertools.pairwise(offsets):
        n = np.bincount(topics[start:stop], minlength=k)
        value += gammaln(alpha.sum()) - gammaln(alpha.sum() + n.sum())
        value += (gammaln(alpha + n) - gammaln(alpha)).sum()
    for j in range(k):
        n = np.bincount(ids[topics == j], minlength=n_words)
        value += gammaln(n_words * beta) - gammaln(n_words * beta + n.sum())
        value += (gammaln(beta + n) - gammaln(beta)).sum()
    return value


def chain_of(ids, offsets, n_words, alpha, beta, rng):
    corpus = of_tokens(np.array(ids, dtype=np.int32), np.array(offsets), n_words, None)
    return lda.Chain(corpus, np.array(alpha), beta, rng)


def test_the_sampler_visits_assignments_as_often_as_their_posterior_says(rng):
    ids, offsets, alpha, beta = np.array([0, 1, 0, 2, 1]), [0, 3, 5], np.array([0.3, 1.1]), 0.4
    states = np.array(list(itertools.product(range(2), repeat=5)))
    joint = np.array([log_joint(ids, offsets, z, alpha, beta, 3) for z in states])
    posterior = np.exp(joint - logsumexp(joint))
    chain, seen, n = chain_of(ids, offsets, 3, alpha, beta, rng), np.zeros(32), 20_000
    for _ in range(n):
        value = chain.sweep()
        number = int(chain.topics @ [16, 8, 4, 2, 1])
        seen[number] += 1
        assert value == pytest.approx(joint[number], abs=1e-10)
    # a few standard deviations of a frequency, the sweeps being nearly independent
    np.testing.assert_allclose(seen / n, posterior, atol=5 * np.sqrt(0.25 / n))


def test_the_lists_of_a_word_are_its_counts(rng):
    ids, offsets = rng.integers(0, 30, 500), [0, 100, 100, 350, 500]
    chain = chain_of(ids, offsets, 30, np.full(7, 0.2), 0.1, rng)
    for _ in range(30):
        chain.sweep()
    word, topic, count = chain._word_topics()
    table = np.zeros((30, 7), dtype=int)
    table[word, topic] = count
    expected = np.zeros_like(table)
    np.add.at(expected, (ids, chain.topics), 1)
    np.testing.assert_array_equal(table, expected)
    np.testing.assert_array_equal(chain._total, expected.sum(axis=0))


def test_the_updates_of_the_priors_climb_to_where_the_slope_is_that_of_their_prior(rng):
    ids, offsets = rng.integers(0, 8, 400), np.arange(0, 401, 20)
    chain = chain_of(ids, offsets, 8, [0.4, 0.9, 2.0], 0.3, rng)
    for _ in range(20):
        chain.sweep()

    def value(alpha, beta):  # with the exponential prior of each
        return log_joint(ids, offsets, chain.topics, alpha, beta, 8) - alpha.sum() - beta

    before = value(chain.alpha, chain.beta)
    for _ in range(3000):
        chain.update_priors()
        after = value(chain.alpha, chain.beta)
        assert after >= before - 1e-9
        before = after
    for k in range(3):
        step = 1e-5 * np.eye(3)[k]
        slope = value(chain.alpha + step, chain.beta) - value(chain.alpha - step, chain.beta)
        assert abs(slope / 2e-5) < 1e-3
    slope = value(chain.alpha, chain.beta + 1e-5) - value(chain.alpha, chain.beta - 1e-5)
    assert abs(slope / 2e-5) < 1e-3


def test_a_document_of_one_word_is_folded_in_exactly(rng):
    words, alpha = rng.dirichlet(np.ones(5), 3).T.copy(), np.array([0.2, 0.5, 1.0])
    theta = np.empty((2, 3))
    fold_in(np.array([4], np.int32), np.array([0, 1, 1]), words, alpha, 100, 1e-12, theta)
    law = words[4] * alpha / (words[4] @ alpha)
    np.testing.assert_allclose(theta[0], (law + alpha) / (alpha.sum() + 1), rtol=1e-12)
    np.testing.assert_allclose(theta[1], alpha / alpha.sum(), rtol=1e-12)


def test_left_to_right_estimates_the_sum_over_all_topics():
    words = np.random.default_rng(1).dirichlet(np.ones(4), 2).T + 1e-3
    alpha, ids = np.array([0.3, 0.6]), [0, 3, 0, 1, 2]
    exact = []
    for z in itertools.product(range(2), repeat=len(ids)):
        n = np.bincount(z, minlength=2)
        prior = gammaln(alpha.sum()) - gammaln(alpha.sum() + len(ids))
        prior += (gammaln(alpha + n) - gammaln(alpha)).sum()
        exact.append(prior + np.log(words[ids, z]).sum())
    value, at = np.empty(1), np.array([0, len(ids)])
    left_to_right(np.array(ids, np.int32), at, words, alpha, 40_000, np.uint64(1), value)
    # the error of the mean of 40,000 particles; without drawing these anew it is off by 0.14
    assert value[0] == pytest.approx(logsumexp(exact), abs=0.01)
    left_to_right(np.array([2], np.int32), np.array([0, 1]), words, alpha, 1, np.uint64(1), value)
    assert value[0] == pytest.approx(np.log(words[2] @ alpha / alpha.sum()), rel=1e-12)


def test_large_counts_are_not_spread_out(monkeypatch):
    X = np.array([[4e9, 1e9, 0.0], [0.0, 2e9, 5e9]])
    model = PLSA(2, random_state=0).fit(X)  # a list of these tokens would take 48 GB
    assert model.coherence(X, n_words=2).shape == (2,)
    monkeypatch.setattr("panlearn.core.memory.available", lambda: 2**30)
    with pytest.raises(MemoryError, match="list of tokens is 12000000000"):
        LatentDirichletAllocation(2).fit(X)


def test_planted_topics_are_found(rng):
    documents, phi = planted(rng)
    model = LatentDirichletAllocation(4, random_state=0).fit(documents)
    found = np.zeros((4, 60))
    found[:, [int(word[1:]) for word in model.words_]] = model.components_
    cosine = (phi / np.linalg.norm(phi, axis=1)[:, None]) @ (
        found / np.linalg.norm(found, axis=1)[:, None]
    ).T
    assert cosine.max(axis=1).min() > 0.95
    assert sorted(cosine.argmax(axis=1)) == [0, 1, 2, 3]
    np.testing.assert_allclose(model.components_.sum(axis=1), 1)
    np.testing.assert_allclose(model.doc_topic_.sum(axis=1), 1)
    assert model.topic_word_prior_ < 1
    assert model.doc_topic_prior_.sum() < 2
    # the shares of a training document, sampled with it and folded in after
    assert np.abs(model.transform(documents) - model.doc_topic_).mean() < 0.02
    history = model.history_["log_likelihood"]
    assert len(history) == model.n_iter
    assert np.mean(history[-20:]) > history[0]
    assert (
        model.perplexity(documents)
        < 30
        < LatentDirichletAllocation(1, random_state=0).fit(documents).perplexity(documents)
    )


def test_a_matrix_of_counts_is_the_documents_with_their_words_in_order():
    documents = [sorted(FRUIT), sorted(SEA), sorted(FRUIT + SEA)] * 4
    words = sorted({*FRUIT, *SEA})
    counts = np.array([[document.count(word) for word in words] for document in documents])
    model = LatentDirichletAllocation(2, random_state=0).fit(documents)
    matrix = LatentDirichletAllocation(2, random_state=0).fit(counts)
    np.testing.assert_array_equal(matrix.components_, model.components_)
    np.testing.assert_array_equal(model.transform(counts), matrix.transform(counts))
    with pytest.raises(ValueError, match="does not know the words"):
        matrix.transform(documents)
    with pytest.raises(ValueError, match="no whole numbers"):
        LatentDirichletAllocation(2).fit(counts / 2)
    with pytest.raises(ValueError, match="expecting 8 features"):
        matrix.transform(counts[:, :3])
    with pytest.raises(ValueError, match="Negative"):
        LatentDirichletAllocation(2).fit(-counts)


def test_a_stream_and_a_bag_of_documents_are_the_list():
    documents, settings = [FRUIT, SEA, FRUIT] * 4, dict(n_components=2, random_state=0)
    model = LatentDirichletAllocation(**settings).fit(documents)
    parts = panlearn.Batches([documents[:5], documents[5:]])
    bag = pytest.importorskip("dask.bag").from_sequence(documents, npartitions=3)
    for source in (parts, bag):
        other = LatentDirichletAllocation(**settings).fit(source)
        np.testing.assert_array_equal(other.components_, model.components_)


def test_unknown_words_are_left_out_and_an_empty_document_has_the_prior():
    model = LatentDirichletAllocation(2, random_state=0).fit([FRUIT, SEA] * 5)
    prior = model.doc_topic_prior_ / model.doc_topic_prior_.sum()
    np.testing.assert_allclose(model.transform(["", "unheard of"]), [prior, prior])
    np.testing.assert_array_equal(model.score_samples([[], ["unheard"]]), [0, 0])
    np.testing.assert_array_equal(
        model.transform([["apple", "unheard"]]), model.transform([["apple"]])
    )
    with pytest.raises(ValueError, match="no perplexity"):
        model.perplexity(["unheard of"])


def test_the_score_of_a_document_does_not_depend_on_the_others():
    documents = [FRUIT, SEA, [*FRUIT, "wave"]] * 3
    model = LatentDirichletAllocation(2, random_state=0).fit(documents)
    alone = [model.score_samples([d])[0] for d in documents]
    np.testing.assert_array_equal(model.score_samples(documents), alone)


def test_coherence_by_hand():
    documents = [["a", "b"], ["a", "b"], ["a", "c"], ["c"]]
    model = LatentDirichletAllocation(1, random_state=0).fit(documents)
    assert model.top_words(3) == [["a", "b", "c"]]
    # pairs (a, b), (a, c), (b, c) meet in 2, 1 and 0 of 4 documents; a is in 3, b and c in 2
    umass = np.mean([np.log(3 / 3), np.log(2 / 3), np.log(1 / 2)])
    npmi = np.mean([np.log(2 * 4 / 6) / np.log(2), np.log(4 / 6) / np.log(4), -1])
    np.testing.assert_allclose(model.coherence(documents, "umass", n_words=3), [umass])
    np.testing.assert_allclose(model.coherence(documents, n_words=3), [npmi])
    for measure in ("npmi", "umass"):
        assert np.isfinite(model.coherence([["a"], ["unheard"]], measure)).all()


def test_rare_words_and_stop_words_are_left_out():
    model = LatentDirichletAllocation(
        2, min_df=2, tokenizer=WordTokenizer(stop_words=("the",)), random_state=0
    )
    model.fit(["the cat sat", "the cat ran", "a dog ran once once"])
    assert model.words_.tolist() == ["cat", "ran"]


def test_a_prior_for_each_topic_and_the_file(tmp_path):
    model = LatentDirichletAllocation(
        2, doc_topic_prior=[0.1, 5.0], optim_interval=0, random_state=0
    ).fit([FRUIT, SEA] * 5)
    np.testing.assert_array_equal(model.doc_topic_prior_, [0.1, 5.0])
    panlearn.save(model, tmp_path / "model")
    again = panlearn.load(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(["apple"]), model.transform(["apple"]))
    with pytest.raises(ValueError, match="doc_topic_prior must hold"):
        LatentDirichletAllocation(3, doc_topic_prior=[0.1, 5.0]).fit([FRUIT])
    with pytest.raises(ValueError, match="leaves nothing"):
        LatentDirichletAllocation(3, n_iter=5).fit([FRUIT])
    with pytest.raises(ValueError, match="no word in X"):
        LatentDirichletAllocation(3).fit(["", ""])


def online(**given):
    return LatentDirichletAllocation(
        4, n_iter=60, n_burn_in=30, doc_topic_prior=0.2, random_state=0, **given
    )


def test_the_first_batch_is_a_fit_and_the_same_batches_give_the_same_bits(rng):
    documents, _ = planted(rng)
    first, whole = online().partial_fit(documents[:40]), online().fit(documents[:40])
    np.testing.assert_array_equal(first.components_, whole.components_)
    models = [online().fit(documents[:40]), online().partial_fit(documents[:40])]
    for model in models:
        model.partial_fit(documents[40:80]).partial_fit(documents[80:])
    one, other = models
    np.testing.assert_array_equal(one.components_, other.components_)
    assert one.n_batch_iter_ == 3
    assert one.doc_topic_.shape == (40, 4)
    # each token of every batch has a topic, and one alone
    counted = {w: n for w, n in zip(one.words_, one.counts_.sum(axis=1), strict=True)}
    for word in one.words_:
        assert counted[word] == sum(document.count(word) for document in documents)


def test_topics_of_batches_are_those_of_the_whole(rng):
    """Topics are learned from all batches: words that only the second has are in theirs."""
    documents, phi = planted(rng, n=300)
    half = [[w for w in d if int(w[1:]) % 5] for d in documents[:150]]  # each fifth word comes late
    model = online().partial_fit(half)
    assert len(model.words_) == 48
    model.partial_fit(documents[150:])
    assert model.words_.tolist() == [f"w{i:03d}" for i in range(60)]
    np.testing.assert_allclose(model.components_.sum(axis=1), 1)
    distance = np.abs(model.components_[:, None] - phi).sum(axis=2) / 2
    assert sorted(distance.argmin(axis=1)) == list(range(4))
    assert distance.min(axis=1).max() < 0.2  # a fifth of the words was left out of half the texts


def test_the_topics_of_earlier_tokens_remain_and_pull_on_later_ones(rng):
    """One token of a word that was with topic 0 alone: by the law of the sampler, not by chance."""
    corpus = of_tokens(np.array([0, 1], dtype=np.int32), np.array([0, 1, 2]), 2, None)
    seen = np.array([[3, 0], [1, 2]], dtype=np.int32)
    alpha, beta = np.array([0.5, 0.8]), 0.1
    chain, n = lda.Chain(corpus, alpha, beta, rng, seen), 20_000
    states = list(itertools.product(range(2), repeat=2))
    joint = []
    for z in states:
        counts = seen.copy()
        value = 0.0
        for word, topic in enumerate(z):
            value += np.log(alpha[topic] / alpha.sum())
            law = (counts[word, topic] + beta) / (counts[:, topic].sum() + 2 * beta)
            value += np.log(law)
            counts[word, topic] += 1
        joint.append(value)
    drawn = np.zeros(4)
    for _ in range(n):
        value = chain.sweep()
        state = states.index(tuple(chain.topics.tolist()))
        drawn[state] += 1
        assert value == pytest.approx(joint[state], abs=1e-10)
    posterior = np.exp(np.array(joint) - logsumexp(joint))
    np.testing.assert_allclose(drawn / n, posterior, atol=5 * np.sqrt(0.25 / n))
    assert (chain.word_counts() - seen).sum() == 2
    assert (chain.word_counts() >= seen).all()


def test_batches_of_counts_and_batches_that_do_not_fit(rng):
    documents, _ = planted(rng, n=30)
    counts = rng.poisson(0.5, (20, 7))
    model = online().partial_fit(counts).partial_fit(counts[:5] + 1)
    assert model.counts_.sum() == counts.sum() + (counts[:5] + 1).sum()
    with pytest.raises(ValueError, match="does not know the words"):
        model.partial_fit(documents)
    with pytest.raises(ValueError, match=r"7 features|7 columns"):
        model.partial_fit(counts[:, :6])
    with pytest.raises(ValueError, match="no word in X"):
        model.partial_fit(np.zeros((3, 7)))
    before = model.components_.copy()
    with pytest.raises(ValueError, match="n_components=3, and the model has 4"):
        model.set_params(n_components=3).partial_fit(counts)
    np.testing.assert_array_equal(model.components_, before)


def test_a_generator_of_documents_is_read_once(rng):
    documents, _ = planted(rng, n=40)
    model = online().fit(d for d in documents)
    np.testing.assert_array_equal(model.components_, online().fit(documents).components_)
    for method in ("transform", "score_samples", "score", "perplexity"):
        listed = getattr(model, method)(documents[:4])
        np.testing.assert_array_equal(getattr(model, method)(d for d in documents[:4]), listed)


def test_extreme_counts_priors_and_weights_are_learned_from_or_named():
    X = np.array([[3.0, 0, 1], [0, 2, 1], [0, 0, 0], [1, 1, 0]])
    for scale in (1e150, 5e307):
        with pytest.raises(MemoryError, match="list of tokens"):
            online().fit(scale * X)
    with pytest.raises(ValueError, match="no whole numbers"):
        online().fit(1e-300 * X)
    for name in ("doc_topic_prior", "topic_word_prior"):
        for prior in (1e-300, 1e300):
            model = online().set_params(**{name: prior}).fit(X)
            for values in (model.components_, model.doc_topic_, model.transform(X)):
                np.testing.assert_allclose(values.sum(axis=1), 1)
    expected = PLSA(2, random_state=0).fit(X, sample_weight=np.ones(4)).components_
    for weight in (1e-300, 1e300):
        model = PLSA(2, random_state=0).fit(X, sample_weight=np.full(4, weight))
        np.testing.assert_allclose(model.components_, expected, atol=1e-6)
    with pytest.raises(ValueError, match="sample_weight is from 1e-300 to 1e"):
        PLSA(2, random_state=0).fit(X, sample_weight=[1e300, 1e-300, 1, 1])


def test_each_batch_has_draws_of_its_own(rng, monkeypatch):
    """One seed, but no batch walks through the random numbers of another."""
    documents, _ = planted(rng, n=30)
    seeds = []

    class Recorded(lda.Chain):
        def __init__(self, *given):
            super().__init__(*given)
            seeds.append(int(self._state))

    monkeypatch.setattr(lda, "Chain", Recorded)
    for _ in range(2):
        model = online()
        for start in (0, 10, 20):
            model.partial_fit(documents[start : start + 10])
    assert seeds[:3] == seeds[3:]
    assert len(set(seeds)) == 3
