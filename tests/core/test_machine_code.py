"""Machine code that was kept is called without Numba, and gives what Numba gives."""

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from panlearn.core import jit as module
from panlearn.core import lent_memory, machine_code
from panlearn.core.jit import jit
from panlearn.core.machine_code import UNKNOWN


class Pair(NamedTuple):
    """Two of something."""

    left: np.ndarray
    right: float


@jit
def weighed(matrix, vector, pair, steps, count, big, small, negate, nothing, record):
    total = 0.0
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            total += matrix[i, j] * vector[j] * (i + 1) + pair[0].left[i] * pair[0].right
    for i in range(len(steps)):
        total += i * steps[i]
        record[i].width += record[i].depth
    if negate:
        total = -total
    return (total, big >> 1), small * count, negate, nothing is None, matrix.shape[0]


@jit
def made(rows, columns):
    values = np.empty((rows, columns))
    inside = np.zeros(rows)
    for i in range(rows):
        inside[i] = i
        for j in range(columns):
            values[i, j] = 10 * inside[i] + j
    return values, values[:, 1:], inside, values


@jit
def split(pair, at):
    return Pair(pair.left[at:], pair.right), ((at, at > 2), at > 3), np.full(2, True)


@jit
def root(value, seen):
    seen[0] += 1
    if value < 0:
        raise ValueError("there is no real root")
    return np.sqrt(value)


@jit
def one_more(values):
    for i in range(len(values)):
        values[i] += 1


@pytest.fixture
def kept(monkeypatch, tmp_path):
    """Compile a kernel for arguments and give its machine code, from an empty folder."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    module.folders.cache_clear()

    def keep(kernel, *arguments):
        fresh = jit(kernel.py_func)
        result = fresh.entry(*arguments)
        return fresh.code, result

    yield keep
    module.folders.cache_clear()


def records():
    found = np.zeros(3, dtype=np.dtype([("depth", np.int32), ("width", np.float64)], align=True))
    found["depth"] = 1, 2, 3
    return found


MATRIX = np.arange(12.0).reshape(3, 4)
READ_ONLY = MATRIX.copy()
READ_ONLY.flags.writeable = False
MATRICES = [MATRIX, np.asfortranarray(MATRIX), MATRIX[::-1, ::-1], READ_ONLY, MATRIX[:0]]
MATRICES += [MATRIX.astype(np.float32), (MATRIX > 4)]


@pytest.mark.parametrize("matrix", MATRICES)
def test_every_kind_of_argument_arrives(kept, matrix):
    def arguments():
        left = np.arange(3, dtype=np.uint8)
        steps = np.arange(6, dtype=np.int16)[::-2]
        numbers = (7, np.uint64(2**63 + 6), np.int32(-3), np.bool_(True), None)
        return matrix, np.arange(1, 5), (Pair(left, 0.5),), steps, *numbers, records()

    given, again = arguments(), arguments()
    code, expected = kept(weighed, *given)
    assert code(again) == expected
    rows, columns = np.indices(matrix.shape)
    left = matrix.shape[1] * 0.5 * np.arange(len(matrix)).sum()
    total = np.sum(matrix * (columns + 1.0) * (rows + 1)) + left + 1 * 3 + 2 * 1
    assert expected == ((-total, 2**62 + 3), -21, True, True, len(matrix))
    np.testing.assert_array_equal(again[-1]["width"], [1, 2, 3])
    assert list(map(type, code(again))) == [tuple, int, bool, bool, int]


def test_arrays_that_are_made_live_as_long_as_they_are_used(kept):
    code, expected = kept(made, 3, 4)
    before = len(lent_memory._LENT)
    found = code((3, 4))
    assert len(lent_memory._LENT) == before
    gc.collect()
    rubbish = [np.full(50, 7.0) for _ in range(100)]  # takes what was set free too early
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.flags.writeable
        assert ours.dtype == theirs.dtype
    found[0][:] = 5
    assert np.all(found[1] == 5)
    assert np.all(found[3] == 5)
    assert len(rubbish) == 100


def test_memory_that_is_not_returned_is_given_back(kept):
    @jit
    def length(n):
        return len(np.zeros(n)) + len(np.ones((n, 2)))

    code, expected = kept(length, 5)
    assert code((5,)) == expected == 10
    assert not lent_memory._LENT


def test_tuples_with_names_and_views_of_arguments_come_back(kept):
    pair = Pair(np.arange(6.0), 2.5)
    code, _ = kept(split, pair, 3)
    found, flags, truths = code((pair, 3))
    assert isinstance(found, Pair)
    left, right = found
    del found
    assert right == 2.5
    assert flags == ((3, True), False)
    assert truths.tolist() == [True, True]
    left[0] = -1
    assert pair.left[3] == -1
    alive = weakref.ref(pair.left)
    del pair, _
    assert alive() is not None
    assert left.tolist() == [-1, 4, 5]
    del left
    assert alive() is None


def test_memory_that_is_not_there_is_an_error_of_numba(kept, monkeypatch):
    code, _ = kept(made, 3, 4)

    def empty(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr(np, "empty", empty)
    assert code((3, 4)) is UNKNOWN


def test_an_error_is_left_to_numba(kept):
    seen = np.zeros(1)
    code, expected = kept(root, 4.0, seen)
    assert code((9.0, seen)) == 3.0
    assert expected == 2.0
    assert code((-1.0, seen)) is UNKNOWN


@pytest.mark.parametrize(
    "argument",
    [np.arange(3), np.arange(3.0)[::2], np.ma.array([1.0]), [1.0], "text", 2**63, 1j],
)
def test_other_kinds_are_not_called(kept, argument):
    code, _ = kept(one_more, np.arange(3.0))
    assert code((np.arange(3.0),)) is None
    assert code((argument,)) is UNKNOWN


def test_a_number_that_is_too_large_is_not_cut(kept):
    code, _ = kept(root, 4, np.zeros(1))
    assert code((9, np.zeros(1))) == 3.0
    assert code((2**63, np.zeros(1))) is UNKNOWN


def test_what_calls_numba_itself_is_not_kept(kept, tmp_path):
    @jit
    def factor(a):
        return np.linalg.cholesky(a)

    code, _ = kept(factor, np.eye(2))
    assert not list(tmp_path.rglob("*.code"))
    assert code((np.eye(2),)) is UNKNOWN


def test_after_many_calls_numba_is_worth_its_import(kept, monkeypatch):
    monkeypatch.setattr(machine_code, "GIVEN", 20)
    code, _ = kept(one_more, np.zeros(1))
    assert [code((np.zeros(1),)) for _ in range(5)] == [None, None, None, UNKNOWN, UNKNOWN]


@pytest.mark.parametrize("broken", [b"", b"nonsense", None], ids=["empty", "nonsense", "stale"])
def test_a_file_that_is_not_whole_or_stale_is_not_called(kept, tmp_path, broken):
    code, _ = kept(one_more, np.zeros(1))
    (file,) = tmp_path.rglob("*.code")
    if broken is None:
        machine_code.write(file, machine_code.read(file)._replace(stamp="of another source"))
    else:
        file.write_bytes(broken)
    assert code((np.zeros(1),)) is UNKNOWN


def test_a_name_that_is_nowhere_is_not_called(kept, tmp_path):
    code, _ = kept(root, 4.0, np.zeros(1))
    (file,) = tmp_path.rglob("*.code")
    machine_code.write(file, machine_code.read(file)._replace(needed=["no_such_function_at_all"]))
    assert code((4.0, np.zeros(1))) is UNKNOWN


def test_numba_keeps_its_own_names(kept, tmp_path):
    from llvmlite import binding

    code, _ = kept(made, 2, 2)
    (file,) = tmp_path.rglob("*.code")
    names = ("NRT_MemInfo_alloc_aligned", "NRT_MemInfo_call_dtor", "numba_unpickle")
    asked = {name: binding.address_of_symbol(name) for name in names}
    assert all(asked.values())
    code((2, 2))
    assert asked == {name: binding.address_of_symbol(name) for name in asked}
    assert b"NRT_MemInfo_alloc_aligned" not in machine_code.read(file).machine_code


FIT = """
import sys
import numpy as np
{before}
from panlearn.core.interpretation import forbidden
from panlearn.linear import LogisticRegression, Perceptron
from panlearn.text import Word2Vec
import contextlib
rng = np.random.default_rng(0)
X = rng.normal(size=(90, 4))
y = X[:, 0] + X[:, 1] ** 2 > rng.random(90)
with {how}:
    for model in (LogisticRegression(), Perceptron(max_iter=20, random_state=0)):
        print(model.fit(X, y).coef_.tobytes().hex())
    texts = ["the cat sat on the mat", "a dog sat on a log"] * 40
    print(Word2Vec(4, min_count=1, random_state=0).fit(texts).vectors_.tobytes().hex())
if {compiles}:
    import numba
    assert numba.njit(lambda x: np.arange(x).sum())(4) == 6
else:
    assert "panlearn.core.compilation" not in sys.modules
"""


def test_fits_give_the_same_bits_without_numba():
    def run(before, how, compiles):
        script = FIT.format(before=before, how=how, compiles=compiles)
        path = os.pathsep.join([str(Path(module.__file__).parents[2]), *sys.path])
        environment = {**os.environ, "PYTHONPATH": path}
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    compiled = run("", "forbidden()", True)
    assert run("sys.modules['numba'] = None", "contextlib.nullcontext()", False) == compiled
    # Numba, imported after machine code or before, works as ever
    assert run("", "contextlib.nullcontext()", True) == compiled
    assert run("import numba", "contextlib.nullcontext()", True) == compiled
