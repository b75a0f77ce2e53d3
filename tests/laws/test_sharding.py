"""fit = any sharding = any order of the stream = partial_fit = Dask, for whatever says so."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import is_classifier
from sklearn.utils import get_tags

import panlearn
from panlearn.core.progress import Iterative

N = 60


@st.composite
def shardings(draw):
    """Index sets that cover 0 ... N-1 in any order; a shard may be empty or a single row."""
    order = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).permutation(N)
    cuts = sorted(draw(st.lists(st.integers(0, N), max_size=6)))
    return np.split(order, cuts)


def _tuples(X, y, weight, shards):
    return [
        (X[i], None if y is None else y[i], None if weight is None else weight[i]) for i in shards
    ]


def _same(one, other, X, library, rtol=1e-8):
    if hasattr(one, "coef_"):
        scale = np.abs(other.coef_).max()
        np.testing.assert_allclose(one.coef_, other.coef_, rtol=0, atol=rtol * scale)
    library.same(one, other, X, rtol=rtol)


@settings(max_examples=8)
@given(shards=shardings(), weighted=st.booleans())
def test_any_sharding_of_a_stream_gives_fit(stream_class, library, shards, weighted):
    X, y = library.problem(stream_class, n=N)
    weight = np.random.default_rng(0).random(N) if weighted else None
    whole = library.make(stream_class).fit(X, y, **({"sample_weight": weight} if weighted else {}))
    batches = _tuples(X, y, weight, shards)
    _same(library.make(stream_class).fit(panlearn.Batches(batches)), whole, X, library)
    again = library.make(stream_class).fit(panlearn.Batches(lambda: iter(batches)))
    _same(again, whole, X, library)


def test_an_iterator_is_enough_for_what_walks_once(stream_class, library):
    X, y = library.problem(stream_class, n=N)
    stream = iter(_tuples(X, y, None, np.split(np.arange(N), 4)))
    model = library.make(stream_class)
    try:
        model.fit(stream)
    except ValueError as error:
        if not issubclass(stream_class, Iterative) or "several times" not in str(error):
            raise
        return
    _same(model, library.make(stream_class).fit(X, y), X, library)


@settings(max_examples=8)
@given(shards=shardings(), weighted=st.booleans())
def test_partial_fit_on_any_shards_gives_fit(exact_class, library, shards, weighted):
    X, y = library.problem(exact_class, n=N)
    weight = np.random.default_rng(0).random(N) if weighted else None
    whole = library.make(exact_class).fit(X, y, **({"sample_weight": weight} if weighted else {}))
    model = library.make(exact_class)
    extra = {"classes": np.unique(y)} if is_classifier(model) else {}
    for part in _tuples(X, y, weight, [s for s in shards if len(s)]):
        more = extra if part[2] is None else {**extra, "sample_weight": part[2]}
        library.quietly(lambda part=part, more=more: model.partial_fit(*part[:2], **more))
    _same(model, whole, X, library)


@settings(max_examples=8)
@given(shards=shardings(), offset=st.sampled_from([1e3, 1e8]))
def test_shards_at_an_offset_keep_the_digits(exact_class, library, shards, offset):
    """The means of X are 1e8 of its spreads; sorted shards have the most different means."""
    if issubclass(exact_class, Iterative):
        pytest.skip("not solved in one pass")
    if get_tags(exact_class()).input_tags.categorical:
        pytest.skip("an offset makes other categories")
    X, y = library.problem(exact_class, n=N)
    order = np.argsort(X[:, 0])
    X, y = X[order] + offset, None if y is None else y[order]
    whole = library.make(exact_class).fit(X, y)
    if not hasattr(whole, "statistic_"):
        pytest.skip("not solved from centred moments")
    batches = _tuples(X, y, None, [np.sort(s) for s in shards])
    parted = library.make(exact_class).fit(panlearn.Batches(batches))
    if hasattr(whole, "coef_"):
        np.testing.assert_allclose(parted.coef_, whole.coef_, rtol=1e-8)
    else:
        library.same_parameters(parted, whole)


def test_dask_gives_fit(stream_class, library):
    da = pytest.importorskip("dask.array")
    X, y = library.problem(stream_class, n=N)
    weight = np.random.default_rng(0).random(N)
    whole = library.make(stream_class).fit(X, y, sample_weight=weight)
    chunks = (7, 20, 33)
    model = library.make(stream_class).fit(
        da.from_array(X, chunks=(chunks, 2)),
        None if y is None else da.from_array(y, chunks=30),
        sample_weight=da.from_array(weight, chunks=N),
    )
    _same(model, whole, X, library)
