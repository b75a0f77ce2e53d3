"""Classes from texts or from a few examples: against plain cosines, in scikit-learn's tools."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import panlearn
from panlearn.representation import CLIP, FewShotClassifier, SimCLR, Tower, ZeroShotClassifier

PROMPTS = {"sky": ["bright above", "a bright above"], "snow": "bright below", "both": "bright"}


def halves(rng, n=30):
    y = np.arange(n) % 2
    X = 0.5 * rng.normal(size=(n, 6, 6))
    X[y == 0, :3] += 2
    X[y == 1, 3:] += 2
    return X, y


@pytest.fixture(scope="module")
def clip():
    X, y = halves(np.random.default_rng(0), 40)
    model = CLIP(8, vision=Tower(1, 16), text=Tower(1, 16), batch_size=20, random_state=0)
    model.set_params(max_epochs=15, learning_rate=3e-3)
    return model.fit(X, [("bright above", "bright below")[i] for i in y])


def test_classes_are_the_nearest_texts(clip, rng):
    X, _ = halves(rng)
    before = {name: weight.copy() for name, weight in clip.weights_.items()}
    model = ZeroShotClassifier(PROMPTS, clip).fit()
    assert model.classes_.tolist() == ["both", "sky", "snow"]
    scores = model.decision_function(X)
    images, scale = clip.encode_image(X), np.exp(clip.weights_["log_scale"])
    for j, label in enumerate(model.classes_):
        texts = PROMPTS[label] if isinstance(PROMPTS[label], list) else [PROMPTS[label]]
        mean = clip.encode_text(texts).mean(axis=0)
        expected = scale * images @ mean / np.linalg.norm(mean)
        np.testing.assert_allclose(scores[:, j], expected, rtol=1e-4, atol=1e-4)
    proba = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(
        model.predict_proba(X), proba / proba.sum(axis=1, keepdims=True), rtol=1e-4, atol=1e-6
    )
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    for name, weight in clip.weights_.items():  # nothing was learned
        np.testing.assert_array_equal(weight, before[name])


def test_templates_take_the_labels_of_y(clip, rng, tmp_path):
    X, y = halves(rng)
    labels = np.array(["above", "below"])[y]
    model = ZeroShotClassifier("bright {}", clip).fit(X, labels)
    assert model.score(X, labels) > 0.9
    two = ZeroShotClassifier({"above": "bright above", "below": "bright below"}, clip).fit()
    np.testing.assert_allclose(two.decision_function(X), model.decision_function(X), rtol=1e-5)
    assert two.decision_function(X).shape == (30,)
    np.testing.assert_array_equal(model.predict(X) == "below", model.decision_function(X) > 0)
    search = GridSearchCV(
        clone(model), {"prompts": ["bright {}", "{}{}{}"]}, cv=2, refit=False
    ).fit(X, labels)
    assert search.best_params_ == {"prompts": "bright {}"}
    panlearn.save(model, tmp_path / "model")
    np.testing.assert_array_equal(panlearn.load(tmp_path / "model").predict(X), model.predict(X))


def test_labels_may_be_numbers(clip, rng):
    X, y = halves(rng)
    model = ZeroShotClassifier({1: "bright below", 0: "bright above"}, clip).fit(X)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("prompts", "says"),
    [
        (None, "dict from labels to texts"),
        ("no place", "hold '{}'"),
        ([], "dict from labels"),
        ({"a": "b"}, "two labels or more"),
        ({"a": "b", "c": []}, r"prompts\['c'\] has no text"),
        ({"a": "b", "c": ["d", 3]}, r"prompts\['c'\].*row 1 is 3"),
        ({"a": "b", 3: "d"}, "of one type"),
        ("a {}", "fit needs y"),
    ],
)
def test_bad_prompts_are_named(clip, prompts, says):
    with pytest.raises(ValueError, match=says):
        ZeroShotClassifier(prompts, clip).fit()


def test_a_model_that_is_none_is_named(rng):
    with pytest.raises(ValueError, match="must be a CLIP that was fitted"):
        ZeroShotClassifier(PROMPTS).fit()
    with pytest.raises(ValueError, match="not fitted"):
        ZeroShotClassifier(PROMPTS, CLIP()).fit()


def test_means_of_classes_are_plain_sums(rng):
    X = rng.normal(size=(20, 3)) * np.array([1, 10, 0.1])
    y, weight = np.arange(20) % 3, rng.integers(0, 3, 20)
    model = FewShotClassifier(scale=4.0).fit(X, y, weight)
    rows = X / np.sqrt((X**2).sum(axis=1))[:, None]
    means = np.array([sum(weight[i] * rows[i] for i in range(20) if y[i] == c) for c in range(3)])
    cosines = rows @ (means / np.sqrt((means**2).sum(axis=1))[:, None]).T
    np.testing.assert_allclose(model.decision_function(X), 4 * cosines, rtol=1e-12)


def test_rows_of_zeros_and_of_any_length_have_answers():
    X = np.array([[1e200, 0], [0, 1e-200], [1.0, 0], [0, 1]])
    model = FewShotClassifier().fit(X, [0, 1, 0, 1])
    np.testing.assert_array_equal(model.predict(X), [0, 1, 0, 1])
    np.testing.assert_allclose(model.predict_proba([[0.0, 0.0]]), [[0.5, 0.5]])
    opposite = FewShotClassifier().fit([[1.0, 0], [-1, 0], [0, 1]], [0, 0, 1])
    np.testing.assert_array_equal(opposite.prototypes_[0], [0, 0])


def test_a_few_examples_on_any_encoder(clip, rng, tmp_path):
    X, y = halves(rng)
    for encoder in (clip, SimCLR(8, batch_size=15, max_epochs=4, random_state=0).fit(X)):
        model = FewShotClassifier(encoder).fit(X[:4], y[:4])
        assert model.score(X[4:], y[4:]) > 0.9
        panlearn.save(model, tmp_path / "model")
        again = panlearn.load(tmp_path / "model")
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="4 examples and y 3 labels"):
        FewShotClassifier(clip).fit(X[:4], y[:3])
    flat = make_pipeline(StandardScaler(), FewShotClassifier())
    assert cross_val_score(flat, X.reshape(30, 36), y, cv=3).mean() > 0.9
