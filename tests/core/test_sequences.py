"""Reading sequences: what is one, what is several, and where blocks are cut."""

import numpy as np
import pytest

import panlearn
from panlearn.core import sources
from panlearn.core.sequences import as_list, map_blocks, read_sequences
from panlearn.core.sources import Block, SequenceRows, Sequences
from panlearn.sequence import GaussianHMM, MarkovChain


@pytest.mark.parametrize(
    ("X", "n"),
    [
        (np.zeros((5, 2)), None),
        ([[0.0, 1.0], [2.0, 3.0]], None),  # a matrix, as everywhere
        ([np.zeros((5, 2))], 1),
        ([np.zeros((5, 2)), np.zeros((3, 2))], 2),
        ((np.zeros((5, 2)), np.zeros((3, 2))), 2),
        (np.zeros((4, 5, 2)), 4),
        ([[[0.0], [1.0]], [[2.0]]], 2),
        ([], 0),
    ],
)
def test_one_sequence_of_vectors_or_several(X, n):
    items, single = as_list(X, "vectors")
    assert single is (n is None)
    assert len(items) == (1 if n is None else n)


@pytest.mark.parametrize(
    ("X", "n"),
    [
        (["rain", "sun"], None),
        ([1, 2, 3], None),
        (np.array([1, 2]), None),
        (np.array([[1], [2]]), None),
        ([["rain", "sun"], ["sun"]], 2),
        ([np.array([1, 2]), np.array([3])], 2),
        ([np.array([[1], [2]])], 1),
        ([("a", "b"), ("c",)], 2),
    ],
)
def test_one_sequence_of_symbols_or_several(X, n):
    items, single = as_list(X, "symbols")
    assert single is (n is None)
    assert len(items) == (1 if n is None else n)


def test_blocks_are_whole_sequences_with_their_states_and_weights(monkeypatch):
    monkeypatch.setattr(sources, "SEQUENCE_BLOCK_STEPS", 10)
    lengths = [4, 4, 4, 25, 1, 9, 2]
    X = [np.full((n, 1), i, dtype=float) for i, n in enumerate(lengths)]
    y = [np.full(n, i % 2) for i, n in enumerate(lengths)]
    rows = read_sequences(GaussianHMM(), X, y, np.arange(1.0, 8.0), kind="vectors", n_states=2)
    blocks = list(rows)
    assert [b.X.lengths.tolist() for b in blocks] == [[4, 4], [4], [25], [1, 9], [2]]
    for block in blocks:
        place = np.repeat(block.weight - 1, block.X.lengths)
        np.testing.assert_array_equal(block.X.values[:, 0], place)
        np.testing.assert_array_equal(block.y, place % 2)
    assert rows.n_features == 1
    assert len(rows.X) == 7


def test_an_array_is_not_copied():
    X = np.zeros((50, 2))
    rows = read_sequences(GaussianHMM(), X, kind="vectors")
    assert np.shares_memory(rows.X.values, X)


def test_a_function_of_blocks_for_every_source():
    def double(block):
        return Block(Sequences(2 * block.X.values, block.X.offsets), block.y, block.weight)

    X = [np.ones((3, 1)), np.ones((2, 1))]
    memory = map_blocks(read_sequences(GaussianHMM(), X, kind="vectors"), double)
    assert isinstance(memory, SequenceRows)
    stream = map_blocks(
        read_sequences(GaussianHMM(), panlearn.Batches([X, X[:1]]), kind="vectors"), double
    )
    for rows, steps in ((memory, 5), (stream, 8)):
        values = np.concatenate([b.X.values for b in rows])
        np.testing.assert_array_equal(values, np.full((steps, 1), 2.0))


@pytest.mark.parametrize(
    ("X", "says"),
    [
        (panlearn.Batches([]), "empty"),
        (panlearn.Batches([[]]), "no sequence"),
        (panlearn.Batches([[np.zeros((2, 1))], [np.zeros((2, 2))]]), "features"),
        (iter([[np.zeros((2, 1))]]), "several times"),
    ],
)
def test_bad_streams(X, says):
    with pytest.raises(ValueError, match=says):
        list(read_sequences(GaussianHMM(), X, kind="vectors", repeatable=True))


def test_a_bag_with_other_partitions_or_plain_weights():
    bag = pytest.importorskip("dask.bag")
    X = bag.from_sequence([list("ab"), list("ba"), list("aa")], partition_size=1)
    with pytest.raises(ValueError, match="must be bags"):
        MarkovChain().fit(X, sample_weight=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="partitions"):
        MarkovChain().fit(X, sample_weight=bag.from_sequence([1.0, 2.0, 3.0], npartitions=1))
    with pytest.raises(ValueError, match="compute it"):
        MarkovChain().fit(list("ab")).score(X)
