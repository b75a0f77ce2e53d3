"""PLSA: EM against the formulas in NumPy, fold-in against a grid."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from panlearn.text import PLSA
from panlearn.text._topic_counts import TopicCounts


def test_the_expectation_is_that_of_the_formula(rng):
    counts = rng.poisson(1.0, (6, 5)).astype(float)
    words, shares = rng.dirichlet(np.ones(5), 3).T.copy(), rng.dirichlet(np.ones(3), 6)
    weight = rng.random(6)
    seen = TopicCounts.of(sparse.csr_array(counts), 0, weight, words, shares)
    joint = shares[:, None] * words  # (document, word, topic)
    law = joint / joint.sum(axis=2, keepdims=True)
    expected = weight[:, None, None] * counts[:, :, None] * law
    np.testing.assert_allclose(seen.words, expected.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(seen.documents, expected.sum(axis=1), rtol=1e-12)
    value = (weight[:, None] * counts * np.log(joint.sum(axis=2))).sum()
    assert seen.log_likelihood == pytest.approx(value, rel=1e-12)


def test_the_likelihood_never_falls_and_is_that_of_the_laws(rng):
    counts = rng.poisson(0.7, (30, 20)) * (1 + rng.random((30, 20)))
    with pytest.warns(ConvergenceWarning):
        model = PLSA(4, max_iter=60, tol=0, random_state=0).fit(sparse.csr_matrix(counts))
    history = np.array(model.history_["log_likelihood"])
    assert (np.diff(history) >= -1e-10).all()
    law = model.doc_topic_ @ model.components_
    np.testing.assert_allclose(law.sum(axis=1), 1)
    value = (counts * np.log(law)).sum() / 30
    assert history[-1] <= value <= history[-1] + 0.1
    np.testing.assert_allclose(model.weights_, counts.sum(axis=1) @ model.doc_topic_ / counts.sum())
    assert model.score(counts) >= value - 1e-6  # its own shares can only be better


def test_shares_are_folded_in_at_the_top_of_the_likelihood(rng):
    model = PLSA(2, random_state=0).fit(rng.poisson(1.0, (40, 12)))
    row = rng.poisson(1.0, (1, 12))
    grid = np.linspace(0, 1, 2001)
    laws = np.outer(grid, model.components_[0]) + np.outer(1 - grid, model.components_[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(row > 0, row * np.log(laws), 0).sum(axis=1)
    # half a step of the grid, and EM stops a little short
    assert model.transform(row)[0, 0] == pytest.approx(grid[values.argmax()], abs=2e-3)
    np.testing.assert_allclose(model.transform(np.zeros((1, 12))), [[0.5, 0.5]])
    assert model.perplexity(row) == pytest.approx(np.exp(-values.max() / row.sum()), rel=1e-4)


def test_weights_are_repetitions_and_the_order_does_not_matter(rng):
    counts = rng.poisson(1.0, (8, 6))
    weight = np.array([2, 0, 1, 3, 1, 1, 2, 1])
    settings = dict(n_components=3, random_state=0, tol=1e-2)
    weighted = PLSA(**settings).fit(counts, sample_weight=weight)
    repeated = PLSA(**settings).fit(np.repeat(counts, weight, axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, rtol=1e-9)
    turned = PLSA(**settings).fit(np.repeat(counts, weight, axis=0)[::-1])
    np.testing.assert_allclose(turned.components_, repeated.components_, rtol=1e-9)


def test_documents_and_their_counts_are_the_same():
    documents = ["sea ship sea", "leaf root", "ship leaf leaf"]
    counts = [[0, 0, 2, 1], [1, 1, 0, 0], [2, 0, 0, 1]]
    model = PLSA(2, random_state=0).fit(documents)
    matrix = PLSA(2, random_state=0).fit(np.array(counts))
    assert model.words_.tolist() == ["leaf", "root", "sea", "ship"]
    np.testing.assert_array_equal(model.components_, matrix.components_)
    np.testing.assert_array_equal(
        model.transform(["sea", "x"]), [*model.transform(["sea"]), [0.5, 0.5]]
    )
