"""Rotation forests: the rotations, and what they are good for."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import cross_val_score

from panlearn.tree import (
    DecisionTreeClassifier,
    RandomForestClassifier,
    RotationForestClassifier,
)
from panlearn.tree.rotation_forest import random_rotation, rotate


def test_rotations_are_orthogonal_and_mix_groups_only(rng):
    X, y = load_wine(return_X_y=True)
    model = RotationForestClassifier(6, min_group=2, max_group=4, random_state=0).fit(X, y)
    for rotation in model.rotations_:
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(13), atol=1e-12)
        sizes = (rotation != 0).sum(axis=0)
        assert sizes.max() <= 4
    assert len({r.tobytes() for r in model.rotations_}) == 6


def test_axes_are_the_principal_ones(rng):
    """With one class in a sample as large as the data, those of the whole up to sampling."""
    X = rng.normal(size=(20_000, 2)) @ np.array([[2.0, 1.0], [0.0, 0.5]])
    rotation = random_rotation(X, [np.arange(len(X))], rng, [np.arange(2)], 0.0)
    axes = np.linalg.eigh(np.cov(X.T))[1]
    np.testing.assert_allclose(np.abs(rotation), np.abs(axes), atol=0.02)
    np.testing.assert_allclose(rotate(X, rotation), X @ rotation, atol=1e-12)
    turned = np.cov(rotate(X, rotation).T)
    assert abs(turned[0, 1]) < 0.03 * turned[1, 1]


def test_probabilities_are_the_mean_of_trees_on_rotated_rows(rng):
    X, y = load_wine(return_X_y=True)
    model = RotationForestClassifier(5, random_state=3).fit(X, y)
    scaled = (X - model.data_min_) / (model.data_max_ - model.data_min_)
    np.testing.assert_allclose([scaled.min(0), scaled.max(0)], [np.zeros(13), np.ones(13)])
    members = []
    for rotation, tree in zip(model.rotations_, model.estimators_, strict=True):
        again = DecisionTreeClassifier().fit(rotate(scaled, rotation), y)
        assert again.score(rotate(scaled, rotation), y) == 1
        members.append(tree.predict_proba(rotate(model._scaled(X), rotation)))
    np.testing.assert_allclose(model.predict_proba(X), np.mean(members, axis=0), rtol=1e-12)


def test_units_do_not_matter_and_threads_give_the_same_bits():
    X, y = load_wine(return_X_y=True)
    one = RotationForestClassifier(5, random_state=0).fit(X, y)
    two = RotationForestClassifier(5, n_jobs=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    large = RotationForestClassifier(5, random_state=0).fit(1024 * X, y)
    np.testing.assert_array_equal(large.predict_proba(1024 * X), one.predict_proba(X))


def test_better_than_a_random_forest_where_classes_lie_obliquely(rng):
    """The paper's claim; and on real data no worse."""
    X = rng.normal(size=(300, 6))
    y = (X[:, :3].sum(axis=1) > 0).astype(int) + (X[:, 3:].sum(axis=1) > 0)
    X = X + 0.1 * rng.normal(size=X.shape)
    models = [m(20, random_state=0) for m in (RotationForestClassifier, RandomForestClassifier)]
    ours, other = (cross_val_score(model, X, y, cv=4).mean() for model in models)
    assert ours > other - 0.01
    X, y = load_breast_cancer(return_X_y=True)
    ours, other = (cross_val_score(model, X, y, cv=4).mean() for model in models)
    assert ours > other - 0.01


def test_groups_that_contradict_are_refused():
    with pytest.raises(ValueError, match="min_group=4"):
        RotationForestClassifier(min_group=4).fit([[0.0], [1.0]], [0, 1])
