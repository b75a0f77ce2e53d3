"""What holds for every model of documents: one document is one sample.

scikit-learn's checks feed rows of numbers, so they cannot hold here; these stand in their place,
generated for each such class.
"""

import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import panlearn
from panlearn.neural._estimator import DeepEstimator
from panlearn.text import WordTokenizer


def _fit(cls, library, X, y=None, **more):
    return library.quietly(lambda: library.brief(cls).fit(X, y, **more))


def _weighted(cls):
    if not cls.capabilities.weights:
        pytest.skip("takes no weights")


def _sums(cls):
    _weighted(cls)
    if issubclass(cls, DeepEstimator):
        pytest.skip("draws batches and noise for the rows that there are")


def _streams(cls):
    if "dask" not in cls.capabilities.sources:
        pytest.skip("learns from lists alone")


def _at(y, kept):
    return None if y is None else [y[i] for i in kept]


def test_a_document_is_a_text_or_a_list_of_its_tokens(document_class, library):
    if not isinstance(getattr(document_class(), "tokenizer", None), WordTokenizer):
        pytest.skip("does not cut texts into words")
    X, y = library.problem(document_class)
    cut = [document_class().tokenizer(text) for text in X]
    model = _fit(document_class, library, X, y)
    library.same(model, _fit(document_class, library, cut, y), X, rtol=1e-12)
    for name, value in library.outputs(model, X).items():
        again = library.outputs(model, cut)[name]
        np.testing.assert_array_equal(value, again, err_msg=name)


def test_arrays_series_tuples_and_generators_are_lists(document_class, library):
    pd = pytest.importorskip("pandas")
    X, y = library.problem(document_class)
    model = library.fitted(document_class)
    dressed = [np.array(X), np.array(X, dtype=object), tuple(X), pd.Series(X, index=range(9, 29))]
    for other in dressed:
        library.same(_fit(document_class, library, other, y), model, X, rtol=0)
    library.same(_fit(document_class, library, (text for text in X), y), model, X, rtol=0)


def test_outputs_of_a_list_are_those_of_its_documents(document_class, library):
    X, _ = library.problem(document_class)
    model = library.fitted(document_class)
    whole = {name: getattr(model, name)(X) for name in library.outputs(model, X)}
    for name, values in whole.items():
        for i in (0, len(X) - 1):
            alone, value = getattr(model, name)(X[i : i + 1]), values[i : i + 1]
            if hasattr(alone, "toarray"):
                alone, value = alone.toarray(), value.toarray()
            if np.asarray(alone[0]).dtype.kind == "f":
                single = hasattr(model, "weights_")  # networks: single precision
                rtol, atol = (1e-5, 1e-6) if single else (1e-12, 0)
                np.testing.assert_allclose(alone[0], value[0], rtol=rtol, atol=atol, err_msg=name)
            else:
                np.testing.assert_array_equal(alone[0], value[0], err_msg=name)


def test_documents_of_no_known_word_have_finite_outputs(document_class, library):
    model = library.fitted(document_class)
    for strange in (["", "zzz qqq", "."], [[], ["zzz"]]):
        for name, value in library.outputs(model, strange).items():
            if np.asarray(value).dtype.kind == "f":
                assert np.isfinite(value).all(), name


BAD = {
    "a text": lambda X: "one text",
    "bytes": lambda X: b"bytes",
    "none": lambda X: None,
    "a number": lambda X: 3.0,
    "a dictionary": lambda X: {"a": 1},
    "a set": lambda X: set(X),
    "a missing document": lambda X: [*X, None],
    "NaN for a document": lambda X: [*X, float("nan")],
    "a document in bytes": lambda X: [*X, b"bytes"],
    "numbers": lambda X: [1.0, 2.0],
    "tokens that are numbers": lambda X: [["a", 3]],
    "a table": lambda X: np.array(X)[:, None],
}


def test_what_is_no_document_is_refused_and_leaves_the_model(document_class, library, tally):
    X, y = library.problem(document_class)
    model, says = library.fitted(document_class), "document|list of|single|token"
    before, state = library.outputs(model, X), set(vars(model))

    def try_one(case):
        bad = BAD[case](X)
        target = None if y is None else np.resize(y, len(bad) if hasattr(bad, "__len__") else 1)
        for method in ("fit", "partial_fit", *before):
            if hasattr(model, method):
                given = (bad, target) if "fit" in method else (bad,)
                with pytest.raises((ValueError, TypeError), match=says):
                    getattr(model, method)(*given)
                tally["bad inputs", "refused by name"] += 1
        assert set(vars(model)) == state
        fresh = library.make(document_class)
        start = dict(vars(fresh))
        with pytest.raises((ValueError, TypeError), match=says):
            fresh.fit(bad, target)
        assert vars(fresh) == start

    library.each(BAD, try_one)
    for name, value in library.outputs(model, X).items():
        np.testing.assert_array_equal(value, before[name])


def test_nothing_to_learn_from_is_said(document_class, library):
    y = [] if library.problem(document_class)[1] is not None else None
    with pytest.raises(ValueError, match=r"no document|nothing"):
        library.make(document_class).fit([], y)


def test_before_fit_the_methods_say_so(document_class, library):
    X, _ = library.problem(document_class)
    model = library.make(document_class)
    for name in library.methods:
        if hasattr(model, name):
            with pytest.raises(NotFittedError, match="not fitted"):
                getattr(model, name)(X)


def test_fit_changes_neither_data_nor_parameters(document_class, library):
    X, y = library.problem(document_class)
    X = [X[0], *(text.split() for text in X[1:])]
    model, copies = library.brief(document_class), copy.deepcopy((X, y))
    parameters = model.get_params()
    library.quietly(lambda: model.fit(X, y))
    library.outputs(model, X)
    assert copies[0] == X
    np.testing.assert_array_equal(copies[1], y)
    assert model.get_params() == parameters
    assert clone(model).get_params() == parameters


def test_the_order_of_the_documents_does_not_matter_to_a_sum(document_class, library):
    if not document_class.capabilities.any_order:
        pytest.skip("is no sum over documents")
    X, y = library.problem(document_class)
    model = library.fitted(document_class)
    turned = _fit(document_class, library, X[::-1], None if y is None else y[::-1])
    library.same(turned, model, X, rtol=1e-9)


def test_an_integer_weight_is_a_repeated_document_and_zero_an_absent_one(document_class, library):
    _sums(document_class)
    X, y = library.problem(document_class)
    weight = np.arange(len(X)) % 4
    kept = np.repeat(np.arange(len(X)), weight)
    weighted = _fit(document_class, library, X, y, sample_weight=weight)
    repeated = _fit(document_class, library, [X[i] for i in kept], _at(y, kept))
    library.same(weighted, repeated, X, rtol=1e-9)
    ones = _fit(document_class, library, X, y, sample_weight=np.ones(len(X)))
    library.same(ones, library.fitted(document_class), X, rtol=1e-12)


@pytest.mark.parametrize(
    ("wrong", "says"), [(-1.0, "egative"), (np.nan, "NaN"), (np.inf, "inf"), (None, "no document")]
)
def test_bad_weights_are_refused_by_name(document_class, library, wrong, says):
    _weighted(document_class)
    X, y = library.problem(document_class)
    weight = np.zeros(len(X)) if wrong is None else np.append(np.ones(len(X) - 1), wrong)
    with pytest.raises(ValueError, match=says):
        library.make(document_class).fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match="sample_weight"):
        library.make(document_class).fit(X, y, sample_weight=np.ones(len(X) - 1))


def test_a_stream_of_lists_and_a_bag_give_fit(document_class, library):
    _streams(document_class)
    X, y = library.problem(document_class)
    whole = library.fitted(document_class)
    cut = [slice(0, 7), slice(7, 8), slice(8, None)]
    batches = [(X[c], None if y is None else y[c]) for c in cut]
    streamed = _fit(document_class, library, panlearn.Batches(lambda: iter(batches)))
    library.same(streamed, whole, X, rtol=1e-9)
    if y is not None:
        with pytest.raises(ValueError, match="in the batches"):
            _fit(document_class, library, panlearn.Batches(batches), y)
    for parts in ([], [[]]):
        with pytest.raises(ValueError, match=r"nothing|no document|no term"):
            _fit(document_class, library, panlearn.Batches(parts))

    bag = pytest.importorskip("dask.bag")
    bags = [None if v is None else bag.from_sequence(list(v), partition_size=6) for v in (X, y)]
    library.same(_fit(document_class, library, *bags), whole, X, rtol=1e-9)
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match=r"dask\.bag"):
        library.make(document_class).fit(da.ones((8, 2)))


def test_further_documents_give_the_fit_of_all(document_class, library, tmp_path):
    if document_class.capabilities.partial_fit is None:
        pytest.skip("has no partial_fit")
    X, y = library.problem(document_class)
    early, late = (X[:9], _at(y, range(9))), (X[9:], _at(y, range(9, len(X))))
    model = library.brief(document_class).partial_fit(*early)
    panlearn.save(model, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model").partial_fit(*late)
    library.same(model.partial_fit(*late), loaded, X, rtol=0)
    if document_class.capabilities.partial_fit == "exact":  # else what came first may remain
        library.same(loaded, _fit(document_class, library, X, y), X, rtol=1e-9)


def test_a_model_with_a_function_for_tokenizer_works_and_says_that_it_cannot_be_saved(
    document_class, library, tmp_path
):
    if not isinstance(getattr(document_class(), "tokenizer", None), WordTokenizer):
        pytest.skip("does not cut texts into words")
    X, y = library.problem(document_class)
    cut = library.brief(document_class, tokenizer=_cut)
    model = library.quietly(lambda: cut.fit(X, y))
    listed = _fit(document_class, library, [_cut(text) for text in X], y)
    library.same(model, listed.set_params(tokenizer=_cut), X, rtol=0)
    with pytest.raises(TypeError, match="cannot save"):
        panlearn.save(model, tmp_path / "model")


def _cut(text):
    return text.rstrip(".").split()
