"""CategoricalMixture: EM on counts, missing entries, words and numbers."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import panlearn
from panlearn.latent import CategoricalMixture
from panlearn.latent._categories import Products, ones_of, posteriors

PROBABILITIES = [
    np.array([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]),
    np.array([[0.9, 0.1], [0.2, 0.8]]),
    np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]]),
    np.array([[0.85, 0.15], [0.1, 0.9]]),
]


@pytest.fixture(name="X")
def rows(rng):
    labels = rng.random(400) < 0.4
    columns = [[rng.choice(t.shape[1], p=t[int(c)]) for c in labels] for t in PROBABILITIES]
    return np.array(columns, dtype=float).T


def log_probability(model, X):
    """By the definition, of the entries that are there."""
    out = np.zeros(len(X))
    for i, row in enumerate(X):
        joint = model.weights_.copy()
        for j, value in enumerate(row):
            if not np.isnan(value):
                joint *= model.feature_prob_[j][:, list(model.categories_[j]).index(value)]
        out[i] = np.log(joint.sum())
    return out


def test_probabilities_by_the_definition(X, rng):
    model = CategoricalMixture(2, random_state=0).fit(X)
    holes = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    holes[0] = np.nan
    np.testing.assert_allclose(model.score_samples(holes), log_probability(model, holes), atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(holes).sum(axis=1), 1)
    np.testing.assert_allclose(model.predict_proba(holes)[0], model.weights_)
    every = np.stack(np.meshgrid(*model.categories_), axis=-1).reshape(-1, 4)
    assert np.exp(model.score_samples(every)).sum() == pytest.approx(1)


@pytest.mark.parametrize("alpha", [0.0, 0.01, 1.0])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_objective_never_falls(X, rng, alpha, missing):
    X = np.where(rng.random(X.shape) < missing, np.nan, X)
    for seed in range(3):
        model = CategoricalMixture(3, alpha=alpha, tol=0, max_iter=60, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X)
        assert np.diff(model.history_["log_likelihood"]).min() >= -1e-12  # rounding


def test_the_objective_is_the_likelihood_and_the_prior(X):
    model = CategoricalMixture(2, alpha=0.5, tol=1e-12, max_iter=5000, random_state=0).fit(X)
    prior = 0.5 * sum(np.log(t).sum() for t in model.feature_prob_) / len(X)
    assert model.lower_bound_ == pytest.approx(model.score(X) + prior, rel=1e-9)
    # at the maximum, the probabilities are the smoothed shares of the expected counts
    responsibilities = model.predict_proba(X)
    for j, table in enumerate(model.feature_prob_):
        ones = X[:, j][:, None] == model.categories_[j]
        count = responsibilities.T @ ones + 0.5
        np.testing.assert_allclose(table, count / count.sum(axis=1, keepdims=True), atol=1e-4)


def test_classes_are_found_and_bic_counts_them(X):
    model = CategoricalMixture(2, n_init=4, random_state=0).fit(X)
    order = np.argsort(model.feature_prob_[0][:, 2])
    for table, truth in zip(model.feature_prob_, PROBABILITIES, strict=True):
        np.testing.assert_allclose(table[order], truth, atol=0.15)  # 160 rows: 0.04, and blur
    bic = [CategoricalMixture(k, n_init=4, random_state=0).fit(X).bic(X) for k in (1, 2, 3)]
    assert int(np.argmin(bic)) == 1
    assert model._n_parameters() == 1 + 2 * (2 + 1 + 2 + 1)


def test_one_class_has_the_shares_of_the_rows(X, rng):
    weight = rng.integers(0, 3, len(X)).astype(float)
    model = CategoricalMixture(1, alpha=0.0).fit(X, sample_weight=weight)
    for j, table in enumerate(model.feature_prob_):
        share = [weight[X[:, j] == v].sum() / weight.sum() for v in model.categories_[j]]
        np.testing.assert_allclose(table[0], share)


def test_words_are_as_good_as_numbers(X):
    words = np.array(["no", "perhaps", "yes"])[X.astype(int)]
    options = {"n_components": 2, "random_state": 0}
    plain, spoken = CategoricalMixture(**options).fit(X), CategoricalMixture(**options).fit(words)
    np.testing.assert_allclose(spoken.score_samples(words), plain.score_samples(X))
    assert spoken.categories_[0].tolist() == ["no", "perhaps", "yes"]
    holes = words.astype(object)
    holes[:50, 1] = None
    filled = CategoricalMixture(**options).fit(holes).impute(holes)
    assert set(filled[:50, 1]) <= {"no", "perhaps"}
    np.testing.assert_array_equal(filled[50:], words[50:])
    rows, labels = spoken.sample(5, random_state=0)
    assert rows.shape == (5, 4)
    assert labels.shape == (5,)
    assert set(rows.ravel()) <= {"no", "perhaps", "yes"}


def test_frames_may_mix_words_and_numbers(X):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": np.where(X[:, 0] > 0, "x", "y"), "b": X[:, 1], "c": X[:, 2]})
    frame.loc[3, "a"] = None
    model = CategoricalMixture(2, random_state=0).fit(frame)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert model.categories_[0].tolist() == ["x", "y"]
    assert model.categories_[1].tolist() == [0.0, 1.0]
    assert np.isfinite(model.score_samples(frame)).all()
    filled = model.impute(frame)
    assert filled[3, 0] in ("x", "y")
    with pytest.raises(TypeError, match="column 0"):
        CategoricalMixture().fit(np.array([["a"], [1.5]], dtype=object))


def test_a_category_never_seen_has_no_say(X):
    model = CategoricalMixture(2, random_state=0).fit(X)
    row, other = X[:1].copy(), X[:1].copy()
    row[0, 0], other[0, 0] = np.nan, 17.0
    np.testing.assert_allclose(model.score_samples(other), model.score_samples(row))


def test_imputation_is_the_most_probable_category(X):
    model = CategoricalMixture(2, random_state=0).fit(X)
    rows = X[:30].copy()
    rows[:, 2] = np.nan
    shares = model.predict_proba(rows) @ model.feature_prob_[2]
    np.testing.assert_array_equal(model.impute(rows)[:, 2], shares.argmax(axis=1))


def test_samples_have_the_probabilities(X):
    model = CategoricalMixture(2, random_state=0).fit(X)
    rows, labels = model.sample(20_000, random_state=1)
    # four standard errors of a share
    error = 4 * 0.5 / np.sqrt(20_000 * model.weights_.min())
    assert np.abs(np.bincount(labels) / 20_000 - model.weights_).max() < error
    for j, table in enumerate(model.feature_prob_):
        for c in range(2):
            share = [(rows[labels == c, j] == v).mean() for v in model.categories_[j]]
            assert np.abs(share - table[c]).max() < error


def test_streams_give_the_fit_and_bad_columns_are_refused(X):
    whole = CategoricalMixture(2, random_state=0).fit(X)
    stream = CategoricalMixture(2, random_state=0).fit(panlearn.Batches([X[:10], X[10:11], X[11:]]))
    np.testing.assert_allclose(stream.score_samples(X), whole.score_samples(X), rtol=1e-8)
    X[:, 1] = np.nan
    with pytest.raises(ValueError, match="column 1 of X is NaN"):
        CategoricalMixture().fit(X)


def test_products_of_zero_probability_stay_numbers():
    at = Products(
        [np.array([0.0, 1.0])] * 2, np.array([0.5, 0.5]), np.array([[0.0, -1e30]] * 4) * [1, 1]
    )
    density, probability = posteriors(at, ones_of(np.array([[0.0, 1.0]]), at.categories))
    assert density[0] == pytest.approx(np.log(0.5))
    np.testing.assert_array_equal(probability, [[1.0, 0.0]])


def test_a_category_of_weight_zero_is_absent():
    X = [["red", "round"], ["green", "long"]] * 5 + [["blue", "long"]]
    model = CategoricalMixture(2, random_state=0).fit(X, sample_weight=[1.0] * 10 + [0.0])
    assert [known.tolist() for known in model.categories_] == [["green", "red"], ["long", "round"]]
    alone = CategoricalMixture(2, random_state=0).fit(X[:-1])
    np.testing.assert_allclose(model.score_samples(X[:2]), alone.score_samples(X[:2]))


def test_text_of_digits_is_text():
    model = CategoricalMixture(1).fit([["01"], ["1"], ["1"], [None]])
    assert model.categories_[0].tolist() == ["01", "1"]
    np.testing.assert_allclose(model.feature_prob_[0], [[1.01 / 3.02, 2.01 / 3.02]])
    assert model.impute([[None], ["01"]]).tolist() == [["1"], ["01"]]


@pytest.mark.parametrize("dtype", ["string", "category", object])
def test_frames_with_any_kind_of_hole(dtype):
    pd = pytest.importorskip("pandas")
    colour, shape = ["red", "green"] * 10, ["round", "long"] * 9 + ["round", None]
    frame = pd.DataFrame({"colour": colour, "shape": shape}, dtype=dtype)
    frame["size"] = pd.array([1, 2] * 9 + [None, 2], dtype="Int64")
    filled = CategoricalMixture(2, random_state=0).fit(frame).impute(frame.iloc[-2:])
    assert filled.tolist() == [["red", "round", 1], ["green", "long", 2]]


def test_a_row_without_any_word_is_filled_with_words():
    model = CategoricalMixture(2, random_state=0).fit([["a", "x"]] * 3 + [["b", "y"]])
    assert model.impute([[None, None]]).tolist() == [["a", "x"]]


def test_imputed_numbers_keep_their_floats(X):
    model = CategoricalMixture(2, random_state=0).fit(X)
    assert model.impute(X[:3].astype(np.float32)).dtype == np.float32


def test_log_probabilities_are_exact(rng):
    X = rng.integers(0, 3, size=(50, 4)).astype(float)
    model = CategoricalMixture(2, random_state=0, alpha=1e-200).fit(X)
    np.testing.assert_allclose(
        np.exp(model.predict_log_proba(X)), model.predict_proba(X), atol=1e-14
    )
    assert np.isfinite(model.predict_log_proba(X)).all()
