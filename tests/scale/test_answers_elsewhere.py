"""Of Dask collections the answers are Dask collections, of streams streams; nothing is gathered."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import panlearn
from panlearn.core.elsewhere import answers_elsewhere
from panlearn.latent import PCA
from panlearn.linear import Ridge
from panlearn.preprocessing import OneHotEncoder, StandardScaler

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
dask = pytest.importorskip("dask")
pd = pytest.importorskip("pandas")


def test_every_answer_to_a_dask_array_is_one(stream_class, library):
    X, y = library.problem(stream_class)
    model = library.quietly(lambda: library.make(stream_class).fit(X, y))
    spread = da.from_array(X, chunks=((13, 20, len(X) - 33), -1))
    for name, expected in library.outputs(model, X).items():
        answer = getattr(model, name)(spread)
        assert isinstance(answer, da.Array), name
        assert answer.shape == expected.shape
        assert answer.chunks[0] == spread.chunks[0]
        assert answer.dtype == expected.dtype
        found = answer.compute()
        found = found.toarray() if hasattr(found, "toarray") else found
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_nothing_is_computed_before_it_is_asked_for(rng):
    seen = []

    def block(index):
        seen.append(index)
        return rng.normal(size=(5, 3))

    parts = [da.from_delayed(dask.delayed(block)(i), (5, 3), float) for i in range(4)]
    X = da.concatenate(parts)
    model = Ridge().fit(rng.normal(size=(9, 3)), np.arange(9.0))
    answer = model.predict(X)
    assert not seen
    answer[:5].compute()
    assert seen == [0]


def test_a_later_fit_does_not_change_what_was_asked_before(rng):
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    model = Ridge().fit(X, y)
    expected, later = model.predict(X), model.predict(da.from_array(X, chunks=7))
    model.fit(X, -y)
    np.testing.assert_allclose(later.compute(), expected)


def test_frames_empty_partitions_and_columns_in_chunks(rng):
    frame = pd.DataFrame(rng.normal(size=(20, 2)), columns=["a", "b"])
    model = StandardScaler().fit(frame)
    expected = model.transform(frame)
    spread = dd.from_pandas(frame, npartitions=3)
    np.testing.assert_allclose(model.transform(spread).compute(), expected)
    some = spread[spread["a"] > frame["a"].iloc[:7].max()]  # the first partition may be empty
    wanted = frame[frame["a"] > frame["a"].iloc[:7].max()]
    np.testing.assert_allclose(model.transform(some).compute(), model.transform(wanted))
    named = PCA(1).set_output(transform="pandas").fit(frame)
    assert named.transform(spread).compute().columns.tolist() == ["pca0"]
    array = da.from_array(frame.to_numpy(), chunks=(9, 1))
    plain = StandardScaler().fit(frame.to_numpy())
    np.testing.assert_allclose(plain.transform(array).compute(), expected)


def test_words_of_a_dask_frame_are_encoded_where_they_are():
    frame = pd.DataFrame({"c": list("abcabc")}).astype(object)
    spread = dd.from_pandas(frame, npartitions=2)
    encoder = OneHotEncoder().fit(spread)
    found = encoder.transform(spread)
    assert isinstance(found, da.Array)
    np.testing.assert_array_equal(found.compute().toarray(), encoder.transform(frame).toarray())


def test_a_stream_is_transformed_batch_by_batch_with_its_targets(rng):
    X, y, weight = rng.normal(size=(12, 3)), np.arange(12.0), rng.random(12)
    model = StandardScaler().fit(X)
    stream = model.transform(panlearn.Batches([(X[:5], y[:5], weight[:5]), (X[5:], y[5:], None)]))
    assert isinstance(stream, panlearn.Batches)
    for _ in range(2):
        first, second = stream
        np.testing.assert_allclose(first.X, model.transform(X[:5]))
        np.testing.assert_array_equal(second.y, y[5:])
        assert first.weight is not None
        assert second.weight is None
    once = model.transform(iter([(X, y)]))
    assert not once.repeatable
    assert len(list(once)) == 1


def test_what_does_not_learn_elsewhere_says_so_as_before(rng):
    assert answers_elsewhere(StandardScaler(), "transform", rng.normal(size=(2, 2))) is None
    with pytest.raises(NotFittedError):
        Ridge().predict(da.ones((3, 2)))


def test_named_columns_of_a_stream_and_of_a_frame_stay_named(rng):
    frame = pd.DataFrame(rng.normal(size=(20, 2)), columns=["a", "b"])
    scaler = StandardScaler().set_output(transform="pandas").fit(frame)
    (block,) = scaler.transform(panlearn.Batches([(frame, None)]))
    assert block.X.columns.tolist() == ["a", "b"]
    assert isinstance(scaler.transform(dd.from_pandas(frame, npartitions=2)), dd.DataFrame)
