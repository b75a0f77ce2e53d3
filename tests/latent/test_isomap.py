"""Isomap: its graph, its shortest paths, classical scaling, new rows."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.exceptions import ConvergenceWarning

from panlearn.core import memory
from panlearn.latent import PCA, Isomap
from panlearn.latent._embedding import largest_eigenpairs, smallest_eigenpairs
from panlearn.latent._neighbour_graph import Edges, connected_graph, geodesics
from panlearn.neighbors._search import NeighborIndex


def matrix(graph):
    """The graph as a dense table; a missing edge is infinite."""
    table = np.full((graph.n, graph.n), np.inf)
    for i in range(graph.n):
        row = slice(graph.starts[i], graph.starts[i + 1])
        table[i, graph.ends[row]] = graph.lengths[row]
    return table


def test_the_graph_holds_the_neighbours_either_way(rng):
    X = rng.normal(size=(40, 3))
    D = squareform(pdist(X))
    order = np.argsort(D, axis=1)
    near = np.zeros((40, 40), dtype=bool)
    near[np.arange(40)[:, None], order[:, 1:5]] = True
    np.testing.assert_allclose(
        matrix(connected_graph(X, 4, 2.0, None)), np.where(near | near.T, D, np.inf), rtol=1e-12
    )


@pytest.mark.parametrize("n", [3, 70, 200])
def test_geodesics_are_the_shortest_paths(rng, n):
    X = rng.normal(size=(n, 2))
    graph = connected_graph(X, min(4, n - 1), 2.0, None)
    table = sparse.csr_array((graph.lengths, graph.ends, graph.starts), shape=(n, n))
    np.testing.assert_allclose(geodesics(graph), shortest_path(table, directed=False), rtol=1e-12)


def test_edges_of_length_zero_are_edges():
    graph = Edges(np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1]), np.array([0.0, 0.0, 2.0, 2.0]))
    np.testing.assert_array_equal(geodesics(graph), [[0, 0, 2], [0, 0, 2], [2, 2, 0]])


def test_components_are_counted_and_joined_where_they_are_nearest(rng):
    X = np.repeat([[0.0, 0.0], [50.0, 0.0], [0.0, 90.0]], 12, axis=0)
    X += rng.uniform(-1, 1, size=X.shape)
    with pytest.warns(ConvergenceWarning, match="3 components, the largest with 12 of 36"):
        model = Isomap(4).fit(X)
    assert np.isfinite(model.dist_matrix_).all()
    gap = cdist(X[:12], X[12:24])
    i, j = np.unravel_index(gap.argmin(), gap.shape)
    assert model.dist_matrix_[i, 12 + j] == pytest.approx(gap.min())


def test_many_components_are_joined_each_two_where_nearest(rng, monkeypatch):
    X = np.repeat(rng.normal(size=(40, 2)), 2, axis=0) + 1e-4 * rng.normal(size=(80, 2))
    asked = []

    class Counted(NeighborIndex):
        def query(self, *args):
            asked.append(1)
            return super().query(*args)

    monkeypatch.setattr("panlearn.latent._neighbour_graph.NeighborIndex", Counted)
    with pytest.warns(ConvergenceWarning, match="40 components"):
        table = matrix(connected_graph(X, 1, 2.0, None))
    assert len(asked) == 40  # one a component, not one a pair
    gaps = cdist(X, X).reshape(40, 2, 40, 2).min(axis=(1, 3))
    joined = table.reshape(40, 2, 40, 2).min(axis=(1, 3))
    apart = ~np.eye(40, dtype=bool)
    np.testing.assert_allclose(joined[apart], gaps[apart], rtol=1e-12)


@pytest.mark.parametrize("n", [60, 400])
def test_with_all_rows_as_neighbours_it_is_pca(rng, n):
    X = rng.normal(size=(n, 5)) * [5.0, 3.0, 1.0, 0.5, 0.1]
    Z = Isomap(n - 1).fit_transform(X)
    scores = PCA(2).fit_transform(X)
    # Lanczos and the dense solver both end at rounding of the largest eigenvalue
    np.testing.assert_allclose(Z, scores * np.sign((Z * scores).sum(axis=0)), atol=1e-8)


def test_an_arc_unrolls_to_its_length():
    angle = np.linspace(0, 1.5 * np.pi, 200)
    model = Isomap(2, n_components=1).fit(np.c_[np.cos(angle), np.sin(angle)])
    # chords of neighbours are shorter than the arc by a relative h²/24 with h = 0.0237
    assert np.ptp(model.embedding_) == pytest.approx(1.5 * np.pi, rel=1e-4)
    assert model.reconstruction_error() < 1e-4


def test_training_rows_keep_their_place_and_new_ones_fall_between(rng):
    X = np.c_[np.linspace(0, 10, 80), np.zeros(80)] + 0.01 * rng.normal(size=(80, 2))
    model = Isomap(6).fit(X)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-8)
    middle = model.transform((X[:-1] + X[1:]) / 2)[:, 0]
    ends = model.embedding_[:, 0]
    assert (np.minimum(ends[:-1], ends[1:]) - 0.05 < middle).all()
    assert (middle < np.maximum(ends[:-1], ends[1:]) + 0.05).all()


@pytest.mark.parametrize("scale", [1e-140, 1e-20, 1e100])
def test_the_unit_of_the_rows_is_the_unit_of_the_embedding(rng, scale):
    X = rng.normal(size=(50, 3))
    plain, scaled = Isomap().fit(X), Isomap().fit(scale * X)
    np.testing.assert_allclose(scaled.embedding_ / scale, plain.embedding_, atol=1e-9)
    np.testing.assert_allclose(scaled.transform(scale * X) / scale, plain.transform(X), atol=1e-9)


def test_what_cannot_be_is_refused(rng, monkeypatch):
    X = rng.normal(size=(6, 2))
    with pytest.raises(ValueError, match="n_neighbors=6 but n_samples=6"):
        Isomap(6).fit(X)
    with pytest.raises(ValueError, match="n_components=7"):
        Isomap(3, n_components=7).fit(X)
    with pytest.raises(ValueError, match="X is a stream"):
        Isomap(3).fit([X, X])
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available", lambda: 100)
    with pytest.raises(MemoryError, match="2 x 6 x 6"):
        Isomap(3).fit(X)


def test_few_eigenpairs_are_those_of_the_dense_solver(rng):
    A = rng.normal(size=(400, 400))
    A = A @ A.T
    values, vectors = np.linalg.eigh(A)
    for found, at in ((largest_eigenpairs(A, 3), [-1, -2, -3]),):
        np.testing.assert_allclose(found[0], values[at], rtol=1e-9)
        np.testing.assert_allclose(np.abs(vectors[:, at].T @ found[1]), np.eye(3), atol=1e-6)
    found = smallest_eigenpairs(sparse.csc_array(A), 3)
    np.testing.assert_allclose(found[0], values[:3], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(np.abs(vectors[:, :3].T @ found[1]), np.eye(3), atol=1e-5)
