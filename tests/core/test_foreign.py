"""scikit-learn's classes in model files: what is on the list comes back, nothing brings code."""

import importlib

import numpy as np
import pytest
from sklearn import feature_extraction, impute, model_selection, preprocessing
from sklearn.feature_extraction import text
from sklearn.pipeline import make_pipeline

import panlearn
from panlearn.bayes import MultinomialNB
from panlearn.core import foreign
from panlearn.core.persistence import ModelFileError
from panlearn.linear import LogisticRegression, Ridge

TEXTS = ["the cat sat", "a dog sat down", "cats and dogs", "the dog ran"]
WORDS = [["a", "x"], ["b", "y"], ["a", "y"], ["b", "x"]]


def _there_and_back(model, tmp_path):
    panlearn.save(model, tmp_path / "model")
    return panlearn.load(tmp_path / "model", type(model))


def test_the_list_names_classes_that_there_are():
    for path in foreign.CLASSES:
        module, _, name = path.rpartition(".")
        assert isinstance(getattr(importlib.import_module(module), name), type), path


@pytest.mark.parametrize(
    ("model", "X", "y"),
    [
        (text.CountVectorizer(ngram_range=(1, 2), stop_words="english"), TEXTS, None),
        (text.TfidfVectorizer(sublinear_tf=True), TEXTS, None),
        (text.HashingVectorizer(n_features=16), TEXTS, None),
        (feature_extraction.DictVectorizer(), [{"a": 1, "b": "x"}, {"a": 2}], None),
        (impute.KNNImputer(n_neighbors=1), [[1.0, np.nan], [2.0, 3.0], [8.0, 9.0]], None),
        (impute.SimpleImputer(add_indicator=True), [[1.0, np.nan], [2.0, 3.0]], None),
        (preprocessing.OneHotEncoder(min_frequency=2, handle_unknown="ignore"), WORDS, None),
        (preprocessing.OrdinalEncoder(), WORDS, None),
        (preprocessing.TargetEncoder(cv=2), WORDS, [1.0, 2.0, 3.0, 4.0]),
        (
            preprocessing.KBinsDiscretizer(2, quantile_method="averaged_inverted_cdf"),
            np.arange(9.0)[:, None],
            None,
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_transformers_come_back(model, X, y, tmp_path):
    fitted = model.fit(X) if y is None else model.fit(X, y)
    loaded = _there_and_back(fitted, tmp_path)
    one, other = (
        np.asarray(getattr(m.transform(X), "todense", lambda m=m: m.transform(X))())
        for m in (fitted, loaded)
    )
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error"])
def test_a_search_comes_back_whole(scoring, rng, tmp_path):
    X = rng.normal(size=(40, 3))
    y = X @ [1.0, 2.0, 0.0] + rng.normal(size=40)
    pipeline = make_pipeline(preprocessing.StandardScaler(), Ridge())
    grid = [{"ridge__alpha": [0.1, 1.0]}, {"ridge__fit_intercept": [False]}]
    folds = model_selection.KFold(3, shuffle=True, random_state=0)
    search = model_selection.GridSearchCV(pipeline, grid, cv=folds, scoring=scoring).fit(X, y)
    loaded = _there_and_back(search, tmp_path)
    np.testing.assert_array_equal(loaded.predict(X), search.predict(X))
    assert loaded.score(X, y) == search.score(X, y)
    assert loaded.best_params_ == search.best_params_
    for key, values in search.cv_results_.items():
        np.testing.assert_array_equal(
            np.ma.getmaskarray(loaded.cv_results_[key]), np.ma.getmaskarray(values)
        )
        assert list(np.ma.compressed(loaded.cv_results_[key])) == list(np.ma.compressed(values))
    again = loaded.fit(X, y)
    assert again.best_params_ == search.best_params_


def test_texts_through_a_pipeline(tmp_path):
    model = make_pipeline(text.TfidfVectorizer(), MultinomialNB()).fit(TEXTS, [0, 1, 1, 0])
    np.testing.assert_array_equal(
        _there_and_back(model, tmp_path).predict_proba(TEXTS), model.predict_proba(TEXTS)
    )


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (text.CountVectorizer(input="filename"), "reads files"),
        (text.CountVectorizer(tokenizer=str.split), "cannot save"),
        (text.TfidfVectorizer(analyzer=len), "cannot save"),
        (impute.KNNImputer(metric=max), "cannot save"),
        (model_selection.GridSearchCV(Ridge(), {}, scoring=len), "name of a scorer"),
        (model_selection.GridSearchCV(Ridge(), {}, pre_dispatch="print(1)"), "pre_dispatch"),
        (model_selection.GridSearchCV(Ridge(), {}, refit=max), "cannot save"),
        (make_pipeline(Ridge(), memory="cache"), "memory"),
    ],
)
def test_functions_paths_and_expressions_are_refused(model, said, tmp_path):
    with pytest.raises(TypeError, match=said):
        panlearn.save(model, tmp_path / "model")


def test_a_file_may_not_bring_them_either(tmp_path, monkeypatch):
    for model, attribute, value in [
        (text.CountVectorizer(), "input", "filename"),
        (model_selection.GridSearchCV(Ridge(), {}), "pre_dispatch", "__import__('os')"),
    ]:
        setattr(model, attribute, value)
        with monkeypatch.context() as patched:
            patched.setattr(foreign, "check_harmless", lambda value: None)
            panlearn.save(model, tmp_path / "model")
        with pytest.raises(ModelFileError, match="cannot save or load"):
            panlearn.load(tmp_path / "model")


def test_masks_are_kept(tmp_path):
    model = Ridge()
    model.value_ = np.ma.MaskedArray([1.0, 2.0], [True, False])
    loaded = _there_and_back(model, tmp_path)
    assert loaded.value_.mask.tolist() == [True, False]
    assert loaded.value_.data.tolist() == [1.0, 2.0]


def test_load_insists_on_a_class(tmp_path):
    panlearn.save(Ridge(), tmp_path / "model")
    assert isinstance(panlearn.load(tmp_path / "model", Ridge), Ridge)
    with pytest.raises(ModelFileError, match="holds a Ridge, not a LogisticRegression"):
        panlearn.load(tmp_path / "model", LogisticRegression)
