"""Batches of arrays, of files on disk and of streams, and their shares."""

from itertools import chain

import numpy as np
import pytest
import torch

from panlearn.neural import batches


def rows(batcher, epoch=0, seed=0, **share):
    rng = np.random.default_rng((seed, epoch))
    return [batch[0].tolist() for batch in batcher.epoch(epoch, rng, **share)]


def test_an_epoch_holds_every_row_once_in_an_order_of_its_own():
    data = batches.Arrays((np.arange(10),), 4)
    first, second = rows(data), rows(data, epoch=1)
    assert [len(b) for b in first] == [4, 4, 2]
    assert len(data) == 3
    assert sorted(chain(*first)) == list(range(10))
    assert sorted(chain(*second)) == list(range(10))
    assert first != second
    assert first == rows(data)


@pytest.mark.parametrize("n", [10, 11, 3])
@pytest.mark.parametrize("world", [2, 3])
def test_the_shares_of_the_processes_make_the_batch(n, world):
    for make in (
        lambda: batches.Arrays((np.arange(n),), 4),
        lambda: batches.Stream([np.arange(4), np.arange(4, n)]),
    ):
        whole = rows(make())
        parts = [rows(make(), rank=r, world=world) for r in range(world)]
        assert [list(chain(*p)) for p in zip(*parts, strict=True)] == whole


def test_it_starts_anywhere():
    for data in (batches.Arrays((np.arange(10),), 3), batches.Stream([np.arange(3)] * 4)):
        assert rows(data, start=2) == rows(data)[2:]


def test_memory_maps_are_read_batch_by_batch(tmp_path):
    values = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float32, (20, 2))
    values[:] = np.arange(40).reshape(20, 2)
    disk = np.load(tmp_path / "x.npy", mmap_mode="r")
    data = batches.Arrays((disk, np.arange(20)), 6)
    assert isinstance(data.arrays[0], np.memmap)
    for x, i in data.epoch(0, np.random.default_rng(0)):
        np.testing.assert_array_equal(x.numpy(), values[i.numpy()])


def test_odd_arrays_are_taken_as_they_are():
    for array in (
        np.arange(6)[::-1],
        np.arange(6).astype(">i4"),
        np.broadcast_to(np.float32(1), 6),
        torch.arange(6),
    ):
        found = rows(batches.Arrays((array,), 6, order="given"))
        np.testing.assert_array_equal(found[0], np.asarray(array))


def test_an_order_of_ones_own():
    data = batches.Arrays((np.arange(5),), 2, order=[4, 0, 4])
    assert rows(data) == [[4, 0], [4]]
    data = batches.Arrays((np.arange(5),), 5, order=lambda epoch, rng: [epoch, 0])
    assert rows(data, epoch=3) == [[3, 0]]


def test_a_curriculum_goes_from_easy_to_all():
    difficulty = np.array([5.0, 1.0, 4.0, 2.0, 3.0])
    order = batches.Curriculum(difficulty, epochs=4, start=0.2)
    rng = np.random.default_rng(0)
    seen = [sorted(difficulty[order(epoch, rng)]) for epoch in range(6)]
    assert seen[0] == [1.0]
    assert seen[1] == [1.0, 2.0]
    assert seen[2] == [1.0, 2.0, 3.0]
    assert seen[4] == seen[5] == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_streams_are_walked_afresh_each_epoch():
    calls = []

    def source():
        calls.append(1)
        yield from (np.full(2, i) for i in range(3))

    data = batches.as_batcher(source)
    with pytest.raises(TypeError, match="give length"):  # it is not walked to be counted
        len(data)
    assert rows(data) == rows(data) == [[0, 0], [1, 1], [2, 2]]
    assert len(calls) == 2
    with pytest.raises(ValueError, match="once only"):
        batches.as_batcher(iter([1]))


@pytest.mark.parametrize(
    ("data", "order", "says"),
    [
        ((np.ones(3), np.ones(4)), "shuffle", "different lengths"),
        ((np.ones(0),), "shuffle", "no rows"),
        (3.5, "shuffle", "must be a tuple or dict of arrays"),
        ([np.ones(3)], "given", "order needs arrays"),
    ],
)
def test_what_gives_no_batches_is_refused(data, order, says):
    with pytest.raises((ValueError, TypeError), match=says):
        batches.as_batcher(data, 4, order)
