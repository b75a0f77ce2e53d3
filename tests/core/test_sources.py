"""Streams, blocks, and what counts as which."""

import numpy as np
import pytest
from scipy import sparse

from panlearn import Batches
from panlearn.core.sources import ArrayRows, Block, as_batches, is_dask
from panlearn.linear import LinearRegression

X, Y = np.arange(6.0).reshape(3, 2), np.array([1.0, 2.0, 4.0])


@pytest.mark.parametrize(
    "stream",
    [[X, X], (X, X), [(X, Y), (X, Y)], [(X, Y, Y)], iter([X]), Batches([X]), [sparse.csr_array(X)]],
    ids=["list", "tuple", "pairs", "triples", "iterator", "Batches", "sparse"],
)
def test_what_is_a_stream(stream):
    assert isinstance(as_batches(stream), Batches)


@pytest.mark.parametrize(
    "array", [X, X.tolist(), [[1, 2], (3, 4)], [(1, 2), (3, 4)], [], "text", 3]
)
def test_what_is_no_stream(array):
    assert as_batches(array) is None


def test_a_list_of_matrices_beside_y_is_left_to_the_validation_of_arrays():
    assert as_batches([X, X], Y) is None
    with pytest.raises(ValueError, match="y comes in the batches"):
        as_batches(Batches([X]), Y)


def test_batches_become_blocks():
    assert [b.y is Y for b in Batches([(X, Y)])] == [True]
    assert next(iter(Batches([X]))) == Block(X, None, None)
    with pytest.raises(ValueError, match="got a tuple of 4"):
        list(Batches([(X, Y, Y, Y)]))
    with pytest.raises(TypeError, match="iterable of batches"):
        Batches(3)


def test_what_can_be_walked_again():
    assert Batches([X]).repeatable
    assert Batches(lambda: iter([X])).repeatable
    assert not Batches(iter([X])).repeatable
    stream = Batches(lambda: iter([X]))
    assert len(list(stream)) == len(list(stream)) == 1


def test_a_function_that_returns_one_iterator_twice_is_found_out():
    once = iter([(X, Y), (X + 1, Y)])
    with pytest.raises(ValueError, match="same iterator twice"):
        LinearRegression().fit(Batches(lambda: once))


def test_bad_batches_are_refused_by_name():
    def fit(*batches):
        return LinearRegression().fit(Batches(list(batches)))

    with pytest.raises(ValueError, match="empty"):
        fit()
    with pytest.raises(ValueError, match="3 features, but LinearRegression is expecting 2"):
        fit((X, Y), (np.ones((3, 3)), Y))
    with pytest.raises(ValueError, match="requires y, and a batch has none"):
        fit((X, Y), X)
    with pytest.raises(ValueError, match="inconsistent"):
        fit((X, Y), (X, Y[:2]))
    with pytest.raises(ValueError, match="X contains NaN"):
        fit((X, Y), (X * np.nan, Y))
    with pytest.raises(ValueError, match="y contains NaN"):
        fit((X, Y), (X, Y * np.nan))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        fit((X, Y, Y), (X, Y, -Y))
    with pytest.raises(ValueError, match="zero for every row"):
        fit((X, Y, 0 * Y))
    with pytest.raises(ValueError, match="sample_weight comes in the batches"):
        LinearRegression().fit(Batches([(X, Y)]), sample_weight=Y)


def test_names_of_columns_must_agree():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b"])
    with pytest.raises(ValueError, match=r"columns \['b', 'a'\]; the first had \['a', 'b'\]"):
        LinearRegression().fit(Batches([(frame, Y), (frame[["b", "a"]], Y)]))


def test_blocks_are_views_that_cover_the_rows():
    rows = ArrayRows(np.ones((70_000, 100)), np.arange(70_000.0), None)
    blocks = list(rows)
    assert len(blocks) > 5
    assert all(np.shares_memory(b.X, rows.X) for b in blocks)
    np.testing.assert_array_equal(np.concatenate([b.y for b in blocks]), rows.y)
    assert rows.repeatable


def test_dask_is_found_without_importing_it():
    assert not is_dask(X)
    assert not is_dask(None)


def test_blocks_of_sparse_rows_are_views_of_any_height():
    X = sparse.random_array((500, 3), density=0.4, format="csr", rng=np.random.default_rng(0))
    rows = ArrayRows(X, np.arange(500), None, block_rows=180)
    blocks = list(rows)
    assert [b.X.shape for b in blocks] == [(180, 3), (180, 3), (140, 3)]
    np.testing.assert_array_equal(sparse.vstack([b.X for b in blocks]).toarray(), X.toarray())
    np.testing.assert_array_equal(np.concatenate([b.y for b in blocks]), np.arange(500))
    assert all(np.shares_memory(b.X.data, X.data) for b in blocks)
