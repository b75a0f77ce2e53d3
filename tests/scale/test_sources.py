"""One estimator, any source on one machine: the same coefficients, in bounded memory."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import panlearn
from panlearn.core.progress import Iterative

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def _fit(cls, library, *data, **more):
    return library.quietly(lambda: library.make(cls).fit(*data, **more))


def _problem(cls, library, n):
    """Rows and targets; what learns from no targets leaves them aside."""
    X, y = library.problem(cls, n=n)
    return X, np.zeros(n) if y is None else y


def _close(model, expected, X, library):
    library.same(model, expected, X, rtol=1e-8)
    if hasattr(expected, "coef_"):
        scale = np.abs(expected.coef_).max()
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=0, atol=1e-8 * scale)


def _table(path, X, y, weight=None, row_group_size=None):
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])} | {"target": y}
    columns |= {} if weight is None else {"weight": weight}
    pq.write_table(pa.table(columns), path, row_group_size=row_group_size)


def test_lists_generators_files_and_frames_give_the_fit_of_the_array(
    stream_class, library, tmp_path
):
    X, y = _problem(stream_class, library, n=500)
    weight = np.random.default_rng(1).random(500)
    plain, weighted = _fit(stream_class, library, X, y), _fit(stream_class, library, X, y, weight)
    parts = [slice(i, i + 90) for i in range(0, 500, 90)]
    pairs = [(X[p], y[p]) for p in parts]
    triples = [(X[p], y[p], weight[p]) for p in parts]

    _close(_fit(stream_class, library, pairs), plain, X, library)
    _close(_fit(stream_class, library, triples), weighted, X, library)
    _close(_fit(stream_class, library, panlearn.Batches(lambda: iter(pairs))), plain, X, library)
    if not issubclass(stream_class, Iterative):
        _close(_fit(stream_class, library, (p for p in pairs)), plain, X, library)
    if stream_class.capabilities.sparse:
        sparse_pairs = [(sparse.csr_array(a), b) for a, b in pairs]
        _close(_fit(stream_class, library, sparse_pairs), plain, X, library)

    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    _close(_fit(stream_class, library, mapped, y), plain, X, library)

    _table(tmp_path / "rows.parquet", X, y, weight, row_group_size=120)
    stream = panlearn.read_parquet(
        tmp_path / "rows.parquet", target="target", sample_weight="weight", batch_size=50
    )
    model = _fit(stream_class, library, stream)
    assert list(model.feature_names_in_) == ["x0", "x1", "x2", "x3"]
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=model.feature_names_in_)
    _close(model, _fit(stream_class, library, frame, y, weight), frame, library)


def test_a_folder_of_parquet_files_and_chosen_columns(stream_class, library, tmp_path):
    X, y = _problem(stream_class, library, n=300)
    for i in range(3):
        _table(tmp_path / f"part{i}.parquet", X[i::3], y[i::3])
    stream = panlearn.read_parquet(tmp_path, target="target", columns=["x2", "x0"])
    model = _fit(stream_class, library, stream)
    np.testing.assert_array_equal(model.feature_names_in_, ["x2", "x0"])
    expected = _fit(stream_class, library, X[:, [2, 0]], y)
    if hasattr(expected, "coef_"):
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-8)
    else:
        library.same_parameters(model, expected)


def test_read_parquet_names_what_is_missing(tmp_path):
    _table(tmp_path / "rows.parquet", np.ones((3, 2)), np.ones(3))
    with pytest.raises(ValueError, match=r"no column \['prize'\].*'target'"):
        panlearn.read_parquet(tmp_path / "rows.parquet", target="prize")
    with pytest.raises(FileNotFoundError):
        panlearn.read_parquet(tmp_path / "nothing.parquet")


PEAK = """
import resource, sys
import panlearn
from panlearn.linear import LinearRegression

def fit(path):
    return LinearRegression().fit(panlearn.read_parquet(path, target="target", batch_size=8192))

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

fit(sys.argv[2])  # what the libraries take once
before = peak()
model = fit(sys.argv[1])
print(peak() - before, *model.coef_)
"""


def test_a_parquet_file_is_read_in_bounded_memory(tmp_path):
    rng = np.random.default_rng(0)
    truth = np.linspace(-1, 1, 20)
    big, small = tmp_path / "big.parquet", tmp_path / "small.parquet"
    X = rng.normal(size=(50_000, 20))
    table = pa.table({f"x{j}": X[:, j] for j in range(20)} | {"target": X @ truth + 3})
    with pq.ParquetWriter(big, table.schema, compression="none", use_dictionary=False) as writer:
        for _ in range(16):
            writer.write_table(table)
    pq.write_table(table, small, compression="none", use_dictionary=False)
    done = subprocess.run(
        [sys.executable, "-c", PEAK, big, small],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    growth, *coef = map(float, done.stdout.split())
    np.testing.assert_allclose(coef, truth, rtol=1e-8, atol=1e-8)
    assert os.path.getsize(big) > 130e6
    # a few batches and one row group, 1/16 of the file; a reader that runs ahead takes all of it
    assert growth < os.path.getsize(big) / 4
