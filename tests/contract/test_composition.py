"""Every estimator inside scikit-learn's machinery."""

import copy
import inspect
from dataclasses import fields

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from panlearn.core.parameters import _annotations, allows


def test_parameters_are_the_fields(every_class):
    names = [f.name for f in fields(every_class)]
    model = every_class()
    assert sorted(model.get_params()) == sorted(names)
    assert sorted(inspect.signature(every_class).parameters) == sorted(names)
    assert {n: getattr(model, n) for n in names} == model.get_params()


def test_defaults_satisfy_their_own_annotations(every_class):
    model = every_class()
    for name, annotation in _annotations(every_class).items():
        assert allows(annotation, getattr(model, name)), name


def test_set_params_and_clone_keep_values_and_forget_the_fit(every_class, library):
    model = copy.deepcopy(library.fitted(every_class))
    twin = clone(model)
    ours, theirs = model.get_params(), twin.get_params()
    assert theirs.keys() == ours.keys()
    for name, value in ours.items():
        if isinstance(value, BaseEstimator):  # one within: its parameters are in the list, too
            assert type(theirs[name]) is type(value)
        else:
            assert theirs[name] == value, name
    assert not library.learned(twin)
    with pytest.raises(ValueError, match="nonsense"):
        model.set_params(nonsense=1)


def test_pipeline_gives_what_the_steps_give(any_class, library):
    X, y = library.problem(any_class)
    X = 5 * X + 3
    scaler = library.scaler(any_class).fit(X)
    alone = library.brief(any_class)
    library.quietly(lambda: alone.fit(scaler.transform(X), y))
    piped = make_pipeline(library.scaler(any_class), library.brief(any_class))
    library.quietly(lambda: piped.fit(X, y))
    for name, value in library.outputs(piped, X).items():
        np.testing.assert_array_equal(value, getattr(alone, name)(scaler.transform(X)))


# Numbers that say how long or how closely, or from where; and what another value would not fit.
NOT_SEARCHED = {
    "random_state",
    "max_iter",
    "max_epochs",
    "tol",
    "batch_size",
    "n_jobs",
    "cache_size",
    "radius",
}


def _two_values(model):
    """The first numeric parameter, or else switch, with its value and another that it may have."""
    found = {}
    for name, annotation in _annotations(type(model)).items():
        value = getattr(model, name)
        if name in NOT_SEARCHED or not isinstance(value, bool | int | float):
            continue
        other = not value if isinstance(value, bool) else value + 1
        if isinstance(value, float):
            other = value / 2 or 0.5
        if allows(annotation, other):
            found.setdefault(type(value) is bool, {name: [value, other]})
    return found.get(False) or found.get(True)


def test_grid_search_finds_the_better_of_two(predictor_class, library):
    X, y = library.problem(predictor_class)
    model = library.brief(predictor_class)
    if not hasattr(model, "score"):
        pytest.skip("has no score to compare by")
    if (grid := _two_values(model)) is None:
        pytest.skip("has no number to search over")
    splits = [(np.arange(20, 60), np.arange(20)), (np.arange(40), np.arange(40, 60))]
    search = GridSearchCV(model, grid, cv=splits, error_score="raise")
    library.quietly(lambda: search.fit(X, y))
    ((name, values),) = grid.items()
    scores = np.zeros(2)
    for i, value in enumerate(values):
        for train, test in splits:
            part = library.brief(predictor_class, **{name: value})
            known = (None, None) if y is None else (y[train], y[test])
            library.quietly(lambda part=part, train=train, y=known[0]: part.fit(X[train], y))
            scores[i] += part.score(X[test], known[1]) / 2
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], scores, rtol=1e-12)
    assert search.best_params_ == {name: values[int(scores.argmax())]}
    best = library.brief(predictor_class, **search.best_params_)
    library.quietly(lambda: best.fit(X, y))
    library.same(search.best_estimator_, best, X, rtol=0)


def test_set_output_gives_data_frames(transformer_class, library):
    pd = pytest.importorskip("pandas")
    X, y = library.problem(transformer_class)
    frame = pd.DataFrame(X, columns=[f"column {i}" for i in range(X.shape[1])], index=range(5, 65))
    model = library.brief(transformer_class).set_output(transform="pandas")
    library.quietly(lambda: model.fit(frame, y))
    out = model.transform(frame)
    assert isinstance(out, pd.DataFrame)
    assert list(out.index) == list(frame.index)
    assert list(out.columns) == list(model.get_feature_names_out())


def test_sample_weight_is_routed(weighted_class, library):
    if not hasattr(weighted_class, "score"):
        pytest.skip("has no score to cross-validate")
    X, y = library.problem(weighted_class)
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    with config_context(enable_metadata_routing=True):
        model = library.make(weighted_class).set_fit_request(sample_weight=True)
        model = model.set_score_request(sample_weight=True)
        first = library.scaler(weighted_class)
        if isinstance(first, StandardScaler):
            first.set_fit_request(sample_weight=False)
        routed = cross_validate(
            make_pipeline(first, model),
            X,
            y,
            cv=[(np.arange(40), np.arange(40, 60))],
            params={"sample_weight": weight},
            return_estimator=True,
        )["estimator"][0]
    scaler = library.scaler(weighted_class).fit(X[:40])
    part = None if y is None else y[:40]
    direct = library.make(weighted_class).fit(scaler.transform(X[:40]), part, weight[:40])
    library.same(routed[-1], direct, scaler.transform(X), rtol=0)


def test_feature_names_are_kept_and_held_against(any_class, library):
    pd = pytest.importorskip("pandas")
    X, y = library.problem(any_class)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = library.brief(any_class)
    library.quietly(lambda: model.fit(frame, y))
    assert list(model.feature_names_in_) == list("abcd")
    assert model.n_features_in_ == 4
    for name in library.outputs(model, frame):
        with pytest.raises(ValueError, match="feature names"):
            getattr(model, name)(frame[list("badc")])
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            getattr(model, name)(X)
