"""What holds for every model of sequences: one sequence is one sample.

scikit-learn's checks feed rows and shuffle them, so they cannot hold here; these stand in their
place, generated for each such class.
"""

import copy
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils import get_tags

import panlearn


def _symbols(cls):
    return get_tags(cls()).input_tags.categorical


def _fit(cls, library, *data, **more):
    return library.quietly(lambda: library.brief(cls).fit(*data, **more))


def _broken(X):
    """Sequences that nothing can be learned from."""
    return [np.full(np.shape(x), np.inf) for x in X]


def test_a_single_sequence_gives_what_a_list_of_one_gives(sequence_class, library):
    X, _ = library.problem(sequence_class)
    one, listed = _fit(sequence_class, library, X[0]), _fit(sequence_class, library, [X[0]])
    library.same_parameters(one, listed, rtol=0)
    for name in library.outputs(one, X[:1]):
        single, several = getattr(one, name)(X[0]), getattr(one, name)([X[0]])
        expected = several[0] if isinstance(several, list) else several
        np.testing.assert_array_equal(single, expected, err_msg=name)
    assert one.score(X[0]) == one.score([X[0]])


def test_outputs_of_a_list_are_those_of_its_sequences(sequence_class, library):
    X, _ = library.problem(sequence_class)
    model = _fit(sequence_class, library, X)
    assert model.score_samples(X).shape == (len(X),)
    for name in library.outputs(model, X):
        for i, value in enumerate(getattr(model, name)(X)):
            alone = getattr(model, name)(X[i])
            alone = alone[0] if name == "score_samples" else alone
            # the same steps in another array: the same numbers, to rounding
            np.testing.assert_allclose(value, alone, rtol=1e-12, err_msg=name)
    np.testing.assert_allclose(model.score(X), model.score_samples(X).mean(), rtol=1e-12)
    weight = np.arange(len(X))
    expected = np.average(model.score_samples(X), weights=weight)
    np.testing.assert_allclose(model.score(X, sample_weight=weight), expected, rtol=1e-12)


def test_the_order_of_the_sequences_does_not_matter(sequence_class, library):
    X, _ = library.problem(sequence_class)
    model, turned = _fit(sequence_class, library, X), _fit(sequence_class, library, X[::-1])
    # sums in another order, through some hundred iterations
    library.same(turned, model, X, rtol=1e-7)


def test_an_integer_weight_is_a_repeated_sequence_and_zero_an_absent_one(sequence_class, library):
    X, _ = library.problem(sequence_class)
    weight = np.array([2, 0, 1, 3, 1])
    weighted = _fit(sequence_class, library, X, sample_weight=weight)
    repeated = _fit(
        sequence_class, library, [x for x, w in zip(X, weight, strict=True) for _ in range(w)]
    )
    library.same(weighted, repeated, [x for x, w in zip(X, weight, strict=True) if w], rtol=1e-7)
    plain = _fit(sequence_class, library, X)
    library.same(_fit(sequence_class, library, X, sample_weight=np.ones(5)), plain, X, rtol=1e-12)


@pytest.mark.parametrize(
    ("weight", "says"),
    [
        ([1, 1, -1, 1, 1], "egative"),
        ([1, 1, np.nan, 1, 1], "NaN"),
        ([1, np.inf, 1, 1, 1], "inf"),
        ([0, 0, 0, 0, 0], "zero"),
        ([1, 1], "sample_weight"),
    ],
)
def test_bad_weights_are_refused_by_name(sequence_class, library, weight, says):
    X, _ = library.problem(sequence_class)
    with pytest.raises(ValueError, match=says):
        library.make(sequence_class).fit(X, sample_weight=weight)


def test_threads_do_not_change_a_bit(sequence_class, library, use_threads):
    X, _ = library.problem(sequence_class, n=24_000)
    X = [
        part for x in X for part in np.array_split(x, 1 + len(x) // 3000)
    ]  # several blocks of sequences
    models = []
    for threads in (1, 3):
        use_threads(threads)
        short = {"max_iter": 3} if hasattr(sequence_class(), "max_iter") else {}
        model = library.make(sequence_class, **short)
        models.append(library.quietly(lambda model=model: model.fit(X)))
    library.same_parameters(*models, rtol=0)


def test_a_failing_fit_leaves_the_model_as_it_was(sequence_class, library):
    X, _ = library.problem(sequence_class)
    model = _fit(sequence_class, library, X)
    before, state = library.outputs(model, X), set(vars(model))
    for method in ("fit", "partial_fit"):
        for bad in (_broken(X), [], None, "sequence", 3.0, [X[0], X[1][:0]]):
            if hasattr(model, method):
                with pytest.raises((ValueError, TypeError)):
                    getattr(model, method)(bad)
    assert set(vars(model)) == state
    for name, value in library.outputs(model, X).items():
        np.testing.assert_array_equal(value, before[name])
    fresh = library.make(sequence_class)
    start = dict(vars(fresh))
    with pytest.raises(ValueError, match="infinity"):
        fresh.fit(_broken(X))
    assert vars(fresh) == start


def test_before_fit_the_methods_say_so(sequence_class, library):
    X, _ = library.problem(sequence_class)
    model = library.make(sequence_class)
    for name in ("predict", "predict_proba", "decode", "score_samples", "score", "bic", "aic"):
        if hasattr(model, name):
            with pytest.raises(NotFittedError, match="not fitted"):
                getattr(model, name)(X)
    with pytest.raises(NotFittedError):
        model.sample(3)


def test_fit_changes_neither_data_nor_parameters(sequence_class, library):
    X, _ = library.problem(sequence_class)
    model, copies = library.make(sequence_class), copy.deepcopy(X)
    parameters = model.get_params()
    library.quietly(lambda: model.fit(X))
    library.outputs(model, X)
    for x, kept in zip(X, copies, strict=True):
        np.testing.assert_array_equal(x, kept)
    assert model.get_params() == parameters


def test_cross_validation_splits_sequences(sequence_class, library):
    X, _ = library.problem(sequence_class)
    smooth = {name: 1.1 for name in ("emissionprob_prior",) if hasattr(sequence_class(), name)} | (
        {"smoothing": 0.1} if hasattr(sequence_class(), "smoothing") else {}
    )
    symbols = {"categories", "states"} & set(sequence_class().get_params())
    smooth |= {name: list(range(5)) for name in symbols}
    model = library.brief(sequence_class, **smooth)
    scores = library.quietly(lambda: cross_val_score(model, X, cv=5, error_score="raise"))
    for i, score in enumerate(scores):
        rest = [x for j, x in enumerate(X) if j != i]
        alone = library.quietly(lambda rest=rest: clone(model).fit(rest))
        np.testing.assert_allclose(score, alone.score(X[i]), rtol=1e-12)
    name = next(iter(model.get_params()))
    grid = GridSearchCV(model, {name: [model.get_params()[name]]}, cv=2, error_score="raise")
    found = library.quietly(lambda: grid.fit(X)).best_estimator_
    library.same(found, library.quietly(lambda: clone(model).fit(X)), X, rtol=0)


def test_samples_can_be_learned_from_and_seeds_repeat_them(sequence_class, library):
    X, _ = library.problem(sequence_class)
    model = _fit(sequence_class, library, X)
    drawn, again = model.sample(30, random_state=4), model.sample(30, random_state=4)
    drawn, again = (d[0] if isinstance(d, tuple) else d for d in (drawn, again))
    np.testing.assert_array_equal(drawn, again)
    assert drawn.shape == (30, *np.shape(X[0])[1:])
    assert np.isfinite(model.score(drawn))
    assert len(model.sample(0)[0] if isinstance(model.sample(0), tuple) else model.sample(0)) == 0


def test_a_stream_of_lists_and_a_bag_give_fit(sequence_class, library):
    X, _ = library.problem(sequence_class)
    weight = np.array([1.0, 2.0, 0.0, 0.5, 3.0])
    whole = _fit(sequence_class, library, X, sample_weight=weight)
    cut = [slice(0, 2), slice(2, 3), slice(3, 5)]
    batches = [(X[c], None, weight[c]) for c in cut]
    streamed = _fit(sequence_class, library, panlearn.Batches(lambda: iter(batches)))
    library.same(streamed, whole, X[:2] + X[3:], rtol=1e-7)
    once = iter(batches)
    if "several times" in _refusal(lambda: _fit(sequence_class, library, once)):
        assert issubclass(sequence_class, panlearn.core.progress.Iterative)
    with pytest.raises(ValueError, match="come in the batches"):
        _fit(sequence_class, library, panlearn.Batches(batches), sample_weight=weight)

    bag = pytest.importorskip("dask.bag")
    parts = [bag.from_sequence(v, partition_size=2) for v in (X, weight.tolist())]
    bagged = _fit(sequence_class, library, parts[0], sample_weight=parts[1])
    library.same(bagged, whole, X[:2] + X[3:], rtol=1e-7)


def _refusal(call):
    try:
        call()
    except ValueError as error:
        return str(error)
    return ""


def test_dask_arrays_do_not_say_where_a_sequence_ends(sequence_class, library):
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match=r"dask\.bag"):
        library.make(sequence_class).fit(da.ones((8, 2)))


def test_a_loaded_model_goes_on_learning(sequence_class, library, tmp_path):
    if not hasattr(sequence_class, "partial_fit"):
        pytest.skip("has no partial_fit")
    X, _ = library.problem(sequence_class)
    model = library.make(sequence_class).partial_fit(X[:2])
    panlearn.save(model, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model").partial_fit(X[2:])
    whole = library.make(sequence_class).fit(X)
    library.same(loaded, whole, X, rtol=1e-12)
    library.same(model.partial_fit(X[2:]), whole, X, rtol=1e-12)


def test_float32_in_float32_out(sequence_class, library):
    if _symbols(sequence_class):
        pytest.skip("symbols are no numbers")
    X, _ = library.problem(sequence_class)
    short = [x.astype(np.float32) for x in X]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = library.make(sequence_class, tol=1e-4).fit(short)
        double = library.make(sequence_class, tol=1e-4).fit(X)
    for name, value in library.learned(double).items():
        if getattr(value, "dtype", None) == np.float64:
            assert getattr(model, name).dtype == np.float32, name
            np.testing.assert_allclose(getattr(model, name), value, rtol=0, atol=1e-3)
    method = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    assert getattr(model, method)(short)[0].dtype == np.float32
