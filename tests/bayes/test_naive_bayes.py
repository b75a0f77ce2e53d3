"""Naive Bayes against its definition, and what the peer does not have."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import panlearn
from panlearn.bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB


@pytest.fixture
def data(rng):
    y = rng.choice(["x", "y", "z"], 60)
    X = rng.normal(size=(60, 3)) + (y == "y")[:, None]
    return X, y


def test_the_joint_density_is_the_product(data):
    X, y = data
    model = GaussianNB(var_smoothing=0.0).fit(X, y)
    joint = np.stack(
        [
            np.log(np.mean(y == c))
            + stats.norm.logpdf(X, X[y == c].mean(axis=0), X[y == c].std(axis=0)).sum(axis=1)
            for c in model.classes_
        ],
        axis=1,
    )
    np.testing.assert_allclose(model.predict_joint_log_proba(X), joint, rtol=1e-12)
    np.testing.assert_allclose(model.score_samples(X), logsumexp(joint, axis=1), rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-14)


@pytest.mark.parametrize("kind", [GaussianNB, BernoulliNB, MultinomialNB, CategoricalNB])
def test_partial_fit_finds_the_classes_by_itself(kind, data):
    X, y = data
    X = np.round(X - X.min())
    order = np.argsort(y, kind="stable")  # one class after the other
    model, whole = kind(), kind().fit(X, y)
    for part in np.array_split(order, 4):
        model.partial_fit(X[part], y[part])
    assert model.classes_.tolist() == ["x", "y", "z"]
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-9)


def test_a_class_that_was_named_and_not_seen_has_probability_zero(data):
    X, y = data
    model = GaussianNB().partial_fit(X[y != "z"], y[y != "z"], classes=["x", "y", "z"])
    np.testing.assert_array_equal(model.predict_proba(X)[:, 2], 0)
    model.partial_fit(X[y == "z"], y[y == "z"])
    np.testing.assert_allclose(model.predict_proba(X), GaussianNB().fit(X, y).predict_proba(X))


def test_labels_beyond_the_named_ones_are_refused(data):
    X, y = data
    with pytest.raises(ValueError, match=r"'z'.*not among classes"):
        GaussianNB().partial_fit(X, y, classes=["x", "y"])


def test_a_one_shot_stream_of_sorted_classes(data):
    X, y = data
    order = np.argsort(y)
    stream = ((X[p], y[p]) for p in np.array_split(order, 5))
    np.testing.assert_allclose(GaussianNB().fit(stream).theta_, GaussianNB().fit(X, y).theta_)
    assert isinstance(panlearn.Batches([(X, y)]), panlearn.Batches)


@pytest.mark.parametrize(
    ("priors", "says"),
    [([0.5, 0.5], "each of the classes"), ([0.5, 0.6, 0.1], "sum to 1"), ([1.5, -0.5, 0], "sum")],
)
def test_bad_priors_are_refused_by_name(data, priors, says):
    with pytest.raises(ValueError, match=f"priors.*{says}"):
        GaussianNB(priors=priors).fit(*data)
    with pytest.raises(ValueError, match="class_prior"):
        BernoulliNB(class_prior=priors).fit(*data)


def test_zero_probabilities_stay_finite():
    """Without smoothing an impossible feature rules a class out, and all scores stay finite."""
    X, y = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [1, 1, 1]]), np.array([0, 0, 1, 1])
    model = BernoulliNB(alpha=0.0).fit(X, y)
    probability = model.predict_proba([[1, 1, 0], [1, 1, 1], [0, 0, 0]])
    assert np.isfinite(probability).all()
    np.testing.assert_array_equal(probability[:2], [[1, 0], [0, 1]])
    counts = MultinomialNB(alpha=0.0).fit(X, y)
    np.testing.assert_array_equal(counts.predict_proba([[0, 0, 3]]), [[0, 1]])


def test_an_unknown_category_says_nothing():
    X, y = [[0, 1], [1, 1], [1, 0], [1, 0]], [0, 0, 1, 1]
    model = CategoricalNB().fit(X, y)
    alone = CategoricalNB().fit(np.array(X)[:, 1:], y)
    np.testing.assert_allclose(model.predict_proba([[7, 1]]), alone.predict_proba([[1]]))


def test_new_categories_come_in_later_batches(rng):
    X, y = rng.integers(0, 5, size=(80, 3)), rng.integers(0, 2, 80)
    order = np.argsort(X[:, 0])
    model = CategoricalNB()
    for part in np.array_split(order, 7):
        model.partial_fit(X[part], y[part])
    for ours, whole in zip(
        model.category_count_, CategoricalNB().fit(X, y).category_count_, strict=True
    ):
        np.testing.assert_array_equal(ours, whole)


@pytest.mark.parametrize("bad", [-1.0, 0.5, 2.0**30])
def test_what_is_no_category_is_refused(bad):
    with pytest.raises(ValueError, match=f"X holds {bad}"):
        CategoricalNB().fit([[0.0], [bad]], [0, 1])


def test_binary_data_that_are_not(data):
    X, y = data
    with pytest.raises(ValueError, match="binarize"):
        BernoulliNB(binarize=None).fit(X, y)
    plain = BernoulliNB(binarize=None).fit(X > 0, y)
    np.testing.assert_allclose(
        plain.feature_log_prob_, BernoulliNB(binarize=0.0).fit(X, y).feature_log_prob_
    )


def test_a_negative_threshold_on_sparse_rows(data):
    sparse = pytest.importorskip("scipy.sparse")
    X, y = data
    X = X * (X > 0.5)
    model = BernoulliNB(binarize=-0.1).fit(sparse.csr_array(X), y)
    dense = BernoulliNB(binarize=-0.1).fit(X, y)
    np.testing.assert_array_equal(model.feature_count_, dense.feature_count_)


def test_alpha_is_raised_unless_it_is_forced(data):
    X, y = data
    with pytest.warns(UserWarning, match="1e-10"):
        BernoulliNB(alpha=0.0, force_alpha=False).fit(X, y)
    for wrong in ([1.0, 2.0], [1.0, -1.0, 1.0], [np.inf, 1.0, 1.0]):
        with pytest.raises(ValueError, match="alpha"):
            BernoulliNB(alpha=wrong).fit(X, y)
