"""Embeddings: the best approximation of the matrix, signs and all."""

import numpy as np
import pytest

from panlearn.text import CooccurrenceEmbedding, cooccurrence, pmi


def corpus(rng, n=300):
    """Sentences on two subjects; within one any word may stand for any other."""
    subjects = [[f"sea{i}" for i in range(12)], [f"tree{i}" for i in range(12)]]
    return [list(rng.choice(subjects[i % 2], 8)) for i in range(n)]


def matrix(model, sentences):
    counts = cooccurrence(sentences, window=model.window)
    if model.weighting == "ppmi":
        return pmi(counts, positive=True).toarray()
    together = counts.symmetric.toarray()
    return np.log1p(together) if model.weighting == "log" else together


@pytest.mark.parametrize("weighting", ["ppmi", "log", "count"])
@pytest.mark.parametrize("k", [3, 20, 24, 99])
def test_no_matrix_of_that_rank_is_nearer(rng, weighting, k):
    sentences = corpus(rng)
    model = CooccurrenceEmbedding(k, weighting=weighting).fit(sentences)
    M = matrix(model, sentences)
    E, S = model.vectors_, np.diag(model.signs_)
    left = np.sort(np.abs(np.linalg.eigvalsh(M)))[: max(len(M) - k, 0)]
    distance = np.linalg.norm(M - E @ S @ E.T)
    # Eckart and Young: what is left are the other singular values
    np.testing.assert_allclose(distance, np.linalg.norm(left), atol=1e-9 * np.linalg.norm(M))
    assert E.shape == (24, min(k, 24))
    assert (np.diff(np.abs(model.eigenvalues_)) <= 1e-12).all()


def test_negative_eigenvalues_keep_their_signs():
    """Two words that only meet each other have the eigenvalues +-C."""
    model = CooccurrenceEmbedding(2, window=1, weighting="count").fit([["a", "b"] * 50])
    np.testing.assert_allclose(np.sort(model.eigenvalues_), [-99, 99], rtol=1e-12)
    E = model.vectors_
    np.testing.assert_allclose(E * model.signs_ @ E.T, [[0, 99], [99, 0]], atol=1e-10)
    assert abs((E @ E.T)[0, 1]) < 1e-10  # without the signs they would not seem to meet


def test_words_of_a_subject_are_similar(rng):
    model = CooccurrenceEmbedding(4).fit(corpus(rng))
    for word in ("sea3", "tree7"):
        near = model.most_similar(word, topn=11)
        assert all(other.startswith(word.rstrip("0123456789")) for other, _ in near)
        cosines = [c for _, c in near]
        assert cosines == sorted(cosines, reverse=True)
        assert word not in dict(near)
    assert len(model.most_similar("sea1", topn=99)) == 23
    with pytest.raises(ValueError, match="'ship' was not learned"):
        model.most_similar("ship")


def test_a_document_is_the_mean_of_its_words(rng):
    model = CooccurrenceEmbedding(4).fit(corpus(rng))
    at = {w: model.vectors_[i] for i, w in enumerate(model.words_)}
    X = model.transform([["sea1", "sea1", "tree2", "unknown"], [], ["unknown"]])
    np.testing.assert_allclose(X[0], (2 * at["sea1"] + at["tree2"]) / 3, rtol=1e-12)
    assert not X[1:].any()
    assert model.get_feature_names_out().tolist() == [f"cooccurrenceembedding{i}" for i in range(4)]


def test_rare_words_get_no_vector(rng):
    sentences = [*corpus(rng), ["sea1", "rare", "sea2"]]
    model = CooccurrenceEmbedding(4, min_count=2).fit(sentences)
    assert "rare" not in model.words_
    assert "rare" in model.statistic_.words
    assert "rare" in model.partial_fit([["rare"]]).words_
    with pytest.raises(ValueError, match="one window"):
        CooccurrenceEmbedding(min_count=10**6).fit(sentences)
    with pytest.raises(ValueError, match="one window"):
        CooccurrenceEmbedding().fit(["alone", ""])


def test_vectors_of_a_file_are_used_and_not_learned_on(rng, tmp_path):
    model = CooccurrenceEmbedding(4).fit(corpus(rng))
    model.save_word2vec_format(tmp_path / "vectors.txt")
    loaded = CooccurrenceEmbedding.load_word2vec_format(tmp_path / "vectors.txt")
    assert loaded.most_similar("sea3", topn=3)[0][0] == model.most_similar("sea3", topn=3)[0][0]
    with pytest.raises(ValueError, match="no counts"):
        loaded.partial_fit(corpus(rng))
