"""ID3 against gains by hand and against brute force."""

import itertools

import numpy as np
import pytest

import panlearn
from panlearn.tree import ID3Classifier, export_text

pd = pytest.importorskip("pandas")

# Quinlan's weather: outlook, temperature, humidity, wind, and whether to play.
WEATHER = """sunny hot high weak no|sunny hot high strong no|overcast hot high weak yes
rain mild high weak yes|rain cool normal weak yes|rain cool normal strong no
overcast cool normal strong yes|sunny mild high weak no|sunny cool normal weak yes
rain mild normal weak yes|sunny mild normal strong yes|overcast mild high strong yes
overcast hot normal weak yes|rain mild high strong no"""


def weather():
    rows = [line.split() for line in WEATHER.replace("\n", "|").split("|")]
    frame = pd.DataFrame(rows, columns=["outlook", "temperature", "humidity", "wind", "play"])
    return frame.drop(columns="play"), frame["play"]


def test_quinlans_example():
    X, y = weather()
    model = ID3Classifier().fit(X, y)
    assert export_text(model).splitlines() == [
        "|--- outlook = overcast",
        "|   |--- class: yes",
        "|--- outlook = rain",
        "|   |--- wind = strong",
        "|   |   |--- class: no",
        "|   |--- wind = weak",
        "|   |   |--- class: yes",
        "|--- outlook = sunny",
        "|   |--- humidity = high",
        "|   |   |--- class: no",
        "|   |--- humidity = normal",
        "|   |   |--- class: yes",
    ]
    assert model.score(X, y) == 1
    np.testing.assert_allclose(model.tree_.impurity[0], 0.940286, atol=1e-6)
    tree = model.tree_
    below = tree.children(0)
    gain = tree.impurity[0] - tree.weighted_n_node_samples[below] @ tree.impurity[below] / 14
    np.testing.assert_allclose(gain, 0.246750, atol=1e-6)  # Quinlan's 0.246 bits


def test_the_root_is_the_attribute_of_most_information(rng):
    def entropy(y):
        p = np.unique(y, return_counts=True)[1] / len(y)
        return -(p * np.log2(p)).sum()

    for _ in range(20):
        X, y = rng.integers(0, 4, (40, 5)), rng.integers(0, 3, 40)
        gains = [
            entropy(y) - sum((x == v).mean() * entropy(y[x == v]) for v in np.unique(x))
            for x in X.T
        ]
        assert ID3Classifier(max_depth=1).fit(X, y).tree_.feature[0] == np.argmax(gains)


def test_distinct_rows_are_learned_without_error_even_an_exclusive_or(rng):
    X = np.array(list(itertools.product([0, 1], repeat=4)))
    y = X.sum(axis=1) % 2  # no attribute gains anything before the last
    assert ID3Classifier().fit(X, y).score(X, y) == 1
    assert ID3Classifier(min_gain=1e-6).fit(X, y).tree_.node_count == 1
    assert ID3Classifier(max_depth=2).fit(X, y).tree_.depths.max() == 2


def test_an_unseen_category_gets_the_majority_of_its_node():
    X = [["a", "x"], ["a", "y"], ["b", "x"], ["b", "x"], ["b", "y"]]
    model = ID3Classifier().fit(X, [1, 1, 0, 0, 1])
    np.testing.assert_allclose(model.predict_proba([["c", "x"]]), [[0.4, 0.6]])
    assert model.predict([["b", "z"], ["c", "z"]]).tolist() == [0, 1]
    at = model.apply([["b", "z"]])[0]
    assert model.tree_.n_node_samples[at] == 3


def test_missing_is_a_category_of_its_own():
    X = pd.DataFrame({"colour": ["red", None, "red", np.nan, "blue"], "n": [1.0, 2, np.nan, 2, 1]})
    X["colour"] = X["colour"].astype("category")
    y = [0, 1, 0, 1, 0]
    model = ID3Classifier().fit(X, y)
    assert model.score(X, y) == 1
    assert model.tree_.feature[0] == 0
    without = ID3Classifier().fit(X[["n"]][:2], y[:2])  # no branch for what was never missing
    np.testing.assert_allclose(without.predict_proba(pd.DataFrame({"n": [np.nan]})), [[0.5, 0.5]])


def test_names_of_categories_do_not_matter(rng):
    X, y = rng.integers(0, 5, (100, 4)), rng.integers(0, 3, 100)
    names = np.array(["e", "d", "c", "b", "a"])
    number, text = ID3Classifier(max_depth=2).fit(X, y), ID3Classifier(max_depth=2).fit(names[X], y)
    new = rng.integers(0, 5, (50, 4))
    np.testing.assert_array_equal(number.predict_proba(new), text.predict_proba(names[new]))


def test_a_saved_tree_keeps_its_categories_and_a_false_one_is_refused(tmp_path):
    X, y = weather()
    model = ID3Classifier().fit(X, y)
    panlearn.save(model, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model")
    assert export_text(loaded) == export_text(model)
    child = model.tree_.child.copy()
    child[0] = 99
    object.__setattr__(model.tree_, "child", child)
    panlearn.save(model, tmp_path / "model")
    with pytest.raises(panlearn.core.persistence.ModelFileError, match="tree"):
        panlearn.load(tmp_path / "model")
