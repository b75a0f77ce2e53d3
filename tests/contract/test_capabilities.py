"""What a class declares in `capabilities` works; what it does not declare is refused."""

import inspect

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils import get_tags

import panlearn
from panlearn.core.capabilities import Capabilities
from panlearn.core.estimator import Estimator

STREAM = "takes data in memory.*and X is a stream of batches"
DASK = "takes data in memory.*and X is a Dask collection"


# With which a class takes what it declares.
OPTIONS = {"HistogramDensity": {"bins": np.linspace(-9, 9, 10)}}
# Whose fits take long; their own tests say that a stream and a bag give what a list gives.
SLOW = {"GPT"}


def _fit(cls, library, *data, **more):
    model = library.make(cls, **OPTIONS.get(cls.__name__, {}))
    return library.quietly(lambda: model.fit(*data, **more))


def _rows(cls):
    return get_tags(cls()).input_tags.two_d_array


def _halves(y):
    return (None, None) if y is None else (y[:40], y[40:])


def test_a_stream_is_taken_or_refused(every_class, library):
    X, y = library.problem(every_class)
    batches = panlearn.Batches(lambda: iter([(X, y)]))
    if "stream" not in every_class.capabilities.sources:
        for method in ("fit", "partial_fit"):
            if hasattr(every_class, method):
                with pytest.raises(ValueError, match=STREAM):
                    getattr(library.make(every_class), method)(batches)
        return
    if every_class.__name__ in SLOW:
        pytest.skip("is tested beside its class")
    library.same(_fit(every_class, library, batches), _fit(every_class, library, X, y), X, 1e-7)


def test_a_dask_collection_is_taken_or_refused(every_class, library):
    X, y = library.problem(every_class)
    if _rows(every_class):
        da = pytest.importorskip("dask.array")
        given = [
            None if a is None else da.from_array(a, chunks=(len(a), *a.shape[1:])) for a in (X, y)
        ]
    else:
        bag = pytest.importorskip("dask.bag")
        given = [None if a is None else bag.from_sequence(list(a), npartitions=1) for a in (X, y)]
    if "dask" not in every_class.capabilities.sources:
        with pytest.raises(ValueError, match=DASK):
            library.make(every_class).fit(*given)
        return
    if every_class.__name__ in SLOW:
        pytest.skip("is tested beside its class")
    library.same(_fit(every_class, library, *given), _fit(every_class, library, X, y), X, 1e-7)


def test_batches_that_look_like_an_iterator_or_a_list_are_refused_too(any_class, library):
    if "stream" in any_class.capabilities.sources:
        pytest.skip("takes them")
    X, y = library.problem(any_class)
    for given in (iter([(X, y)]), [(X, y), (X, y)]):
        with pytest.raises(ValueError, match=STREAM):
            library.make(any_class).fit(given)


def test_weights_are_taken_or_refused(every_class, library):
    X, y = library.problem(every_class)
    weight = np.ones(len(X))
    if every_class.capabilities.weights:
        if every_class.__name__ not in SLOW:
            _fit(every_class, library, X, y, sample_weight=weight)
        return
    with pytest.raises(TypeError, match="sample_weight"):
        library.make(every_class).fit(X, y, sample_weight=weight)
    if "stream" in every_class.capabilities.sources:
        with pytest.raises(ValueError, match="takes no sample_weight"):
            library.make(every_class).fit(panlearn.Batches([(X, y, weight)]))


def test_missing_values_are_taken_or_refused(any_class, library):
    X, y = library.problem(any_class)
    X = X.copy()
    X[3, 1] = np.nan
    if not any_class.capabilities.missing:
        with pytest.raises(ValueError, match=r"NaN|missing"):
            library.make(any_class).fit(X, y)
        return
    for value in library.outputs(_fit(any_class, library, X, y), X).values():
        assert np.asarray(value).dtype.kind != "f" or np.isfinite(value).all()


def test_sparse_rows_are_taken_or_refused(any_class, library):
    X, y = library.problem(any_class)
    X = np.where(np.random.default_rng(3).random(X.shape) < 0.5, X, 0.0)
    if not any_class.capabilities.sparse:
        with pytest.raises(TypeError, match=r"[Ss]parse"):
            library.make(any_class).fit(sparse.csr_array(X), y)
        return
    if any_class.__name__ == "MatrixFactorization":
        pytest.skip("what a sparse matrix does not store is missing, and no zero")
    model = _fit(any_class, library, sparse.csr_array(X), y)
    tolerance = 1e-3 if hasattr(model, "weights_") else 1e-5  # networks compute in float32
    library.same(model, _fit(any_class, library, X, y), X, rtol=tolerance)


def test_the_order_of_rows_does_not_matter_where_it_is_said(any_class, library):
    if not any_class.capabilities.any_order:
        pytest.skip("says nothing of it")
    X, y = library.problem(any_class)
    order = np.random.default_rng(4).permutation(len(X))
    turned = _fit(any_class, library, X[order], None if y is None else y[order])
    library.same(turned, _fit(any_class, library, X, y), X, rtol=1e-7)


def test_partial_fit_goes_on_as_it_is_said(any_class, library):
    promise = any_class.capabilities.partial_fit
    assert (promise is not None) == hasattr(any_class, "partial_fit")
    if promise is None:
        return
    X, y = library.problem(any_class)
    model = library.make(any_class)
    more = {"classes": np.unique(y)} if is_classifier(model) else {}
    for rows, targets in zip((X[:40], X[40:]), _halves(y), strict=True):
        library.quietly(lambda rows=rows, targets=targets: model.partial_fit(rows, targets, **more))
    assert library.outputs(model, X) or hasattr(model, "a_")
    if promise == "exact":
        library.same(model, _fit(any_class, library, X, y), X, rtol=1e-8)


def test_what_is_declared_is_what_the_methods_and_tags_say(every_class):
    can, tags = every_class.capabilities, get_tags(every_class()).input_tags
    assert can.weights == ("sample_weight" in inspect.signature(every_class.fit).parameters)
    assert (can.missing, can.sparse) == (tags.allow_nan, tags.sparse)
    assert "array" in can.sources
    assert str(can).startswith("data in memory")


def test_a_declaration_is_inherited_and_completed():
    class Plain(Estimator):
        def fit(self, X, y=None, sample_weight=None):
            return self

    class Online(Plain):
        capabilities = Capabilities(sparse=True, partial_fit="exact")

        def partial_fit(self, X):
            return self

    assert Plain.capabilities == Capabilities(weights=True)
    assert Online.capabilities == Capabilities(weights=True, sparse=True, partial_fit="exact")
    assert Estimator.capabilities == Capabilities()
    with pytest.raises(AttributeError):
        Plain.capabilities.sparse = True
