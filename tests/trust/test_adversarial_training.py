"""Networks that are wrapped to withstand attacks: units, variants, cost, files."""

import numpy as np
import pytest
from scipy import optimize
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import panlearn
from panlearn.linear import LogisticRegression
from panlearn.neural import ConvNetClassifier, MLPClassifier
from panlearn.transformer import ViTClassifier
from panlearn.trust import AdversarialTraining, attacks


@pytest.fixture
def weak_features(rng):
    # the first feature is strong, many weak ones tell more together and are easily turned
    y = rng.integers(2, size=300)
    signs = 2 * y - 1
    weak = 0.3 * signs[:, None] + 0.5 * rng.normal(size=(300, 20))
    X = np.c_[signs * rng.choice([1, -1], 300, p=[0.95, 0.05]), weak]
    return X * np.geomspace(0.1, 10, 21), np.array(["no", "yes"])[y]


def mlp(hidden=(), **options):
    return MLPClassifier(hidden, **{"max_epochs": 15, "random_state": 0, **options})


@pytest.mark.parametrize(("method", "passes"), [("pgd", 8), ("fast", 2), ("free", 4)])
def test_withstands_more_and_says_what_it_cost(weak_features, method, passes):
    X, y = weak_features
    X = X / np.geomspace(0.1, 10, 21)
    quick = mlp(learning_rate=0.1, max_epochs=40)
    model = AdversarialTraining(quick, eps=0.4, method=method).fit(X, y)
    assert model.passes_ == passes
    assert model.history_["passes"] == [passes] * 40
    rates = [
        1 - attacks.pgd(m, X, y, 0.4, bounds=None, gradient="exact", random_state=0).success_rate
        for m in (quick.fit(X, y), model)
    ]
    assert rates[1] > rates[0] + 0.2
    assert rates[1] > 0.85


def test_eps_is_in_the_units_of_the_rows(weak_features):
    """The coefficients of a linear model are those of the closed form, in the units of X."""
    X, y = weak_features
    options = {"max_epochs": 150, "learning_rate": 0.05, "weight_decay": 0.0, "batch_size": 300}
    model = AdversarialTraining(mlp(**options), eps=0.3, random_start=False).fit(X, y)
    inner = model.estimator_
    slope = inner.coefs_[0][:, 0] / inner.scale_
    level = inner.intercepts_[0][0] - inner.mean_ @ slope
    signs = np.where(y == "yes", 1.0, -1.0)

    def robust_loss(slope):
        margin = signs * (X @ slope + level) - 0.3 * np.abs(slope).sum()
        return np.logaddexp(0, -margin).mean()

    def split_loss(v):  # |w| is smooth in its two parts
        w = v[:21] - v[21:42]
        return np.logaddexp(0, 0.3 * v[:42].sum() - signs * (X @ w + v[42])).mean()

    box = [(0, None)] * 42 + [(None, None)]
    least = optimize.minimize(split_loss, np.zeros(43), bounds=box, options={"maxfun": 10**5}).fun
    assert least <= robust_loss(slope) < least + 0.01
    plain = mlp(**options).fit(X, y)
    assert robust_loss(plain.coefs_[0][:, 0] / plain.scale_) > least + 0.5
    assert np.abs(slope[:8]).max() < 1e-2 * np.abs(slope).max()  # what eps drowns is not used


def test_nothing_to_withstand_is_ordinary_training(weak_features):
    X, y = weak_features
    for estimator in (mlp(), mlp((5,), dropout=0.2)):
        plain = estimator.fit(X, y).predict_proba(X)
        wrapped = AdversarialTraining(estimator, eps=0.0).fit(X, y).predict_proba(X)
        np.testing.assert_array_equal(wrapped, plain)


@pytest.mark.parametrize("cls", [ConvNetClassifier, ViTClassifier])
@pytest.mark.parametrize("method", ["fast", "free"])
def test_images(cls, method, tmp_path):
    X, y = load_digits(return_X_y=True)
    X, y = X[:60], y[:60]
    small = {} if cls is ConvNetClassifier else {"n_layers": 1, "width": 8}
    inner = cls(**small, max_epochs=2, random_state=3)
    wrapper = AdversarialTraining(inner, 1.0, method=method, steps=None, bounds=(0, 16))
    model = wrapper.fit(X, y)
    assert not np.array_equal(inner.fit(X, y).predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(wrapper.fit(X, y).predict_proba(X), model.predict_proba(X))
    path = tmp_path / "robust.panlearn"
    panlearn.save(model, path)
    loaded = panlearn.load(path)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert attacks.fgsm(loaded, X[:5], y[:5], 1.0, bounds=(0, 16), gradient="exact").queries


def test_grids_and_seeds(weak_features):
    X, y = weak_features
    grid = GridSearchCV(
        AdversarialTraining(mlp(max_epochs=2, random_state=None), random_state=0),
        {"eps": [0.0, 0.1], "estimator__learning_rate": [0.01]},
        cv=2,
    ).fit(X, y)
    assert grid.best_params_["eps"] in (0.0, 0.1)
    again = grid.best_estimator_
    assert again.estimator.random_state is None
    np.testing.assert_array_equal(again.predict_proba(X), again.fit(X, y).predict_proba(X))


def test_refusals(weak_features):
    X, y = weak_features
    for estimator in (LogisticRegression(), make_pipeline(StandardScaler(), MLPClassifier())):
        with pytest.raises(ValueError, match="must be an MLPClassifier"):
            AdversarialTraining(estimator).fit(X, y)
    with pytest.raises(ValueError, match="'fast' has one"):
        AdversarialTraining(method="fast", steps=3).fit(X, y)
    with pytest.raises(ValueError, match="bounds"):
        AdversarialTraining(bounds=(1, 0)).fit(X, y)
    assert not hasattr(AdversarialTraining(), "decision_function")
