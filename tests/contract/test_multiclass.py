"""Three classes, one of them rare: what two classes cannot show."""

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.utils import get_tags

import panlearn

NAMES = np.array(["ash", "birch", "cedar"])


def _problem(cls, library):
    if not is_classifier(cls()):
        pytest.skip("no classifier")
    if not get_tags(cls()).classifier_tags.multi_class:
        pytest.skip("tells two classes apart")
    return library.problem(cls, classes=3)


def _fit(cls, library, X, y, options=None, **more):
    return library.quietly(lambda: library.make(cls, **(options or {})).fit(X, y, **more))


def test_outputs_of_three_classes_agree(any_class, library):
    X, y = _problem(any_class, library)
    model = _fit(any_class, library, X, NAMES[y])
    assert model.classes_.tolist() == NAMES.tolist()
    predicted = model.predict(X)
    if not hasattr(model, "max_epochs"):  # which takes longer than these few steps
        assert (predicted == NAMES[y]).mean() > 0.6  # half the rows are of the largest class
    for name in ("predict_proba", "predict_log_proba"):
        if not hasattr(model, name):
            continue
        shares = getattr(model, name)(X)
        shares = np.exp(shares) if "log" in name else shares
        assert shares.shape == (len(X), 3)
        np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-6)
        chosen = shares[np.arange(len(X)), np.searchsorted(NAMES, predicted)]
        if any_class.__name__ not in OTHER_RULE:
            np.testing.assert_allclose(chosen, shares.max(axis=1), rtol=1e-6, err_msg=name)
    assert model.score(X, NAMES[y]) == (predicted == NAMES[y]).mean()


# Whose predictions are not the most probable class: votes of pairs, costs, abstention.
OTHER_RULE = {"SVC", "CostSensitiveClassifier", "AbstainingClassifier"}


def test_other_names_in_another_order_give_the_same_answers(any_class, library):
    """A class is its rows, not its place among the sorted names."""
    if any_class.__name__ in BY_PLACE:
        pytest.skip("draws or breaks ties by the place of a class")
    X, y = _problem(any_class, library)
    turn = np.array([2, 0, 1])
    model, turned = _fit(any_class, library, X, y), _fit(any_class, library, X, turn[y])
    agree = turned.predict(X) == turn[model.predict(X)]
    assert agree.mean() > 0.95  # ties, and where an iteration stops
    if hasattr(model, "predict_proba"):
        shares, others = model.predict_proba(X), turned.predict_proba(X)
        np.testing.assert_allclose(others[:, turn], shares, atol=1e-3)


BY_PLACE = {
    *("Perceptron", "MLPClassifier", "ConvNetClassifier", "ViTClassifier", "AdversarialTraining"),
    "NeuralODEClassifier",
    *("RandomForestClassifier", "RotationForestClassifier", "BaggingClassifier"),
}


def test_weights_are_repetitions_with_three_classes(weighted_class, library):
    X, y = _problem(weighted_class, library)
    weight = 1 + np.arange(len(X)) % 3
    index = np.repeat(np.arange(len(X)), weight)
    options = library.fixed_draws(weighted_class, len(X))
    weighted = _fit(weighted_class, library, X, y, options, sample_weight=weight)
    repeated = _fit(weighted_class, library, X[index], y[index], options)
    rtol = 1e-8 if not hasattr(weighted, "tol") else 1e-5
    library.same(weighted, repeated, X, rtol=1e-3 if hasattr(weighted, "weights_") else rtol)


def test_a_stream_whose_batches_lack_a_class_gives_fit(stream_class, library):
    X, y = _problem(stream_class, library)
    order = np.argsort(y, kind="stable")
    batches = [(X[i], NAMES[y[i]]) for i in np.array_split(order, 5)]
    whole = _fit(stream_class, library, X, NAMES[y])
    streamed = library.quietly(lambda: library.make(stream_class).fit(panlearn.Batches(batches)))
    assert streamed.classes_.tolist() == NAMES.tolist()
    library.same(streamed, whole, X, rtol=1e-8)


def test_save_and_load_keep_three_classes(any_class, library, tmp_path):
    X, y = _problem(any_class, library)
    model = _fit(any_class, library, X, NAMES[y])
    panlearn.save(model, tmp_path / "model")
    library.same(panlearn.load(tmp_path / "model"), model, X, rtol=0)
